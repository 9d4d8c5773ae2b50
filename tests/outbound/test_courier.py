import json
from random import Random
from typing import Any

import pytest
from botocore.stub import Stubber
from tests.aws import Clients, gate_calls, new_clients
from tests.pipeline.house import (
    BUFFER,
    DAY,
    MAX_BYTES,
    NOW,
    OTHER_KEY,
    OUR_KEY,
    RETAIN,
    SENDER,
    SENDER_KEY,
    SENDER_KEY_NAME,
    SHOP,
    UNKNOWN,
    House,
)
from tests.pipeline.stage import Choose, Stage, all_schedules, gate_of
from tests.tiers import amount

from postroom.core.errors import NotNowError
from postroom.core.ijson import parse
from postroom.core.reasons import OUTBOUND_FAILED, UNDELIVERABLE
from postroom.outbound.courier import DOMAINS_OF_A_BUFFER, Courier, Delivery
from postroom.outbound.discards import DiscardNotification, DiscardSummaryDue
from postroom.protocols.nlweb.envelope import check_hash, read_envelope
from postroom.protocols.nlweb.reasons import CORRELATION_REUSED, SIGNATURE_INVALID, UNEXPECTED_SUBJECT
from postroom.protocols.nlweb.schema import POLLYWEB
from postroom.protocols.nlweb.verify import check_signature
from postroom.storage.keys import RowKey, seen_key_nlweb


def discard(house: House, body: bytes | None = None) -> DiscardNotification:
    """A message that was discarded, and what the courier was asked to tell of it."""
    house.settle(house.queued(body or house.envelope(UNKNOWN)))
    notice = house.notices()[-1]
    assert isinstance(notice, DiscardNotification)
    return notice


def bodies(house: House) -> list[dict[str, Any]]:
    return [json.loads(envelope)["Body"] for _, envelope in house.outbound.posts]


def test_the_buffer_that_the_senders_manifest_names_is_told(house: House) -> None:
    notice = discard(house)
    assert house.courier().deliver(notice) is Delivery.DELIVERED
    [(url, data)] = house.outbound.posts
    assert url == "https://nlweb.buffer.sender.com/inbox"
    envelope = read_envelope(parse(data, max_bytes=MAX_BYTES))
    assert (envelope.sender, envelope.receiver, envelope.subject) == (SHOP, BUFFER, "Feedback@Buffer")
    assert envelope.body == {
        "Sender": SENDER,
        "Correlation": notice.correlation,
        "Status": "Discarded",
        "Reason": UNEXPECTED_SUBJECT.sentence,
        "Code": "UnexpectedSubject",
    }
    assert envelope.correlation != notice.correlation
    check_hash(envelope.claimed_hash, envelope.digest)
    check_signature(envelope, OUR_KEY.public)
    assert envelope.selector == "pk1"


def test_once_it_was_sent_every_further_notice_is_silent(house: House) -> None:
    notice = discard(house)
    house.courier().deliver(notice)
    for again in (notice, notice.again()):
        assert house.courier().deliver(again) is Delivery.SILENT
    assert len(house.outbound.posts) == 1


def test_a_message_that_lives_in_another_home_was_not_discarded(house: House) -> None:
    body = house.envelope()
    house.keys.published[SENDER_KEY_NAME] = OTHER_KEY.public
    notice = discard(house, body)
    house.keys.published[SENDER_KEY_NAME] = SENDER_KEY.public
    house.keys.cached.clear()
    retry = house.queued(body)
    house.settle(retry)
    assert house.courier().deliver(notice) is Delivery.SILENT
    house.register.acknowledge(house.claim(retry).row, int(NOW) + RETAIN)
    assert house.courier().deliver(notice) is Delivery.SILENT
    assert house.outbound.posts == []


def test_a_home_that_is_named_and_not_yet_filed_counts_as_another_home(house: House) -> None:
    notice = discard(house)
    key = seen_key_nlweb(SHOP, SENDER, notice.correlation)
    house.seen.claim_home(key, notice.digest, RowKey("shop.com#0", "m#0#x"), now=int(NOW), forget_at=int(NOW) + 9)
    assert house.courier().deliver(notice) is Delivery.SILENT


def test_a_home_that_was_discarded_does_not_silence(house: House) -> None:
    notice = discard(house)
    home = RowKey("shop.com#0", "m#0000000000000#x")
    key = seen_key_nlweb(SHOP, SENDER, notice.correlation)
    house.seen.claim_home(key, notice.digest, home, now=int(NOW), forget_at=int(NOW) + 9)
    house.register.discard(home, UNDELIVERABLE, int(NOW) + RETAIN)
    assert house.courier().deliver(notice) is Delivery.DELIVERED


