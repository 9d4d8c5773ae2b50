"""The collection of everything in the deployment at the end of a soak: mail as its owners read it, and all rows."""

import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.soak.ledger import Discard, Evidence
from tests.soak.stack import RECEIVER, SoakStack

from postroom.demo.names import BOB
from postroom.storage.audit.audit import audit
from postroom.storage.audit.collection import collect_evidence
from postroom.storage.audit.findings import Findings
from postroom.storage.mail.head import is_head
from postroom.storage.mail.inbox_log import read_ledger
from postroom.storage.mail.reader import Filed, runs_of
from postroom.storage.mail.register import read_row

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

_AT_ONCE: Final = 500
"""The number of rows whose messages are in memory at a time."""
_SAID: Final = frozenset({"queued", "discarded"})
"""Log lines with a claim and its Correlation: the inbox writes one for each claim, the worker for each discard."""


def look(stack: SoakStack, logs: Path, *, waiting: int, died: int, unanswered: int) -> Evidence:
    """The evidence; reads only."""
    filed: dict[str, list[bytes]] = defaultdict(list)
    live = read = 0
    for mailbox in (RECEIVER, BOB):
        for rows, messages in _pages(stack, mailbox):
            live, read = live + rows, read + len(messages)
            for message in messages:
                identity, digest = _known_by(message)
                filed[identity].append(digest)
    feedback = {correlation: len(each) for (_, correlation), each in stack.sink.feedback.items()}
    return Evidence(
        filed=dict(filed),
        unreadable=live - read,
        discards=_discards(stack),
        claims=_claims(logs),
        replies=frozenset(item["pk"]["S"] for item in _scan(stack, "SeenTable") if {"reply", "reply_at"} & item.keys()),
        feedback=feedback,
        given_up=frozenset(_given_up(logs)),
        waiting=waiting,
        died=died,
        unanswered=unanswered,
    )


def audited(stack: SoakStack, logs: Path) -> Findings:
    """The result of `postroom audit`, with the logs of the inboxes as its ledger."""
    retain_seconds = int(stack.deployment.outputs["RetainSeconds"])
    evidence = collect_evidence(stack.demo.storage.audited_store, now=int(time.time()), retain_seconds=retain_seconds)
    ledger = chain(_lines(logs, "inbox-*.log"), _lines(logs, "dm3-*.log"))
    return audit(evidence, read_ledger(ledger))


def _given_up(logs: Path) -> Iterator[str]:
    for line in _lines(logs, "inbox-*.err"):
        _, said, key = line.rstrip("\n").rpartition("reply given and not remembered: ")
        if said:
            yield key


def _lines(logs: Path, pattern: str) -> Iterator[str]:
    for log in logs.glob(pattern):
        with log.open(encoding="utf-8") as lines:
            yield from lines


def _pages(stack: SoakStack, mailbox: str) -> Iterator[tuple[int, list[Filed]]]:
    """One pass over a mailbox: the number of live rows, and their readable messages."""
    reader = stack.demo.storage.reader
    rows = list(reader.list(mailbox, 1, now=int(time.time())))
    for first in range(0, len(rows), _AT_ONCE):
        page = rows[first : first + _AT_ONCE]
        found = (each for run in runs_of(page) for each in reader.fetch_run(run))
        yield len(page), [each for each in found if isinstance(each, Filed)]


def _known_by(message: Filed) -> tuple[str, bytes]:
    envelope = message.line.envelope
    if message.line.receipt["protocol"] == "dm3":
        return str(message.line.receipt["message_hash"]), b""
    return json.loads(envelope)["Header"]["Correlation"], hashlib.sha256(envelope.encode()).digest()


def _discards(stack: SoakStack) -> dict[str, Discard]:
    rows = ((read_row(item), "sent" in item) for item in _scan(stack, "PostTable") if not is_head(item))
    return {row.key.claim_id: Discard(str(row.discarded), sent) for row, sent in rows if row.discarded}


def _scan(stack: SoakStack, table: str) -> "Iterator[dict[str, AttributeValueTypeDef]]":
    pages = stack.deployment.client("dynamodb").get_paginator("scan")
    for page in pages.paginate(TableName=stack.deployment.outputs[table], ConsistentRead=True):
        yield from page["Items"]


def _claims(logs: Path) -> dict[str, list[str]]:
    claims: dict[str, set[str]] = defaultdict(set)
    for line in _lines(logs, "*.log"):
        said: dict[str, Any] = json.loads(line)
        if said.get("message") in _SAID and said.get("correlation"):
            claims[said["correlation"]].add(said["claim"])
    return {correlation: sorted(ids) for correlation, ids in claims.items()}
