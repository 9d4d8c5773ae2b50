"""DynamoDB and S3: where messages are filed, and what is remembered of them.

The protocol is docs/store-protocol.md; each of its steps is a module here:

    keys.py         the key layout, as a table
    seen.py         step 2: who is this message, and where does it live?
    segments.py     step 3: one object for the lines of a batch
    register.py     steps 4 and 5, acknowledge: the row of a claim, absent → live → gone
    told.py         step 6: at most one Feedback
    reader.py       list and fetch
    replies.py      synchronous requests: lease and remembered reply
    claims.py       claims too large for the queue
    queues.py       SQS
    directory.py    what operators set: domains, subjects, wallets, mailboxes
    limits.py       Feedback per domain and hour
    secrets.py      our signing keys
"""
