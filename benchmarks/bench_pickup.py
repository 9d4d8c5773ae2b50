"""Benchmark `pickup`: AWS requests, bytes and processor time for an owner who reads and acknowledges mail."""

import json
import math
import time
from collections import Counter as Numbers
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Final

import boto3
import orjson
from benchmarks.harness import Benchmark, Effort, Table, ratios
from benchmarks.lambdas import ENVIRONMENT, clients_of, invoke, start, unheard
from moto import mock_aws
from tests.aws import deploy, deploy_on, new_clients
from tests.cost.items import item_bytes
from tests.fakes.clock import FakeClock
from tests.functions.samples import http
from tests.http.api_stack import HOST, SHOP, ApiStack, Owner
from tests.http.compaction import compact
from tests.pipeline.stack import NOTIFY, PipelineStack

from postroom.cost import counted
from postroom.http.message_listing import encoded
from postroom.local.clients import REGION
from postroom.local.emulator import Emulator
from postroom.storage.mail import head
from postroom.storage.mail.ids import row_of
from postroom.storage.mail.reader import Filed
from postroom.storage.mail.register import ACKED, GONE, Row
from postroom.storage.mail.segments import Line, decode_line

MESSAGES: Final = 1_000
SEGMENT: Final = 10
TOMBSTONES: Final = 20_000
READ_UNIT_BYTES: Final = 4096
PASSES: Final = 5
_DAY: Final = 86_400
_BODY: Final = "x" * 1_450
_ACCOUNT: Final = "100000000001"

NOTES: Final = f"""\
An owner reads a whole mailbox in pages of 100 messages, over the deployed mailbox API, with an AWS in memory.
{MESSAGES:,} messages of 2,000 bytes are in segments of {SEGMENT} messages, as a worker with little mail writes them,
and then in a chunk, as compaction writes it. *Requests* are to S3; *units* are DynamoDB read units, calculated from the
size of what is read consistently, and 1 for each head; *bytes* are those of all responses, divided by those of the
messages with receipts as stored. Then the messages are acknowledged, for one write unit each.

Then looks into a mailbox with {TOMBSTONES:,} tombstones of mail that was acknowledged within three weeks, without and
with the head hint: one without messages, and one whose owner keeps an older message. A client that waits for messages
looks once a second.

*Processor time* is that of the function's own handler for one message, on the machine that wrote this page, with all
that botocore does to call S3 and DynamoDB over HTTP in another process: the best of {PASSES} passes.

The last table is a ratio of times: what the mailbox API does with a line between S3 and the network, compared with bare
`orjson` that reads the line and writes it again.

Goals: ≤ 120 requests from segments of ten, ≤ 15 from chunks, bytes ≤ 1.1.
"""


@dataclass
class Asked:
    """The requests to AWS."""

    calls: Numbers[str] = field(default_factory=Numbers)
    read_units: int = 0


def measure(effort: Effort) -> Sequence[Table]:
    """Tables of passes, of looks, and of the processor time of messages and lines."""
    messages, tombstones = (MESSAGES, TOMBSTONES) if effort.rounds > 1 else (30, 300)
    with mock_aws():
        passes = tuple(_passes(messages))
    looks: list[tuple[str, ...]] = []
    for kept in (False, True):
        with mock_aws():
            looks += _looks(tombstones, kept=kept)
    columns = ("a pass", "requests", "units", "bytes", "write units")
    return [
        Table("A pass through the mailbox", columns, passes),
        Table("A look into a mailbox with tombstones", ("a look", "with", "queries", "units"), tuple(looks)),
        Table(
            "Messages",
            ("from", "units for 1,000 messages", "processor time, ms"),
            tuple(_handled(messages, PASSES if effort.rounds > 1 else 1, [(row[0], row[2]) for row in passes[:2]])),
        ),
        Table("Between S3 and the network", ("line", "ours : bare orjson"), tuple(_times(effort))),
    ]


