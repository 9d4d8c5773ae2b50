"""The cost model: the counted requests of one message, multiplied by the mail of a month and by prices. Pure."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from postroom.cost import counted
from postroom.cost.compaction import Nights, run_of, segments_kept_days
from postroom.cost.dcp import DcpLoad, dcp_items
from postroom.cost.items import (
    GB,
    HEADER_BYTES,
    LOG_EVENT_BYTES,
    MILLION,
    MONTH_DAYS,
    MONTH_SECONDS,
    PLATFORM_BYTES,
    PLATFORM_LINES,
    ROW_BYTES_BESIDE,
    Item,
    billed,
    function_items,
    log_bytes,
)
from postroom.cost.names import NameLoad, name_items
from postroom.cost.prices import Prices
from postroom.cost.waits import WaitLoad, wait_items
from postroom.storage.aws.queue import MAX_BODY_BYTES

_MONTH_HOURS: Final = MONTH_DAYS * 24
_SQS_REQUEST_BYTES: Final = 65_536
_RECEIVED_AT_ONCE: Final = 10
"""Messages that one SQS request receives or deletes."""
_EVENT_BYTES: Final = 6 * 1024 * 1024
"""The largest event of a Lambda invocation."""
_HTTP_API_REQUEST_BYTES: Final = 512 * 1024
_HTTP_API_FIRST: Final = 300 * MILLION
_POLLERS: Final = 5
_POLL_SECONDS: Final = 20
"""The number of concurrent long polls with which Lambda polls an empty queue."""
_INBOX_WAIT_MS: Final = 10.0
_BATCH_WAIT_MS: Final = 50.0
"""Time waiting for AWS: SendMessage; PutItem twice, with PutObject in between. Estimates."""
_DELIVER_MS: Final = 500.0
"""The time of the courier to look up a buffer or a receiver and to post to it. An estimate."""
_SEND_WAIT_MS: Final = 50.0
"""Time of the mailbox API waiting for AWS: three writes and a SendMessage, one after the other. An estimate."""


class Front(StrEnum):
    """The service in front of the inbox."""

    HTTP_API = "http-api"
    FUNCTION_URL = "function-url"
    CLOUDFRONT = "cloudfront"
    """With a Function URL behind it."""


@dataclass(frozen=True, slots=True)
class MailLoad:
    """The mail of a month, and how it arrives.

    `messages`: messages that the inbox accepts. `size`: bytes of an envelope. `batch`: messages in one batch of the
    worker. `discarded`, `duplicates`: shares of the messages. `acknowledged`: share of the filed messages. `inbox_ms`,
    `worker_ms`: what Lambda bills for a message; None: calculated from the measured times. `sent`: messages that owners
    send, also of `size` bytes. `dcp`: owners' requests over DCP; `waits`: owners who wait for mail. `names`: the
    senders, if they are in ENS.
    """

    messages: int
    size: int
    batch: float
    discarded: float = 0.0
    duplicates: float = 0.0
    acknowledged: float = 1.0
    front: Front = Front.HTTP_API
    inbox_ms: float | None = None
    worker_ms: float | None = None
    sent: int = 0
    nights: Nights = field(default_factory=Nights)
    dcp: DcpLoad = field(default_factory=DcpLoad)
    waits: WaitLoad = field(default_factory=WaitLoad)
    names: NameLoad = field(default_factory=NameLoad)


def expected_batch(messages: int, window_seconds: float) -> float:
    """The average batch that is collected in `window_seconds`, if a month's mail arrives evenly."""
    return 1 + messages / MONTH_SECONDS * window_seconds


def largest_batch(size: int) -> float:
    """How many messages of `size` bytes Lambda passes to one invocation."""
    return max(1.0, min(float(counted.LARGEST_BATCH), _EVENT_BYTES / max(1, _claim_bytes(size))))


def parts(batch: float, size: int) -> float:
    """In how many parts a batch of messages of `size` bytes is processed: a part ends when it exceeds PART_BYTES."""
    in_a_part = 1 + counted.PART_BYTES // (size * counted.CHARACTER_BYTES)
    return min(batch, math.ceil(batch / in_a_part))


