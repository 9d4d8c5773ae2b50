"""The ports of the inbox and the worker: what they need from outside. `runtime` implements them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from postroom.core.ijson import JsonValue
from postroom.crypto.rsa_ed25519 import PublicKey
from postroom.protocols.dm3.extension import FilterRules
from postroom.protocols.dm3.service import ServiceKeys
from postroom.storage.directory.domains import Dm3Mailbox, Domain
from postroom.storage.directory.mailboxes import MailboxRecord

if TYPE_CHECKING:
    from postroom.names.profiles import FoundUser


@dataclass(frozen=True, slots=True)
class SenderKey:
    """A sender's key and how it was proven (JSON-ready). `cached`: it was not looked up for this message."""

    key: PublicKey
    evidence: object
    cached: bool


class SenderKeys(Protocol):
    """The source of senders' keys."""

    def find(self, name: str, *, fresh: bool = False) -> SenderKey:
        """The key record at a DNS name. `fresh`: not from the cache, unless it was cached a few seconds ago.

        Raises TheirError (discards about keys) or NotNowError (KEY_LOOKUP_FAILED, DNSSEC_TOO_COSTLY).
        """
        ...

    def remembered(self, name: str) -> SenderKey | None:
        """The key record at a DNS name if it is in memory; None: it is not. Raises TheirError if its refusal is."""
        ...


class HideQueue(Protocol):
    """The receiving side of a queue."""

    def hide(self, seconds: Mapping[str, int]) -> None:
        """Deliver received messages again after `seconds`, by their receipts. Raises NotNowError(STORE_UNAVAILABLE)."""
        ...


class DeploymentRules(Protocol):
    """The settings that operators make for domains, wallets and mailboxes."""

    def domain(self, name: str) -> Domain | None:
        """A domain that is hosted here, or None."""
        ...

    def wallet(self, uuid: str) -> bytes | None:
        """A wallet's SubjectPublicKeyInfo, or None."""
        ...

    def mailbox(self, name: str) -> MailboxRecord:
        """The settings of a mailbox: its number of shards, its quota, the senders it blocks."""
        ...


class Dm3Directory(Protocol):
    """The mailboxes of the dm3 delivery service."""

    def dm3_mailbox(self, name: str, *, before_read: Callable[[], None] | None = None) -> Dm3Mailbox | None:
        """A mailbox by its normalised name, or None. `before_read`: called if it is not in the cache, and may raise.

        Raises NotNowError(STORE_UNAVAILABLE).
        """
        ...


class ServiceKeySource(Protocol):
    """The source of the delivery service's keys."""

    def get(self, *, fresh: bool = False) -> ServiceKeys:
        """The keys. `fresh`: not from the cache. Raises NotNowError(SIGNING_KEY_UNAVAILABLE)."""
        ...


class ProfileSource(Protocol):
    """The source of dm3 profiles."""

    def find_user(self, name: str, *, fresh: bool = False) -> "FoundUser":
        """The profile of a user, and how it was found. `fresh`: not from the cache.

        Raises TheirError (PROFILE_UNKNOWN, …) or NotNowError(PROFILE_LOOKUP_FAILED).
        """
        ...

    def find_sender(self, name: str, *, fresh: bool = False) -> "FoundUser":
        """The same for a sender of a request. Raises NotNowError(TOO_MANY_LOOK_UPS), too."""
        ...

    def find_receiver(self, name: str) -> "FoundUser":
        """The same for a receiver of a request. Raises NotNowError(TOO_MANY_LOOK_UPS), too."""
        ...


class Accounts(Protocol):
    """The accounts of senders on a chain."""

    def reach(self, name: str, rules: FilterRules) -> bool:
        """Whether the account of a normalised, verified name has all that rules demand.

        Raises NotNowError(FILTER_RULE_UNCHECKED): it could not be found out.
        """
        ...


class MessagesOfOwners(Protocol):
    """The messages that owners sent from our domains."""

    def mailbox_of(self, correlation: str, receiver: str) -> str | None:
        """The mailbox that sent `receiver` a message with this Correlation; None: no mailbox, or more than one.

        Raises NotNowError(STORE_UNAVAILABLE).
        """
        ...


class Handlers(Protocol):
    """The handlers of synchronous Subjects."""

    def call(self, handler: str, request: JsonValue) -> JsonValue:
        """The handler's bare reply. Raises NotNowError(HANDLER_FAILED), or TheirError: then nothing was executed."""
        ...


class Forwarding(Protocol):
    """The targets of forwarded Subjects."""

    def forward(self, target: str, message: Mapping[str, object]) -> None:
        """Send a message to a queue or an event bus, by its ARN. Raises NotNowError(STORE_UNAVAILABLE)."""
        ...
