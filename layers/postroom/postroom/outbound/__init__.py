"""Everything that is sent to others: Feedback, the outbox, notifications."""
