"""The clients of a task of expire_messages that no other job needs."""

from concurrent.futures import Executor
from dataclasses import dataclass
from uuid import uuid4

from postroom.jobs.archives import Archives
from postroom.jobs.expiring import Candidates, Expirer, ExpiryTerms
from postroom.jobs.patience import Patience
from postroom.jobs.reach import Reach, dynamodb_client
from postroom.jobs.scanning import Table
from postroom.jobs.settings import ExpireSettings
from postroom.jobs.sweeping import Sweeper
from postroom.jobs.tally import Tally
from postroom.storage.containers.rows import Use
from postroom.storage.containers.store import Storage
from postroom.storage.directory.mailboxes import Mailboxes
from postroom.storage.limits.quotas import Usages


@dataclass(frozen=True, slots=True)
class ExpireReach:
    """What a task needs for its clients. `common`: the same for every job."""

    common: Reach
    settings: ExpireSettings

    def candidates(self, tally: Tally) -> Candidates:
        """Finds the mailboxes that may have expired messages."""
        return Candidates(self.common.directory(tally), self._mailboxes(), self._reads(tally))

    def expirer(self, tally: Tally, pool: Executor, *, now: int) -> Expirer:
        """Expires messages. `now`: when the run began, epoch milliseconds."""
        settings, limits = self.settings, self.settings.limits_table
        return Expirer(
            self.common.registers(tally),
            self._mailboxes(),
            Usages(dynamodb_client(self.common.where), limits),
            ExpiryTerms(now, settings.periods, settings.retain_seconds, settings.dry_run),
            tally,
            pool,
            reads=self._reads(tally),
            writes=self.common.writes(limits, tally),
        )

    def sweeper(self, tally: Tally, *, now: int) -> Sweeper:
        """Deletes old claims, replies and uploads. `now`: when the run began, epoch milliseconds."""
        return Sweeper(self.common.bucket_of(tally), tally, now=now, dry_run=self.settings.dry_run)

    def archives(self, tally: Tally, *, now: int) -> Archives:
        """Deletes garbage of containers."""
        dynamodb, table = dynamodb_client(self.common.where), self.settings.storage_table
        return Archives(
            self.common.bucket_of(tally),
            Storage(dynamodb, table, self.common.documents(), Use(), lambda: uuid4().hex),
            Table(dynamodb, table, self.common.reads(table, tally)),
            tally,
            writes=self.common.writes(table, tally),
            now=now,
            dry_run=self.settings.dry_run,
        )

    def _mailboxes(self) -> Mailboxes:
        return Mailboxes(dynamodb_client(self.common.where), self.common.directory_table)

    def _reads(self, tally: Tally) -> Patience:
        return self.common.reads(self.common.directory_table, tally)
