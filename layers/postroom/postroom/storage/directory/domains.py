"""What operators set: the domains we serve, their subjects, mailboxes and wallets. Data, never code.

Reads go through a bounded cache: a change is seen everywhere within its time (30 s by default).
"""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from postroom.core.loading_cache import LoadingCache
from postroom.net.aws import passing_faults
from postroom.protocols.dm3.extension import ProfileExtension, read_extension
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.storage.directory.mailboxes import DM3, Mailbox, read_mailbox
from postroom.storage.directory.mailboxes import PREFIX as MAILBOX
from postroom.storage.directory.notification_targets import PREFIX as NOTIFY
from postroom.storage.directory.notification_targets import is_active

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

_SELF: Final = "!"
_DOMAIN, _SUBJECT, _WALLET = "domain#", "subject#", "wallet#"


@dataclass(frozen=True, slots=True)
class Domain:
    """A domain in the directory.

    `inbox`: messages to it are ours. `buffer`: we keep Feedback for it. `feedback`: the domain of its buffer, told
    in its manifest. `subjects`: the operator's rules. `signs`: a key was stored to sign what it sends.
    """

    name: str
    inbox: bool = True
    buffer: bool = False
    feedback: str | None = None
    subjects: tuple[SubjectRule, ...] = ()
    signs: bool = False


@dataclass(frozen=True, slots=True)
class Dm3Mailbox:
    """A mailbox of the dm3 delivery service. `name`: normalised. `extension`: what senders are told and held to.

    `takes_unverified`: senders whose profile cannot be found are let in, and marked (settlement dm3 5). `by_owner`:
    its owner opened it, and no operator.
    """

    name: str
    extension: ProfileExtension = field(default_factory=ProfileExtension)
    takes_unverified: bool = False
    by_owner: bool = False


class Directory:
    """Table `directory`, read."""

    def __init__(
        self, dynamodb: "DynamoDBClient", table: str, *, clock: Callable[[], float], cache_seconds: float
    ) -> None:
        self._dynamodb = dynamodb
        self._table = table
        self._domains: LoadingCache[Domain | None] = LoadingCache(clock, cache_seconds)
        self._wallets: LoadingCache[bytes | None] = LoadingCache(clock, cache_seconds)
        self._mailboxes: LoadingCache[Mailbox] = LoadingCache(clock, cache_seconds)
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

    def mailbox(self, name: str) -> Mailbox:
        """Who may pick a mailbox's mail up, and how it is spread. Raises NotNowError(STORE_UNAVAILABLE)."""
        return self._mailboxes.get(name, lambda: self._read_mailbox(name))

    def is_notified(self, mailbox: str) -> bool:
        """Whether anybody is told when something waits in a mailbox; of one that is closed nobody is.

        Raises NotNowError(STORE_UNAVAILABLE).
        """
        active = self._notified.get(mailbox, lambda: any(map(is_active, self._query(NOTIFY + mailbox))))
        return active and not self.mailbox(mailbox).closed

    def dm3_mailbox(self, name: str) -> Dm3Mailbox | None:
        """A mailbox of the delivery service, by its normalised name. Raises NotNowError(STORE_UNAVAILABLE)."""
        return self._dm3.get(name, lambda: self._read_dm3_mailbox(name))

    def forget(self, mailbox: str) -> None:
        """Read anew what is known of a mailbox: it was just changed from here."""
        self._mailboxes.drop(mailbox)
        self._dm3.drop(mailbox)

    def _read_dm3_mailbox(self, name: str) -> Dm3Mailbox | None:
        item = next(self._query(DM3 + name), None)
        return read_dm3_mailbox(item) if item else None

    def _read_domain(self, name: str) -> Domain | None:
        items = list(self._query(_DOMAIN + name))
        own = next((item for item in items if item["sk"]["S"] == _SELF), None)
        if own is None:
            return None
        rules = tuple(
            SubjectRule(item["sk"]["S"].removeprefix(_SUBJECT), Treatment(item["treatment"]["S"]), item["target"]["S"])
            for item in items
            if item["sk"]["S"].startswith(_SUBJECT)
        )
        feedback = own.get("feedback", {}).get("S")
        return Domain(name, own["inbox"]["BOOL"], own["buffer"]["BOOL"], feedback, rules, "signs" in own)

    def _read_wallet(self, uuid: str) -> bytes | None:
        item = next(self._query(_WALLET + uuid), None)
        return base64.b64decode(item["spki"]["S"]) if item else None

    def _read_mailbox(self, name: str) -> Mailbox:
        return read_mailbox(name, next(self._query(MAILBOX + name), None))

    def _query(self, pk: str) -> "Iterator[dict[str, AttributeValueTypeDef]]":
        pages = self._dynamodb.get_paginator("query").paginate(
            TableName=self._table,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": pk}},
            ConsistentRead=True,
        )
        with passing_faults():
            for page in pages:
                yield from page["Items"]


def read_dm3_mailbox(item: "Mapping[str, AttributeValueTypeDef]") -> Dm3Mailbox | None:
    """A mailbox from its row, whose key names it; None: the operator removed it."""
    if "removed" in item:
        return None
    return Dm3Mailbox(
        item["pk"]["S"].removeprefix(DM3),
        read_extension(json.loads(item["extension"]["S"])),
        item["unverified"]["BOOL"],
        "by_owner" in item,
    )
