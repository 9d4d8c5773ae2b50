"""The AWS requests of one message, counted. tests/cost compares them with the code and the template.

Sizes are those of an NLWeb message with a text as its body. `…_BESIDE`: bytes in addition to those of the message.
"""

from typing import Final

MEMORY_MB: Final = 512
"""Of each function except the worker."""

# --- the inbox, for each message ------------------------------------------------------------------------------------
CLAIM_BYTES_BESIDE: Final = 355
"""Of the queue message, in addition to the envelope in it."""
INBOX_LOG_LINES: Final = 2
INBOX_LOG_BYTES: Final = 572
ANSWER_BYTES: Final = 72
"""The body of the response."""

# --- the worker, for each batch and for each message in it ----------------------------------------------------------
WORKER_MEMORY_MB: Final = 1024
LARGEST_BATCH: Final = 100
BATCH_PUTS: Final = 1
"""Of S3: the segment of a batch, or of a part of it."""
PART_BYTES: Final = 8 * 1024 * 1024
"""A batch of large messages is processed in parts; the memory for the text of the messages of one part."""
CHARACTER_BYTES: Final = 4
"""Of memory for each character: an NLWeb envelope has one beyond the Basic Multilingual Plane, so Python uses four."""
FILE_WRITES: Final = 2
"""Write units: `seen`, and the row of the message."""
LINE_BYTES_BESIDE: Final = 1_280
"""Of a line in a segment, in addition to the envelope: the receipt, which is mostly the DNSSEC proof."""
BATCH_LOG_LINES: Final = 2
BATCH_LOG_BYTES: Final = 370
FILED_LOG_BYTES: Final = 45
"""In addition, for each filed message."""
OVERSIZE_PUTS: Final = 1
OVERSIZE_GETS: Final = 1
"""Of a claim that is too large for a queue message. Its DELETE is free."""

# --- duplicates, discards and acknowledgements -----------------------------------------------------------------------
DUPLICATE_WRITES: Final = 1
DUPLICATE_READS: Final = 1
OVERSIZE_DUPLICATE_WRITES: Final = 1
"""In addition, of a claim that is too large for a queue message."""
DUPLICATE_LOG_BYTES: Final = 226
DISCARD_WRITES: Final = 1
DISCARD_SENDS: Final = 1
"""Of SQS: the notice for the courier."""
DISCARD_LOG_BYTES: Final = 348
FEEDBACK_WRITES: Final = 4
FEEDBACK_READS: Final = 2
"""Of the courier, if the sender's buffer accepts the Feedback."""
ACKNOWLEDGE_WRITES: Final = 1
ACKNOWLEDGE_LOG_BYTES: Final = 35
"""Of the mailbox API, for each message; the messages of a request share one line."""

# --- the outbox, for each message that an owner sends ---------------------------------------------------------------
SENT_SENDS: Final = 1
SENT_WRITES: Final = 8
"""Write units: four of the table, three of the index that lists messages by time, one of that by Correlation."""
SENT_READS: Final = 1
SENT_BYTES_BESIDE: Final = 306
"""Of the queue message, in addition to the message itself."""
SENT_ANSWER_BYTES: Final = 71
SENT_ROWS: Final = 4
SENT_ROW_BYTES: Final = 761
"""Of the rows of the token and the message, and of their copies in the two indexes."""
SENT_MAILBOX_API_LOG_LINES: Final = 1
SENT_MAILBOX_API_LOG_BYTES: Final = 215
SENT_LOG_BYTES: Final = 223
"""Of the courier, one line."""
SENT_BATCH_LOG_LINES: Final = 1
SENT_BATCH_LOG_BYTES: Final = 205
"""In addition, for each batch."""
SENT_METRICS: Final = 2

