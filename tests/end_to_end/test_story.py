"""What the scenes of the story leave in store; that each of them ends as it must, tests/test_readme.py says."""

import json

import pytest
from tests.end_to_end import dumps
from tests.end_to_end.dcp_wire import FUNCTION, Guardian

from postroom.demo.deployment import envelope_of, until
from postroom.demo.lookups import why_not_believed
from postroom.demo.scenes import Story
from postroom.demo.stack import BUFFER, RECEIVER, SENDER, DemoStack
from postroom.protocols.nlweb.schema import NLWEB
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.storage.directory.domains import Domain
from postroom.storage.layout import seen_key_nlweb

# One stack serves all of these: they run in one process.
pytestmark = pytest.mark.xdist_group("demo")

FORWARDING = "forwarding.example"


def test_a_signed_message_is_filed_with_its_bytes_and_its_receipt(story: Story, demo_stack: DemoStack) -> None:
    sent = story.envelope(demo_stack.sender, {"Text": "Good morning"})
    body = json.dumps(sent, ensure_ascii=False)
    story.post(sent)
    message = story.find_filed(demo_stack.receiver, RECEIVER, sent)
    assert message.line.envelope == body
    assert message.row.key.mailbox == RECEIVER
    assert message.row.conversation == SENDER
    receipt = message.line.receipt
    assert receipt["selector"] == "pk1"
    assert receipt["key_fingerprint"] == demo_stack.sender.key.public.fingerprint
    assert receipt["dialect"] == "nlweb.org/MSG:1.0"
    assert [link["zone"] for link in receipt["evidence"]["chain"]] == [".", "example.", "sender.example."]
    assert receipt["received_at_ms"] <= receipt["verified_at_ms"]
    seen = {item["pk"]["S"]: item for item in dumps.table(demo_stack.receiver.deployment, "SeenTable")}
    known = seen[seen_key_nlweb(RECEIVER, SENDER, sent["Header"]["Correlation"])]
    assert known["home"]["M"] == {"pk": {"S": message.row.key.pk}, "sk": {"S": message.row.key.sk}}


def test_an_unproven_message_is_reported_to_the_sender_with_evidence(demo_stack: DemoStack) -> None:
    tag = demo_stack.stack.tree.key("bogus.example").record.key_id()
    assert why_not_believed(demo_stack.stack, "pk1._domainkey.unsigned.example") == [
        "insecure: unsigned.example. has no DS record in the zone above it",
        "proven by . → example., whose NSEC at unsigned.example. lists no DS",
    ]
    assert why_not_believed(demo_stack.stack, "pk1._domainkey.bogus.example") == [
        f"bogus: pk1._domainkey.bogus.example. TXT: the signature by key {tag} does not hold",
        "keys are proven as far as . → example. → bogus.example.",
    ]


def test_feedback_is_signed_by_us_and_filed_under_sender_and_correlation(story: Story, demo_stack: DemoStack) -> None:
    forged = story.forgery()
    story.post(forged)
    message = story.feedback(forged)
    received = envelope_of(message)
    assert message.row.key.mailbox == SENDER
    assert message.row.conversation == f"feedback:{forged['Header']['Correlation']}"
    assert (received["Header"]["From"], received["Header"]["To"]) == (RECEIVER, BUFFER)
    assert received["Body"] == {
        "Sender": SENDER,
        "Correlation": forged["Header"]["Correlation"],
        "Status": "Discarded",
        "Reason": "Invalid DKIM signature.",
        "Code": "SignatureInvalid",
    }
    ours = demo_stack.receiver.signing_keys.of(RECEIVER)
    assert ours is not None
    assert message.line.receipt["key_fingerprint"] == ours.key.public.fingerprint
    demo_stack.receiver.settle()
    rows = dumps.table(demo_stack.receiver.deployment, "PostTable")
    notified = [row for row in rows if "told" in row]
    assert notified
    assert all(row["sent"]["S"] == "delivered" for row in notified)


def test_where_the_story_says_that_all_instances_of_a_function_end_they_have_ended(demo_stack: DemoStack) -> None:
    with Guardian(demo_stack) as guardian:
        before = guardian.instances()
        assert before
        demo_stack.receiver.end_instances(FUNCTION)
        assert before.isdisjoint(guardian.instances())
        guardian.connect("bob", "by-the-next-instance-1")


def test_a_refusal_stores_nothing_anywhere(story: Story, demo_stack: DemoStack) -> None:
    demo_stack.receiver.settle()
    before = dumps.everything(demo_stack.receiver.deployment)
    envelope = story.envelope(demo_stack.sender, to="elsewhere.example")
    status, answer = story.post(envelope)
    assert (status, answer["reason"]) == (421, "NotOurs")
    assert dumps.everything(demo_stack.receiver.deployment) == before


def test_a_message_too_large_for_the_queue_is_filed_byte_for_byte(story: Story, demo_stack: DemoStack) -> None:
    sent = story.envelope(demo_stack.sender, {"Text": "\u20ac" * 200_000})
    status, _ = story.post(sent)
    assert status == 200
    message = story.find_filed(demo_stack.receiver, RECEIVER, sent)
    assert message.line.envelope == json.dumps(sent, ensure_ascii=False)
    demo_stack.receiver.settle()
    assert not any(name.startswith("claim/") for name in dumps.objects(demo_stack.receiver.deployment))


def test_code_points_that_sqs_refuses_are_filed_byte_for_byte(story: Story, demo_stack: DemoStack) -> None:
    sent = story.envelope(demo_stack.sender, {"Text": "\ufffe \uffff \U0001f91d \u2028 \x7f"})
    story.post(sent)
    assert story.find_filed(demo_stack.receiver, RECEIVER, sent).line.envelope == json.dumps(sent, ensure_ascii=False)


def test_a_subject_is_forwarded_to_an_operators_queue(story: Story, demo_stack: DemoStack) -> None:
    demo_deployment = demo_stack.receiver
    sqs = demo_deployment.deployment.client("sqs")
    url = sqs.create_queue(QueueName="orders")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    # Nobody has asked for it before: its rule is seen at once.
    demo_deployment.operators.put_subject(FORWARDING, SubjectRule("Order@Shop", Treatment.FORWARD, arn))
    demo_deployment.operators.put_domain(Domain(FORWARDING))
    demo_deployment.deployment.serve_host(NLWEB.host(FORWARDING))
    sent = story.envelope(demo_stack.sender, {"Pizza": 1}, to=FORWARDING, subject="Order@Shop")
    assert story.post(sent, NLWEB.inbox_url(FORWARDING))[0] == 200

    def handed_on() -> str | None:
        got = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=1).get("Messages", [])
        return got[0]["Body"] if got else None

    handed = json.loads(until("the message is handed on", handed_on))
    assert json.loads(handed["envelope"]) == sent
    assert handed["receipt"]["key_fingerprint"] == demo_stack.sender.key.public.fingerprint
