"""The examples of the text, in Python (DCP: Sample Code)."""

from typing import Any

import pytest
from tests.client.dcp.ends import pair, run
from tests.protocols.dcp.guarded import JACK, OWNER, US, WES

from postroom.client.dcp import IncomingRequest, RequestFailedError
from postroom.crypto.ethereum import read_address

SCHEDULER, BANK, ACCOUNT = US, JACK, WES


def add(request: IncomingRequest) -> None:
    match request.operation, request.data:
        case "add", list(numbers):
            request.respond(sum(number for number in numbers if isinstance(number, int)))
        case _:
            request.fail("Invalid Request")


def test_a_simple_message_is_sent_and_received() -> None:
    async def scenario() -> None:
        async with pair(target={"on_request": add}) as (connection, _):
            assert await connection.send("add", [1, 2, 3, 4, 5]) == 15
            with pytest.raises(RequestFailedError, match="Invalid Request"):
                await connection.send("subtract", [1])

    run(scenario())


def bank(request: IncomingRequest) -> None:
    """Transfers and escrows what the account of the source authorized."""
    data: Any = request.data
    if request.does_authorize(read_address(data["source"])):
        request.respond({"receipt": [request.operation, data["amount"], request.peer]})
    else:
        request.fail("not authorized", code="NotAuthorized")


def test_a_message_uses_a_protected_resource() -> None:
    async def scenario() -> None:
        data = {"amount": 123.45, "source": ACCOUNT.address, "target": OWNER.address}
        async with pair(target={"on_request": bank}, keys=(OWNER, BANK)) as (connection, _):
            result = await connection.request("transfer", data).send(ACCOUNT)
            assert result == {"receipt": ["transfer", 123.45, OWNER.address]}
            with pytest.raises(RequestFailedError, match="not authorized"):
                await connection.request("transfer", data).send(OWNER)

    run(scenario())


def test_a_message_goes_by_a_third_party_that_presents_it_to_the_guardian() -> None:
    async def scenario() -> None:
        async with pair(target={"on_request": bank}, keys=(SCHEDULER, BANK)) as (to_bank, _):

            async def schedule(request: IncomingRequest) -> None:
                assert request.resources == frozenset(), "it is for the bank"
                request.respond(await to_bank.present(request.as_cheque()))

            async with pair(target={"on_request": schedule}, keys=(OWNER, SCHEDULER)) as (to_scheduler, _):
                data = {"source": ACCOUNT.address, "amount": 100}
                request = to_scheduler.request("escrow", data)
                request.authorize(ACCOUNT, guardian=BANK.address, accessor=SCHEDULER.address)
                assert await request.send() == {"receipt": ["escrow", 100, SCHEDULER.address]}

    run(scenario())


def test_a_third_party_presents_nothing_that_is_not_for_it() -> None:
    async def scenario() -> None:
        async with pair(target={"on_request": bank}, keys=(SCHEDULER, BANK)) as (to_bank, _):
            received: list[IncomingRequest] = []

            def receive(request: IncomingRequest) -> None:
                received.append(request)
                request.respond()

            async with pair(target={"on_request": receive}, keys=(OWNER, SCHEDULER)) as (connection, _):
                data = {"source": ACCOUNT.address, "amount": 100}
                await connection.request("escrow", data).authorize(ACCOUNT, guardian=BANK.address).send()
                await connection.request("escrow", data).send()
            for each in received:
                with pytest.raises(RequestFailedError, match="not authorized"):
                    await to_bank.present(each.as_cheque())

    run(scenario())