def _passes(messages: int) -> Iterator[tuple[str, ...]]:
    api = ApiStack(deploy(new_clients()))
    text, receipt = _envelope(api), {"protocol": "nlweb", "evidence": "e" * (counted.LINE_BYTES_BESIDE - 200)}
    ids: list[str] = []
    for number in range(0, messages, SEGMENT):
        ids += api.file(*[text] * SEGMENT, at=number / 10, receipt=receipt)
    owner = Owner(api)
    yield f"segments of {SEGMENT}", *_pass(api, owner)
    compact(api)
    yield "a chunk", *_pass(api, owner)
    with _asked(api) as asked:
        for start in range(0, len(ids), 100):
            owner.acknowledge(*ids[start : start + 100])
    yield "acknowledging", "0", "0", "0", f"{asked.calls['UpdateItem'] / len(ids):.2f}"


def _pass(api: ApiStack, owner: Owner) -> tuple[str, ...]:
    filed = sum(int(row["len"]["N"]) for row in api.deployed.rows("PostTable") if "len" in row)
    sent, after, more = 0, "", True
    with _asked(api) as asked:
        while more:
            api.clock.now += 1
            reply = owner.ask("GET", "/messages", query={"limit": "100", "after": after})
            sent += len(reply.body)
            page = json.loads(reply.body)
            after, more = page["cursor"], page["more"]
    return str(asked.calls["GetObject"]), str(asked.read_units), f"{sent / filed:.2f}", "0.00"


def _handled(messages: int, passes: int, units: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str, str]]:
    """The last two columns. `units`: of a whole pass, by where the messages are."""
    with Emulator() as emulator, unheard():
        api = ApiStack(deploy_on(emulator.clients(_ACCOUNT)), FakeClock(time.time()))
        text, receipt = _envelope_of(_BODY), {"protocol": "nlweb", "evidence": "e" * (counted.LINE_BYTES_BESIDE - 200)}
        ids: list[str] = []
        for _ in range(0, messages, SEGMENT):
            ids += api.file(*[text] * SEGMENT, receipt=receipt)
        store = api.deployed
        variables = {
            **ENVIRONMENT,
            "AWS_ENDPOINT_URL": emulator.endpoint,
            "POST_TABLE": store.tables["PostTable"],
            "DIRECTORY_TABLE": store.tables["DirectoryTable"],
            "LIMITS_TABLE": store.tables["LimitsTable"],
            "OUTBOX_TABLE": store.tables["OutboxTable"],
            "BUCKET": store.bucket,
            "TOKEN_KEYS_SECRET": store.secrets["TokenKeys"],
            "WEBHOOK_KEYS_SECRET": store.secrets["WebhookKeys"],
            "MAILBOX_API_REQUESTS_PER_SECOND": "1000",
        }
        session = boto3.Session(_ACCOUNT, emulator.secret, region_name=REGION)
        mailbox_function = start("mailbox", variables, lambda: clients_of(session))
        token = api.sign_in()
        for where, of_a_pass in units:
            seconds = min(_pass_of(mailbox_function, token, messages) for _ in range(passes))
            yield where, f"{int(of_a_pass) * 1000 / messages:.0f}", f"{seconds * 1000 / messages:.2f}"
            compact(api)


def _pass_of(mailbox_function: ModuleType, token: str, messages: int) -> float:
    """The processor time in seconds of a whole pass, in pages of 100 messages."""
    seconds, shown, after, more = 0.0, 0, "", True
    while more:
        url = f"https://{HOST}/mailboxes/{SHOP}/messages?limit=100&after={after}"
        event = http("GET", url, int(time.time()), headers={"authorization": f"Bearer {token}"})
        started = time.process_time()
        answer = invoke(mailbox_function, event)
        seconds += time.process_time() - started
        page = json.loads(str(answer["body"]))
        shown, after, more = shown + len(page["messages"]), page["cursor"], page["more"]
    if shown != messages:
        raise AssertionError(f"{shown} of {messages} messages were shown")
    return seconds


