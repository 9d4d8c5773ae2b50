"""The API of tests/http/api_stack.py as an httpx transport, and both of its clients with the same interface."""

import asyncio
import inspect
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
from tests.http.api_stack import BOB, HOST, SHOP, SHOP_KEY, ApiStack

from postroom.client import AsyncMailbox, Mailbox
from postroom.client.mailbox.aio import AsyncMailboxMessage
from postroom.crypto.x25519 import EncryptionKey
from postroom.http.request import HttpRequest
from postroom.protocols.dm3.envelope import DeliveryInformation, write_envelope
from postroom.protocols.dm3.keys import PrivateSigningKey
from postroom.protocols.dm3.message import MessageMetadata
from postroom.protocols.dm3.sign import sign_message

URL = f"https://{HOST}"

Open = Callable[..., Any]
"""Opens a mailbox; its parameters are those of `Host.open`."""
Fault = Callable[[httpx.Request, Callable[[httpx.Request], httpx.Response]], httpx.Response]
"""A fault at a request: it gets the function that would answer."""


def lost_before(request: httpx.Request, _answer: object) -> httpx.Response:
    raise httpx.ConnectError("nobody there", request=request)


def lost_after(request: httpx.Request, answer: Callable[[httpx.Request], httpx.Response]) -> httpx.Response:
    answer(request)
    raise httpx.ReadError("cut off", request=request)


def busy(status: int, **headers: str) -> Fault:
    return lambda *_: httpx.Response(status, headers={name.replace("_", "-"): it for name, it in headers.items()})


@dataclass
class Host:
    """A host. `requests`: those that it received. `faults`: of the next requests. `watch`: gets each response.
    `page_size`: messages on a page."""

    api: ApiStack
    requests: list[httpx.Request] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)
    page_size: int = 100
    watch: Callable[[httpx.Request, httpx.Response], object] = lambda *_: None

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return self.faults.pop(0)(request, self.answer) if self.faults else self.answer(request)

    def answer(self, request: httpx.Request) -> httpx.Response:
        reply = self.api.router.respond(
            HttpRequest(
                request.method,
                request.url.path,
                request.headers["host"].partition(":")[0],
                {"limit": str(self.page_size), **request.url.params},
                dict(request.headers),
                request.content,
            )
        )
        headers = {"Content-Type": reply.content_type, **reply.headers}
        response = httpx.Response(reply.status, headers=headers, content=reply.body)
        self.watch(request, response)
        return response

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.api.clock.now += seconds

    async def sleep_async(self, seconds: float) -> None:
        self.sleep(seconds)

    def paths(self) -> list[str]:
        """The requests in a short form."""
        return [f"{request.method} {request.url.path.removeprefix(f'/mailboxes/{SHOP}')}" for request in self.requests]

    def open(self, name: str = SHOP, key: Any = SHOP_KEY, *, url: str = URL, **options: Any) -> Mailbox:
        transport, clock = httpx.MockTransport(self), self.api.clock
        given = {"sleep": self.sleep, "chance": lambda: 1.0, **options}
        return Mailbox(url, name, key, transport=transport, clock=clock, **given)

    def open_async(self, name: str = SHOP, key: Any = SHOP_KEY, *, url: str = URL, **options: Any) -> "Awaited":
        transport, clock = httpx.MockTransport(self), self.api.clock
        given = {"sleep": self.sleep_async, "chance": lambda: 1.0, **options}
        return Awaited(AsyncMailbox(url, name, key, transport=transport, clock=clock, **given), asyncio.Runner())


class Awaited:
    """A synchronous wrapper of an asyncio object: each coroutine is awaited where it is called."""

    def __init__(self, it: Any, runner: asyncio.Runner) -> None:
        self._it = it
        self._runner = runner

    def __getattr__(self, name: str) -> Any:
        return self._settled(getattr(self._it, "aclose" if name == "close" else name))

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            return self._settled(self._it.__anext__())
        except StopAsyncIteration:
            raise StopIteration from None

    def __repr__(self) -> str:
        return repr(self._it)

    def end(self) -> None:
        self.close()
        self._runner.close()

    def _settled(self, value: Any) -> Any:
        if inspect.iscoroutine(value):

            async def awaited() -> Any:
                return await value

            return self._settled(self._runner.run(awaited()))
        if inspect.ismethod(value):
            return lambda *given, **named: self._settled(value(*map(self._bare, given), **named))
        return (
            Awaited(value, self._runner)
            if hasattr(value, "__anext__") or isinstance(value, AsyncMailboxMessage)
            else value
        )

    def _bare(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._bare(each) for each in value]
        return value._it if isinstance(value, Awaited) else value


def dm3_message(to: EncryptionKey, text: str, sender: str = "alice.eth", **more: Any) -> str:
    """The envelope of a message from alice.eth to Bob. `sender`: what the message says itself."""
    alice, metadata = PrivateSigningKey.generate(), MessageMetadata(BOB, sender, 1_795_253_400_000)
    sealed = write_envelope(
        sign_message(text, metadata, alice, **more),
        delivery=DeliveryInformation(BOB, "alice.eth"),
        receiver_key=to.public,
        service_key=EncryptionKey.generate().public,
        signing=alice,
    )
    return json.dumps(sealed.as_json())
