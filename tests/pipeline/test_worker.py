import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber
from tests.aws import new_clients
from tests.pipeline.stack import (
    DAY,
    FORWARD_TARGET,
    HORIZON,
    NOTIFY,
    NOW,
    ORDER,
    OTHER_KEY,
    RETAIN,
    RSA_KEY,
    SENDER,
    SENDER_KEY,
    SENDER_KEY_NAME,
    SHOP,
    UNKNOWN,
    PipelineStack,
)

from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import JsonValue
from postroom.core.reason import Reason
from postroom.core.reasons import STORE_UNAVAILABLE, TOO_LATE
from postroom.core.settings import DeploymentSettings
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.outbound.discard_messages import DiscardNotification
from postroom.pipeline.claims import Claim
from postroom.pipeline.outcomes import ClaimOutcome
from postroom.pipeline.ports import SenderKey
from postroom.pipeline.verdicts import Judge, Verdict
from postroom.pipeline.worker import BEGIN_SECONDS, SUSPECT_AFTER, Source, retry_delay
from postroom.protocols.nlweb.reasons import (
    CORRELATION_REUSED,
    FEEDBACK_NOT_KEPT,
    KEY_LOOKUP_FAILED,
    KEY_NOT_FOUND,
    KEY_REVOKED,
    SIGNATURE_INVALID,
    UNEXPECTED_SUBJECT,
    WALLET_UNKNOWN,
)
from postroom.protocols.nlweb.schema import POLLYWEB
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.storage.directory.domains import Domain
from postroom.storage.layout import RowKey, seen_key_nlweb
from postroom.storage.mail.register import ACKED, FORWARDED

CORRELATION = "125a5c75-cb72-43d2-9695-37026dfcaa48"
AWKWARD = '\ufffe\uffff\u2028\u0000\x7f\U0001f91d\U0010ffff\r\n"\\é'


def only_notice(stack: PipelineStack) -> DiscardNotification:
    [notice] = stack.discard_notifications()
    assert isinstance(notice, DiscardNotification)
    return notice


# ---- accepted ------------------------------------------------------------------------------------------------


def test_an_accepted_message_is_filed_and_listed_with_the_bytes_received(stack: PipelineStack) -> None:
    body = stack.envelope(body=AWKWARD)
    record = stack.queued(body)
    assert stack.settle(record).fate is ClaimOutcome.ACCEPTED
    [filed] = stack.listed()
    assert filed.line.envelope.encode() == body
    assert filed.row.key == filed.line.row == stack.claim(record).row
    assert stack.listed(conversation=SENDER) == [filed]
    assert stack.discard_notifications() == []


def test_a_large_message_is_filed_from_its_claim_in_the_bucket(stack: PipelineStack) -> None:
    body = stack.envelope(body="x" * 1_040_000)
    assert stack.settle(stack.queued(body)).fate is ClaimOutcome.ACCEPTED
    [filed] = stack.listed()
    assert filed.line.envelope.encode() == body


def test_each_line_keeps_a_receipt(stack: PipelineStack) -> None:
    record = stack.queued(stack.envelope())
    stack.clock.now += 3
    stack.settle(record)
    [filed] = stack.listed()
    assert filed.line.receipt == {
        "claim": stack.claim(record).id,
        "received_at_ms": int(NOW * 1000),
        "verified_at_ms": int(NOW * 1000) + 3000,
        "protocol": "nlweb",
        "dialect": "nlweb.org/MSG:1.0",
        "source": "192.0.2.1",
        "selector": "nlweb",
        "key_name": SENDER_KEY_NAME,
        "key_algorithm": "ed25519",
        "key_fingerprint": SENDER_KEY.public.fingerprint,
        "key_refetched": False,
        "evidence": {"chain": "walked"},
    }


def test_a_batch_makes_one_segment_whatever_its_mailboxes(stack: PipelineStack) -> None:
    stack.operators.put_subject(SHOP, SubjectRule("Apply@Jobs", Treatment.MAILBOX, "jobs"))
    records = [stack.queued(stack.envelope(subject)) for subject in (NOTIFY, "Apply@Jobs", NOTIFY)]
    assert {outcome.fate for outcome in stack.work(*records).outcomes} == {ClaimOutcome.ACCEPTED}
    assert len(stack.deployed.objects()) == 1
    assert (len(stack.listed()), len(stack.listed("jobs"))) == (2, 1)


def test_filing_takes_two_writes_and_a_share_of_one_object(stack: PipelineStack) -> None:
    record = stack.queued(stack.envelope())
    stack.settle(record)
    assert (len(stack.deployed.rows("SeenTable")), len(stack.deployed.rows("PostTable"))) == (1, 1)
    [seen] = stack.deployed.rows("SeenTable")
    # NLWeb: Timestamp + MAX_AGE + RETAIN.
    assert int(seen["ttl"]["N"]) == int(NOW) + DAY + RETAIN


