"""The way of a message, from the inbox to the mailbox. Look-ups and AWS come in through ports.

nlweb_inbox.py, dm3_inbox.py    bytes in, an answer out; a claim is queued before it is given
intake.py, claims.py, quota.py  what was accepted: Claim, its form in a queue, and whether there is room for it
synchronous.py                  requests that are answered at once
worker.py                       a batch of claims: judged, filed or discarded
judges/, verdicts.py            Claim → Verdict, a judge for each protocol
filing.py, discarding.py        what is accepted is stored; what is not leaves a tombstone
outcomes.py                     what became of a claim
notify.py                       the courier is asked to notify owners
dead_letters.py, outbox_dead_letters.py    messages in dead-letter queues are decided before SQS drops them
ports.py                        what the inbox and the worker need from the outside
"""
