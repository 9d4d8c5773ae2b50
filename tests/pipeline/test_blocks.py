"""Senders whom an owner blocks: asked for once the signature was verified, discarded, and told nothing."""

import json

import pytest
from botocore.stub import Stubber
from tests.aws import new_clients
from tests.pipeline.house import (
    ASK,
    NOTIFY,
    ORDER,
    OTHER_KEY,
    SENDER,
    SENDER_KEY,
    SHOP,
    UNKNOWN,
    House,
    said,
)  # fmt: skip

from postroom.core.reasons import SENDER_NOT_WANTED, STORE_UNAVAILABLE
from postroom.pipeline.outcomes import ClaimOutcome
from postroom.protocols.nlweb.reasons import SIGNATURE_INVALID, UNEXPECTED_SUBJECT
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.storage.directory.domains import Directory, Domain
from postroom.storage.directory.mailboxes import OwnSettings, read_own_settings

ORDERS, BILLS = "orders.shop.com", "Bill@Shop"
WALLET = "125a5c75-cb72-43d2-9695-37026dfcaa48"


def block(house: House, *blocks: str, mailbox: str = SHOP) -> None:
    """Set the blocks of a mailbox, and wait until they are seen everywhere."""
    stored = house.mailboxes.own_settings(mailbox)
    subjects = read_own_settings(stored).subjects
    assert house.mailboxes.change_own_settings(mailbox, stored, OwnSettings(blocks, subjects))
    house.clock.now += 30


@pytest.mark.parametrize("blocked", [SENDER, f"*.{SENDER}", "*.com"])
def test_a_blocked_sender_is_discarded_and_nobody_is_told(house: House, blocked: str) -> None:
    block(house, "other.com", blocked)
    record = house.queued(house.envelope())
    outcome = house.settle(record)
    assert (outcome.fate, outcome.reason) == (ClaimOutcome.DISCARDED, SENDER_NOT_WANTED)
    row = house.row(house.claim(record).row)
    assert row is not None
    assert row.discarded is SENDER_NOT_WANTED
    assert (house.listed(), house.notices()) == ([], [])


def test_to_its_sender_it_looks_as_if_it_were_filed(house: House) -> None:
    correlation = house.new_uuid()
    filed = house.post(house.envelope(correlation=correlation))
    block(house, SENDER)
    blocked = house.post(house.envelope(correlation=correlation))
    assert (blocked.status, blocked.headers, blocked.body) == (filed.status, filed.headers, filed.body)


@pytest.mark.parametrize("other", ["mail.sender.com", "*.mail.sender.com", "*.nder.com", "shop.com", WALLET])
def test_who_is_not_blocked_is_filed(house: House, other: str) -> None:
    block(house, other)
    assert house.settle(house.queued(house.envelope())).fate is ClaimOutcome.ACCEPTED


def test_a_change_is_seen_by_the_worker_within_a_minute_and_not_asked_for_before(house: House) -> None:
    assert house.settle(house.queued(house.envelope())).fate is ClaimOutcome.ACCEPTED
    assert house.mailboxes.change_own_settings(SHOP, "", OwnSettings((SENDER,)))
    house.clock.now += 29.9
    assert house.settle(house.queued(house.envelope())).fate is ClaimOutcome.ACCEPTED
    house.clock.now += 0.1
    assert house.settle(house.queued(house.envelope())).fate is ClaimOutcome.DISCARDED
    block(house)
    assert house.settle(house.queued(house.envelope())).fate is ClaimOutcome.ACCEPTED


def test_a_forged_message_in_a_blocked_name_is_discarded_for_its_signature(house: House) -> None:
    block(house, SENDER)
    outcome = house.settle(house.queued(house.envelope(key=OTHER_KEY)))
    assert outcome.reason is SIGNATURE_INVALID, "whose it is, nobody knows: nor whether it is blocked"


def test_a_blocked_wallet_is_discarded(house: House) -> None:
    house.operators.put_wallet(WALLET, SENDER_KEY.public.spki())
    block(house, WALLET)
    assert house.settle(house.queued(house.envelope(sender=WALLET))).reason is SENDER_NOT_WANTED


def test_a_blocked_sender_is_not_told_of_a_subject_that_is_unknown_either(house: House) -> None:
    block(house, SENDER)
    assert house.settle(house.queued(house.envelope(UNKNOWN))).reason is SENDER_NOT_WANTED
    assert house.notices() == []


def test_nothing_of_a_blocked_sender_is_handed_on(house: House) -> None:
    block(house, SENDER)
    assert house.settle(house.queued(house.envelope(ORDER))).reason is SENDER_NOT_WANTED
    assert house.forwarding.forwarded == []


