"""Fits the real things to the flow: a module for each Lambda function, so that none imports what only another runs.

doors.py      functions/inbox
worker.py     functions/worker
keepers.py    functions/worker/keeper.py
courier.py    functions/courier
aws.py        clients of AWS
shared.py     what several of them have; and so have the next four
dm3.py        what dm3 messages are judged by
resolvers.py  DNS
senders.py    who sends: keys under DNSSEC, and the judge who asks for them
filing.py     how messages are filed

`counter.wiring` is the one of functions/mailbox.
"""
