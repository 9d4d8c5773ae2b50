"""What the guardian of DCP remembers in DynamoDB: its writes, any of them struck, and many at once."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import Barrier
from typing import Literal

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from tests.aws import Clients, Deployed, deploy_on, gate_calls, new_clients
from tests.fakes.executor import SerialExecutor

from postroom.core.errors import NotNowError, TheirError
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.crypto.ethereum import Address
from postroom.local.emulator import Emulator
from postroom.protocols.dcp.reasons import DCP_DUPLICATE, DCP_NONCE_INVALID, DCP_SESSION_OVER
from postroom.protocols.dcp.session_store import NonceUse, RequestUse
from postroom.storage.limits.dcp_sessions import REMOVED_AFTER_SECONDS, DcpSessions

THREADS = 50
ONES, TWOS, WES = (Address(digit * 40) for digit in "123")
FIRST = NonceUse(WES, "session", "n0", "n1", first=True, now=100, until=200)
SECOND = NonceUse(WES, "session", "n1", "n2", first=False, now=110, until=210)
LAST = NonceUse(WES, "session", "n2", "n3", first=False, now=120, until=220, closes=True)
REQUEST = RequestUse(WES, "id", "stamp", (ONES,), "n1.0", now=100, until=150)
When = Literal["before", "after"]
LOST = EndpointConnectionError(endpoint_url="https://dynamodb.example/")
DENIED = ClientError({"Error": {"Code": "AccessDeniedException", "Message": ""}}, "PutItem")


class StruckCalls:
    """Clients whose calls are recorded. One of them fails, before it takes effect, or with its answer lost after it."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.clients: Clients = new_clients()
        self._struck: tuple[int, When] | None = None
        self._error: Exception = LOST
        gate_calls(self.clients, self._pass)

    def strike(self, number: int, when: When, error: Exception = LOST) -> None:
        self.calls.clear()
        self._struck, self._error = (number, when), error

    @contextmanager
    def _pass(self, operation: str) -> Iterator[None]:
        number = len(self.calls)
        self.calls.append(operation)
        if self._struck == (number, "before"):
            raise self._error
        yield
        if self._struck == (number, "after"):
            raise self._error


@pytest.fixture
def struck(deployed: Deployed) -> StruckCalls:
    return StruckCalls()


@pytest.fixture
def store(deployed: Deployed, struck: StruckCalls) -> DcpSessions:
    return DcpSessions(struck.clients.dynamodb, deployed.tables["DcpTable"], SerialExecutor())


@pytest.fixture(scope="module")
def ministack() -> Iterator[Deployed]:
    with Emulator() as emulator:
        yield deploy_on(emulator.clients("700000000002"))


@pytest.fixture(
    params=[pytest.param("ministack", id="MiniStack", marks=pytest.mark.stack), pytest.param("deployed", id="moto")]
)
def shared(request: pytest.FixtureRequest) -> Iterator[DcpSessions]:
    """A store that many use at once."""
    deployed: Deployed = request.getfixturevalue(request.param)
    with ThreadPoolExecutor(THREADS) as pool:
        yield DcpSessions(deployed.clients.dynamodb, deployed.tables["DcpTable"], pool)


# --- writes ----------------------------------------------------------------------------------------------------------


def test_each_step_takes_its_writes_and_no_read(store: DcpSessions, struck: StruckCalls) -> None:
    steps: dict[str, tuple[Callable[[], None], list[str]]] = {
        "first nonce": (lambda: store.use_nonce(FIRST), ["UpdateItem"]),
        "nonce": (lambda: store.use_nonce(SECOND), ["UpdateItem"]),
        "request": (lambda: store.use_request(REQUEST), ["PutItem"] * 2),
        "of two resources": (
            lambda: store.use_request(replace(REQUEST, id="2", stamp="2", owners=(ONES, TWOS))),
            ["PutItem"] * 3,
        ),
        "revocation": (lambda: store.revoke(replace(REQUEST, stamp="3")), ["PutItem"]),
        "give back": (lambda: store.give_back(REQUEST), ["DeleteItem"] * 2),
        "close": (lambda: store.use_nonce(LAST), ["UpdateItem"]),
    }
    for name, (step, calls) in steps.items():
        struck.calls.clear()
        step()
        assert struck.calls == calls, name


def test_a_duplicate_takes_the_id_back(store: DcpSessions, struck: StruckCalls) -> None:
    store.use_request(REQUEST)
    struck.calls.clear()
    with pytest.raises(TheirError):
        store.use_request(replace(REQUEST, peer=Address("another"), mark="another"))
    assert struck.calls == ["PutItem", "PutItem", "DeleteItem"]


def test_a_refused_nonce_takes_one_write(store: DcpSessions, struck: StruckCalls) -> None:
    store.use_nonce(FIRST)
    struck.calls.clear()
    with pytest.raises(TheirError) as caught:
        store.use_nonce(replace(FIRST, following="other"))
    assert (caught.value.reason, struck.calls) == (DCP_NONCE_INVALID, ["UpdateItem"])


def test_nothing_of_what_peers_sent_is_stored(store: DcpSessions, deployed: Deployed) -> None:
    store.use_nonce(FIRST)
    store.use_request(replace(REQUEST, stamp="sessionÜ\ud800", id="stampé"))
    rows = deployed.rows("DcpTable")
    assert len({row["pk"]["S"] for row in rows}) == 3
    assert all(set(row["pk"]["S"]) <= set("0123456789abcdef") and len(row["pk"]["S"]) == 64 for row in rows)
    assert not [text for text in ("session", "stamp", ONES) if text in json.dumps(rows)]


