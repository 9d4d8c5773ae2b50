"""NLWeb and PollyWeb domain messages: the rules, without input or output."""
