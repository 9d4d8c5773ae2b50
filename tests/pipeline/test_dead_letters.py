from dataclasses import replace

from botocore.stub import Stubber
from tests.aws import new_clients
from tests.pipeline.stack import DAY, HORIZON, PipelineStack
from tests.pipeline.test_worker import UNREADABLE

from postroom.core.reasons import UNDELIVERABLE
from postroom.outbound.discard_messages import DiscardNotification
from postroom.pipeline.claims import QueuedClaim
from postroom.pipeline.dead_letters import DeadLetter, DeadLetterHandler
from postroom.pipeline.outcomes import ClaimOutcome


def letter(stack: PipelineStack) -> DeadLetter:
    record = stack.queued(stack.envelope())
    return DeadLetter(f"handle of {record.message_id}", record.body)


def test_young_dead_letters_stay_where_they_are(stack: PipelineStack) -> None:
    received_at_ms = stack.clock.now * 1000
    letters = [letter(stack)]
    stack.clock.now += HORIZON - DAY - 0.001
    before = stack.deployed.dump()
    kept = stack.dead_letter_handler().keep(letters)
    assert (kept.decided, kept.outcomes, kept.unreadable) == ((), (), 0)
    assert [claim.received_at_ms for claim in kept.waiting] == [received_at_ms]
    assert stack.deployed.dump() == before


def test_dead_letters_near_the_horizon_are_undeliverable_and_the_sender_is_told(stack: PipelineStack) -> None:
    old = letter(stack)
    stack.clock.now += HORIZON - DAY
    kept = stack.dead_letter_handler().keep([letter(stack), old])
    assert kept.decided == (old.receipt_handle,)
    assert [claim.received_at_ms for claim in kept.waiting] == [stack.clock.now * 1000]
    assert [(outcome.fate, outcome.reason) for outcome in kept.outcomes] == [(ClaimOutcome.DISCARDED, UNDELIVERABLE)]
    [notice] = stack.discard_notifications()
    assert isinstance(notice, DiscardNotification)
    assert notice.reason is UNDELIVERABLE
    row = stack.row(notice.row)
    assert row is not None
    assert row.discarded is UNDELIVERABLE


def test_a_dead_letter_whose_message_was_filed_after_all_is_done_and_nobody_is_told(stack: PipelineStack) -> None:
    record = stack.queued(stack.envelope())
    stack.settle(record)
    stack.clock.now += HORIZON
    kept = stack.dead_letter_handler().keep([DeadLetter("handle", record.body)])
    assert kept.decided == ("handle",)
    assert stack.discard_notifications() == []
    assert len(stack.listed()) == 1


def test_dead_letters_that_are_no_claims_stay_and_their_neighbours_are_decided(stack: PipelineStack) -> None:
    old = letter(stack)
    stack.clock.now += HORIZON
    kept = stack.dead_letter_handler().keep([*(DeadLetter(body, body) for body in UNREADABLE), old])
    assert (kept.decided, kept.unreadable) == ((old.receipt_handle,), len(UNREADABLE))


def test_a_claim_whose_envelope_cannot_be_read_is_decided_and_nobody_is_told(stack: PipelineStack) -> None:
    record = stack.queued(stack.envelope())
    claim = stack.claim(record)
    broken = QueuedClaim(replace(claim, envelope="{")).body()
    stack.clock.now += HORIZON
    assert stack.dead_letter_handler().keep([DeadLetter("handle", broken)]).decided == ("handle",)
    assert stack.discard_notifications() == []
    row = stack.row(claim.row)
    assert row is not None
    assert row.discarded is UNDELIVERABLE


def test_a_dead_letter_that_cannot_be_decided_now_stays_for_the_next_round(stack: PipelineStack) -> None:
    old = letter(stack)
    stack.clock.now += HORIZON
    clients = new_clients()
    with Stubber(clients.dynamodb) as stub:
        stub.add_client_error("put_item", "ThrottlingException")
        handler: DeadLetterHandler = stack.dead_letter_handler(clients)
        kept = handler.keep([old])
    assert (kept.decided, len(kept.waiting)) == ((), 1)
    assert stack.dead_letter_handler().keep([old]).decided == (old.receipt_handle,)
