"""The contract of session stores: each step is atomic, known again, and lasts as long as it says."""

import itertools
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.aws import Deployed
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.fakes.executor import SerialExecutor
from tests.tiers import examples

from postroom.core.errors import NotNowError, TheirError
from postroom.core.reason import Reason
from postroom.crypto.ethereum import Address
from postroom.protocols.dcp.memory_store import MemoryStore
from postroom.protocols.dcp.reasons import (
    DCP_DUPLICATE,
    DCP_ID_REUSED,
    DCP_NONCE_INVALID,
    DCP_SESSION_OVER,
    DCP_STORE_FULL,
)
from postroom.protocols.dcp.session_store import NonceUse, RequestUse, SessionStore
from postroom.storage.limits.dcp_sessions import DcpSessions

ONES, TWOS, JACK, WES = (Address(digit * 40) for digit in "1234")
FIRST = NonceUse(WES, "s", "n0", "n1", first=True, now=100, until=200)
SECOND = NonceUse(WES, "s", "n1", "n2", first=False, now=110, until=210)
REQUEST = RequestUse(WES, "id", "stamp", (ONES,), "n1.0", now=100, until=150)


@pytest.fixture(params=["memory", "DynamoDB"])
def store(request: pytest.FixtureRequest) -> SessionStore:
    if request.param == "memory":
        return MemoryStore()
    deployed: Deployed = request.getfixturevalue("deployed")
    return DcpSessions(deployed.clients.dynamodb, deployed.tables["DcpTable"], SerialExecutor())


def nonce_refused(store: SessionStore, use: NonceUse) -> Reason:
    with pytest.raises(TheirError) as caught:
        store.use_nonce(use)
    return caught.value.reason


def request_refused(store: SessionStore, use: RequestUse) -> Reason:
    with pytest.raises(TheirError) as caught:
        store.use_request(use)
    return caught.value.reason


def test_each_nonce_is_used_once_and_in_turn(store: SessionStore) -> None:
    store.use_nonce(FIRST)
    store.use_nonce(SECOND)
    for use in (FIRST, SECOND):
        assert nonce_refused(store, replace(use, following="other")) is DCP_NONCE_INVALID


def test_ones_own_step_is_known_again(store: SessionStore) -> None:
    for use in (FIRST, FIRST, SECOND, SECOND):
        store.use_nonce(use)
    store.use_request(REQUEST)
    store.use_request(REQUEST)


def test_a_session_that_nobody_used_is_over(store: SessionStore) -> None:
    assert nonce_refused(store, SECOND) is DCP_SESSION_OVER


def test_a_session_lasts_until_it_was_not_used_for_its_time(store: SessionStore) -> None:
    store.use_nonce(FIRST)
    store.use_nonce(replace(SECOND, now=200, until=300))
    store.use_nonce(NonceUse(WES, "s", "n2", "n3", first=False, now=300, until=400))
    assert nonce_refused(store, NonceUse(WES, "s", "n3", "n4", first=False, now=400.5, until=500)) is DCP_SESSION_OVER


def test_the_last_use_of_a_session_says_how_long_it_lasts(store: SessionStore) -> None:
    store.use_nonce(FIRST)
    store.use_nonce(replace(SECOND, until=120))
    assert nonce_refused(store, NonceUse(WES, "s", "n2", "n3", first=False, now=120.5, until=160)) is DCP_SESSION_OVER


def test_a_closed_session_stays_closed_for_each_of_its_nonces() -> None:
    store = MemoryStore()
    store.use_nonce(FIRST)
    store.close("s")
    for use in (FIRST, SECOND, replace(FIRST, following="other")):
        assert nonce_refused(store, use) is DCP_SESSION_OVER


