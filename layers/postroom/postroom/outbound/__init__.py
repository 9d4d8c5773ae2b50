"""What leaves the post office: Feedback, the outbox, notifications."""