def test_a_batch_may_be_processed_by_many_threads(stack: PipelineStack) -> None:
    with ThreadPoolExecutor(8) as stack.pool:
        records = [stack.queued(stack.envelope(body=n)) for n in range(12)]
        records.append(stack.queued(stack.envelope(UNKNOWN)))
        report = stack.work(*records)
    assert report.failed == ()
    assert [outcome.fate for outcome in report.outcomes] == [ClaimOutcome.ACCEPTED] * 12 + [ClaimOutcome.DISCARDED]
    assert [json.loads(filed.line.envelope)["Body"] for filed in stack.listed()] == list(range(12))


# ---- duplicates ----------------------------------------------------------------------------------------------


def test_the_same_claim_redelivered_is_done_already(stack: PipelineStack) -> None:
    record = stack.queued(stack.envelope())
    stack.settle(record)
    before = stack.listed()
    assert stack.settle(record).fate is ClaimOutcome.DUPLICATE
    assert stack.listed() == before


def test_the_senders_retry_adopts_the_home_and_needs_no_line(stack: PipelineStack) -> None:
    body = stack.envelope()
    first, second = stack.queued(body), stack.queued(body)
    stack.settle(first)
    before = stack.deployed.dump()
    assert stack.settle(second).fate is ClaimOutcome.DUPLICATE
    assert stack.deployed.dump() == before


def test_a_correlation_is_told_as_it_came_and_compared_in_any_case(stack: PipelineStack) -> None:
    stack.settle(stack.queued(stack.envelope(correlation=CORRELATION)))
    other = stack.settle(stack.queued(stack.envelope(body=2, correlation=CORRELATION.upper())))
    assert (other.fate, other.reason) == (ClaimOutcome.DISCARDED, CORRELATION_REUSED)
    assert only_notice(stack).correlation == CORRELATION.upper()


@pytest.mark.parametrize("threads", [False, True])
def test_a_message_and_its_retry_in_one_batch_are_one_row(stack: PipelineStack, threads: bool) -> None:
    if threads:
        stack.pool = ThreadPoolExecutor(4)
    body = stack.envelope()
    report = stack.work(stack.queued(body), stack.queued(body), stack.queued(body))
    stack.pool.shutdown()
    assert report.failed == ()
    assert sorted(outcome.fate for outcome in report.outcomes) == [
        ClaimOutcome.ACCEPTED,
        ClaimOutcome.DUPLICATE,
        ClaimOutcome.DUPLICATE,
    ]
    assert len(stack.listed()) == len(stack.deployed.rows("PostTable")) == 1
    [segment] = stack.deployed.objects().values()
    assert segment.count(b"\n") == 1


def test_one_claim_twice_in_a_batch_is_settled_once_and_leaves_the_queue_twice(stack: PipelineStack) -> None:
    record = stack.queued(stack.envelope())
    again = stack.record(record.body)
    report = stack.work(record, again)
    assert report.failed == ()
    assert [outcome.fate for outcome in report.outcomes] == [ClaimOutcome.ACCEPTED] * 2
    assert len(stack.listed()) == 1


def test_a_retry_files_a_home_that_was_named_and_never_filed(stack: PipelineStack) -> None:
    body = stack.envelope()
    first, second = stack.claim(stack.queued(body)), stack.queued(body)
    key = seen_key_nlweb(SHOP, SENDER, json.loads(body)["Header"]["Correlation"])
    stack.seen.claim_home(key, json.loads(body)["Hash"], first.row, now=int(NOW), forget_at=int(NOW) + 99)
    assert stack.settle(second).fate is ClaimOutcome.ACCEPTED
    [filed] = stack.listed()
    assert filed.row.key == filed.line.row == first.row
    assert stack.row(stack.claim(second).row) is None


def test_nothing_is_to_do_for_a_home_past_the_horizon(stack: PipelineStack) -> None:
    body = stack.envelope()
    first, second = stack.claim(stack.queued(body)), stack.queued(body)
    old = RowKey(first.row.pk, f"m#{first.received_at_ms - HORIZON * 1000 - 1:013d}#old")
    key = seen_key_nlweb(SHOP, SENDER, json.loads(body)["Header"]["Correlation"])
    stack.seen.claim_home(key, json.loads(body)["Hash"], old, now=int(NOW), forget_at=int(NOW) + 99)
    assert stack.settle(second).fate is ClaimOutcome.DUPLICATE
    assert stack.deployed.rows("PostTable") == []


def test_a_late_second_worker_does_not_restore_an_acknowledged_message(stack: PipelineStack) -> None:
    body = stack.envelope()
    record, retry = stack.queued(body), stack.queued(body)
    stack.settle(record)
    row = stack.claim(record).row
    stack.register.acknowledge(row, int(NOW) + RETAIN)
    for late in (record, retry):
        assert stack.settle(late).fate is ClaimOutcome.DUPLICATE
        assert stack.listed() == []
    found = stack.row(row)
    assert found is not None
    assert found.why == ACKED