def bill(mail: MailLoad, prices: Prices) -> list[Item]:
    """All lines of a month's bill, except those that docs/operate/cost.md lists as not in the model."""
    return [*_inbox(mail, prices), *name_items(mail.names, mail.messages, prices), *_queue(mail, prices),
            *_worker(mail, prices), *_store(mail, prices),
            *_feedback(mail, prices), *_logs(mail, prices), *_compacted(mail, prices), *_sent(mail, prices),
            *dcp_items(mail.dcp, prices), *wait_items(mail.waits, prices), *_standing(mail, prices)]  # fmt: skip


def _inbox(mail: MailLoad, prices: Prices) -> Iterator[Item]:
    posted = mail.messages * (mail.size + HEADER_BYTES) / GB
    answered = mail.messages * (counted.ANSWER_BYTES + HEADER_BYTES) / GB
    out = prices.out_per_gb
    match mail.front:
        case Front.HTTP_API:
            requests = mail.messages * max(1, math.ceil(mail.size / _HTTP_API_REQUEST_BYTES))
            usd = min(requests, _HTTP_API_FIRST) / MILLION * prices.http_api_per_million
            usd += max(0, requests - _HTTP_API_FIRST) / MILLION * prices.http_api_beyond_per_million
            yield Item("HTTP API", requests, "requests", usd)
        case Front.CLOUDFRONT:
            out = prices.cloudfront_out_per_gb
            usd = mail.messages / MILLION * prices.cloudfront_per_million
            yield Item("CloudFront", mail.messages, "requests", usd)
            yield Item("CloudFront to the function", posted, "GB", posted * prices.cloudfront_to_origin_per_gb)
    yield Item("answers going out", answered, "GB", answered * out)
    milliseconds = mail.inbox_ms
    if milliseconds is None:
        processor = _processor_ms(mail.size, counted.INBOX_CPU_MS, counted.INBOX_CPU_MS_PER_MB)
        milliseconds = _INBOX_WAIT_MS + billed(processor, counted.MEMORY_MB)
    yield from function_items("inbox", mail.messages, milliseconds, counted.MEMORY_MB, prices)


def _queue(mail: MailLoad, prices: Prices) -> Iterator[Item]:
    claim = _claim_bytes(mail.size)
    at_once = min(_RECEIVED_AT_ONCE, mail.batch)
    sends = mail.messages * _sqs_requests(claim)
    received = mail.messages / at_once * (_sqs_requests(claim * at_once) + 1)
    yield Item("SQS: send", sends, "requests", sends / MILLION * prices.sqs_per_million)
    yield Item("SQS: receive, delete", received, "requests", received / MILLION * prices.sqs_per_million)


def _worker(mail: MailLoad, prices: Prices) -> Iterator[Item]:
    if mail.worker_ms is not None:
        milliseconds = mail.worker_ms * mail.batch
    else:
        processor = _processor_ms(mail.size, counted.WORKER_CPU_MS, counted.WORKER_CPU_MS_PER_MB)
        milliseconds = _BATCH_WAIT_MS + mail.batch * billed(processor, counted.WORKER_MEMORY_MB)
    batches = mail.messages / mail.batch
    yield from function_items("worker", batches, milliseconds, counted.WORKER_MEMORY_MB, prices)


