"""functions/worker/dead_letters: a round over the dead letters, also while SQS throttles."""

import json
import time
from collections.abc import Iterator
from types import SimpleNamespace
from uuid import UUID

import pytest
from botocore.awsrequest import AWSResponse, HTTPHeaders
from tests.functions.logs import metrics
from tests.functions.samples import MADE_AT, events
from tests.functions.stack import FunctionsStack, Json

from postroom.api.states import State
from postroom.core.reasons import UNDELIVERABLE
from postroom.outbound.outbox_messages import Outgoing
from postroom.pipeline.claims import unpack
from postroom.pipeline.dead_letters import DEAD_LETTERS_AT_ONCE, ROUND_SECONDS
from postroom.protocols.nlweb.schema import NLWEB
from postroom.protocols.nlweb.sign import Draft
from postroom.storage.aws.object_store import Place
from postroom.storage.mail.outbox import OutboxMessage

LONG_AGO = MADE_AT - 7 * 86_400


@pytest.fixture
def dead_letters(running: FunctionsStack) -> None:
    """Two dead letters whose time has come."""
    write_dead_letters(running, 6, 7)


def write_dead_letters(running: FunctionsStack, *numbers: int) -> None:
    store = running.deployed
    for number in numbers:
        body = events(LONG_AGO)["worker-claims.json"]["Records"][0]["body"].replace(f"{1:032x}", f"{number:032x}")
        store.clients.sqs.send_message(QueueUrl=store.queues["DeadLetterQueue"], MessageBody=body)


@pytest.fixture
def throttled(running: FunctionsStack, request: pytest.FixtureRequest) -> Iterator[None]:
    """SQS throttles this call of the handler."""
    calls, name = running.start("DeadLetterFunction").sqs.meta.events, f"before-call.sqs.{request.param}"

    def refuse(**_: object) -> tuple[object, Json]:
        answer = AWSResponse("https://sqs.example/", 400, HTTPHeaders(), None)
        return answer, {"Error": {"Code": "RequestThrottled"}, "ResponseMetadata": {"HTTPStatusCode": 400}}

    calls.register(name, refuse)
    yield
    calls.unregister(name, refuse)


def test_a_round_receives_ten_dead_letters_at_once_until_none_is_left(running: FunctionsStack) -> None:
    calls, name, requested = (
        running.start("DeadLetterFunction").sqs.meta.events,
        "provide-client-params.sqs.ReceiveMessage",
        [],
    )

    def note(params: Json, **_: object) -> None:
        if params["QueueUrl"] == running.deployed.queues["DeadLetterQueue"]:
            requested.append(params["MaxNumberOfMessages"])

    calls.register(name, note)
    write_dead_letters(running, *range(6, 6 + DEAD_LETTERS_AT_ONCE + 2))
    assert running.invoke("DeadLetterFunction", {})["decided"] == DEAD_LETTERS_AT_ONCE + 2
    calls.unregister(name, note)
    assert requested == [DEAD_LETTERS_AT_ONCE] * 3


@pytest.mark.parametrize(("passing", "receives"), [(ROUND_SECONDS - 0.001, 2), (ROUND_SECONDS, 1)])
def test_dead_letters_are_received_until_the_round_is_over_and_the_rest_waits_for_the_next(
    running: FunctionsStack, monkeypatch: pytest.MonkeyPatch, passing: float, receives: int
) -> None:
    handler, now = running.start("DeadLetterFunction"), 0.0
    monkeypatch.setattr(handler, "time", SimpleNamespace(monotonic=lambda: now, time=time.time))

    def pass_by(params: Json, **_: object) -> None:
        nonlocal now
        now += passing if params["QueueUrl"] == running.deployed.queues["DeadLetterQueue"] else 0

    handler.sqs.meta.events.register("provide-client-params.sqs.ReceiveMessage", pass_by)
    write_dead_letters(running, *range(6, 6 + 2 * DEAD_LETTERS_AT_ONCE + 1))
    assert running.invoke("DeadLetterFunction", {})["decided"] == receives * DEAD_LETTERS_AT_ONCE
    assert len(running.deployed.bodies("DeadLetterQueue")) == (2 - receives) * DEAD_LETTERS_AT_ONCE + 1
    handler.sqs.meta.events.unregister("provide-client-params.sqs.ReceiveMessage", pass_by)


