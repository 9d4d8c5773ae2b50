"""What happened to messages, as the functions' logs have it."""
