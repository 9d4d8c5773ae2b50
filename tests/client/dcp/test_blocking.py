"""The connection for programs without asyncio."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.client.dcp.ends import QUICK, PostedBank
from tests.protocols.dcp.guarded import JACK, OWNER, US, WES

from postroom.client.dcp import (
    Connection,
    ConnectionClosedError,
    IdentityMemory,
    NotConnectedError,
    RequestFailedError,
    register,
)
from postroom.protocols.dcp.error_payload import ErrorPayload
from postroom.protocols.dcp.guardian import FailedOperation


@pytest.fixture
def posted() -> PostedBank:
    bank = PostedBank()
    register("bank", lambda url: bank.transport())
    return bank


def to_bank(**members: Any) -> Connection:
    return Connection("bank:", OWNER, **{"identities": IdentityMemory(), "retries": QUICK} | members)


def test_requests_are_answered_and_authorized(posted: PostedBank) -> None:
    with to_bank() as connection:
        assert (connection.peer, connection.dcpsid) == (None, None)
        assert connection.send("add", 1) == {"resources": []}
        assert connection.request("add", 2).send(WES) == {"resources": [WES.address]}
        assert connection.peer == US.address
        assert connection.dcpsid
        connection.keepalive()
    assert posted.bank.done == [("add", 1), ("add", 2)]


def test_it_is_shared_among_threads(posted: PostedBank) -> None:
    with to_bank() as connection, ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: connection.send("add", number), range(40)))
    assert sorted(data for _, data in posted.bank.done) == list(range(40))


def test_errors_are_those_of_the_connection_for_asyncio(posted: PostedBank) -> None:
    posted.bank.perform_with = lambda admitted: FailedOperation(ErrorPayload("Error", "no", "No"))
    with to_bank() as connection, pytest.raises(RequestFailedError, match="No: no"):
        connection.send("add", 1)
    with to_bank(expect=JACK.address) as connection, pytest.raises(NotConnectedError, match="EADDRCHANGE"):
        connection.connect()
    for _ in range(2):
        connection.close()
    with pytest.raises(ConnectionClosedError, match="<Connection of"):
        connection.send("add", 1)
    connection.clear_identity_cache()
