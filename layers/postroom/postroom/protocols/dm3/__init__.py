"""dm3 messages: the rules, without input or output."""