def test_a_message_that_closes_its_session_is_the_last_one_and_known_again(store: SessionStore) -> None:
    store.use_nonce(FIRST)
    last = replace(SECOND, closes=True)
    for _ in range(2):
        store.use_nonce(last)
    for use in (FIRST, SECOND, replace(last, following="other"), replace(SECOND, nonce="n2", following="n3")):
        assert nonce_refused(store, use) is DCP_SESSION_OVER


def test_a_session_may_be_closed_by_its_first_message(store: SessionStore) -> None:
    store.use_nonce(replace(FIRST, closes=True))
    for use in (replace(FIRST, following="other"), SECOND):
        assert nonce_refused(store, use) is DCP_SESSION_OVER


def test_an_id_is_used_once_by_its_peer(store: SessionStore) -> None:
    store.use_request(REQUEST)
    assert request_refused(store, replace(REQUEST, stamp="other", mark="n1.1")) is DCP_ID_REUSED
    store.use_request(replace(REQUEST, peer=JACK, stamp="other", mark="n1.2"))


@pytest.mark.parametrize("resources", [(), (ONES,), (TWOS,), (ONES, TWOS)])
def test_a_stamp_is_used_once_in_the_space_of_its_resource(store: SessionStore, resources: tuple[Address, ...]) -> None:
    store.use_request(REQUEST)
    other = replace(REQUEST, peer=JACK, mark="n1.1", owners=resources)
    if ONES in resources:
        assert request_refused(store, other) is DCP_DUPLICATE
    else:
        store.use_request(other)


def test_a_refused_request_uses_up_nothing(store: SessionStore) -> None:
    store.use_request(REQUEST)
    assert request_refused(store, replace(REQUEST, id="2", owners=(TWOS, ONES), mark="n1.1")) is DCP_DUPLICATE
    store.use_request(replace(REQUEST, id="2", owners=(TWOS,), mark="n1.2"))


def test_a_request_is_remembered_until_its_time_inclusive(store: SessionStore) -> None:
    store.use_request(REQUEST)
    again = replace(REQUEST, mark="n1.1", now=150)
    assert request_refused(store, again) is DCP_ID_REUSED
    store.use_request(replace(again, now=150.5, until=160))


def test_a_request_is_given_back_by_its_own_mark_only(store: SessionStore) -> None:
    store.use_request(REQUEST)
    store.give_back(replace(REQUEST, mark="n1.1"))
    assert request_refused(store, replace(REQUEST, id="2", mark="n1.2")) is DCP_DUPLICATE
    store.give_back(REQUEST)
    store.use_request(replace(REQUEST, mark="n1.3"))


def test_a_payload_is_used_once_whoever_signed_it(store: SessionStore) -> None:
    by_one = replace(REQUEST, payload="digest")
    by_other = replace(by_one, id="2", owners=(TWOS,), mark="n1.1")
    store.use_request(by_one)
    assert request_refused(store, by_other) is DCP_DUPLICATE
    store.give_back(by_one)
    store.use_request(by_other)


def test_memory_is_limited_and_swept() -> None:
    store = MemoryStore(max_rows=20)
    for number in range(100):
        name, now = f"{number}", 100 + number
        store.use_nonce(replace(FIRST, dcpsid=name, now=now, opened=now, until=300))
        store.use_request(replace(REQUEST, id=name, stamp=name, mark=name, now=now, dated=now, until=300))
    assert len(store) <= 60
    store.use_request(replace(REQUEST, now=360.5, dated=360, until=400))
    assert len(store) == 2


def test_peers_with_few_rows_lose_none_to_those_with_many() -> None:
    """Each stranger has a key of its own, a session, and as many requests as are taken, all at one instant."""
    store, numbers = MemoryStore(max_rows=400), itertools.count()
    owner = replace(REQUEST, owners=(), dated=100)
    store.use_nonce(FIRST)
    store.use_request(owner)
    for stranger in range(40):
        peer = Address(f"{stranger}")
        store.use_nonce(replace(FIRST, peer=peer, dcpsid=f"{stranger}"))
        for number in itertools.islice(numbers, 500):
            used = replace(owner, peer=peer, id=f"{number}", stamp=f"{number}", mark=f"{number}")
            with suppress(NotNowError):
                store.use_request(used)
    assert request_refused(store, replace(owner, mark="again")) is DCP_ID_REUSED
    store.use_nonce(replace(SECOND, until=300))
    store.use_nonce(replace(FIRST, peer=JACK, dcpsid="new"))
    store.use_request(replace(owner, peer=JACK, id="new", stamp="new", mark="new"))


