"""What is left if a process dies: everything stored, what it logged, and what it sent to others than AWS."""

import hashlib
import json
import re

from tests.faults.office import Town
from tests.faults.tap import Left

_ANEW = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16,}|\d{9,}|[A-Za-z0-9+/_-]{40,}=*"
    r"|\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.,]?\d*|(?<=Milliseconds\":)\[[^]]*\]"
)
"""What is another in each run: ids, times, signatures."""


def look(town: Town) -> Left:
    """What a process that died here would leave."""
    return Left(_digest(stored(town)), outside(town))


def stored(town: Town) -> list[str]:
    """Everything that is stored anywhere: rows, messages in queues, objects, secrets."""
    deployed, queues = town.deployed, town.lying()
    pages = deployed.clients.s3.get_paginator("list_objects_v2").paginate(Bucket=deployed.bucket)
    entries = [entry for page in pages for entry in page.get("Contents", [])]
    secrets = [deployed.clients.secrets.get_secret_value(SecretId=name)["VersionId"] for name in deployed.secrets]
    return [
        *(f"{table} {json.dumps(row, sort_keys=True, default=str)}" for table in deployed.tables
          for row in deployed.rows(table)),
        *(f"{url} {message['Body']} {message['VisibleAt']} {message['ReceiveCount']}" for url in sorted(queues)
          for message in queues[url]),
        *(f"{entry['Key']} {entry['ETag']} {entry['Size']}" for entry in entries),
        *secrets,
    ]  # fmt: skip


def outside(town: Town) -> str:
    """How much came in at others, and was logged."""
    return f"{town.world.came()} {town.log.stat().st_size}"


def alike(town: Town) -> list[str]:
    """What is left, without what is another in each run: runs that ended at the same point left the same."""
    everything = [*stored(town), *town.log.read_text(encoding="utf-8").splitlines(), str(town.world.came())]
    return sorted(_ANEW.sub("…", text) for text in everything)


def _digest(texts: list[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()
