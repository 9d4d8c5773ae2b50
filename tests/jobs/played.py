"""Runs of the jobs without Spark: their stages one after the other, in the order of the files in glue_jobs."""

from collections import defaultdict
from collections.abc import Callable, Set
from concurrent.futures import Executor
from dataclasses import dataclass, field
from itertools import count

from tests.aws import Clients, Deployed
from tests.fakes.executor import SerialExecutor

from postroom.jobs.bucket import Bucket, Share
from postroom.jobs.due_hours import due_hours
from postroom.jobs.expiring import Candidates, Expirer, ExpiryTerms
from postroom.jobs.moving import Mover
from postroom.jobs.object_deletion import ObjectDeleter
from postroom.jobs.pace import Pace
from postroom.jobs.paced_requests import PacedRequests
from postroom.jobs.past_lines import PastLines, added_up
from postroom.jobs.quarantine import Quarantine
from postroom.jobs.registers import Registers
from postroom.jobs.scanning import TableScanner
from postroom.jobs.survey import Survey, Terms
from postroom.jobs.tally import Counts, Tally
from postroom.jobs.temporary_objects import old_hours
from postroom.storage.directory.mailboxes import Mailboxes
from postroom.storage.layout import CHUNKS, SEGMENTS, chunk_name, hour_of
from postroom.storage.limits.quotas import Usages
from postroom.storage.mail.chunks import ChunkLine
from postroom.storage.mail.expiry import FLOOR_DAYS, ORPHAN_DAYS, Periods
from postroom.storage.mail.object_schedule import DAY_MS, LastRun, is_chunk_due, settled_by

UNHINDERED = 1e9
"""Units per second, so many that a run never waits."""
FOR_EVER = Periods(0, FLOOR_DAYS)
"""Messages never expire."""


def _numbers() -> Callable[[], str]:
    numbers = count(1)
    return lambda: f"{next(numbers):032x}"


@dataclass
class Played:
    """The jobs on one deployment, run after run. `before`, `expired_at`: of the last run that was completed."""

    deployed: Deployed
    retain_seconds: int
    lag_ms: int = DAY_MS
    held: Set[str] = frozenset()
    pool: Executor = field(default_factory=SerialExecutor)
    new_id: Callable[[], str] = field(default_factory=_numbers)
    before: LastRun = field(default_factory=LastRun)
    expired_at: int = 0

    def compact(self, now: int, clients: Clients | None = None, *, dry_run: bool = False) -> Counts:
        """A whole run of compaction, which begins at `now` (epoch milliseconds); returns its counts."""
        tally = Tally()
        bucket = self.bucket(tally, clients)
        shares = [
            share
            for hour in due_hours(bucket, lag_ms=self.lag_ms, before=self.before, now=now)
            for share in bucket.shares(hour)
        ]
        survey = Survey(
            bucket, self.registers(tally, clients), Quarantine(bucket, tally, dry_run=dry_run),
            Terms(now, self.retain_seconds, self.held), tally, self.pool,
        )  # fmt: skip
        kept: list[ChunkLine] = []
        known: dict[str, list[PastLines]] = defaultdict(list)
        deleter = ObjectDeleter(bucket, tally, dry_run=dry_run)
        found = survey.survey(found for share in shares for found in bucket.objects(share))
        for each in deleter.delete_while_reading(found):
            if isinstance(each, ChunkLine):
                kept.append(each)
            else:
                known[each.source].append(each)
        mover = Mover(
            bucket, self.registers(tally, clients), tally, self.pool, lambda: chunk_name(now, self.new_id()),
            dry_run=dry_run,
        )  # fmt: skip
        for evidence in mover.move(sorted(kept, key=lambda line: line.order)):
            known[evidence.source].append(evidence)
        deleter.delete(added_up(source, parts) for source, parts in known.items())
        if not dry_run:
            self.before = LastRun(now, settled_by(self.lag_ms, now))
        return tally.take()

    def expire(self, now: int, clients: Clients | None = None) -> Counts:
        """A whole run of expiry, for messages and old objects, in the order of glue_jobs/expire_messages.py."""
        tally = Tally()
        expirer = self.expirer(tally, now, clients)
        for _ in expirer.expire(self.candidates(clients).names(0, 1)):
            pass
        terms, bucket = Terms(now, self.retain_seconds, self.held), self.bucket(tally, clients)
        collect_orphans(bucket, self.registers(tally, clients), terms, tally, self.pool, since=self.expired_at)
        self.expired_at = now
        return tally.take()

    def candidates(self, clients: Clients | None = None) -> Candidates:
        dynamodb, table = (clients or self.deployed.clients).dynamodb, self.deployed.tables["DirectoryTable"]
        reads = _unhindered("read", Tally())
        return Candidates(TableScanner(dynamodb, table, reads), Mailboxes(dynamodb, table), reads)

    def expirer(
        self,
        tally: Tally,
        now: int,
        clients: Clients | None = None,
        *,
        periods: Periods = FOR_EVER,
        dry_run: bool = False,
    ) -> Expirer:
        dynamodb, tables = (clients or self.deployed.clients).dynamodb, self.deployed.tables
        return Expirer(
            self.registers(tally, clients),
            Mailboxes(dynamodb, tables["DirectoryTable"]),
            Usages(dynamodb, tables["LimitsTable"]),
            ExpiryTerms(now, periods, self.retain_seconds, dry_run),
            tally,
            self.pool,
            reads=_unhindered("read", tally),
            writes=_unhindered("write", tally),
        )

    def bucket(self, tally: Tally, clients: Clients | None = None) -> Bucket:
        return Bucket((clients or self.deployed.clients).s3, self.deployed.bucket, tally, no_sleep)

    def registers(self, tally: Tally, clients: Clients | None = None) -> Registers:
        return Registers(
            (clients or self.deployed.clients).dynamodb,
            self.deployed.tables["PostTable"],
            reads=Pace(UNHINDERED),
            writes=Pace(UNHINDERED),
            tally=tally,
            sleep=no_sleep,
        )


def collect_orphans(
    bucket: Bucket,
    registers: Registers,
    terms: Terms,
    tally: Tally,
    pool: Executor,
    *,
    since: int = 0,
    dry_run: bool = False,
) -> None:
    """Delete old objects as glue_jobs/expire_messages.py does: old lines are looked up, and no lines are moved."""
    quarantine = Quarantine(bucket, tally, dry_run=True)
    survey = Survey(bucket, registers, quarantine, terms, tally, pool, may_rewrite=False)
    hours = [hour for prefix in (SEGMENTS, CHUNKS) for hour in old_hours(bucket, prefix, ORPHAN_DAYS, terms.now)]
    due = [hour for hour in hours if is_chunk_due(hour_of(hour), since, terms.now)]
    evidence = []
    for each in survey.survey(found for hour in due for found in bucket.objects(Share(hour))):
        assert isinstance(each, PastLines), "no line is to move"
        evidence.append(each)
    ObjectDeleter(bucket, tally, dry_run=dry_run).delete(evidence)


def _unhindered(what: str, tally: Tally) -> PacedRequests:
    return PacedRequests(what, Pace(UNHINDERED), tally, no_sleep)


def no_sleep(_seconds: float) -> None:
    """The pauses before retries."""