@pytest.mark.parametrize("owners", [(), (ONES,)])
def test_what_was_forgotten_before_its_time_is_refused_with_all_that_is_dated_no_later(
    owners: tuple[Address, ...],
) -> None:
    store = MemoryStore(max_rows=16)

    def use(name: str, peer: Address, dated: float, *bearers: Address) -> None:
        request = replace(REQUEST, peer=peer, owners=owners, dated=dated, bearers=frozenset(bearers))
        store.use_request(replace(request, id=name, stamp=name, mark=name))

    for number, dated in enumerate((19, 9, 8, *[30] * (14 if owners else 6))):
        use(f"{number}", WES, dated)
    # Whoever may present an authorization may have presented this one.
    for peer, dated, bearers in [(WES, 10, ()), (WES, 19, ()), *([(JACK, 19, (JACK, WES))] if owners else [])]:
        with pytest.raises(NotNowError) as caught:
            use("another", peer, dated, *bearers)
        assert caught.value.reason is DCP_STORE_FULL
    use("of another peer", JACK, 1, JACK)


def test_a_stranger_who_authorizes_any_number_of_requests_keeps_nobody_out() -> None:
    """By as many keys as a request may have, dated as far ahead as the clocks may differ."""
    store = MemoryStore(max_rows=400)
    cheque = replace(REQUEST, owners=(JACK,), peer=JACK, dated=50, payload="cheque", bearers=frozenset({JACK, ONES}))
    store.use_request(cheque)
    for number in range(200):
        keys = tuple(Address(f"key {number} {each}") for each in range(16))
        name = f"{number}"
        flood = replace(REQUEST, peer=WES, owners=keys, dated=110, payload=name, bearers=frozenset({WES, JACK}))
        with suppress(NotNowError):
            store.use_request(replace(flood, id=name, stamp=name, mark=name))
    assert request_refused(store, replace(cheque, peer=ONES, id="again", mark="again")) is DCP_DUPLICATE
    for dated in (100, 40):
        name = f"honest {dated}"
        honest = replace(cheque, peer=ONES, id=name, stamp=name, mark=name, payload=name, dated=dated)
        store.use_request(honest)


def test_a_revocation_that_may_have_been_forgotten_counts_against_whoever_comes() -> None:
    store = MemoryStore(max_rows=16)
    for number in range(17):
        store.revoke(replace(REQUEST, stamp=f"{number}", dated=100))
    with pytest.raises(NotNowError):
        store.use_request(replace(REQUEST, peer=JACK, stamp="0", dated=100, mark="another"))


def test_an_id_that_may_have_been_forgotten_is_refused_with_another_stamp_of_an_owner() -> None:
    store = MemoryStore(max_rows=16)
    for number in range(9):
        name = f"{number}"
        store.use_request(replace(REQUEST, id=name, stamp=name, mark=name, owners=(), dated=number))
    with pytest.raises(NotNowError):
        store.use_request(replace(REQUEST, id="0", mark="again", dated=0))


def test_a_session_that_goes_on_is_not_the_one_that_is_forgotten() -> None:
    store = MemoryStore(max_rows=8)
    store.use_nonce(FIRST)
    for number in range(20):
        store.use_nonce(replace(FIRST, dcpsid=f"{number}", opened=number + 1))
        store.use_nonce(replace(SECOND, nonce=f"n{number + 1}", following=f"n{number + 2}"))


