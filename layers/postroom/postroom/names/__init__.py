"""Look-ups of keys and hosts by name. It knows nothing of messages."""