def test_another_hash_under_the_same_correlation_is_discarded_with_feedback(stack: PipelineStack) -> None:
    one = stack.queued(stack.envelope(body=1, correlation=CORRELATION))
    other = stack.queued(stack.envelope(body=2, correlation=CORRELATION))
    stack.settle(one)
    outcome = stack.settle(other)
    assert (outcome.fate, outcome.reason) == (ClaimOutcome.DISCARDED, CORRELATION_REUSED)
    notice = only_notice(stack)
    assert (notice.row, notice.reason, notice.correlation) == (
        stack.claim(other).row, CORRELATION_REUSED, CORRELATION,
    )  # fmt: skip
    assert [filed.row.key for filed in stack.listed()] == [stack.claim(one).row]


def test_the_same_correlation_from_or_to_another_domain_is_another_message(stack: PipelineStack) -> None:
    stack.keys.published["nlweb._domainkey.other.com"] = OTHER_KEY.public
    stack.operators.put_domain(Domain("second.com"))
    stack.operators.put_subject("second.com", SubjectRule("*", Treatment.MAILBOX, SHOP))
    for body in (
        stack.envelope(correlation=CORRELATION),
        stack.envelope(correlation=CORRELATION, sender="other.com", key=OTHER_KEY),
        stack.envelope(correlation=CORRELATION, receiver="second.com"),
    ):
        assert stack.settle(stack.queued(body)).fate is ClaimOutcome.ACCEPTED
    assert len(stack.listed()) == 3


def test_a_request_that_was_answered_at_once_is_not_filed_as_well(stack: PipelineStack) -> None:
    stack.handlers.handlers["ask"] = lambda _: 1
    body = stack.envelope("Ask@Shop")
    stack.post(body)
    stack.operators.put_subject(SHOP, SubjectRule("Ask@Shop", Treatment.MAILBOX, SHOP))
    stack.clock.now += 31
    assert stack.settle(stack.queued(body)).fate is ClaimOutcome.DUPLICATE
    assert stack.listed() == []


# ---- discards ------------------------------------------------------------------------------------------------

BAD: list[tuple[Callable[[PipelineStack], bytes], Reason]] = [
    (lambda stack: stack.envelope(key=OTHER_KEY), SIGNATURE_INVALID),
    (lambda stack: stack.envelope(sender="keyless.com"), KEY_NOT_FOUND),
    (lambda stack: stack.envelope(UNKNOWN), UNEXPECTED_SUBJECT),
    (lambda stack: stack.envelope(sender=CORRELATION), WALLET_UNKNOWN),
]


def test_an_identity_and_a_tombstone_are_remembered_for_the_retention_period(stack: PipelineStack) -> None:
    assert DeploymentSettings().retain_seconds == RETAIN
    body = stack.envelope(correlation=CORRELATION)
    stack.settle(stack.queued(body))
    bad = stack.queued(stack.envelope(UNKNOWN))
    stack.settle(bad)
    key, at = seen_key_nlweb(SHOP, SENDER, CORRELATION), int(NOW)
    # The inbox lets a message in for DAY after its Timestamp.
    assert stack.seen.find(key, now=at + DAY + RETAIN) is not None
    assert stack.seen.find(key, now=at + DAY + RETAIN + 1) is None
    [tombstone] = [row for row in stack.deployed.rows("PostTable") if row["st"]["S"] == "G"]
    assert int(tombstone["ttl"]["N"]) == at + RETAIN


@pytest.mark.parametrize(("make", "reason"), BAD, ids=[str(reason) for _, reason in BAD])
def test_a_discard_takes_the_claims_row_and_says_why(
    stack: PipelineStack, make: Callable[[PipelineStack], bytes], reason: Reason
) -> None:
    record = stack.queued(make(stack))
    outcome = stack.settle(record)
    assert (outcome.fate, outcome.reason) == (ClaimOutcome.DISCARDED, reason)
    [row] = stack.deployed.rows("PostTable")
    assert (row["st"]["S"], row["why"]["S"]) == ("G", f"discarded:{reason}")
    assert int(row["ttl"]["N"]) == int(NOW) + RETAIN
    assert (stack.listed(), stack.deployed.rows("SeenTable")) == ([], [])


def test_the_register_is_written_before_the_feedback_is_requested(stack: PipelineStack) -> None:
    stack.keys.cached[SENDER_KEY_NAME] = SENDER_KEY.public
    record = stack.queued(stack.envelope(UNKNOWN))
    clients = new_clients()
    with Stubber(clients.dynamodb) as stub:
        stub.add_client_error("put_item", "ThrottlingException")
        report = stack.worker(clients).work([record])
    assert [outcome.fate for outcome in report.outcomes] == [ClaimOutcome.RETRIED]
    assert stack.discard_notifications() == []
    stack.settle(record)
    assert only_notice(stack).row == stack.claim(record).row


