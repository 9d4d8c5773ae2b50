"""The objects of a Glue job: the composition root of `postroom.jobs`, for the driver and for each task.

A task may run in another process or on another machine. It carries the arguments of the job there, pickled, and makes
its objects from them; clients and paces are made once for each process.
"""

from concurrent.futures import Executor
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from postroom.core.settings import DeploymentSettings
from postroom.jobs.bucket import Bucket
from postroom.jobs.container_garbage import ContainerGarbage
from postroom.jobs.expiring import Candidates, Expirer, ExpiryTerms
from postroom.jobs.pace import Pace
from postroom.jobs.paced_requests import PacedRequests
from postroom.jobs.registers import Registers
from postroom.jobs.report_storage import MetricLog
from postroom.jobs.scanning import TableScanner
from postroom.jobs.settings import ExpireSettings, JobSettings
from postroom.jobs.tally import Tally
from postroom.jobs.temporary_objects import TemporaryObjects
from postroom.runtime.deployment import Deployment
from postroom.runtime.jobs.clients import job_clients
from postroom.runtime.storage_parts import StorageParts
from postroom.storage.aws.object_store import ObjectStore

_NAMES: Final = ("bucket", "post_table", "directory_table", "limits_table", "storage_table")
"""The arguments that are settings of the deployment, too; compaction has no table of limits or containers."""


@dataclass(frozen=True, slots=True)
class JobParts:
    """The objects that every job needs. Raises SettingsError where an argument is missing.

    `slots`: how many tasks run at a time; each has that share of the units per second.
    """

    settings: JobSettings
    slots: int = 1

    def bucket(self, tally: Tally) -> Bucket:
        """The bucket for tasks."""
        return Bucket(self._storage.s3, self.settings.bucket, tally)

    def documents(self) -> ObjectStore:
        """The bucket for reports."""
        return self._storage.objects

    def metric_log(self) -> MetricLog | None:
        """The log group that also gets the report; None: only the job's log has it."""
        settings = self.settings
        if not settings.log_group:
            return None
        return MetricLog(job_clients(settings.where)("logs"), settings.log_group, settings.namespace)

    def directory(self, tally: Tally) -> TableScanner:
        """Table `directory`, to be scanned."""
        return self._table(self.settings.directory_table, tally)

    def registers(self, tally: Tally) -> Registers:
        """Table `post`."""
        table = self.settings.post_table
        return Registers(
            self._storage.dynamodb, table, reads=self._reading(table), writes=self._writing(table), tally=tally
        )

    @property
    def _storage(self) -> StorageParts:
        """The deployment's own objects, with the clients of this process."""
        named = {name: getattr(self.settings, name) for name in _NAMES if hasattr(self.settings, name)}
        return Deployment(DeploymentSettings(**named), job_clients(self.settings.where)).storage

    def _table(self, name: str, tally: Tally) -> TableScanner:
        return TableScanner(self._storage.dynamodb, name, self._reads(name, tally))

    def _reads(self, table: str, tally: Tally) -> PacedRequests:
        """Sends requests that read from a table."""
        return PacedRequests("read", self._reading(table), tally)

    def _writes(self, table: str, tally: Tally) -> PacedRequests:
        """Sends requests that write to a table."""
        return PacedRequests("write", self._writing(table), tally)

    def _reading(self, table: str) -> Pace:
        return _pace(f"{table} read", self.settings.read_units_per_second / self.slots)

    def _writing(self, table: str) -> Pace:
        return _pace(f"{table} write", self.settings.write_units_per_second / self.slots)


@dataclass(frozen=True, slots=True)
class ExpireParts(JobParts):
    """Those of expire_messages, too. `now` of its methods: when the run began, epoch milliseconds."""

    settings: ExpireSettings

    def candidates(self, tally: Tally) -> Candidates:
        """Finds the mailboxes that may have expired messages."""
        reads = self._reads(self.settings.directory_table, tally)
        return Candidates(self.directory(tally), self._storage.mailboxes, reads)

    def expirer(self, tally: Tally, pool: Executor, *, now: int) -> Expirer:
        """Expires messages."""
        settings = self.settings
        return Expirer(
            self.registers(tally),
            self._storage.mailboxes,
            self._storage.usages,
            ExpiryTerms(now, settings.periods, settings.retain_seconds, settings.dry_run),
            tally,
            pool,
            reads=self._reads(settings.directory_table, tally),
            writes=self._writes(settings.limits_table, tally),
        )

    def sweeper(self, tally: Tally, *, now: int) -> TemporaryObjects:
        """Deletes old claims, replies and uploads."""
        return TemporaryObjects(self.bucket(tally), tally, now=now, dry_run=self.settings.dry_run)

    def archives(self, tally: Tally, *, now: int) -> ContainerGarbage:
        """Deletes garbage of containers."""
        table = self.settings.storage_table
        return ContainerGarbage(
            self.bucket(tally),
            self._storage.containers,
            self._table(table, tally),
            tally,
            writes=self._writes(table, tally),
            now=now,
            dry_run=self.settings.dry_run,
        )


@lru_cache(16)
def _pace(_of: str, units_per_second: float) -> Pace:
    """One pace for each process, whose tasks run one after the other: each starts at the rate at which the last one
    ended."""
    return Pace(units_per_second)
