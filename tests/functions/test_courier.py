"""functions/courier: queue messages about discards in, Feedback out, and what SQS is to deliver again."""

import json

import pytest
from tests.fakes.post_offices import FakePostOffices
from tests.functions.logs import log_lines, metrics
from tests.functions.samples import BUFFER, CORRELATION, MADE_AT, RECEIVER, SENDER, discarded_row, events, sqs
from tests.functions.stack import FunctionsStack

from postroom.net.address_locks import AddressLocks
from postroom.outbound.discard_messages import DiscardNotification
from postroom.outbound.notification_messages import MailWaiting
from postroom.protocols.nlweb.reasons import SIGNATURE_INVALID
from postroom.protocols.nlweb.schema import NLWEB
from postroom.storage.layout import row_key


def feedback() -> str:
    body: str = events()["feedback-discard.json"]["Records"][0]["body"]
    return body


@pytest.fixture(autouse=True)
def discarded(running: FunctionsStack) -> None:
    register = running.deployed.storage.register
    register.discard(discarded_row(MADE_AT), SIGNATURE_INVALID, MADE_AT + 86_400)


@pytest.mark.parametrize("junk", ["", "no JSON", "[]", "7", "{}", '{"form": 2}', '{"form": 1, "dialect": "x"}'])
def test_only_a_message_that_is_no_queue_message_of_ours_is_redelivered(
    running: FunctionsStack, post_offices: FakePostOffices, junk: str, capsys: pytest.CaptureFixture[str]
) -> None:
    event = sqs("FeedbackQueue", MADE_AT, junk, feedback())
    failed = [{"itemIdentifier": event["Records"][0]["messageId"]}]
    assert running.invoke("FeedbackFunction", event) == {"batchItemFailures": failed}
    assert len(post_offices.posted) == 1
    assert metrics(capsys.readouterr().out) == {"FeedbackFailed": [1.0], "FeedbackDelivered": [1.0]}


def test_feedback_that_an_earlier_release_left_in_the_couriers_queue_is_moved_to_its_own(
    running: FunctionsStack, post_offices: FakePostOffices
) -> None:
    assert running.invoke("CourierFunction", sqs("CourierQueue", MADE_AT, feedback())) == {"batchItemFailures": []}
    assert post_offices.posted == []
    [moved] = running.deployed.bodies("FeedbackQueue")
    assert json.loads(moved) == json.loads(feedback())
    running.invoke("FeedbackFunction", sqs("FeedbackQueue", MADE_AT, moved))
    assert len(post_offices.posted) == 1


@pytest.fixture
def many_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    """All hosts are at one address here: otherwise each would wait for the others."""
    monkeypatch.setattr(AddressLocks, "acquire", lambda _self, _address: None)


@pytest.mark.usefixtures("many_hosts")
def test_no_feedback_waits_for_the_host_of_another(running: FunctionsStack, post_offices: FakePostOffices) -> None:
    row = row_key(RECEIVER, 1, MADE_AT * 1000, f"{8:032x}")
    running.deployed.storage.register.discard(row, SIGNATURE_INVALID, MADE_AT + 86_400)
    quick = DiscardNotification(
        row, SIGNATURE_INVALID, RECEIVER, BUFFER, CORRELATION.format(8), "0" * 64, NLWEB, MADE_AT * 1000
    )
    post_offices.buffers, post_offices.slow = {SENDER: BUFFER, BUFFER: BUFFER}, {SENDER}
    event = sqs("FeedbackQueue", MADE_AT, feedback(), quick.encode())
    assert running.invoke("FeedbackFunction", event) == {"batchItemFailures": []}
    told = [json.loads(posted)["Body"]["Correlation"] for posted in post_offices.posted]
    assert told == [CORRELATION.format(8), CORRELATION.format(9)]


def test_a_message_of_another_kind_in_the_queue_of_feedback_is_redelivered(running: FunctionsStack) -> None:
    event = sqs("FeedbackQueue", MADE_AT, MailWaiting(RECEIVER).encode())
    failed = [{"itemIdentifier": event["Records"][0]["messageId"]}]
    assert running.invoke("FeedbackFunction", event) == {"batchItemFailures": failed}


def test_while_the_key_of_its_domain_cannot_be_read_a_feedback_waits(
    running: FunctionsStack, post_offices: FakePostOffices
) -> None:
    store = running.deployed
    keys = json.loads(store.clients.secrets.get_secret_value(SecretId=store.secrets["SigningKeys"])["SecretString"])
    store.clients.secrets.put_secret_value(
        SecretId=store.secrets["SigningKeys"], SecretString=json.dumps({RECEIVER: {**keys[RECEIVER], "pem": "none"}})
    )
    assert running.invoke("FeedbackFunction", sqs("FeedbackQueue", MADE_AT, feedback())) == {"batchItemFailures": []}
    assert post_offices.posted == []
    [waiting] = store.bodies("FeedbackQueue")
    assert json.loads(waiting)["tries"] == 1


def test_a_buffer_that_is_down_is_tried_again_later_with_the_same_feedback(
    running: FunctionsStack, post_offices: FakePostOffices, capsys: pytest.CaptureFixture[str]
) -> None:
    post_offices.status = 503
    assert running.invoke("FeedbackFunction", sqs("FeedbackQueue", MADE_AT, feedback())) == {"batchItemFailures": []}
    assert metrics(capsys.readouterr().out) == {"FeedbackWaiting": [1.0]}
    [waiting] = running.deployed.bodies("FeedbackQueue")
    assert json.loads(waiting)["tries"] == 1
    post_offices.status = 200
    running.invoke("FeedbackFunction", sqs("FeedbackQueue", MADE_AT, waiting))
    first, second = map(json.loads, post_offices.posted)
    assert first == second


def test_the_log_names_each_feedback_its_receiver_and_its_reason(
    running: FunctionsStack, capsys: pytest.CaptureFixture[str]
) -> None:
    running.invoke("FeedbackFunction", sqs("FeedbackQueue", MADE_AT, feedback()))
    output = capsys.readouterr().out
    [line] = log_lines(output)
    assert line["message"] == "delivered"
    assert (line["sender"], line["receiver"]) == (SENDER, RECEIVER)
    assert (line["correlation"], line["reason"]) == (CORRELATION.format(9), str(SIGNATURE_INVALID))
    assert "PRIVATE KEY" not in output
    assert BUFFER not in output
    assert metrics(output) == {"FeedbackDelivered": [1.0]}
