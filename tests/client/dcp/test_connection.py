"""Connections: requests in both directions, batches, events, closing, and what is told when something is lost."""

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import nullcontext
from typing import Any

import httpx
import pytest
from tests.client.dcp.ends import QUICK, URL, PostedBank, echo, pair, refusal, run
from tests.client.standing import run_by_its_pauses
from tests.core.test_shown_text import HOSTILE
from tests.protocols.dcp.guarded import JACK, OWNER, US, WES

from postroom.client.dcp import (
    AnsweredBeforeError,
    AsyncConnection,
    ConnectionClosedError,
    HttpsTransport,
    IdentityMemory,
    IncomingRequest,
    MemoryTransport,
    MessageRefusedError,
    NotConnectedError,
    OutcomeUnknownError,
    RequestFailedError,
    RequestNotSentError,
    SendOptions,
    TransportError,
    accept,
    memory_pair,
    register,
)
from postroom.client.dcp import connection as connection_module
from postroom.client.dcp.connection import ANSWER_SECONDS, memory_of
from postroom.client.dcp.runner import RequestHandler
from postroom.client.dcp.unsigned_answers import check_signed
from postroom.core.errors import SettingsError
from postroom.core.ijson import JsonValue
from postroom.core.reasons import NOT_JSON
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp.cheques import read_cheque, request_of, write_cheque
from postroom.protocols.dcp.error_payload import ErrorPayload
from postroom.protocols.dcp.guardian import AnsweredLater
from postroom.protocols.dcp.memory_store import MemoryStore
from postroom.protocols.dcp.payload import with_validity
from postroom.protocols.dcp.reasons import (
    DCP_ID_REUSED,
    DCP_OPERATION_UNKNOWN,
    DCP_SESSION_OVER,
    DCP_TARGET_STARTING,
)
from postroom.protocols.dcp.receiving import DEFAULT_TTL, Admitted, ReceiveLimits
from postroom.protocols.dcp.responses import answer_body, response_body
from postroom.protocols.dcp.signed_message import sign_body
from postroom.protocols.dcp.states import ConnectionState
from postroom.protocols.dcp.validity import TtlLimits


def bodies(sent: list[bytes]) -> list[dict[str, Any]]:
    return [json.loads(message)["body"] for message in sent]


@pytest.fixture
def posted() -> PostedBank:
    """A guardian; URLs with the protocol `bank` lead to it."""
    bank = PostedBank()
    register("bank", lambda url: bank.transport())
    return bank


def to_bank(**members: Any) -> AsyncConnection:
    return AsyncConnection("bank:", OWNER, **{"identities": IdentityMemory(), "retries": QUICK} | members)


# --- requests --------------------------------------------------------------------------------------------------------


def test_a_request_is_answered_with_its_result() -> None:
    async def scenario() -> None:
        async with pair() as (connection, accepted):
            assert await connection.send("echo", {"Say": "hi"}) == {"Say": "hi"}
            assert await connection.send("echo") is None
            assert (connection.peer, accepted.peer) == (US.address, OWNER.address)
            assert connection.dcpsid == accepted.dcpsid is not None

    run(scenario())


def test_it_is_connected_by_the_first_request(posted: PostedBank) -> None:
    async def scenario() -> None:
        async with to_bank() as connection:
            assert connection.state is ConnectionState.NEW
            await connection.send("add", 1)
            assert connection.state is ConnectionState.OPEN
        assert posted.bank.done == [("add", 1)]
        assert [each["payload"]["operation"] for each in bodies(posted.posted)] == ["connect", "add", "close"]

    run(scenario())


def test_requests_go_in_both_directions_at_once() -> None:
    async def scenario() -> None:
        async with pair({"on_request": echo}) as (connection, accepted):
            results = await asyncio.gather(
                *(each.send("echo", n) for n in range(20) for each in (connection, accepted))
            )
            assert results == [n for n in range(20) for _ in range(2)]

    run(scenario())


def test_requests_of_one_turn_of_the_loop_go_in_one_batch_and_one_goes_bare(posted: PostedBank) -> None:
    async def scenario() -> None:
        async with to_bank(options=SendOptions(max_messages=3)) as connection:
            await asyncio.gather(*(connection.send("add", n) for n in range(4)))
        connect, batch, single, close = bodies(posted.posted)
        assert (connect["type"], batch["type"], single["type"], close["type"]) == (
            "request", "request-batch", "request", "request",
        )  # fmt: skip
        assert len(batch["payload"]) == 3
        assert [data for _, data in posted.bank.done] == [0, 1, 2, 3]

    run(scenario())


