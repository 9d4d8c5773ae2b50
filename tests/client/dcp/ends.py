"""Both ends of a connection in memory, and a guardian that is reached by posting to it."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from tests.patience import PATIENCE
from tests.protocols.dcp.guarded import OWNER, US, Bank, at_once

from postroom.client.dcp import AcceptedConnection, AsyncConnection, HttpsTransport, IdentityMemory, accept, memory_pair
from postroom.client.dcp.requests import IncomingRequest
from postroom.client.mailbox.session import Retries
from postroom.core.errors import TheirError
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp.memory_store import MemoryStore
from postroom.protocols.dcp.receiving import ReceiveLimits

URL = "https://bank.example/dcp"
LIMITS = ReceiveLimits()
QUICK = Retries(attempts=4, first_seconds=0.001)


def echo(request: IncomingRequest) -> None:
    request.respond(request.data)


@asynccontextmanager
async def pair(
    initiator: dict[str, Any] | None = None,
    target: dict[str, Any] | None = None,
    keys: tuple[EthereumKey, EthereumKey] = (OWNER, US),
) -> AsyncIterator[tuple[AsyncConnection, AcceptedConnection]]:
    """An open connection in memory, from the first of the keys to the other."""
    one, other = memory_pair()
    known = {"transport": one, "identities": IdentityMemory(), "store": MemoryStore()}
    connection = AsyncConnection("memory", keys[0], **known | (initiator or {}))
    accepting = asyncio.create_task(
        accept(other, keys[1], **{"on_request": echo, "store": MemoryStore()} | (target or {}))
    )  # fmt: skip
    await connection.connect()
    accepted = await accepting
    yield connection, accepted
    await connection.close()
    await accepted.close()


def refusal(status: int, reason: str, detail: str) -> httpx.Response:
    problem = {"type": "about:blank", "title": "", "status": status, "reason": reason, "detail": detail}
    return httpx.Response(status, json=problem)


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run a test in a loop; what hangs fails."""

    async def limited() -> None:
        async with asyncio.timeout(PATIENCE):
            await work

    asyncio.run(limited())


@dataclass
class PostedBank:
    """A guardian behind HTTPS. `lose`: how many of its answers are lost; `answers`: other answers, which come first."""

    bank: Bank = field(default_factory=lambda: Bank(limits=LIMITS))
    lose: int = 0
    answers: list[httpx.Response] = field(default_factory=list)
    posted: list[bytes] = field(default_factory=list)
    before_answer: Callable[[int], None] = lambda number: None

    def transport(self, url: str = URL) -> HttpsTransport:
        return HttpsTransport(url, transport=httpx.MockTransport(self.handle))

    def handle(self, request: httpx.Request) -> httpx.Response:
        assert (request.method, str(request.url)) == ("POST", URL)
        self.posted.append(request.content)
        if self.answers:
            return self.answers.pop(0)
        self.before_answer(len(self.posted))
        perform = self.bank.perform_with or self.bank.record
        try:
            answer = self.bank.guardian.answer(request.content, time.time(), at_once(perform)).data
        except TheirError as error:
            return refusal(error.reason.status, str(error.reason), error.detail)
        if self.lose:
            self.lose -= 1
            raise httpx.ReadError("lost", request=request)
        return httpx.Response(200, content=answer)

    def restart_without_memory(self) -> None:
        """It knows no session any more."""
        self.bank = self.bank.restarted(store=MemoryStore())
