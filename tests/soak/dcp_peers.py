"""Owners over DCP, and holders of cheques: the real client, whose requests go to processes that may be killed.

An owner does not send a request again whose outcome is unknown, because it would be another request. A cheque is
presented until there is an answer, because it counts once.
"""

import asyncio
import json
import secrets
import threading
import time
from base64 import b64encode
from collections.abc import Awaitable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from itertools import count, cycle
from random import Random
from typing import Final

import httpx
from tests.soak.crew import Hand
from tests.soak.dcp_ledger import DcpLedger, Outcome
from tests.soak.messages import event_of
from tests.soak.mix import DcpKind
from tests.soak.stack import RECEIVER, SoakStack

from postroom.api.dcp import REVOKE
from postroom.client.dcp import (
    AsyncConnection,
    EthereumKey,
    IdentityMemory,
    MessageRefusedError,
    NotConnectedError,
    OutcomeUnknownError,
    RequestFailedError,
    RequestNotSentError,
)
from postroom.client.mailbox.session import Retries
from postroom.core.ijson import JsonValue
from postroom.core.reason import Kind
from postroom.local import gateway
from postroom.protocols.dcp.cheques import read_cheque, request_of, write_cheque
from postroom.protocols.dcp.error_payload import ErrorCode
from postroom.protocols.dcp.messages import Allowance
from postroom.protocols.dcp.payload import NewRequest, new_payload, with_validity
from postroom.protocols.nlweb.schema import NLWEB
from postroom.reasons import reason_of

AT_ONCE: Final = 4
OWNERS: Final = 2
IN_A_BATCH: Final = 3
LOST: Final = 0.05
"""The share of answers that are lost; then the same message is sent again, and its nonce was used."""
AGAIN_SECONDS: Final = 0.5
TTL_SECONDS: Final = 600
_URL: Final = f"https://{NLWEB.host(RECEIVER)}/dcp"
_ROUTE: Final = gateway.GatewayRoute("ANY /dcp", "dcp")
_RETRIES: Final = Retries(attempts=8, first_seconds=0.2)
_SIGN_OUT: Final = "sign_out"


