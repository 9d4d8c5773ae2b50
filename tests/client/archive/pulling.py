"""Bob's mailbox with a real API, his archive, and injected failures between the two."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from typing import Any

import httpx
from tests.client.archive.mail import KEYS, STORAGE_KEY, USERS, registry
from tests.client.mailbox_net import URL, Host
from tests.http.api_stack import NOW, ApiStack
from tests.protocols.dm3.stored_mail import BOB

from postroom.client import Mailbox
from postroom.client.archive import Archive, Home, HomeObject, MemoryHome, verify
from postroom.client.archive.pull import Pulled, pull
from postroom.client.archive.receiving import MailReceiver
from postroom.names.profiles import Profiles
from postroom.protocols.dm3.envelope import message_hash, read_envelope
from postroom.protocols.dm3.stored import Received, Tombstone
from postroom.storage.directory.domains import Dm3Mailbox
from postroom.storage.mail.ids import id_of

_numbers = count(1)


class DiedError(BaseException):
    """The process has died."""


@dataclass
class Points:
    """Failures before and after each request and each access to a home. `at`: the number of the point."""

    at: int = -1
    happens: Callable[[], object] = lambda: None
    passed: int = 0

    @contextmanager
    def around(self) -> Iterator[None]:
        self._pass()
        yield
        self._pass()

    def _pass(self) -> None:
        here, self.passed = self.passed, self.passed + 1
        if here == self.at:
            self.happens()


@dataclass
class Watched:
    """A home with points of failure before and after each call. `read`: the requested keys."""

    home: Home
    points: Points
    read: list[str] = field(default_factory=list)

    def get(self, key: str) -> HomeObject | None:
        self.read.append(key)
        with self.points.around():
            return self.home.get(key)

    def put(self, key: str, data: bytes, *, etag: str | None) -> str:
        with self.points.around():
            return self.home.put(key, data, etag=etag)

    def delete(self, key: str) -> None:
        with self.points.around():
            self.home.delete(key)


@dataclass
class Owner:
    """An owner with a mailbox and Bob's keys. The archive's home is in memory by default."""

    api: ApiStack
    name: str = field(default_factory=lambda: f"bob{next(_numbers)}.eth")
    home: Any = field(default_factory=MemoryHome)
    waiting: dict[str, str] = field(default_factory=dict)
    """The hash of each message in the archive, by its id."""
    checks: bool = True
    """Whether each acknowledgement is checked: all its messages must be in the archive."""

    def __post_init__(self) -> None:
        self.api.users.keys[self.name] = USERS[BOB].signing
        self.api.operators.put_dm3_mailbox(Dm3Mailbox(self.name))
        self.registry = registry(self.name)

    def file(self, envelope: str, *, kept: bool = True, conversation: str = "alice.eth") -> str:
        """Add a message to the mailbox. `kept`: it belongs in its conversation; otherwise it must be set aside."""
        receipt = {"protocol": "dm3"}
        [id_] = self.api.file(envelope, mailbox=self.name, conversation=conversation, receipt=receipt)
        self.waiting[id_] = (
            message_hash(read_envelope(json.loads(envelope))) if kept else sha256(id_.encode()).hexdigest()
        )
        return id_

    def archive(self, points: Points | None = None) -> Archive:
        signature = USERS[BOB].signing.sign(self.name.encode())
        home = Watched(self.home, points) if points else self.home
        return Archive.of(home, self.name, signature, STORAGE_KEY)

    def pull(
        self, points: Points | None = None, *, keys: Any = USERS[BOB], registry: Any = None, older: Any = ()
    ) -> Pulled:
        """One run of the program."""
        at = points or Points()
        host = Host(self.api, watch=self.check_acknowledged)

        def answered(request: httpx.Request) -> httpx.Response:
            with at.around():
                return host(request)

        transport, clock = httpx.MockTransport(answered), self.api.clock
        with Mailbox(
            URL, self.name, USERS[BOB], transport=transport, clock=clock, sleep=host.sleep, chance=lambda: 1.0
        ) as mailbox:
            receiver = MailReceiver(self.name, keys, Profiles(registry or self.registry, lambda: NOW), older=older)
            return pull(mailbox, self.archive(at), receiver)

    def check_acknowledged(self, request: httpx.Request, _: httpx.Response) -> None:
        """Check that acknowledged messages are in the archive."""
        if self.checks and request.url.path.endswith("/acknowledgements"):
            there = self.hashes()
            assert {self.waiting[id_] for id_ in json.loads(request.content)["ids"]} <= set(there)

    def hashes(self) -> list[str]:
        mine = self.archive()
        return [entry.message_hash for partner in mine.conversations() for entry in mine.open(partner)]

    def texts(self, partner: str = "alice.eth") -> list[str]:
        """The entries of a conversation: texts, and the reasons of messages that were set aside."""
        found = []
        for entry in self.archive().open(partner):
            match entry:
                case Tombstone():
                    found.append(f"† {entry.cause}")
                case Received():
                    found.append(entry.set_aside or entry.envelope)
                case _:
                    found.append(f"{entry.message.message}{' ?' if entry.unverified else ''}")
        return found

    def left(self) -> list[str]:
        """The ids of messages that are not acknowledged."""
        return [id_of(filed.row.key) for filed in self.api.mail.listing.all_filed(self.name, self.api.clock() + 10)]

    def check_all_home(self) -> None:
        """Check that everything is in the archive once, and that the mailbox is empty."""
        assert sorted(self.hashes()) == sorted(self.waiting.values())
        found = verify(self.archive(), KEYS)
        assert found.flaws == []
        assert found.messages + found.set_aside == len(self.waiting)
        assert self.left() == []