def test_of_another_message_under_the_same_correlation_the_sender_is_told(house: House) -> None:
    correlation = house.new_uuid()
    house.settle(house.queued(house.envelope(body=1, correlation=correlation)))
    notice = discard(house, house.envelope(body=2, correlation=correlation))
    assert house.courier().deliver(notice) is Delivery.DELIVERED
    assert [body["Code"] for body in bodies(house)] == ["CorrelationReused"]


def test_a_request_that_was_answered_at_once_was_not_discarded(house: House) -> None:
    house.handlers.handlers["ask"] = lambda _: 1
    body = house.envelope("Ask@Shop")
    house.post(body)
    house.operators.remove_subject(SHOP, "Ask@Shop")
    house.clock.now += 31
    assert house.courier().deliver(discard(house, body)) is Delivery.SILENT


def test_who_names_no_buffer_is_told_nothing(house: House) -> None:
    house.manifests.buffers.clear()
    assert house.courier().deliver(discard(house)) is Delivery.NOBODY
    assert house.outbound.posts == []
    assert house.deployed.rows("LimitsTable") == []


def test_the_pollyweb_dialect_is_told_in_its_own_words_at_its_own_host(house: House) -> None:
    house.keys.published["pw1._domainkey.pw.sender.com"] = SENDER_KEY.public
    notice = discard(house, house.envelope(UNKNOWN, dialect=POLLYWEB, selector="pw1"))
    house.courier().deliver(notice)
    [(url, data)] = house.outbound.posts
    assert url == "https://pw.buffer.sender.com/inbox"
    header = json.loads(data)["Header"]
    assert (header["Schema"], header["Selector"]) == ("pollyweb.org/MSG:1.0", "pk1")


# ---- tries ---------------------------------------------------------------------------------------------------


def waiting(house: House) -> DiscardNotification | DiscardSummaryDue:
    return house.notices()[-1]


@pytest.mark.parametrize("trouble", [None, 500, 503, 429, 408, 302])
def test_every_try_repeats_the_same_header_and_body(house: House, trouble: int | None) -> None:
    house.outbound.answers = [trouble, trouble]
    notice: DiscardNotification | DiscardSummaryDue = discard(house)
    for expected in (Delivery.WAITING, Delivery.WAITING, Delivery.DELIVERED):
        assert house.courier().deliver(notice) is expected
        house.clock.now += 60
        notice = waiting(house)
    sent = [json.loads(envelope) for _, envelope in house.outbound.posts]
    assert len(sent) == 3
    assert sent[0] == sent[1] == sent[2]


def test_the_delay_grows_and_ends_at_the_longest_of_sqs(house: House) -> None:
    house.outbound.answers = [None] * 10
    notice: DiscardNotification | DiscardSummaryDue = discard(house)
    for _ in range(10):
        house.courier().deliver(notice)
        notice = waiting(house)
    # Jitter stands still at one half: three quarters of 10 · 2ⁿ.
    assert house.deployed.delays("CourierQueue")[1:] == [7, 15, 30, 60, 120, 240, 480, 675, 675, 675]


@pytest.mark.parametrize("status", [400, 401, 404, 413, 421, 422])
def test_a_refusal_is_final(house: House, status: int) -> None:
    house.outbound.answers = [status]
    notice = discard(house)
    assert house.courier().deliver(notice) is Delivery.REFUSED
    assert house.courier().deliver(notice) is Delivery.SILENT
    assert len(house.outbound.posts) == 1


@pytest.mark.parametrize("status", [200, 202, 204])
def test_any_success_is_delivered(house: House, status: int) -> None:
    house.outbound.answers = [status]
    assert house.courier().deliver(discard(house)) is Delivery.DELIVERED


def test_given_up_after_24_hours_and_silent_ever_after(house: House) -> None:
    house.outbound.answers = [None, None]
    notice = discard(house)
    house.clock.now += DAY
    assert house.courier().deliver(notice) is Delivery.WAITING
    house.clock.now += 0.001
    assert house.courier().deliver(notice) is Delivery.GIVEN_UP
    assert house.courier().deliver(notice) is Delivery.SILENT
    assert len(house.outbound.posts) == 2


def test_a_manifest_that_cannot_be_had_is_waited_for_and_given_up_as_well(house: House) -> None:
    house.manifests.buffers[SENDER] = NotNowError(OUTBOUND_FAILED)
    notice = discard(house)
    assert house.courier().deliver(notice) is Delivery.WAITING
    house.clock.now += DAY + 1
    assert house.courier().deliver(notice) is Delivery.GIVEN_UP
    house.manifests.buffers[SENDER] = BUFFER
    assert house.courier().deliver(notice) is Delivery.SILENT