def test_a_repeated_discard_requests_feedback_with_the_stored_reason(stack: PipelineStack) -> None:
    record = stack.queued(stack.envelope())
    stack.register.discard(stack.claim(record).row, KEY_REVOKED, int(NOW) + RETAIN)
    outcome = stack.settle(record)
    assert (outcome.fate, outcome.reason) == (ClaimOutcome.DISCARDED, KEY_REVOKED)
    assert only_notice(stack).reason is KEY_REVOKED
    assert stack.listed() == []


def test_a_second_discard_gives_the_first_reason(stack: PipelineStack) -> None:
    record = stack.queued(stack.envelope(UNKNOWN))
    stack.register.discard(stack.claim(record).row, KEY_REVOKED, int(NOW) + RETAIN)
    assert stack.settle(record).reason is KEY_REVOKED
    assert only_notice(stack).reason is KEY_REVOKED


def test_a_discard_of_a_filed_or_acknowledged_row_requests_no_feedback(stack: PipelineStack) -> None:
    record = stack.queued(stack.envelope())
    stack.settle(record)
    stack.operators.remove_subject(SHOP, NOTIFY)
    stack.clock.now += 31
    assert stack.settle(record).fate is ClaimOutcome.DUPLICATE
    stack.register.acknowledge(stack.claim(record).row, int(NOW) + RETAIN)
    assert stack.settle(record).fate is ClaimOutcome.DUPLICATE
    assert stack.discard_notifications() == []


def test_older_than_the_horizon_is_too_late_and_not_a_millisecond_before(stack: PipelineStack) -> None:
    at, late = stack.queued(stack.envelope()), stack.queued(stack.envelope())
    stack.clock.now += HORIZON
    assert stack.settle(at).fate is ClaimOutcome.ACCEPTED
    stack.clock.now += 0.001
    outcome = stack.settle(late)
    assert (outcome.fate, outcome.reason) == (ClaimOutcome.DISCARDED, TOO_LATE)
    assert only_notice(stack).reason is TOO_LATE


def test_a_message_filed_in_time_is_not_too_late_when_its_claim_is_redelivered(stack: PipelineStack) -> None:
    record = stack.queued(stack.envelope())
    stack.settle(record)
    stack.clock.now += HORIZON + 1
    assert stack.settle(record).fate is ClaimOutcome.DUPLICATE
    assert (len(stack.listed()), stack.discard_notifications()) == (1, [])


def test_time_windows_are_those_of_the_inbox_not_of_the_worker(stack: PipelineStack) -> None:
    record = stack.queued(stack.envelope())
    stack.clock.now += 3 * DAY
    assert stack.settle(record).fate is ClaimOutcome.ACCEPTED


# ---- retries, suspects, failures -----------------------------------------------------------------------------


def test_a_retry_leaves_the_queue_for_the_retry_queue_with_a_growing_delay(stack: PipelineStack) -> None:
    stack.keys.published[SENDER_KEY_NAME] = NotNowError(KEY_LOOKUP_FAILED)
    record = stack.queued(stack.envelope())
    for tries in range(8):
        outcome = stack.settle(record)
        assert (outcome.fate, outcome.reason) == (ClaimOutcome.RETRIED, KEY_LOOKUP_FAILED)
        assert stack.deployed.delays("RetryQueue")[-1] == retry_delay(tries)
        record = stack.record(stack.deployed.bodies("RetryQueue")[-1])
    assert stack.deployed.delays("RetryQueue") == [5, 15, 45, 135, 405, 900, 900, 900]
    assert stack.deployed.rows("PostTable") == []
    stack.keys.published[SENDER_KEY_NAME] = SENDER_KEY.public
    assert stack.settle(record).fate is ClaimOutcome.ACCEPTED


def test_a_retry_is_a_discard_past_the_horizon(stack: PipelineStack) -> None:
    stack.keys.published[SENDER_KEY_NAME] = NotNowError(KEY_LOOKUP_FAILED)
    stack.settle(stack.queued(stack.envelope()))
    stack.clock.now += HORIZON + 1
    outcome = stack.settle(stack.record(stack.deployed.bodies("RetryQueue")[-1]))
    assert (outcome.fate, outcome.reason) == (ClaimOutcome.DISCARDED, TOO_LATE)


def test_a_large_claims_retry_points_where_it_lay(stack: PipelineStack) -> None:
    stack.keys.published[SENDER_KEY_NAME] = NotNowError(KEY_LOOKUP_FAILED)
    record = stack.queued(stack.envelope(body="x" * 1_040_000))
    stack.settle(record)
    [retry] = stack.deployed.bodies("RetryQueue")
    assert json.loads(retry) == {**json.loads(record.body), "tries": 1}


