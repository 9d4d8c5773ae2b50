"""Messages to domains that are refused after the owner's post office has accepted them."""

from collections.abc import Callable
from uuid import NAMESPACE_URL, uuid5

import pytest
from tests.client.chat.domain_network import BANK, SHOP, DomainNetwork, PostOffice
from tests.client.chat.network import ALICE, BOB, Device
from tests.client.chat.test_dying import deaths

from postroom.api.states import State
from postroom.client.archive import Archive
from postroom.client.archive.nlweb_messages import is_sent
from postroom.client.chat import SentTo
from postroom.client.chat.late_refusals import LOOKED_AFTER_MS, store_late_refusals
from postroom.client.chat.nlweb_carrier import SUBJECT, address_of
from postroom.client.chat.undelivered import DeliveryState, UnsentPart, find_undelivered
from postroom.client.mailbox import RefusedError, UnavailableError, UntrustedHostError
from postroom.client.sending import SendOutcome
from postroom.protocols.dm3.stored import Received

TO_SHOP, TO_BANK = address_of(SHOP), address_of(BANK)
HOUR_MS = 3_600_000


@pytest.fixture
def network() -> DomainNetwork:
    """Shop and Bank know each other's keys, and each other."""
    network = DomainNetwork()
    network.introduce(SHOP, BANK)
    network.device(SHOP).send(TO_BANK, "before")
    return network


@pytest.fixture
def shop(network: DomainNetwork) -> Device:
    return network.device(SHOP)


@pytest.fixture
def office(network: DomainNetwork) -> PostOffice:
    return network.domain(SHOP).office


def end(office: PostOffice, shop: Device, state: State = State.REFUSED, reason: str = "SenderNotWanted") -> str:
    """Send a text, and let that be the end of it; its Correlation."""
    shop.send(TO_BANK, "hello")
    correlation = max(office.queued_ms, key=lambda each: office.queued_ms[each])
    office.ended[correlation] = (state, reason)
    return correlation


def state_of(device: Device, text: str = "hello") -> DeliveryState | None:
    """What is not delivered of a text."""
    device.chats.refresh()
    view, ref = device.chats.view(), device.chats.find(TO_BANK).ref
    [message] = [each for each in view.messages(ref) if each.text == text]
    return find_undelivered(device.chats.memory, view.chat(ref), [message]).get(message.id)


@pytest.mark.parametrize(
    ("state", "reason", "shown"),
    [
        (State.REFUSED, "SenderNotWanted", "SenderNotWanted"),
        (State.GIVEN_UP, "OutboundFailed", "OutboundFailed"),
        (State.GIVEN_UP, "", "given up"),
        (State.QUEUED, "", None),
        (State.DELIVERED, "", None),
    ],
    ids=str,
)
def test_it_is_shown_with_its_reason(
    shop: Device, office: PostOffice, state: State, reason: str, shown: str | None
) -> None:
    end(office, shop, state, reason)
    assert state_of(shop) is None
    _, deliveries = shop.pull()
    if shown is None:
        assert (deliveries, state_of(shop)) == ([], None)
    else:
        assert [(it.to, it.outcome, it.reason) for it in deliveries] == [(TO_BANK, SendOutcome.REFUSED, shown)]
        assert state_of(shop) == DeliveryState((UnsentPart("message", TO_BANK, shown),))
        assert shop.unsent() == [f"{TO_BANK}: {shown}"]
    assert state_of(shop, "before") is None


def test_it_is_said_once_and_not_sent_again(network: DomainNetwork, shop: Device, office: PostOffice) -> None:
    end(office, shop)
    said = [it for _ in range(3) for it in network.device(SHOP).pull()[1]]
    assert said == [SentTo(TO_BANK, SendOutcome.REFUSED, "SenderNotWanted", "because of SenderNotWanted")]
    sent = len(network[SHOP].service.seen)
    shop.pull()
    assert len(network[SHOP].service.seen) == sent
    # The message is still kept as one that was sent.
    kept = [each for each in shop.archive.open(BANK) if isinstance(each, Received) and is_sent(each)]
    assert len(kept) == sent - 1, "all but what was said to the own devices"


@pytest.mark.parametrize("subject", [SUBJECT, "Hello@Host"])
def test_no_conversation_is_opened_for_what_is_known_or_no_chat(
    shop: Device, office: PostOffice, monkeypatch: pytest.MonkeyPatch, subject: str
) -> None:
    known = end(office, shop)
    office.send(BANK, subject, {"Status": "AAAA"}, token="1")
    other = str(uuid5(NAMESPACE_URL, "1"))
    office.ended[other] = (State.REFUSED, "UnexpectedSubject")
    opened: list[str] = []
    monkeypatch.setattr(Archive, "open", lambda _, partner: opened.append(partner) or [])
    assert store_late_refusals(shop.archive, office, {known}, 0) == []
    assert opened == ([BANK] if subject == SUBJECT else [])


def test_one_listing_is_requested_and_only_for_two_days(network: DomainNetwork, shop: Device) -> None:
    office = network.domain(SHOP).office
    assert LOOKED_AFTER_MS == 48 * HOUR_MS
    for hours, listings in ((0, 1), (24, 1), (23, 1), (2, 0)):
        network.tick(hours * HOUR_MS)
        office.listings = 0
        shop.pull()
        assert office.listings == listings, hours


def test_nothing_is_requested_if_nothing_was_sent_to_domains(network: DomainNetwork) -> None:
    bank = network.device(BANK)
    network.domain(BANK).office.listings = 0
    network.tick(72 * HOUR_MS)
    bank.pull()
    alice = network.device(ALICE)
    alice.chats.send_through(lambda: network.domain(BANK).office)
    alice.send(BOB, "hello")
    alice.pull()
    assert network.domain(BANK).office.listings == 0


def test_what_is_older_is_not_read(network: DomainNetwork, shop: Device, office: PostOffice) -> None:
    end(office, shop)
    network.tick(49 * HOUR_MS)
    shop.send(TO_BANK, "new")
    assert shop.pull()[1] == []


@pytest.mark.parametrize(
    "error",
    [UnavailableError("down"), RefusedError("no", reason="NotTheOwner"), UntrustedHostError("another host")],
    ids=lambda error: type(error).__name__,
)
def test_an_outbox_that_cannot_be_read_is_read_the_next_time(
    shop: Device, office: PostOffice, error: UnavailableError
) -> None:
    end(office, shop)
    office.error = error
    assert shop.pull()[1] == []
    office.error = None
    assert len(shop.pull()[1]) == 1


def test_who_dies_meanwhile_finds_it_again(network: DomainNetwork, shop: Device, office: PostOffice) -> None:
    end(office, shop)
    pull: Callable[[Device], object] = Device.pull
    for _ in deaths(network, SHOP, pull):
        network.device(SHOP).pull()
        assert network.device(SHOP).unsent() == [f"{TO_BANK}: SenderNotWanted"]
