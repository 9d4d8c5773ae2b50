"""People who chat: their archives in memory, their delivery services with the real rules, and a network that fails."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from typing import Any, Final, cast
from urllib.parse import urlsplit

from tests.client.archive.pulling import DiedError, Points, Watched
from tests.fakes.names import FakeRegistry

from postroom.client.archive import Archive, Home, HomeObject, KnownSigningKeys, MemoryHome
from postroom.client.archive.pull import Pulled
from postroom.client.chat import Chats, SentChatMessage, SentTo
from postroom.client.chat.carried_wrapper import CarriedWrapper
from postroom.client.chat.dm3_carrier import encodings
from postroom.client.dm3 import Dm3Draft, Dm3Sender
from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import JsonValue
from postroom.core.reasons import OUTBOUND_FAILED, TOO_LARGE
from postroom.names.profiles import Profiles
from postroom.names.registry import PROFILE_KEY, SERVICE_KEY
from postroom.net.https import HttpsClient, HttpsResponse
from postroom.protocols.dm3 import jsonrpc
from postroom.protocols.dm3.envelope import check_envelope, message_hash, open_delivery, read_submitted
from postroom.protocols.dm3.extension import FilterRules, ProfileExtension, Properties, check_sender
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.dm3.message import MessageType
from postroom.protocols.dm3.names import normalize
from postroom.protocols.dm3.postmark import make_postmark
from postroom.protocols.dm3.profile import UserProfile, data_uri
from postroom.protocols.dm3.reasons import RECEIVER_UNKNOWN
from postroom.protocols.dm3.service import ServiceKeys
from postroom.protocols.dm3.storage_key import KEY_TEXT, StorageKey
from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.chat_view import ShownChatMessage
from postroom.protocols.status.codec import type_of_message, write_payload
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.messages import StatusMessage
from postroom.protocols.status.wrapper import write_wrapper

__all__ = [
    "ALICE", "BOB", "CAROL", "EDDY", "MALLORY", "ChatNetwork", "Device", "DiedError", "Person", "Points", "Waiting",
    "wrapped",
]  # fmt: skip

ALICE, BOB, CAROL, MALLORY, EDDY = "alice.eth", "bob.eth", "carol.eth", "mallory.eth", "eddy.eth"
BEGINS_AT_MS: Final = 1_795_253_400_000
ALL_TYPES: Final = ProfileExtension(message_types=tuple(MessageType))
_SERVICE_KEYS: Final = ServiceKeys.generate()
_ids = count(1)


@dataclass
class Waiting:
    """A message in a mailbox."""

    id: str
    partner: str
    received_at: datetime
    envelope: str
    receipt: Mapping[str, Any] = field(default_factory=lambda: {"protocol": "dm3"})


@dataclass
class Service:
    """The delivery service of one person, and the mailbox there: a MailSource.

    `is_down`: no request is answered. `loses_answers`: so many answers to filed messages are lost. `copies`: in how
    many copies the next messages are filed; a real one files one copy of each sealed message. `order`: in which the
    mailbox lists them.
    """

    network: "ChatNetwork"
    name: str
    extension: ProfileExtension = ALL_TYPES
    size_limit: int = 1_000_000
    is_down: bool = False
    loses_answers: int = 0
    copies: int = 1
    order: Callable[[list[Waiting]], list[Waiting]] = list
    waiting: list[Waiting] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    """The hashes of all sealed messages that were filed."""
    after_filing: Callable[[], object] = lambda: None

    # ---- what senders see ------------------------------------------------------------------------------------
    def post(self, body: bytes) -> HttpsResponse:
        if self.is_down:
            raise NotNowError(OUTBOUND_FAILED, "the service is down")
        calls = jsonrpc.read_calls(body, max_bytes=len(body))
        answers = [call if isinstance(call, jsonrpc.RpcError) else self._answer(call) for call in calls.items]
        return HttpsResponse(200, {}, jsonrpc.write_answers(calls, answers))

    def _answer(self, call: jsonrpc.RpcRequest) -> jsonrpc.RpcResult | jsonrpc.RpcError:
        try:
            match call.method:
                case "dm3_getProfileExtension":
                    self._check_receiver(str(jsonrpc.first_param(call)))
                    return jsonrpc.RpcResult(call.id, self.extension.as_json())
                case "dm3_getDeliveryServiceProperties":
                    return jsonrpc.RpcResult(call.id, Properties(0, self.size_limit).as_json())
                case "dm3_submitMessage":
                    self._take(jsonrpc.first_param(call))
                    return jsonrpc.RpcResult(call.id, "accepted")
            raise AssertionError(call.method)
        except (TheirError, NotNowError) as error:
            if error.reason == OUTBOUND_FAILED:
                raise
            return jsonrpc.error(call, error)

    def _check_receiver(self, name: str) -> None:
        if normalize(name) != self.name:
            raise TheirError(RECEIVER_UNKNOWN)

    def _take(self, param: JsonValue) -> None:
        if len(json.dumps(param)) > self.size_limit:
            raise TheirError(TOO_LARGE)
        envelope = read_submitted(param)
        delivery = open_delivery(envelope, _SERVICE_KEYS.encryption)
        self._check_receiver(delivery.to)
        sender = normalize(delivery.sender)
        check_envelope(envelope, self.network.profiles.user(sender).signing_key)
        check_sender(self.extension.rules, sender)
        digest = message_hash(envelope)
        if self.copies > 1 or digest not in self.seen:
            self.seen.append(digest)
            receiver_key = self.network.profiles.user(self.name).encryption_key
            for _ in range(self.copies):
                now_ms = self.network.tick()
                stamp = make_postmark(envelope.message, delivery, now_ms, _SERVICE_KEYS.signing, receiver_key)
                stamped = replace(envelope, postmark=stamp).encode()
                self.waiting.append(Waiting(f"id{next(_ids)}", sender, _datetime(now_ms), stamped))
        self.after_filing()
        if self.loses_answers:
            self.loses_answers -= 1
            raise NotNowError(OUTBOUND_FAILED, "the answer was lost")

    # ---- what the owner sees ---------------------------------------------------------------------------------
    def unread(self, *, wait: float | bool = False) -> Iterator[Waiting]:
        yield from self.order(list(self.waiting))

    def acknowledge(self, messages: Iterable[str]) -> None:
        gone = set(messages)
        self.waiting = [message for message in self.waiting if message.id not in gone]


@dataclass
class Person:
    """Somebody with keys, a home and a delivery service."""

    network: "ChatNetwork"
    name: str
    keys: UserKeys
    service: Service
    home: MemoryHome = field(default_factory=MemoryHome)

    @property
    def key(self) -> ChatKey:
        return self.author.public

    @property
    def author(self) -> AuthorKey:
        key = self.keys.signing.ethereum_key
        assert key is not None
        return AuthorKey.from_secret(key.secret)

    def publish(self) -> None:
        profile = UserProfile(self.keys.encryption.public, self.keys.signing.public, (f"ds-{self.name}",))
        self.network.registry.put(self.name, PROFILE_KEY, data_uri(profile.as_json()))

    def archive(self, home: Home | None = None, **settings: Any) -> Archive:
        signing = self.keys.signing
        storage_key = StorageKey.from_signature(signing.sign(KEY_TEXT))
        return Archive.of(home or self.home, self.name, signing.sign(self.name.encode()), storage_key, **settings)

    def sender(self, points: Points | None = None) -> Dm3Sender:
        https = cast("HttpsClient", Https(self.network, points or Points()))
        return Dm3Sender(self.name, self.keys, self.network.profiles, https, clock=self.network.clock)

    def device(self, home: Home | None = None, points: Points | None = None) -> "Device":
        """A device. `home`: another one than that of the person's other devices. `points`: where it dies."""
        at = home or self.home
        archive = self.archive(Written(at, points) if points else at)
        return Device(self, archive, Chats(archive, self.sender(points)), points or Points())

    def post(self, draft: Dm3Draft) -> str:
        """Send a dm3 message that no chat knows of; its hash."""
        sent = self.sender().send(draft)
        assert sent.fate == "taken", sent.attempts
        return sent.message_hash

    def carry(self, to: str, message: StatusMessage, **how: Any) -> bytes:
        """Send a payload of one's own in whatever form (`wrapped`); its wrapper."""
        wrapper = wrapped(message, self.author, **how)
        self.pass_on(to, wrapper, type_of_message(message), typed=how.get("typed", True))
        return wrapper

    def pass_on(
        self,
        to: str,
        wrapper: bytes,
        type_: int,
        text: str = "",
        *,
        typed: bool = True,
        names: Mapping[ChatKey, str] | None = None,
    ) -> str:
        """Send a wrapper, whoever made it; the hash of the dm3 message. `names`: what is said of others."""
        carried = CarriedWrapper(wrapper, None if typed else type_, names or {})
        return self.post(Dm3Draft(to, text, encodings=encodings(carried)))

    def refuse(self, *senders: str) -> None:
        self.service.extension = replace(ALL_TYPES, rules=FilterRules(block=senders))

    def takes(self, *types: MessageType) -> None:
        self.service.extension = ProfileExtension(message_types=types)


