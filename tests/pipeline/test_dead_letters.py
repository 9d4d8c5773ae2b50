from dataclasses import replace

from botocore.stub import Stubber
from tests.aws import new_clients
from tests.pipeline.house import DAY, HORIZON, House
from tests.pipeline.test_worker import UNREADABLE

from postroom.core.reasons import UNDELIVERABLE
from postroom.outbound.discards import DiscardNotification
from postroom.pipeline.claims import QueuedClaim
from postroom.pipeline.dead_letters import DeadLetter, DeadLetterHandler
from postroom.pipeline.outcomes import ClaimOutcome


def letter(house: House) -> DeadLetter:
    record = house.queued(house.envelope())
    return DeadLetter(f"handle of {record.message_id}", record.body)


def test_young_letters_stay_where_they_are(house: House) -> None:
    received_at_ms = house.clock.now * 1000
    letters = [letter(house)]
    house.clock.now += HORIZON - DAY - 0.001
    before = house.deployed.dump()
    kept = house.keeper().keep(letters)
    assert (kept.decided, kept.outcomes, kept.unreadable) == ((), (), 0)
    assert [claim.received_at_ms for claim in kept.waiting] == [received_at_ms]
    assert house.deployed.dump() == before


def test_letters_near_the_horizon_are_undeliverable_and_the_sender_is_told(house: House) -> None:
    old = letter(house)
    house.clock.now += HORIZON - DAY
    kept = house.keeper().keep([letter(house), old])
    assert kept.decided == (old.receipt_handle,)
    assert [claim.received_at_ms for claim in kept.waiting] == [house.clock.now * 1000]
    assert [(outcome.fate, outcome.reason) for outcome in kept.outcomes] == [(ClaimOutcome.DISCARDED, UNDELIVERABLE)]
    [notice] = house.notices()
    assert isinstance(notice, DiscardNotification)
    assert notice.reason is UNDELIVERABLE
    row = house.row(notice.row)
    assert row is not None
    assert row.discarded is UNDELIVERABLE


def test_a_letter_whose_message_was_filed_after_all_is_done_and_nobody_is_told(house: House) -> None:
    record = house.queued(house.envelope())
    house.settle(record)
    house.clock.now += HORIZON
    kept = house.keeper().keep([DeadLetter("handle", record.body)])
    assert kept.decided == ("handle",)
    assert house.notices() == []
    assert len(house.listed()) == 1


def test_letters_that_are_no_claims_stay_and_their_neighbours_are_decided(house: House) -> None:
    old = letter(house)
    house.clock.now += HORIZON
    kept = house.keeper().keep([*(DeadLetter(body, body) for body in UNREADABLE), old])
    assert (kept.decided, kept.unreadable) == ((old.receipt_handle,), len(UNREADABLE))


def test_a_claim_whose_envelope_cannot_be_read_is_decided_and_nobody_is_told(house: House) -> None:
    record = house.queued(house.envelope())
    claim = house.claim(record)
    broken = QueuedClaim(replace(claim, envelope="{")).body()
    house.clock.now += HORIZON
    assert house.keeper().keep([DeadLetter("handle", broken)]).decided == ("handle",)
    assert house.notices() == []
    row = house.row(claim.row)
    assert row is not None
    assert row.discarded is UNDELIVERABLE


def test_a_letter_that_cannot_be_decided_now_stays_for_the_next_round(house: House) -> None:
    old = letter(house)
    house.clock.now += HORIZON
    clients = new_clients()
    with Stubber(clients.dynamodb) as stub:
        stub.add_client_error("put_item", "ThrottlingException")
        keeper: DeadLetterHandler = house.keeper(clients)
        kept = keeper.keep([old])
    assert (kept.decided, len(kept.waiting)) == ((), 1)
    assert house.keeper().keep([old]).decided == (old.receipt_handle,)
