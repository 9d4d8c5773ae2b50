"""Benchmark `flow`: the processor time of the inbox and the worker for a message, without AWS, and its parts."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import Final

import orjson
from aws_lambda_powertools.metrics import MetricUnit
from benchmarks.harness import Benchmark, Effort, KnownMiss, Table, marked, over_processes, processor_ratios, times
from benchmarks.lambdas import (
    batch_of,
    claims,
    instant_clients,
    invoke,
    posted,
    sender_of,
    start,
    unheard,
    unsent_requests,
)
from benchmarks.samples import SENDER, SIZE
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_public_key
from nacl.signing import VerifyKey

from postroom.core.ijson import parse
from postroom.crypto.rsa_ed25519 import Algorithm, PrivateKey, PublicKey
from postroom.pipeline.claims import Claim, QueuedClaim, unpack
from postroom.pipeline.outcomes import ClaimOutcome
from postroom.pipeline.verdicts import Accepted
from postroom.pipeline.worker import Record, Worker
from postroom.protocols.nlweb.envelope import read_envelope
from postroom.protocols.nlweb.timestamp import TimestampWindow
from postroom.protocols.nlweb.verify import check_before_lookup, check_signature
from postroom.storage.mail.inbox_log import QUEUED
from postroom.storage.mail.segments import Line, lay_out

MOST_TO_BARE: Final = 3.0
GOAL: Final = 100
"""The batch size of the template and of the goal."""
_KEYS: Final[tuple[tuple[str, Algorithm], ...]] = (("Ed25519", "ed25519"), ("RSA-2048", "rsa"))
_SIZES: Final = (1, 10, GOAL)
PARTS: Final = (
    "the signature",
    "the message: JSON, form, canonical text",
    "the verdict: key, identity, receipt",
    "the queue message",
    "the lines of the segment",
    "the rows of the registers",
    "threads, outcomes",
    "logs, metrics",
)
INBOX_PARTS: Final = (
    "the checks: JSON, form, canonical text, Hash",
    "the claim, encoded and sent",
    "the log line",
    "the metric",
    "event, directory, response",
)
_ROWS: Final = tuple((key, size) for key, _ in _KEYS for size in _SIZES)
_FAKES: Final = (instant_clients, unsent_requests)

NOTES = f"""\
The processor time, of all threads, of the handlers of functions/worker and functions/inbox for one accepted message of
{SIZE} bytes. The functions are set up as in Lambda, and the sender's key is in memory. AWS is replaced by fakes that
answer immediately: *ours* has no AWS client; *with client* has botocore's clients, which create, sign and read every
request, but send none. Neither includes the network, TLS, or the kernel's work for them.

*Bare* is, for the worker, `orjson.loads` of the message, one SHA-256, the signature check by the same library, and
`orjson.dumps` of the same line of the segment (segments are not compressed); for the inbox, `orjson.loads` and the
SHA-256. The parts are measured separately, in loops of their own, where they are faster than in the whole. The
difference is included in the verdict, in the threads of the worker, and in the last part of the inbox.