@pytest.mark.parametrize(("code", "status"), [("ServiceUnavailable", 503), ("AccessDenied", 403)])
def test_only_a_claim_whose_retry_could_not_be_sent_is_redelivered(
    stack: PipelineStack, code: str, status: int
) -> None:
    stack.keys.published[SENDER_KEY_NAME] = NotNowError(KEY_LOOKUP_FAILED)
    stack.keys.published["nlweb._domainkey.other.com"] = OTHER_KEY.public
    neighbour = stack.queued(stack.envelope(sender="other.com", key=OTHER_KEY))
    record = stack.queued(stack.envelope())
    clients = new_clients()
    with Stubber(clients.sqs) as stub:
        stub.add_client_error("send_message", code, http_status_code=status)
        report = stack.worker(clients).work([record, neighbour])
    assert report.failed == (record.message_id,)
    assert {outcome.fate for outcome in report.outcomes} == {ClaimOutcome.RETRIED, ClaimOutcome.ACCEPTED}


def test_a_claim_received_three_times_is_set_apart_as_it_is(stack: PipelineStack) -> None:
    record = stack.queued(stack.envelope())
    second = stack.record(record.body, received=SUSPECT_AFTER - 1)
    third = stack.record(record.body, received=SUSPECT_AFTER)
    assert stack.work(second).suspected == 0
    report = stack.work(third)
    assert (report.suspected, report.failed, report.outcomes) == (1, (), ())
    assert stack.deployed.bodies("SuspectsQueue") == [record.body]


def test_a_suspect_is_processed_by_itself(stack: PipelineStack) -> None:
    record = stack.record(stack.queued(stack.envelope()).body, received=4)
    report = stack.worker().work([record], Source.SUSPECTS)
    assert [outcome.fate for outcome in report.outcomes] == [ClaimOutcome.ACCEPTED]
    assert stack.deployed.bodies("SuspectsQueue") == []


UNREADABLE = [
    "",
    "{}",
    "[]",
    "null",
    "7",
    '"text"',
    '{"claim":"{}","tries":0}',
    '{"claim":"x","tries":0}',
    '{"claim":{"form":1},"tries":0}',
    '{"claim":"{\\"form\\":2}","tries":0}',
    '{"at":"claim/none","tries":0}',
    '{"at":7,"tries":0}',
]


@pytest.mark.parametrize("body", UNREADABLE)
def test_an_unreadable_claim_is_redelivered_and_its_neighbours_are_processed(stack: PipelineStack, body: str) -> None:
    good, poison = stack.queued(stack.envelope()), stack.record(body)
    report = stack.work(poison, good)
    assert report.failed == (poison.message_id,)
    assert [outcome.fate for outcome in report.outcomes] == [ClaimOutcome.ACCEPTED]


@pytest.mark.parametrize("body", UNREADABLE[1:])
def test_an_unreadable_claim_is_set_apart_after_three_receives_too(stack: PipelineStack, body: str) -> None:
    assert stack.work(stack.record(body, received=3)).suspected == 1
    assert stack.deployed.bodies("SuspectsQueue") == [body]


class Faulty:
    """A judge that has a bug."""

    def __init__(self, real: Judge, at: str) -> None:
        self.real, self.at = real, at

    def judge(self, claim: Claim) -> Verdict:
        if self.at in claim.envelope:
            raise RecursionError
        return self.real.judge(claim)


def test_a_claim_that_raises_an_exception_is_redelivered_and_its_neighbours_are_processed(stack: PipelineStack) -> None:
    records = [stack.queued(stack.envelope(body=body)) for body in ("one", "poison", "two")]
    report = stack.worker(judge=Faulty(stack.judge(), "poison")).work(records)
    assert report.failed == (records[1].message_id,)
    assert sorted(outcome.fate for outcome in report.outcomes) == [
        ClaimOutcome.ACCEPTED,
        ClaimOutcome.ACCEPTED,
        ClaimOutcome.STUCK,
    ]
    assert len(stack.listed()) == 2


def test_a_message_that_cannot_be_forwarded_does_not_delay_its_neighbours(stack: PipelineStack) -> None:
    stack.forwarding.fault = ClientError({"Error": {"Code": "InvalidParameterValue"}}, "SendMessage")
    records = [stack.queued(stack.envelope(subject)) for subject in (ORDER, NOTIFY)]
    report = stack.work(*records)
    assert report.failed == (records[0].message_id,)
    assert [outcome.fate for outcome in report.outcomes] == [ClaimOutcome.STUCK, ClaimOutcome.ACCEPTED]


@pytest.mark.parametrize("operation", ["PutItem seen", "PutObject", "PutItem post"])
def test_a_temporary_failure_is_a_retry_and_the_next_attempt_completes_it(stack: PipelineStack, operation: str) -> None:
    stack.keys.cached[SENDER_KEY_NAME] = SENDER_KEY.public
    record = stack.queued(stack.envelope())
    clients = new_clients()
    stub = Stubber(clients.s3 if operation == "PutObject" else clients.dynamodb)
    if operation == "PutObject":
        stub.add_client_error("put_object", "SlowDown", http_status_code=503)
    else:
        if operation == "PutItem post":
            stub.add_response("put_item", {})
        stub.add_client_error("put_item", "ThrottlingException")
    with stub:
        report = stack.worker(clients).work([record])
    assert [(outcome.fate, outcome.reason) for outcome in report.outcomes] == [
        (ClaimOutcome.RETRIED, STORE_UNAVAILABLE)
    ]
    assert stack.listed() == []
    [retry] = stack.deployed.bodies("RetryQueue")
    assert stack.settle(stack.record(retry)).fate is ClaimOutcome.ACCEPTED
    assert len(stack.listed()) == 1


