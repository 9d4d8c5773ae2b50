"""Sending to others: Feedback, the outbox, notifications."""
