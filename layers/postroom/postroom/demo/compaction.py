"""The demo's scene of the nightly compaction: the owner of a mailbox sees the same before and after."""

from collections.abc import Callable, Sequence
from typing import Final

from postroom.demo.checks import DemoRow, Say, expect
from postroom.demo.deployment import DemoDeployment
from postroom.local.job_runs import run
from postroom.storage.layout import CHUNKS, SEGMENTS
from postroom.storage.mail.reader import Filed, runs_of

_OBJECTS: Final = 5
"""The minimum number of objects with messages of the conversation before compaction."""


def compacted(receiver: DemoDeployment, conversation: str, write: Callable[[], None], say: Say) -> list[DemoRow]:
    """The compaction job, without its lag. `write`: files one more message of the conversation, in its own segment."""
    while len({filed.row.place for filed in receiver.filed(receiver.domain, conversation)}) < _OBJECTS:
        write()
    before, (segments, size) = receiver.filed(receiver.domain, conversation), _objects(receiver, SEGMENTS)
    read_before = _requests(before)
    say(f"{segments} segments of {size:,} bytes; {len(before)} messages of {conversation} are in {read_before} of them")
    say(f"reading the conversation takes {read_before} requests to S3; now the nightly job runs, without its lag …")
    report = run(receiver.deployment.outputs, receiver.deployment.client.at, "compact", more={"LAG_HOURS": 0})
    after, (left, left_size) = receiver.filed(receiver.domain, conversation), _objects(receiver, SEGMENTS)
    written, written_size = _objects(receiver, CHUNKS)
    expect(_shown(after) == _shown(before), "the owner sees the same messages", after)
    chunks = {filed.row.place.object for filed in after if filed.row.place}
    expect(all(name.startswith(CHUNKS) for name in chunks), "all messages are in chunks", chunks)
    expect(left < segments, "there are fewer segments", left)
    read_after = _requests(after)
    expect(read_after < read_before, "reading takes fewer requests", read_after)
    say(f"  Spark took {report['seconds']} s: lines {report['lines']}, dropped {report.get('dropped', {})}")
    say(f"now: {left} segments ({left_size:,} bytes), {written} chunk ({written_size:,} bytes)")
    say(f"the same messages in the same order; requests to S3 to read the conversation: {read_after}")
    return [
        DemoRow(
            "18",
            "the nightly job",
            f"{segments} segments, {left} left",
            f"requests to read: {read_before} → {read_after}",
        )
    ]


def _shown(filed: Sequence[Filed]) -> list[object]:
    return [(each.row.key, each.line.envelope, each.line.receipt) for each in filed]


def _objects(receiver: DemoDeployment, prefix: str) -> tuple[int, int]:
    """The number of objects under a prefix, and their bytes."""
    pages = (
        receiver.deployment.client("s3")
        .get_paginator("list_objects_v2")
        .paginate(Bucket=receiver.deployment.outputs["Bucket"], Prefix=prefix)
    )
    sizes = [entry["Size"] for page in pages for entry in page.get("Contents", [])]
    return len(sizes), sum(sizes)


def _requests(filed: Sequence[Filed]) -> int:
    return len(runs_of([each.row for each in filed]))
