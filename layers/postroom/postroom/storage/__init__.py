"""DynamoDB and S3: where messages are stored, and what is remembered of them.

The protocol is docs/design/store-protocol.md; each of its steps is a module of `mail`:

    keys.py             the key layout of tables and bucket
    aws/                the table codec, and the requests for rows
    mail/seen.py        step 2: who is this message, and where does it live?
    mail/segments.py    step 3: one object for the lines of a batch
    mail/register.py    steps 4 and 5, acknowledge: the row of a claim, absent → live → gone
    mail/feedback_log.py    step 6: at most one Feedback
    mail/reader.py      list and fetch
    mail/replies.py     synchronous requests: lease and remembered reply

    directory/          what operators and owners set: domains, mailboxes, notification targets
    limits/             quotas, rates, and challenges that were used
    outbox.py           what owners sent
    containers.py       what owners keep
    secrets/            our private keys
    queues.py           SQS
    audit/              what is stored, compared with what was accepted
"""
