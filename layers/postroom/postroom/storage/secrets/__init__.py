"""Secrets of Secrets Manager: our private keys."""
