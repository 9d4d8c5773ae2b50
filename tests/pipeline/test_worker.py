import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber
from tests.aws import new_clients
from tests.pipeline.house import (
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
    House,
)

from postroom.core.errors import NotNowError, TheirError
from postroom.core.reason import Reason
from postroom.core.reasons import STORE_UNAVAILABLE, TOO_LATE
from postroom.core.settings import DeploymentSettings
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.outbound.discards import DiscardNotification
from postroom.pipeline.claims import Claim
from postroom.pipeline.judges.nlweb import NlwebJudge
from postroom.pipeline.outcomes import ClaimOutcome
from postroom.pipeline.ports import SenderKey
from postroom.pipeline.verdicts import Verdict
from postroom.pipeline.worker import BEGIN_SECONDS, SUSPECT_AFTER, delay_of
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
from postroom.storage.keys import RowKey, seen_key_nlweb
from postroom.storage.mail.register import ACKED, FORWARDED

CORRELATION = "125a5c75-cb72-43d2-9695-37026dfcaa48"
AWKWARD = '\ufffe\uffff\u2028\u0000\x7f\U0001f91d\U0010ffff\r\n"\\é'


def only_notice(house: House) -> DiscardNotification:
    [notice] = house.notices()
    assert isinstance(notice, DiscardNotification)
    return notice


# ---- accepted ------------------------------------------------------------------------------------------------


def test_an_accepted_message_is_filed_and_listed_with_the_bytes_received(house: House) -> None:
    body = house.envelope(body=AWKWARD)
    record = house.queued(body)
    assert house.settle(record).fate is ClaimOutcome.ACCEPTED
    [filed] = house.listed()
    assert filed.line.envelope.encode() == body
    assert filed.row.key == filed.line.row == house.claim(record).row
    assert house.listed(conversation=SENDER) == [filed]
    assert house.notices() == []


def test_a_large_message_is_filed_from_where_its_claim_lies(house: House) -> None:
    body = house.envelope(body="x" * 1_040_000)
    assert house.settle(house.queued(body)).fate is ClaimOutcome.ACCEPTED
    [filed] = house.listed()
    assert filed.line.envelope.encode() == body


