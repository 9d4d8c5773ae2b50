"""Loud senders: a claim is put down to its sender and where it came from, a notice to whom it is about."""

from dataclasses import replace

import pytest
from tests.pipeline.dm3_house import ALICE, DeliveryService
from tests.pipeline.house import HORIZON, OTHER_KEY, SENDER, SENDER_KEY_NAME, UNKNOWN, House

from postroom.core.errors import NotNowError
from postroom.outbound.courier import Delivery
from postroom.outbound.discards import DiscardNotification, DiscardSummaryDue
from postroom.pipeline.dead_letters import DeadLetter
from postroom.pipeline.nlweb_inbox import Posted
from postroom.pipeline.worker import SUSPECT_AFTER, Record
from postroom.protocols.nlweb.reasons import KEY_LOOKUP_FAILED
from postroom.storage.keys import sender_group, told_group

SOURCE = "192.0.2.1"


def queued(house: House) -> Record:
    """A claim, as SQS hands it out."""
    return replace(house.queued(house.envelope()), group=house.deployed.groups("ClaimsQueue")[-1])


def test_the_door_groups_claims_by_sender_and_source(house: House) -> None:
    for source in (SOURCE, "192.0.2.200", "198.51.100.1"):
        house.door().post(Posted(house.envelope(), "application/json", "", source))
    mine, neighbour, elsewhere = house.deployed.groups("ClaimsQueue")
    assert mine == neighbour == sender_group(SENDER, SOURCE)
    assert elsewhere != mine


def test_a_dm3_claim_is_grouped_by_the_name_sealed_in_it(house: House) -> None:
    service = DeliveryService(house)
    service.submit(service.envelope())
    assert house.deployed.groups("ClaimsQueue") == [sender_group(ALICE, SOURCE)]


def test_a_retry_stays_in_its_group(house: House) -> None:
    house.keys.published[SENDER_KEY_NAME] = NotNowError(KEY_LOOKUP_FAILED)
    house.settle(queued(house))
    assert house.deployed.groups("RetryQueue") == [sender_group(SENDER, SOURCE)]


def test_a_suspect_stays_in_its_group(house: House) -> None:
    house.work(replace(queued(house), received=SUSPECT_AFTER))
    assert house.deployed.groups("SuspectsQueue") == [sender_group(SENDER, SOURCE)]


def test_what_the_courier_is_to_tell_is_grouped_by_whom_it_is_about(house: House) -> None:
    house.settle(house.queued(house.envelope(UNKNOWN)))
    house.settle(house.queued(house.envelope(UNKNOWN, sender="other.com", key=OTHER_KEY)))
    letter = DeadLetter("handle", house.queued(house.envelope()).body)
    house.clock.now += HORIZON
    house.keeper().keep([letter])
    assert house.deployed.groups("CourierQueue") == list(map(told_group, (SENDER, "other.com", SENDER)))
    assert told_group(SENDER) != told_group("other.com")


@pytest.mark.parametrize(
    ("share", "form", "then", "sent"),
    [(60, DiscardNotification, Delivery.DELIVERED, 2), (0, DiscardSummaryDue, Delivery.WAITING, 3)],
)
def test_what_the_courier_sends_back_stays_in_its_group(
    house: House, share: int, form: type, then: Delivery, sent: int
) -> None:
    house.feedback_an_hour = share
    house.outbound.answers = [503]
    house.settle(house.queued(house.envelope(UNKNOWN)))
    house.courier().deliver(house.notices()[0])
    assert isinstance(waiting := house.notices()[1], form)
    assert house.courier().deliver(waiting) is then
    assert house.deployed.groups("CourierQueue") == [told_group(SENDER)] * sent


@pytest.mark.parametrize("body", ["", "no claim"])
def test_even_what_cannot_be_read_stays_in_its_group(house: House, body: str) -> None:
    house.work(replace(house.record(body, SUSPECT_AFTER), group="loud"))
    assert house.deployed.groups("SuspectsQueue") == ["loud"]