def _store(mail: MailLoad, prices: Prices) -> Iterator[Item]:
    filed = _filed(mail)
    repeated, refused = mail.messages * mail.duplicates, mail.messages * mail.discarded
    write = prices.dynamodb_writes_per_million / MILLION
    duplicate_writes = counted.DUPLICATE_WRITES + _is_oversize(mail.size) * counted.OVERSIZE_DUPLICATE_WRITES
    for name, writes in (
        ("DynamoDB: file", filed * counted.FILE_WRITES),
        ("DynamoDB: duplicates", repeated * duplicate_writes),
        ("DynamoDB: discards", refused * counted.DISCARD_WRITES),
        ("DynamoDB: acknowledge", filed * mail.acknowledged * counted.ACKNOWLEDGE_WRITES),
    ):
        yield Item(name, writes, "write units", writes * write)
    reads = repeated * counted.DUPLICATE_READS
    yield Item("DynamoDB: duplicates, read", reads, "read units", reads / MILLION * prices.dynamodb_reads_per_million)
    # A batch with duplicates and discards only writes no segment; such batches are rare.
    puts = (filed > 0) * mail.messages / mail.batch * parts(mail.batch, mail.size) * counted.BATCH_PUTS
    gets = 0.0
    if _is_oversize(mail.size):
        puts += mail.messages * counted.OVERSIZE_PUTS
        gets += mail.messages * counted.OVERSIZE_GETS
    yield Item("S3: put", puts, "requests", puts / 1000 * prices.s3_puts_per_thousand)
    yield Item("S3: get", gets, "requests", gets / 1000 * prices.s3_gets_per_thousand)
    seen = filed * (counted.SEEN_BYTES + ROW_BYTES_BESIDE) * (counted.RETAIN_DAYS + counted.MAX_AGE_DAYS)
    # A row that is not acknowledged is kept for this month, and for each following one.
    fetched = filed * mail.acknowledged
    days = (fetched + refused) * counted.RETAIN_DAYS + (filed - fetched) * MONTH_DAYS
    rows = days * (counted.ROW_BYTES + ROW_BYTES_BESIDE)
    stored = (seen + rows) / MONTH_DAYS / GB
    yield Item("DynamoDB: rows kept, and their recovery", stored, "GB", stored * prices.dynamodb_kept_per_gb_month)
    lines = filed * (mail.size + counted.LINE_BYTES_BESIDE) / GB
    yield Item("S3: a month's mail kept for a month", lines, "GB", lines * prices.s3_per_gb_month)


def _feedback(mail: MailLoad, prices: Prices) -> Iterator[Item]:
    """The Feedback of the courier, if every sender of a discarded message has a buffer."""
    discards = mail.messages * mail.discarded
    requests = discards * (counted.DISCARD_SENDS + 2 / counted.COURIER_BATCH)
    yield Item("SQS: discard notifications", requests, "requests", requests / MILLION * prices.sqs_per_million)
    writes, reads = discards * counted.FEEDBACK_WRITES, discards * counted.FEEDBACK_READS
    usd = (writes * prices.dynamodb_writes_per_million + reads * prices.dynamodb_reads_per_million) / MILLION
    yield Item("DynamoDB: Feedback", writes + reads, "units", usd)
    batches = discards / counted.COURIER_BATCH
    yield from function_items("courier", batches, counted.COURIER_BATCH * _DELIVER_MS, counted.MEMORY_MB, prices)


def _logs(mail: MailLoad, prices: Prices) -> Iterator[Item]:
    batches = mail.messages / mail.batch
    refused = mail.messages * mail.discarded
    own = _filed(mail) * counted.FILED_LOG_BYTES
    own += mail.messages * mail.duplicates * (counted.DUPLICATE_LOG_BYTES + LOG_EVENT_BYTES)
    own += refused * (counted.DISCARD_LOG_BYTES + LOG_EVENT_BYTES)
    for name, size in (
        ("logs of the inbox", mail.messages * log_bytes(counted.INBOX_LOG_LINES, counted.INBOX_LOG_BYTES)),
        ("logs of the worker", batches * log_bytes(counted.BATCH_LOG_LINES, counted.BATCH_LOG_BYTES) + own),
        ("acknowledging, logs", _filed(mail) * mail.acknowledged * counted.ACKNOWLEDGE_LOG_BYTES),
        ("logs of Lambda for each invocation",
         (mail.messages + batches + refused / counted.COURIER_BATCH) * log_bytes(PLATFORM_LINES, PLATFORM_BYTES)),
    ):  # fmt: skip
        # Kept for a month. The size is an upper limit: CloudWatch compresses them.
        yield Item(name, size / GB, "GB", size / GB * (prices.logs_per_gb + prices.logs_per_gb_month))