def test_what_is_remembered_is_as_large_whatever_peers_chose() -> None:
    """A message may have 16 MiB, and a peer some thousand rows."""
    store = MemoryStore()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(1000):
            peer, long = Address(f"{number:040x}"), f"{number}" * 10_000
            store.use_nonce(replace(FIRST, peer=peer, dcpsid=f"{number}" * 100))
            store.use_request(replace(REQUEST, peer=peer, id=long, stamp=long, mark=f"{number:032}"))
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(store) == 3000
    assert (after - before) / len(store) < 300


def test_a_request_that_is_remembered_again_takes_no_more_of_the_memory() -> None:
    store = MemoryStore(max_rows=20)
    for _ in range(10):
        store.use_request(REQUEST)
    assert len(store) == 2


def test_what_is_over_is_kept_for_a_minute_in_case_the_clock_is_set_back() -> None:
    store = MemoryStore()
    store.use_request(REQUEST)
    store.use_nonce(replace(FIRST, now=210, until=300))
    assert request_refused(store, replace(REQUEST, mark="n1.1", now=150)) is DCP_ID_REUSED


# --- both remember the same -------------------------------------------------------------------------------------------

FIRST_UNTIL = 220
CALLS = st.lists(
    st.tuples(
        st.sampled_from(["nonce"] * 4 + ["request"] * 5 + ["give back"] * 2 + ["close", "again", "wait", "wait"]),
        st.integers(0, 1),
        st.integers(0, 2),
        st.sampled_from([(), (ONES,), (TWOS,), (ONES, TWOS)]),
    ),
    min_size=3,
    max_size=15,
)


def calls_of(drawn: list[tuple[str, int, int, tuple[Address, ...]]], example: int) -> Iterator[tuple[str, object]]:
    """The calls of a store, by its methods' names. No two examples have a session or stamp in common."""
    now, numbers = 100, itertools.count()
    nonces = {session: ["first"] for session in range(2)}
    last: tuple[str, object] | None = None
    used: list[RequestUse] = []
    for what, session, number, resources in drawn:
        dcpsid = f"{example} {session}"
        if what == "wait":
            now += (1, 60, 150)[number]
        elif what in ("nonce", "close"):
            nonce = nonces[session][-1 - number % len(nonces[session])]
            nonces[session].append(f"nonce {next(numbers)}")
            is_first = nonce == "first" and now <= FIRST_UNTIL  # later, it is refused before a store is asked
            until = max(now + 100, FIRST_UNTIL)
            closes = what == "close"
            last = "use_nonce", NonceUse(WES, dcpsid, nonce, nonces[session][-1], is_first, now, until, closes=closes)
        elif what == "request":
            mark = f"mark {next(numbers)}"
            peer, stamp = Address(dcpsid), f"{example} {number}"
            payload = f"{example} {number % 2}" if resources else ""
            used.append(RequestUse(peer, f"{number}", stamp, resources, mark, now, now + 40 + number, payload))
            last = "use_request", used[-1]
        elif what == "give back" and used:
            last = "give_back", used[-1 - number % len(used)]
        if last and what != "wait":
            yield last


def test_both_stores_answer_the_same(deployed: Deployed) -> None:
    in_dynamodb = DcpSessions(deployed.clients.dynamodb, deployed.tables["DcpTable"], SerialExecutor())
    numbers = itertools.count()

    @settings(max_examples=examples(100))
    @given(CALLS)
    def check(drawn: list[tuple[str, int, int, tuple[Address, ...]]]) -> None:
        in_memory = MemoryStore()
        for name, argument in calls_of(drawn, next(numbers)):
            answers = []
            for store in (in_memory, in_dynamodb):
                try:
                    answers.append(getattr(store, name)(argument))
                except TheirError as error:
                    answers.append(error.reason)
            assert answers[0] == answers[1], (name, argument)

    check()
