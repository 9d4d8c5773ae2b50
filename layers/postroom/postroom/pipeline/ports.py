"""What inbox and worker need from the outside, as small typed ports; `runtime` fits the real things to them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from postroom.core.ijson import JsonValue
from postroom.crypto.rsa_ed25519 import PublicKey
from postroom.protocols.dm3.profile import UserProfile
from postroom.protocols.dm3.service import ServiceKeys
from postroom.storage.directory.domains import Dm3Mailbox, Domain
from postroom.storage.directory.mailboxes import MailboxRecord


@dataclass(frozen=True, slots=True)
class SenderKey:
    """A sender's key and how it was proven (JSON-ready). `cached`: it was not looked up for this message."""

    key: PublicKey
    evidence: object
    cached: bool


class SenderKeys(Protocol):
    """Where senders' keys come from."""

    def find(self, name: str, *, fresh: bool = False) -> SenderKey:
        """The key record at a DNS name; `fresh`: not from the cache, unless it is only seconds old.

        Raises TheirError (discards about keys) or NotNowError (KEY_LOOKUP_FAILED, DNSSEC_TOO_COSTLY).
        """
        ...


class DeploymentRules(Protocol):
    """What operators set."""

    def domain(self, name: str) -> Domain | None:
        """A domain we know, or None."""
        ...

    def wallet(self, uuid: str) -> bytes | None:
        """A wallet's SubjectPublicKeyInfo, or None."""
        ...

    def mailbox(self, name: str) -> MailboxRecord:
        """What was set for a mailbox: how it is spread, how much it may hold, whom it blocks."""
        ...


class Dm3Directory(Protocol):
    """Mailboxes of the dm3 delivery service."""

    def dm3_mailbox(self, name: str) -> Dm3Mailbox | None:
        """A mailbox of ours by its normalised name, or None. Raises NotNowError(STORE_UNAVAILABLE)."""
        ...


class ServiceKeySource(Protocol):
    """Where the delivery service's keys come from."""

    def get(self, *, fresh: bool = False) -> ServiceKeys:
        """`fresh`: not from the cache. Raises NotNowError(SIGNING_KEY_UNAVAILABLE)."""
        ...


class ProfileSource(Protocol):
    """Where dm3 profiles come from."""

    def user(self, name: str, *, fresh: bool = False) -> UserProfile:
        """`fresh`: not from the cache. Raises TheirError (PROFILE_UNKNOWN, …) or NotNowError(PROFILE_LOOKUP_FAILED)."""
        ...


class Handlers(Protocol):
    """What synchronous subjects call."""

    def call(self, handler: str, request: JsonValue) -> JsonValue:
        """The handler's bare reply. Raises NotNowError(HANDLER_FAILED), or TheirError: nothing was executed."""
        ...


class Forwarding(Protocol):
    """Where forwarded subjects go."""

    def forward(self, target: str, message: Mapping[str, object]) -> None:
        """Hand a message to a queue or an event bus, by its ARN. Raises NotNowError(STORE_UNAVAILABLE)."""
        ...
