"""DynamoDB and S3: where messages and settings are stored.

The protocol is docs/design/store-protocol.md; each of its steps is a module of `mail`:

    layout.py           the key layout of tables and bucket
    aws/                the table codec, requests for rows, the bucket, and queues
    mail/seen.py        step 2: which message is this, and which row is its home?
    mail/segments.py    step 3: one object for the lines of a batch
    mail/register.py    steps 4 and 5, acknowledge: the row of a claim, absent → live → gone
    mail/feedback_log.py    step 6: at most one Feedback
    mail/reader.py      list and fetch
    mail/replies.py     synchronous requests: lease and remembered reply

    directory/          what operators and owners set: domains, mailboxes, notification targets
    limits/             quotas, rates, and used challenges
    mail/outbox.py      messages that owners send
    containers/         containers that owners store
    secrets/            our private keys
    audit/              stored messages, compared with accepted ones
"""
