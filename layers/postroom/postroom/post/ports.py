"""What the flow needs from the outside, as small typed ports; `post.wiring` fits the real things to them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from postroom.dm3.profile import UserProfile
from postroom.dm3.service import ServiceKeys
from postroom.ijson import JsonValue
from postroom.nlweb.keys import PublicKey
from postroom.reasons import Reason
from postroom.store.directory import Dm3Mailbox, Domain
from postroom.store.mailboxes import Mailbox
from postroom.store.secrets import SigningKey

if TYPE_CHECKING:
    from postroom.https import Response

Clock = Callable[[], float]
"""Epoch seconds."""
NewId = Callable[[], str]
"""A fresh identifier of at least 120 random bits, in characters that fit a key and a file name."""


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


class Directory(Protocol):
    """What operators set."""

    def domain(self, name: str) -> Domain | None:
        """A domain we know, or None."""
        ...

    def wallet(self, uuid: str) -> bytes | None:
        """A wallet's SubjectPublicKeyInfo, or None."""
        ...

    def mailbox(self, name: str) -> Mailbox:
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


class Manifests(Protocol):
    """Other domains' manifests."""

    def feedback_domain_of(self, domain: str) -> str | None:
        """The buffer a domain names, or None. Raises NotNowError(OUTBOUND_FAILED)."""
        ...


class OurKeys(Protocol):
    """Our own signing keys."""

    def of(self, domain: str) -> SigningKey | None:
        """The key of one of our domains, or None. Raises NotNowError(SIGNING_KEY_UNAVAILABLE)."""
        ...


class Outbound(Protocol):
    """Posting to other post offices."""

    def post(self, url: str, envelope: bytes) -> "Response":
        """The answer. Raises NotNowError(OUTBOUND_FAILED)."""
        ...


class SendQueue(Protocol):
    """A queue, its sending end."""

    def send(
        self, body: str, delay_seconds: int = 0, reason: Reason = Reason.STORE_UNAVAILABLE, group: str = ""
    ) -> None:
        """Put one message in; `group`: see `Queue.send`. Raises NotNowError(`reason`)."""
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