# ---- forwarding ----------------------------------------------------------------------------------------------


def test_a_message_is_forwarded_and_its_row_records_it(stack: PipelineStack) -> None:
    body = stack.envelope(ORDER)
    record = stack.queued(body)
    assert stack.settle(record).fate is ClaimOutcome.FORWARDED
    claim = stack.claim(record)
    [(target, message)] = stack.forwarding.forwarded
    assert (target, message["id"], message["mailbox"]) == (FORWARD_TARGET, claim.id, SHOP)
    assert message["envelope"] == body.decode()
    row = stack.row(claim.row)
    assert row is not None
    assert row.why == FORWARDED
    assert (stack.listed(), stack.deployed.objects()) == ([], {})


def test_a_forwarded_message_that_comes_again_is_not_forwarded_again(stack: PipelineStack) -> None:
    body = stack.envelope(ORDER)
    record, retry = stack.queued(body), stack.queued(body)
    stack.settle(record)
    for again in (record, retry):
        assert stack.settle(again).fate is ClaimOutcome.DUPLICATE
    assert len(stack.forwarding.forwarded) == 1


def test_a_discarded_message_is_not_forwarded(stack: PipelineStack) -> None:
    record = stack.queued(stack.envelope(ORDER))
    stack.register.discard(stack.claim(record).row, KEY_REVOKED, int(NOW) + RETAIN)
    assert stack.settle(record).fate is ClaimOutcome.DISCARDED
    assert stack.forwarding.forwarded == []
    assert only_notice(stack).reason is KEY_REVOKED


def test_forwarding_is_at_least_once_under_one_id(stack: PipelineStack) -> None:
    stack.keys.cached[SENDER_KEY_NAME] = SENDER_KEY.public
    record = stack.queued(stack.envelope(ORDER))
    clients = new_clients()
    with Stubber(clients.dynamodb) as stub:
        stub.add_response("put_item", {})
        stub.add_response("get_item", {})
        stub.add_client_error("put_item", "ThrottlingException")
        stack.worker(clients).work([record])
    stack.settle(record)
    assert [message["id"] for _, message in stack.forwarding.forwarded] == [stack.claim(record).id] * 2


def test_an_unavailable_target_is_a_retry(stack: PipelineStack) -> None:
    stack.forwarding.fault = NotNowError(STORE_UNAVAILABLE)
    assert stack.settle(stack.queued(stack.envelope(ORDER))).fate is ClaimOutcome.RETRIED
    assert stack.deployed.rows("PostTable") == []


# ---- Feedback that we receive --------------------------------------------------------------------------------


def feedback(stack: PipelineStack, about: str, correlation: str = CORRELATION) -> bytes:
    return stack.envelope("Feedback@Buffer", {"Sender": about, "Correlation": correlation, "Code": "TooLate"})


def test_feedback_is_filed_under_sender_and_correlation(stack: PipelineStack) -> None:
    assert stack.settle(stack.queued(feedback(stack, "SHOP.com", CORRELATION.upper()))).fate is ClaimOutcome.ACCEPTED
    [filed] = stack.listed(SHOP, f"feedback:{CORRELATION}")
    assert json.loads(filed.line.envelope)["Body"]["Code"] == "TooLate"


def test_feedback_is_kept_only_for_domains_whose_buffer_we_are_without_an_answer(stack: PipelineStack) -> None:
    stack.operators.put_domain(Domain("plain.com"))
    for about in ("elsewhere.com", "plain.com"):
        outcome = stack.settle(stack.queued(feedback(stack, about)))
        assert (outcome.fate, outcome.reason) == (ClaimOutcome.DISCARDED, FEEDBACK_NOT_KEPT)
    assert stack.discard_notifications() == []


def test_feedback_without_a_sender_is_filed_for_its_receiver_as_unassigned(stack: PipelineStack) -> None:
    # As in the specification: {Correlation, Status, Reason}.
    body: JsonValue = {"Correlation": CORRELATION.upper(), "Status": "Discarded", "Reason": "Invalid DKIM signature."}
    assert stack.settle(stack.queued(stack.envelope("Feedback@Buffer", body))).fate is ClaimOutcome.ACCEPTED
    [filed] = stack.listed(SHOP, f"feedback:{CORRELATION}")
    assert json.loads(filed.line.envelope)["Body"] == body
    assert filed.line.receipt["unassigned"] is True


def test_feedback_with_a_sender_is_not_unassigned(stack: PipelineStack) -> None:
    stack.settle(stack.queued(feedback(stack, SHOP)))
    [filed] = stack.listed(SHOP)
    assert "unassigned" not in filed.line.receipt


