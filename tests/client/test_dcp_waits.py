"""Waiting for messages over a WebSocket: nothing is missed or asked for twice; with both ends in memory."""

import asyncio
import json
from contextlib import AbstractAsyncContextManager, closing
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.client.dcp.ends import QUICK, pair
from tests.client.standing import Socket, StandingLoop, list_nowhere
from tests.client.standing import run_by_its_pauses as run
from tests.protocols.dcp.guarded import OWNER

from postroom.api.dcp import PING, PONG
from postroom.client.dcp import AcceptedConnection, AsyncConnection, OutcomeUnknownError, RequestFailedError, TextPing
from postroom.client.dcp.requests import IncomingRequest
from postroom.client.mailbox import dcp_waits
from postroom.client.mailbox.dcp_waits import GuardianSocket, MailWaits, socket_of
from postroom.client.mailbox.exchange import Answer, MailboxResponse, NoAnswer
from postroom.client.mailbox.over_dcp import OperationCall
from postroom.core.ijson import JsonValue

CALL = OperationCall("messages", {"mailbox": "shop.com", "query": {"after": "cursor"}})
EMPTY: JsonValue = {"body": {"messages": [], "unreadable": []}}
ONE: JsonValue = {"body": {"messages": [{"id": "1"}], "unreadable": []}}
A_NEXT_PAGE: JsonValue = {"body": {"messages": [], "more": True, "cursor": "further on"}}
LONG = 540.0
"""Longer than any pause in these tests."""


def time() -> float:
    return asyncio.get_running_loop().time()


@dataclass
class Guardian:
    """A guardian of a mailbox. `mail`: what it lists; `asked`: operations, in order; `refuses`: codes, by operation;
    `closes`: what it closes instead of listing.
    """

    mail: JsonValue = field(default_factory=lambda: EMPTY)
    asked: list[str] = field(default_factory=list)
    refuses: dict[str, str] = field(default_factory=dict)
    watches: list[IncomingRequest] = field(default_factory=list)
    has_watch: asyncio.Event = field(default_factory=asyncio.Event)
    closes: AcceptedConnection | None = None

    def __call__(self, request: IncomingRequest) -> None:
        self.asked.append(request.operation)
        if code := self.refuses.get(request.operation):
            request.fail("refused", code=code)
        elif request.operation == "watch":
            assert request.data == {"mailbox": "shop.com"}
            self.watches.append(request)
            self.has_watch.set()
        elif self.closes:
            self.closing = asyncio.ensure_future(self.closes.close())
        else:
            assert request.data == CALL.data
            request.respond(self.mail)

    def replace(self) -> None:
        """Let another session wait in the place of whoever does."""
        for each in self.watches:
            each.fail("", code="WatchReplaced")
        self.watches.clear()

    def file(self) -> None:
        """File a message, and tell whoever waits."""
        self.mail = ONE
        for each in self.watches:
            each.respond(None)
        self.watches.clear()


def watching_pair(guardian: Guardian) -> AbstractAsyncContextManager[tuple[AsyncConnection, AcceptedConnection]]:
    """Both ends, of which the owner's waits for as long as a watch may."""
    return pair({"answer_timeout": dcp_waits.WATCH_SECONDS}, {"on_request": guardian})


async def page(waits: MailWaits, connection: AsyncConnection, seconds: float = LONG) -> JsonValue:
    return await waits.page(connection, CALL, seconds, list_nowhere)


def test_messages_that_are_there_are_listed_behind_the_beginning_of_a_watch() -> None:
    async def work() -> None:
        guardian, waits = Guardian(mail=ONE), MailWaits(OWNER)
        async with watching_pair(guardian) as (connection, _):
            sent: list[bytes] = []
            connection.on_send(sent.append)
            assert await page(waits, connection) == ONE
            assert guardian.asked == ["watch", "messages"]
            assert len(sent) == 1, "both are in one batch"
            assert waits.is_known

    run(work())


