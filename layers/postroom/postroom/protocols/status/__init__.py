"""Status chat payloads (6/PAYLOADS, 7/GROUP-CHAT): the rules, without input or output."""
