"""The client of a mailbox for asyncio."""

import asyncio
import json
import os
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import aclosing
from typing import Any, Generic, Literal, Self, TypeVar

import httpx
from msgspec import UNSET, UnsetType

from postroom.api import schemas
from postroom.api.mailbox_names import read_mailbox_name
from postroom.api.schemas import MAX_CONTAINER_BYTES
from postroom.client.mailbox.containers import ContainerSteps, FetchedContainer
from postroom.client.mailbox.core import Core, OwnerSettings, change_of
from postroom.client.mailbox.exchange import Answer, MailboxRequest, Steps, T
from postroom.client.mailbox.http import check_size, choose_tls, read_address, received
from postroom.client.mailbox.keys import Key, load_signer
from postroom.client.mailbox.outbox import SentPages
from postroom.client.mailbox.passes import News, Passes
from postroom.client.mailbox.session import DEFAULT_RETRIES, Retries, Session
from postroom.client.mailbox.shown import ShownMessage, warn_of
from postroom.client.mailbox.targets import NotificationTargetSteps
from postroom.core.ijson import JsonValue
from postroom.core.steps import drive_async

S = TypeVar("S")
U = TypeVar("U")


class AsyncMailbox:
    """A mailbox, as its owner sees it; an asynchronous context manager.

    async with AsyncMailbox("https://nlweb.receiver.example", "receiver.example", "receiver.example.pem") as mailbox:
        async for message in mailbox.unread():
            print(message.partner, await message.json)
            await message.acknowledge()

    Signs in by itself. Everything that asks the host raises MailboxError (see `errors`), after `retries` where that
    may help. May be shared among tasks; an iterator may not. A wait may be cancelled: it then goes on from there.
    """

    def __init__(
        self,
        url: str,
        name: str,
        key: Key,
        *,
        ca_file: str | os.PathLike[str] | None = None,
        connect: tuple[str, int] | None = None,
        timeout: float = 30.0,
        retries: Retries = DEFAULT_RETRIES,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`url`: https:// and the host. `key`: what signs, or a file with it. `ca_file`: authorities (PEM) to trust
        instead of the public ones. `connect`: host and port where connections are made to, whatever DNS says of the
        host. `timeout`: seconds for each part of a request; who waits for messages is given so many more.

        Raises SettingsError for what is no such URL, TheirError for what is no name; for files OSError, OurError.
        """
        self._address = read_address(url, connect)
        self._name = read_mailbox_name(name)
        session = Session(self._address.host, self._name, load_signer(key), retries, chance)
        self._core = Core(session)
        self._containers = ContainerSteps(session)
        self._targets = NotificationTargetSteps(session)
        self._timeout = timeout
        self._sleep = sleep
        self._clock = clock
        # A proxy of the environment's would be asked for an address that is not its to reach.
        self._client = httpx.AsyncClient(verify=choose_tls(ca_file), transport=transport, trust_env=connect is None)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"<AsyncMailbox {self._name} at {self._address.host}>"

    async def aclose(self) -> None:
        """Let go of the connection. What was not acknowledged is shown again to who comes next."""
        await self._client.aclose()

    def unread(self, *, wait: float | bool = False, conversation: str = "") -> AsyncIterator["AsyncMailboxMessage"]:
        """Each message that waits, once, oldest first; perhaps only of one conversation.

        `wait`: more are waited for until for so many seconds none came; True: for ever. Raises ValueError.
        """
        passes = Passes(self._core, wait, conversation, self._clock)
        return AsyncListed(lambda: self._make(passes.next_page()), lambda told: AsyncMailboxMessage(self, told))

    async def message(self, message_id: str) -> "AsyncMailboxMessage":
        """One message that waits. Raises MessageGoneError where it does not any more."""
        return AsyncMailboxMessage(self, await self._make(self._core.message(message_id)))

    async def acknowledge(self, messages: "Iterable[AsyncMailboxMessage | str]") -> schemas.Acknowledged:
        """Say which messages, or ids of such, are safe at home: they never come again. May be repeated."""
        ids = (each if isinstance(each, str) else each.id for each in messages)
        return await self._make(self._core.acknowledge(ids))

    async def conversations(self) -> schemas.Conversations:
        """Whom waiting messages are exchanged with."""
        return await self._make(self._core.conversations())

    async def status(self) -> schemas.Status:
        """How much waits."""
        return await self._make(self._core.status())

    async def settings(self) -> OwnerSettings:
        """What the owner set."""
        return await self._make(self._core.settings())

    async def change_settings(
        self,
        settings: OwnerSettings,
        *,
        extension: dict[str, Any] | None = None,
        unverified: bool | None = None,
        blocks: list[str] | None = None,
        subjects: dict[str, str | None] | None = None,
    ) -> OwnerSettings:
        """Change what is not None, if all is still as in `settings`; of `extension` and `subjects` only what is named
        in them, and what is None there is taken away. Raises ChangedMeanwhileError."""
        change = change_of(extension=extension, unverified=unverified, blocks=blocks, subjects=subjects)
        return await self._make(self._core.change_settings(settings, change))

    async def open(self) -> None:
        """Open the mailbox of a name of dm3 whose profile names this delivery service, where the operator lets such
        names. One that is open stays as it is. Raises RefusedError."""
        await self._make(self._core.open())

    async def send(
        self,
        to: str,
        subject: str,
        body: "JsonValue | UnsetType" = UNSET,
        *,
        token: str,
        correlation: str = "",
        dialect: Literal["nlweb", "pollyweb"] = "nlweb",
    ) -> schemas.Queued:
        """Have the post office sign a message in the name of the mailbox, a domain, and send it to the domain `to`.

        `token`: your own, for this message: said again with the same content, it is sent once, so whoever was told
        UnavailableError says it again. `correlation`: of what it replies to. Raises TokenReusedError; ValueError,
        TypeError where `body` is no JSON.
        """
        return await self._make(self._core.send(to, subject, body, token, correlation, dialect))

    def sent(self) -> AsyncIterator[schemas.SentMessage]:
        """What was sent, newest first, and what became of each."""
        pages = SentPages(self._core)
        return AsyncListed(lambda: self._make(pages.next_page()), lambda told: told)

    async def sent_one(self, correlation: str) -> schemas.SentMessage:
        """One message that was sent, by its Correlation, and what became of it. Raises NotSentError."""
        return await self._make(self._core.sent_one(correlation))

    async def sign_out(self) -> None:
        """Sign out of all devices; it takes up to a minute to be seen everywhere."""
        await self._make(self._core.sign_out())

    async def fetch_envelope(self, message_id: str) -> str:
        """The envelope of a message that waits, bit for bit. Raises MessageGoneError."""
        return await self._make(self._core.envelope(message_id))

    async def targets(self) -> list[schemas.Target]:
        """Who is told that something waits."""
        return await self._make(self._targets.all())

    async def add_target(self, kind: Literal["webhook", "sns", "email"], to: str) -> schemas.Target:
        """Tell somebody else, once `verify_target` was handed the code that is sent there. A webhook's `secret` is
        shown now, and not again: where an answer was lost, the next try is refused (`reason` is TargetExists), and
        `rotate_target` gives a secret."""
        return await self._make(self._targets.add(schemas.NewTarget(kind, to)))

    async def verify_target(self, target_id: str, code: str = "") -> schemas.Target:
        """Begin to tell a target, by the code that was sent to it; without one, another is sent."""
        return await self._make(self._targets.verify(target_id, code))

    async def rotate_target(self, target_id: str) -> schemas.Target:
        """Give a webhook a new secret; the old one signs for a day beside it.

        Asked once, whatever `retries` say: who is told UnavailableError may have rotated it. Another rotation within
        that day ends the old secret at once.
        """
        return await self._make(self._targets.rotate(target_id))

    async def resume_target(self, target_id: str) -> schemas.Target:
        """Tell a target again that failed for days, and was paused for it."""
        return await self._make(self._targets.resume(target_id))

    async def remove_target(self, target_id: str) -> None:
        """Tell a target no more."""
        await self._make(self._targets.remove(target_id))

    async def storage(self) -> schemas.StorageUse:
        """How much the host keeps for its owner, and may."""
        return await self._make(self._containers.use())

    async def containers(self) -> list[schemas.Container]:
        """What it keeps, by key."""
        return await self._make(self._containers.all())

    async def get_container(self, key: str, most_bytes: int = MAX_CONTAINER_BYTES) -> FetchedContainer | None:
        """What is kept under a key (0x and the hex of a SHA-256); None: nothing. Raises ContainerTooLargeError."""
        return await self._make(self._containers.get(key, most_bytes))

    async def put_container(self, key: str, data: bytes, *, etag: str | None) -> str:
        """Keep `data` in place of what has this ETag; None: where nothing is yet. The new ETag.

        Raises ChangedMeanwhileError, StorageFullError. An earlier try of the same call may be what changed it.
        """
        return await self._make(self._containers.put(key, data, etag))

    async def delete_container(self, key: str) -> None:
        """See that nothing is kept under a key."""
        await self._make(self._containers.delete(key))

    async def _make(self, steps: Steps[T]) -> T:
        return await drive_async(steps, self._ask)

    async def _ask(self, request: MailboxRequest) -> Answer:
        if request.pause:
            await self._sleep(request.pause)
        try:
            sent = self._address.build(self._client, request, self._timeout)
            async with aclosing(await self._client.send(sent, stream=True)) as answer:
                body = bytearray()
                async for part in answer.aiter_bytes():
                    body += part
                    check_size(len(body))
        except httpx.RequestError as error:
            return self._address.failed(error)
        return received(answer, bytes(body))


class AsyncMailboxMessage(ShownMessage):
    """A message that waited when it was fetched."""

    def __init__(self, mailbox: AsyncMailbox, told: schemas.Message) -> None:
        super().__init__(told)
        self._mailbox = mailbox

    @property
    async def envelope(self) -> str:
        """As it was received, bit for bit; a large one is fetched now. Raises MailboxError."""
        if self._envelope is None:
            self._envelope = await self._mailbox.fetch_envelope(self.id)
        return self._envelope

    @property
    async def json(self) -> JsonValue:
        """The value of the envelope. Raises as `envelope` does."""
        value: JsonValue = json.loads(await self.envelope)
        return value

    async def acknowledge(self) -> None:
        """Say that it is safe at home: it never comes again. May be repeated."""
        await self._mailbox.acknowledge([self])


class AsyncListed(AsyncIterator[U], Generic[S, U]):
    """One after the other, as pages bring them. After an error it may be asked to go on, and misses none."""

    def __init__(self, next_page: Callable[[], Awaitable[News[S] | None]], shown: Callable[[S], U]) -> None:
        self._next_page = next_page
        self._shown = shown
        self._fetched: deque[S] = deque()

    async def __anext__(self) -> U:
        while not self._fetched:
            page = await self._next_page()
            if page is None:
                raise StopAsyncIteration
            self._fetched.extend(page.messages)
            warn_of(page.unreadable)
        return self._shown(self._fetched.popleft())