def test_a_page_without_messages_that_has_a_next_one_is_not_waited_at() -> None:
    async def work() -> None:
        guardian, waits = Guardian(mail=A_NEXT_PAGE), MailWaits(OWNER)
        async with watching_pair(guardian) as (connection, _):
            assert await page(waits, connection) == A_NEXT_PAGE

    run(work())


def test_what_is_filed_later_is_told_and_listed() -> None:
    async def work() -> None:
        guardian, waits = Guardian(), MailWaits(OWNER)
        async with watching_pair(guardian) as (connection, _):
            waiting = asyncio.create_task(page(waits, connection))
            await guardian.has_watch.wait()
            await asyncio.sleep(0.05)
            assert not waiting.done()
            guardian.file()
            assert await waiting == ONE
            assert guardian.asked == ["watch", "messages"] * 2

    run(work())


@pytest.mark.parametrize("first", [0.0, 20.0, 34.0, LONG])
def test_what_was_filed_before_all_workers_knew_of_the_watch_is_listed_when_they_do(first: float) -> None:
    """However long the first wait is: of a Mailbox, it has 20 s."""

    async def work() -> None:
        guardian, waits = Guardian(), MailWaits(OWNER)
        async with watching_pair(guardian) as (connection, _):
            began = time()

            async def wait() -> JsonValue:
                found = await page(waits, connection, first)
                return await page(waits, connection) if found == EMPTY else found

            waiting = asyncio.create_task(wait())
            await asyncio.sleep(34.5)
            assert not waiting.done()
            guardian.mail = ONE  # and nobody is told
            assert await waiting == ONE
            assert time() - began == pytest.approx(dcp_waits.LOOK_AGAIN_SECONDS)
            assert guardian.asked.count("watch") == 1

    run(work())


def test_a_wait_that_ends_before_all_workers_know_of_the_watch_looks_at_its_end() -> None:
    async def work() -> None:
        guardian, waits = Guardian(), MailWaits(OWNER)
        async with watching_pair(guardian) as (connection, _):
            waiting = asyncio.create_task(page(waits, connection, 10.0))
            await asyncio.sleep(5.0)
            guardian.mail = ONE  # and nobody is told
            assert await waiting == ONE

    run(work())


def test_a_wait_that_joins_another_one_looks_again_as_well() -> None:
    async def work() -> None:
        guardian, waits = Guardian(), MailWaits(OWNER)
        async with watching_pair(guardian) as (connection, _):
            first = asyncio.create_task(page(waits, connection, LONG))
            await asyncio.sleep(10.0)
            second = asyncio.create_task(page(waits, connection, LONG))
            await asyncio.sleep(10.0)
            first.cancel()
            guardian.mail = ONE  # and nobody is told
            assert await second == ONE
            assert time() == pytest.approx(dcp_waits.LOOK_AGAIN_SECONDS)

    run(work())


# --- another session takes the place --------------------------------------------------------------------------------


@pytest.mark.parametrize("waits_of", [20.0, LONG, 3000.0])
def test_a_watch_that_was_replaced_begins_again_after_nine_minutes(waits_of: float) -> None:
    """However long the waits are."""

    async def work() -> None:
        guardian, waits = Guardian(), MailWaits(OWNER)
        async with watching_pair(guardian) as (connection, _):

            async def wait() -> JsonValue:
                while (found := await page(waits, connection, waits_of)) == EMPTY:
                    pass
                return found

            waiting = asyncio.create_task(wait())
            await guardian.has_watch.wait()
            await asyncio.sleep(100.0)
            began = time()
            guardian.replace()
            guardian.mail = ONE if waits_of > LONG / 2 else EMPTY  # and nobody is told
            await asyncio.sleep(dcp_waits.REPLACED_SECONDS - 1)
            assert guardian.asked.count("watch") == 1
            guardian.mail = ONE
            assert await waiting == ONE
            assert time() - began <= dcp_waits.REPLACED_SECONDS

    run(work())