Goal for the worker with batches of {GOAL}: ours ≤ {MOST_TO_BARE} × bare.
"""


def measure(effort: Effort) -> Sequence[Table]:
    """Tables of the worker and the inbox, compared with bare, and of the parts of their time."""
    # Fewer turns are enough, because a turn takes far longer than the minimum.
    few = replace(effort, rounds=min(effort.rounds, 6), turns=min(effort.turns, 5), processes=min(effort.processes, 3))
    *rows, parts, inbox_parts = over_processes(measure_here, few)
    workers, inboxes = rows[: len(_ROWS)], rows[len(_ROWS) :]
    return [
        Table(
            "The worker",
            ("key, batch", "with client : bare", "ours : bare"),
            tuple(
                (f"{key}, batch {size}", times(client), marked(ours, reached=size != GOAL or ours <= MOST_TO_BARE))
                for (key, size), (ours, client) in zip(_ROWS, workers, strict=True)
            ),
        ),
        _shares(f"Where the worker's time goes: {_KEYS[0][0]}, batch {GOAL}", PARTS, parts),
        Table(
            "The inbox",
            ("key", "with client : bare", "ours : bare"),
            tuple((key, times(client), times(ours)) for (key, _), (ours, client) in zip(_KEYS, inboxes, strict=True)),
        ),
        _shares(f"Where the inbox's time goes: {_KEYS[0][0]}", INBOX_PARTS, inbox_parts),
    ]


def _shares(title: str, names: Sequence[str], parts: Sequence[float]) -> Table:
    rows = tuple((part, f"{ratio / sum(parts):.0%}", times(ratio)) for part, ratio in zip(names, parts, strict=True))
    return Table(title, ("part", "of ours", "part : bare"), rows)


def measure_here(effort: Effort) -> list[list[float]]:
    """Rows of ours and with client to bare: workers, inboxes; then the parts of both with the first key."""
    workers, inboxes, parts, inbox_parts = [], [], list[float](), list[float]()
    with unheard():
        for _, algorithm in _KEYS:
            key = PrivateKey.generate(algorithm)
            with sender_of(key) as variables:
                functions = [start("worker", variables, fake) for fake in _FAKES]
                full = Batch(claims(key, GOAL), key.public, functions[0].worker)
                for function in functions:
                    full.must_be_accepted(function.worker)
                for size in _SIZES:
                    event = batch_of(full.claims[:size])
                    handlers = [partial(invoke, function, event) for function in functions]
                    workers.append(processor_ratios([full.bare(size), *handlers], effort))
                parts = parts or full.parts(functions[0], effort)
                event = posted(full.claims[0].envelope)
                functions = [start("inbox", variables, fake) for fake in _FAKES]
                handlers = [partial(invoke, function, event) for function in functions]
                inboxes.append(processor_ratios([full.bare_inbox, *handlers], effort))
                inbox_parts = inbox_parts or full.inbox_parts(functions[0], effort)
    return [*workers, *inboxes, parts, inbox_parts]


class Batch:
    """Claims, and everything that the worker makes of them."""

    def __init__(self, taken: Sequence[Claim], key: PublicKey, worker: Worker) -> None:
        self.claims, self._key, self._worker = taken, key, worker
        self._judge, self._filing = worker.judges["nlweb"], worker.filing
        self._records = [Record(claim.id, QueuedClaim(claim).body(), 1) for claim in taken]
        self._data = [claim.envelope.encode() for claim in taken]
        self._envelopes = [read_envelope(parse(data, max_bytes=len(data))) for data in self._data]
        self._accepted = [verdict for claim in taken if isinstance(verdict := self._judge.judge(claim), Accepted)]
        self._lines = [
            Line(claim.row, verdict.conversation, verdict.text, verdict.receipt)
            for claim, verdict in zip(taken, self._accepted, strict=True)
        ]
        self._segment, self._places = lay_out(self._lines, "seg/2026/11/21/09/benchmark.jsonl")

    def must_be_accepted(self, worker: Worker) -> None:
        """Raise AssertionError unless all are accepted: discards and retries would take other times."""
        fates = {outcome.fate for outcome in worker.work(self._records).outcomes}
        if fates != {ClaimOutcome.ACCEPTED}:
            raise AssertionError(fates)

    def bare(self, size: int) -> Callable[[], object]:
        """The bare work of a worker."""
        load, sha256, check, dump = orjson.loads, hashlib.sha256, _check(self._key), orjson.dumps
        work = [
            (data, envelope.signed_text, envelope.signature, load(line))
            for data, envelope, line in zip(self._data, self._envelopes, self._segment.splitlines(), strict=True)
        ][:size]

        def bare() -> None:
            for data, text, signature, line in work:
                load(data)
                sha256(text).digest()
                check(text, signature)
                dump(line)

        return bare

    def bare_inbox(self) -> None:
        """The bare work of an inbox."""
        orjson.loads(self._data[0])
        hashlib.sha256(self._envelopes[0].signed_text).digest()

    def parts(self, function: ModuleType, effort: Effort) -> list[float]:
        """The ratio of each of PARTS to bare."""
        event = batch_of(self.claims)
        ways = (
            self.bare(len(self.claims)),
            partial(invoke, function, event),
            lambda: self._worker.work(self._records),
            lambda: [unpack(record.body, self._worker.objects) for record in self._records],
            lambda: [self._judge.judge(claim) for claim in self.claims],
            lambda: [read_envelope(parse(data, max_bytes=len(data))).signed_text for data in self._data],
            lambda: [check_signature(envelope, self._key) for envelope in self._envelopes],
            lambda: lay_out(self._lines, "seg/2026/11/21/09/benchmark.jsonl"),
            self._register,
        )
        handler, work, unpacked, judged, read, checked, laid, put = processor_ratios(ways, effort)
        return [
            checked, read, judged - read - checked, unpacked, laid, put,
            work - unpacked - judged - laid - put, handler - work,
        ]  # fmt: skip

    def inbox_parts(self, function: ModuleType, effort: Effort) -> list[float]:
        """The ratio of each of INBOX_PARTS to bare."""
        event, claim, data = posted(self.claims[0].envelope), self.claims[0], self._data[0]
        at_ms, window, inbox = claim.received_at_ms, TimestampWindow(), function.deployment.pipeline.nlweb_inbox
        line = {**claim.accepted("key", self._envelopes[0].claimed_hash).as_log(), "correlation": "correlation"}

        def metric() -> None:
            function.metrics.add_metric("Answered", MetricUnit.Count, 1)
            function.metrics.flush_metrics()

        handler, checks, taken, logged, told = processor_ratios(
            (
                self.bare_inbox,
                partial(invoke, function, event),
                lambda: check_before_lookup(
                    read_envelope(parse(data, max_bytes=len(data))), is_ours=bool, received_at_ms=at_ms, window=window
                ),
                lambda: inbox.intake.take(
                    claim.mailbox, claim.envelope, received_at_ms=at_ms, sender=SENDER, source=claim.source,
                    details=claim.details,
                ),
                lambda: function.logger.info(QUEUED, extra=line),
                metric,
            ),
            effort,
        )  # fmt: skip
        return [checks, taken, logged, told, handler - checks - taken - logged - told]

    def _register(self) -> None:
        seen, register = self._filing.storage.seen, self._filing.storage.register
        for claim, verdict, place in zip(self.claims, self._accepted, self._places, strict=True):
            who = verdict.identity
            seen.claim_home(who.seen_key, who.digest, claim.row, now=0, forget_at=who.forget_at)
            register.file(claim.row, place, verdict.conversation)


def _check(public: PublicKey) -> Callable[[bytes, bytes], object]:
    """The library's function that checks (text, signature); it raises if the signature is wrong."""
    if public.algorithm == "ed25519":
        return VerifyKey(public.spki()[-32:]).verify
    key, padding, algorithm = load_der_public_key(public.spki()), PKCS1v15(), SHA256()
    if not isinstance(key, RSAPublicKey):
        raise TypeError(public.algorithm)
    return lambda text, signature: key.verify(signature, text, padding, algorithm)


KNOWN: Final = (
    KnownMiss(
        "ours : bare",
        (f"RSA-2048, batch {GOAL}",),
        "RSA is checked faster than Ed25519, and all the rest takes the same time.",
    ),
)
BENCHMARK = Benchmark("flow", "Processor time of the inbox and the worker", NOTES, measure, known=KNOWN)