def test_without_a_signing_key_the_notice_waits(house: House) -> None:
    key = house.our_keys.keys.pop(SHOP)
    notice = discard(house)
    assert house.courier().deliver(notice) is Delivery.WAITING
    assert house.outbound.posts == []
    house.our_keys.keys[SHOP] = key
    assert house.courier().deliver(waiting(house)) is Delivery.DELIVERED


def test_where_not_even_waiting_is_possible_the_queue_hands_the_notice_out_again(house: House) -> None:
    house.outbound.answers = [None]
    notice = discard(house)
    clients = new_clients()
    courier = house.courier(clients)
    with Stubber(clients.sqs) as stub:
        stub.add_client_error("send_message", "ServiceUnavailable", http_status_code=503)
        with pytest.raises(NotNowError):
            courier.deliver(notice)


def test_a_discard_whose_row_is_gone_for_good_is_told_to_nobody(house: House) -> None:
    notice = discard(house)
    key = {"pk": {"S": notice.row.pk}, "sk": {"S": notice.row.sk}}
    house.deployed.clients.dynamodb.delete_item(TableName=house.deployed.tables["PostTable"], Key=key)
    assert house.courier().deliver(notice) is Delivery.SILENT
    assert house.deployed.rows("PostTable") == []


# ---- the share of a domain -----------------------------------------------------------------------------------


def test_beyond_its_share_of_an_hour_a_domain_gets_one_summary_after_the_hour(house: House) -> None:
    house.feedback_an_hour = 2
    notices = [discard(house) for _ in range(4)] + [discard(house, house.envelope(key=OTHER_KEY))]
    done = [house.courier().deliver(notice) for notice in notices]
    assert done == [Delivery.DELIVERED] * 2 + [Delivery.SUMMARY] * 3
    [due] = [each for each in house.notices() if isinstance(each, DiscardSummaryDue)]
    assert house.courier().deliver(due) is Delivery.WAITING

    house.clock.now = (due.hour + 1) * 3600 + 119
    assert house.courier().deliver(due) is Delivery.WAITING
    house.clock.now += 1
    assert house.courier().deliver(due) is Delivery.DELIVERED
    assert bodies(house)[-1] == {
        "Sender": SENDER,
        "Status": "Discarded",
        "Count": 3,
        "Since": "2026-11-21T09:00:00.000Z",
        "Until": "2026-11-21T10:00:00.000Z",
        "Codes": {"SignatureInvalid": 1, "UnexpectedSubject": 2},
    }
    assert house.courier().deliver(due) is Delivery.SILENT
    assert [house.courier().deliver(notice) for notice in notices] == [Delivery.SILENT] * 5
    assert len(house.outbound.posts) == 3


def test_a_summary_waits_in_the_queue_no_longer_than_to_the_end_of_its_hour(house: House) -> None:
    house.feedback_an_hour = 0
    house.courier().deliver(discard(house))
    due = waiting(house)
    house.courier().deliver(due)
    house.clock.now = NOW // 3600 * 3600 + 3600 + 60
    house.courier().deliver(due)
    assert house.deployed.delays("CourierQueue")[1:] == [900, 900, 61]


def test_a_summary_repeats_itself_until_it_arrives(house: House) -> None:
    house.feedback_an_hour = 0
    house.courier().deliver(discard(house))
    due = waiting(house)
    house.clock.now += 2 * 3600
    house.outbound.answers = [500, 200]
    assert house.courier().deliver(due) is Delivery.WAITING
    house.clock.now += 60
    assert house.courier().deliver(waiting(house)) is Delivery.DELIVERED
    first, second = (json.loads(envelope) for _, envelope in house.outbound.posts)
    assert first == second


def test_the_next_hour_has_a_share_of_its_own(house: House) -> None:
    house.feedback_an_hour = 1
    assert house.courier().deliver(discard(house)) is Delivery.DELIVERED
    assert house.courier().deliver(discard(house)) is Delivery.SUMMARY
    house.clock.now += 3600
    assert house.courier().deliver(discard(house)) is Delivery.DELIVERED