def test_the_domains_blocks_hold_for_its_other_mailboxes_and_theirs_for_themselves(house: House) -> None:
    house.operators.put_subject(SHOP, SubjectRule(BILLS, Treatment.MAILBOX, ORDERS))
    block(house, SENDER, mailbox=ORDERS)
    assert house.settle(house.queued(house.envelope(BILLS))).reason is SENDER_NOT_WANTED
    assert house.settle(house.queued(house.envelope(NOTIFY))).fate is ClaimOutcome.ACCEPTED
    block(house, mailbox=ORDERS)
    block(house, SENDER)
    for subject in (BILLS, NOTIFY):
        assert house.settle(house.queued(house.envelope(subject))).reason is SENDER_NOT_WANTED


def test_feedback_of_a_blocked_sender_is_not_kept_for_the_domain_that_blocks_it(house: House) -> None:
    house.operators.put_domain(Domain("club.com", buffer=True))
    block(house, SENDER, mailbox="club.com")
    for about, fate in (("club.com", ClaimOutcome.DISCARDED), (SHOP, ClaimOutcome.ACCEPTED)):
        body = {"Sender": about, "Correlation": house.new_uuid()}
        assert house.settle(house.queued(house.envelope("Feedback@Buffer", body))).fate is fate


def test_who_asks_again_after_the_block_was_lifted_is_filed(house: House) -> None:
    block(house, SENDER)
    body = house.envelope()
    assert house.settle(house.queued(body)).fate is ClaimOutcome.DISCARDED
    block(house)
    assert house.settle(house.queued(body)).fate is ClaimOutcome.ACCEPTED
    assert house.notices() == []


def test_a_claim_that_is_handed_out_again_after_the_block_was_lifted_stays_discarded_and_untold(house: House) -> None:
    block(house, SENDER)
    record = house.queued(house.envelope())
    house.settle(record)
    block(house)
    outcome = house.settle(record)
    assert (outcome.fate, outcome.reason) == (ClaimOutcome.DISCARDED, SENDER_NOT_WANTED)
    assert house.notices() == []


def test_blocks_that_cannot_be_read_now_make_the_message_wait(house: House) -> None:
    record = house.queued(house.envelope())
    broken = new_clients()
    with Stubber(broken.dynamodb) as stub:
        stub.add_client_error("query", "ThrottlingException")
        house.directory = Directory(
            broken.dynamodb, house.deployed.tables["DirectoryTable"], clock=house.clock, cache_seconds=30
        )
        outcome = house.settle(record)
    assert (outcome.fate, outcome.reason) == (ClaimOutcome.RETRIED, STORE_UNAVAILABLE)


# --- synchronous requests -------------------------------------------------------------------------------------------


def test_a_request_of_a_blocked_sender_is_not_executed_and_its_subject_is_unknown(house: House) -> None:
    calls: list[object] = []
    house.handlers.handlers["ask"] = lambda request: calls.append(request) or {"Answer": 1}
    block(house, SENDER)
    before = house.deployed.dump()
    answer = house.post(house.envelope(ASK))
    assert (answer.status, said(answer)["reason"]) == (404, "UnexpectedSubject")
    assert answer.reason is SENDER_NOT_WANTED, "as our own log has it"
    assert "NotWanted" not in json.dumps([answer.body.decode(), dict(answer.headers)])
    assert (calls, house.deployed.dump()) == ([], before)
    block(house)
    assert said(house.post(house.envelope(ASK))) == {"Answer": 1}


def test_a_forged_request_in_a_blocked_name_is_refused_for_its_signature(house: House) -> None:
    block(house, SENDER)
    assert house.post(house.envelope(ASK, key=OTHER_KEY)).reason is SIGNATURE_INVALID


def test_what_a_blocked_sender_was_answered_before_it_is_not_answered_again(house: House) -> None:
    house.handlers.handlers["ask"] = lambda _: {"Answer": 1}
    body = house.envelope(ASK)
    assert house.post(body).status == 200
    block(house, SENDER)
    assert house.post(body).status == 404


# --- where Subjects go ------------------------------------------------------------------------------------------------


def test_a_message_is_filed_where_the_owner_of_its_domain_says(house: House) -> None:
    assert house.settle(house.queued(house.envelope(UNKNOWN))).reason is UNEXPECTED_SUBJECT
    subjects = {"*@Nobody": ORDERS, NOTIFY: ORDERS, ORDER: ORDERS}
    assert house.mailboxes.change_own_settings(SHOP, "", OwnSettings(subjects=subjects))
    house.clock.now += 30
    for subject in (UNKNOWN, NOTIFY):
        assert house.settle(house.queued(house.envelope(subject))).fate is ClaimOutcome.ACCEPTED
    assert (len(house.listed(ORDERS)), house.listed(SHOP)) == (2, [])
    assert house.settle(house.queued(house.envelope(ORDER))).fate is ClaimOutcome.FORWARDED, "it is the operator's"