# --- DCP, beside what the same operations take over HTTP --------------------------------------------------------------
DCP_MESSAGE_WRITES: Final = 1
"""Write units: the nonce. A connect takes none."""
DCP_REQUEST_WRITES: Final = 2
"""Write units: the id, and the stamp of one resource."""
DCP_ROWS: Final = 2
"""Of each request: those of the id and the stamp. The row of a session is not counted."""
DCP_ROW_BYTES: Final = 126
DCP_CONNECT_ANSWER_BYTES: Final = 588
DCP_MESSAGE_ANSWER_BYTES: Final = 388
DCP_REQUEST_ANSWER_BYTES: Final = 216
"""Of a message, in addition to the bodies of its responses over HTTP, and of each of its requests."""
DCP_LOG_BYTES: Final = 201
"""Of a message, one line; a response over HTTP has one of about the same size."""
DCP_METRICS: Final = 1
DCP_LOOK_READS: Final = 2
"""Read units of a mailbox that a stranger names."""
DCP_REFUSALS_ANSWER_BYTES: Final = 4_240
DCP_REFUSALS_LOG_LINES: Final = 11
DCP_REFUSALS_LOG_BYTES: Final = 2_165
"""Of a stranger's message with the most requests, all of which are refused."""

# --- owners who wait for mail -----------------------------------------------------------------------------------------
WAIT_SECONDS: Final = 3_000
"""Over a WebSocket, messages are listed so often if none come."""
UNUSED_SECONDS: Final = 540
"""A ping follows, if nothing else was sent for so long; API Gateway answers it."""
SOCKET_SECONDS: Final = 7_200
"""After that, API Gateway closes a WebSocket."""
POLL_SECONDS: Final = 20
"""Of a request over HTTP that waits."""
LIST_READS: Final = 4
"""Of a list of an empty mailbox of which nothing is remembered."""
LIST_ANSWER_BYTES: Final = 720
WATCH_READS: Final = 1
WATCH_WRITES: Final = 3
"""Of a watch in the same message: its id, its stamp, and that it waits."""
WATCH_ANSWER_BYTES: Final = 983
"""Of a message with a watch and a list behind it."""
NOTIFY_SENDS: Final = 2
"""Of SQS: by the worker, that the mailbox has mail; by the courier, the notification of the session."""
NOTIFY_RUNS: Final = 2
NOTIFY_WRITES: Final = 3
NOTIFY_READS: Final = 2
NOTIFY_BYTES: Final = 542
"""Of the response to a watch."""
NOTIFY_LOG_LINES: Final = 4
NOTIFY_LOG_BYTES: Final = 801
"""Of both runs of the courier."""
NOTIFY_METRICS: Final = 2
POLL_READS: Final = 44
POLL_WRITES: Final = 2
POLL_ANSWER_BYTES: Final = 116
POLL_LOG_BYTES: Final = 215
SECRET_CACHE_SECONDS: Final = 45
"""For how long a run of a function remembers a secret of keys."""

# --- senders in ENS, at each endpoint that must agree -----------------------------------------------------------------
ENS_QUORUM: Final = 2
"""The default of EnsQuorum."""
ENS_KEPT_SECONDS: Final = 300
"""For how long a text without a TTL is kept, and that an account reaches what a rule demands (a nonce: for a day)."""
ENS_TEXT_POSTS: Final = 1
ENS_TEXT_CALLS: Final = 4
"""Of JSON-RPC, in one batch: the chain's id, the newest block, the text, its TTL."""
ENS_ROUND_POSTS: Final = 1
ENS_ROUND_CALLS: Final = 3
"""In addition, of a text or an address off chain: what a gateway answered is judged by the contract."""
ENS_RULES_POSTS: Final = 2
ENS_RULES_CALLS: Final = 7
"""Of an account with one rule: its address as a text, and then what the rule is about."""

