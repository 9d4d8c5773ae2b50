"""Synchronous requests that look a key up: how many at a time, of a domain and in all, and what the others get."""

import json
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import pytest
from botocore.exceptions import EndpointConnectionError
from tests.aws import Deployed, gate_calls, new_clients
from tests.fakes.clock import FakeClock
from tests.fakes.pipeline import FakeHandlers

from postroom.core.errors import NotNowError
from postroom.core.settings import DeploymentSettings
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.http.response import RETRY_AFTER_SECONDS, HttpResponse
from postroom.names.dns import Answer, Ask, Question
from postroom.pipeline.look_ups import (
    HOLD_SECONDS,
    ONE_OF,
    UNRESERVED_RUNS,
    most_look_ups,
)
from postroom.pipeline.nlweb_inbox import NlwebInbox, Posted
from postroom.protocols.nlweb.reasons import KEY_LOOKUP_FAILED
from postroom.protocols.nlweb.sign import Draft, sign
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.runtime.deployment import Deployment
from postroom.runtime.system import System
from postroom.storage.directory.domains import Domain

RECEIVER, RUNS = "receiver.example", 10
KEY = PrivateKey.generate("ed25519")
WRITES = ("PutItem", "DeleteItem", "UpdateItem")
SILENT = [f"silent{number}.example" for number in range(20)]


class Crowd:
    """Requests at instances of one deployment, while DNS is silent: each comes while those before it look a key up.

    `looking`: how many do so now. `questions`: to DNS. `calls`: to AWS.
    """

    def __init__(self, deployed: Deployed, runs: int = RUNS) -> None:
        self.deployed = deployed
        self.runs = runs
        self.clock = FakeClock(1_800_000_000.0)
        self.looking = self.most_looking = self.questions = 0
        self.answers: list[HttpResponse] = []
        self.calls: Counter[str] = Counter()
        self.gate: Callable[[str], None] = lambda _: None
        operators = deployed.storage.operators
        operators.put_domain(Domain(RECEIVER))
        operators.put_subject(RECEIVER, SubjectRule("*@Host", Treatment.MAILBOX, RECEIVER))
        self._next: list[Callable[[], object]] = []

    def instance(self) -> NlwebInbox:
        """The inbox of a new instance."""
        clients = new_clients()
        gate_calls(clients, self._pass)
        parts: Deployment = self.deployed.parts(clients, System(clock=self.clock), inbox_reserved_concurrency=self.runs)
        parts.names.resolvers = self  # type: ignore[assignment]
        parts.pipeline.handlers = FakeHandlers()
        return parts.pipeline.nlweb_inbox

    def asking(self, _seconds: float) -> Ask:
        """Silent resolvers; while they are waited for, the next requests come."""

        def ask(question: Question) -> Answer:
            self.questions += 1
            self.looking += 1
            self.most_looking = max(self.most_looking, self.looking)
            while self._next:
                self._next.pop(0)()
            self.looking -= 1
            raise NotNowError(KEY_LOOKUP_FAILED, f"no resolver answered {question}: timed out")

        return ask

    def ask_from(self, *senders: str, then: Callable[[], object] = lambda: None) -> list[HttpResponse]:
        """The answers to synchronous requests of these senders, in the order in which they are answered."""
        self.answers.clear()
        self._next = [lambda sender=sender: self._post(sender, "Identity@Graph") for sender in senders] + [then]
        while self._next:
            self._next.pop(0)()
        return self.answers

    def post(self, sender: str, subject: str, inbox: NlwebInbox | None = None) -> HttpResponse:
        """The answer to one message."""
        draft = Draft(
            sender=sender, receiver=RECEIVER, subject=subject, timestamp_ms=int(self.clock() * 1000),
            correlation=f"5f0d8f9e-0000-4000-8000-{len(self.answers):012d}", body={"Domain": RECEIVER}, selector="pk1",
        )  # fmt: skip
        body = json.dumps(sign(draft, KEY)).encode()
        return (inbox or self.instance()).post(Posted(body, "application/json", "", "192.0.2.1"))

    def _post(self, sender: str, subject: str) -> None:
        self.answers.append(self.post(sender, subject))

    def _pass(self, operation: str) -> AbstractContextManager[object]:
        self.calls[operation] += 1
        self.gate(operation)
        return nullcontext()

    def writes(self) -> int:
        return sum(self.calls[operation] for operation in WRITES)


