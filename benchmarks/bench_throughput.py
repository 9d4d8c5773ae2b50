"""Benchmark `throughput`: messages per second through inbox and worker, compared with the bare AWS calls."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Final, Generic, TypeVar

import boto3
from benchmarks.harness import Benchmark, Effort, Table, marked, over_processes, ratios, times
from benchmarks.lambdas import RULE, Event, batch_of, claims, clients_of, invoke, posted, start, unheard
from benchmarks.samples import RECEIVER, SELECTOR, SENDER, SIZE
from botocore.config import Config

from postroom.core.side_by_side import THREADS
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.local.clients import REGION
from postroom.local.stack import LocalDeployment, LocalStack
from postroom.pipeline.claims import Claim, QueuedClaim
from postroom.protocols.nlweb.key_record import record_text, zone_line
from postroom.protocols.nlweb.schema import NLWEB
from postroom.storage.directory.domains import Domain
from postroom.storage.directory.operators import Operators
from postroom.storage.layout import partition
from postroom.storage.mail.register import LIVE

T = TypeVar("T")

LEAST_TO_BARE: Final = 0.8
MESSAGES: Final = 100
"""The messages of a turn. The emulator's queue slows down with its backlog, so it is emptied before the next turn."""
_SIZES: Final = (100, 10)
"""The sizes of batches. The emulator's mappings deliver at most 10 messages, so the handler is called directly."""
_LINE_BEYOND: Final = 1000
"""The approximate size of a line without the envelope, which is mostly the receipt."""
_TEMPLATE: Final = Path(__file__).parent.parent / "template.yaml"

NOTES = f"""\
{MESSAGES} messages of {SIZE} bytes, signed with Ed25519, pass through the real handlers of functions/inbox and
functions/worker, with the template's settings, on the embedded AWS: first all are posted, one after the other; then
they are processed in batches. *Bare* makes the same number of the same AWS calls with boto3's defaults, and does
nothing else: SendMessage, one after the other; then, for each batch, a conditional PutItem for each message, one
PutObject of the same size, and another conditional PutItem for each message, with {THREADS} threads. Time is elapsed
time; the embedded AWS shares the machine with both.

The numbers are ours : bare, in messages per second. Goal: ≥ {LEAST_TO_BARE} from the inbox to filed.
"""


def measure(effort: Effort) -> Sequence[Table]:
    """One table: a row for each size of batch."""
    # Fewer turns are enough, because a turn takes a second.
    few = Effort(min(effort.rounds, 6), turns=1, turn_seconds=0, processes=min(effort.processes, 2))
    rows = over_processes(measure_here, few)
    return [
        Table(
            "",
            ("batch", "inbox", "worker", "inbox to filed"),
            tuple(
                (f"batch {size}", times(inbox), times(worker), marked(both, reached=both >= LEAST_TO_BARE))
                for size, (inbox, worker, both) in zip(_SIZES, rows, strict=True)
            ),
        )
    ]


def measure_here(effort: Effort) -> list[list[float]]:
    """For each batch size, messages per second to bare: of the inbox, of the worker, and of both together."""
    key = PrivateKey.generate("ed25519")
    with unheard(), LocalStack(_TEMPLATE) as stack:
        record = zone_line(NLWEB.key_name(SENDER, SELECTOR), record_text(key.public))
        stack.tree.put(SENDER, f"nlweb IN A 127.0.0.1\n{record}\n")
        deployed = ThroughputStack(stack.deploy("benchmark"), key)
        rows = [_to_bare(deployed, Bare(deployed), size, effort) for size in _SIZES]
        deployed.must_have_filed_all()
    return rows


def _to_bare(deployed: "ThroughputStack", bare: "Bare", size: int, effort: Effort) -> list[float]:
    def batches() -> list[list[Claim]]:
        taken = deployed.claims()
        return [taken[start : start + size] for start in range(0, MESSAGES, size)]

    inbox, bare_inbox, worker, bare_worker = ratios(
        [
            Clocked(lambda: [posted(claim.envelope) for claim in deployed.claims()], deployed.post),
            Clocked(lambda: [QueuedClaim(claim).body() for claim in deployed.claims()], bare.send),
            Clocked(lambda: [batch_of(batch) for batch in batches()], deployed.work),
            Clocked(batches, bare.file),
        ],
        effort,
    )
    return [bare_inbox / inbox, bare_worker / worker, (bare_inbox + bare_worker) / (inbox + worker)]


class Clocked(Generic[T]):
    """A variant of which only `run` is measured, not its preparation."""

    def __init__(self, prepare: Callable[[], T], run: Callable[[T], None]) -> None:
        self._prepare, self._run = prepare, run

    def timeit(self, number: int, /) -> float:
        """The seconds of `number` runs."""
        seconds = 0.0
        for _ in range(number):
            prepared = self._prepare()
            started = time.perf_counter()
            self._run(prepared)
            seconds += time.perf_counter() - started
        return seconds


