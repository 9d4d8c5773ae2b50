"""What runs on Lambda: each function's objects, fitted to AWS; events, logs and metrics.

One module for each function, so that none imports what only another runs:

    inbox.py, worker.py, dead_letters.py, courier.py, mailbox.py

    shared.py, aws.py, dm3.py, resolvers.py, senders.py, filing.py    parts that several of them have
    adapters.py         what stands behind the ports that are neither DNS nor storage
    batches.py, http_events.py    the shapes of Lambda's events
    logs.py, own_faults.py
"""
