"""Fakes of the courier's dependencies: manifests, signing keys, other post offices, notification targets, a queue."""

from dataclasses import dataclass, field

from postroom.core.errors import NotNowError
from postroom.core.reason import Reason
from postroom.core.reasons import OUTBOUND_FAILED, STORE_UNAVAILABLE
from postroom.net.https import HttpsResponse
from postroom.storage.directory.notification_targets import NotificationTarget
from postroom.storage.secrets.signing_keys import SigningKey


@dataclass
class FakeManifests:
    """The buffers that domains name in their manifests, or an error if the manifest cannot be read."""

    buffers: dict[str, str | NotNowError] = field(default_factory=dict)

    def feedback_domain_of(self, domain: str) -> str | None:
        """The buffer of a domain, or None."""
        found = self.buffers.get(domain)
        if isinstance(found, NotNowError):
            raise found
        return found


@dataclass
class FakeOurKeys:
    """Our signing keys by domain."""

    keys: dict[str, SigningKey] = field(default_factory=dict)

    def of(self, domain: str) -> SigningKey | None:
        """The key of a domain, or None."""
        return self.keys.get(domain)

    def first(self) -> tuple[str, SigningKey] | None:
        """The first of our domains and its key, or None."""
        return min(self.keys.items(), key=lambda item: item[0], default=None)


@dataclass
class FakeOutbound:
    """Other post offices. `answers`: the next statuses, followed by 200; None: no connection. `posts`: (URL, envelope).

    `body`: of every response.
    """

    answers: list[int | None] = field(default_factory=list)
    posts: list[tuple[str, bytes]] = field(default_factory=list)
    body: bytes = b"{}"

    def post(self, url: str, envelope: bytes) -> HttpsResponse:
        """The next response. Raises NotNowError(OUTBOUND_FAILED)."""
        self.posts.append((url, envelope))
        status = self.answers.pop(0) if self.answers else 200
        if status is None:
            raise NotNowError(OUTBOUND_FAILED)
        return HttpsResponse(status, {}, self.body)


@dataclass
class FakeCarrier:
    """The hosts and topics of notification targets.

    `failures`: an error by address of a target; False: the target is gone. `carried`: (address, id of the notification,
    content).
    """

    failures: dict[str, str | bool] = field(default_factory=dict)
    carried: list[tuple[str, str, str]] = field(default_factory=list)

    def carry(self, target: NotificationTarget, notification: str, content: str) -> bool:
        """Record a notification, unless `failures` has an error to raise (NotNowError), or False to return."""
        self.carried.append((target.to, notification, content))
        failure = self.failures.get(target.to, True)
        if isinstance(failure, str):
            raise NotNowError(OUTBOUND_FAILED, failure)
        return failure


@dataclass
class FakeQueue:
    """A queue in memory, to send to. `bodies`, `groups`: of the messages, oldest first."""

    bodies: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)

    def send(self, body: str, delay_seconds: int = 0, reason: Reason = STORE_UNAVAILABLE, group: str = "") -> None:
        """Send a message."""
        self.bodies.append(body)
        self.groups.append(group)

    def clear(self) -> None:
        """Empty it."""
        self.bodies.clear()
        self.groups.clear()