def test_a_session_that_loses_its_place_again_and_again_asks_twice_in_nine_minutes() -> None:
    """Or all sessions together would take each other's places as fast as they can."""

    async def work() -> None:
        guardian, waits = Guardian(), MailWaits(OWNER)
        async with watching_pair(guardian) as (connection, _):
            waiting = asyncio.create_task(page(waits, connection, 3000.0))
            for _ in range(3000):
                await asyncio.sleep(1.0)
                guardian.replace()
            assert await waiting == EMPTY
            # A list behind each watch, and one when all workers know of it.
            assert guardian.asked == ["watch", "messages", "messages"] * 6

    run(work())


def test_after_its_session_ended_a_watch_that_was_replaced_begins_again_at_once() -> None:
    async def work() -> None:
        guardian, waits = Guardian(), MailWaits(OWNER)
        async with watching_pair(guardian) as (connection, accepted):
            waiting = asyncio.create_task(page(waits, connection))
            await asyncio.sleep(10.0)
            guardian.replace()
            guardian.closes = accepted
            with pytest.raises(OutcomeUnknownError):
                await waiting
        guardian.closes = None
        async with watching_pair(guardian) as (connection, _):
            assert await page(waits, connection, 1.0) == EMPTY
            assert guardian.asked[-3:] == ["watch", "messages", "messages"]

    run(work())


def test_while_its_session_goes_on_a_watch_that_was_replaced_does_not_begin_again_because_a_list_was_refused() -> None:
    """Or whoever cannot list now would take the place of another session with each retry."""

    async def work() -> None:
        guardian, waits = Guardian(), MailWaits(OWNER)
        async with watching_pair(guardian) as (connection, _):
            assert await page(waits, connection, 100.0) == EMPTY
            guardian.replace()
            guardian.refuses = {"messages": "StoreUnavailable"}
            for _retry in range(5):
                with pytest.raises(RequestFailedError):
                    await page(waits, connection)
            assert guardian.asked.count("watch") == 1
            guardian.refuses = {}
            assert await page(waits, connection, dcp_waits.REPLACED_SECONDS + 1) == EMPTY
            assert guardian.asked.count("watch") == 2

    run(work())


# --- how often ------------------------------------------------------------------------------------------------------


def test_the_websocket_is_kept_open_while_somebody_waits() -> None:
    async def work() -> None:
        guardian, waits, text_ping = Guardian(), MailWaits(OWNER), TextPing("ping", "pong")
        settings: dict[str, Any] = {"target": {"on_request": guardian}, "initiator": {"text_ping": text_ping}}
        async with pair(**settings) as (connection, _):
            both = [asyncio.create_task(page(waits, connection, seconds)) for seconds in (10.0, LONG)]
            await guardian.has_watch.wait()
            assert text_ping.users == 2
            await both[0]
            assert text_ping.users == 1
            both[1].cancel()
            await asyncio.gather(*both, return_exceptions=True)
            assert text_ping.users == 0

    run(work())


def test_there_are_two_looks_for_each_watch_and_one_for_each_later_wait() -> None:
    async def work() -> None:
        guardian, waits = Guardian(), MailWaits(OWNER)
        async with watching_pair(guardian) as (connection, _):
            for _wait in range(3):
                assert await page(waits, connection, LONG) == EMPTY
            assert guardian.asked == ["watch", "messages", "messages", *["messages"] * 2]
            waiting = asyncio.create_task(page(waits, connection))
            await asyncio.sleep(0.05)
            guardian.file()
            assert await waiting == ONE

    run(work())


def test_two_waits_at_once_share_a_watch() -> None:
    async def work() -> None:
        guardian, waits = Guardian(), MailWaits(OWNER)
        async with watching_pair(guardian) as (connection, _):
            both = [asyncio.create_task(page(waits, connection)) for _ in range(2)]
            await guardian.has_watch.wait()
            await asyncio.sleep(0.05)
            guardian.file()
            assert await asyncio.gather(*both) == [ONE, ONE]
            assert guardian.asked.count("watch") <= 3

    run(work())