def test_an_error_of_the_peer_is_raised_with_its_code_and_origin() -> None:
    async def scenario() -> None:
        def refuse(request: IncomingRequest) -> None:
            request.fail("not today", code="Closed")

        async with pair(target={"on_request": refuse}) as (connection, _):
            with pytest.raises(RequestFailedError, match="Closed: not today") as raised:
                await connection.send("open")
            assert (raised.value.code, raised.value.origin) == ("Closed", US.address)
            assert raised.value.error.is_protocol, "DCP: ErrorPayload, form 2"

    run(scenario())


async def _fail_later(request: IncomingRequest) -> None:
    _fail(request)


def _fail(request: IncomingRequest) -> None:
    raise ValueError(f"secret: {request.operation}")


@pytest.mark.parametrize("handler", [_fail, _fail_later], ids=["plain", "async"])
def test_a_handler_that_fails_is_an_error_of_the_peer_without_details(
    handler: RequestHandler, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with pair(target={"on_request": handler}) as (connection, _):
            with pytest.raises(RequestFailedError) as raised:
                await connection.send("open")
            assert "secret" not in str(raised.value)

    run(scenario())
    assert "secret" in caplog.text


def test_without_a_handler_every_request_is_refused() -> None:
    async def scenario() -> None:
        async with pair(target={"on_request": None}) as (connection, _):
            with pytest.raises(RequestFailedError, match=DCP_OPERATION_UNKNOWN.sentence) as raised:
                await connection.send("echo")
            assert raised.value.code == "EINVAL"

    run(scenario())


def test_a_request_is_responded_to_once() -> None:
    async def scenario() -> None:
        failed: list[Exception] = []

        def twice(request: IncomingRequest) -> None:
            request.respond(1)
            with pytest.raises(AnsweredBeforeError) as raised:
                request.respond(2)
            failed.append(raised.value)

        async with pair(target={"on_request": twice}) as (connection, _):
            assert await connection.send("echo") == 1
        assert failed

    run(scenario())


def test_a_request_whose_sender_stops_waiting_leaves_the_connection_usable() -> None:
    async def scenario() -> None:
        held: list[IncomingRequest] = []
        async with pair(target={"on_request": held.append}) as (connection, _):
            asking = asyncio.create_task(connection.send("slow"))
            while not held:
                await asyncio.sleep(0)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            held.pop().respond()
            waiting = asyncio.create_task(connection.send("next"))
            while not held:
                await asyncio.sleep(0)
            held.pop().respond("done")
            assert await waiting == "done"

    run(scenario())


def recorder(seen: list[IncomingRequest]) -> Callable[[IncomingRequest], None]:
    """A handler that responds with nothing, and keeps the requests."""

    def record(request: IncomingRequest) -> None:
        seen.append(request)
        request.respond()

    return record


# --- authorization ---------------------------------------------------------------------------------------------------


def test_send_with_keys_authorizes_each_resource_for_the_target_and_our_identity() -> None:
    async def scenario() -> None:
        seen: list[IncomingRequest] = []
        async with pair(target={"on_request": recorder(seen)}) as (connection, _):
            await connection.request("spend", 5).send(WES, JACK)
        (request,) = seen
        assert request.resources == {WES.address, JACK.address}
        assert request.does_authorize(WES.address)
        assert request.does_authorize(WES.address, US.address, OWNER.address)
        for form in (f"0x{WES.address}", WES.address.lower(), WES.address.upper()):
            assert request.does_authorize(form, f"0x{US.address}", OWNER.address.lower())
        with pytest.raises(ValueError, match="40 hex digits"):
            request.does_authorize("0xc0ffee")
        assert not request.does_authorize(WES.address, accessor=JACK.address)

    run(scenario())


def test_a_resource_can_authorize_another_guardian_and_another_accessor() -> None:
    async def scenario() -> None:
        seen: list[IncomingRequest] = []
        async with pair(target={"on_request": recorder(seen)}) as (connection, _):
            request = connection.request("spend", 5).authorize(WES, guardian=JACK.address, accessor=US.address)
            await request.send()
        assert seen[0].resources == frozenset()
        assert seen[0].does_authorize(WES.address, JACK.address, US.address)
        assert not seen[0].does_authorize(JACK.address, JACK.address, US.address)

    run(scenario())


def test_a_response_to_a_session_that_ended_is_dropped() -> None:
    async def scenario() -> None:
        seen: list[IncomingRequest] = []
        async with pair(target={"on_request": seen.append}) as (connection, accepted):
            asking = asyncio.ensure_future(connection.send("slow"))
            while not seen:
                await asyncio.sleep(0)
            await accepted.close()
            seen[0].respond("too late")
            with pytest.raises(OutcomeUnknownError):
                await asking

    run(scenario())


# --- events ----------------------------------------------------------------------------------------------------------


def test_open_comes_before_the_first_request_and_closed_after_close() -> None:
    async def scenario() -> None:
        events: list[object] = []
        one, other = memory_pair()

        def request(received: IncomingRequest) -> None:
            events.append("request")
            received.respond()

        connection = AsyncConnection("memory", OWNER, transport=one, identities=IdentityMemory())
        connection.on_ready_state_change(events.append)
        connection.on_close(lambda error: events.append(("close", error)))
        accepting = asyncio.create_task(accept(other, US, on_request=request, store=MemoryStore()))
        await connection.send("echo")
        await connection.close()
        accepted = await accepting
        await accepted.close()
        states = ["connecting", "open", "request", "closing", ("close", None), "closed"]
        assert [each if isinstance(each, tuple) else str(each) for each in events] == states

    run(scenario())


def test_each_sent_message_is_told_once_with_its_bytes(posted: PostedBank) -> None:
    async def scenario() -> None:
        sent: list[bytes] = []
        async with to_bank() as connection:
            connection.on_send(sent.append)
            await asyncio.gather(connection.send("add", 1), connection.send("add", 2))
        assert sent == posted.posted

    run(scenario())


def test_a_listener_that_fails_changes_nothing(posted: PostedBank, caplog: pytest.LogCaptureFixture) -> None:
    def broken(event: object) -> None:
        raise ValueError("listener")

    async def scenario() -> None:
        async with to_bank() as connection:
            connection.on_send(broken)
            connection.on_ready_state_change(broken)
            connection.on_close(broken)
            await connection.send("add", 1)

    run(scenario())
    assert posted.bank.done == [("add", 1)]
    assert "a listener of a connection failed" in caplog.text


# --- closing ---------------------------------------------------------------------------------------------------------


def test_what_was_sent_before_a_close_is_answered(posted: PostedBank) -> None:
    async def scenario() -> None:
        connection = to_bank()
        await connection.connect()
        first, second = asyncio.create_task(connection.send("add", 1)), asyncio.create_task(connection.send("add", 2))
        await asyncio.sleep(0)
        await connection.close()
        await asyncio.gather(first, second)
        assert posted.bank.done == [("add", 1), ("add", 2)]

    run(scenario())


def test_a_closed_connection_takes_no_more_requests(posted: PostedBank) -> None:
    async def scenario() -> None:
        connection = to_bank()
        await connection.send("add", 1)
        for _ in range(2):
            await connection.close()
        with pytest.raises(ConnectionClosedError):
            await connection.send("add", 2)
        with pytest.raises(ConnectionClosedError):
            await connection.connect()

    run(scenario())
    assert posted.bank.done == [("add", 1)]


def test_either_end_closes_for_both() -> None:
    async def scenario() -> None:
        async with pair() as (connection, accepted):
            await accepted.close()
            while connection.state is not ConnectionState.CLOSED:
                await asyncio.sleep(0)
            with pytest.raises(ConnectionClosedError):
                await accepted.send("echo")

    run(scenario())


def test_both_may_close_at_once() -> None:
    async def scenario() -> None:
        async with pair() as (connection, accepted):
            await asyncio.gather(connection.close(), accepted.close())
            assert connection.state is accepted.state is ConnectionState.CLOSED

    run(scenario())


def test_data_that_javascript_would_write_as_others_is_refused_and_the_session_goes_on() -> None:
    async def scenario() -> None:
        async with pair() as (connection, _):
            assert await connection.send("echo", 1) == 1
            dcpsid = connection.dcpsid
            with pytest.raises(ValueError, match="JavaScript would write"):
                await connection.send("echo", 10**400)
            assert await connection.send("echo", 2) == 2
            assert connection.dcpsid == dcpsid

    run(scenario())


def test_a_close_that_is_not_answered_in_time_is_forced_and_what_was_open_is_unknown() -> None:
    async def scenario() -> None:
        held: list[IncomingRequest] = []
        async with pair({"close_timeout": 0.01}, {"on_request": held.append}) as (connection, _):
            sent = asyncio.create_task(connection.send("slow"))
            while not held:
                await asyncio.sleep(0)
            queued = asyncio.create_task(connection.send("behind"))
            await asyncio.sleep(0)
            await connection.close()
            with pytest.raises(OutcomeUnknownError):
                await sent
            with pytest.raises(RequestNotSentError):
                await queued

    run(scenario())


# --- what is lost ----------------------------------------------------------------------------------------------------


def test_after_a_lost_answer_the_same_bytes_are_sent_once_more_and_a_doubt_is_told(posted: PostedBank) -> None:
    async def scenario() -> None:
        async with to_bank() as connection:
            await connection.connect()
            posted.lose = 1
            with pytest.raises(OutcomeUnknownError):
                await connection.send("add", 1)
            assert posted.posted[-2] == posted.posted[-1]
            assert posted.bank.done == [("add", 1)]

    run(scenario())


def test_a_message_that_did_not_arrive_is_sent_once_more_and_answered(posted: PostedBank) -> None:
    async def scenario() -> None:
        async with to_bank() as connection:
            await connection.connect()
            posted.answers = [refusal(503, "", "busy"), httpx.Response(429)]
            await connection.send("add", 1)
        assert posted.bank.done == [("add", 1)]

    run(scenario())


def test_the_next_request_opens_another_session_and_nothing_is_repeated(posted: PostedBank) -> None:
    async def scenario() -> None:
        async with to_bank() as connection:
            await connection.send("add", 1)
            before = connection.dcpsid
            posted.lose = QUICK.attempts
            with pytest.raises(OutcomeUnknownError):
                await connection.send("add", 2)
            posted.lose = 0
            await connection.send("add", 3)
            assert connection.dcpsid != before
        assert posted.bank.done == [("add", 1), ("add", 2), ("add", 3)]

    run(scenario())


def test_a_session_that_the_target_has_forgotten_is_told_and_another_is_opened(posted: PostedBank) -> None:
    async def scenario() -> None:
        async with to_bank() as connection:
            await connection.send("add", 1)
            posted.restart_without_memory()
            # Whoever had captured the message, and presented it before, would get the same refusal.
            with pytest.raises(OutcomeUnknownError, match=f"EINVAL: {DCP_SESSION_OVER.sentence}"):
                await connection.send("add", 2)
            await connection.send("add", 3)
        assert posted.bank.done == [("add", 1), ("add", 3)]

    run(scenario())


def test_a_message_that_is_refused_as_a_whole_is_told_with_its_reason(posted: PostedBank) -> None:
    async def scenario() -> None:
        async with to_bank() as connection:
            await connection.connect()
            problem = {
                "type": "about:blank",
                "title": "",
                "status": 413,
                "reason": "TooLarge",
                "detail": "at most 4 MB",
            }
            posted.answers = [httpx.Response(413, json=problem)]
            with pytest.raises(MessageRefusedError, match="TooLarge: at most 4 MB") as raised:
                await connection.send("add", 1)
            assert raised.value.reason == "TooLarge"
            await connection.send("add", 2)
        assert posted.bank.done == [("add", 2)]

    run(scenario())


@pytest.mark.parametrize("answer", [refusal(403, "Forbidden", "a proxy says no"), httpx.Response(404)])
def test_an_unsigned_refusal_of_a_message_that_was_sent_again_leaves_the_outcome_unknown(
    posted: PostedBank, answer: httpx.Response
) -> None:
    async def scenario() -> None:
        async with to_bank() as connection:
            await connection.connect()
            posted.lose = 1
            posted.before_answer = lambda number: posted.answers.append(answer)
            with pytest.raises(OutcomeUnknownError):
                await connection.send("add", 1)
            assert posted.posted[-2] == posted.posted[-1]
        assert posted.bank.done == [("add", 1)]

    run(scenario())


def test_an_unsigned_refusal_says_nothing_of_requests_that_were_sent_before(posted: PostedBank) -> None:
    def perform(admitted: Admitted) -> "JsonValue | AnsweredLater":
        posted.bank.done.append((admitted.operation, admitted.data))
        return AnsweredLater() if admitted.operation == "later" else None

    async def scenario() -> None:
        posted.bank.perform_with = perform
        async with to_bank() as connection:
            later = asyncio.ensure_future(connection.send("later", 1))
            await connection.send("add", 2)
            posted.answers = [refusal(413, "TooLarge", "")]
            with pytest.raises(MessageRefusedError, match="TooLarge"):
                await connection.send("add", 3)
            with pytest.raises(OutcomeUnknownError):
                await later
        assert set(posted.bank.done) == {("later", 1), ("add", 2)}

    run(scenario())


class Told:
    """A transport that may tell what is not signed, as that over a WebSocket does."""

    def __init__(self, transport: MemoryTransport) -> None:
        self.send, self.aclose, self._receive = transport.send, transport.aclose, transport.receive

    async def receive(self) -> bytes:
        message = await self._receive()
        check_signed(message)
        return message


@pytest.mark.parametrize("has_responded", [True, False])
def test_an_unsigned_refusal_by_a_transport_that_is_open_may_be_that_of_a_response(has_responded: bool) -> None:
    async def scenario() -> None:
        held: list[IncomingRequest] = []
        one, other = memory_pair()
        accepting = asyncio.create_task(accept(other, US, on_request=held.append, store=MemoryStore()))
        settings: dict[str, Any] = {"identities": IdentityMemory(), "on_request": echo, "store": MemoryStore()}
        async with AsyncConnection("memory", OWNER, transport=Told(one), **settings) as connection:
            await connection.connect()
            accepted = await accepting
            if has_responded:
                await accepted.send("echo")
            asking = asyncio.ensure_future(connection.send("slow"))
            while not held:
                await asyncio.sleep(0)
            await other.send(refusal(413, "TooLarge", "").content)
            with pytest.raises(OutcomeUnknownError if has_responded else MessageRefusedError, match="TooLarge"):
                await asking
        await accepted.close()

    run(scenario())


def test_a_target_that_cannot_be_reached_is_told(posted: PostedBank) -> None:
    async def scenario() -> None:
        posted.lose = QUICK.attempts
        async with to_bank() as connection:
            with pytest.raises(NotConnectedError, match=r"No connection to bank\.example") as raised:
                await connection.send("add", 1)
            assert raised.value.code is None
            await connection.send("add", 2)
        assert posted.bank.done == [("add", 2)]

    run(scenario())


def test_a_forged_answer_ends_the_session(posted: PostedBank) -> None:
    async def scenario() -> None:
        async with to_bank() as connection:
            await connection.connect()
            posted.answers = [httpx.Response(200, content=posted.posted[0])]
            with pytest.raises(OutcomeUnknownError):
                await connection.send("add", 1)
            await connection.send("add", 2)

    run(scenario())
    assert posted.bank.done == [("add", 2)]


# --- who the target is -----------------------------------------------------------------------------------------------


def test_a_target_with_another_address_is_refused_before_any_request(posted: PostedBank) -> None:
    async def scenario() -> None:
        identities = IdentityMemory()
        async with to_bank(identities=identities) as connection:
            await connection.send("add", 1)
        posted.bank = posted.bank.restarted(identities=(JACK,))
        async with to_bank(identities=identities) as connection:
            with pytest.raises(NotConnectedError, match=f"clear_identity_cache.*{US.address}") as raised:
                await connection.send("add", 2)
            assert raised.value.code == "EADDRCHANGE"
            assert posted.bank.done == [("add", 1)]
            connection.clear_identity_cache(US.address)
            await connection.send("add", 3)
            assert connection.peer == JACK.address

    run(scenario())


def test_an_expected_address_is_pinned(posted: PostedBank) -> None:
    async def scenario() -> None:
        async with to_bank(expect=JACK.address) as connection:
            with pytest.raises(NotConnectedError) as raised:
                await connection.connect()
            assert raised.value.code == "EADDRCHANGE"
            assert "clear_identity_cache" not in str(raised.value)
        async with to_bank(expect=US.address) as connection:
            assert await connection.connect() == US.address
            with pytest.raises(NotConnectedError, match="already"):
                await connection.connect()

    run(scenario())
    assert posted.bank.done == []


# --- targets ---------------------------------------------------------------------------------------------------------


def test_a_target_that_remembers_in_memory_receives_nothing_until_old_requests_have_expired() -> None:
    async def scenario() -> None:
        async with pair(target={"store": None}) as (connection, _):
            with pytest.raises(RequestFailedError, match=DCP_TARGET_STARTING.sentence):
                await connection.send("echo", 1)

    run(scenario())


@pytest.mark.parametrize(("slops", "is_received"), [(1, False), (2, True)])
def test_what_may_have_been_dated_ahead_before_the_start_is_waited_for_too(
    monkeypatch: pytest.MonkeyPatch, slops: int, is_received: bool
) -> None:
    limits = ReceiveLimits(slop=1_000_000)
    since = time.time() - limits.ttl.max - slops * limits.slop - 1
    monkeypatch.setattr(connection_module, "_process_memory", lambda _address: (MemoryStore(), since))

    async def scenario() -> None:
        async with pair(target={"store": None, "limits": limits}) as (connection, _):
            if is_received:
                assert await connection.send("echo", 1) == 1
                return
            with pytest.raises(RequestFailedError, match=DCP_TARGET_STARTING.sentence):
                await connection.send("echo", 1)

    run(scenario())


def test_an_initiator_that_remembers_in_memory_receives_nothing_until_old_requests_have_expired() -> None:
    async def scenario() -> None:
        async with pair({"on_request": echo, "store": None}) as (_, accepted):
            with pytest.raises(RequestFailedError, match=DCP_TARGET_STARTING.sentence):
                await accepted.send("echo", 1)

    run(scenario())


def test_a_cheque_counts_once_in_all_sessions_of_an_initiator_that_is_its_guardian() -> None:
    """Stamps belong to the entity, not to a connection ("on any connection from any source")."""
    done: list[object] = []

    def perform(request: IncomingRequest) -> None:
        done.append(request.data)
        request.respond()

    async def scenario() -> None:
        store, cheque = MemoryStore(), None
        for _ in range(3):
            async with pair({"on_request": perform, "store": store}, keys=(OWNER, US)) as (_, accepted):
                if cheque is None:
                    drawn = accepted.request("pay", 7).authorize(WES)
                    made = drawn.made_for(OWNER.address, US.address, hex_prefix=False)
                    payload = with_validity(made.payload, time=int(time.time()), ttl=60, stamp="once")
                    cheque = request_of(read_cheque(write_cheque(payload, WES)))
                    await accepted.present(cheque)
                    continue
                with pytest.raises(RequestFailedError, match="EDUP"):
                    await accepted.present(cheque)

    run(scenario())
    assert done == [7]


@pytest.mark.parametrize("store", [MemoryStore(), None], ids=["of the application", "of the process"])
@pytest.mark.parametrize(
    ("other", "agrees"),
    [
        (ReceiveLimits(), True),
        (ReceiveLimits(ttl=TtlLimits(15, 3600)), False),
        (ReceiveLimits(slop=60), False),
        (ReceiveLimits(ttl=TtlLimits(15, 60), widest_ttl=DEFAULT_TTL), True),
    ],
)
def test_connections_that_share_a_store_remember_stamps_equally_long(
    store: MemoryStore | None, other: ReceiveLimits, agrees: bool
) -> None:
    """A cheque that one end has forgotten must not count at another one, which grants it more time."""
    key = EthereumKey.generate()
    assert memory_of(key, store, None).store is memory_of(key, store, ReceiveLimits()).store
    with nullcontext() if agrees else pytest.raises(ValueError, match="must remember stamps equally long"):
        memory_of(key, store, other)


def test_a_transport_is_accepted_once() -> None:
    async def scenario() -> None:
        one, other = memory_pair()
        connection = AsyncConnection("memory", OWNER, transport=one, identities=IdentityMemory())
        accepting = asyncio.create_task(accept(other, US, on_request=echo, store=MemoryStore()))
        await asyncio.sleep(0)
        with pytest.raises(NotConnectedError, match="accepted before"):
            await accept(other, US, on_request=echo, store=MemoryStore())
        assert await connection.send("echo", 1) == 1
        with pytest.raises(NotConnectedError, match="accepted before"):
            await accept(other, US, on_request=echo, store=MemoryStore())
        await connection.close()
        await (await accepting).close()

    run(scenario())


def test_who_stops_waiting_for_a_peer_leaves_the_transport_closed() -> None:
    async def scenario() -> None:
        one, other = memory_pair()
        accepting = asyncio.create_task(accept(other, US, store=MemoryStore()))
        await asyncio.sleep(0)
        accepting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await accepting
        with pytest.raises(TransportError):
            await one.send(b"")

    run(scenario())


def test_what_ends_a_connection_is_logged_as_a_warning_message_receipt(caplog: pytest.LogCaptureFixture) -> None:
    """ "If the signature cannot be verified, details must be logged to console.warn"; and so on."""

    async def scenario() -> None:
        one, other = memory_pair()
        connection = AsyncConnection("memory", OWNER, transport=one, identities=IdentityMemory())
        accepting = asyncio.create_task(accept(other, US, on_request=echo, store=MemoryStore()))
        await connection.connect()
        await one.send(b"no message")
        accepted = await accepting
        while accepted.state is not ConnectionState.CLOSED:
            await asyncio.sleep(0)
        await connection.close()

    run(scenario())
    assert any(OWNER.address in each and NOT_JSON.sentence in each for each in warnings(caplog)), caplog.text


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]