class MailboxApi(httpx.AsyncBaseTransport):
    """The processes of the mailbox API, as a host for httpx: a request goes to one that is idle.

    `unanswered`: requests that were lost with their process; `lost`: those whose answer was lost.
    """

    def __init__(self, hands: Sequence[Hand], rng: Random) -> None:
        self.requests = self.unanswered = self.lost = 0
        self._rng = rng
        self._idle: asyncio.Queue[Hand] = asyncio.Queue()
        for hand in hands:
            self._idle.put_nowait(hand)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The answer of a process. Raises httpx.ReadError if the process was killed, or the answer is lost."""
        event = event_of(_ROUTE, _URL, await request.aread(), "203.0.113.251")
        hand = await self._idle.get()
        self.requests += 1
        try:
            line = await asyncio.to_thread(_ask, hand, event)
        except EOFError:
            self.unanswered += 1
            raise httpx.ReadError("the process ended", request=request) from None
        finally:
            self._idle.put_nowait(hand)
        if self._rng.random() < LOST:
            self.lost += 1
            raise httpx.ReadError("the answer was lost", request=request)
        answer = json.loads(line)
        return httpx.Response(answer["statusCode"], headers=answer["headers"], content=answer["body"].encode())


def _ask(hand: Hand, event: bytes) -> bytes:
    try:
        return hand.ask(event)
    except EOFError:
        hand.reopen()
        raise


class DcpPeers:
    """Does what is planned, some of it at the same time, in a thread of its own."""

    def __init__(self, stack: SoakStack, hands: Sequence[Hand], ledger: DcpLedger, rng: Random) -> None:
        self._begun: list[Future[None]] = []
        self._mailboxes, self._ledger = stack.demo.mailboxes, ledger
        self._guardian = stack.demo.storage.dcp_identities.newest_first()[0].key.address
        self._owner, self._holder, other = (EthereumKey.generate() for _ in range(3))
        self._numbers = count(1)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="owners over DCP", daemon=True)
        self._at_once = asyncio.Semaphore(AT_ONCE)
        self.api = MailboxApi(hands, Random(rng.getrandbits(64)))
        keys = (*(self._owner,) * OWNERS, self._holder, self._holder, other)
        *owners, self._first, self._second, self._another = self._connections = [self._connection(key) for key in keys]
        self._owners = cycle(owners)
        self._thread.start()

    def begin(self, kind: DcpKind) -> None:
        """Begin something, with mailboxes of its own."""
        self._begun.append(asyncio.run_coroutine_threadsafe(self._run(kind), self._loop))

    @property
    def open(self) -> int:
        """How much is not finished."""
        return sum(not each.done() for each in self._begun)

    def close(self) -> int:
        """End the thread; how much was not finished. Raises what went wrong here."""
        unfinished = self.open
        for each in self._begun:
            if not each.cancel():
                each.result()
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        return unfinished

    def effects(self) -> dict[str, int]:
        """How often each mailbox was signed out."""
        return {mailbox: self._mailboxes.sign_outs(mailbox) for mailbox in self._ledger.mailboxes}

    def _connection(self, key: EthereumKey) -> AsyncConnection:
        return AsyncConnection(
            _URL, key, expect=self._guardian, identities=IdentityMemory(), http_transport=self.api, retries=_RETRIES
        )

    async def _close(self) -> None:
        await asyncio.gather(*(connection.close() for connection in self._connections))

    async def _run(self, kind: DcpKind) -> None:
        async with self._at_once:
            await self._do(kind)

    async def _do(self, kind: DcpKind) -> None:
        mailbox = await self._new_mailbox(kind)
        match kind:
            case DcpKind.REQUEST:
                await self._request(mailbox)
            case DcpKind.BATCH:
                more = [await self._new_mailbox(kind) for _ in range(IN_A_BATCH - 1)]
                await asyncio.gather(*map(self._request, (mailbox, *more)))
            case DcpKind.CHEQUE:
                await self._present(self._first, self._cheque(mailbox), mailbox)
            case DcpKind.CONTESTED:
                cheque = self._cheque(mailbox)
                await asyncio.gather(*(self._present(each, cheque, mailbox) for each in (self._first, self._second)))
            case DcpKind.CARRIED:
                cheque = self._cheque(mailbox)
                outcome, code = await _outcome(self._another.present(cheque))
                self._ledger.answered_another(mailbox, outcome, code)
                await self._present(self._first, cheque, mailbox)
            case DcpKind.REVOKED:
                cheque = self._cheque(mailbox)
                await self._revoke(cheque)
                await self._present(self._first, cheque, mailbox)
            case DcpKind.CHANGED:
                cheque = self._cheque(f"not-{mailbox}")
                data: JsonValue = {"mailbox": mailbox}
                await self._present(self._first, replace(cheque, payload={**cheque.payload, "data": data}), mailbox)

    async def _new_mailbox(self, kind: DcpKind) -> str:
        name = f"owner{next(self._numbers)}.{RECEIVER}"
        key = b64encode(self._owner.spki()).decode()
        await asyncio.to_thread(self._mailboxes.set_keys, name, [key])
        self._ledger.begin(kind, name)
        return name

    def _cheque(self, mailbox: str) -> NewRequest:
        """A cheque of the owner for the holder."""
        allowance = Allowance(self._owner.address, self._guardian, self._holder.address)
        payload = with_validity(
            new_payload(_SIGN_OUT, {"mailbox": mailbox}, allow=[allowance]),
            time=int(time.time()), ttl=TTL_SECONDS, stamp=secrets.token_urlsafe(16),
        )  # fmt: skip
        return request_of(read_cheque(write_cheque(payload, self._owner)))

    async def _request(self, mailbox: str) -> None:
        owner = next(self._owners)
        outcome, code = await _outcome(owner.request(_SIGN_OUT, {"mailbox": mailbox}).send(self._owner))
        self._ledger.answered(mailbox, outcome, code)

    async def _present(self, connection: AsyncConnection, cheque: NewRequest, mailbox: str) -> None:
        while True:
            outcome, code = await _outcome(connection.present(cheque))
            self._ledger.answered(mailbox, outcome, code)
            if outcome is not Outcome.UNKNOWN:
                return
            await asyncio.sleep(AGAIN_SECONDS)

    async def _revoke(self, cheque: NewRequest) -> None:
        """Revoke a cheque, until it is known that it is revoked: it was not presented yet."""
        while True:
            owner = next(self._owners)
            outcome, code = await _outcome(owner.request(REVOKE, _revocation(cheque)).send(self._owner))
            if outcome is Outcome.DONE or code == ErrorCode.EDUP:
                return
            await asyncio.sleep(AGAIN_SECONDS)


def _revocation(cheque: NewRequest) -> JsonValue:
    data = cheque.payload["data"]
    assert isinstance(data, dict)
    return {"mailbox": data["mailbox"], "body": cheque.payload["validity"]}


async def _outcome(answer: Awaitable[JsonValue]) -> tuple[Outcome, str]:
    """What is known of a request, and the code of a refusal."""
    try:
        await answer
    except RequestFailedError as error:
        return (Outcome.UNKNOWN if _may_pass(error.code or "") else Outcome.REFUSED), error.code or ""
    except MessageRefusedError as error:
        return Outcome.REFUSED, error.reason
    except (OutcomeUnknownError, RequestNotSentError, NotConnectedError) as error:
        return Outcome.UNKNOWN, type(error).__name__
    return Outcome.DONE, ""


def _may_pass(code: str) -> bool:
    """Whether a code is that of a failure on our side, after which something may have been done."""
    try:
        return reason_of(code).kind is Kind.RETRY
    except ValueError:
        return False
