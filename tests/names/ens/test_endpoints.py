"""Endpoints of a chain over HTTP: honest ones, and those that fail, lie, lag or are slow."""

import json
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from threading import Event
from typing import Any

import pytest
from tests.fakes.endpoints import FakeEndpoint, fake_endpoint
from tests.names.patience import unhurried
from tests.patience import PATIENCE

from postroom.names.ens import endpoints
from postroom.names.ens.calls import Call, Returned, Reverted
from postroom.names.ens.endpoints import Agreed, ChainEndpoints, DisagreementError, EndpointVerdict
from postroom.names.ens.rpc import MAX_ANSWER_BYTES, Block
from postroom.net.endpoint_client import EndpointClient
from postroom.protocols.dm3.reasons import PROFILE_LOOKUP_FAILED

NOW = 1_800_000_000
CALLS = [Call(b"\x01" * 20, b"\x02"), Call(b"\x03" * 20, b"\x04")]


def honest(body: bytes, first: str = "0x0a", block: int = 16, age: int = 0) -> bytes:
    """The answer of a node to CALLS: the first returns, the second reverts."""
    found: list[dict[str, Any]] = [
        {"result": "0x1"}, {"result": {"number": hex(block), "timestamp": hex(NOW - age)}}, {"result": first},
        {"error": {"code": 3, "message": "execution reverted", "data": "0xff"}},
    ]  # fmt: skip
    assert [request["id"] for request in json.loads(body)] == list(range(len(found)))
    return json.dumps([{"jsonrpc": "2.0", "id": number, **each} for number, each in enumerate(found)]).encode()


def fails(body: bytes) -> tuple[int, dict[str, str], bytes]:
    return 503, {}, body


def lies(body: bytes) -> bytes:
    return honest(body, first="0xbb")


def is_stale(body: bytes) -> bytes:
    return honest(body, age=1000)


HONEST = (Returned(b"\x0a"), Reverted(b"\xff"))


class Town:
    """Endpoints by what they do."""

    def __init__(self, undo: ExitStack) -> None:
        self._undo = undo
        self._pool = undo.enter_context(ThreadPoolExecutor(8))
        self.servers: list[FakeEndpoint] = []
        self.observed: list[tuple[EndpointVerdict, ...]] = []

    def agree(
        self, *answers: Any, quorum: int = 2, seconds: float = PATIENCE, judge: Any = lambda outcomes: outcomes
    ) -> Agreed[Any]:
        self.servers = [self._undo.enter_context(fake_endpoint(answer)) for answer in answers]
        clients = []
        for server in self.servers:
            client = EndpointClient(f"http://127.0.0.1:{server.port}/KEY", max_response_bytes=MAX_ANSWER_BYTES)
            self._undo.callback(client.close)
            clients.append(client)
        endpoints = ChainEndpoints(clients, quorum, 1, self._pool, observe=self.observed.append)
        return endpoints.agree(CALLS, judge, seconds=seconds, now=NOW)

    def asked(self) -> list[int]:
        """How often each endpoint was asked."""
        return [len(server.bodies) for server in self.servers]


@pytest.fixture
def town() -> Iterator[Town]:
    with ExitStack() as undo, unhurried():
        yield Town(undo)


def test_two_that_say_the_same_are_believed_and_nobody_else_is_asked(town: Town) -> None:
    agreed = town.agree(honest, honest, honest)
    assert (agreed.said, agreed.alike, town.asked()) == (HONEST, 2, [1, 1, 0])
    assert [(verdict.host, verdict.block, verdict.why) for verdict in agreed.verdicts] == [
        ("127.0.0.1", Block(16, NOW), "")
    ] * 2


@pytest.mark.parametrize("broken", [fails, is_stale, lambda _: b"<html>"], ids=["fails", "is stale", "HTML"])
def test_the_next_one_is_asked_for_one_that_fails(town: Town, broken: Any) -> None:
    agreed = town.agree(broken, honest, honest)
    assert (agreed.said, town.asked()) == (HONEST, [1, 1, 1])
    assert [verdict.block is None for verdict in agreed.verdicts].count(True) == 1


def test_one_that_lies_is_outvoted_and_named(town: Town) -> None:
    agreed = town.agree(lies, honest, honest)
    assert (agreed.said, agreed.alike) == (HONEST, 2)
    assert sorted(verdict.why for verdict in agreed.verdicts) == ["", "", "too few others said the same"]


def differing(town: Town) -> list[bool]:
    [verdicts] = town.observed
    return sorted(verdict.differs for verdict in verdicts)


def test_who_observes_is_given_what_became_of_each_request(town: Town) -> None:
    agreed = town.agree(fails, honest, honest)
    assert town.observed == [agreed.verdicts]
    assert sorted(verdict.why for verdict in agreed.verdicts) == ["", "", "it answered with status 503"]
    assert differing(town) == [False] * 3


def test_who_observes_is_shown_one_that_is_outvoted(town: Town) -> None:
    town.agree(lies, honest, honest)
    assert differing(town) == [False, False, True]