def _compacted(mail: MailLoad, prices: Prices) -> Iterator[Item]:
    """What compaction costs in addition to its start, and what it saves; for chunks, in their first month."""
    filed, runs = _filed(mail), mail.nights.runs_a_day * MONTH_DAYS
    if not filed:
        return
    run = run_of(filed / MONTH_DAYS, mail.size, parts(mail.batch, mail.size) / mail.batch, mail.nights)
    hours = runs * (run.survey.dpu_hours + run.move.dpu_hours)
    reads, writes = runs * run.reads, runs * run.writes
    gets, puts = runs * run.gets, runs * (run.puts + run.lists)
    chunks = runs * run.survivors * (mail.size + counted.LINE_BYTES_BESIDE) / GB
    gone = filed * (mail.size + counted.LINE_BYTES_BESIDE) / GB * (1 - segments_kept_days(mail.nights) / MONTH_DAYS)
    for name, amount, unit, usd in (
        ("running", hours, "DPU hours", hours * prices.glue_per_dpu_hour),
        ("DynamoDB, looking up", reads, "read units", reads / MILLION * prices.dynamodb_reads_per_million),
        ("DynamoDB, moving", writes, "write units", writes / MILLION * prices.dynamodb_writes_per_million),
        ("S3, get", gets, "requests", gets / 1000 * prices.s3_gets_per_thousand),
        ("S3, put and list", puts, "requests", puts / 1000 * prices.s3_puts_per_thousand),
        ("S3, chunks kept for a month", chunks, "GB", chunks * prices.s3_per_gb_month),
        ("S3, deleted segments", -gone, "GB", -gone * prices.s3_per_gb_month),
    ):
        yield Item(f"compaction: {name}", amount, unit, usd, jobs=True)


def _sent(mail: MailLoad, prices: Prices) -> Iterator[Item]:
    """Messages that owners send: accepted by the mailbox API, and delivered by the courier at the first attempt."""
    of_each = (*_sent_through_mailbox_api(mail, prices), *_sent_by_courier(mail, prices), *_sent_kept(mail, prices))
    for item in of_each:
        yield replace(item, sent=True)


def _sent_through_mailbox_api(mail: MailLoad, prices: Prices) -> Iterator[Item]:
    requests = mail.sent * max(1, math.ceil(mail.size / _HTTP_API_REQUEST_BYTES))
    yield Item("outbox: HTTP API", requests, "requests", requests / MILLION * prices.http_api_per_million)
    milliseconds = _SEND_WAIT_MS + billed(counted.SENT_CPU_MS, counted.MEMORY_MB)
    yield from function_items("mailbox API, sending", mail.sent, milliseconds, counted.MEMORY_MB, prices)


def _sent_by_courier(mail: MailLoad, prices: Prices) -> Iterator[Item]:
    queued = mail.size + counted.SENT_BYTES_BESIDE
    at_once = counted.COURIER_BATCH
    requests: float = mail.sent * counted.SENT_SENDS * _sqs_requests(queued)
    requests += mail.sent / at_once * (_sqs_requests(queued * at_once) + 1)
    yield Item("outbox: SQS", requests, "requests", requests / MILLION * prices.sqs_per_million)
    milliseconds = at_once * _DELIVER_MS
    yield from function_items("courier, sending", mail.sent / at_once, milliseconds, counted.MEMORY_MB, prices)
    out = mail.sent * (mail.size + counted.SENT_ANSWER_BYTES + 2 * HEADER_BYTES) / GB
    yield Item("outbox: going out", out, "GB", out * prices.out_per_gb)