# --- the jobs ------------------------------------------------------------------------------------------------------
JOB_LAG_HOURS: Final = 24
JOB_WORKERS: Final = 2
"""The maximum of a run; G.1X workers have one DPU each."""
JOB_SLOTS: Final = 4
"""Concurrent tasks of each worker except one, which is the Spark driver."""
JOB_READS_PER_SECOND: Final = 2000
JOB_WRITES_PER_SECOND: Final = 500
"""Units per second, shared among the slots of all workers except the driver."""
JOB_LEAST_WORKERS: Final = 2
JOB_LEAST_SECONDS: Final = 60
"""The minimum that Glue bills."""
COMPACT_RUNS_A_DAY: Final = 1
EXPIRE_RUNS_A_WEEK: Final = 1
JOB_METRICS: Final = 9
"""Of each job; CloudWatch bills them for each hour in which they are written."""
JOB_SHARES: Final = 16
"""Tasks for an hour that has more than one page of segments."""
JOB_TASK_BYTES: Final = 64 * 1024 * 1024
"""The bytes that one task sorts and divides into chunks."""
CHUNK_BYTES: Final = 8_400_000
"""The average size of a chunk: 8 to 10 MB, and a smaller one at the end of each task."""
JOB_WALKS: Final = 40
"""S3 list requests by which a run finds the hours: about one for each day that has segments, or chunks of a month."""

# --- rows -----------------------------------------------------------------------------------------------------------
SEEN_BYTES: Final = 224
ROW_BYTES: Final = 158

# --- the template ---------------------------------------------------------------------------------------------------
ALARMS: Final = 49
"""Metrics that alarms watch: each is billed."""
SECRETS: Final = 6
QUEUES_POLLED: Final = 8
COURIER_BATCH: Final = 5
WINDOW_SECONDS: Final = 1
"""The default of BatchingWindowSeconds, for which Lambda collects a batch for the worker."""
DEAD_LETTER_ROUND_MINUTES: Final = 15
DEAD_LETTER_ROUND_SECONDS: Final = 2.1
"""A round without dead letters: one long poll. An estimate."""
RETAIN_DAYS: Final = 22
OUTBOX_KEEP_DAYS: Final = 30
MAX_AGE_DAYS: Final = 1
DCP_KEPT_SECONDS: Final = 3_780
"""The row of a request with the default ttl of 120 s: with the greatest slop, and the hour until it is removed."""
STEADY_METRICS: Final = ("Accepted", "AgeMilliseconds", "Answered", "DeadLetters", "Undeliverable")
"""Written whenever mail is stored, without discards and duplicates."""
DUPLICATE_METRICS: Final = 1
DISCARD_METRICS: Final = 3

# --- times: measured by `python -m benchmarks requests`, not compared by a test -------------------------------------
INBOX_CPU_MS: Final = 1.7
WORKER_CPU_MS: Final = 3.2
"""For a message of 2,000 bytes in a batch of 100, 2026-11-21: the minimum of many runs."""
SENT_CPU_MS: Final = 4.5
"""Of the mailbox API, for a message that an owner sends, 2026-11-22: measured by tests/cost, not by a benchmark."""
DCP_CONNECT_CPU_MS: Final = 0.3
DCP_MESSAGE_CPU_MS: Final = 1.0
DCP_REQUEST_CPU_MS: Final = 1.4
"""Of the mailbox API: of a connect; of a message, and of each of its requests, beside the time of the same operations
over HTTP. 2026-11-27: the minima of 150 connects, `status` over HTTP, over DCP, and ten of it in a batch."""
LIST_CPU_MS: Final = 10.7
WATCH_CPU_MS: Final = 5.6
NOTIFY_CPU_MS: Final = 8.0
"""Of a message of DCP that lists an empty mailbox of which nothing is remembered; of a watch in it; of the courier's
two runs for a notification. 2026-11-27, on the embedded AWS: minima of 30, with 1 ms for each write beside others, and
2 ms for TLS, which are estimates."""
JOB_LINES_PER_SECOND: Final = 3_000
"""Lines of 2,000 bytes for each slot of a worker: read, looked up and passed on. An estimate, 2026-11-23."""
JOB_REPOINTS_PER_SECOND: Final = 600
"""Rows for each slot: an UpdateItem takes boto3 half of WORKER_CPU_MS. An estimate."""
JOB_START_SECONDS: Final = 60
"""Until Spark has started and the library is installed. An estimate."""
INBOX_CPU_MS_PER_MB: Final = 20.0
WORKER_CPU_MS_PER_MB: Final = 19.0
"""For each further million bytes: the large messages of the same benchmark."""
SMALL_BYTES: Final = 2_000
