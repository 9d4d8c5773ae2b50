"""The AWS requests of one message, counted. tests/cost compares them with the code and the template.

Bytes are those of a message of NLWeb with a text as body; what depends on its size is said by `…_BESIDE`.
"""

from typing import Final

# --- the door, of each message --------------------------------------------------------------------------------------
DOOR_MEMORY_MB: Final = 512
CLAIM_BYTES_BESIDE: Final = 355
"""Of the queue message, beside the envelope in it."""
DOOR_LOG_LINES: Final = 2
DOOR_LOG_BYTES: Final = 548
ANSWER_BYTES: Final = 72
"""The body of the answer."""

# --- the worker, of each batch and of each message in it ------------------------------------------------------------
WORKER_MEMORY_MB: Final = 1024
LARGEST_BATCH: Final = 100
BATCH_PUTS: Final = 1
"""Of S3: the segment of a batch, or of a part of it:"""
PART_BYTES: Final = 8 * 1024 * 1024
"""A batch of large messages is worked off in parts, by the memory that Python holds their text in."""
CHARACTER_BYTES: Final = 4
"""Of that memory, for each character: an envelope of NLWeb has one from beyond the Basic Multilingual Plane."""
FILE_WRITES: Final = 2
"""Write units: `seen` and the row."""
LINE_BYTES_BESIDE: Final = 1_280
"""Of a line in a segment, beside the envelope: the receipt, most of it the evidence under DNSSEC."""
BATCH_LOG_LINES: Final = 2
BATCH_LOG_BYTES: Final = 370
FILED_LOG_BYTES: Final = 45
"""Beyond that, of each message that is filed."""
OVERSIZE_PUTS: Final = 1
OVERSIZE_GETS: Final = 1
"""Of a claim that no queue message holds."""

# --- what happens to some -------------------------------------------------------------------------------------------
DUPLICATE_WRITES: Final = 1
DUPLICATE_READS: Final = 1
DUPLICATE_LOG_BYTES: Final = 226
DISCARD_WRITES: Final = 1
DISCARD_SENDS: Final = 1
"""Of SQS: the notice for the courier."""
DISCARD_LOG_BYTES: Final = 266
TELL_WRITES: Final = 4
TELL_READS: Final = 2
"""The courier's, where a sender's buffer takes the Feedback."""
ACKNOWLEDGE_WRITES: Final = 1

# --- what owners send through the outbox, of each message -----------------------------------------------------------
SENT_SENDS: Final = 1
SENT_WRITES: Final = 7
"""Write units: four of the table, and of the index, in which the message is listed by time, three."""
SENT_READS: Final = 1
SENT_BYTES_BESIDE: Final = 306
"""Of the queue message, beside what is sent."""
SENT_ANSWER_BYTES: Final = 71
SENT_ROWS: Final = 3
SENT_ROW_BYTES: Final = 682
"""Of the token's row and the message's, and of that once more in the index."""
SENT_COUNTER_LOG_LINES: Final = 1
SENT_COUNTER_LOG_BYTES: Final = 209
SENT_LOG_BYTES: Final = 223
"""The courier's, one line."""
SENT_BATCH_LOG_LINES: Final = 1
SENT_BATCH_LOG_BYTES: Final = 205
"""And of each batch."""
SENT_METRICS: Final = 2

# --- the jobs ------------------------------------------------------------------------------------------------------
JOB_LAG_HOURS: Final = 24
JOB_WORKERS: Final = 2
"""As many as a run may grow to; of G.1X, a DPU each."""
JOB_SLOTS: Final = 4
"""Tasks at a time of each worker but one, which is Spark's driver."""
JOB_READS_A_SECOND: Final = 2000
JOB_WRITES_A_SECOND: Final = 500
"""Units, shared among the slots of all workers but the driver."""
JOB_LEAST_WORKERS: Final = 2
JOB_LEAST_SECONDS: Final = 60
"""Glue bills no less."""
COMPACT_RUNS_A_DAY: Final = 1
EXPIRE_RUNS_A_WEEK: Final = 1
JOB_METRICS: Final = 9
"""Of each job; CloudWatch bills them by the hour in which they come."""
JOB_SHARES: Final = 16
"""Of an hour that has more than one page of segments: a task each."""
JOB_TASK_BYTES: Final = 64 * 1024 * 1024
"""What one task sorts, and cuts into chunks:"""
CHUNK_BYTES: Final = 8_400_000
"""Of a chunk, about: 8 to 10 MB, and what is left over at the end of each task."""
JOB_WALKS: Final = 40
"""Of S3: lists in which a run finds the hours: one for each day that has segments, or chunks of a month; about."""

# --- rows -----------------------------------------------------------------------------------------------------------
SEEN_BYTES: Final = 224
ROW_BYTES: Final = 158

# --- the template ---------------------------------------------------------------------------------------------------
ALARMS: Final = 31
"""Metrics that alarms look at: each is paid for."""
SECRETS: Final = 4
QUEUES_POLLED: Final = 4
COURIER_BATCH: Final = 5
WINDOW_SECONDS: Final = 1
"""For which Lambda gathers a batch of the worker's, unless BatchingWindowSeconds says more."""
KEEPER_ROUND_MINUTES: Final = 15
KEEPER_SECONDS: Final = 2.1
"""A round over no letters: one long poll. An estimate."""
RETAIN_DAYS: Final = 22
OUTBOX_KEEP_DAYS: Final = 30
MAX_AGE_DAYS: Final = 1
STEADY_METRICS: Final = ("Accepted", "AgeMilliseconds", "Answered", "DeadLetters", "Undeliverable")
"""Written wherever there is mail, and none of it strange."""
DUPLICATE_METRICS: Final = 1
DISCARD_METRICS: Final = 3

# --- time: measured by `python -m benchmarks requests`, and held by no test ---------------------------------------
DOOR_CPU_MS: Final = 1.7
WORKER_CPU_MS: Final = 3.2
"""Of a message of 2,000 bytes in a batch of 100, 2026-11-21: the least of many runs; a busy machine takes longer."""
SENT_CPU_MS: Final = 4.5
"""The counter's, of a message that an owner sends, 2026-11-22: of `PostOffice.send` in tests/cost, by no benchmark."""
JOB_LINES_A_SECOND: Final = 3_000
"""Of 2,000 bytes, for each slot of a worker: read, looked up, and told of or handed on. An estimate, 2026-11-23."""
JOB_REPOINTS_A_SECOND: Final = 600
"""Of rows, for each slot: an UpdateItem takes boto3 as long as half of WORKER_CPU_MS. An estimate."""
JOB_START_SECONDS: Final = 60
"""Until Spark is up and the library is installed. An estimate."""
DOOR_CPU_MS_PER_MB: Final = 20.0
WORKER_CPU_MS_PER_MB: Final = 19.0
"""Of each further million bytes: the large messages of the same benchmark."""
SMALL_BYTES: Final = 2_000
