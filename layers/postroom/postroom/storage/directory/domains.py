"""The settings of operators: the domains we serve, their subjects, mailboxes and wallets. Data, never code.

Reads go through a bounded cache: a change takes effect everywhere when it expires (30 s by default).
"""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from postroom.core.loading_cache import LoadingCache
from postroom.protocols.dm3.extension import ProfileExtension, read_extension
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.storage.aws.attributes import PK, SK, Flag, Item, Text
from postroom.storage.aws.table import DynamoTable
from postroom.storage.directory.mailboxes import (
    BY_OWNER,
    DM3,
    EXTENSION,
    OWN_ROW,
    REMOVED,
    UNVERIFIED,
    MailboxRecord,
    read_mailbox,
)
from postroom.storage.directory.mailboxes import PREFIX as MAILBOX
from postroom.storage.directory.notification_targets import PREFIX as NOTIFY
from postroom.storage.directory.notification_targets import is_active

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

DOMAIN, SUBJECT, WALLET = "domain#", "subject#", "wallet#"
INBOX, BUFFER, FEEDBACK, SIGNS = Flag("inbox"), Flag("buffer"), Text("feedback"), Flag("signs")
TREATMENT, TARGET = Text("treatment"), Text("target")
SPKI: Final = Text("spki")


@dataclass(frozen=True, slots=True)
class Domain:
    """A domain in the directory.

    `inbox`: messages to it are accepted here. `buffer`: Feedback for it is kept here. `feedback`: the domain of its
    buffer, published in its manifest. `subjects`: the operator's rules. `signs`: a key is stored that signs its
    messages.
    """

    name: str
    inbox: bool = True
    buffer: bool = False
    feedback: str | None = None
    subjects: tuple[SubjectRule, ...] = ()
    signs: bool = False


@dataclass(frozen=True, slots=True)
class Dm3Mailbox:
    """A mailbox of the dm3 delivery service. `name`: normalised. `extension`: what senders are told and must follow.

    `takes_unverified`: senders whose profile cannot be found are accepted, and marked (decision "Order of checks").
    `by_owner`: its owner opened it, not an operator.
    """

    name: str
    extension: ProfileExtension = field(default_factory=ProfileExtension)
    takes_unverified: bool = False
    by_owner: bool = False


class Directory:
    """Table `directory`, read only."""

    def __init__(
        self, dynamodb: "DynamoDBClient", table: str, *, clock: Callable[[], float], cache_seconds: float
    ) -> None:
        self._table = DynamoTable(dynamodb, table)
        self._domains: LoadingCache[Domain | None] = LoadingCache(clock, cache_seconds)
        self._wallets: LoadingCache[bytes | None] = LoadingCache(clock, cache_seconds)
        self._mailboxes: LoadingCache[MailboxRecord] = LoadingCache(clock, cache_seconds)
        self._dm3: LoadingCache[Dm3Mailbox | None] = LoadingCache(clock, cache_seconds)
        self._notified: LoadingCache[bool] = LoadingCache(clock, cache_seconds)

    def domain(self, name: str) -> Domain | None:
        """A domain and its subjects; None: not in the directory. Raises NotNowError(STORE_UNAVAILABLE)."""
        return self._domains.get(name, lambda: self._read_domain(name))

    def wallet(self, uuid: str) -> bytes | None:
        """The SubjectPublicKeyInfo registered for a wallet. Raises NotNowError(STORE_UNAVAILABLE)."""
        return self._wallets.get(uuid, lambda: self._read_wallet(uuid))

    def shards(self, mailbox: str) -> int:
        """The shard count of a mailbox (1 unless it was raised). Raises NotNowError(STORE_UNAVAILABLE)."""
        return self.mailbox(mailbox).shards

    def mailbox(self, name: str, *, before_read: Callable[[], None] | None = None) -> MailboxRecord:
        """The keys and settings of a mailbox.

        `before_read`: called if the mailbox is not in the cache, and may raise. Raises NotNowError(STORE_UNAVAILABLE).
        """

        def read() -> MailboxRecord:
            if before_read is not None:
                before_read()
            return self._read_mailbox(name)

        return self._mailboxes.get(name, read)

    def is_notified(self, mailbox: str) -> bool:
        """Whether anybody is notified when a mailbox receives mail; False for a closed mailbox.

        Raises NotNowError(STORE_UNAVAILABLE).
        """
        active = self._notified.get(mailbox, lambda: any(map(is_active, self._table.rows(NOTIFY + mailbox))))
        return active and not self.mailbox(mailbox).closed

    def dm3_mailbox(self, name: str, *, before_read: Callable[[], None] | None = None) -> Dm3Mailbox | None:
        """A mailbox of the delivery service, by its normalised name.

        `before_read`: as for `mailbox`. Raises NotNowError(STORE_UNAVAILABLE).
        """
        return self._dm3.get(name, lambda: self._read_dm3_mailbox(name, before_read))

    def forget(self, mailbox: str) -> None:
        """Remove a mailbox from the cache, because this process has just changed it."""
        self._mailboxes.drop(mailbox)
        self._dm3.drop(mailbox)

    def _read_dm3_mailbox(self, name: str, before_read: Callable[[], None] | None) -> Dm3Mailbox | None:
        if before_read is not None:
            before_read()
        row = next(self._table.rows(DM3 + name), None)
        return read_dm3_mailbox(row) if row else None

    def _read_domain(self, name: str) -> Domain | None:
        rows = {SK.read(row): row for row in self._table.rows(DOMAIN + name)}
        own = rows.get(OWN_ROW)
        if own is None:
            return None
        rules = tuple(
            SubjectRule(sk.removeprefix(SUBJECT), Treatment(TREATMENT.read(row)), TARGET.read(row))
            for sk, row in rows.items()
            if sk.startswith(SUBJECT)
        )
        return Domain(name, INBOX.read(own), BUFFER.read(own), FEEDBACK.find(own), rules, SIGNS.is_in(own))

    def _read_wallet(self, uuid: str) -> bytes | None:
        row = next(self._table.rows(WALLET + uuid), None)
        return base64.b64decode(SPKI.read(row)) if row else None

    def _read_mailbox(self, name: str) -> MailboxRecord:
        return read_mailbox(name, next(self._table.rows(MAILBOX + name), None))


def read_dm3_mailbox(row: Item) -> Dm3Mailbox | None:
    """A mailbox from its row, whose key has its name; None: the operator removed it."""
    if REMOVED.is_in(row):
        return None
    return Dm3Mailbox(
        PK.read(row).removeprefix(DM3),
        read_extension(json.loads(EXTENSION.read(row))),
        UNVERIFIED.read(row),
        BY_OWNER.is_in(row),
    )