def test_an_unsigned_refusal_that_ends_a_connection_is_logged_as_a_warning_message_receipt(
    posted: PostedBank, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with to_bank() as connection:
            await connection.connect()
            posted.answers = [refusal(413, "TooLarge", "at most 4 MB")]
            with pytest.raises(MessageRefusedError):
                await connection.send("add", 1)
        posted.answers = [refusal(403, "Forbidden", "a proxy says no")]
        async with to_bank() as connection:
            with pytest.raises(NotConnectedError):
                await connection.connect()

    run(scenario())
    known, unknown = warnings(caplog)
    assert US.address in known
    assert "TooLarge: at most 4 MB" in known
    assert "a target that is not connected" in unknown
    assert "Forbidden: a proxy says no" in unknown


def test_a_transport_that_is_lost_ends_a_connection_with_a_warning(
    posted: PostedBank, caplog: pytest.LogCaptureFixture
) -> None:
    """Where there was no connection yet, whoever wants one is told: there is no warning beside the error."""

    async def scenario() -> None:
        async with to_bank() as connection:
            await connection.connect()
            posted.lose = QUICK.attempts
            with pytest.raises(OutcomeUnknownError):
                await connection.send("add", 1)
        posted.lose = QUICK.attempts
        async with to_bank() as connection:
            with pytest.raises(NotConnectedError):
                await connection.connect()

    run(scenario())
    [warning] = warnings(caplog)
    assert US.address in warning
    assert "No connection to bank.example" in warning


def test_a_connection_that_is_closed_ends_without_a_warning(
    posted: PostedBank, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with to_bank() as connection:
            await connection.send("add", 1)
        async with pair() as (connection, accepted):
            await connection.send("echo", 1)
            await accepted.close()

    run(scenario())
    assert warnings(caplog) == []


# --- what a hostile peer writes --------------------------------------------------------------------------------------


async def refused_by(transport: MemoryTransport, said: ErrorPayload, signer: EthereumKey = JACK) -> None:
    """Answer a connect with a refusal, which anybody may sign."""
    connect = json.loads(await transport.receive())["body"]
    refused = response_body(connect["id"], said, now=time.time(), dcpsid=None)
    await transport.send(sign_body(answer_body([refused], dcpsid=None, nonce=None, batch_id=None), signer))


@pytest.mark.parametrize(
    "said",
    [
        ErrorPayload("Error", HOSTILE * 10_000, "EINVAL"), ErrorPayload("Error", HOSTILE, HOSTILE * 10_000),
        ErrorPayload(HOSTILE * 10_000, ""),
    ],
    ids=["message", "code", "name"],
)  # fmt: skip
def test_what_a_peer_refuses_a_connect_with_is_logged_in_one_short_line_that_controls_nothing(
    caplog: pytest.LogCaptureFixture, said: ErrorPayload
) -> None:
    async def scenario() -> None:
        one, other = memory_pair()
        refusing = asyncio.create_task(refused_by(other, said))
        async with AsyncConnection("memory", OWNER, transport=one, identities=IdentityMemory()) as connection:
            with pytest.raises(NotConnectedError) as raised:
                await connection.connect()
        await refusing
        assert str(raised.value).isprintable()

    run(scenario())
    [warning] = warnings(caplog)
    assert warning.isprintable()
    assert r"\x1b[2J" in warning
    assert len(warning) < 3500


def test_what_an_unsigned_refusal_says_is_logged_in_one_short_line_that_controls_nothing(
    posted: PostedBank, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        posted.answers = [refusal(403, HOSTILE, HOSTILE * 10_000)]
        async with to_bank() as connection:
            with pytest.raises(NotConnectedError) as raised:
                await connection.connect()
        assert str(raised.value).isprintable()

    run(scenario())
    [warning] = warnings(caplog)
    assert warning.isprintable()
    assert len(warning) < 3500


@pytest.mark.parametrize("kind", [ValueError, RequestFailedError])
def test_the_stack_of_a_handler_that_failed_shows_what_the_peer_wrote_without_what_controls_a_terminal(
    caplog: pytest.LogCaptureFixture, kind: type[Exception]
) -> None:
    def fail(request: IncomingRequest) -> None:
        text = str(request.data)
        raise RequestFailedError(ErrorPayload("Error", text)) if kind is RequestFailedError else ValueError(text)

    async def scenario() -> None:
        async with pair(target={"on_request": fail}) as (connection, _):
            with pytest.raises(RequestFailedError):
                await connection.send("open", HOSTILE * 10_000)

    run(scenario())
    lines = logging.Formatter().format(caplog.records[0]).split("\n")
    assert lines[0] == "the handler of requests failed"
    assert all(line.isprintable() and line.startswith("  ") for line in lines[1:])
    assert any(kind.__name__ in line and r"\x1b[2J" in line for line in lines)
    assert len("\n".join(lines)) < 250_000
    assert caplog.records[0].exc_info, "for those who log in another form"


def test_a_request_has_the_id_that_its_sender_gives_it(posted: PostedBank) -> None:
    async def scenario() -> None:
        for number in range(2):
            async with to_bank() as connection:
                request = connection.request("add", number)
                request.id = "mine"
                if number == 0:
                    await request.send()
                    with pytest.raises(ValueError, match="same id"):
                        await request.send()
                    continue
                with pytest.raises(RequestFailedError, match=DCP_ID_REUSED.sentence):
                    await request.send()

    run(scenario())
    assert posted.bank.done == [("add", 0)]
    assert bodies(posted.posted)[1]["id"] == "mine"


def test_two_requests_with_one_id_are_never_under_way() -> None:
    async def scenario() -> None:
        held: list[IncomingRequest] = []
        async with pair(target={"on_request": held.append}) as (connection, _):
            request = connection.request("slow")
            request.id = "mine"
            asking = asyncio.ensure_future(request.send())
            while not held:
                await asyncio.sleep(0)
            with pytest.raises(ValueError, match="id"):
                await request.send()
            held[0].respond(7)
            assert await asking == 7

    run(scenario())


# --- how long a peer may take ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ends", [0, 1], ids=["the target", "the initiator"])
def test_a_peer_that_never_answers_ends_the_session_and_the_outcome_is_unknown(ends: int) -> None:
    async def scenario() -> None:
        held: list[IncomingRequest] = []
        async with pair({"on_request": held.append}, {"on_request": held.append}) as both:
            begun = asyncio.get_running_loop().time()
            with pytest.raises(OutcomeUnknownError, match="within 300 s"):
                await both[ends].send("slow")
            assert asyncio.get_running_loop().time() - begun == ANSWER_SECONDS
            assert both[ends].state is ConnectionState.CLOSED

    run_by_its_pauses(scenario())


@pytest.mark.parametrize(("settings", "seconds"), [({}, ANSWER_SECONDS), ({"answer_timeout": 7.0}, 7)])
def test_a_peer_that_never_connects_ends_the_wait_for_it_and_its_transport(
    settings: dict[str, Any], seconds: float
) -> None:
    async def scenario() -> None:
        one, other = memory_pair()
        begun = asyncio.get_running_loop().time()
        with pytest.raises(NotConnectedError, match=f"did not connect within {seconds:g} s"):
            await accept(other, US, store=MemoryStore(), **settings)
        assert asyncio.get_running_loop().time() - begun == seconds
        with pytest.raises(TransportError):
            await one.send(b"")

    run_by_its_pauses(scenario())


class Dripping(httpx.AsyncBaseTransport, httpx.AsyncByteStream):
    """A host that answers each request by a byte at a time, without end. `before`: how it answers the first ones."""

    def __init__(self, before: list[Callable[[httpx.Request], httpx.Response]]) -> None:
        self.before, self.is_dripping = before, False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        return self.before.pop(0)(request) if self.before else httpx.Response(200, stream=self)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self.is_dripping = True
        try:
            while True:
                yield b" "
                await asyncio.sleep(1)
        finally:
            self.is_dripping = False


@pytest.mark.parametrize(("timeout", "ends"), [(30, "did not answer in time"), (1000, "within 300 s")])
@pytest.mark.parametrize("answered", [0, 1], ids=["the connect", "a request"])
def test_a_target_that_drips_its_answer_holds_neither_the_request_nor_the_transport(
    posted: PostedBank, answered: int, timeout: float, ends: str
) -> None:
    async def scenario() -> None:
        host = Dripping([posted.handle] * answered)
        transport = HttpsTransport(URL, transport=host, timeout=timeout)
        connection = AsyncConnection("bank:", OWNER, identities=IdentityMemory(), transport=transport)
        with pytest.raises(OutcomeUnknownError if answered else NotConnectedError, match=ends):
            await connection.send("add", 1)
        while host.is_dripping:
            await asyncio.sleep(0)
        await connection.close()

    run_by_its_pauses(scenario())


def test_a_target_that_nobody_connects_to_is_told() -> None:
    async def scenario() -> None:
        one, other = memory_pair()
        accepting = asyncio.create_task(accept(other, US, store=MemoryStore()))
        await asyncio.sleep(0)
        await one.aclose()
        with pytest.raises(NotConnectedError, match="the transport is closed"):
            await accepting
        with pytest.raises(TransportError):
            await one.send(b"")

    run(scenario())


# --- transports ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url", ["http://bank.example/dcp", "https://", "https://bank.example/dcp?x=1", "https://u@bank.example/", "https://["]
)  # fmt: skip
def test_a_url_that_cannot_be_used_is_told_with_an_example(url: str) -> None:
    with pytest.raises(SettingsError, match="such as https://"):
        HttpsTransport(url)


def test_a_protocol_that_nobody_registered_is_told() -> None:
    async def scenario() -> None:
        async with AsyncConnection("carrier://pigeon", OWNER, identities=IdentityMemory()) as connection:
            with pytest.raises(SettingsError, match="register one for the protocol 'carrier'"):
                await connection.connect()

    run(scenario())


def test_a_closed_transport_sends_nothing(posted: PostedBank) -> None:
    async def scenario() -> None:
        transport = posted.transport(URL)
        await transport.aclose()
        with pytest.raises(TransportError):
            await transport.send(b"{}")

    run(scenario())
    assert posted.posted == []
