"""Sending to others: Feedback, owners' messages, notifications.

queue_messages.py               the kinds of messages in the courier's queue, with their readers:
discard_messages.py, outbox_messages.py, notification_messages.py
queue_form.py                   their common form
feedback_sender.py, outbox_sender.py, notification_sender.py    what is done with each
feedback_buffers.py             where Feedback to a domain is sent
backoff.py, pausing.py          when a failure is retried, and when a failing target is paused
webhooks.py                     signed webhooks
envelope_sender.py, delivery.py signing and posting of an envelope, and the result
ports.py                        what the courier needs from outside
"""
