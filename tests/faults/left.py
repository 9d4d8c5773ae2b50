"""The state that a process leaves when it dies: everything stored, its log, and what it sent to anyone but AWS."""

import hashlib
import json
import re

from tests.faults.stack import FaultStack
from tests.faults.tap import Left

_ANEW = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16,}|\d{9,}|[A-Za-z0-9+/_-]{40,}=*"
    r"|(?<=\"S\": \")[A-Za-z0-9_-]{32}(?=[.\"])"
    r"|\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.,]?\d*|(?<=Milliseconds\":)\[[^]]*\]|(?<=lookups#)\d+|(?<=waits#)\d+"
    r"|(?<=#)\d{6}(?=\")|(?<=\"hour\": )\d+"
)
"""A pattern for what differs in each run: ids, times, signatures, nonces, the slots that runs hold, the hours of
Feedback, because an hour may end between two runs."""


class Watcher:
    """Looks at the state that a process would leave if it died now.

    After a call, it reads again only what the service stores; after a call of a service that can change what others
    store, such as Lambda, it reads everything.
    """

    def __init__(self, stack: FaultStack) -> None:
        self._stack = stack
        self._digests: dict[str, str] = {}

    def __call__(self, service: str = "") -> Left:
        for name, read in _STORES.items():
            if name == service or service not in (*_STORES, _NOTHING):
                self._digests[name] = _digest(read(self._stack))
        return Left(" ".join(self._digests.values()), outside(self._stack))


def stored(stack: FaultStack) -> list[str]:
    """Everything that is stored: rows, queue messages, objects, secrets."""
    return [text for read in _STORES.values() for text in read(stack)]


def _rows(stack: FaultStack) -> list[str]:
    tables = stack.deployed.tables
    return [f"{table} {json.dumps(row, sort_keys=True)}" for table in tables for row in stack.rows(table)]


def _messages(stack: FaultStack) -> list[str]:
    queues = stack.lying()
    return [
        f"{url} {message['Body']} {message['VisibleAt']} {message['ReceiveCount']}"
        for url in sorted(queues) for message in queues[url]
    ]  # fmt: skip


def _objects(stack: FaultStack) -> list[str]:
    deployed = stack.deployed
    pages = deployed.clients.s3.get_paginator("list_objects_v2").paginate(Bucket=deployed.bucket)
    return [f"{entry['Key']} {entry['ETag']} {entry['Size']}" for page in pages for entry in page.get("Contents", [])]


def _secrets(stack: FaultStack) -> list[str]:
    deployed = stack.deployed
    return [deployed.clients.secrets.get_secret_value(SecretId=name)["VersionId"] for name in deployed.secrets]


_STORES = {"dynamodb": _rows, "sqs": _messages, "s3": _objects, "secrets-manager": _secrets}
"""What each service stores, by the name that botocore's events have for it."""
_NOTHING = "nothing"


def outside(stack: FaultStack) -> str:
    """The number of messages that others received, and the length of the log."""
    return f"{stack.internet.came()} {stack.log.stat().st_size}"


def alike(stack: FaultStack) -> list[str]:
    """The state without what differs in each run, so that runs that ended at the same point are equal."""
    everything = [*stored(stack), *stack.log.read_text(encoding="utf-8").splitlines(), str(stack.internet.came())]
    return sorted(map(lasting, everything))


def lasting(text: str) -> str:
    """A text without what differs in each run."""
    return _ANEW.sub("…", text)


def _digest(texts: list[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()
