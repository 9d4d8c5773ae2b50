"""One end of a connection in an event loop: a machine, the transport of its messages, and those who wait for it."""

import asyncio
import itertools
import logging
import random
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

from postroom.client.dcp.errors import (
    DcpError,
    MessageRefusedError,
    NotConnectedError,
    OutcomeUnknownError,
    RequestFailedError,
    RequestNotSentError,
    TransportError,
)
from postroom.client.dcp.requests import IncomingRequest, IncomingV3
from postroom.client.dcp.transport import Transport
from postroom.client.mailbox.session import Retries
from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue
from postroom.core.shown_stack import show_stack
from postroom.core.shown_text import shown
from postroom.crypto.ethereum import Address
from postroom.protocols.dcp import operations
from postroom.protocols.dcp.connection_events import (
    ConnectionEvent,
    RequestAnswered,
    RequestFailed,
    RequestReceived,
    RequestUnanswered,
    SessionEnded,
    SessionOpened,
)
from postroom.protocols.dcp.endpoint import Clock, Endpoint, SessionEndedError
from postroom.protocols.dcp.error_payload import ErrorPayload, Result, error_of
from postroom.protocols.dcp.payload import NewRequest
from postroom.protocols.dcp.reasons import DCP_OPERATION_UNKNOWN
from postroom.protocols.dcp.receiving import Admitted
from postroom.protocols.dcp.states import ConnectionState

RequestHandler = Callable[[IncomingRequest], Awaitable[None] | None]
V3Handler = Callable[[IncomingV3], Awaitable[None] | None]
H = TypeVar("H", IncomingRequest, IncomingV3)
T = TypeVar("T")
Kept = TypeVar("Kept", bound="asyncio.Future[None]")
_log = logging.getLogger(__name__)
_log.addFilter(show_stack)
MAX_LOGGED_CHARACTERS: Final = 300
"""Of what ended a connection."""


@dataclass
class Listeners:
    """Who is told what happens (DCP: Events). `request` None: every request is refused; `v3` None: those with the
    operation v3 are refused.

    `states`: of the new state; `sent`: of each signed message that is sent; `closed`: when the session is over, with
    the error that ended it, if any.
    """

    request: RequestHandler | None = None
    v3: V3Handler | None = None
    states: list[Callable[[ConnectionState], object]] = field(default_factory=list)
    sent: list[Callable[[bytes], object]] = field(default_factory=list)
    closed: list[Callable[[ErrorPayload | None], object]] = field(default_factory=list)


def now() -> Clock:
    """The time of this machine."""
    return Clock(time.time(), time.monotonic())