@pytest.mark.parametrize("throttled", ["ReceiveMessage"], indirect=True)
def test_a_round_that_cannot_receive_ends_and_says_what_it_saw(
    running: FunctionsStack, dead_letters: None, throttled: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert running.invoke("DeadLetterFunction", {}) == {"seen": 0, "decided": 0, "unreadable": 0, "given_up": 0}
    assert metrics(capsys.readouterr().out) == {
        "DeadLetters": [0.0],
        "Undeliverable": [0.0],
        "QuotaExhausted": [1.0, 1.0],
    }


@pytest.mark.parametrize("throttled", ["DeleteMessage"], indirect=True)
def test_a_dead_letter_that_was_decided_and_not_deleted_stays_and_is_reported(
    running: FunctionsStack, dead_letters: None, throttled: None, capsys: pytest.CaptureFixture[str]
) -> None:
    store = running.deployed
    assert running.invoke("DeadLetterFunction", {}) == {"seen": 2, "decided": 2, "unreadable": 0, "given_up": 0}
    assert metrics(capsys.readouterr().out) == {"DeadLetters": [0.0], "Undeliverable": [2.0], "QuotaExhausted": [1.0]}
    assert [row["why"]["S"] for row in store.rows("PostTable")] == [f"discarded:{UNDELIVERABLE}"] * 2
    assert len(store.bodies("DeadLetterQueue")) == 2
    assert {json.loads(feedback)["reason"] for feedback in store.bodies("FeedbackQueue")} == {str(UNDELIVERABLE)}


def test_a_dead_letter_too_large_for_the_queue_is_decided_by_calls_that_the_role_allows(
    running: FunctionsStack,
) -> None:
    store = running.deployed
    [claim] = [json.loads(record["body"])["claim"] for record in events(LONG_AGO)["worker-claims.json"]["Records"][:1]]
    store.storage.objects.put("claim/x", json.dumps(claim).encode())
    body = {"at": "claim/x", "claim": {**claim, "envelope": ""}, "feedback": None, "tries": 0}
    store.clients.sqs.send_message(QueueUrl=store.queues["DeadLetterQueue"], MessageBody=json.dumps(body))
    assert running.invoke("DeadLetterFunction", {})["decided"] == 1
    assert [row["why"]["S"] for row in store.rows("PostTable")] == [f"discarded:{UNDELIVERABLE}"]
    assert store.objects() == {}
    assert {call.action for call in running.calls} == {
        "sqs:ReceiveMessage", "sqs:DeleteMessage", "dynamodb:PutItem", "s3:DeleteObject",
    }  # fmt: skip


def test_a_dead_letter_whose_message_was_filed_after_all_is_shown_by_calls_that_the_role_allows(
    running: FunctionsStack,
) -> None:
    store = running.deployed
    write_dead_letters(running, 6)
    [body] = store.bodies("DeadLetterQueue")
    row = unpack(body, store.storage.objects).claim.row
    assert store.storage.register.file(row, Place("seg/x", 0, 1), "sender.example") is None
    assert running.invoke("DeadLetterFunction", {})["decided"] == 1
    assert store.storage.heads.read(row.pk).generation == 1
    assert {call.action for call in running.calls} == {
        "sqs:ReceiveMessage", "sqs:DeleteMessage", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem",
    }  # fmt: skip


def test_a_message_of_an_owners_that_became_a_dead_letter_is_given_up_by_calls_that_the_role_allows(
    running: FunctionsStack, capsys: pytest.CaptureFixture[str]
) -> None:
    store = running.deployed
    outbox = store.storage.outbox
    made_ms = MADE_AT * 1000
    for number in (1, 2):
        correlation, at_ms = str(UUID(int=number)), made_ms - 2 * 86_400_000 * (number == 1)
        message = OutboxMessage(
            "receiver.example", correlation, at_ms, "sender.example", "Hello@Host", f"token {number}"
        )
        outbox.put(message, now=MADE_AT, forget_at=MADE_AT + 86_400)
        draft = Draft(message.mailbox, message.receiver, message.subject, correlation, at_ms, "hello", dialect=NLWEB)
        store.clients.sqs.send_message(
            QueueUrl=store.queues["CourierDeadLetterQueue"], MessageBody=Outgoing(draft, "one").encode()
        )
    assert running.invoke("DeadLetterFunction", {})["given_up"] == 1
    old, young = (outbox.find("receiver.example", str(UUID(int=number))) for number in (1, 2))
    assert old
    assert old.end
    assert (old.state, old.end.reason) == (State.GIVEN_UP, "Undeliverable")
    assert young
    assert young.state is State.QUEUED
    [left] = store.bodies("CourierDeadLetterQueue")
    assert str(UUID(int=2)) in left
    assert metrics(capsys.readouterr().out)["OutboxGivenUp"] == [1.0]