def test_a_list_that_was_asked_for_under_the_last_watch_does_not_say_when_the_next_one_began() -> None:
    with closing(StandingLoop()) as loop:
        socket, waits = Socket(), MailWaits(OWNER)
        both = [loop.create_task(waits.page(socket, CALL, LONG, list_nowhere)) for _ in range(2)]  # type: ignore[arg-type]
        loop.turn()
        assert socket.unanswered() == ("watch", "messages", "messages")
        # The first one is told, and asks anew, before the second one has its list.
        socket.answer("messages", EMPTY)
        socket.answer("watch", None)
        loop.turn()
        assert socket.unanswered() == ("messages", "watch", "messages")
        socket.answer("messages", EMPTY)
        loop.turn()
        loop.now = 30.0
        socket.answer("messages", EMPTY)
        socket.answer("messages", EMPTY)
        loop.turn()
        assert socket.unanswered() == ("watch",)
        loop.now = 64.0
        loop.turn()
        assert socket.unanswered() == ("watch",), "the watch may have begun 30 s ago"
        loop.now = 65.0
        loop.turn()
        assert socket.unanswered() == ("watch", "messages", "messages")
        for each in both:
            each.cancel()
        loop.turn()


def test_a_list_that_is_never_answered_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dcp_waits, "_ANSWER_SECONDS", 0.1)

    async def work() -> None:
        waits = MailWaits(OWNER)
        async with pair(target={"on_request": lambda request: None}) as (connection, _):
            with pytest.raises(OutcomeUnknownError, match="in time"):
                await page(waits, connection)

    run(work())


def test_messages_are_shown_although_the_watch_before_them_ended_with_its_session() -> None:
    async def work() -> None:
        guardian, waits = Guardian(), MailWaits(OWNER)
        async with watching_pair(guardian) as (connection, _):
            assert await page(waits, connection, 0.05) == EMPTY
        async with watching_pair(guardian) as (connection, _):
            guardian.mail = ONE
            assert await page(waits, connection) == ONE

    run(work())


def test_a_wait_that_was_cancelled_goes_on_with_the_same_watch() -> None:
    async def work() -> None:
        guardian, waits = Guardian(), MailWaits(OWNER)
        async with watching_pair(guardian) as (connection, _):
            waiting = asyncio.create_task(page(waits, connection))
            await guardian.has_watch.wait()
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            guardian.file()
            assert await page(waits, connection) == ONE

    run(work())


def test_a_list_that_is_too_large_for_the_websocket_is_asked_for_over_https() -> None:
    async def work() -> None:
        guardian, waits, called = Guardian(refuses={"messages": "AnswerTooLarge"}), MailWaits(OWNER), []

        async def list_now(call: OperationCall) -> JsonValue:
            called.append(call)
            return ONE

        async with watching_pair(guardian) as (connection, _):
            assert await waits.page(connection, CALL, LONG, list_now) == ONE
            assert called == [CALL]

    run(work())


@pytest.mark.parametrize("refused", ["watch", "messages"])
def test_a_refusal_is_raised_and_the_next_wait_begins_anew(refused: str) -> None:
    async def work() -> None:
        guardian, waits = Guardian(refuses={refused: "NotTheOwner"}), MailWaits(OWNER)
        async with watching_pair(guardian) as (connection, _):
            with pytest.raises(RequestFailedError) as failed:
                await page(waits, connection)
            assert failed.value.code == "NotTheOwner"
            assert waits.is_known is False
            guardian.refuses, guardian.mail = {}, ONE
            assert await page(waits, connection) == ONE

    run(work())


