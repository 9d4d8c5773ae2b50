"""Requests that wait for a message: how many at a time, of a mailbox and in all, and what the others get."""

from base64 import b64encode
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext

import pytest
from botocore.exceptions import ClientError
from tests.aws import gate_calls, new_clients
from tests.http.api_stack import SHOP, SHOP_KEY, ApiStack, Owner, RouterOfBoth, said

from postroom.http.response import HttpResponse
from postroom.http.waits import HOLD_SECONDS, UNRESERVED, most_waits

TEXT = '{"Header":{}}'
WRITES = ("PutItem", "DeleteItem", "UpdateItem")
RUNS = 10
OTHERS = [f"other{number}.com" for number in range(12)]


class Crowd:
    """Requests that wait at the same time, at instances of a deployment with a reserved concurrency of `runs`.

    `waiting`: how many wait now. `answers`: of those that have ended. `calls`: to AWS.
    """

    def __init__(self, api: ApiStack, runs: int = RUNS) -> None:
        self.api = api
        self.runs = runs
        self.waiting = self.most_waiting = 0
        self.answers: list[HttpResponse] = []
        self.calls: Counter[str] = Counter()
        self.gate: Callable[[str], None] = lambda _: None
        self.tokens: dict[str, str] = {}
        for name in (SHOP, *OTHERS):
            api.mailboxes.set_keys(name, [b64encode(SHOP_KEY.public.spki()).decode()])
        api.sleep = self._sleep
        self._next: list[Callable[[], object]] = []

    def instance(self) -> None:
        """Make the API that of a new instance."""
        clients = new_clients()
        gate_calls(clients, self._pass)
        parts = self.api.parts(clients, mailbox_api_reserved_concurrency=self.runs)
        self.api.router = RouterOfBoth.of(parts.mailbox_api)

    def wait(self, *names: str, then: Callable[[], object] = lambda: None) -> None:
        """One request after the other, each while the ones before it wait; and then something else."""
        self.answers.clear()
        for name in {*names} - {*self.tokens}:
            self.tokens[name] = Owner(self.api, name).token
        self._next = [lambda name=name: self._ask(name) for name in names] + [then]
        self._next.pop(0)()
        while self._next:
            self._next.pop(0)()

    def again_after(self) -> list[str]:
        """The Retry-After of each answer."""
        return [answer.headers.get("Retry-After", "") for answer in self.answers]

    def rows(self) -> int:
        """The rows of waits."""
        rows = self.api.deployed.clients.dynamodb.scan(TableName=self.api.deployed.tables["LimitsTable"])["Items"]
        return sum(row["pk"]["S"].startswith("waits#") for row in rows)

    def _ask(self, name: str) -> None:
        self.instance()
        self.answers.append(
            self.api.ask("GET", f"/mailboxes/{name}/messages", token=self.tokens[name], query={"wait": "20"})
        )

    def _sleep(self, seconds: float) -> None:
        self.waiting += 1
        self.most_waiting = max(self.most_waiting, self.waiting)
        try:
            if self._next:
                self._next.pop(0)()
        finally:
            self.waiting -= 1
        self.api.clock.now += seconds

    def _pass(self, operation: str) -> AbstractContextManager[object]:
        self.gate(operation)
        self.calls[operation] += 1
        return nullcontext()


def test_waits_over_dcp_are_counted_by_themselves(api: ApiStack) -> None:
    parts = api.parts().mailbox_api
    with ExitStack() as held:
        for runs in (parts.waits, parts.dcp_waits):
            assert [held.enter_context(runs.hold(SHOP)) for _ in range(6)] == [True] * 4 + [False] * 2


@pytest.mark.parametrize(("reserved", "in_all"), [(100, 50), (10, 5), (3, 1), (1, 0)])
def test_half_of_the_reserved_runs_are_never_given_to_waits(reserved: int, in_all: int) -> None:
    assert most_waits(reserved) == in_all <= reserved / 2


def test_without_reserved_concurrency_a_fixed_number_of_requests_may_wait() -> None:
    assert most_waits(0) == UNRESERVED == 5


def test_of_twelve_waits_of_a_mailbox_three_hold_a_run_and_the_others_are_answered_at_once(api: ApiStack) -> None:
    crowd = Crowd(api)
    crowd.wait(*[SHOP] * 12)
    assert crowd.most_waiting == 3
    # The last requests were answered first.
    assert crowd.again_after() == ["5"] * 9 + [""] * 3
    assert all(said(answer) == said(crowd.answers[-1]) for answer in crowd.answers)
    assert [answer.wait_refused for answer in crowd.answers] == [True] * 9 + [False] * 3


def test_beside_twelve_waits_of_a_mailbox_others_sign_in_and_wait(api: ApiStack) -> None:
    crowd = Crowd(api)
    during: list[int] = []

    def sign_in() -> None:
        Owner(api, OTHERS[0])
        during.append(crowd.waiting)

    crowd.wait(*[SHOP] * 12, *OTHERS, then=sign_in)
    assert RUNS - during[0] == 5
    assert crowd.again_after().count("") == crowd.most_waiting == 5


def test_a_wait_takes_two_writes_and_a_refused_one_none(api: ApiStack) -> None:
    crowd = Crowd(api)
    crowd.wait(*[SHOP] * 12)
    assert sum(crowd.calls[name] for name in WRITES) == 2 * crowd.most_waiting == 6
    assert crowd.rows() == 0


def test_a_request_that_finds_a_message_at_once_takes_no_write(api: ApiStack) -> None:
    api.file(TEXT)
    crowd = Crowd(api)
    crowd.wait(SHOP)
    assert [len(said(answer)["messages"]) for answer in crowd.answers] == [1]
    assert sum(crowd.calls[name] for name in WRITES) == 0


class KilledError(BaseException):
    """The end of a process."""


def test_waits_of_killed_runs_do_not_count_once_their_time_is_over(api: ApiStack) -> None:
    crowd = Crowd(api)

    def die(operation: str = "DeleteItem") -> None:
        if operation == "DeleteItem":
            raise KilledError

    crowd.gate = die
    with pytest.raises(KilledError):
        crowd.wait(*[SHOP] * 3, then=die)
    crowd.gate = lambda _: None
    api.clock.now += HOLD_SECONDS
    crowd.wait(SHOP)
    assert crowd.again_after() == ["5"]
    api.clock.now += 1
    crowd.wait(*[SHOP] * 12)
    assert crowd.again_after().count("") == 3
    assert crowd.rows() == 0


def test_if_the_table_is_throttled_the_mailbox_is_listed_without_waiting(api: ApiStack) -> None:
    crowd = Crowd(api)

    def throttle(operation: str) -> None:
        if operation == "PutItem":
            raise ClientError({"Error": {"Code": "ThrottlingException", "Message": "slow down"}}, operation)

    crowd.gate = throttle
    crowd.wait(SHOP)
    assert [said(answer)["messages"] for answer in crowd.answers] == [[]]
    assert crowd.again_after() == ["5"]
    assert crowd.most_waiting == 0
