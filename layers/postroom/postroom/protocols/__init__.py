"""The rules of each protocol, without input or output."""
