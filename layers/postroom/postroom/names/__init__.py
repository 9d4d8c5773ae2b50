"""Who is who: look-ups of keys and hosts. Knows nothing of messages."""
