"""The evidence of an audit: rows, what live rows point to, and how many messages are queued. Values only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from postroom.storage.audit.problems import AuditProblem
from postroom.storage.layout import RowKey
from postroom.storage.mail.register import Row

Fingerprint = bytes | AuditProblem
"""What the bytes of a live row contain, as a mark that copies of one message share; or what is wrong with them."""


@dataclass(frozen=True, slots=True)
class PostRow:
    """A row of table `post`. `ttl`: epoch seconds; None: for ever.

    `begun`: Feedback about it has an identity. `sent`: its Feedback is finished.
    """

    row: Row
    ttl: int | None = None
    begun: bool = False
    sent: bool = False


@dataclass(frozen=True, slots=True)
class SeenRow:
    """A row of table `seen`. `text`: as in the ledger. `ttl`: epoch seconds.

    `answered`: a synchronous request whose reply is remembered.
    """

    text: str
    home: RowKey | None
    ttl: int
    answered: bool = False


@dataclass(frozen=True, slots=True)
class AuditEvidence:
    """All evidence of an audit.

    `at`: when it was collected, epoch seconds. `retain_seconds`: how long identities and tombstones are remembered.
    `held`: for live rows, what their bytes contain or what is wrong with them; sound bytes that were not read are
    absent. `hidden`: rows of waiting messages that listings leave out. `unreadable`: malformed rows. `replies_missing`:
    keys in `seen`. `claims_waiting`: the most claims that the queues can contain, with dead letters. `courier_waiting`:
    messages in the courier's queues. `orphans`, `orphan_bytes`: objects for messages that no row points to: nobody sees
    them, and they wait for compaction.
    """

    at: int
    retain_seconds: int
    rows: Mapping[RowKey, PostRow]
    seen: Mapping[str, SeenRow]
    held: Mapping[RowKey, Fingerprint] = field(default_factory=dict)
    hidden: Sequence[RowKey] = ()
    unreadable: Sequence[str] = ()
    replies_missing: Sequence[str] = ()
    claims_waiting: int = 0
    courier_waiting: int = 0
    orphans: int = 0
    orphan_bytes: int = 0

    def is_past(self, standing: PostRow) -> bool:
        """Whether a tombstone is old enough to be deleted at any moment."""
        row = standing.row
        return not row.live and self.is_over(standing.ttl) and not self.is_remembered(row.key.received_at_ms)

    def is_over(self, ttl: int | None) -> bool:
        """Whether a row of either table has expired: readers ignore it, and DynamoDB may delete it."""
        return ttl is not None and ttl < self.at

    def is_remembered(self, received_at_ms: int) -> bool:
        """Whether a message that was received then must still be remembered."""
        return received_at_ms // 1000 + self.retain_seconds > self.at
