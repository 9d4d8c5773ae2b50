"""The outside of the flow, small and in memory: other domains' keys, manifests and hosts, operators' handlers."""

from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any

from postroom.core.errors import NotNowError, PostroomError, TheirError
from postroom.core.ijson import JsonValue
from postroom.core.reasons import OUTBOUND_FAILED
from postroom.crypto.rsa_ed25519 import PublicKey
from postroom.net.https import HttpsResponse
from postroom.pipeline.ports import SenderKey
from postroom.protocols.nlweb.reasons import KEY_NOT_FOUND
from postroom.storage.directory.notification_targets import NotificationTarget
from postroom.storage.secrets.signing_keys import SigningKey


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@dataclass
class SenderKeys:
    """Key records by DNS name, and what is cached of them. `asked`: each (name, fresh)."""

    published: dict[str, PublicKey | PostroomError] = field(default_factory=dict)
    cached: dict[str, PublicKey] = field(default_factory=dict)
    asked: list[tuple[str, bool]] = field(default_factory=list)

    def find(self, name: str, *, fresh: bool = False) -> SenderKey:
        self.asked.append((name, fresh))
        if name in self.cached and not fresh:
            return SenderKey(self.cached[name], {"chain": "cached"}, cached=True)
        found = self.published.get(name, TheirError(KEY_NOT_FOUND))
        if isinstance(found, PostroomError):
            raise found
        self.cached[name] = found
        return SenderKey(found, {"chain": "walked"}, cached=False)


@dataclass
class Manifests:
    """The buffers that domains name; an error: the manifest cannot be had now."""

    buffers: dict[str, str | NotNowError] = field(default_factory=dict)

    def feedback_domain_of(self, domain: str) -> str | None:
        found = self.buffers.get(domain)
        if isinstance(found, NotNowError):
            raise found
        return found


@dataclass
class OurKeys:
    """Our signing keys by domain."""

    keys: dict[str, SigningKey] = field(default_factory=dict)

    def of(self, domain: str) -> SigningKey | None:
        return self.keys.get(domain)


@dataclass
class Outbound:
    """Other post offices. `answers`: the statuses to come, then 200; None: no connection. `posts`: what went out.

    `body`: of every answer.
    """

    answers: list[int | None] = field(default_factory=list)
    posts: list[tuple[str, bytes]] = field(default_factory=list)
    body: bytes = b"{}"

    def post(self, url: str, envelope: bytes) -> HttpsResponse:
        self.posts.append((url, envelope))
        status = self.answers.pop(0) if self.answers else 200
        if status is None:
            raise NotNowError(OUTBOUND_FAILED)
        return HttpsResponse(status, {}, self.body)


@dataclass
class Carriers:
    """The hosts and topics of targets. `fails`: what their owners' targets are at, and what goes wrong there; a False:
    it is gone. `told`: who was told what under which id."""

    fails: dict[str, str | bool] = field(default_factory=dict)
    told: list[tuple[str, str, str]] = field(default_factory=list)

    def carry(self, target: NotificationTarget, notification: str, content: str) -> bool:
        self.told.append((target.to, notification, content))
        trouble = self.fails.get(target.to, True)
        if isinstance(trouble, str):
            raise NotNowError(OUTBOUND_FAILED, trouble)
        return trouble


@dataclass
class Handlers:
    """Handlers by name. `calls`: what they were asked."""

    handlers: dict[str, Callable[[JsonValue], JsonValue]] = field(default_factory=dict)
    calls: list[tuple[str, JsonValue]] = field(default_factory=list)

    def call(self, handler: str, request: JsonValue) -> JsonValue:
        self.calls.append((handler, request))
        return self.handlers[handler](request)


@dataclass
class Forwarding:
    """Operators' queues and buses. `forwarded`: (target, message); `fault`: what happens instead."""

    forwarded: list[tuple[str, Mapping[str, object]]] = field(default_factory=list)
    fault: Exception | None = None

    def forward(self, target: str, message: Mapping[str, object]) -> None:
        if self.fault is not None:
            raise self.fault
        self.forwarded.append((target, message))


class InTurn(Executor):
    """An executor without threads: a worker's calls come in one order, and a test can stop each of them."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:
            done.set_exception(error)
        return done
