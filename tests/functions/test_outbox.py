"""functions/mailbox, courier and worker: what an owner sends goes out, and what became of it is shown."""

import json
from base64 import b64encode
from typing import Any

import pytest
from tests.fakes.post_offices import FakePostOffices
from tests.functions.logs import log_lines, metrics
from tests.functions.samples import MADE_AT, RECEIVER, SENDER, http, published_key, sqs
from tests.functions.stack import FunctionsStack, Json, functions_stack
from tests.functions.test_mailbox import ask, said, sign_in

from postroom.net.https import MAX_RESPONSE_BYTES
from postroom.protocols.nlweb.sign import Draft, sign
from postroom.storage.directory.domains import Domain

AT = f"/mailboxes/{RECEIVER}/outbox"
MESSAGE = {"token": "t1", "to": SENDER, "subject": "Hello@Host", "body": {"Text": "Good morning ☀"}}


@pytest.fixture
def token(running: FunctionsStack) -> str:
    """Of the owner of receiver.example, who may send from now on."""
    storage = running.deployed.storage
    storage.operators.put_domain(Domain(RECEIVER, buffer=True, signs=True))
    storage.mailboxes.set_keys(RECEIVER, [b64encode(published_key().public.spki()).decode()])
    running.deployed.clients.s3.put_object(Bucket=running.deployed.bucket, Key="registry/names.yaml", Body=b"{}")
    return sign_in(running)


def send(running: FunctionsStack, token: str, **other: object) -> str:
    correlation: str = said(ask(running, "POST", AT, {**MESSAGE, **other}, token=token))["correlation"]
    return correlation


def courier(running: FunctionsStack, body: str = "") -> None:
    """The courier's turn, with what was queued last."""
    carried = body or running.deployed.bodies("CourierQueue")[-1]
    answer = running.invoke("CourierFunction", sqs("CourierQueue", MADE_AT, carried))
    assert answer == {"batchItemFailures": []}


def shown(running: FunctionsStack, token: str, correlation: str) -> Any:
    return said(ask(running, "GET", f"{AT}/{correlation}", token=token))


def test_an_outbox_message_is_delivered_by_calls_that_the_roles_allow(
    running: FunctionsStack, post_offices: FakePostOffices, token: str, capsys: pytest.CaptureFixture[str]
) -> None:
    post_offices.body = b'{"Status":"Queued"}'
    correlation = send(running, token)
    assert shown(running, token, correlation)["state"] == "queued"
    capsys.readouterr()
    courier(running)
    output = capsys.readouterr().out
    assert metrics(output) == {"OutboxDelivered": [1.0]}
    [line] = log_lines(output)
    assert (line["message"], line["mailbox"], line["to"]) == ("delivered", RECEIVER, SENDER)
    assert line["correlation"] == correlation
    assert "Good morning" not in output
    [posted] = map(json.loads, post_offices.posted)
    assert (posted["Header"]["From"], posted["Header"]["To"]) == (RECEIVER, SENDER)
    assert posted["Body"] == MESSAGE["body"]
    told = shown(running, token, correlation)
    assert (told["state"], told["reply"]) == ("delivered", {"Status": "Queued"})
    assert [each["state"] for each in said(ask(running, "GET", AT, token=token))["messages"]] == ["delivered"]


@pytest.mark.parametrize("about", [{"Sender": RECEIVER}, {}], ids=["of us", "of the specification's form"])
def test_the_receivers_feedback_is_shown_with_the_message(
    running: FunctionsStack, token: str, about: dict[str, str]
) -> None:
    correlation = send(running, token)
    courier(running)
    feedback = {**about, "Correlation": correlation, "Status": "Discarded", "Code": "UnexpectedSubject",
                "Reason": "No such method."}  # fmt: skip
    draft = Draft(
        SENDER, RECEIVER, "Feedback@Buffer", "5f0d8f9e-0000-4000-8000-0000000000fb", MADE_AT * 1000, feedback,
        selector="pk1",
    )  # fmt: skip
    body = json.dumps(sign(draft, published_key())).encode()
    posted = http("POST", f"https://nlweb.{RECEIVER}/inbox", MADE_AT, body, {"content-type": "application/json"})
    assert running.invoke("InboxFunction", posted)["statusCode"] == 200
    [claim] = running.deployed.bodies("ClaimsQueue")
    assert running.invoke("WorkerFunction", sqs("ClaimsQueue", MADE_AT, claim)) == {"batchItemFailures": []}
    told = shown(running, token, correlation)
    assert (told["state"], told["feedback"]["code"]) == ("delivered", "UnexpectedSubject")


@pytest.mark.parametrize(("status", "body"), [(302, b""), (200, b"x" * (MAX_RESPONSE_BYTES + 1)), (503, b"")])
def test_a_receiver_that_redirects_answers_megabytes_or_is_down_is_tried_again_with_the_same_bytes(
    running: FunctionsStack,
    post_offices: FakePostOffices,
    token: str,
    status: int,
    body: bytes,
    capsys: pytest.CaptureFixture[str],
) -> None:
    post_offices.status, post_offices.body = status, body
    correlation = send(running, token)
    capsys.readouterr()
    courier(running)
    assert metrics(capsys.readouterr().out) == {"OutboxWaiting": [1.0]}
    assert shown(running, token, correlation)["state"] == "queued"
    post_offices.status, post_offices.body = 200, b""
    courier(running)
    assert shown(running, token, correlation)["state"] == "delivered"
    first, second = post_offices.posted
    assert first == second


def test_a_receiver_in_a_private_network_is_not_posted_to(
    running: FunctionsStack, post_offices: FakePostOffices, token: str
) -> None:
    correlation = send(running, token)
    with functions_stack(running.deployed, **{**running.parameters, "OutboundAllowPrivate": "false"}) as careful:
        courier(careful)
    assert post_offices.posted == []
    assert shown(running, token, correlation)["state"] == "queued"


def test_a_message_that_raises_an_exception_does_not_affect_its_neighbours(
    running: FunctionsStack, post_offices: FakePostOffices, token: str
) -> None:
    send(running, token)
    good = running.deployed.bodies("CourierQueue")[-1]
    value: Json = json.loads(good)
    broken = [{**value, **change} for change in ({"form": 2}, {"outgoing": 1}, {"tries": "x"}, {"carrier": None})]
    event = sqs("CourierQueue", MADE_AT, *map(json.dumps, broken), good)
    failed = [{"itemIdentifier": record["messageId"]} for record in event["Records"][:-1]]
    assert running.invoke("CourierFunction", event) == {"batchItemFailures": failed}
    assert len(post_offices.posted) == 1