def test_if_the_session_ends_the_wait_ends_and_the_next_one_begins_anew() -> None:
    async def work() -> None:
        guardian, waits = Guardian(), MailWaits(OWNER)
        settings: dict[str, Any] = {"target": {"on_request": guardian}, "initiator": {"retries": QUICK}}
        async with pair(**settings) as (connection, accepted):
            waiting = asyncio.create_task(page(waits, connection))
            await guardian.has_watch.wait()
            await accepted.close()
            with pytest.raises(OutcomeUnknownError):
                await waiting
        async with watching_pair(guardian) as (connection, _):
            guardian.mail = ONE
            assert await page(waits, connection) == ONE

    run(work())


GUARDIAN = (
    b'{"identity": "0x1563915e194D8CfBA1943570603F7606A3115508", "versions": ["4.0.0"], "ttl": {}, "slop": 10.0,'
    b' "max_messages_per_batch": 10, "max_bytes": 1%s}'
)


@pytest.mark.parametrize(
    ("answer", "url"),
    [
        (MailboxResponse(200, {}, GUARDIAN % b', "socket": "wss://a.example/dcp"'), "wss://a.example/dcp"),
        (MailboxResponse(200, {}, GUARDIAN % b""), ""),
        *(
            (MailboxResponse(200, {}, GUARDIAN % b', "socket": "%s"' % url), "")
            for url in (
                b"ws://a.example/dcp",
                b"https://a.example/dcp",
                b"wss://a.example/?q",
                b"wss://a:port/",
                b"wss:",
            )
        ),
        (MailboxResponse(404, {}, GUARDIAN % b', "socket": "wss://a.example/dcp"'), ""),
        (MailboxResponse(200, {}, b"<!DOCTYPE html>"), ""),
        (MailboxResponse(200, {}, b'{"identity": "0x15"}'), ""),
        (NoAnswer("timeout"), ""),
    ],
)
def test_the_guardian_says_where_its_websockets_are(answer: Answer, url: str) -> None:
    found = socket_of(answer)
    assert (found.url if found else "") == url
    assert found is None or (found.guardian, found.text_ping, found.most_wait) == (
        "1563915e194D8CfBA1943570603F7606A3115508", None, LONG,
    ), "it is of an earlier release, which answers no pings"  # fmt: skip


def said_of_pings(**said: object) -> GuardianSocket | None:
    described = {**json.loads(GUARDIAN % b""), "socket": "wss://a.example/dcp", "ping": PING, "pong": PONG, **said}
    return socket_of(MailboxResponse(200, {}, json.dumps(described).encode()))


@pytest.mark.parametrize(
    ("session_seconds", "most_wait"),
    [
        (3600, 3000), (86_400, 3000), (1200, 1000), (600, LONG), (0, LONG), (-7, LONG),
        (10**400, 3000), (-(10**400), LONG),
    ],
    ids=lambda number: str(number)[:9],
)  # fmt: skip
def test_a_wait_is_as_long_as_pings_and_the_session_allow(session_seconds: int, most_wait: float) -> None:
    found = said_of_pings(session_seconds=session_seconds)
    assert found is not None
    assert found.text_ping is not None
    assert (found.text_ping.ping, found.text_ping.pong, found.most_wait) == (PING, PONG, most_wait)


@pytest.mark.parametrize("said", [{"ping": ""}, {"pong": ""}, {"ping": "x" * 1001}, {"pong": "x" * 1001}])
def test_a_guardian_whose_pings_cannot_be_used_is_as_one_without(said: dict[str, object]) -> None:
    found = said_of_pings(**said, session_seconds=3600)
    assert found is not None
    assert (found.text_ping, found.most_wait) == (None, LONG)


@pytest.mark.parametrize("said", [{"ping": 7}, {"session_seconds": "3600"}, {"session_seconds": 1e308}])
def test_what_is_no_description_of_pings_is_no_description(said: dict[str, object]) -> None:
    assert said_of_pings(**said) is None
