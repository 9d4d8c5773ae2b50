"""The ports of the courier: what it needs from outside. `runtime` implements them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from postroom.core.reason import Reason
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.storage.secrets.signing_keys import SigningKey

if TYPE_CHECKING:
    from postroom.net.https import HttpsResponse

Clock = Callable[[], float]
"""Epoch seconds."""
NewId = Callable[[], str]
"""A new identifier with at least 120 random bits, of characters that are allowed in keys and file names."""


class Manifests(Protocol):
    """Other domains' manifests."""

    def feedback_domain_of(self, domain: str) -> str | None:
        """The buffer that a domain names, or None. Raises NotNowError(OUTBOUND_FAILED)."""
        ...


class OurKeys(Protocol):
    """Our own signing keys."""

    def of(self, domain: str) -> SigningKey | None:
        """The key of one of our domains, or None. Raises NotNowError(SIGNING_KEY_UNAVAILABLE)."""
        ...


class Outbound(Protocol):
    """Posting to other post offices."""

    def post(self, url: str, envelope: bytes) -> "HttpsResponse":
        """Post an envelope, and return the answer. Raises NotNowError(OUTBOUND_FAILED)."""
        ...


class SendQueue(Protocol):
    """The sending side of a queue."""

    def send(self, body: str, delay_seconds: int = 0, reason: Reason = STORE_UNAVAILABLE, group: str = "") -> None:
        """Send one message; `group`: see `Queue.send`. Raises NotNowError(`reason`)."""
        ...