@dataclass
class Written(Watched):
    """A home with points of failure around what changes it: a device that dies while it reads has changed nothing."""

    def get(self, key: str) -> HomeObject | None:
        return self.home.get(key)


@dataclass
class Https:
    """What a device makes requests with."""

    network: "ChatNetwork"
    points: Points

    def post(self, url: str, body: bytes, _content_type: str) -> HttpsResponse:
        with self.points.around():
            host = urlsplit(url).netloc
            return self.network.services[host].post(body)


@dataclass
class Device:
    """One device of a person."""

    person: Person
    archive: Archive
    chats: Chats
    points: Points

    def send(self, to: str, text: str, *, reply_to: str = "") -> SentChatMessage:
        return self.chats.send(to, text, reply_to=reply_to)

    def pull(self) -> tuple[Pulled, list[SentTo]]:
        """Everything that `postroom chat pull` does."""
        pulled = self.chats.pull(Mailbox(self.person.service, self.points))
        return pulled, [*self.chats.deliver_due()]

    def shown(self, to: str) -> list[ShownChatMessage]:
        """The messages of a chat, read anew."""
        self.chats.refresh()
        return self.chats.messages(to)

    def texts(self, to: str) -> list[str]:
        """The texts of a chat; (deleted) for messages that are."""
        return [message.text if message.message else "(deleted)" for message in self.shown(to)]

    def last(self, to: str) -> ShownChatMessage:
        return self.shown(to)[-1]

    def unsent(self) -> list[str]:
        """What is not delivered: receivers, and the reasons of those that were refused."""
        self.chats.refresh()
        waiting = self.chats.memory.unsent.values()
        return [f"{it.to}{f': {it.refused}' if it.refused else ''}" for messages in waiting for it in messages]