def test_a_buffer_is_told_no_more_than_its_share_however_many_domains_name_it(house: House) -> None:
    house.feedback_an_hour = 1
    many = [f"n{number}.sender.com" for number in range(DOMAINS_OF_A_BUFFER + 2)]
    house.manifests.buffers |= dict.fromkeys(many, BUFFER) | {"other.com": "buffer.other.com"}
    notices = [discard(house, house.envelope(sender=domain)) for domain in many]
    told = [Delivery.DELIVERED] * DOMAINS_OF_A_BUFFER + [Delivery.WITHHELD] * 2
    assert [house.courier().deliver(notice) for notice in notices] == told
    assert house.courier().deliver(notices[-1]) is Delivery.SILENT
    assert house.courier().deliver(discard(house, house.envelope(sender="other.com"))) is Delivery.DELIVERED


def test_summaries_take_of_a_buffers_share_too(house: House) -> None:
    house.feedback_an_hour = 0
    many = [f"n{number}.sender.com" for number in range(DOMAINS_OF_A_BUFFER + 2)]
    house.manifests.buffers |= dict.fromkeys(many, BUFFER)
    for domain in many:
        house.courier().deliver(discard(house, house.envelope(sender=domain)))
    due = [each for each in house.notices() if isinstance(each, DiscardSummaryDue)]
    house.clock.now += 2 * 3600
    told = [Delivery.DELIVERED] * DOMAINS_OF_A_BUFFER + [Delivery.WITHHELD] * 2
    assert [house.courier().deliver(each) for each in due] == told
    assert [house.courier().deliver(each) for each in due] == [Delivery.SILENT] * len(due)


def test_a_summary_that_is_tried_again_takes_of_its_buffers_share_once(house: House) -> None:
    house.feedback_an_hour = 0
    house.courier().deliver(discard(house))
    due = waiting(house)
    house.clock.now += 2 * 3600
    house.outbound.answers = [500] * (DOMAINS_OF_A_BUFFER + 2) + [200]
    tries = [house.courier().deliver(due) for _ in house.outbound.answers[:]]
    assert tries == [Delivery.WAITING] * (DOMAINS_OF_A_BUFFER + 2) + [Delivery.DELIVERED]


# ---- at most once, whatever dies -----------------------------------------------------------------------------


def identities(house: House) -> set[str]:
    """The different Feedback that went out: a buffer tells them apart by Header and Body."""
    sent = [json.loads(envelope) for _, envelope in house.outbound.posts]
    return {json.dumps([each["Header"], each["Body"]], sort_keys=True) for each in sent}


@pytest.mark.parametrize("share", [60, 0])
def test_a_death_at_any_call_sends_at_most_one_feedback(house: House, share: int) -> None:
    house.feedback_an_hour = share
    clients = new_clients()

    def play(choose: Choose) -> None:
        house.outbound.posts.clear()
        house.clock.now += 3600
        stage = Stage(choose, deaths=1)
        notice = discard(house)
        enter(stage, house.courier(clients), clients, notice)
        stage.play(lambda: None)
        for _ in range(2):
            house.clock.now += 1
            last = house.courier().deliver(notice)
        assert last is Delivery.SILENT
        assert len(identities(house)) == (1 if share else 0)
        assert all(json.loads(envelope)["Header"]["Correlation"] for _, envelope in house.outbound.posts)

    assert all_schedules(play) >= 9


def test_two_couriers_with_one_notice_send_one_feedback(house: House, pytestconfig: pytest.Config) -> None:
    both, random = (new_clients(), new_clients()), Random(pytestconfig.option.rotation)
    for _ in range(amount(quick=10, all=25, proof=250)):
        house.outbound.posts.clear()
        house.clock.now += 3600
        stage, notice = Stage(random.randrange), discard(house)
        for clients in both:
            enter(stage, house.courier(clients), clients, notice)
        stage.play(lambda: None)
        assert len(identities(house)) == 1


def enter(stage: Stage, courier: Courier, clients: Clients, notice: DiscardNotification) -> None:
    actor = stage.enter("courier", lambda: courier.deliver(notice))
    gate_calls(clients, gate_of(lambda: None if actor.ended else actor))


def test_of_an_accepted_message_a_strangers_text_under_its_correlation_tells_nobody_a_discard(house: House) -> None:
    accepted = house.envelope()
    house.settle(house.queued(accepted))
    correlation = read_envelope(parse(accepted, max_bytes=MAX_BYTES)).correlation
    notice = discard(house, house.envelope(body="another text", correlation=correlation, key=OTHER_KEY))
    assert notice.reason is SIGNATURE_INVALID
    assert house.courier().deliver(notice) is Delivery.SILENT
    reused = discard(house, house.envelope(body="a third text", correlation=correlation))
    assert reused.reason is CORRELATION_REUSED
    assert house.courier().deliver(reused) is Delivery.DELIVERED