def _looks(tombstones: int, *, kept: bool) -> Iterator[tuple[str, ...]]:
    """Looks into a mailbox with many tombstones. `kept`: there is a message older than all of them."""
    api = ApiStack(deploy(new_clients()))
    if kept:
        api.file("{}", at=-22 * _DAY)
    [key] = api.file("{}")
    row = row_of(key, "shop.com")
    assert row is not None
    for number in range(tombstones):
        at_ms = int((api.clock.now - 21 * _DAY + number * 21 * _DAY / tombstones - 3600) * 1000)
        api.deployed.clients.dynamodb.put_item(
            TableName=api.deployed.tables["PostTable"],
            Item={
                "pk": {"S": row.pk}, "sk": {"S": f"m#{at_ms:013d}#{number:032x}"}, "st": {"S": GONE},
                "why": {"S": ACKED}, "ttl": {"N": str(int(api.clock.now) + _DAY)},
            },
        )  # fmt: skip
    owner = Owner(api)
    owner.acknowledge(key)
    for look in ("without the head hint", "with the head hint", "later"):
        with _asked(api) as asked:
            owner.page()
        mailbox = "a message older than all" if kept else "no message"
        yield look, mailbox, str(asked.calls["Query"]), f"{asked.read_units:.2f}"
    assert tombstones > head.WORTH_LEARNING


@contextmanager
def _asked(api: ApiStack) -> Iterator[Asked]:
    """The requests to DynamoDB and S3 within the block."""
    asked, originals = Asked(), {}
    clients = api.deployed.clients
    rows = api.deployed.rows("PostTable")
    row_bytes = sum(map(item_bytes, rows)) / len(rows)

    def watch(client: Any) -> None:
        original = originals[client] = client._make_api_call

        def call(operation: str, request: dict[str, Any]) -> Any:
            asked.calls[operation] += 1
            answer = original(operation, request)
            if request.get("TableName") == api.deployed.tables["PostTable"]:
                asked.read_units += _read_units(operation, answer, row_bytes)
            return answer

        client._make_api_call = call

    for client in (clients.dynamodb, clients.s3):
        watch(client)
    yield asked
    for client, original in originals.items():
        client._make_api_call = original


def _read_units(operation: str, answer: dict[str, Any], row_bytes: float) -> int:
    if operation == "GetItem":
        return 1
    # What is filtered out was read all the same.
    return max(1, math.ceil(answer["ScannedCount"] * row_bytes / READ_UNIT_BYTES)) if operation == "Query" else 0


def _envelope(api: ApiStack) -> str:
    return PipelineStack(api.deployed).envelope(NOTIFY, _BODY).decode()


def _envelope_of(body: str) -> str:
    """An envelope of about the same length, for a store without functions."""
    return json.dumps({"Header": {"From": "b.com", "To": SHOP, "Subject": "x" * 200}, "Body": body, "Hash": "h" * 64})


def _times(effort: Effort) -> Iterator[tuple[str, str]]:
    for name, text in (("nlweb, 2 kB", "x" * 1_500), ("nlweb, 20 kB", "x" * 19_000)):
        row = row_of(f"{1_795_253_400_000}-{'a' * 32}-0", "shop.com")
        assert row is not None
        envelope = json.dumps({"Header": {"From": "b.com", "To": "shop.com"}, "Body": text})
        data = Line(row, "b.com", envelope, {"evidence": "e" * 1000}).encode()
        of_row = Row(row, conversation="b.com")

        def bare(data: bytes = data) -> bytes:
            return orjson.dumps(orjson.loads(data))

        def ours(data: bytes = data, of_row: Row = of_row) -> bytes:
            return encoded(Filed(of_row, decode_line(data)))

        yield name, f"{ratios([bare, ours], effort)[1]:.2f}"


BENCHMARK: Final = Benchmark("pickup", "Reading and acknowledging a mailbox", NOTES, measure)
