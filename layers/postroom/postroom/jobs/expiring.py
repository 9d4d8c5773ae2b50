"""Expiry of messages: it finds the mailboxes that may have expired messages, and turns their rows from live to gone.

Their bytes are deleted with the objects that contain them, as for acknowledged messages (`survey`, `deleting`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from postroom.core.errors import OurError
from postroom.jobs.paced_requests import PacedRequests
from postroom.jobs.registers import Registers
from postroom.jobs.scanning import TableScanner
from postroom.jobs.tally import Tally
from postroom.storage.aws.attributes import PK
from postroom.storage.directory.mailboxes import CLOSED, DM3, TTL_DAYS, Mailboxes, MailboxRecord
from postroom.storage.directory.mailboxes import PREFIX as MAILBOX
from postroom.storage.layout import partition
from postroom.storage.limits.quotas import Usages
from postroom.storage.mail.expiry import Ends, Periods, ends_of
from postroom.storage.mail.register import Row


@dataclass(frozen=True, slots=True)
class Deletion:
    """The messages of one mailbox that expired, or would expire: how many, and why; `size` in bytes."""

    where: str
    count: int
    why: str
    size: int

    def __str__(self) -> str:
        return f"{self.where}: {self.count} {self.why}, {self.size} bytes"


class Candidates:
    """Finds the mailboxes that may have expired messages. Raises NotNowError(STORE_UNAVAILABLE)."""

    def __init__(self, table: TableScanner, mailboxes: Mailboxes, reads: PacedRequests) -> None:
        self._table = table
        self._mailboxes = mailboxes
        self._reads = reads

    def names(self, segment: int, segments: int) -> Iterator[str]:
        """Their names, each once, in one of `segments` segments of the directory."""
        own = f"begins_with({PK}, :mailbox) AND (attribute_exists({TTL_DAYS}) OR attribute_exists({CLOSED}))"
        rows = self._table.rows(
            segment=segment,
            segments=segments,
            only=f"begins_with({PK}, :dm3) OR ({own})",
            values={":dm3": PK.encode(DM3), ":mailbox": PK.encode(MAILBOX)},
        )
        for row in rows:
            kind, _, name = PK.read(row).partition("#")
            # A mailbox of the delivery service may have no other row than this one.
            if f"{kind}#" == DM3 or not self._is_of_dm3(name):
                yield name

    def _is_of_dm3(self, name: str) -> bool:
        return self._reads.ask(lambda: self._mailboxes.is_of_dm3(name))


@dataclass(frozen=True, slots=True)
class ExpiryTerms:
    """What a run of expiry goes by. `now`: when it began, epoch milliseconds. `dry_run`: it only counts."""

    now: int
    periods: Periods
    retain_seconds: int
    dry_run: bool

    @property
    def forget_at(self) -> int:
        """Until when the tombstones of this run are kept, epoch seconds: as long as those of acknowledged messages."""
        return self.now // 1000 + self.retain_seconds


@dataclass(frozen=True, slots=True, eq=False)
class Expirer:
    """Expires messages.

    Raises NotNowError(STORE_UNAVAILABLE): then some messages have expired, and the next run continues.
    """

    registers: Registers
    mailboxes: Mailboxes
    usages: Usages
    terms: ExpiryTerms
    tally: Tally
    pool: Executor
    reads: PacedRequests
    writes: PacedRequests

    def expire(self, names: Iterable[str]) -> Iterator[Deletion]:
        """Expire messages of these mailboxes; returns the mailboxes in which any expired."""
        for name in names:
            self.tally.add("mailboxes.seen")
            with self.tally.timed("expire"):
                counts, sizes = Counter[str](), Counter[str]()
                for why, size in self._gone(name):
                    counts[why] += 1
                    sizes[why] += size
            yield from (Deletion(name, count, f"messages {why}", sizes[why]) for why, count in counts.items())

    def _gone(self, name: str) -> Iterator[tuple[str, int]]:
        is_dm3 = self.reads.ask(lambda: self.mailboxes.is_of_dm3(name))
        mailbox = self._find(name)
        if mailbox is None:
            self.tally.add("mailboxes.unreadable")
            return
        if mailbox.held:
            self.tally.add("mailboxes.held")
        if mailbox.closed_at == 0:
            self.tally.add("mailboxes.closed at an unknown time")
        before = self._ends(mailbox, is_dm3=is_dm3).before
        for shard in range(mailbox.shards if before else 0):
            for rows in self.registers.live_before(partition(name, shard), before):
                # A hold, or a longer time, that is set meanwhile applies to all messages that are still there.
                current = self._find(name)
                if current:
                    yield from self._let_go(name, rows, self._ends(current, is_dm3=is_dm3))

    def _let_go(self, name: str, rows: Sequence[Row], ends: Ends) -> list[tuple[str, int]]:
        over = [(row, why) for row in rows if (why := ends.why(row.key.received_at_ms))]
        if self.terms.dry_run:
            sizes = [row.place.length if row.place else 0 for row, _ in over]
        else:
            sizes = list(
                self.pool.map(lambda each: self.registers.expire(each[0].key, each[1], self.terms.forget_at), over)
            )
        # Messages that somebody else removed meanwhile are counted there.
        gone = [(why, size) for (_, why), size in zip(over, sizes, strict=True) if size]
        if gone and not self.terms.dry_run:
            freed = sum(size for _, size in gone)
            self.writes.ask(lambda: self.usages.take_off(name, len(gone), freed))
        for why, size in gone:
            self.tally.add(f"expired.{why}")
            self.tally.add("bytes.expired", size)
        return gone

    def _ends(self, mailbox: MailboxRecord, *, is_dm3: bool) -> Ends:
        return ends_of(mailbox, is_dm3=is_dm3, periods=self.terms.periods, now=self.terms.now)

    def _find(self, name: str) -> MailboxRecord | None:
        """The current row of a mailbox; None: it has a form that this release does not know."""
        try:
            return self.reads.ask(lambda: self.mailboxes.find(name))
        except (OurError, TypeError, ValueError):
            return None
