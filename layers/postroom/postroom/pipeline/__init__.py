"""The flow itself: what the door, the worker, the courier and the keeper do. Lookups and AWS come in through ports.

claims.py     what the door accepted: Claim, and its form in a queue
door.py       bytes in, an answer out; a claim queued before it is given
sync.py       requests that are answered at once
judge.py      Claim → Verdict
worker.py     a batch of claims: judged, filed or discarded, told
keeper.py     letters in the dead-letter queue are decided before SQS drops them
courier.py    Feedback, at most once
graph.py      who is told
batches.py    SQS batches as Lambda hands them out
ports.py      what the flow needs from the outside
"""