def _sent_kept(mail: MailLoad, prices: Prices) -> Iterator[Item]:
    per_message = counted.SENT_WRITES * prices.dynamodb_writes_per_million
    per_message += counted.SENT_READS * prices.dynamodb_reads_per_million
    units = mail.sent * (counted.SENT_WRITES + counted.SENT_READS)
    yield Item("outbox: DynamoDB", units, "units", mail.sent * per_message / MILLION)
    kept = mail.sent * (counted.SENT_ROW_BYTES + counted.SENT_ROWS * ROW_BYTES_BESIDE)
    stored = kept * counted.OUTBOX_KEEP_DAYS / MONTH_DAYS / GB
    yield Item("outbox: rows kept, and their recovery", stored, "GB", stored * prices.dynamodb_kept_per_gb_month)
    batches = mail.sent / counted.COURIER_BATCH
    logs: float = mail.sent * log_bytes(counted.SENT_MAILBOX_API_LOG_LINES, counted.SENT_MAILBOX_API_LOG_BYTES)
    logs += mail.sent * log_bytes(1, counted.SENT_LOG_BYTES)
    logs += batches * log_bytes(counted.SENT_BATCH_LOG_LINES, counted.SENT_BATCH_LOG_BYTES)
    logs += (mail.sent + batches) * log_bytes(PLATFORM_LINES, PLATFORM_BYTES)
    yield Item("outbox: logs", logs / GB, "GB", logs / GB * (prices.logs_per_gb + prices.logs_per_gb_month))


def _standing(mail: MailLoad, prices: Prices) -> Iterator[Item]:
    polls = counted.QUEUES_POLLED * _POLLERS * MONTH_SECONDS / _POLL_SECONDS
    yield Item("SQS: polls of empty queues", polls, "requests", polls / MILLION * prices.sqs_per_million, standing=True)
    rounds = MONTH_DAYS * 24 * 60 / counted.DEAD_LETTER_ROUND_MINUTES
    for item in function_items(
        "dead-letter handler", rounds, counted.DEAD_LETTER_ROUND_SECONDS * 1000, counted.MEMORY_MB, prices
    ):
        yield Item(item.name, item.amount, item.unit, item.usd, standing=True)
    compactions, expiries = mail.nights.runs_a_day * MONTH_DAYS, MONTH_DAYS / 7 * counted.EXPIRE_RUNS_A_WEEK
    least = counted.JOB_LEAST_WORKERS * max(counted.JOB_START_SECONDS, counted.JOB_LEAST_SECONDS) / 3600
    hours = (compactions + expiries) * least
    yield Item("Glue: starting the jobs", hours, "DPU hours", hours * prices.glue_per_dpu_hour, standing=True)
    reported = counted.JOB_METRICS * (compactions + expiries) / _MONTH_HOURS
    yield Item("CloudWatch metrics of the jobs", reported, "metrics", reported * prices.metric_per_month, standing=True)
    metrics = len(counted.STEADY_METRICS)
    metrics += counted.DUPLICATE_METRICS * (mail.duplicates > 0) + counted.DISCARD_METRICS * (mail.discarded > 0)
    waits = mail.waits
    metrics += counted.SENT_METRICS * (mail.sent > 0) + counted.DCP_METRICS * (mail.dcp.requests + waits.sockets > 0)
    metrics += counted.NOTIFY_METRICS * (waits.sockets * waits.notified > 0)
    yield Item("CloudWatch metrics", metrics, "metrics", metrics * prices.metric_per_month, standing=True)
    yield Item("CloudWatch alarms", counted.ALARMS, "metrics", counted.ALARMS * prices.alarm_per_month, standing=True)
    yield Item("secrets", counted.SECRETS, "secrets", counted.SECRETS * prices.secret_per_month, standing=True)


def _filed(mail: MailLoad) -> float:
    return mail.messages * (1 - mail.discarded - mail.duplicates)


def _is_oversize(size: int) -> bool:
    return size + counted.CLAIM_BYTES_BESIDE > MAX_BODY_BYTES


def _claim_bytes(size: int) -> int:
    """Of the queue message; that of an oversize claim is almost empty."""
    return 0 if _is_oversize(size) else size + counted.CLAIM_BYTES_BESIDE


def _sqs_requests(size: float) -> int:
    return max(1, math.ceil(size / _SQS_REQUEST_BYTES))


def _processor_ms(size: int, small: float, per_mb: float) -> float:
    """For a message of `size` bytes. `small`: measured for SMALL_BYTES; `per_mb`: for each million bytes beyond."""
    return small + max(0, size - counted.SMALL_BYTES) / MILLION * per_mb
