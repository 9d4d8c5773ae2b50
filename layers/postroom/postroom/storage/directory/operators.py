"""Changes to the directory, by `postroom domain|subject|wallet|mailbox|dm3 …`."""

import base64
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from postroom.protocols.nlweb.subjects import SubjectRule
from postroom.storage.aws.attributes import PK, PRESENT, SK, Item, item, primary_key
from postroom.storage.aws.table import DynamoTable
from postroom.storage.directory.domains import (
    BUFFER,
    DOMAIN,
    FEEDBACK,
    INBOX,
    SIGNS,
    SPKI,
    SUBJECT,
    TARGET,
    TREATMENT,
    WALLET,
    Dm3Mailbox,
    Domain,
    read_dm3_mailbox,
)
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

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class Operators:
    """Table `directory`, written.

    Functions have no right to do so. All methods raise NotNowError(STORE_UNAVAILABLE).
    """

    def __init__(self, dynamodb: "DynamoDBClient", table: str) -> None:
        self._table = DynamoTable(dynamodb, table)

    def put_domain(self, domain: Domain) -> None:
        """Add a domain or change its settings; its subjects are not changed."""
        row = primary_key(DOMAIN + domain.name, OWN_ROW) | item(INBOX.of(domain.inbox), BUFFER.of(domain.buffer))
        if domain.feedback:
            row |= item(FEEDBACK.of(domain.feedback))
        if domain.signs:
            row |= item(SIGNS.of(True))
        self._table.put(row)

    def remove_domain(self, name: str) -> bool:
        """Remove a domain and its subjects; filed mail stays. False: there was none."""
        rows = [SK.read(row) for row in self._table.scan() if PK.read(row) == DOMAIN + name]
        # The domain's own row first: no message is accepted for it while its subjects are removed.
        for sk in sorted(rows, key=lambda sk: sk != OWN_ROW):
            self._table.delete(primary_key(DOMAIN + name, sk))
        return bool(rows)

    def domains(self) -> list[str]:
        """The names of all domains."""
        return sorted(name for name, _ in self._named(DOMAIN))

    def put_subject(self, domain: str, rule: SubjectRule) -> None:
        """Add or replace the rule for a pattern."""
        self._table.put(
            primary_key(DOMAIN + domain, SUBJECT + rule.pattern)
            | item(TREATMENT.of(rule.treatment), TARGET.of(rule.target))
        )

    def remove_subject(self, domain: str, pattern: str) -> None:
        """Remove the rule for a pattern."""
        self._table.delete(primary_key(DOMAIN + domain, SUBJECT + pattern))

    def put_wallet(self, uuid: str, spki: bytes) -> None:
        """Register a wallet's public key, or replace it."""
        self._table.put(primary_key(WALLET + uuid, OWN_ROW) | item(SPKI.of(base64.b64encode(spki).decode("ascii"))))

    def remove_wallet(self, uuid: str) -> bool:
        """Remove a wallet's public key. False: there was none."""
        return self._table.delete(primary_key(WALLET + uuid, OWN_ROW), PRESENT)

    def wallets(self) -> list[str]:
        """The UUIDs of all wallets."""
        return sorted(uuid for uuid, _ in self._named(WALLET))

    def put_dm3_mailbox(self, mailbox: Dm3Mailbox) -> None:
        """Create a mailbox of the delivery service, or change its settings."""
        extension = json.dumps(mailbox.extension.as_json())
        self._table.put(
            primary_key(DM3 + mailbox.name, OWN_ROW)
            | item(EXTENSION.of(extension), UNVERIFIED.of(mailbox.takes_unverified))
        )

    def remove_dm3_mailbox(self, name: str) -> bool:
        """Remove a mailbox of the delivery service; filed mail stays. False: there was none.

        The row that is left says that an operator removed it: its owner cannot open it again.
        """
        return self._table.update(
            primary_key(DM3 + name, OWN_ROW),
            f"SET {REMOVED} = :true REMOVE {EXTENSION}, {UNVERIFIED}, {BY_OWNER}",
            {":true": REMOVED.encode(True)},
            f"attribute_exists({EXTENSION})",
        )

    def dm3_mailboxes(self) -> list[Dm3Mailbox]:
        """All mailboxes of the delivery service, by name."""
        found = [read_dm3_mailbox(row) for _, row in self._named(DM3)]
        return sorted(filter(None, found), key=lambda mailbox: mailbox.name)

    def mailboxes(self) -> list[MailboxRecord]:
        """All mailboxes with any settings, by name."""
        return [read_mailbox(name, row) for name, row in sorted(self._named(MAILBOX), key=lambda named: named[0])]

    def _named(self, prefix: str) -> Iterator[tuple[str, Item]]:
        """The names in the keys of this prefix, with the rows about the partitions themselves."""
        for row in self._table.scan():
            pk = PK.read(row)
            if pk.startswith(prefix) and SK.read(row) == OWN_ROW:
                yield pk.removeprefix(prefix), row
