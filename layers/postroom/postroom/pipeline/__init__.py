"""From the inbox to the mailbox: what happens to a message. Look-ups and AWS calls come in through ports.

nlweb_inbox.py, dm3_inbox.py    bytes in, an answer out; the claim is queued before the answer is given
intake.py, claims.py, quota.py  accepted messages: Claim, its form in the queue, and the quota of its mailbox
synchronous.py                  requests that are answered at once
worker.py                       a batch of claims: judged, then filed or discarded
judges/, verdicts.py            Claim → Verdict, one judge for each protocol
filing.py, discarding.py        accepted messages are stored; discarded ones leave a tombstone
outcomes.py                     the outcome of a claim
notification_trigger.py         asks the courier to notify owners
dead_letters.py, outbox_dead_letters.py    dead letters get a final state before SQS deletes them
operators_dead_letters.py       the same dead letters, in the hands of an operator
ports.py                        what the inbox and the worker need from outside
"""
