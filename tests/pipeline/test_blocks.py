"""Senders whom an owner blocks: asked for once the signature was verified, discarded, and told nothing."""

import json

import pytest
from botocore.stub import Stubber
from tests.aws import new_clients
from tests.pipeline.stack import (
    ASK,
    NOTIFY,
    ORDER,
    OTHER_KEY,
    SENDER,
    SENDER_KEY,
    SHOP,
    UNKNOWN,
    PipelineStack,
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


def block(stack: PipelineStack, *blocks: str, mailbox: str = SHOP) -> None:
    """Set the blocks of a mailbox, and wait until they are seen everywhere."""
    stored = stack.mailboxes.own_settings(mailbox)
    subjects = read_own_settings(stored).subjects
    assert stack.mailboxes.change_own_settings(mailbox, stored, OwnSettings(blocks, subjects))
    stack.clock.now += 30


@pytest.mark.parametrize("blocked", [SENDER, f"*.{SENDER}", "*.com"])
def test_a_blocked_sender_is_discarded_without_feedback(stack: PipelineStack, blocked: str) -> None:
    block(stack, "other.com", blocked)
    record = stack.queued(stack.envelope())
    outcome = stack.settle(record)
    assert (outcome.fate, outcome.reason) == (ClaimOutcome.DISCARDED, SENDER_NOT_WANTED)
    row = stack.row(stack.claim(record).row)
    assert row is not None
    assert row.discarded is SENDER_NOT_WANTED
    assert (stack.listed(), stack.discard_notifications()) == ([], [])


def test_a_blocked_sender_gets_the_response_of_a_filed_message(stack: PipelineStack) -> None:
    correlation = stack.new_uuid()
    filed = stack.post(stack.envelope(correlation=correlation))
    block(stack, SENDER)
    blocked = stack.post(stack.envelope(correlation=correlation))
    assert (blocked.status, blocked.headers, blocked.body) == (filed.status, filed.headers, filed.body)


@pytest.mark.parametrize("other", ["mail.sender.com", "*.mail.sender.com", "*.nder.com", "shop.com", WALLET])
def test_a_sender_who_is_not_blocked_is_filed(stack: PipelineStack, other: str) -> None:
    block(stack, other)
    assert stack.settle(stack.queued(stack.envelope())).fate is ClaimOutcome.ACCEPTED


def test_the_worker_sees_a_change_within_a_minute_and_does_not_read_it_before(stack: PipelineStack) -> None:
    assert stack.settle(stack.queued(stack.envelope())).fate is ClaimOutcome.ACCEPTED
    assert stack.mailboxes.change_own_settings(SHOP, "", OwnSettings((SENDER,)))
    stack.clock.now += 29.9
    assert stack.settle(stack.queued(stack.envelope())).fate is ClaimOutcome.ACCEPTED
    stack.clock.now += 0.1
    assert stack.settle(stack.queued(stack.envelope())).fate is ClaimOutcome.DISCARDED
    block(stack)
    assert stack.settle(stack.queued(stack.envelope())).fate is ClaimOutcome.ACCEPTED


def test_a_forged_message_in_a_blocked_senders_name_is_discarded_for_its_signature(stack: PipelineStack) -> None:
    block(stack, SENDER)
    outcome = stack.settle(stack.queued(stack.envelope(key=OTHER_KEY)))
    assert outcome.reason is SIGNATURE_INVALID, "whose it is, nobody knows: nor whether it is blocked"


def test_a_blocked_wallet_is_discarded(stack: PipelineStack) -> None:
    stack.operators.put_wallet(WALLET, SENDER_KEY.public.spki())
    block(stack, WALLET)
    assert stack.settle(stack.queued(stack.envelope(sender=WALLET))).reason is SENDER_NOT_WANTED


def test_a_blocked_sender_is_not_told_of_a_subject_that_is_unknown_either(stack: PipelineStack) -> None:
    block(stack, SENDER)
    assert stack.settle(stack.queued(stack.envelope(UNKNOWN))).reason is SENDER_NOT_WANTED
    assert stack.discard_notifications() == []


def test_nothing_of_a_blocked_sender_is_forwarded(stack: PipelineStack) -> None:
    block(stack, SENDER)
    assert stack.settle(stack.queued(stack.envelope(ORDER))).reason is SENDER_NOT_WANTED
    assert stack.forwarding.forwarded == []


def test_a_domains_blocks_hold_for_its_other_mailboxes_and_theirs_for_themselves_only(stack: PipelineStack) -> None:
    stack.operators.put_subject(SHOP, SubjectRule(BILLS, Treatment.MAILBOX, ORDERS))
    block(stack, SENDER, mailbox=ORDERS)
    assert stack.settle(stack.queued(stack.envelope(BILLS))).reason is SENDER_NOT_WANTED
    assert stack.settle(stack.queued(stack.envelope(NOTIFY))).fate is ClaimOutcome.ACCEPTED
    block(stack, mailbox=ORDERS)
    block(stack, SENDER)
    for subject in (BILLS, NOTIFY):
        assert stack.settle(stack.queued(stack.envelope(subject))).reason is SENDER_NOT_WANTED


def test_feedback_of_a_blocked_sender_is_not_kept_for_the_domain_that_blocks_it(stack: PipelineStack) -> None:
    stack.operators.put_domain(Domain("club.com", buffer=True))
    block(stack, SENDER, mailbox="club.com")
    for about, fate in (("club.com", ClaimOutcome.DISCARDED), (SHOP, ClaimOutcome.ACCEPTED)):
        body = {"Sender": about, "Correlation": stack.new_uuid()}
        assert stack.settle(stack.queued(stack.envelope("Feedback@Buffer", body))).fate is fate


def test_a_message_sent_after_the_block_was_lifted_is_filed(stack: PipelineStack) -> None:
    block(stack, SENDER)
    body = stack.envelope()
    assert stack.settle(stack.queued(body)).fate is ClaimOutcome.DISCARDED
    block(stack)
    assert stack.settle(stack.queued(body)).fate is ClaimOutcome.ACCEPTED
    assert stack.discard_notifications() == []


def test_a_claim_redelivered_after_the_block_was_lifted_stays_discarded_without_feedback(
    stack: PipelineStack,
) -> None:
    block(stack, SENDER)
    record = stack.queued(stack.envelope())
    stack.settle(record)
    block(stack)
    outcome = stack.settle(record)
    assert (outcome.fate, outcome.reason) == (ClaimOutcome.DISCARDED, SENDER_NOT_WANTED)
    assert stack.discard_notifications() == []


def test_a_message_waits_while_blocks_cannot_be_read(stack: PipelineStack) -> None:
    record = stack.queued(stack.envelope())
    broken = new_clients()
    with Stubber(broken.dynamodb) as stub:
        stub.add_client_error("query", "ThrottlingException")
        stack.directory = Directory(
            broken.dynamodb, stack.deployed.tables["DirectoryTable"], clock=stack.clock, cache_seconds=30
        )
        outcome = stack.settle(record)
    assert (outcome.fate, outcome.reason) == (ClaimOutcome.RETRIED, STORE_UNAVAILABLE)


# --- synchronous requests -------------------------------------------------------------------------------------------


def test_a_request_of_a_blocked_sender_is_not_executed_and_its_subject_is_unknown(stack: PipelineStack) -> None:
    calls: list[object] = []
    stack.handlers.handlers["ask"] = lambda request: calls.append(request) or {"Answer": 1}
    block(stack, SENDER)
    before = stack.deployed.dump()
    answer = stack.post(stack.envelope(ASK))
    assert (answer.status, said(answer)["reason"]) == (404, "UnexpectedSubject")
    assert answer.reason is SENDER_NOT_WANTED, "as our own log has it"
    assert "NotWanted" not in json.dumps([answer.body.decode(), dict(answer.headers)])
    assert (calls, stack.deployed.dump()) == ([], before)
    block(stack)
    assert said(stack.post(stack.envelope(ASK))) == {"Answer": 1}


def test_a_forged_request_in_a_blocked_senders_name_is_refused_for_its_signature(stack: PipelineStack) -> None:
    block(stack, SENDER)
    assert stack.post(stack.envelope(ASK, key=OTHER_KEY)).reason is SIGNATURE_INVALID


def test_a_reply_from_before_the_block_is_not_repeated(stack: PipelineStack) -> None:
    stack.handlers.handlers["ask"] = lambda _: {"Answer": 1}
    body = stack.envelope(ASK)
    assert stack.post(body).status == 200
    block(stack, SENDER)
    assert stack.post(body).status == 404


# --- where Subjects go ------------------------------------------------------------------------------------------------


def test_a_message_is_filed_where_the_owner_of_its_domain_says(stack: PipelineStack) -> None:
    assert stack.settle(stack.queued(stack.envelope(UNKNOWN))).reason is UNEXPECTED_SUBJECT
    subjects = {"*@Nobody": ORDERS, NOTIFY: ORDERS, ORDER: ORDERS}
    assert stack.mailboxes.change_own_settings(SHOP, "", OwnSettings(subjects=subjects))
    stack.clock.now += 30
    for subject in (UNKNOWN, NOTIFY):
        assert stack.settle(stack.queued(stack.envelope(subject))).fate is ClaimOutcome.ACCEPTED
    assert (len(stack.listed(ORDERS)), stack.listed(SHOP)) == (2, [])
    assert stack.settle(stack.queued(stack.envelope(ORDER))).fate is ClaimOutcome.FORWARDED, "it is the operator's"