class EndpointRunner:
    """Runs one end of one session. To be made in a running event loop.

    `opened`: the peer's address, when there is a session, or NotConnectedError; `ended`: when it is over.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        transport: Transport,
        listeners: Listeners,
        retries: Retries,
        answer_timeout: float | None,
    ) -> None:
        """`answer_timeout`: seconds for the peer to connect, or to answer the connect or a request; None: no bound."""
        loop = asyncio.get_running_loop()
        self.endpoint = endpoint
        self._answer_timeout = answer_timeout
        endpoint.routes_v3 = listeners.v3 is not None
        self.opened: asyncio.Future[Address] = loop.create_future()
        self.ended: asyncio.Future[ErrorPayload | None] = loop.create_future()
        self._transport, self._listeners, self._retries = transport, listeners, retries
        self._answers: dict[str, asyncio.Future[JsonValue]] = {}
        self._has_more = asyncio.Event()
        self._lost: Exception | None = None
        self._refused: dict[str, MessageRefusedError] = {}
        """Why the message of a request was refused, by the request's id: it was not performed."""
        self._last_requests: bytes | None = None
        self._was_repeated = self._has_responded = False
        self._tasks: set[asyncio.Future[None]] = set()

    def start(self, first: bytes | None = None) -> None:
        """Send the first message, if there is one, and then all that is queued; receive what arrives."""
        if first is not None:
            self._report(self.endpoint.state)
        self._limit(self.opened)
        self._writer = self._spawn(self._carried(self._write(first)))
        self._spawn(self._carried(self._read()))

    def request(self, request: NewRequest) -> "asyncio.Future[JsonValue]":
        """Queue a request; all of one turn of the loop are sent together. The future has its result, or DcpError."""
        answer: asyncio.Future[JsonValue] = asyncio.get_running_loop().create_future()
        try:
            self._answers[self.endpoint.send(request)] = answer
        except SessionEndedError as error:
            answer.set_exception(RequestNotSentError(str(error)))
        else:
            self._limit(answer)
        self._has_more.set()
        return answer

    def _limit(self, answer: "asyncio.Future[T]") -> None:
        """End the session if an answer takes too long: a peer may go on sending, byte by byte, and never end."""
        if self._answer_timeout is None:
            return
        timer = asyncio.get_running_loop().call_later(self._answer_timeout, self._too_late)
        answer.add_done_callback(lambda _: timer.cancel())

    def _too_late(self) -> None:
        if self.endpoint.state is not ConnectionState.CLOSED:
            missing = "connect" if self.endpoint.state is ConnectionState.NEW else "answer"
            self._break(TransportError(f"the peer did not {missing} within {self._answer_timeout:g} s"))
        # What it still sends must not hold the transport.
        self._spawn(self._finish())

    async def close(self, timeout: float) -> None:
        """Close the session behind all that is queued; after so many seconds without an answer, at once."""
        state = self.endpoint.state
        try:
            self.endpoint.close()
        except SessionEndedError:
            if state is not ConnectionState.CLOSING:
                self._happened(self.endpoint.fail())
        else:
            self._report(self.endpoint.state)
            self._has_more.set()
        try:
            async with asyncio.timeout(timeout):
                await asyncio.shield(self.ended)
                await asyncio.wait({self._writer})  # the peer's own close may have to be answered
        except TimeoutError:
            self._happened(self.endpoint.fail())
        await self._finish()

    async def _write(self, first: bytes | None) -> None:
        if first is not None:
            await self._send_requests(first)
        while True:
            await self._has_more.wait()
            self._has_more.clear()
            for message in self.endpoint.response_messages(now()):
                self._has_responded = True
                await self._send(message)
            requests = self.endpoint.requests_message(now())
            if requests is not None:
                await self._send_requests(requests)
            if self.endpoint.state is ConnectionState.CLOSED:
                await self._transport.aclose()
                return

    async def _send_requests(self, message: bytes) -> None:
        self._last_requests, self._was_repeated = message, False
        try:
            await self._send(message)
        except MessageRefusedError as error:
            self._last_was_refused(error)
            raise

    def _last_was_refused(self, error: MessageRefusedError) -> None:
        """What is not signed speaks of one copy of one message: an earlier copy may have been performed."""
        if not self._was_repeated and self.endpoint.awaits_answer:
            self._refused = dict.fromkeys(self.endpoint.last_requests, error)

    async def _send(self, message: bytes) -> None:
        for listener in self._listeners.sent:
            _call(listener, message)
        for failed in itertools.count(1):
            try:
                await self._transport.send(message)
            except TransportError as error:
                if not error.repeats or failed >= self._retries.attempts:
                    raise
                self._was_repeated = True
                await asyncio.sleep(self._retries.pause(failed, error.retry_after, random.random()))  # noqa: S311
            else:
                return

    async def _read(self) -> None:
        losses = 0
        while self.endpoint.state is not ConnectionState.CLOSED:
            try:
                message = await self._transport.receive()
            except TransportError as error:
                losses += 1
                if not error.repeats or losses >= self._retries.attempts or not self.endpoint.awaits_answer:
                    raise
                await self._repeat(losses, error)
            except MessageRefusedError as error:
                # It may have been one of our responses, and does not say.
                if not self._has_responded:
                    self._last_was_refused(error)
                raise
            else:
                losses = 0
                self._happened(self.endpoint.receive(message, now()))

    async def _repeat(self, losses: int, error: TransportError) -> None:
        """Send the last message with requests again: the transport was lost before its answer arrived."""
        self._was_repeated = True
        await asyncio.sleep(self._retries.pause(losses, error.retry_after, random.random()))  # noqa: S311
        if self._last_requests is not None:
            await self._send(self._last_requests)

    async def _carried(self, work: Awaitable[None]) -> None:
        """Do some work of the transport; if that is lost, the session is over."""
        try:
            await work
        except (TransportError, MessageRefusedError) as error:
            self._break(error)
        except Exception as error:
            _log.exception("the transport of a connection failed")
            self._break(error)

    def _break(self, error: Exception) -> None:
        self._lost = self._lost or error
        self._happened(self.endpoint.fail(ErrorPayload(type(error).__name__, str(error))))

    def _happened(self, events: Iterable[ConnectionEvent]) -> None:
        for event in events:
            match event:
                case SessionOpened(peer=peer):
                    self.opened.set_result(peer)
                    self._report(ConnectionState.OPEN)
                case RequestReceived(admitted=admitted):
                    self._received(IncomingRequest(admitted, self._respond, self.endpoint.address))
                case RequestAnswered(id=name, result=result):
                    self._settle(name, result)
                case RequestFailed(id=name, error=error):
                    self._settle(name, RequestFailedError(error))
                case RequestUnanswered(id=name, refusal=ErrorPayload() as refusal):
                    self._settle(name, OutcomeUnknownError(_refused_after_all(refusal)))
                case RequestUnanswered(id=name, was_sent=was_sent):
                    self._settle(name, self._refused.get(name) or self._unanswered(was_sent=was_sent))
                case SessionEnded(error=ended):
                    self._end(ended)
        self._has_more.set()

    def _settle(self, name: str, outcome: "JsonValue | DcpError") -> None:
        answer = self._answers.pop(name, None)
        if answer is None or answer.done():  # a close, or a request whose sender does not wait any more
            return
        if isinstance(outcome, DcpError):
            answer.set_exception(outcome)
        else:
            answer.set_result(outcome)

    def _unanswered(self, *, was_sent: bool) -> DcpError:
        if not was_sent:
            return RequestNotSentError("the session ended before the request was sent")
        why = f": {self._lost}" if self._lost else ""
        return OutcomeUnknownError(f"the session ended without an answer{why}")

    def _end(self, error: ErrorPayload | None) -> None:
        was_open = self._is_open()
        if not self.opened.done():
            detail = str(self._lost) if self._lost else error.message if error else "the connection was closed"
            not_connected = NotConnectedError(detail, code=error.code if error else None)
            not_connected.__cause__ = self._lost
            self.opened.set_exception(not_connected)
            self.opened.exception()  # nobody may wait for it
        if error is not None and (was_open or not isinstance(self._lost, TransportError)):
            # DCP: Message Receipt Implementation Details: "details must be logged to console.warn". Where nobody was
            # reached, no connection ended, and whoever wanted one is told. What is logged may be a stranger's text.
            _log.warning(
                "a connection with %s ended: %s", self._peer_name(), shown(_said_by(error), MAX_LOGGED_CHARACTERS)
            )
        for listener in self._listeners.closed:
            _call(listener, error)
        self._report(ConnectionState.CLOSED)
        self.ended.set_result(error)

    def _is_open(self) -> bool:
        """Whether there is a session, or was one until now."""
        return self.opened.done() and not self.opened.cancelled() and not self.opened.exception()

    def _peer_name(self) -> str:
        return self.opened.result() if self._is_open() else "a target that is not connected"

    def _report(self, state: ConnectionState) -> None:
        for listener in self._listeners.states:
            _call(listener, state)

    # --- received requests -------------------------------------------------------------------------------------------

    def _respond(self, admitted: Admitted, result: Result) -> None:
        self.endpoint.respond(admitted, result)
        self._has_more.set()

    def _received(self, request: IncomingRequest) -> None:
        on_request, on_v3 = self._listeners.request, self._listeners.v3
        if on_v3 and request.operation == operations.V3:
            self._received_v3(request, on_v3)
        elif on_request:
            self._handle(on_request, request)
        else:
            request.refuse(error_of(TheirError(DCP_OPERATION_UNKNOWN), self.endpoint.address))

    def _received_v3(self, request: IncomingRequest, on_v3: V3Handler) -> None:
        try:
            v3 = IncomingV3.read(request)
        except TheirError as error:
            request.refuse(error_of(error, self.endpoint.address))
            return
        self._handle(on_v3, v3)

    def _handle(self, handler: Callable[[H], Awaitable[None] | None], request: H) -> None:
        try:
            outcome = handler(request)
        except Exception as error:
            self._handler_failed(request, error)
            return
        if outcome is not None:
            self._keep(asyncio.ensure_future(outcome)).add_done_callback(partial(self._handled, request))

    def _handled(self, request: IncomingRequest | IncomingV3, outcome: "asyncio.Future[None]") -> None:
        error = None if outcome.cancelled() else outcome.exception()
        if error is not None:
            self._handler_failed(request, error)

    @staticmethod
    def _handler_failed(request: IncomingRequest | IncomingV3, error: BaseException) -> None:
        _log.error("the handler of requests failed", exc_info=error)
        if not request.is_answered:
            request.fail("the request could not be performed")

    def _spawn(self, work: Coroutine[None, None, None]) -> "asyncio.Task[None]":
        return self._keep(asyncio.create_task(work))

    def _keep(self, task: Kept) -> Kept:
        """Keep a reference until it is done; the event loop has none."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _finish(self) -> None:
        """End what still runs, and close the transport."""
        tasks = [each for each in self._tasks if each is not asyncio.current_task()]  # a handler of requests may close
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._transport.aclose()


def _said_by(error: ErrorPayload) -> str:
    said = error.message or error.name
    return f"{error.code}: {said}" if error.code else said


def _refused_after_all(refusal: ErrorPayload) -> str:
    return f"the peer refused the message, or a copy of it after the first one was received ({_said_by(refusal)})"


def _call(listener: Callable[[T], object], what: T) -> None:
    try:
        listener(what)
    except Exception:
        _log.exception("a listener of a connection failed")