class ThroughputStack:
    """A deployment whose inbox and worker run in this process."""

    def __init__(self, deployment: LocalDeployment, key: PrivateKey) -> None:
        self.client, self.physical = deployment.client, {each.logical: each.physical for each in deployment.resources}
        self.session = boto3.Session(deployment.account, deployment.client.at.secret, region_name=REGION)
        self._key, self._claims, self._worked_off = key, 0, 0
        functions = self.client("lambda")
        for mapping in functions.list_event_source_mappings()["EventSourceMappings"]:
            functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
        operators = Operators(self.client("dynamodb"), self.physical["DirectoryTable"])
        operators.put_domain(Domain(RECEIVER))
        operators.put_subject(RECEIVER, RULE)
        self._inbox, self._worker = self._start("inbox", "InboxFunction"), self._start("worker", "WorkerFunction")

    def _start(self, function: str, logical: str) -> ModuleType:
        deployed = self.client("lambda").get_function_configuration(FunctionName=self.physical[logical])
        variables = {**deployed["Environment"]["Variables"], "AWS_ENDPOINT_URL": self.client.endpoint}
        return start(function, variables, lambda: clients_of(self.session))

    def claims(self) -> list[Claim]:
        """New messages for a turn, and an empty queue."""
        self.client("sqs").purge_queue(QueueUrl=self.physical["ClaimsQueue"])
        self._claims += MESSAGES
        return claims(self._key, MESSAGES, first=self._claims)

    def post(self, requests: Sequence[Event]) -> None:
        """Post the messages one after the other, as one Lambda function instance receives them."""
        for request in requests:
            invoke(self._inbox, request)

    def work(self, events: Sequence[Event]) -> None:
        """Process the batches one after the other."""
        for event in events:
            invoke(self._worker, event)
        self._worked_off += MESSAGES

    def must_have_filed_all(self) -> None:
        """Raise AssertionError unless all are filed: discards and retries would take other times."""
        pages = (
            self.client("dynamodb")
            .get_paginator("query")
            .paginate(
                TableName=self.physical["PostTable"],
                KeyConditionExpression="pk = :pk",
                FilterExpression="st = :live",
                ExpressionAttributeValues={":pk": {"S": partition(RECEIVER, 0)}, ":live": {"S": LIVE}},
                Select="COUNT",
            )
        )
        filed = sum(page["Count"] for page in pages)
        if filed != self._worked_off:
            raise AssertionError(f"{self._worked_off} messages were worked off, {filed} are filed")


class Bare:
    """The AWS calls alone, with keys that differ from those of the deployment by one character."""

    def __init__(self, deployed: ThroughputStack) -> None:
        self._physical = deployed.physical
        config = Config(max_pool_connections=THREADS)
        at = deployed.client.endpoint
        self._dynamodb = deployed.session.client("dynamodb", endpoint_url=at, config=config)
        self._s3 = deployed.session.client("s3", endpoint_url=at, config=config)
        self._sqs = deployed.session.client("sqs", endpoint_url=at, config=config)
        self._pool = ThreadPoolExecutor(THREADS)

    def send(self, bodies: Sequence[str]) -> None:
        """The calls of the inbox."""
        for body in bodies:
            self._sqs.send_message(QueueUrl=self._physical["ClaimsQueue"], MessageBody=body)

    def file(self, batches: Sequence[Sequence[Claim]]) -> None:
        """The calls of the worker."""
        for batch in batches:
            list(self._pool.map(self._put_seen, batch))
            name = f"seg/2026/11/21/09/{batch[0].id}.jsonl"
            data = b"".join(claim.envelope.encode() + bytes(_LINE_BEYOND) for claim in batch)
            self._s3.put_object(Bucket=self._physical["Bucket"], Key=name, Body=data, IfNoneMatch="*")
            list(self._pool.map(self._put_row, batch))

    def _put_seen(self, claim: Claim) -> None:
        self._dynamodb.put_item(
            TableName=self._physical["SeenTable"],
            Item={
                "pk": {"S": f"b#{claim.id * 2}"},
                "hash": {"S": claim.id * 2},
                "home": {"M": {"pk": {"S": claim.row.pk}, "sk": {"S": claim.row.sk}}},
                "ttl": {"N": str(claim.received_at_ms // 1000)},
            },
            ConditionExpression="attribute_not_exists(pk) OR #ttl < :now",
            ExpressionAttributeNames={"#ttl": "ttl"},
            ExpressionAttributeValues={":now": {"N": "0"}},
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )

    def _put_row(self, claim: Claim) -> None:
        self._dynamodb.put_item(
            TableName=self._physical["PostTable"],
            Item={
                "pk": {"S": partition(f"b{RECEIVER}", 0)},
                "sk": {"S": claim.row.sk},
                "st": {"S": LIVE},
                "o": {"S": f"seg/2026/11/21/09/{claim.id}.jsonl"},
                "off": {"N": "100000"},
                "len": {"N": "2500"},
                "c": {"S": SENDER},
            },
            ConditionExpression="attribute_not_exists(pk)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )


BENCHMARK = Benchmark("throughput", "From the inbox to the mailbox, in the embedded AWS", NOTES, measure)