def reasons(answers: list[HttpResponse]) -> Counter[str]:
    return Counter(str(answer.reason) for answer in answers)


def test_of_twenty_requests_two_of_ten_runs_look_keys_up_and_the_others_are_answered_at_once(
    deployed: Deployed,
) -> None:
    crowd = Crowd(deployed)
    answers = crowd.ask_from(*SILENT)
    assert (crowd.most_looking, crowd.questions) == (2, 2)
    assert reasons(answers) == {"TooManyLookUps": 18, "KeyLookupFailed": 2}
    assert {answer.status for answer in answers} == {503}
    assert {answer.headers["Retry-After"] for answer in answers} == {str(RETRY_AFTER_SECONDS)}
    assert crowd.writes() == 4, "two for each look-up, and none for what is refused"
    assert deployed.rows("LimitsTable") == []


def test_meanwhile_messages_are_queued(deployed: Deployed) -> None:
    crowd, queued = Crowd(deployed), list[HttpResponse]()
    crowd.ask_from(*SILENT, then=lambda: queued.append(crowd.post(SILENT[0], "Hello@Host")))
    assert [answer.status for answer in queued] == [200]
    assert len(deployed.bodies("ClaimsQueue")) == 1


def test_one_domain_takes_half_of_the_look_ups_at_most(deployed: Deployed) -> None:
    crowd = Crowd(deployed)
    answers = crowd.ask_from(*[SILENT[0]] * 20)
    assert crowd.most_looking == 1
    assert reasons(answers) == {"TooManyLookUps": 19, "KeyLookupFailed": 1}


def test_a_silent_domain_is_asked_once_by_an_instance_and_then_holds_no_run(deployed: Deployed) -> None:
    crowd = Crowd(deployed)
    inbox = crowd.instance()
    for _ in range(5):
        assert str(crowd.post(SILENT[0], "Identity@Graph", inbox).reason) == "KeyLookupFailed"
    assert (crowd.questions, crowd.writes()) == (1, 2)


def test_a_look_up_of_a_killed_run_does_not_count_for_long(deployed: Deployed) -> None:
    crowd = Crowd(deployed, runs=ONE_OF)

    def is_killed(operation: str) -> None:
        if operation == "DeleteItem":
            raise EndpointConnectionError(endpoint_url="the run was killed")

    crowd.gate = is_killed
    assert reasons(crowd.ask_from(SILENT[0])) == {"KeyLookupFailed": 1}
    crowd.clock.now += HOLD_SECONDS
    assert reasons(crowd.ask_from(SILENT[1])) == {"TooManyLookUps": 1}
    crowd.clock.now += 1
    assert reasons(crowd.ask_from(SILENT[2])) == {"KeyLookupFailed": 1}


@pytest.mark.parametrize(("reserved", "most"), [(200, 40), (10, 2), (4, 1), (1, 1)])
def test_a_fifth_of_the_reserved_runs_may_look_keys_up(reserved: int, most: int) -> None:
    assert most_look_ups(reserved) == most
    assert most <= max(1, reserved / ONE_OF)


def test_without_reserved_runs_those_of_a_new_account_are_counted_on() -> None:
    assert most_look_ups(0) == most_look_ups(UNRESERVED_RUNS) == 2


def test_the_settings_agree_with_the_template() -> None:
    assert most_look_ups(DeploymentSettings().inbox_reserved_concurrency) == 40
