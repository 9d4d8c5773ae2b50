"""Look-ups of keys and hosts by name. This package knows nothing of messages."""