@dataclass
class Mailbox:
    """A mailbox as a device sees it that may die at each request."""

    service: Service
    points: Points

    def unread(self, *, wait: float | bool = False) -> Iterator[Waiting]:
        with self.points.around():
            found = list(self.service.unread())
        yield from found

    def acknowledge(self, messages: Iterable[str]) -> None:
        with self.points.around():
            self.service.acknowledge(messages)


def wrapped(
    message: StatusMessage, author: AuthorKey, *, signed: bool = True, typed: bool = True, unknown: bytes = b""
) -> bytes:
    """A wrapper. `unknown`: bytes of further fields, which change its ID and nothing else."""
    payload = write_payload(message)
    return (
        write_wrapper(payload, author.sign(payload) if signed else b"", type_of_message(message), typed=typed) + unknown
    )


class ChatNetwork:
    """alice.eth, bob.eth, carol.eth and mallory.eth; eddy.eth has an Ed25519 key."""

    def __init__(self) -> None:
        self.now_ms = BEGINS_AT_MS
        self.registry = FakeRegistry(keep_seconds=0)
        self.profiles = Profiles(self.registry, lambda: self.now_ms / 1000)
        self.services: dict[str, Service] = {}
        self.people: dict[str, Person] = {}
        for name in (ALICE, BOB, CAROL, MALLORY):
            self.add(name, _KEYS[name])
        self.add(EDDY, _KEYS[EDDY])

    def add(self, name: str, keys: UserKeys) -> Person:
        """Somebody with a profile and a delivery service."""
        service = self.services[f"ds-{name}"] = Service(self, name)
        self.publish_service(name, f"https://ds-{name}")
        person = self.people[name] = Person(self, name, keys, service)
        person.publish()
        return person

    def publish_service(self, name: str, url: str) -> None:
        """Publish the delivery service of somebody."""
        self.registry.put(f"ds-{name}", SERVICE_KEY, data_uri(_SERVICE_KEYS.profile(url).as_json()))

    def __getitem__(self, name: str) -> Person:
        return self.people[name]

    def device(self, name: str) -> Device:
        return self.people[name].device()

    def state(self) -> dict[str, tuple[dict[str, bytes], list[Waiting], list[str]]]:
        """What everybody's home and mailbox hold."""
        return {
            name: (person.home.containers(), list(person.service.waiting), list(person.service.seen))
            for name, person in self.people.items()
        }

    def restore(self, state: Mapping[str, tuple[dict[str, bytes], list[Waiting], list[str]]]) -> None:
        """Begin again from a state."""
        for name, (containers, waiting, seen) in state.items():
            person = self.people[name]
            person.home = MemoryHome(containers)
            person.service.waiting, person.service.seen = list(waiting), list(seen)

    def tick(self, milliseconds: int = 1) -> int:
        """Time passes; the time."""
        self.now_ms += milliseconds
        return self.now_ms

    def clock(self) -> float:
        """The clock of all devices: each look at it takes a millisecond."""
        return self.tick() / 1000

    def known_keys(self) -> KnownSigningKeys:
        users = {name: [person.keys.signing.public] for name, person in self.people.items()}
        return KnownSigningKeys(users, [_SERVICE_KEYS.signing.public])


_KEYS: Final = {
    **{name: UserKeys.random() for name in (ALICE, BOB, CAROL, MALLORY)},
    EDDY: UserKeys.random("ed25519"),
}


def _datetime(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)
