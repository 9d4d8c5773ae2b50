"""Messages of version 3 for the routes of a peer: what is sent, whom a route takes for the sender, and refusals."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.client.dcp.ends import PostedBank, pair, run
from tests.client.dcp.test_blocking import to_bank
from tests.protocols.dcp.guarded import OWNER, US, WES, Bank

from postroom.client.dcp import AnsweredBeforeError, IncomingV3, OutcomeUnknownError, RequestFailedError, register
from postroom.core.ijson import JsonValue
from postroom.protocols.dcp.receiving import Admitted
from postroom.protocols.dcp.v3 import read_v3, v3_data, v3_result


def add(message: IncomingV3) -> None:
    assert isinstance(message.message, list)
    message.respond({"sum": sum(message.message), "owner": message.owner, "peer": message.peer})


@pytest.mark.parametrize(("key", "owner"), [(None, OWNER), (WES, WES)])
def test_a_message_reaches_the_route_with_its_sender(key: Any, owner: Any) -> None:
    async def scenario() -> None:
        async with pair(target={"on_v3": add}) as (connection, _):
            result = await connection.send_v3("/add", [1, 2], key)
            assert result == {"sum": 3, "owner": owner.address, "peer": OWNER.address}

    run(scenario())


def test_routes_are_served_beside_requests_and_by_both_ends() -> None:
    async def scenario() -> None:
        seen: list[str] = []

        async def later(message: IncomingV3) -> None:
            await asyncio.sleep(0)
            assert message.peer == message.owner
            seen.append(f"{message.url} of {message.owner}")
            message.respond()

        ends = {"initiator": {"on_v3": later}, "target": {"on_v3": later}}
        async with pair(**ends) as (connection, accepted):
            assert await asyncio.gather(
                connection.send("echo", 1), connection.send_v3("/a", {}), accepted.send_v3("/b", None)
            ) == [1, None, None]
        assert sorted(seen) == [f"/a of {OWNER.address}", f"/b of {US.address}"]

    run(scenario())


def test_a_peer_without_routes_refuses_it() -> None:
    async def scenario() -> None:
        async with pair() as (connection, _):
            with pytest.raises(RequestFailedError) as failed:
                await connection.send_v3("/add", [1, 2])
            assert failed.value.code == "ENOV3"

    run(scenario())


def test_a_rejection_is_an_error_with_the_code_of_the_route() -> None:
    async def scenario() -> None:
        def refuse(message: IncomingV3) -> None:
            message.fail("too large", code="E7", name="RangeError")

        async with pair(target={"on_v3": refuse}) as (connection, _):
            with pytest.raises(RequestFailedError, match="E7: too large") as failed:
                await connection.send_v3("/add", [1, 2])
            assert (failed.value.error.name, failed.value.origin) == ("RangeError", US.address)

    run(scenario())


def fails(message: IncomingV3) -> None:
    raise ZeroDivisionError("a secret")


async def fails_later(message: IncomingV3) -> None:
    raise ZeroDivisionError("a secret")


@pytest.mark.parametrize("handler", [fails, fails_later])
def test_a_route_that_fails_rejects_without_saying_why(
    handler: Callable[[IncomingV3], Any], caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with pair(target={"on_v3": handler}) as (connection, _):
            with pytest.raises(RequestFailedError, match="the request could not be performed") as failed:
                await connection.send_v3("/add", [1, 2])
            assert "secret" not in str(failed.value.error)
            assert await connection.send("echo", 1) == 1

    run(scenario())
    assert "a secret" in caplog.text


def test_a_message_is_answered_once() -> None:
    async def scenario() -> None:
        def twice(message: IncomingV3) -> None:
            message.respond(1)
            assert message.is_answered
            with pytest.raises(AnsweredBeforeError):
                message.fail("no")

        async with pair(target={"on_v3": twice}) as (connection, _):
            assert await connection.send_v3("/add", [1, 2]) == 1

    run(scenario())


def test_a_message_without_a_route_is_refused() -> None:
    async def scenario() -> None:
        async with pair(target={"on_v3": add}) as (connection, _):
            with pytest.raises(RequestFailedError) as failed:
                await connection.send("v3", {"url": 7})
            assert failed.value.code == "EINVAL"

    run(scenario())


def route(admitted: Admitted) -> JsonValue:
    """Of a bank: what it got, and an answer without an outcome at /odd."""
    message = read_v3(admitted)
    return {} if message.url == "/odd" else v3_result([message.url, message.message, message.owner])


def test_a_connection_without_asyncio_sends_them_too() -> None:
    posted = PostedBank(Bank(perform_with=route, routes_v3=True))
    register("bank", lambda url: posted.transport())
    with to_bank() as connection:
        assert connection.send_v3("/add", [1], WES) == ["/add", [1], WES.address]
        with pytest.raises(OutcomeUnknownError, match="v3status"):
            connection.send_v3("/odd", [1])
        assert connection.send("v3", v3_data("/add", 2)) == v3_result(["/add", 2, OWNER.address])
