"""The audit: what the post office did well gives zeros; each thing that must never be is found where it is."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from tests.aws import CLAIM_QUEUES, TEMPLATE, Deployed, gate_calls, new_clients, resources
from tests.pipeline.delivery_service import ALICE, BOB, MALLORY, DeliveryService
from tests.pipeline.stack import ASK, DAY, NOTIFY, NOW, ORDER, OTHER_KEY, RETAIN, SENDER, SHOP, UNKNOWN, PipelineStack

from postroom.core.errors import OurError
from postroom.http.response import HttpResponse
from postroom.pipeline.worker import Record
from postroom.protocols.nlweb.reasons import KEY_LOOKUP_FAILED
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.storage.audit.audit import RUN_MS, audit
from postroom.storage.audit.collection import collect_evidence
from postroom.storage.audit.evidence import AuditEvidence, PostRow, SeenRow
from postroom.storage.audit.findings import AuditOutcome, Findings
from postroom.storage.audit.problems import AuditProblem
from postroom.storage.aws.object_store import Place
from postroom.storage.layout import RowKey, row_key
from postroom.storage.mail.head import Gap, Heads
from postroom.storage.mail.inbox_log import LedgerEntry, read_ledger
from postroom.storage.mail.register import ACKED, CLOSED, OVER, Row
from postroom.storage.mail.segments import Line, decode_line, lay_out


class AuditedStack:
    """A post office, the ledger of its inbox, and a hand in its store."""

    def __init__(self, deployed: Deployed) -> None:
        self.deployed = deployed
        self.stack = PipelineStack(deployed)
        self.register = deployed.storage.register
        self.log: list[str] = []
        self._objects = count()

    def post(self, body: bytes) -> Record:
        """Post a message; its claim, as it is queued."""
        return self.note(self.stack.post(body))

    def note(self, answer: HttpResponse) -> Record:
        about = [part.about for part in answer.parts or (answer,)]
        assert all(about)
        self.log += [json.dumps({"message": "queued", **each}) for each in about]
        return self.stack.record(self.deployed.bodies("ClaimsQueue")[-1])

    def settle(self, record: Record) -> RowKey:
        """The worker has the claim, and the queue has it no more; the row of the claim."""
        self.stack.settle(record)
        self.deployed.empty("ClaimsQueue")
        return self.stack.claim(record).row

    def filed(self, **said: Any) -> RowKey:
        """A message that was accepted and filed; its row."""
        return self.settle(self.post(self.stack.envelope(**said)))

    def audit(self, *, read_bytes: bool = True, now: float = 0, at: Deployed | None = None) -> Findings:
        now = int(now or self.stack.clock.now)
        evidence = collect_evidence(
            (at or self.deployed).audited_store, now=now, retain_seconds=RETAIN, read_bytes=read_bytes
        )
        return audit(evidence, read_ledger(self.log))

    def change(self, key: RowKey, **changed: Any) -> None:
        """Give a row other attributes."""
        item = {**self.item(key), **changed}
        self.put("PostTable", {name: value for name, value in item.items() if value is not None})

    def item(self, key: RowKey) -> dict[str, Any]:
        item = self.deployed.item("PostTable", pk=key.pk, sk=key.sk)
        assert item is not None
        return item

    def put(self, table: str, item: dict[str, Any]) -> None:
        self.deployed.clients.dynamodb.put_item(TableName=self.deployed.tables[table], Item=item)

    def rewrite(self, key: RowKey, **changed: Any) -> Line:
        """Give a live row another line, all else in order; the line it had."""
        row = self.register.find(key)
        assert row is not None
        assert row.place is not None
        line = decode_line(self.stack.objects.get_range(row.place))
        name = f"seg/rewritten/{next(self._objects)}"
        data, [place] = lay_out([replace(line, **changed)], name)
        self.stack.objects.put(name, data)
        self.change(key, o={"S": name}, off={"N": "0"}, len={"N": f"{place.length}"})
        return line

    def remove(self, key: RowKey) -> None:
        self.deployed.clients.dynamodb.delete_item(
            TableName=self.deployed.tables["PostTable"], Key={"pk": {"S": key.pk}, "sk": {"S": key.sk}}
        )

    def forget(self) -> None:
        """Empty `seen`."""
        for item in self.deployed.rows("SeenTable"):
            self.deployed.clients.dynamodb.delete_item(
                TableName=self.deployed.tables["SeenTable"], Key={"pk": item["pk"]}
            )

    def lose_objects(self, prefix: str) -> None:
        for name in self.deployed.objects():
            if name.startswith(prefix):
                self.deployed.clients.s3.delete_object(Bucket=self.deployed.bucket, Key=name)


@pytest.fixture
def audited(deployed: Deployed) -> AuditedStack:
    return AuditedStack(deployed)


def found(findings: Findings) -> dict[AuditProblem, int]:
    return dict(Counter(finding.problem for finding in findings.problems))


def where(findings: Findings) -> set[str]:
    return {finding.where for finding in findings.problems}


def named(key: RowKey) -> str:
    return f"row {key.pk} {key.sk}"


def correlation_of(envelope: bytes) -> str:
    return str(json.loads(envelope)["Header"]["Correlation"])


# --- a post office that works -----------------------------------------------------------------------------------------


def test_an_empty_store_is_clean(audited: AuditedStack) -> None:
    findings = audited.audit()
    assert findings.clean
    assert (findings.accepted, findings.rows) == (Counter(), Counter())


def test_every_message_answered_200_has_one_outcome(audited: AuditedStack) -> None:
    stack = audited.stack
    audited.filed()
    audited.filed(body="x" * 1_000_000)  # too large for the queue
    audited.register.acknowledge(audited.filed(), int(NOW) + RETAIN)
    audited.filed(subject=ORDER)
    audited.filed(subject=UNKNOWN)
    audited.filed(key=OTHER_KEY)
    for notice in stack.discard_notifications():
        stack.feedback_sender().deliver(notice)
    audited.deployed.empty("FeedbackQueue")
    twice = stack.envelope()
    for body in (twice, twice):
        audited.settle(audited.post(body))
    audited.settle(audited.post(stack.envelope(body="another text", correlation=correlation_of(twice))))
    stack.handlers.handlers["ask"] = lambda request: request
    assert stack.post(stack.envelope(ASK)).status == 200
    audited.post(stack.envelope())
    findings = audited.audit()
    assert findings.problems == ()
    # Both sides are counters: what is not named is zero.
    assert findings.accepted == Counter(
        {
            AuditOutcome.FILED: 3,
            AuditOutcome.ACKNOWLEDGED: 1,
            AuditOutcome.FORWARDED: 1,
            AuditOutcome.DISCARDED: 3,
            AuditOutcome.COPY: 1,
            AuditOutcome.WAITING: 1,
        }
    )
    assert findings.rows == {
        AuditOutcome.FILED: 3,
        AuditOutcome.ACKNOWLEDGED: 1,
        AuditOutcome.FORWARDED: 1,
        AuditOutcome.DISCARDED: 3,
    }
    assert findings.discarded == {"UnexpectedSubject": 1, "SignatureInvalid": 1, "CorrelationReused": 1}
    assert (findings.answered, findings.unanswered, findings.feedback_settled, findings.feedback_begun) == (1, 0, 2, 0)


def test_a_dm3_message_and_its_copies_have_one_outcome_each(audited: AuditedStack) -> None:
    service = DeliveryService(audited.stack)
    service.open(BOB, takes_unverified=True)
    submission = submitted(service)
    # The inbox cannot verify the sender of these two, the worker can; of the third the inbox can, too.
    records = [audited.note(service.post(submission)) for _ in range(2)]
    service.publish(MALLORY)
    records.append(audited.note(service.post(submission)))
    for record in records:
        audited.settle(record)
    findings = audited.audit()
    assert findings.problems == ()
    assert findings.accepted == Counter({AuditOutcome.FILED: 1, AuditOutcome.COPY: 2})


def test_a_dm3_message_may_be_filed_as_unverified_and_once_more_as_verified(audited: AuditedStack) -> None:
    service = DeliveryService(audited.stack)
    service.open(BOB, takes_unverified=True)
    submission = submitted(service)
    audited.settle(audited.note(service.post(submission)))
    service.publish(MALLORY)
    audited.stack.clock.now += 31
    audited.settle(audited.note(service.post(submission)))
    findings = audited.audit()
    assert findings.problems == ()
    assert findings.accepted == Counter({AuditOutcome.FILED: 2})


def submitted(service: DeliveryService, sender: str = MALLORY) -> dict[str, object]:
    envelope = service.envelope(sender=sender).as_json()
    return {"jsonrpc": "2.0", "method": "dm3_submitMessage", "params": [envelope], "id": 1}


def test_objects_that_no_row_points_to_are_counted_and_are_no_problem(audited: AuditedStack) -> None:
    audited.filed()
    audited.stack.objects.put("seg/2026/11/21/09/orphan.jsonl", b"1234")
    findings = audited.audit()
    assert findings.clean
    assert (findings.evidence.orphans, findings.evidence.orphan_bytes) == (1, 4)


def test_a_claim_for_a_request_that_was_answered_is_a_copy(audited: AuditedStack) -> None:
    stack = audited.stack
    stack.handlers.handlers["ask"] = lambda request: request
    body = stack.envelope(ASK)
    assert stack.post(body).status == 200
    stack.operators.put_subject(SHOP, SubjectRule(ASK, Treatment.MAILBOX, SHOP))
    stack.clock.now += 31
    audited.settle(audited.post(body))
    findings = audited.audit()
    assert findings.problems == ()
    assert findings.accepted == Counter({AuditOutcome.COPY: 1})


def test_a_request_that_died_without_a_reply_is_counted_apart(audited: AuditedStack) -> None:
    audited.stack.handlers.handlers["ask"] = lambda request: {}[request]
    with pytest.raises(KeyError):
        audited.stack.post(audited.stack.envelope(ASK))
    findings = audited.audit()
    assert (findings.clean, findings.answered, findings.unanswered) == (True, 0, 1)


def test_without_a_ledger_the_store_is_checked_against_itself(audited: AuditedStack) -> None:
    audited.filed()
    findings = audit(collect_evidence(audited.deployed.audited_store, now=int(NOW), retain_seconds=RETAIN))
    assert (findings.clean, findings.accepted, findings.rows) == (True, None, Counter({AuditOutcome.FILED: 1}))


# --- lost -------------------------------------------------------------------------------------------------------------


def test_a_claim_without_an_outcome_waits_while_a_queue_holds_one(audited: AuditedStack) -> None:
    record = audited.post(audited.stack.envelope())
    assert audited.audit().accepted == Counter({AuditOutcome.WAITING: 1})
    for queue in ("RetryQueue", "SuspectsQueue", "DeadLetterQueue"):
        audited.deployed.empty("ClaimsQueue")
        sqs = audited.deployed.clients.sqs
        sqs.send_message(QueueUrl=audited.deployed.queues[queue], MessageBody=record.body, DelaySeconds=900)
        assert audited.audit().clean
        audited.deployed.empty(queue)
    assert found(audited.audit()) == {AuditProblem.LOST: 1}


def test_a_claim_in_flight_waits(audited: AuditedStack) -> None:
    audited.post(audited.stack.envelope())
    sqs = audited.deployed.clients.sqs
    assert sqs.receive_message(QueueUrl=audited.deployed.queues["ClaimsQueue"], VisibilityTimeout=600)["Messages"]
    assert audited.audit().accepted == Counter({AuditOutcome.WAITING: 1})


def test_the_oldest_claims_count_as_lost_if_fewer_wait_than_are_missing(audited: AuditedStack) -> None:
    old = audited.stack.claim(audited.post(audited.stack.envelope()))
    audited.deployed.empty("ClaimsQueue")
    audited.stack.clock.now += 60
    audited.post(audited.stack.envelope())
    findings = audited.audit()
    assert found(findings) == {AuditProblem.LOST: 1}
    assert where(findings) == {f"claim {old.id}"}
    assert findings.accepted == Counter({AuditOutcome.WAITING: 1, AuditOutcome.LOST: 1})


def test_an_accepted_message_that_was_never_filed_is_lost_even_without_a_ledger(audited: AuditedStack) -> None:
    key = audited.filed()
    audited.remove(key)
    audited.log.clear()
    findings = audited.audit()
    assert (found(findings), where(findings)) == ({AuditProblem.LOST: 1}, {f"claim {key.claim_id}"})


def test_a_dm3_message_that_came_again_is_a_copy_also_when_the_first_may_be_forgotten(audited: AuditedStack) -> None:
    service = DeliveryService(audited.stack)
    message = submitted(service, ALICE)
    audited.settle(audited.note(service.post(message)))
    audited.stack.clock.now += DAY
    audited.settle(audited.note(service.post(message)))
    audited.stack.clock.now += RETAIN - 1
    findings = audited.audit()
    assert findings.problems == ()
    assert findings.accepted == Counter({AuditOutcome.FILED: 1, AuditOutcome.COPY: 1})


def test_a_copy_is_lost_with_its_message(audited: AuditedStack) -> None:
    body = audited.stack.envelope()
    key = audited.settle(audited.post(body))
    audited.settle(audited.post(body))
    audited.remove(key)
    findings = audited.audit()
    assert found(findings) == {AuditProblem.LOST: 2}
    assert findings.accepted == Counter({AuditOutcome.LOST: 2})


def test_a_large_copy_has_a_row_that_says_duplicate_and_is_lost_with_its_message(audited: AuditedStack) -> None:
    body = audited.stack.envelope()
    key = audited.settle(audited.post(body))
    audited.settle(audited.stack.pointed(audited.post(body)))
    findings = audited.audit()
    assert findings.problems == ()
    assert findings.accepted == findings.rows == Counter({AuditOutcome.FILED: 1, AuditOutcome.COPY: 1})
    audited.remove(key)
    findings = audited.audit()
    assert found(findings) == {AuditProblem.LOST: 2}
    assert findings.accepted == Counter({AuditOutcome.LOST: 2})


def test_another_text_under_the_same_correlation_is_no_copy(audited: AuditedStack) -> None:
    body = audited.stack.envelope()
    audited.settle(audited.post(body))
    audited.post(audited.stack.envelope(body="another", correlation=correlation_of(body)))
    audited.deployed.empty("ClaimsQueue")
    assert found(audited.audit()) == {AuditProblem.LOST: 1}


def test_a_claim_past_the_retention_period_is_not_lost(audited: AuditedStack) -> None:
    audited.post(audited.stack.envelope())
    audited.deployed.empty("ClaimsQueue")
    assert audited.audit(now=NOW + RETAIN + 1).accepted == Counter({AuditOutcome.FORGOTTEN: 1})


def test_a_home_whose_row_may_have_been_swept_is_not_missing(audited: AuditedStack) -> None:
    key = audited.filed()
    audited.remove(key)
    # The identity is remembered for a day longer than the row.
    assert audited.audit(now=NOW + RETAIN - 1).count(AuditProblem.LOST) == 1
    assert audited.audit(now=NOW + RETAIN + 1).clean


A, B = (row_key(BOB, 1, int(NOW) * 1000, claim) for claim in ("a", "b"))


@pytest.mark.parametrize("filed_as", ["d#x", "u#x"])
def test_a_home_that_was_named_in_vain_is_no_loss_where_the_same_message_has_its_row(filed_as: str) -> None:
    # One worker could verify the sender and died; the next could not, and filed the sender's second copy (or the
    # other way round).
    seen = {key: SeenRow("", B if key == filed_as else A, int(NOW) + RETAIN) for key in ("d#x", "u#x")}
    filed = {B: PostRow(Row(B, Place("seg/x", 0, 1), "c"))}
    assert audit(AuditEvidence(int(NOW), RETAIN, filed, seen)).clean
    assert found(audit(AuditEvidence(int(NOW), RETAIN, {}, seen))) == {AuditProblem.LOST: 2}


# --- doubled ----------------------------------------------------------------------------------------------------------


def test_a_message_filed_in_two_rows_is_found_by_its_bytes(audited: AuditedStack) -> None:
    body = audited.stack.envelope()
    first = audited.settle(audited.post(body))
    audited.forget()
    second = audited.settle(audited.post(body))
    findings = audited.audit()
    assert found(findings) == {AuditProblem.FILED_TWICE: 1, AuditProblem.NOT_HOME: 1}
    assert where(findings) <= {named(first), named(second)}


def test_a_filed_message_whose_identity_is_not_remembered_is_found(audited: AuditedStack) -> None:
    live, acknowledged = audited.filed(), audited.filed()
    audited.register.acknowledge(acknowledged, int(NOW) + RETAIN)
    audited.forget()
    findings = audited.audit()
    assert found(findings) == {AuditProblem.NOT_HOME: 2}
    assert where(findings) == {named(live), named(acknowledged)}
    # Long after, nobody need remember.
    assert audited.audit(now=NOW + RETAIN + 1).clean


def test_a_discarded_message_needs_no_home(audited: AuditedStack) -> None:
    audited.filed(subject=UNKNOWN)
    assert audited.deployed.rows("SeenTable") == []
    assert audited.audit().clean


@pytest.mark.parametrize(
    ("subject", "changed", "expected"),
    [
        ("Notify@Shop", {}, AuditProblem.FILED_TWICE),
        ("Notify@Shop", {"st": {"S": "G"}, "why": {"S": "discarded:TooLate"}}, AuditProblem.BOTH),
        (UNKNOWN, {}, AuditProblem.DISCARDED_TWICE),
    ],
)
def test_a_claim_with_two_registers_is_found(
    audited: AuditedStack, subject: str, changed: dict[str, Any], expected: AuditProblem
) -> None:
    key = audited.filed(subject=subject)
    audited.put("PostTable", {**audited.item(key), "pk": {"S": f"{SHOP}#1"}, **changed})
    findings = audited.audit()
    assert f"claim {key.claim_id}" in where(findings)
    assert findings.count(expected) == 1


# --- the rows, held against the ledger --------------------------------------------------------------------------------


def test_a_row_its_line_and_its_home_in_another_mailbox_are_found(audited: AuditedStack) -> None:
    key = audited.filed()
    moved = RowKey(f"thief.com#{key.pk[-1]}", key.sk)
    audited.rewrite(key, row=moved)
    audited.put("PostTable", {**audited.item(key), "pk": {"S": moved.pk}})
    audited.remove(key)
    [known] = audited.deployed.rows("SeenTable")
    audited.put("SeenTable", {**known, "home": {"M": {"pk": {"S": moved.pk}, "sk": {"S": moved.sk}}}})
    findings = audited.audit()
    assert (found(findings), where(findings)) == ({AuditProblem.MISFILED: 1}, {named(moved)})
    assert findings.problems[0].detail == f"accepted for mailbox {SHOP}, at {key.received_at_ms} ms"


@pytest.mark.parametrize("why", [OVER, CLOSED])
def test_expired_messages_and_those_of_deleted_mailboxes_are_outcomes_of_their_own(
    audited: AuditedStack, why: str
) -> None:
    later = int(NOW) + 31 * DAY
    audited.register.expire(audited.filed(), why, later + RETAIN)
    findings = audited.audit(now=later)
    assert findings.problems == ()
    assert findings.accepted == findings.rows == Counter({AuditOutcome.EXPIRED: 1})


@pytest.mark.parametrize("subject", [UNKNOWN, ORDER])
def test_a_tombstone_at_another_time_is_found(audited: AuditedStack, subject: str) -> None:
    key = audited.filed(subject=subject)
    moved = RowKey(key.pk, f"m#{key.received_at_ms - 1:013d}#{key.claim_id}")
    audited.put("PostTable", {**audited.item(key), "sk": {"S": moved.sk}})
    audited.remove(key)
    for known in audited.deployed.rows("SeenTable"):
        audited.put("SeenTable", {**known, "home": {"M": {"pk": {"S": moved.pk}, "sk": {"S": moved.sk}}}})
    findings = audited.audit()
    assert (found(findings), where(findings)) == ({AuditProblem.MISFILED: 1}, {named(moved)})


def test_a_row_that_is_not_in_the_ledger_is_noted_and_no_problem(audited: AuditedStack) -> None:
    keys = []
    for subject in (NOTIFY, NOTIFY, UNKNOWN, NOTIFY, NOTIFY):
        keys.append(audited.filed(subject=subject))
        audited.stack.clock.now += RUN_MS / 1000
    audited.register.acknowledge(keys[1], int(NOW) + RETAIN)
    audited.log = [audited.log[0], audited.log[4]]
    findings = audited.audit()
    assert findings.clean
    assert (findings.not_in_ledger, findings.wrong, found(findings)) == (3, 0, {AuditProblem.NOT_IN_LEDGER: 3})
    assert where(findings) == {named(key) for key in keys[1:4]}
    # What is older or newer than the ledger is counted; so is what a run of the inbox may have logged before or after.
    audited.log.pop()
    findings = audited.audit()
    assert (findings.not_in_ledger, findings.problems) == (4, ())


def test_without_a_ledger_no_row_is_missing_in_it(audited: AuditedStack) -> None:
    audited.filed()
    assert (
        audit(collect_evidence(audited.deployed.audited_store, now=int(NOW), retain_seconds=RETAIN)).not_in_ledger == 0
    )


def test_the_audit_assumes_the_time_limit_of_the_inbox() -> None:
    assert resources("AWS::Serverless::Function")["InboxFunction"]["Timeout"] * 1000 == RUN_MS


# --- heads ------------------------------------------------------------------------------------------------------------


def hide(audited: AuditedStack, key: RowKey, how: str) -> Heads:
    """Let listings leave a row out."""
    heads, at_ms = audited.deployed.storage.heads, key.received_at_ms
    if how == "behind the head":
        heads.raise_to(key.pk, heads.read(key.pk), key.sk + "!", at_ms + DAY * 1000)
    else:
        heads.leave_out(key.pk, heads.read(key.pk), Gap(at_ms, at_ms + 1, 1), at_ms + DAY * 1000)
    return heads


HOW = ("behind the head", "in a gap")


@pytest.mark.parametrize("how", HOW)
def test_a_message_that_listings_leave_out_is_found(audited: AuditedStack, how: str) -> None:
    key = audited.filed()
    heads = hide(audited, key, how)
    findings = audited.audit()
    assert (found(findings), where(findings)) == ({AuditProblem.HIDDEN: 1}, {named(key)})
    heads.include(key)
    assert audited.audit().problems == ()


@pytest.mark.parametrize("how", HOW)
def test_a_message_that_listings_leave_out_is_no_problem_while_its_claim_waits(audited: AuditedStack, how: str) -> None:
    record = audited.post(audited.stack.envelope())
    audited.stack.settle(record)
    hide(audited, audited.stack.claim(record).row, how)
    assert audited.audit().problems == ()


@pytest.mark.parametrize("how", HOW)
def test_an_acknowledged_message_is_left_out_by_listings(audited: AuditedStack, how: str) -> None:
    key = audited.filed()
    audited.register.acknowledge(key, int(NOW) + RETAIN + DAY)
    hide(audited, key, how)
    assert audited.audit().problems == ()


def test_a_message_that_is_shown_while_the_audit_goes_on_is_no_problem(audited: AuditedStack) -> None:
    key = audited.filed()
    heads, events = hide(audited, key, "behind the head"), audited.deployed.clients.dynamodb.meta.events
    event = "after-call.dynamodb.Scan"
    events.register(event, show := lambda **_: heads.include(key))
    try:
        assert audited.audit().problems == ()
    finally:
        events.unregister(event, show)


# --- bytes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("read_bytes", [True, False])
def test_a_live_row_whose_object_is_gone_is_found(audited: AuditedStack, read_bytes: bool) -> None:
    key = audited.filed()
    audited.lose_objects("seg/")
    findings = audited.audit(read_bytes=read_bytes)
    assert (found(findings), where(findings)) == ({AuditProblem.BYTES_MISSING: 1}, {named(key)})


@pytest.mark.parametrize("read_bytes", [True, False])
def test_a_live_row_that_points_behind_the_end_of_its_object_is_found(audited: AuditedStack, read_bytes: bool) -> None:
    key = audited.filed()
    audited.change(key, off={"N": "1000000"})
    assert found(audited.audit(read_bytes=read_bytes)) == {AuditProblem.BYTES_MISSING: 1}


def test_a_live_row_that_points_to_another_ones_line_is_found(audited: AuditedStack) -> None:
    one, other = audited.filed(), audited.filed()
    place = audited.item(other)
    audited.change(one, o=place["o"], off=place["off"], len=place["len"])
    findings = audited.audit()
    assert (found(findings), where(findings)) == ({AuditProblem.BYTES_WRONG: 1}, {named(one)})


@pytest.mark.parametrize("line", [b"", b"half a li", b"5", b"{}", b'{"pk": "a", "sk": "b", "c": "", "receipt": 1}'])
def test_a_live_row_that_points_to_no_line_is_found(audited: AuditedStack, line: bytes) -> None:
    key = audited.filed()
    data = line.ljust(20)
    audited.stack.objects.put("seg/made-up", data)
    audited.change(key, o={"S": "seg/made-up"}, off={"N": "0"}, len={"N": "20"})
    assert found(audited.audit()) == {AuditProblem.BYTES_WRONG: 1}
    # Only a look at the bytes can tell.
    assert audited.audit(read_bytes=False).clean


def test_a_live_row_does_not_expire(audited: AuditedStack) -> None:
    key = audited.filed()
    audited.change(key, ttl={"N": str(int(NOW) + DAY)})
    for now, end in (
        (NOW + DAY, AuditOutcome.FILED),
        (NOW + DAY + 1, AuditOutcome.EXPIRED),
        (NOW + RETAIN + 1, AuditOutcome.EXPIRED),
    ):
        findings = audited.audit(now=now)
        assert (found(findings), where(findings)) == ({AuditProblem.ENDS_EARLY: 1}, {named(key)})
        assert findings.accepted == findings.rows == Counter({end: 1})
    # It needs its bytes like any other.
    audited.lose_objects("seg/")
    assert found(audited.audit(now=NOW + DAY + 1)) == {AuditProblem.ENDS_EARLY: 1, AuditProblem.BYTES_MISSING: 1}


@pytest.mark.parametrize("subject", [UNKNOWN, ORDER])
def test_a_tombstone_stands_as_long_as_copies_may_come(audited: AuditedStack, subject: str) -> None:
    key = audited.filed(subject=subject)
    audited.change(key, ttl={"N": str(int(NOW) + DAY)})
    assert audited.audit(now=NOW + DAY).clean
    findings = audited.audit(now=NOW + DAY + 1)
    assert (found(findings), where(findings)) == ({AuditProblem.ENDS_EARLY: 1}, {named(key)})
    assert audited.audit(now=NOW + RETAIN).clean


def test_a_message_is_known_as_long_as_copies_may_come(audited: AuditedStack) -> None:
    audited.filed()
    [known] = audited.deployed.rows("SeenTable")
    audited.put("SeenTable", {**known, "ttl": {"N": str(int(NOW) + DAY)}})
    assert audited.audit(now=NOW + DAY).clean
    findings = audited.audit(now=NOW + DAY + 1)
    assert (found(findings), where(findings)) == ({AuditProblem.ENDS_EARLY: 1}, {f"seen {known['pk']['S']}"})
    assert audited.audit(now=NOW + RETAIN).clean


def test_an_envelope_that_was_changed_in_its_line_is_found_by_its_hash(audited: AuditedStack) -> None:
    key = audited.filed(body="a hundred")
    line = audited.rewrite(key)
    assert audited.audit().clean
    for envelope in (
        line.envelope.replace("hundred", "million"), line.envelope.replace(SENDER, "render.com"),
        line.envelope.replace('"Hash": "', '"Hash": "0'), "", "[]", "{}",
    ):  # fmt: skip
        audited.rewrite(key, envelope=envelope)
        findings = audited.audit()
        assert (found(findings), where(findings)) == ({AuditProblem.BYTES_WRONG: 1}, {named(key)}), envelope


@pytest.mark.parametrize(
    "other", [{"body": "another"}, {"sender": "render.com"}, {"correlation": "3f1b0f7e-5a62-4b0a-9c7e-2f4b7c1d9e10"}]
)
def test_an_envelope_that_stands_in_place_of_another_is_found_by_what_is_remembered(
    audited: AuditedStack, other: dict[str, str]
) -> None:
    body = audited.stack.envelope()
    key = audited.settle(audited.post(body))
    forged = audited.stack.envelope(**{"correlation": correlation_of(body), **other})  # type: ignore[arg-type]
    audited.rewrite(key, envelope=forged.decode())
    audited.log.clear()
    findings = audited.audit()
    assert (found(findings), where(findings)) == ({AuditProblem.BYTES_WRONG: 1}, {named(key)})


def test_an_envelope_and_what_is_remembered_of_it_are_held_against_the_ledger(audited: AuditedStack) -> None:
    body = audited.stack.envelope()
    key = audited.settle(audited.post(body))
    forged = audited.stack.envelope(body="another", correlation=correlation_of(body)).decode()
    audited.rewrite(key, envelope=forged)
    [known] = audited.deployed.rows("SeenTable")
    audited.put("SeenTable", {**known, "hash": {"S": json.loads(forged)["Hash"]}})
    findings = audited.audit()
    assert (found(findings), where(findings)) == ({AuditProblem.BYTES_WRONG: 1}, {named(key)})
    assert findings.problems[0].detail == "its line is not the message that the inbox accepted"
    audited.log.clear()
    assert audited.audit().clean  # nothing else tells


def test_a_row_in_another_conversation_than_its_line_is_found(audited: AuditedStack) -> None:
    key = audited.filed()
    audited.change(key, c={"S": "render.com"})
    assert found(audited.audit()) == {AuditProblem.BYTES_WRONG: 1}


def test_a_dm3_message_that_was_changed_is_found(audited: AuditedStack) -> None:
    service = DeliveryService(audited.stack)
    key = audited.settle(audited.note(service.post(submitted(service, ALICE))))
    line = audited.rewrite(key)
    assert audited.audit().clean
    other = json.dumps({**json.loads(line.envelope), "message": "another"})
    digest = hashlib.sha256(b"another").hexdigest()
    for changed in (
        {"envelope": other},
        {"envelope": other, "receipt": {**line.receipt, "message_hash": digest}},
        {"receipt": {**line.receipt, "protocol": "nlweb"}},
        {"receipt": {**line.receipt, "message_hash": digest}},
        {"conversation": "another"},
    ):
        audited.rewrite(key, **{"envelope": line.envelope, "receipt": line.receipt, **changed})
        findings = audited.audit()
        assert findings.count(AuditProblem.BYTES_WRONG) == 1, changed
        assert where(findings) == {named(key)}
    audited.rewrite(key, envelope=line.envelope, receipt=line.receipt, conversation=line.conversation)
    audited.change(key, c={"S": MALLORY})
    assert found(audited.audit()) == {AuditProblem.BYTES_WRONG: 1}


def test_a_remembered_reply_that_is_gone_is_found(audited: AuditedStack) -> None:
    audited.stack.handlers.handlers["ask"] = lambda request: "x" * 10_000
    assert audited.stack.post(audited.stack.envelope(ASK)).status == 200
    assert audited.audit().clean
    audited.lose_objects("reply/")
    assert found(audited.audit()) == {AuditProblem.REPLY_MISSING: 1}
    assert audited.audit(now=NOW + 2 * DAY + RETAIN).clean


# --- what a row says --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "why",
    [
        "", "spoilt", "lost", "discarded:", "discarded:Because", f"discarded:{KEY_LOOKUP_FAILED}",
        "discarded:NotOurs",
    ],
)  # fmt: skip
def test_a_discarded_message_needs_a_reason_that_discards(audited: AuditedStack, why: str) -> None:
    key = audited.filed(subject=UNKNOWN)
    audited.change(key, why={"S": why})
    findings = audited.audit()
    assert (found(findings), where(findings)) == ({AuditProblem.NO_REASON: 1}, {named(key)})
    # It may be swept at any moment.
    assert audited.audit(now=NOW + RETAIN + 1).clean


TOLD = {"M": {"b": {"S": "buffer.sender.com"}, "c": {"S": "1"}, "t": {"N": "1"}}}


@pytest.mark.parametrize("why", ["", ACKED])
@pytest.mark.parametrize("told", [{"told": TOLD}, {"told": TOLD, "sent": {"S": "delivered"}}])
def test_feedback_about_a_kept_message_is_found(audited: AuditedStack, why: str, told: dict[str, Any]) -> None:
    key = audited.filed()
    if why:
        audited.register.acknowledge(key, int(NOW) + RETAIN)
    assert audited.audit().clean
    audited.change(key, **told)
    findings = audited.audit()
    assert (found(findings), where(findings)) == ({AuditProblem.FILED_WITH_FEEDBACK: 1}, {named(key)})


@pytest.mark.parametrize(
    "changed",
    [
        {"st": None}, {"st": {"S": "X"}}, {"o": None}, {"off": {"N": "1.5"}}, {"sk": {"S": "m#x#y"}},
        {"sk": {"S": "!other"}},
    ],
)  # fmt: skip
def test_a_row_that_is_not_of_the_form_is_named(audited: AuditedStack, changed: dict[str, Any]) -> None:
    key = audited.filed()
    audited.change(key, **changed)
    findings = audited.audit()
    assert findings.count(AuditProblem.UNREADABLE) == 1


@pytest.mark.parametrize(
    "said",
    [
        {"home": {"S": "x"}},
        {"home": {"M": {"pk": {"S": "x"}, "sk": {"S": "y"}}}},
        {"home": {"M": {"pk": {"S": ""}, "sk": {"S": "m#1#x"}}}},
        {"reply_at": {"N": "1"}},
    ],
)
def test_an_identity_that_is_not_of_the_form_is_named(audited: AuditedStack, said: dict[str, Any]) -> None:
    audited.put("SeenTable", {"pk": {"S": "n#1"}, **said, "ttl": {"N": f"{int(NOW) + DAY}"}})
    findings = audited.audit()
    assert (found(findings), where(findings)) == ({AuditProblem.UNREADABLE: 1}, {"seen n#1"})


# --- a store at work --------------------------------------------------------------------------------------------------


def looked_at(audited: AuditedStack, before: Callable[[str], object]) -> Deployed:
    """The same store through clients of an auditor; `before` is called before each of its calls."""
    clients = new_clients()

    @contextmanager
    def gate(operation: str) -> Iterator[None]:
        before(operation)
        yield

    gate_calls(clients, gate)
    return replace(audited.deployed, clients=clients)


def once(operation: str, act: Callable[[], object]) -> Callable[[str], object]:
    """Act before the first call of an operation."""
    acts = [act]
    return lambda called: acts.pop()() if called == operation and acts else None


def test_an_audit_only_reads(audited: AuditedStack) -> None:
    audited.filed()
    audited.post(audited.stack.envelope())
    called: set[str] = set()
    before = audited.deployed.dump()
    assert audited.audit(at=looked_at(audited, called.add)).clean
    assert called == {"GetQueueAttributes", "Scan", "ListObjectsV2", "GetObject"}
    assert audited.deployed.dump() == before
    called.clear()
    audited.audit(at=looked_at(audited, called.add), read_bytes=False)
    assert "GetObject" not in called


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ClaimsQueue", "RetryQueue"), ("ClaimsQueue", "SuspectsQueue"), ("ClaimsQueue", "DeadLetterQueue"),
        ("RetryQueue", "SuspectsQueue"), ("SuspectsQueue", "RetryQueue"),
        ("RetryQueue", "DeadLetterQueue"), ("SuspectsQueue", "DeadLetterQueue"),
        ("DeadLetterQueue", "ClaimsQueue"), ("DeadLetterQueue", "RetryQueue"), ("DeadLetterQueue", "SuspectsQueue"),
    ],
)  # fmt: skip
def test_a_claim_that_moves_while_the_queues_are_counted_is_not_missing(
    audited: AuditedStack, old: str, new: str
) -> None:
    body = audited.post(audited.stack.envelope()).body
    audited.deployed.empty("ClaimsQueue")
    sqs, queues = audited.deployed.clients.sqs, audited.deployed.queues
    moment, counted = 0, 0

    def move(operation: str) -> None:
        nonlocal counted
        if operation == "GetQueueAttributes":
            if counted == moment:
                sqs.send_message(QueueUrl=queues[new], MessageBody=body)
                audited.deployed.empty(old)
            counted += 1

    at = looked_at(audited, move)
    while moment <= counted:
        counted = 0
        sqs.send_message(QueueUrl=queues[old], MessageBody=body)
        assert audited.audit(at=at).clean, f"it moved before count {moment}"
        audited.deployed.empty(old)
        audited.deployed.empty(new)
        moment += 1
    assert moment > len(CLAIM_QUEUES)


def test_a_message_acknowledged_and_deleted_meanwhile_is_not_missing(audited: AuditedStack) -> None:
    key = audited.filed()

    def collect() -> None:
        audited.register.acknowledge(key, int(NOW) + RETAIN)
        audited.lose_objects("seg/")

    for operation in ("ListObjectsV2", "GetObject"):
        findings = audited.audit(at=looked_at(audited, once(operation, collect)))
        assert findings.clean
        assert findings.accepted == Counter({AuditOutcome.ACKNOWLEDGED: 1})


def test_a_message_compacted_meanwhile_is_found_in_its_chunk(audited: AuditedStack) -> None:
    key = audited.filed()

    def compact() -> None:
        item = audited.item(key)
        [data] = audited.deployed.objects().values()
        audited.stack.objects.put("chk/1", b" " * 7 + data)
        audited.change(key, o={"S": "chk/1"}, off={"N": str(int(item["off"]["N"]) + 7)})
        audited.lose_objects("seg/")

    assert audited.audit(at=looked_at(audited, once("GetObject", compact))).clean


def test_a_message_filed_meanwhile_has_its_home(audited: AuditedStack) -> None:
    record = audited.post(audited.stack.envelope())
    scans: list[str] = []

    def work(operation: str) -> None:
        if operation == "Scan":
            scans.append(operation)
            if len(scans) == 2:  # the registers are read, the identities are not
                audited.settle(record)

    findings = audited.audit(at=looked_at(audited, work))
    assert findings.clean
    assert findings.accepted == Counter({AuditOutcome.FILED: 1})


# --- the ledger -------------------------------------------------------------------------------------------------------


def test_the_ledger_is_read_from_a_log_with_other_lines(audited: AuditedStack) -> None:
    claim = audited.stack.claim(audited.post(audited.stack.envelope()))
    [line] = audited.log
    noise = ["START RequestId: 1", "", "5", '{"message": "refused"}', '{"message": "queued"}', '{"_aws": {}}']
    assert list(read_ledger([*noise, line])) == list(read_ledger([line]))
    [accepted] = read_ledger([line])
    assert (accepted.claim, accepted.mailbox, accepted.received_at_ms) == (claim.id, SHOP, claim.received_at_ms)


@pytest.mark.parametrize("missing", ["mailbox", "received_at_ms", "seen", "text"])
def test_a_ledger_of_another_release_is_refused(missing: str) -> None:
    line = {"message": "queued", **LedgerEntry("c", "m", 1, "n#1").as_log()}
    assert list(read_ledger([json.dumps(line)])) == [LedgerEntry("c", "m", 1, "n#1")]
    del line[missing]
    with pytest.raises(OurError, match="line 1 of the ledger"):
        list(read_ledger([json.dumps(line)]))


@pytest.mark.parametrize(
    "value", ["1e999", "NaN", "1.5", "-1", "true", '"1"', "null", "1" * 5000], ids=lambda value: value[:9]
)
def test_an_invalid_time_in_the_ledger_is_named_by_its_line(value: str) -> None:
    line = json.dumps({"message": "queued", **LedgerEntry("c", "m", 7, "n#1").as_log()})
    with pytest.raises(OurError, match="line 2 of the ledger"):
        list(read_ledger([line, line.replace("7", value)]))


@pytest.mark.parametrize("value", ["5", "null", "[]", r'"\ud800"'])
@pytest.mark.parametrize("name", ["claim", "mailbox", "seen", "text"])
def test_an_invalid_text_in_the_ledger_is_named_by_its_line(name: str, value: str) -> None:
    line = {"message": "queued", **LedgerEntry("c", "m", 7, "n#1").as_log(), name: "here"}
    with pytest.raises(OurError, match="line 1 of the ledger"):
        list(read_ledger([json.dumps(line).replace('"here"', value)]))


def test_a_line_nested_too_deeply_is_named_and_binary_data_skipped() -> None:
    with pytest.raises(OurError, match="line 2 of the ledger"):
        list(read_ledger([b"\xff\xfe\xff", "[" * 200_000 + "]" * 200_000]))


def test_a_line_that_stands_in_the_ledger_twice_is_one_message(audited: AuditedStack) -> None:
    audited.filed()
    audited.post(audited.stack.envelope())
    audited.log *= 2
    findings = audited.audit()
    assert findings.clean
    assert findings.accepted == Counter({AuditOutcome.FILED: 1, AuditOutcome.WAITING: 1})


def test_the_page_for_operators_says_what_each_problem_means_and_what_to_do() -> None:
    page = (TEMPLATE.parent / "docs" / "operate" / "audit.md").read_text(encoding="utf-8")
    told = [line for line in page.splitlines() if line.startswith("| `")]
    assert told == [f"| `{problem}` | {problem.sentence} | {problem.remedy} |" for problem in AuditProblem]
