# Written by `make unasync` from aio.py, which is the one to edit.
"""The client of a mailbox for programs without asyncio."""

import json
import os
import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar

import httpx
from msgspec import UNSET, UnsetType

from postroom.api import schemas
from postroom.api.http import DCP_PATH
from postroom.api.mailbox_names import read_mailbox_name
from postroom.api.schemas import MAX_CONTAINER_BYTES, MAX_WAIT_SECONDS
from postroom.client.mailbox.containers import DCP_PART_BYTES, ContainerSteps, FetchedContainer
from postroom.client.mailbox.core import Core, OwnerSettings, change_of
from postroom.client.mailbox.deadlines import Deadline, limit_of
from postroom.client.mailbox.errors import ClosedError
from postroom.client.mailbox.exchange import Answer, MailboxRequest, Steps, T
from postroom.client.mailbox.http import (
    Address,
    HostRoute,
    check_size,
    choose_route,
    choose_tls,
    read_address,
    received,
)
from postroom.client.mailbox.keys import Key, load_key, signer_of
from postroom.client.mailbox.message_view import ShownMessage, body_of, header_of, warn_of
from postroom.client.mailbox.opening import open_dm3
from postroom.client.mailbox.outbox import SentPages
from postroom.client.mailbox.passes import News, Passes
from postroom.client.mailbox.session import DEFAULT_RETRIES, DcpSession, Retries, Session
from postroom.client.mailbox.targets import NotificationTargetSteps
from postroom.core.ijson import JsonValue
from postroom.core.steps import drive
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.dm3.message import Dm3Message

if TYPE_CHECKING:
    from postroom.client.mailbox.dcp_driver import DcpDriver

S = TypeVar("S")
U = TypeVar("U")


