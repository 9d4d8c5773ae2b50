"""A run of compaction without Spark: its stages one after the other, as glue_jobs/compact_chunks.py plugs them."""

from collections import defaultdict
from collections.abc import Callable, Set
from concurrent.futures import Executor
from dataclasses import dataclass, field
from itertools import count

from tests.aws import Clients, Deployed
from tests.post.ports import InTurn

from postroom.jobs.bucket import Bucket
from postroom.jobs.collecting import Collector
from postroom.jobs.due import due_hours
from postroom.jobs.evidence import Evidence, added_up
from postroom.jobs.moving import Mover
from postroom.jobs.pace import Pace
from postroom.jobs.quarantine import Quarantine
from postroom.jobs.registers import Registers
from postroom.jobs.survey import Survey, Terms
from postroom.jobs.tally import Counts, Tally
from postroom.store.cutting import Kept
from postroom.store.keys import chunk_name
from postroom.store.rounds import DAY_MS, Before, settled_by

UNHINDERED = 1e9
"""Units a second: whoever plays does not wait."""


def _numbers() -> Callable[[], str]:
    numbers = count(1)
    return lambda: f"{next(numbers):032x}"


@dataclass
class Played:
    """The job on one deployment, run after run. `before`: of the last that came to its end."""

    deployed: Deployed
    retain_seconds: int
    lag_ms: int = DAY_MS
    held: Set[str] = frozenset()
    pool: Executor = field(default_factory=InTurn)
    new_id: Callable[[], str] = field(default_factory=_numbers)
    before: Before = field(default_factory=Before)

    def compact(self, now: int, clients: Clients | None = None, *, dry_run: bool = False) -> Counts:
        """A whole run, which begins at `now` (epoch milliseconds); what was counted."""
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
        kept: list[Kept] = []
        known: dict[str, list[Evidence]] = defaultdict(list)
        collector = Collector(bucket, tally, dry_run=dry_run)
        found = survey.survey(found for share in shares for found in bucket.objects(share))
        for each in collector.passed(found):
            if isinstance(each, Kept):
                kept.append(each)
            else:
                known[each.source].append(each)
        mover = Mover(
            bucket, self.registers(tally, clients), tally, self.pool, lambda: chunk_name(now, self.new_id()),
            dry_run=dry_run,
        )  # fmt: skip
        for evidence in mover.move(sorted(kept, key=lambda line: line.order)):
            known[evidence.source].append(evidence)
        collector.collect(added_up(source, parts) for source, parts in known.items())
        if not dry_run:
            self.before = Before(now, settled_by(self.lag_ms, now))
        return tally.take()

    def bucket(self, tally: Tally, clients: Clients | None = None) -> Bucket:
        return Bucket((clients or self.deployed.clients).s3, self.deployed.bucket, tally)

    def registers(self, tally: Tally, clients: Clients | None = None) -> Registers:
        return Registers(
            (clients or self.deployed.clients).dynamodb,
            self.deployed.tables["PostTable"],
            reads=Pace(UNHINDERED),
            writes=Pace(UNHINDERED),
            tally=tally,
            sleep=lambda _seconds: None,
        )