def test_of_two_that_differ_nobody_knows_which_one_lies(town: Town) -> None:
    with pytest.raises(DisagreementError) as caught:
        town.agree(lies, honest)
    assert town.observed == [caught.value.verdicts]
    assert differing(town) == [True, True]


def test_one_that_answers_alone_does_not_differ(town: Town) -> None:
    with pytest.raises(DisagreementError):
        town.agree(fails, honest)
    assert differing(town) == [False, False]


def test_two_that_say_the_same_where_three_are_needed_do_not_differ(town: Town) -> None:
    with pytest.raises(DisagreementError):
        town.agree(honest, honest, fails, quorum=3)
    assert differing(town) == [False] * 3


def test_two_that_differ_are_not_believed(town: Town) -> None:
    with pytest.raises(DisagreementError, match="1 of 2 endpoints of the chain said the same; 2 are needed") as caught:
        town.agree(lies, honest)
    assert caught.value.reason == PROFILE_LOOKUP_FAILED
    assert [verdict.why for verdict in caught.value.verdicts] == ["too few others said the same"] * 2


def test_what_endpoints_say_alike_at_different_blocks_counts_and_the_newest_block_is_told(town: Town) -> None:
    agreed = town.agree(honest, lambda body: honest(body, block=17))
    assert agreed.block.number == 17


def test_the_block_of_one_that_is_outvoted_is_not_told(town: Town) -> None:
    agreed = town.agree(lambda body: honest(body, first="0xbb", block=99), honest, honest)
    assert agreed.block.number == 16


def test_with_a_quorum_of_one_the_first_that_answers_is_believed(town: Town) -> None:
    agreed = town.agree(fails, lies, honest, quorum=1)
    assert (agreed.said[0], agreed.alike, town.asked()) == (Returned(b"\xbb"), 1, [1, 1, 0])


def test_without_an_endpoint_nothing_is_believed(town: Town) -> None:
    with pytest.raises(DisagreementError, match="no endpoint of the chain is set"):
        town.agree()


def test_one_that_does_not_answer_in_time_is_told(town: Town) -> None:
    over = Event()

    def is_silent(body: bytes) -> bytes:
        over.wait()
        return body

    with pytest.raises(DisagreementError) as caught:
        town.agree(is_silent, is_silent, seconds=0.1)
    over.set()
    assert {verdict.why for verdict in caught.value.verdicts} == {"it did not answer in time"}


def test_the_next_one_is_asked_for_one_that_is_late(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "LATE_SECONDS", 0.05)
    over = Event()

    def is_silent(body: bytes) -> bytes:
        over.wait()
        return body

    agreed = town.agree(is_silent, honest, honest)
    over.set()
    assert (agreed.said, town.asked()) == (HONEST, [1, 1, 1])
    assert [verdict.why for verdict in agreed.verdicts] == ["", "", "it did not answer in time"]
    assert 0.05 <= agreed.verdicts[-1].seconds < PATIENCE, "how long it was waited for"


def test_the_answer_of_one_that_was_late_counts(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "LATE_SECONDS", 0.05)
    others_were_asked = Event()

    def is_late(body: bytes) -> bytes:
        assert others_were_asked.wait(PATIENCE)
        return honest(body)

    def fails_last(body: bytes) -> tuple[int, dict[str, str], bytes]:
        others_were_asked.set()
        return fails(body)

    agreed = town.agree(is_late, honest, fails_last)
    assert (agreed.said, agreed.alike, town.asked()) == (HONEST, 2, [1, 1, 1])


class TogetherPool(Executor):
    """A pool whose calls end together, when there are so many."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._begun: list[tuple[Future[Any], Any]] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._begun.append((future, partial(fn, *args, **kwargs)))
        if len(self._begun) == self._number:
            for each, call in self._begun:
                each.set_result(call())
        return future


class Answers:
    """An endpoint that answers so."""

    def __init__(self, host: str, answer: Any) -> None:
        self.host, self._answer = host, answer

    def post(self, body: bytes, seconds: float) -> bytes:
        answer: bytes = self._answer(body)
        return answer

    def close(self) -> None:
        """Nothing is open."""


def test_one_that_differs_and_has_answered_is_told_so_though_others_agreed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "LATE_SECONDS", 0.0)
    both = [Answers("late.test", honest), Answers("next.test", lies)]
    agreed = ChainEndpoints(both, 1, 1, TogetherPool(2)).agree(CALLS, lambda found: found, seconds=PATIENCE, now=NOW)
    assert agreed.said == HONEST
    assert [(each.host, each.differs) for each in agreed.verdicts] == [("late.test", False), ("next.test", True)]


def test_no_error_shows_more_of_an_endpoint_than_its_host(town: Town) -> None:
    with pytest.raises(DisagreementError) as caught:
        town.agree(fails, fails)
    assert "KEY" not in f"{caught.value} {caught.value.verdicts}"


def test_only_what_is_judged_must_be_alike(town: Town) -> None:
    agreed = town.agree(honest, lies, judge=lambda outcomes: isinstance(outcomes[0], Returned))
    assert (agreed.said, agreed.alike) == (True, 2)