def test_each_line_keeps_a_receipt(house: House) -> None:
    record = house.queued(house.envelope())
    house.clock.now += 3
    house.settle(record)
    [filed] = house.listed()
    assert filed.line.receipt == {
        "claim": house.claim(record).id,
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


def test_a_batch_makes_one_segment_whatever_its_mailboxes(house: House) -> None:
    house.operators.put_subject(SHOP, SubjectRule("Apply@Jobs", Treatment.MAILBOX, "jobs"))
    records = [house.queued(house.envelope(subject)) for subject in (NOTIFY, "Apply@Jobs", NOTIFY)]
    assert {outcome.fate for outcome in house.work(*records).outcomes} == {ClaimOutcome.ACCEPTED}
    assert len(house.deployed.objects()) == 1
    assert (len(house.listed()), len(house.listed("jobs"))) == (2, 1)


def test_filing_takes_two_writes_and_a_share_of_one_object(house: House) -> None:
    record = house.queued(house.envelope())
    house.settle(record)
    assert (len(house.deployed.rows("SeenTable")), len(house.deployed.rows("PostTable"))) == (1, 1)
    [seen] = house.deployed.rows("SeenTable")
    # NLWeb: Timestamp + MAX_AGE + RETAIN.
    assert int(seen["ttl"]["N"]) == int(NOW) + DAY + RETAIN


def test_a_batch_may_be_worked_off_by_many_threads(house: House) -> None:
    with ThreadPoolExecutor(8) as house.pool:
        records = [house.queued(house.envelope(body=n)) for n in range(12)]
        records.append(house.queued(house.envelope(UNKNOWN)))
        report = house.work(*records)
    assert report.failed == ()
    assert [outcome.fate for outcome in report.outcomes] == [ClaimOutcome.ACCEPTED] * 12 + [ClaimOutcome.DISCARDED]
    assert [json.loads(filed.line.envelope)["Body"] for filed in house.listed()] == list(range(12))


# ---- duplicates ----------------------------------------------------------------------------------------------


def test_the_same_claim_redelivered_is_done_already(house: House) -> None:
    record = house.queued(house.envelope())
    house.settle(record)
    before = house.listed()
    assert house.settle(record).fate is ClaimOutcome.DUPLICATE
    assert house.listed() == before


def test_the_senders_retry_adopts_the_home_and_needs_no_line(house: House) -> None:
    body = house.envelope()
    first, second = house.queued(body), house.queued(body)
    house.settle(first)
    before = house.deployed.dump()
    assert house.settle(second).fate is ClaimOutcome.DUPLICATE
    assert house.deployed.dump() == before


@pytest.mark.parametrize("threads", [False, True])
def test_a_message_and_its_retry_in_one_batch_are_one_row(house: House, threads: bool) -> None:
    if threads:
        house.pool = ThreadPoolExecutor(4)
    body = house.envelope()
    report = house.work(house.queued(body), house.queued(body), house.queued(body))
    house.pool.shutdown()
    assert report.failed == ()
    assert sorted(outcome.fate for outcome in report.outcomes) == [
        ClaimOutcome.ACCEPTED,
        ClaimOutcome.DUPLICATE,
        ClaimOutcome.DUPLICATE,
    ]
    assert len(house.listed()) == len(house.deployed.rows("PostTable")) == 1
    [segment] = house.deployed.objects().values()
    assert segment.count(b"\n") == 1


def test_one_claim_twice_in_a_batch_is_settled_once_and_leaves_the_queue_twice(house: House) -> None:
    record = house.queued(house.envelope())
    again = house.record(record.body)
    report = house.work(record, again)
    assert report.failed == ()
    assert [outcome.fate for outcome in report.outcomes] == [ClaimOutcome.ACCEPTED] * 2
    assert len(house.listed()) == 1


def test_a_retry_helps_a_home_that_was_named_and_never_filed(house: House) -> None:
    body = house.envelope()
    first, second = house.claim(house.queued(body)), house.queued(body)
    key = seen_key_nlweb(SHOP, SENDER, json.loads(body)["Header"]["Correlation"])
    house.seen.claim_home(key, json.loads(body)["Hash"], first.row, now=int(NOW), forget_at=int(NOW) + 99)
    assert house.settle(second).fate is ClaimOutcome.ACCEPTED
    [filed] = house.listed()
    assert filed.row.key == filed.line.row == first.row
    assert house.row(house.claim(second).row) is None


def test_nothing_is_to_do_for_a_home_past_the_horizon(house: House) -> None:
    body = house.envelope()
    first, second = house.claim(house.queued(body)), house.queued(body)
    old = RowKey(first.row.pk, f"m#{first.received_at_ms - HORIZON * 1000 - 1:013d}#old")
    key = seen_key_nlweb(SHOP, SENDER, json.loads(body)["Header"]["Correlation"])
    house.seen.claim_home(key, json.loads(body)["Hash"], old, now=int(NOW), forget_at=int(NOW) + 99)
    assert house.settle(second).fate is ClaimOutcome.DUPLICATE
    assert house.deployed.rows("PostTable") == []


def test_acknowledged_then_a_late_second_worker_no_resurrection(house: House) -> None:
    body = house.envelope()
    record, retry = house.queued(body), house.queued(body)
    house.settle(record)
    row = house.claim(record).row
    house.register.acknowledge(row, int(NOW) + RETAIN)
    for late in (record, retry):
        assert house.settle(late).fate is ClaimOutcome.DUPLICATE
        assert house.listed() == []
    found = house.row(row)
    assert found is not None
    assert found.why == ACKED


def test_another_hash_under_the_same_correlation_is_discarded_and_told(house: House) -> None:
    one = house.queued(house.envelope(body=1, correlation=CORRELATION))
    other = house.queued(house.envelope(body=2, correlation=CORRELATION))
    house.settle(one)
    outcome = house.settle(other)
    assert (outcome.fate, outcome.reason) == (ClaimOutcome.DISCARDED, CORRELATION_REUSED)
    notice = only_notice(house)
    assert (notice.row, notice.reason, notice.correlation) == (
        house.claim(other).row, CORRELATION_REUSED, CORRELATION,
    )  # fmt: skip
    assert [filed.row.key for filed in house.listed()] == [house.claim(one).row]


def test_the_same_correlation_from_or_to_another_domain_is_another_message(house: House) -> None:
    house.keys.published["nlweb._domainkey.other.com"] = OTHER_KEY.public
    house.operators.put_domain(Domain("second.com"))
    house.operators.put_subject("second.com", SubjectRule("*", Treatment.MAILBOX, SHOP))
    for body in (
        house.envelope(correlation=CORRELATION),
        house.envelope(correlation=CORRELATION, sender="other.com", key=OTHER_KEY),
        house.envelope(correlation=CORRELATION, receiver="second.com"),
    ):
        assert house.settle(house.queued(body)).fate is ClaimOutcome.ACCEPTED
    assert len(house.listed()) == 3


def test_a_request_that_was_answered_at_once_is_not_filed_as_well(house: House) -> None:
    house.handlers.handlers["ask"] = lambda _: 1
    body = house.envelope("Ask@Shop")
    house.post(body)
    house.operators.put_subject(SHOP, SubjectRule("Ask@Shop", Treatment.MAILBOX, SHOP))
    house.clock.now += 31
    assert house.settle(house.queued(body)).fate is ClaimOutcome.DUPLICATE
    assert house.listed() == []


# ---- discards ------------------------------------------------------------------------------------------------

BAD: list[tuple[Callable[[House], bytes], Reason]] = [
    (lambda house: house.envelope(key=OTHER_KEY), SIGNATURE_INVALID),
    (lambda house: house.envelope(sender="keyless.com"), KEY_NOT_FOUND),
    (lambda house: house.envelope(UNKNOWN), UNEXPECTED_SUBJECT),
    (lambda house: house.envelope(sender=CORRELATION), WALLET_UNKNOWN),
]


def test_an_identity_and_a_tombstone_are_remembered_so_long_and_no_longer(house: House) -> None:
    assert DeploymentSettings().retain_seconds == RETAIN
    body = house.envelope(correlation=CORRELATION)
    house.settle(house.queued(body))
    bad = house.queued(house.envelope(UNKNOWN))
    house.settle(bad)
    key, at = seen_key_nlweb(SHOP, SENDER, CORRELATION), int(NOW)
    # The door lets a message in for DAY after its Timestamp.
    assert house.seen.find(key, now=at + DAY + RETAIN) is not None
    assert house.seen.find(key, now=at + DAY + RETAIN + 1) is None
    [tombstone] = [row for row in house.deployed.rows("PostTable") if row["st"]["S"] == "G"]
    assert int(tombstone["ttl"]["N"]) == at + RETAIN


@pytest.mark.parametrize(("make", "reason"), BAD, ids=[str(reason) for _, reason in BAD])
def test_a_discard_takes_the_claims_row_and_says_why(
    house: House, make: Callable[[House], bytes], reason: Reason
) -> None:
    record = house.queued(make(house))
    outcome = house.settle(record)
    assert (outcome.fate, outcome.reason) == (ClaimOutcome.DISCARDED, reason)
    [row] = house.deployed.rows("PostTable")
    assert (row["st"]["S"], row["why"]["S"]) == ("G", f"discarded:{reason}")
    assert int(row["ttl"]["N"]) == int(NOW) + RETAIN
    assert (house.listed(), house.deployed.rows("SeenTable")) == ([], [])


def test_the_register_is_taken_before_the_courier_is_told(house: House) -> None:
    record = house.queued(house.envelope(UNKNOWN))
    clients = new_clients()
    with Stubber(clients.dynamodb) as stub:
        stub.add_client_error("put_item", "ThrottlingException")
        report = house.worker(clients).work([record])
    assert [outcome.fate for outcome in report.outcomes] == [ClaimOutcome.RETRIED]
    assert house.notices() == []
    house.settle(record)
    assert only_notice(house).row == house.claim(record).row


def test_a_discarded_row_met_by_another_is_told_again_with_the_reason_that_stands(house: House) -> None:
    record = house.queued(house.envelope())
    house.register.discard(house.claim(record).row, KEY_REVOKED, int(NOW) + RETAIN)
    outcome = house.settle(record)
    assert (outcome.fate, outcome.reason) == (ClaimOutcome.DISCARDED, KEY_REVOKED)
    assert only_notice(house).reason is KEY_REVOKED
    assert house.listed() == []


def test_a_second_discard_tells_the_first_reason(house: House) -> None:
    record = house.queued(house.envelope(UNKNOWN))
    house.register.discard(house.claim(record).row, KEY_REVOKED, int(NOW) + RETAIN)
    assert house.settle(record).reason is KEY_REVOKED
    assert only_notice(house).reason is KEY_REVOKED


def test_a_discard_refused_by_a_filed_or_acknowledged_row_says_nothing(house: House) -> None:
    record = house.queued(house.envelope())
    house.settle(record)
    house.operators.remove_subject(SHOP, NOTIFY)
    house.clock.now += 31
    assert house.settle(record).fate is ClaimOutcome.DUPLICATE
    house.register.acknowledge(house.claim(record).row, int(NOW) + RETAIN)
    assert house.settle(record).fate is ClaimOutcome.DUPLICATE
    assert house.notices() == []


def test_older_than_the_horizon_is_too_late_and_not_a_millisecond_before(house: House) -> None:
    at, late = house.queued(house.envelope()), house.queued(house.envelope())
    house.clock.now += HORIZON
    assert house.settle(at).fate is ClaimOutcome.ACCEPTED
    house.clock.now += 0.001
    outcome = house.settle(late)
    assert (outcome.fate, outcome.reason) == (ClaimOutcome.DISCARDED, TOO_LATE)
    assert only_notice(house).reason is TOO_LATE


def test_what_was_filed_in_time_is_not_too_late_when_its_claim_comes_again(house: House) -> None:
    record = house.queued(house.envelope())
    house.settle(record)
    house.clock.now += HORIZON + 1
    assert house.settle(record).fate is ClaimOutcome.DUPLICATE
    assert (len(house.listed()), house.notices()) == (1, [])


def test_time_windows_are_those_of_the_door_not_of_the_worker(house: House) -> None:
    record = house.queued(house.envelope())
    house.clock.now += 3 * DAY
    assert house.settle(record).fate is ClaimOutcome.ACCEPTED


# ---- retries, suspects, failures -----------------------------------------------------------------------------


def test_a_retry_leaves_the_queue_for_the_retry_queue_with_a_growing_delay(house: House) -> None:
    house.keys.published[SENDER_KEY_NAME] = NotNowError(KEY_LOOKUP_FAILED)
    record = house.queued(house.envelope())
    for tries in range(8):
        outcome = house.settle(record)
        assert (outcome.fate, outcome.reason) == (ClaimOutcome.RETRIED, KEY_LOOKUP_FAILED)
        assert house.deployed.delays("RetryQueue")[-1] == delay_of(tries)
        record = house.record(house.deployed.bodies("RetryQueue")[-1])
    assert house.deployed.delays("RetryQueue") == [5, 15, 45, 135, 405, 900, 900, 900]
    assert house.deployed.rows("PostTable") == []
    house.keys.published[SENDER_KEY_NAME] = SENDER_KEY.public
    assert house.settle(record).fate is ClaimOutcome.ACCEPTED


def test_a_retry_is_a_discard_past_the_horizon(house: House) -> None:
    house.keys.published[SENDER_KEY_NAME] = NotNowError(KEY_LOOKUP_FAILED)
    house.settle(house.queued(house.envelope()))
    house.clock.now += HORIZON + 1
    outcome = house.settle(house.record(house.deployed.bodies("RetryQueue")[-1]))
    assert (outcome.fate, outcome.reason) == (ClaimOutcome.DISCARDED, TOO_LATE)


def test_a_large_claims_retry_points_where_it_lay(house: House) -> None:
    house.keys.published[SENDER_KEY_NAME] = NotNowError(KEY_LOOKUP_FAILED)
    record = house.queued(house.envelope(body="x" * 1_040_000))
    house.settle(record)
    [retry] = house.deployed.bodies("RetryQueue")
    assert json.loads(retry) == {**json.loads(record.body), "tries": 1}


@pytest.mark.parametrize(("code", "status"), [("ServiceUnavailable", 503), ("AccessDenied", 403)])
def test_where_not_even_the_retry_went_sqs_hands_that_claim_out_again_and_no_other(
    house: House, code: str, status: int
) -> None:
    house.keys.published[SENDER_KEY_NAME] = NotNowError(KEY_LOOKUP_FAILED)
    house.keys.published["nlweb._domainkey.other.com"] = OTHER_KEY.public
    neighbour = house.queued(house.envelope(sender="other.com", key=OTHER_KEY))
    record = house.queued(house.envelope())
    clients = new_clients()
    with Stubber(clients.sqs) as stub:
        stub.add_client_error("send_message", code, http_status_code=status)
        report = house.worker(clients).work([record, neighbour])
    assert report.failed == (record.message_id,)
    assert {outcome.fate for outcome in report.outcomes} == {ClaimOutcome.RETRIED, ClaimOutcome.ACCEPTED}


def test_a_claim_received_three_times_is_set_apart_as_it_is(house: House) -> None:
    record = house.queued(house.envelope())
    second = house.record(record.body, received=SUSPECT_AFTER - 1)
    third = house.record(record.body, received=SUSPECT_AFTER)
    assert house.work(second).suspected == 0
    report = house.work(third)
    assert (report.suspected, report.failed, report.outcomes) == (1, (), ())
    assert house.deployed.bodies("SuspectsQueue") == [record.body]


def test_a_suspect_is_worked_off_by_itself(house: House) -> None:
    record = house.record(house.queued(house.envelope()).body, received=4)
    report = house.worker().work([record], suspects=True)
    assert [outcome.fate for outcome in report.outcomes] == [ClaimOutcome.ACCEPTED]
    assert house.deployed.bodies("SuspectsQueue") == []


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
def test_what_cannot_be_read_is_handed_out_again_and_its_neighbours_go_on(house: House, body: str) -> None:
    good, poison = house.queued(house.envelope()), house.record(body)
    report = house.work(poison, good)
    assert report.failed == (poison.message_id,)
    assert [outcome.fate for outcome in report.outcomes] == [ClaimOutcome.ACCEPTED]


@pytest.mark.parametrize("body", UNREADABLE[1:])
def test_what_cannot_be_read_is_set_apart_after_three_times_as_well(house: House, body: str) -> None:
    assert house.work(house.record(body, received=3)).suspected == 1
    assert house.deployed.bodies("SuspectsQueue") == [body]


class Faulty(NlwebJudge):
    """A judge that has a bug."""

    def __init__(self, real: NlwebJudge, at: str) -> None:
        self.real, self.at = real, at

    def judge(self, claim: Claim) -> Verdict:
        if self.at in claim.envelope:
            raise RecursionError
        return self.real.judge(claim)


def test_a_claim_that_we_fail_at_is_handed_out_again_and_its_neighbours_go_on(house: House) -> None:
    records = [house.queued(house.envelope(body=body)) for body in ("one", "poison", "two")]
    report = house.worker(judge=Faulty(house.judge(), "poison")).work(records)
    assert report.failed == (records[1].message_id,)
    assert [outcome.fate for outcome in report.outcomes] == [
        ClaimOutcome.ACCEPTED,
        ClaimOutcome.STUCK,
        ClaimOutcome.ACCEPTED,
    ]
    assert len(house.listed()) == 2


def test_a_message_that_cannot_be_handed_on_does_not_hold_up_its_neighbours(house: House) -> None:
    house.forwarding.fault = ClientError({"Error": {"Code": "InvalidParameterValue"}}, "SendMessage")
    records = [house.queued(house.envelope(subject)) for subject in (ORDER, NOTIFY)]
    report = house.work(*records)
    assert report.failed == (records[0].message_id,)
    assert [outcome.fate for outcome in report.outcomes] == [ClaimOutcome.STUCK, ClaimOutcome.ACCEPTED]


@pytest.mark.parametrize("operation", ["PutItem seen", "PutObject", "PutItem post"])
def test_a_step_that_failed_in_passing_is_a_retry_and_the_next_try_ends_it(house: House, operation: str) -> None:
    record = house.queued(house.envelope())
    clients = new_clients()
    stub = Stubber(clients.s3 if operation == "PutObject" else clients.dynamodb)
    if operation == "PutObject":
        stub.add_client_error("put_object", "SlowDown", http_status_code=503)
    else:
        if operation == "PutItem post":
            stub.add_response("put_item", {})
        stub.add_client_error("put_item", "ThrottlingException")
    with stub:
        report = house.worker(clients).work([record])
    assert [(outcome.fate, outcome.reason) for outcome in report.outcomes] == [
        (ClaimOutcome.RETRIED, STORE_UNAVAILABLE)
    ]
    assert house.listed() == []
    [retry] = house.deployed.bodies("RetryQueue")
    assert house.settle(house.record(retry)).fate is ClaimOutcome.ACCEPTED
    assert len(house.listed()) == 1


# ---- forwarding ----------------------------------------------------------------------------------------------


def test_a_forwarded_message_is_handed_on_and_its_row_says_so(house: House) -> None:
    body = house.envelope(ORDER)
    record = house.queued(body)
    assert house.settle(record).fate is ClaimOutcome.FORWARDED
    claim = house.claim(record)
    [(target, message)] = house.forwarding.forwarded
    assert (target, message["id"], message["mailbox"]) == (FORWARD_TARGET, claim.id, SHOP)
    assert message["envelope"] == body.decode()
    row = house.row(claim.row)
    assert row is not None
    assert row.why == FORWARDED
    assert (house.listed(), house.deployed.objects()) == ([], {})


def test_a_forwarded_message_that_comes_again_is_not_handed_on_again(house: House) -> None:
    body = house.envelope(ORDER)
    record, retry = house.queued(body), house.queued(body)
    house.settle(record)
    for again in (record, retry):
        assert house.settle(again).fate is ClaimOutcome.DUPLICATE
    assert len(house.forwarding.forwarded) == 1


def test_a_discarded_message_is_not_handed_on(house: House) -> None:
    record = house.queued(house.envelope(ORDER))
    house.register.discard(house.claim(record).row, KEY_REVOKED, int(NOW) + RETAIN)
    assert house.settle(record).fate is ClaimOutcome.DISCARDED
    assert house.forwarding.forwarded == []
    assert only_notice(house).reason is KEY_REVOKED


def test_forwarding_is_at_least_once_under_one_id(house: House) -> None:
    record = house.queued(house.envelope(ORDER))
    clients = new_clients()
    with Stubber(clients.dynamodb) as stub:
        stub.add_response("put_item", {})
        stub.add_response("get_item", {})
        stub.add_client_error("put_item", "ThrottlingException")
        house.worker(clients).work([record])
    house.settle(record)
    assert [message["id"] for _, message in house.forwarding.forwarded] == [house.claim(record).id] * 2


def test_a_target_that_is_away_makes_a_retry(house: House) -> None:
    house.forwarding.fault = NotNowError(STORE_UNAVAILABLE)
    assert house.settle(house.queued(house.envelope(ORDER))).fate is ClaimOutcome.RETRIED
    assert house.deployed.rows("PostTable") == []


# ---- Feedback that we receive --------------------------------------------------------------------------------


def feedback(house: House, about: str, correlation: str = CORRELATION) -> bytes:
    return house.envelope("Feedback@Buffer", {"Sender": about, "Correlation": correlation, "Code": "TooLate"})


def test_feedback_is_filed_under_sender_and_correlation(house: House) -> None:
    assert house.settle(house.queued(feedback(house, "SHOP.com", CORRELATION.upper()))).fate is ClaimOutcome.ACCEPTED
    [filed] = house.listed(SHOP, f"feedback:{CORRELATION}")
    assert json.loads(filed.line.envelope)["Body"]["Code"] == "TooLate"


def test_feedback_is_kept_only_for_domains_whose_buffer_we_are_and_nobody_is_told(house: House) -> None:
    house.operators.put_domain(Domain("plain.com"))
    for about in ("elsewhere.com", "plain.com"):
        outcome = house.settle(house.queued(feedback(house, about)))
        assert (outcome.fate, outcome.reason) == (ClaimOutcome.DISCARDED, FEEDBACK_NOT_KEPT)
    assert house.notices() == []


def test_a_summary_is_filed_without_a_correlation(house: House) -> None:
    house.settle(house.queued(house.envelope("Feedback@Buffer", {"Sender": SHOP, "Count": 3})))
    assert len(house.listed(SHOP, "feedback:summary")) == 1


def test_of_a_discarded_feedback_nobody_is_ever_told(house: House) -> None:
    body = house.envelope("Feedback@Buffer", {"Sender": SHOP, "Correlation": CORRELATION}, key=OTHER_KEY)
    assert house.settle(house.queued(body)).reason is SIGNATURE_INVALID
    assert house.notices() == []


# ---- keys ----------------------------------------------------------------------------------------------------


def test_a_rotated_key_is_fetched_once_more_and_once_only(house: House) -> None:
    house.keys.cached[SENDER_KEY_NAME] = OTHER_KEY.public
    house.settle(house.queued(house.envelope()))
    [filed] = house.listed()
    assert filed.line.receipt["key_refetched"] is True
    assert filed.line.receipt["key_fingerprint"] == SENDER_KEY.public.fingerprint
    assert house.keys.asked == [(SENDER_KEY_NAME, False), (SENDER_KEY_NAME, True)]


def test_a_rotated_key_lets_nobody_else_in(house: House) -> None:
    house.keys.cached[SENDER_KEY_NAME] = OTHER_KEY.public
    forged = house.envelope(key=PrivateKey.generate("ed25519"))
    assert house.settle(house.queued(forged)).reason is SIGNATURE_INVALID
    assert house.keys.asked == [(SENDER_KEY_NAME, False), (SENDER_KEY_NAME, True)]
    assert house.listed() == []


def test_a_message_costs_one_look_up_and_a_forged_one_a_fresh_one_more(house: House) -> None:
    house.keys.cached[SENDER_KEY_NAME] = SENDER_KEY.public
    assert house.settle(house.queued(house.envelope())).fate is ClaimOutcome.ACCEPTED
    assert house.keys.asked == [(SENDER_KEY_NAME, False)]
    house.keys.asked.clear()
    assert house.settle(house.queued(house.envelope(key=OTHER_KEY))).reason is SIGNATURE_INVALID
    assert house.keys.asked == [(SENDER_KEY_NAME, False), (SENDER_KEY_NAME, True)]


def test_a_key_that_was_just_looked_up_is_not_fetched_again(house: House) -> None:
    assert house.settle(house.queued(house.envelope(key=OTHER_KEY))).reason is SIGNATURE_INVALID
    assert house.keys.asked == [(SENDER_KEY_NAME, False)]


def test_a_key_revoked_meanwhile_discards_with_its_own_reason(house: House) -> None:
    house.keys.cached[SENDER_KEY_NAME] = OTHER_KEY.public
    house.keys.published[SENDER_KEY_NAME] = TheirError(KEY_REVOKED)
    assert house.settle(house.queued(house.envelope())).reason is KEY_REVOKED


def test_a_key_that_cannot_be_fetched_again_now_is_a_retry_not_a_discard(house: House) -> None:
    house.keys.cached[SENDER_KEY_NAME] = OTHER_KEY.public
    house.keys.published[SENDER_KEY_NAME] = NotNowError(KEY_LOOKUP_FAILED)
    assert house.settle(house.queued(house.envelope())).fate is ClaimOutcome.RETRIED


def test_a_wallet_is_verified_with_its_registered_key_and_no_dns_is_asked(house: House) -> None:
    house.operators.put_wallet(CORRELATION, RSA_KEY.public.spki())
    house.settle(house.queued(house.envelope(sender=CORRELATION, key=RSA_KEY)))
    [filed] = house.listed(conversation=CORRELATION)
    assert (filed.line.receipt["key_name"], filed.line.receipt["evidence"]) == (None, "pre-shared")
    assert house.keys.asked == []
    assert house.settle(house.queued(house.envelope(sender=CORRELATION))).reason is SIGNATURE_INVALID
    assert house.notices() == []


def test_the_pollyweb_dialect_names_its_key_elsewhere(house: House) -> None:
    key = PrivateKey.generate("ed25519")
    house.keys.published["pw1._domainkey.pw.sender.com"] = key.public
    house.settle(house.queued(house.envelope(dialect=POLLYWEB, selector="pw1", key=key)))
    [filed] = house.listed()
    assert (filed.line.receipt["dialect"], filed.line.receipt["selector"]) == ("pollyweb.org/MSG:1.0", "pw1")


# ---- what the door found holds --------------------------------------------------------------------------------


def test_a_message_goes_where_the_door_found_its_subject_registered_whatever_the_registry_says_since(
    house: House,
) -> None:
    record = house.queued(house.envelope())
    house.operators.put_subject(SHOP, SubjectRule(NOTIFY, Treatment.MAILBOX, "accounts." + SHOP))
    house.clock.now += 60
    assert house.settle(record).fate is ClaimOutcome.ACCEPTED
    assert len(house.listed()) == 1
    removed = house.queued(house.envelope())
    house.operators.remove_domain(SHOP)
    house.clock.now += 60
    assert house.settle(removed).fate is ClaimOutcome.ACCEPTED


def test_what_the_door_took_in_is_not_discarded_because_a_stricter_worker_refuses_it(house: House) -> None:
    record = house.queued(house.envelope())
    claim = json.loads(record.body)
    claim["claim"]["envelope"] = claim["claim"]["envelope"].replace('"Subject"', '"Object"')
    report = house.work(house.record(json.dumps(claim)))
    assert [outcome.fate for outcome in report.outcomes] == [ClaimOutcome.STUCK]
    assert len(report.failed) == 1
    assert house.notices() == []


@pytest.mark.parametrize(("beyond", "lines"), [(0, [3, 3]), (1, [2, 2, 2])])
def test_a_batch_of_large_messages_is_worked_off_in_parts_of_so_many_bytes_and_one_message_more(
    house: House, monkeypatch: pytest.MonkeyPatch, beyond: int, lines: list[int]
) -> None:
    records = [house.queued(house.envelope(body="x" * 1000)) for _ in range(6)]
    [one] = {sys.getsizeof(house.claim(record).envelope) for record in records}
    assert one > 4000  # four bytes a character, for 🤝
    # Two messages fill a part to the byte, and a third goes with them; or they are over it.
    monkeypatch.setattr("postroom.pipeline.worker.SLICE_BYTES", 2 * one - beyond)
    report = house.work(*records)
    assert [outcome.fate for outcome in report.outcomes] == [ClaimOutcome.ACCEPTED] * 6
    assert [segment.count(b"\n") for segment in house.deployed.objects().values()] == lines
    # What is told of a part does not keep its envelopes in memory.
    assert {outcome.claim.envelope for outcome in report.outcomes} == {""}


@pytest.mark.parametrize(("seconds", "begun"), [(BEGIN_SECONDS, 2), (BEGIN_SECONDS + 0.001, 1)])
def test_a_part_of_a_batch_is_begun_until_so_long_and_no_later(
    house: House, monkeypatch: pytest.MonkeyPatch, seconds: float, begun: int
) -> None:
    monkeypatch.setattr("postroom.pipeline.worker.SLICE_BYTES", 0)  # each message is a part of its own
    find = house.keys.find

    def slowly(name: str, *, fresh: bool = False) -> SenderKey:
        house.clock.now = NOW + seconds
        return find(name, fresh=fresh)

    monkeypatch.setattr(house.keys, "find", slowly)
    report = house.work(*(house.queued(house.envelope()) for _ in range(2)))
    assert (len(report.outcomes), report.postponed) == (begun, 2 - begun)


def test_a_batch_that_takes_too_long_is_left_to_another_run(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroom.pipeline.worker.SLICE_BYTES", 8000)  # two of these messages
    find = house.keys.find

    def slowly(name: str, *, fresh: bool = False) -> SenderKey:
        house.clock.now += BEGIN_SECONDS / 4 + 1  # the second part is begun in time, the third is not
        return find(name, fresh=fresh)

    monkeypatch.setattr(house.keys, "find", slowly)
    records = [replace(house.queued(house.envelope(body="x" * 1000)), group="sender") for _ in range(6)]
    report = house.work(*records)
    assert [outcome.fate for outcome in report.outcomes] == [ClaimOutcome.ACCEPTED] * 4
    assert (report.postponed, report.failed) == (2, ())
    # As they came: no try is counted, and none of them has to wait.
    assert house.deployed.bodies("RetryQueue") == [record.body for record in records[4:]]
    assert house.deployed.delays("RetryQueue") == [0, 0]
    assert house.deployed.groups("RetryQueue") == ["sender", "sender"]
    assert [house.settle(record).fate for record in records[4:]] == [ClaimOutcome.ACCEPTED] * 2


def test_what_could_not_even_be_postponed_is_handed_out_again(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroom.pipeline.worker.BEGIN_SECONDS", -1)
    worker, record = house.worker(clients := new_clients()), house.queued(house.envelope())
    with Stubber(clients.sqs) as sqs:
        sqs.add_client_error("send_message", "ServiceUnavailable", http_status_code=503)
        assert worker.work([record]).failed == (record.message_id,)