def test_feedback_without_a_sender_is_kept_only_if_its_receiver_is_a_buffer(stack: PipelineStack) -> None:
    stack.operators.put_domain(Domain("plain.com"))
    body = stack.envelope("Feedback@Buffer", {"Correlation": CORRELATION}, receiver="plain.com")
    outcome = stack.settle(stack.queued(body))
    assert (outcome.fate, outcome.reason) == (ClaimOutcome.DISCARDED, FEEDBACK_NOT_KEPT)
    assert stack.discard_notifications() == []


def test_a_summary_is_filed_without_a_correlation(stack: PipelineStack) -> None:
    stack.settle(stack.queued(stack.envelope("Feedback@Buffer", {"Sender": SHOP, "Count": 3})))
    assert len(stack.listed(SHOP, "feedback:summary")) == 1


def test_discarded_feedback_never_causes_feedback(stack: PipelineStack) -> None:
    body = stack.envelope("Feedback@Buffer", {"Sender": SHOP, "Correlation": CORRELATION}, key=OTHER_KEY)
    assert stack.settle(stack.queued(body)).reason is SIGNATURE_INVALID
    assert stack.discard_notifications() == []


# ---- keys ----------------------------------------------------------------------------------------------------


def test_a_rotated_key_is_fetched_once_more_and_once_only(stack: PipelineStack) -> None:
    stack.keys.cached[SENDER_KEY_NAME] = OTHER_KEY.public
    stack.settle(stack.queued(stack.envelope()))
    [filed] = stack.listed()
    assert filed.line.receipt["key_refetched"] is True
    assert filed.line.receipt["key_fingerprint"] == SENDER_KEY.public.fingerprint
    assert stack.keys.lookups == [(SENDER_KEY_NAME, True)]


def test_a_rotated_key_admits_nobody_else(stack: PipelineStack) -> None:
    stack.keys.cached[SENDER_KEY_NAME] = OTHER_KEY.public
    forged = stack.envelope(key=PrivateKey.generate("ed25519"))
    assert stack.settle(stack.queued(forged)).reason is SIGNATURE_INVALID
    assert stack.keys.lookups == [(SENDER_KEY_NAME, True)]
    assert stack.listed() == []


def test_a_message_costs_one_look_up_and_a_forged_one_a_fresh_one_more(stack: PipelineStack) -> None:
    assert stack.settle(stack.queued(stack.envelope())).fate is ClaimOutcome.ACCEPTED
    assert stack.keys.lookups == [(SENDER_KEY_NAME, False)]
    stack.keys.lookups.clear()
    assert stack.settle(stack.queued(stack.envelope(key=OTHER_KEY))).reason is SIGNATURE_INVALID
    assert stack.keys.lookups == [(SENDER_KEY_NAME, True)]


def test_a_key_that_was_just_looked_up_is_not_fetched_again(stack: PipelineStack) -> None:
    assert stack.settle(stack.queued(stack.envelope(key=OTHER_KEY))).reason is SIGNATURE_INVALID
    assert stack.keys.lookups == [(SENDER_KEY_NAME, False)]


def test_a_key_revoked_meanwhile_discards_with_its_own_reason(stack: PipelineStack) -> None:
    stack.keys.cached[SENDER_KEY_NAME] = OTHER_KEY.public
    stack.keys.published[SENDER_KEY_NAME] = TheirError(KEY_REVOKED)
    assert stack.settle(stack.queued(stack.envelope())).reason is KEY_REVOKED


def test_a_key_that_cannot_be_fetched_again_now_is_a_retry_not_a_discard(stack: PipelineStack) -> None:
    stack.keys.cached[SENDER_KEY_NAME] = OTHER_KEY.public
    stack.keys.published[SENDER_KEY_NAME] = NotNowError(KEY_LOOKUP_FAILED)
    assert stack.settle(stack.queued(stack.envelope())).fate is ClaimOutcome.RETRIED


def test_a_wallet_is_verified_with_its_registered_key_without_dns(stack: PipelineStack) -> None:
    stack.operators.put_wallet(CORRELATION, RSA_KEY.public.spki())
    stack.settle(stack.queued(stack.envelope(sender=CORRELATION, key=RSA_KEY)))
    [filed] = stack.listed(conversation=CORRELATION)
    assert (filed.line.receipt["key_name"], filed.line.receipt["evidence"]) == (None, "pre-shared")
    assert stack.keys.lookups == []
    assert stack.settle(stack.queued(stack.envelope(sender=CORRELATION))).reason is SIGNATURE_INVALID
    assert stack.discard_notifications() == []


def test_the_pollyweb_dialect_has_another_key_name(stack: PipelineStack) -> None:
    key = PrivateKey.generate("ed25519")
    stack.keys.published["pw1._domainkey.pw.sender.com"] = key.public
    stack.settle(stack.queued(stack.envelope(dialect=POLLYWEB, selector="pw1", key=key)))
    [filed] = stack.listed()
    assert (filed.line.receipt["dialect"], filed.line.receipt["selector"]) == ("pollyweb.org/MSG:1.0", "pw1")


