"""What the scenes of the story leave in store; that each of them ends as it must, tests/test_readme.py says."""

import json

import pytest
from tests.end_to_end import dumps

from postroom.demo.deployment import envelope_of, until
from postroom.demo.lookups import why_not_believed
from postroom.demo.scenes import Story
from postroom.demo.stack import BUFFER, RECEIVER, SENDER, DemoStack
from postroom.protocols.nlweb.schema import NLWEB
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.storage.directory.domains import Domain
from postroom.storage.keys import seen_key_nlweb

# One stack serves all of these: they run in one process.
pytestmark = pytest.mark.xdist_group("town")

FORWARDING = "forwarding.example"


def test_a_signed_message_is_filed_with_its_bytes_and_its_receipt(story: Story, town: DemoStack) -> None:
    sent = story.envelope(town.sender, {"Text": "Good morning"})
    body = json.dumps(sent, ensure_ascii=False)
    story.post(sent)
    message = story.find_filed(town.receiver, RECEIVER, sent)
    assert message.line.envelope == body
    assert message.row.key.mailbox == RECEIVER
    assert message.row.conversation == SENDER
    receipt = message.line.receipt
    assert receipt["selector"] == "pk1"
    assert receipt["key_fingerprint"] == town.sender.key.public.fingerprint
    assert receipt["dialect"] == "nlweb.org/MSG:1.0"
    assert [link["zone"] for link in receipt["evidence"]["chain"]] == [".", "example.", "sender.example."]
    assert receipt["received_at_ms"] <= receipt["verified_at_ms"]
    seen = {item["pk"]["S"]: item for item in dumps.table(town.receiver.deployment, "SeenTable")}
    known = seen[seen_key_nlweb(RECEIVER, SENDER, sent["Header"]["Correlation"])]
    assert known["home"]["M"] == {"pk": {"S": message.row.key.pk}, "sk": {"S": message.row.key.sk}}


def test_what_is_not_proven_is_told_with_the_proof_of_that(town: DemoStack) -> None:
    tag = town.stack.tree.key("bogus.example").record.key_id()
    assert why_not_believed(town.stack, "pk1._domainkey.unsigned.example") == [
        "insecure: unsigned.example. has no DS record in the zone above it",
        "proven by . → example., whose NSEC at unsigned.example. lists no DS",
    ]
    assert why_not_believed(town.stack, "pk1._domainkey.bogus.example") == [
        f"bogus: pk1._domainkey.bogus.example. TXT: the signature by key {tag} does not hold",
        "keys are proven as far as . → example. → bogus.example.",
    ]


def test_feedback_is_signed_by_us_and_filed_under_sender_and_correlation(story: Story, town: DemoStack) -> None:
    forged = story.forgery()
    story.post(forged)
    message = story.feedback(forged)
    told = envelope_of(message)
    assert message.row.key.mailbox == SENDER
    assert message.row.conversation == f"feedback:{forged['Header']['Correlation']}"
    assert (told["Header"]["From"], told["Header"]["To"]) == (RECEIVER, BUFFER)
    assert told["Body"] == {
        "Sender": SENDER,
        "Correlation": forged["Header"]["Correlation"],
        "Status": "Discarded",
        "Reason": "Invalid DKIM signature.",
        "Code": "SignatureInvalid",
    }
    ours = town.receiver.signing_keys.of(RECEIVER)
    assert ours is not None
    assert message.line.receipt["key_fingerprint"] == ours.key.public.fingerprint
    town.receiver.settle()
    rows = dumps.table(town.receiver.deployment, "PostTable")
    told_rows = [row for row in rows if "told" in row]
    assert told_rows
    assert all(row["sent"]["S"] == "delivered" for row in told_rows)


def test_a_refusal_stores_nothing_anywhere(story: Story, town: DemoStack) -> None:
    town.receiver.settle()
    before = dumps.everything(town.receiver.deployment)
    envelope = story.envelope(town.sender, to="elsewhere.example")
    status, answer = story.post(envelope)
    assert (status, answer["reason"]) == (421, "NotOurs")
    assert dumps.everything(town.receiver.deployment) == before


def test_a_message_too_large_for_the_queue_is_filed_bit_for_bit(story: Story, town: DemoStack) -> None:
    sent = story.envelope(town.sender, {"Text": "\u20ac" * 200_000})
    status, _ = story.post(sent)
    assert status == 200
    message = story.find_filed(town.receiver, RECEIVER, sent)
    assert message.line.envelope == json.dumps(sent, ensure_ascii=False)
    assert any(name.startswith("claim/") for name in dumps.objects(town.receiver.deployment))


def test_code_points_that_sqs_refuses_are_filed_bit_for_bit(story: Story, town: DemoStack) -> None:
    sent = story.envelope(town.sender, {"Text": "\ufffe \uffff \U0001f91d \u2028 \x7f"})
    story.post(sent)
    assert story.find_filed(town.receiver, RECEIVER, sent).line.envelope == json.dumps(sent, ensure_ascii=False)


def test_a_subject_is_forwarded_to_an_operators_queue(story: Story, town: DemoStack) -> None:
    office = town.receiver
    sqs = office.deployment.client("sqs")
    url = sqs.create_queue(QueueName="orders")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    # Nobody has asked for it before: its rule is seen at once.
    office.operators.put_subject(FORWARDING, SubjectRule("Order@Shop", Treatment.FORWARD, arn))
    office.operators.put_domain(Domain(FORWARDING))
    office.deployment.serve_host(NLWEB.host(FORWARDING))
    sent = story.envelope(town.sender, {"Pizza": 1}, to=FORWARDING, subject="Order@Shop")
    assert story.post(sent, NLWEB.inbox_url(FORWARDING))[0] == 200

    def handed_on() -> str | None:
        got = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=1).get("Messages", [])
        return got[0]["Body"] if got else None

    handed = json.loads(until("the message is handed on", handed_on))
    assert json.loads(handed["envelope"]) == sent
    assert handed["receipt"]["key_fingerprint"] == town.sender.key.public.fingerprint
