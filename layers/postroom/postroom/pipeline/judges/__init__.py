"""Verdicts on claims: a module for each protocol."""