# ---- what the inbox found holds --------------------------------------------------------------------------------


def test_a_message_goes_to_the_mailbox_that_the_inbox_found_for_its_subject(
    stack: PipelineStack,
) -> None:
    record = stack.queued(stack.envelope())
    stack.operators.put_subject(SHOP, SubjectRule(NOTIFY, Treatment.MAILBOX, "accounts." + SHOP))
    stack.clock.now += 60
    assert stack.settle(record).fate is ClaimOutcome.ACCEPTED
    assert len(stack.listed()) == 1
    removed = stack.queued(stack.envelope())
    stack.operators.remove_domain(SHOP)
    stack.clock.now += 60
    assert stack.settle(removed).fate is ClaimOutcome.ACCEPTED


def test_what_the_inbox_accepted_is_not_discarded_because_a_stricter_worker_refuses_it(stack: PipelineStack) -> None:
    record = stack.queued(stack.envelope())
    claim = json.loads(record.body)
    claim["claim"]["envelope"] = claim["claim"]["envelope"].replace('"Subject"', '"Object"')
    report = stack.work(stack.record(json.dumps(claim)))
    assert [outcome.fate for outcome in report.outcomes] == [ClaimOutcome.STUCK]
    assert len(report.failed) == 1
    assert stack.discard_notifications() == []


@pytest.mark.parametrize(("beyond", "lines"), [(0, [3, 3]), (1, [2, 2, 2])])
def test_a_batch_of_large_messages_is_processed_in_parts_of_limited_bytes(
    stack: PipelineStack, monkeypatch: pytest.MonkeyPatch, beyond: int, lines: list[int]
) -> None:
    records = [stack.queued(stack.envelope(body="x" * 1000)) for _ in range(6)]
    [one] = {sys.getsizeof(stack.claim(record).envelope) for record in records}
    assert one > 4000  # four bytes a character, for 🤝
    # Two messages fill a part to the byte, and a third goes with them; or they are over it.
    monkeypatch.setattr("postroom.pipeline.worker.SLICE_BYTES", 2 * one - beyond)
    report = stack.work(*records)
    assert [outcome.fate for outcome in report.outcomes] == [ClaimOutcome.ACCEPTED] * 6
    assert [segment.count(b"\n") for segment in stack.deployed.objects().values()] == lines
    # What is told of a part does not keep its envelopes in memory.
    assert {outcome.claim.envelope for outcome in report.outcomes} == {""}


@pytest.mark.parametrize(("seconds", "begun"), [(BEGIN_SECONDS, 2), (BEGIN_SECONDS + 0.001, 1)])
def test_no_part_of_a_batch_is_begun_after_the_time_limit(
    stack: PipelineStack, monkeypatch: pytest.MonkeyPatch, seconds: float, begun: int
) -> None:
    monkeypatch.setattr("postroom.pipeline.worker.SLICE_BYTES", 0)  # each message is a part of its own
    find = stack.keys.find

    def slowly(name: str, *, fresh: bool = False) -> SenderKey:
        stack.clock.now = NOW + seconds
        return find(name, fresh=fresh)

    monkeypatch.setattr(stack.keys, "find", slowly)
    report = stack.work(*(stack.queued(stack.envelope()) for _ in range(2)))
    assert (len(report.outcomes), report.postponed) == (begun, 2 - begun)


def test_a_batch_that_takes_too_long_is_left_to_another_run(
    stack: PipelineStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroom.pipeline.worker.SLICE_BYTES", 8000)  # two of these messages

    def slowly(name: str) -> SenderKey:
        stack.clock.now += BEGIN_SECONDS / 4 + 1  # the second part is begun in time, the third is not
        return stack.keys.find(name)

    monkeypatch.setattr(stack.keys, "remembered", slowly)
    records = [replace(stack.queued(stack.envelope(body="x" * 1000)), group="sender") for _ in range(6)]
    report = stack.work(*records)
    assert [outcome.fate for outcome in report.outcomes] == [ClaimOutcome.ACCEPTED] * 4
    assert (report.postponed, report.failed) == (2, ())
    # As they came: no try is counted, and none of them has to wait.
    assert stack.deployed.bodies("RetryQueue") == [record.body for record in records[4:]]
    assert stack.deployed.delays("RetryQueue") == [0, 0]
    assert stack.deployed.groups("RetryQueue") == ["sender", "sender"]
    assert [stack.settle(record).fate for record in records[4:]] == [ClaimOutcome.ACCEPTED] * 2


def test_a_claim_that_could_not_be_postponed_is_redelivered(
    stack: PipelineStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroom.pipeline.worker.BEGIN_SECONDS", -1)
    worker, record = stack.worker(clients := new_clients()), stack.queued(stack.envelope())
    with Stubber(clients.sqs) as sqs:
        sqs.add_client_error("send_message", "ServiceUnavailable", http_status_code=503)
        assert worker.work([record]).failed == (record.message_id,)
