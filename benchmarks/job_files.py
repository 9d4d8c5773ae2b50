"""A store of local files for the jobs, to measure compaction without S3 and DynamoDB. All rows are live."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from benchmarks.mail import Plan, segments

from postroom.jobs.bucket import Bucket, BucketObject, Share
from postroom.jobs.moving import Mover
from postroom.jobs.quarantine import Quarantine
from postroom.jobs.settings import Where
from postroom.jobs.survey import Survey, Terms
from postroom.jobs.tally import Tally
from postroom.runtime.jobs.clients import job_clients
from postroom.storage.aws.object_store import Place
from postroom.storage.layout import RowKey, chunk_name
from postroom.storage.mail.chunks import ChunkLine
from postroom.storage.mail.register import Row


class Wherever:
    """The place of a line, equal to every place."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place)


class AllLive:
    """Registers in which each line is live and each repoint succeeds."""

    def find_all(self, keys: Sequence[RowKey]) -> Mapping[RowKey, Row]:
        return {key: Row(key, Wherever()) for key in keys}  # type: ignore[arg-type]

    def repoint(self, _key: RowKey, _source: str, _place: Place) -> bool:
        return True


@dataclass(frozen=True)
class Files:
    """A bucket in a folder. Writes go to another folder, and nothing is deleted."""

    folder: str
    into: str

    def objects(self, share: Share) -> Iterator[BucketObject]:
        for path in sorted(Path(self.folder, share.prefix).iterdir()):
            yield BucketObject(share.prefix + path.name, path.stat().st_size)

    def read(self, name: str) -> Sequence[bytes]:
        return [Path(self.folder, name).read_bytes()]

    def put_new(self, name: str, data: bytes, _content_type: str) -> bool:
        path = Path(self.into, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return True

    def delete_all(self, names: Sequence[str]) -> None:
        """They are read again in the next round."""


@dataclass(frozen=True)
class FileReach:
    """The parts of a job (`JobParts`) for a store of local files."""

    folder: str
    into: str

    def bucket(self, _tally: Tally) -> Files:
        return Files(self.folder, self.into)

    def registers(self, _tally: Tally) -> AllLive:
        return AllLive()


class _Kept(Bucket):
    def delete_all(self, names: Sequence[str]) -> None:
        """They are read again in the next round."""


@dataclass(frozen=True)
class LiveReach:
    """The parts of a job for a bucket of S3 without deletions, and registers in which each line is live."""

    name: str
    endpoint_url: str

    def bucket(self, tally: Tally) -> Bucket:
        return _Kept(job_clients(Where(self.endpoint_url))("s3"), self.name, tally)

    def registers(self, _tally: Tally) -> AllLive:
        return AllLive()


def shares_of(folder: Path) -> list[Share]:
    """All shares of a folder, hour by hour."""
    hours = sorted({path.parent for path in folder.rglob("*.jsonl")})
    return [
        Share(f"{hour.relative_to(folder).as_posix()}/", size=sum(path.stat().st_size for path in hour.iterdir()))
        for hour in hours
    ]


def lay_down(plan: Plan, folder: Path) -> int:
    """Write the mail of a plan to a folder; returns its size in bytes."""
    size = 0
    for segment in segments(plan, rows=False):
        path = folder / segment.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(segment.data)
        size += len(segment.data)
    return size


def in_one_process(bucket: object, registers: object, terms: Terms, shares: Sequence[Share], pool: Executor) -> None:
    """The same job without Spark: threads read, all lines are sorted in memory, threads write."""
    tally = Tally()
    survey = Survey(bucket, registers, Quarantine(bucket, tally, dry_run=True), terms, tally, pool)  # type: ignore[arg-type]
    found = survey.survey(found for share in shares for found in bucket.objects(share))  # type: ignore[attr-defined]
    kept = sorted((each for each in found if isinstance(each, ChunkLine)), key=lambda line: line.order)
    mover = Mover(bucket, registers, tally, pool, lambda: chunk_name(terms.now, uuid4().hex), dry_run=False)  # type: ignore[arg-type]
    for _ in mover.move(kept):
        pass