def test_a_row_is_removed_an_hour_after_its_end(store: DcpSessions, deployed: Deployed) -> None:
    store.use_nonce(replace(FIRST, until=200.0004))
    store.use_request(REQUEST)
    rows = deployed.rows("DcpTable")
    assert sorted(int(row["until"]["N"]) for row in rows) == [150_000, 150_000, 200_001]
    assert {int(row["ttl"]["N"]) for row in rows} == {150 + REMOVED_AFTER_SECONDS, 201 + REMOVED_AFTER_SECONDS}


# --- a call that fails -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_step_that_failed_may_be_made_again(store: DcpSessions, struck: StruckCalls, when: When) -> None:
    steps: list[Callable[[], None]] = [
        lambda: store.use_nonce(FIRST),
        lambda: store.use_nonce(SECOND),
        lambda: store.use_request(REQUEST),
        lambda: store.give_back(REQUEST),
        lambda: store.use_request(replace(REQUEST, mark="other")),
        lambda: store.use_nonce(LAST),
    ]
    for step in steps:
        struck.strike(0, when)
        with pytest.raises(NotNowError):
            step()
        step()
    with pytest.raises(TheirError) as caught:
        store.use_nonce(NonceUse(WES, "session", "n3", "n4", first=False, now=130, until=230))
    assert caught.value.reason == DCP_SESSION_OVER


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", range(3))
def test_a_request_that_could_not_be_remembered_uses_up_no_stamp(
    store: DcpSessions, struck: StruckCalls, number: int, when: When
) -> None:
    two = replace(REQUEST, owners=(ONES, TWOS))
    struck.strike(number, when)
    with pytest.raises(NotNowError):
        store.use_request(two)
    store.use_request(replace(two, peer=Address("another"), mark="another"))


@pytest.mark.parametrize("number", range(3))
def test_a_request_of_which_a_write_is_denied_uses_up_no_stamp(
    store: DcpSessions, struck: StruckCalls, number: int
) -> None:
    two = replace(REQUEST, owners=(ONES, TWOS))
    struck.strike(number, "before", DENIED)
    with pytest.raises(NotNowError) as caught:
        store.use_request(two)
    assert caught.value.reason == STORE_UNAVAILABLE
    store.use_request(replace(two, peer=Address("another"), mark="another"))


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", range(5))
def test_whatever_call_fails_no_stamp_counts_twice(
    store: DcpSessions, struck: StruckCalls, number: int, when: When
) -> None:
    passed = 0
    struck.strike(number, when)
    for mark in ("one", "two", "three"):
        with suppress(NotNowError, TheirError):
            store.use_request(replace(REQUEST, peer=Address(mark), mark=mark))
            passed += 1
    assert passed == 1


def test_a_stamp_that_somebody_else_took_meanwhile_is_not_given_back(store: DcpSessions, struck: StruckCalls) -> None:
    store.use_request(REQUEST)
    later = replace(REQUEST, peer=Address("later"), mark="later")
    for _ in range(2):
        with pytest.raises(TheirError) as caught:
            store.use_request(later)
        assert caught.value.reason == DCP_DUPLICATE
        store.give_back(later)


# --- at once ---------------------------------------------------------------------------------------------------------


def winners(use: Callable[[int], None]) -> int:
    """How many of fifty at once were not refused."""
    together = Barrier(THREADS)

    def race(number: int) -> bool:
        together.wait()
        try:
            use(number)
        except TheirError:
            return False
        return True

    with ThreadPoolExecutor(THREADS) as pool:
        return sum(pool.map(race, range(THREADS)))


def test_of_fifty_at_once_one_makes_a_session_and_one_uses_each_nonce(shared: DcpSessions) -> None:
    assert winners(lambda number: shared.use_nonce(replace(FIRST, dcpsid="a", following=f"{number}"))) == 1
    shared.use_nonce(replace(FIRST, dcpsid="b"))
    assert winners(lambda number: shared.use_nonce(replace(SECOND, dcpsid="b", following=f"next {number}"))) == 1


def test_of_fifty_sessions_at_once_one_presents_a_cheque(shared: DcpSessions) -> None:
    assert winners(lambda it: shared.use_request(replace(REQUEST, peer=Address(f"{it}"), mark=f"{it}"))) == 1


def test_of_fifty_sessions_at_once_one_presents_a_cheque_of_several_resources(shared: DcpSessions) -> None:
    for number in range(5):
        cheque = replace(REQUEST, stamp=f"of two {number}", owners=(ONES, TWOS))
        assert winners(lambda it: shared.use_request(replace(cheque, peer=Address(f"{it}"), mark=f"{it}"))) == 1  # noqa: B023


def test_a_cheque_is_presented_or_revoked_by_one_of_fifty_at_once(shared: DcpSessions) -> None:
    def present_or_revoke(number: int) -> None:
        use = replace(REQUEST, stamp="both", owners=(TWOS, ONES), peer=Address(f"{number}"), mark=f"{number}")
        (shared.revoke if number % 2 else shared.use_request)(use)

    assert winners(present_or_revoke) == 1