class Mailbox:
    """A mailbox, as its owner sees it; a context manager.

    with Mailbox("https://nlweb.receiver.example", "receiver.example", "receiver.example.pem") as mailbox:
        for message in mailbox.unread():
            print(message.partner, message.json)
            message.acknowledge()

    Signs in by itself, or sends signed requests over DCP. Every method that sends a request raises MailboxError (see
    `errors`), after `retries` if they may help.

    It may be shared among threads; an iterator may not.
    """

    def __init__(
        self,
        url: str,
        name: str,
        key: Key,
        *,
        ca_file: str | os.PathLike[str] | None = None,
        connect: tuple[str, int] | None = None,
        local: str | os.PathLike[str] | None = None,
        dcp: bool = False,
        timeout: float = 30.0,
        retries: Retries = DEFAULT_RETRIES,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`url`: https:// and the host. `key`: an object that signs, or a key file.

        `ca_file`: certificate authorities (PEM) to trust instead of the public ones. `connect`: the host and port to
        connect to, instead of the host's address in DNS. `local`: the folder of a local stack, such as `.postroom`,
        which has both. `dcp`: send requests over DCP, each of them authorized by the key, instead of with a token; the
        key is one of secp256k1; messages are waited for over a WebSocket, if the host has one. `timeout`: seconds for a
        request and its answer, once there is a connection, which may take 10 more; waiting for messages is added, and
        a second for each 10,000 bytes. Raises SettingsError for an invalid URL or folder, TheirError for an invalid
        name; for files OSError, OurError.
        """
        route = choose_route(ca_file, connect, local)
        self._address = read_address(url, route.connect)
        self._name = read_mailbox_name(name)
        self._dcp = _open_dcp(url, key, route, timeout, transport, self._describe_guardian) if dcp else None
        self._key = self._dcp.key if self._dcp else load_key(key)
        of_session = self._address.host, self._name, signer_of(self._key), retries, chance
        session = DcpSession(*of_session) if self._dcp else Session(*of_session)
        self._core = Core(session)
        self._containers = ContainerSteps(session, DCP_PART_BYTES if self._dcp else None)
        self._targets = NotificationTargetSteps(session)
        self._timeout = timeout
        self._sleep = sleep
        self._clock = clock
        self._is_closed = False
        # A proxy of the environment could not reach this address.
        self._client = httpx.Client(
            verify=choose_tls(route.ca_file), transport=transport, trust_env=route.connect is None
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Mailbox {self._name} at {self._address.host}>"

    def close(self) -> None:
        """Close the connection. Messages that were not acknowledged will be shown again."""
        was_closed, self._is_closed = self._is_closed, True
        if self._dcp and not was_closed:
            self._dcp.close()
        self._client.close()

    def unread(self, *, wait: float | bool = False, conversation: str = "") -> Iterator["MailboxMessage"]:
        """Each message in the mailbox, once, oldest first; optionally only of one conversation.

        `wait`: wait for more messages, until none came for so many seconds; True: for ever. Raises ValueError.
        """
        passes = Passes(self._core, wait, conversation, self._clock, self._most_wait)
        return Listed(lambda: self._make(passes.next_page()), lambda message: MailboxMessage(self, message))

    def message(self, message_id: str) -> "MailboxMessage":
        """One message by its id. Raises MessageGoneError if it is not in the mailbox any more."""
        return MailboxMessage(self, self._make(self._core.message(message_id)))

    def acknowledge(self, messages: "Iterable[MailboxMessage | str]") -> schemas.Acknowledged:
        """Acknowledge messages, or ids of messages, that are stored safely: they never come again. May be repeated.

        Raises TypeError for a single id: its characters would be taken for ids.
        """
        if isinstance(messages, str):
            raise TypeError(f"acknowledge takes a list of messages or ids, such as [{messages!r}]")
        ids = (each if isinstance(each, str) else each.id for each in messages)
        return self._make(self._core.acknowledge(ids))

    def conversations(self) -> schemas.Conversations:
        """The conversations with messages in the mailbox."""
        return self._make(self._core.conversations())

    def status(self) -> schemas.Status:
        """How many messages are in the mailbox."""
        return self._make(self._core.status())

    def settings(self) -> OwnerSettings:
        """The owner's settings."""
        return self._make(self._core.settings())

    def change_settings(
        self,
        settings: OwnerSettings,
        *,
        extension: dict[str, Any] | None = None,
        unverified: bool | None = None,
        blocks: list[str] | None = None,
        subjects: dict[str, str | None] | None = None,
    ) -> OwnerSettings:
        """Change the settings that are not None, if `settings` are still the current ones. Raises
        ChangedMeanwhileError.

        Of `extension` and `subjects`, only the named members are changed; None removes a member.
        """
        change = change_of(extension=extension, unverified=unverified, blocks=blocks, subjects=subjects)
        return self._make(self._core.change_settings(settings, change))

    def open(self) -> None:
        """Open the mailbox of a dm3 name whose profile names this delivery service, if the operator allows that.

        An open mailbox is not changed. Raises RefusedError.
        """
        self._make(self._core.open())

    def send(
        self,
        to: str,
        subject: str,
        body: "JsonValue | UnsetType" = UNSET,
        *,
        token: str,
        correlation: str = "",
        dialect: Literal["nlweb", "pollyweb"] = "nlweb",
    ) -> schemas.Queued:
        """Let the post office sign a message in the name of the mailbox, a domain, and send it to the domain `to`.

        `token`: your own, for this message. With the same token and content it is sent once, so after UnavailableError,
        call this again. `correlation`: of the message that this one replies to. Raises TokenReusedError; ValueError,
        TypeError if `body` is not JSON.
        """
        return self._make(self._core.send(to, subject, body, token, correlation, dialect))

    def sent(self) -> Iterator[schemas.SentMessage]:
        """The messages that were sent, with their states, newest first."""
        pages = SentPages(self._core)
        return Listed(lambda: self._make(pages.next_page()), lambda message: message)

    def sent_one(self, correlation: str) -> schemas.SentMessage:
        """One message that was sent, with its state, by its Correlation. Raises NotSentError."""
        return self._make(self._core.sent_one(correlation))

    def sign_out(self) -> None:
        """Sign out on all devices; it takes up to a minute to take effect everywhere."""
        self._make(self._core.sign_out())

    def fetch_envelope(self, message_id: str) -> str:
        """The envelope of a message, unchanged. Raises MessageGoneError."""
        return self._make(self._core.envelope(message_id))

    def open_envelope(self, envelope: str, key: UserKeys | str | os.PathLike[str] | None = None) -> Dm3Message:
        """The content of a dm3 message, as `open` of the message returns it."""
        return open_dm3(envelope, self._key if key is None else key)

    def targets(self) -> list[schemas.Target]:
        """The notification targets."""
        return self._make(self._targets.all())

    def add_target(self, kind: Literal["webhook", "sns", "email"], to: str) -> schemas.Target:
        """Add a notification target. It is notified after `verify_target` got the code that is sent to it.

        A webhook's `secret` is returned now, and not again. If an answer got lost, the next attempt is refused
        (`reason` is TargetExists), and `rotate_target` returns a secret.
        """
        return self._make(self._targets.add(schemas.NewTarget(kind, to)))

    def verify_target(self, target_id: str, code: str = "") -> schemas.Target:
        """Verify a target with the code that was sent to it; without a code, another one is sent."""
        return self._make(self._targets.verify(target_id, code))

    def rotate_target(self, target_id: str) -> schemas.Target:
        """Give a webhook a new secret; the old one also signs for a day.

        Tried once, regardless of `retries`: after UnavailableError, the secret may have been rotated. Another rotation
        within that day ends the old secret at once.
        """
        return self._make(self._targets.rotate(target_id))

    def resume_target(self, target_id: str) -> schemas.Target:
        """Resume a target that was paused because it had failed for days."""
        return self._make(self._targets.resume(target_id))

    def remove_target(self, target_id: str) -> None:
        """Remove a target."""
        self._make(self._targets.remove(target_id))

    def storage(self) -> schemas.StorageUse:
        """How much the host stores for the owner, and may store."""
        return self._make(self._containers.use())

    def containers(self) -> list[schemas.Container]:
        """The stored containers, by key."""
        return self._make(self._containers.all())

    def get_container(self, key: str, most_bytes: int = MAX_CONTAINER_BYTES) -> FetchedContainer | None:
        """The container under a key (0x and the hex of a SHA-256); None: none. Raises ContainerTooLargeError."""
        return self._make(self._containers.get(key, most_bytes))

    def put_container(self, key: str, data: bytes, *, etag: str | None) -> str:
        """Store `data` in place of the container with this ETag; None: there must be none. Returns the new ETag.

        Raises ChangedMeanwhileError, StorageFullError. The change may be an earlier attempt of the same call.
        """
        return self._make(self._containers.put(key, data, etag))

    def delete_container(self, key: str) -> None:
        """Delete the container under a key, if there is one."""
        self._make(self._containers.delete(key))

    def _most_wait(self) -> float:
        return self._dcp.most_wait if self._dcp else MAX_WAIT_SECONDS

    def _describe_guardian(self) -> Answer:
        return fetch_answer(self._client, self._address, MailboxRequest("GET", DCP_PATH), self._timeout)

    def _make(self, steps: Steps[T]) -> T:
        return drive(steps, self._ask)

    def _ask(self, request: MailboxRequest) -> Answer:
        if request.pause:
            self._sleep(request.pause)
        if self._is_closed:
            raise ClosedError(f"{self!r} is closed: use it before it is closed, or inside its with block.")
        if self._dcp and (answer := self._dcp.ask(request)) is not None:
            return answer
        return fetch_answer(self._client, self._address, request, self._timeout)


def _open_dcp(
    url: str,
    key: Key,
    route: HostRoute,
    timeout: float,
    transport: httpx.BaseTransport | None,
    describe: Callable[[], Answer],
) -> "DcpDriver":
    # Few mailboxes need it, and it stands on this module.
    from postroom.client.mailbox.dcp_driver import DcpDriver

    return DcpDriver(url, key, route=route, timeout=timeout, transport=transport, describe=describe)


def fetch_answer(client: httpx.Client, address: Address, request: MailboxRequest, timeout: float) -> Answer:
    """The answer to a request, whose pause is over. `timeout`: see Mailbox."""
    try:
        sent, body = address.build(client, request, timeout), bytearray()
        with (
            Deadline(limit_of(request, timeout)) as deadline,
            closing(client.send(sent, stream=True)) as answer,
        ):
            for part in answer.iter_bytes():
                body += part
                check_size(len(body))
                deadline.received(len(part))
    except httpx.RequestError as error:
        return address.failed(error)
    return received(answer, bytes(body))


class MailboxMessage(ShownMessage):
    """A message as it was fetched."""

    def __init__(self, mailbox: Mailbox, message: schemas.Message) -> None:
        super().__init__(message)
        self._mailbox = mailbox

    @property
    def envelope(self) -> str:
        """The envelope as received, unchanged; a large one is fetched now. Raises MailboxError."""
        if self._envelope is None:
            self._envelope = self._mailbox.fetch_envelope(self.id)
        return self._envelope

    @property
    def json(self) -> JsonValue:
        """The value of the envelope. Raises as `envelope` does."""
        value: JsonValue = json.loads(self.envelope)
        return value

    @property
    def subject(self) -> str:
        """The Subject of an NLWeb message; empty for a dm3 message. Raises as `envelope` does."""
        return header_of(self.json, "Subject")

    @property
    def from_domain(self) -> str:
        """The sender of an NLWeb message as it wrote itself; empty for a dm3 message. Raises as `envelope` does."""
        return header_of(self.json, "From")

    @property
    def correlation(self) -> str:
        """The Correlation of an NLWeb message; empty for a dm3 message. Raises as `envelope` does."""
        return header_of(self.json, "Correlation")

    @property
    def body(self) -> JsonValue:
        """The Body of an NLWeb message; None if it has none, and for a dm3 message. Raises as `envelope` does."""
        return body_of(self.json)

    def open(self, key: UserKeys | str | os.PathLike[str] | None = None) -> Dm3Message:
        """The content of a dm3 message: `message` (its text), `attachments` and `metadata`.

        `key`: of the receiver, or its file; None: the one that the mailbox was opened with. The signature inside is not
        checked: `partner` was verified, and the content may name another sender. Raises NotOpenedError, and as
        `envelope` does; for a file OSError, OurError.
        """
        return self._mailbox.open_envelope(self.envelope, key)

    def acknowledge(self) -> None:
        """Acknowledge the message, which is stored safely: it never comes again. May be repeated."""
        self._mailbox.acknowledge([self])


class Listed(Iterator[U], Generic[S, U]):
    """Items one after the other, as pages bring them. After an error it can continue, and misses none."""

    def __init__(self, next_page: Callable[[], News[S] | None], shown: Callable[[S], U]) -> None:
        self._next_page = next_page
        self._shown = shown
        self._fetched: deque[S] = deque()

    def __next__(self) -> U:
        while not self._fetched:
            page = self._next_page()
            if page is None:
                raise StopIteration
            self._fetched.extend(page.messages)
            warn_of(page.unreadable)
        return self._shown(self._fetched.popleft())
