"""What owners send: signed, posted, tried again until something became of it; and the Feedback that comes for it."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest
from botocore.stub import Stubber
from tests.aws import Clients, gate_calls, new_clients
from tests.pipeline.stack import (
    DAY,
    GIVE_UP,
    MAX_BYTES,
    NOW,
    OTHER_KEY,
    OUR_KEY,
    SENDER,
    SENDER_KEY,
    SHOP,
    PipelineStack,
    calls_of,
)

from postroom.api.states import State
from postroom.core.errors import NotNowError
from postroom.core.ijson import JsonValue, parse
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.outbound.delivery import Delivery
from postroom.outbound.outbox_messages import Outgoing
from postroom.outbound.outbox_sender import MAX_REPLY_BYTES
from postroom.outbound.queue_messages import read_queue_message
from postroom.protocols.nlweb.envelope import check_hash, read_envelope
from postroom.protocols.nlweb.reasons import SIGNATURE_INVALID
from postroom.protocols.nlweb.schema import NLWEB, POLLYWEB, Dialect
from postroom.protocols.nlweb.sign import Draft
from postroom.protocols.nlweb.subjects import FEEDBACK
from postroom.protocols.nlweb.verify import check_signature
from postroom.storage.directory.domains import Domain
from postroom.storage.layout import outgoing_group
from postroom.storage.mail.outbox import OutboxMessage, OutgoingIdentity

TO = SENDER
"""Who is written to: whose key is published, so that its Feedback is believed."""


def queue(
    stack: PipelineStack,
    *,
    carrier: str = "one",
    body: JsonValue = "hello",
    dialect: Dialect = NLWEB,
    capitals: bool = False,
) -> Outgoing:
    """A message as it is when the mailbox API has taken it in. `capitals`: its Correlation was written in them."""
    correlation, at_ms = stack.new_uuid(), int(stack.clock.now * 1000)
    forget_at = int(stack.clock.now) + 30 * DAY
    stack.outbox.identify(SHOP, carrier, "", OutgoingIdentity(correlation, at_ms), now=int(NOW), forget_at=forget_at)
    message = stack.outbox.put(
        OutboxMessage(SHOP, correlation, at_ms, TO, "Hello@Host", carrier), now=int(NOW), forget_at=forget_at
    )
    written = correlation.upper() if capitals else correlation
    draft = Draft(SHOP, TO, "Hello@Host", written, at_ms, body, dialect=dialect)
    outgoing = Outgoing(draft, carrier)
    stack.deployed.storage.courier_queue.send(outgoing.encode())
    stack.outbox.note_carrier(message, carrier)
    return outgoing


def message_of(stack: PipelineStack, outgoing: Outgoing) -> OutboxMessage:
    found = stack.outbox.find(SHOP, outgoing.correlation)
    assert found is not None
    return found


# --- as it goes out ---------------------------------------------------------------------------------------------------


def test_a_message_goes_to_the_receivers_inbox_signed_by_the_key_of_its_domain(stack: PipelineStack) -> None:
    outgoing = queue(stack, body={"Text": "Good morning ☀"})
    stack.clock.now += 60
    assert stack.dispatch().send(outgoing) is Delivery.DELIVERED
    [(url, data)] = stack.outbound.posts
    assert url == "https://nlweb.sender.com/inbox"
    envelope = read_envelope(parse(data, max_bytes=MAX_BYTES))
    assert (envelope.sender, envelope.receiver, envelope.subject) == (SHOP, TO, "Hello@Host")
    assert (envelope.correlation, envelope.timestamp_ms) == (outgoing.draft.correlation, int(NOW * 1000))
    assert (envelope.selector, envelope.body) == ("pk1", {"Text": "Good morning ☀"})
    check_hash(envelope.claimed_hash, envelope.digest)
    check_signature(envelope, OUR_KEY.public)
    end = message_of(stack, outgoing).end
    assert end is not None
    assert (end.state, end.at_ms) == (State.DELIVERED, int(NOW * 1000) + 60_000)


def test_a_correlation_goes_out_as_it_was_written(stack: PipelineStack) -> None:
    outgoing = queue(stack, capitals=True)
    assert stack.dispatch().send(outgoing) is Delivery.DELIVERED
    [(_, data)] = stack.outbound.posts
    envelope = read_envelope(parse(data, max_bytes=MAX_BYTES))
    assert envelope.correlation == outgoing.correlation.upper()
    assert message_of(stack, outgoing).state is State.DELIVERED


def test_the_pollyweb_dialect_goes_to_its_own_host(stack: PipelineStack) -> None:
    stack.dispatch().send(queue(stack, dialect=POLLYWEB))
    [(url, data)] = stack.outbound.posts
    assert url == "https://pw.sender.com/inbox"
    assert json.loads(data)["Header"]["Selector"] == "pk1"


def test_a_message_without_a_body_is_sent_without_one(stack: PipelineStack) -> None:
    outgoing = queue(stack)
    without = read_queue_message(Outgoing(Draft(**{**_fields(outgoing.draft), "has_body": False}), "one").encode())
    assert isinstance(without, Outgoing)
    stack.dispatch().send(without)
    assert "Body" not in json.loads(stack.outbound.posts[0][1])


def _fields(draft: Draft) -> dict[str, object]:
    return {name: getattr(draft, name) for name in Draft.__slots__}


# --- what became of it ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [b'{"Status":"Queued"}', b'"bare reply \xe2\x98\x80"', b"[1.0]", b"null"])
def test_the_response_to_a_message_is_kept(stack: PipelineStack, body: bytes) -> None:
    stack.outbound.body = body
    outgoing = queue(stack)
    stack.dispatch().send(outgoing)
    end = message_of(stack, outgoing).end
    assert end is not None
    assert end.reply == ("" if body == b"null" else body.decode())


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"\xff", b'{"a":1,"a":2}', b'"' + b"x" * MAX_REPLY_BYTES + b'"', b"[" * 99 + b"]" * 99]
)
def test_a_message_counts_as_delivered_even_if_the_response_is_no_json_or_too_large_to_keep(
    stack: PipelineStack, body: bytes
) -> None:
    stack.outbound.body = body
    outgoing = queue(stack)
    assert stack.dispatch().send(outgoing) is Delivery.DELIVERED
    end = message_of(stack, outgoing).end
    assert end is not None
    assert end.reply == ""


@pytest.mark.parametrize(
    ("body", "reason", "detail"),
    [
        (b'{"title":"No","status":422,"detail":"The Hash is wrong.","reason":"HashMismatch"}', "HashMismatch",
         "The Hash is wrong."),
        (b'{"title":"Gone"}', "", "Gone"),
        (b'{"reason":7,"detail":["x"]}', "", "sender.com answered 422"),
        (b"<html>", "", "sender.com answered 422"),
        (b'{"reason":"A\\u001b[31mB\\u202eC","detail":"\\u0000\\n"}', "A[31mBC", "sender.com answered 422"),
        (b'{"reason":"' + b"r" * 99 + b'","detail":"' + b"d" * 999 + b'"}', "r" * 64, "d" * 300),
    ],
)  # fmt: skip
def test_a_refusal_is_final_and_shown_in_the_receivers_words_without_control_characters(
    stack: PipelineStack, body: bytes, reason: str, detail: str
) -> None:
    stack.outbound.answers, stack.outbound.body = [422], body
    outgoing = queue(stack)
    assert stack.dispatch().send(outgoing) is Delivery.REFUSED
    end = message_of(stack, outgoing).end
    assert end is not None
    assert (end.state, end.reason, end.detail, end.reply) == (State.REFUSED, reason, detail, "")
    assert stack.dispatch().send(outgoing) is Delivery.SILENT
    assert len(stack.outbound.posts) == 1


# --- tries ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trouble", [None, 500, 503, 429, 408, 302])
def test_every_attempt_repeats_the_same_envelope(stack: PipelineStack, trouble: int | None) -> None:
    stack.outbound.answers = [trouble, trouble]
    outgoing = queue(stack)
    for expected in (Delivery.WAITING, Delivery.WAITING, Delivery.DELIVERED):
        assert stack.dispatch().send(outgoing) is expected
        stack.clock.now += 600
        outgoing = stack.outgoing()[-1]
    assert len({envelope for _, envelope in stack.outbound.posts}) == 1
    assert len(stack.outbound.posts) == 3


def test_the_delay_grows_up_to_the_longest_of_sqs(stack: PipelineStack) -> None:
    stack.outbound.answers = [None] * 9
    outgoing = queue(stack)
    for _ in range(9):
        stack.dispatch().send(outgoing)
        outgoing = stack.outgoing()[-1]
    assert stack.deployed.delays("CourierQueue")[1:] == [7, 15, 30, 60, 120, 240, 480, 675, 675]
    assert set(stack.deployed.groups("CourierQueue")[1:]) == {outgoing_group(SHOP)}


def test_a_message_is_given_up_after_23_hours_with_the_last_failure(stack: PipelineStack) -> None:
    stack.outbound.answers = [503, 503]
    outgoing = queue(stack)
    stack.clock.now += GIVE_UP
    assert stack.dispatch().send(outgoing) is Delivery.WAITING
    stack.clock.now += 0.001
    assert stack.dispatch().send(outgoing) is Delivery.GIVEN_UP
    end = message_of(stack, outgoing).end
    assert end is not None
    assert (end.state, end.reason, end.detail) == (State.GIVEN_UP, "OutboundFailed", "sender.com answered 503")
    assert stack.dispatch().send(outgoing) is Delivery.SILENT


def test_a_message_that_comes_late_is_attempted_once(stack: PipelineStack) -> None:
    outgoing = queue(stack)
    stack.clock.now += 3 * DAY
    assert stack.dispatch().send(outgoing) is Delivery.DELIVERED


def test_without_a_signing_key_a_message_waits_and_is_given_up_for_that_reason(stack: PipelineStack) -> None:
    key = stack.our_keys.keys.pop(SHOP)
    first, second = queue(stack, carrier="one"), queue(stack, carrier="two")
    assert stack.dispatch().send(first) is Delivery.WAITING
    assert stack.outbound.posts == []
    stack.our_keys.keys[SHOP] = key
    assert stack.dispatch().send(stack.outgoing()[-1]) is Delivery.DELIVERED
    del stack.our_keys.keys[SHOP]
    stack.clock.now += GIVE_UP + 1
    assert stack.dispatch().send(second) is Delivery.GIVEN_UP
    end = message_of(stack, second).end
    assert end is not None
    assert end.reason == "SigningKeyUnavailable"


def test_a_new_key_signs_the_same_header_and_body_under_its_selector(stack: PipelineStack) -> None:
    stack.outbound.answers = [None]
    outgoing = queue(stack)
    stack.dispatch().send(outgoing)
    stack.our_keys.keys[SHOP] = type(stack.our_keys.keys[SHOP])("pk2", OTHER_KEY)
    stack.dispatch().send(outgoing)
    first, second = (json.loads(envelope) for _, envelope in stack.outbound.posts)
    assert second["Header"] == {**first["Header"], "DKIM": "pk2"}
    assert second["Body"] == first["Body"]


# --- at least once, and one end -------------------------------------------------------------------------------------


def test_the_recorded_one_of_two_queue_messages_for_a_message_continues(stack: PipelineStack) -> None:
    outgoing = queue(stack)
    other = Outgoing(outgoing.draft, "another")
    assert stack.dispatch().send(other) is Delivery.SILENT
    assert stack.outbound.posts == []
    assert stack.dispatch().send(outgoing) is Delivery.DELIVERED


def test_before_one_is_recorded_any_may_be_sent_and_all_are_the_same(stack: PipelineStack) -> None:
    outgoing = queue(stack)
    stack.deployed.clients.dynamodb.update_item(
        TableName=stack.deployed.tables["OutboxTable"],
        Key={"pk": {"S": SHOP}, "sk": {"S": f"out#{outgoing.draft.correlation}"}},
        UpdateExpression="REMOVE carrier",
    )
    stack.outbound.answers = [None, None]
    for carrier in ("a", "b"):
        assert stack.dispatch().send(Outgoing(outgoing.draft, carrier)) is Delivery.WAITING
    stack.outbox.note_carrier(message_of(stack, outgoing), "b")
    stack.outbox.note_carrier(message_of(stack, outgoing), "a")
    assert stack.dispatch().send(Outgoing(outgoing.draft, "a", tries=1)) is Delivery.SILENT
    assert stack.dispatch().send(Outgoing(outgoing.draft, "b", tries=1)) is Delivery.DELIVERED
    assert len({envelope for _, envelope in stack.outbound.posts}) == 1


def test_the_outcome_of_a_message_stays(stack: PipelineStack) -> None:
    outgoing = queue(stack)
    stack.dispatch().send(outgoing)
    before = message_of(stack, outgoing)
    clients = new_clients()
    rows = type(stack.outbox)(clients.dynamodb, stack.deployed.tables["OutboxTable"])
    assert before.end is not None
    rows.finish(SHOP, outgoing.draft.correlation, type(before.end)(State.REFUSED, 1, "Other", "other"))
    assert message_of(stack, outgoing) == before


def test_a_message_whose_row_was_swept_is_not_sent(stack: PipelineStack) -> None:
    outgoing = queue(stack)
    stack.deployed.clients.dynamodb.delete_item(
        TableName=stack.deployed.tables["OutboxTable"],
        Key={"pk": {"S": SHOP}, "sk": {"S": f"out#{outgoing.draft.correlation}"}},
    )
    assert stack.dispatch().send(outgoing) is Delivery.SILENT
    assert stack.outbound.posts == []


def test_a_message_that_cannot_be_put_back_is_redelivered(stack: PipelineStack) -> None:
    stack.outbound.answers = [None]
    outgoing, clients = queue(stack), new_clients()
    dispatch = stack.dispatch(clients)
    with Stubber(clients.sqs) as stub:
        stub.add_client_error("send_message", "ServiceUnavailable", http_status_code=503)
        with pytest.raises(NotNowError):
            dispatch.send(outgoing)


def test_a_delivered_message_that_could_not_be_recorded_is_not_given_up_however_late(stack: PipelineStack) -> None:
    outgoing, clients = queue(stack), new_clients()
    stack.clock.now += GIVE_UP + 60
    dispatch = stack.dispatch(clients)
    there = stack.deployed.clients.dynamodb.get_item(
        TableName=stack.deployed.tables["OutboxTable"],
        Key={"pk": {"S": SHOP}, "sk": {"S": f"out#{outgoing.draft.correlation}"}},
    )["Item"]
    with Stubber(clients.dynamodb) as stub:
        stub.add_response("get_item", {"Item": there})
        stub.add_client_error("update_item", "ThrottlingException", http_status_code=400)
        assert dispatch.send(outgoing) is Delivery.WAITING
    assert message_of(stack, outgoing).state is State.QUEUED
    assert stack.dispatch().send(stack.outgoing()[-1]) is Delivery.DELIVERED


class Died(BaseException):
    """The function was ended."""


def dying(number: int, *, after: bool) -> Clients:
    """Clients whose actor ends before, or after, its call of this number."""
    calls: list[str] = []

    @contextmanager
    def gate(operation: str) -> Iterator[None]:
        calls.append(operation)
        if len(calls) == number and not after:
            raise Died
        yield
        if len(calls) == number:
            raise Died

    clients = new_clients()
    gate_calls(clients, gate)
    return clients


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("answer", [200, 422, None])
def test_after_a_courier_died_at_any_call_the_next_one_reaches_the_same_outcome(
    stack: PipelineStack, answer: int | None, number: int, after: bool
) -> None:
    stack.outbound.answers = [answer, answer or 200]
    outgoing = queue(stack)
    with pytest.raises(Died):
        stack.dispatch(dying(number, after=after)).send(outgoing)
    # SQS hands the same message out again, and whatever the dead one sent.
    for each in (outgoing, *stack.outgoing()):
        stack.dispatch().send(each)
    assert message_of(stack, outgoing).state is (State.REFUSED if answer == 422 else State.DELIVERED)
    assert len({envelope for _, envelope in stack.outbound.posts}) == 1


# --- Feedback about it --------------------------------------------------------------------------------------------


def feedback(stack: PipelineStack, about: object, *, sender: str = TO, key: PrivateKey = SENDER_KEY) -> bytes:
    said = about if isinstance(about, dict) else {"Sender": SHOP, "Correlation": about, "Status": "Discarded"}
    body = {"Reason": "Invalid DKIM signature.", "Code": "SignatureInvalid", **said}
    return stack.envelope(FEEDBACK, body, sender=sender, key=key)


def test_feedback_of_the_receiver_is_recorded_with_the_message_and_filed(stack: PipelineStack) -> None:
    outgoing = queue(stack)
    stack.dispatch().send(outgoing)
    stack.settle(stack.queued(feedback(stack, outgoing.draft.correlation.upper())))
    message = message_of(stack, outgoing)
    assert message.state is State.DELIVERED
    assert message.reported is not None
    assert (message.reported.code, message.reported.reason) == ("SignatureInvalid", "Invalid DKIM signature.")
    assert message.reported.at_ms == int(NOW * 1000)
    assert len(stack.listed()) == 1


def receipt_of_the_only_message(stack: PipelineStack, mailbox: str = SHOP) -> Mapping[str, object]:
    [filed] = stack.listed(mailbox)
    return filed.line.receipt


def test_feedback_without_a_sender_is_recorded_with_the_message_that_its_sender_received(stack: PipelineStack) -> None:
    outgoing = queue(stack)
    stack.settle(stack.queued(feedback(stack, {"Correlation": outgoing.draft.correlation.upper()})))
    reported = message_of(stack, outgoing).reported
    assert reported is not None
    assert (reported.code, reported.reason) == ("SignatureInvalid", "Invalid DKIM signature.")
    assert "unassigned" not in receipt_of_the_only_message(stack)


def test_feedback_without_a_sender_to_another_of_our_buffers_finds_the_message(stack: PipelineStack) -> None:
    stack.operators.put_domain(Domain("buffer.com", buffer=True))
    outgoing = queue(stack)
    body = {"Correlation": outgoing.draft.correlation}
    stack.settle(stack.queued(stack.envelope(FEEDBACK, body, receiver="buffer.com")))
    assert message_of(stack, outgoing).reported is not None
    assert stack.listed() == []
    assert "unassigned" not in receipt_of_the_only_message(stack, "buffer.com")


def test_feedback_without_a_sender_of_a_third_party_stays_unassigned(stack: PipelineStack) -> None:
    outgoing = queue(stack)
    stack.keys.published["nlweb._domainkey.evil.com"] = OTHER_KEY.public
    said = {"Correlation": outgoing.draft.correlation}
    stack.settle(stack.queued(feedback(stack, said, sender="evil.com", key=OTHER_KEY)))
    assert message_of(stack, outgoing).reported is None
    assert receipt_of_the_only_message(stack)["unassigned"] is True


def test_feedback_without_a_sender_is_recorded_with_no_message_if_two_mailboxes_sent_one(stack: PipelineStack) -> None:
    outgoing = queue(stack)
    correlation, at_ms = outgoing.draft.correlation, int(NOW * 1000)
    other = OutboxMessage("other.com", correlation, at_ms, TO, "Hello@Host", "two")
    stack.outbox.put(other, now=int(NOW), forget_at=int(NOW) + DAY)
    stack.settle(stack.queued(feedback(stack, {"Correlation": correlation})))
    assert message_of(stack, outgoing).reported is None
    assert receipt_of_the_only_message(stack)["unassigned"] is True


def test_a_forged_feedback_without_a_sender_looks_nothing_up(stack: PipelineStack) -> None:
    outgoing = queue(stack)
    record = stack.queued(feedback(stack, {"Correlation": outgoing.draft.correlation}, key=OTHER_KEY))
    clients = new_clients()
    calls = calls_of(clients)
    [outcome] = stack.worker(clients).work([record]).outcomes
    assert outcome.reason == SIGNATURE_INVALID
    assert calls["Query"] == 0


def test_feedback_of_a_third_party_is_filed_and_not_recorded(stack: PipelineStack) -> None:
    outgoing = queue(stack)
    stack.keys.published["nlweb._domainkey.evil.com"] = OTHER_KEY.public
    stack.settle(stack.queued(feedback(stack, outgoing.draft.correlation, sender="evil.com", key=OTHER_KEY)))
    assert message_of(stack, outgoing).reported is None
    assert len(stack.listed()) == 1


def test_forged_feedback_is_not_recorded(stack: PipelineStack) -> None:
    outgoing = queue(stack)
    stack.settle(stack.queued(feedback(stack, outgoing.draft.correlation, key=OTHER_KEY)))
    assert message_of(stack, outgoing).reported is None


@pytest.mark.parametrize(
    "about", [{"Sender": SHOP, "Count": 3}, {"Sender": SHOP, "Correlation": "5f0d8f9e-0000-4000-8000-00000000000a"}]
)
def test_feedback_about_an_unknown_message_makes_no_row(stack: PipelineStack, about: dict[str, object]) -> None:
    stack.settle(stack.queued(feedback(stack, about)))
    assert stack.deployed.rows("OutboxTable") == []
    assert len(stack.listed()) == 1


def test_control_characters_are_removed_from_feedback(stack: PipelineStack) -> None:
    outgoing = queue(stack)
    said = {"Sender": SHOP, "Correlation": outgoing.draft.correlation, "Code": ["x"], "Reason": "a\x1b\u202eb" * 999}
    stack.settle(stack.queued(feedback(stack, said)))
    reported = message_of(stack, outgoing).reported
    assert reported is not None
    assert (reported.code, reported.reason) == ("", ("ab" * 999)[:300])


@pytest.mark.parametrize(("said", "failing"), [({"Sender": SHOP}, "UpdateItem"), ({}, "UpdateItem"), ({}, "Query")])
def test_feedback_that_cannot_be_recorded_now_waits(stack: PipelineStack, said: dict[str, str], failing: str) -> None:
    outgoing = queue(stack)
    record = stack.queued(feedback(stack, {**said, "Correlation": outgoing.draft.correlation}))
    clients = new_clients()

    @contextmanager
    def gate(operation: str) -> Iterator[None]:
        if operation == failing:
            raise NotNowError(STORE_UNAVAILABLE)
        yield

    gate_calls(clients, gate)
    [outcome] = stack.worker(clients).work([record]).outcomes
    assert outcome.reason is STORE_UNAVAILABLE
    assert stack.listed() == []
    stack.settle(record)
    assert message_of(stack, outgoing).reported is not None
    assert len(stack.listed()) == 1


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    ("said", "number"),
    [*(({"Sender": SHOP}, number) for number in range(1, 5)), *(({}, number) for number in range(1, 6))],
)
def test_after_a_worker_died_at_any_call_filed_feedback_is_recorded(
    stack: PipelineStack, said: dict[str, str], number: int, after: bool
) -> None:
    outgoing = queue(stack)
    record = stack.queued(feedback(stack, {**said, "Correlation": outgoing.draft.correlation}))
    with pytest.raises(Died):
        stack.worker(dying(number, after=after)).work([record])
    filed = len(stack.listed())
    assert filed <= (message_of(stack, outgoing).reported is not None)
    stack.settle(record)
    assert message_of(stack, outgoing).reported is not None
    assert len(stack.listed()) == 1
