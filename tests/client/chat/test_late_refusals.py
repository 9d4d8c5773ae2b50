"""Messages to domains that are refused after the owner's post office has accepted them."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.client.chat.domain_network import BANK, SHOP, DomainNetwork, PostOffice
from tests.client.chat.network import ALICE, BOB, Device, Mailbox
from tests.client.chat.test_dying import deaths

from postroom.api.states import State
from postroom.client.archive import Archive, MemoryHome
from postroom.client.archive.nlweb_messages import is_sent
from postroom.client.chat import Chats, SentTo
from postroom.client.chat.index import ChatIndex
from postroom.client.chat.late_refusals import LOOKED_FOR_MS
from postroom.client.chat.nlweb_carrier import SUBJECT, address_of
from postroom.client.chat.undelivered import DeliveryState, UnsentPart, find_undelivered
from postroom.client.mailbox import RefusedError, UnavailableError, UntrustedHostError
from postroom.client.sending import SendOutcome
from postroom.protocols.dm3.stored import Received

TO_SHOP, TO_BANK = address_of(SHOP), address_of(BANK)
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


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


def test_what_is_shown_in_no_chat_is_said(shop: Device, office: PostOffice) -> None:
    before = set(office.queued_ms)
    shop.chats.create_group("Lunch", [TO_BANK])
    [correlation] = office.queued_ms.keys() - before
    office.ended[correlation] = (State.REFUSED, "SenderNotWanted")
    refused: list[SentTo] = []
    assert [*shop.chats.watch(Mailbox(shop.person.service, shop.points), 0, refused.append)] == []
    assert refused == [SentTo(TO_BANK, SendOutcome.REFUSED, "SenderNotWanted", "because of SenderNotWanted")]


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


def test_no_conversation_is_opened(
    network: DomainNetwork, shop: Device, office: PostOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for what is known, and not for what another home has sent through the same outbox."""
    end(office, shop)
    other = network.domain(SHOP).device(MemoryHome())
    other.chats.trust(BANK, network[BANK].key)
    end(office, other)
    shop.chats.refresh()
    assert len(shop.chats.memory.sent_to_domains) > 1
    opened: list[str] = []
    opens = Archive.open
    monkeypatch.setattr(Archive, "open", lambda archive, partner: opened.append(partner) or opens(archive, partner))
    for _ in range(2):
        network.device(SHOP).chats.refresh()
        [*shop.chats.deliver_due()]
    assert BANK not in opened
    assert shop.unsent() == [f"{TO_BANK}: SenderNotWanted"]


def test_the_index_knows_what_was_sent(network: DomainNetwork, office: PostOffice, tmp_path: Path) -> None:
    def chats() -> Chats:
        archive = network[SHOP].archive()
        return Chats(archive, network[SHOP].sender(), ChatIndex(archive, tmp_path))

    end(office, network.device(SHOP))
    sent = chats().memory.sent_to_domains
    assert sent == chats().memory.sent_to_domains
    assert sent.keys() == office.queued_ms.keys()
    again = chats()
    again.send_through(lambda: office)
    assert [it.reason for it in again.deliver_due()] == ["SenderNotWanted"]


def test_other_messages_of_the_outbox_are_passed_over(shop: Device, office: PostOffice) -> None:
    end(office, shop)
    office.send(BANK, SUBJECT, {"Status": "AAAA"}, token="1")
    office.send(BANK, "Hello@Host", {}, token="2")
    assert [it.reason for it in shop.pull()[1]] == ["SenderNotWanted"]


def test_one_listing_is_requested_as_long_as_the_outbox_remembers(network: DomainNetwork, shop: Device) -> None:
    office = network.domain(SHOP).office
    assert LOOKED_FOR_MS == 30 * DAY_MS
    for days, listings in ((0, 1), (2, 1), (27, 1), (1, 0)):
        network.tick(days * DAY_MS)
        office.listings = 0
        network.device(SHOP).pull()
        assert office.listings == listings, days


def test_a_process_looks_once_for_what_was_delivered(shop: Device, office: PostOffice) -> None:
    """And again for what is still being sent."""
    correlation = end(office, shop, State.QUEUED, "")
    office.listings = 0
    shop.pull()
    shop.pull()
    assert office.listings == 2
    office.ended[correlation] = (State.DELIVERED, "")
    shop.pull()
    shop.pull()
    assert office.listings == 3


def test_the_list_is_read_until_all_were_in_it(shop: Device, office: PostOffice) -> None:
    shop.chats.send_through(lambda: office)
    end(office, shop, State.QUEUED, "")
    shop.pull()
    assert len(office.read) > 1
    office.read.clear()
    shop.pull()
    assert len(office.read) == 1, "the newest; what is older was delivered"


def test_nothing_is_requested_if_nothing_was_sent_to_domains(network: DomainNetwork) -> None:
    bank = network.device(BANK)
    network.domain(BANK).office.listings = 0
    network.tick(31 * DAY_MS)
    bank.pull()
    alice = network.device(ALICE)
    alice.chats.send_through(lambda: network.domain(BANK).office)
    alice.send(BOB, "hello")
    alice.pull()
    assert network.domain(BANK).office.listings == 0


@pytest.mark.parametrize(("waits", "away"), [(0, 60), (30, 23), (49, 23), (0, 29 * 24)], ids=lambda hours: f"{hours} h")
def test_the_owner_may_be_away_before_it_is_accepted_and_after(
    network: DomainNetwork, shop: Device, office: PostOffice, waits: int, away: int
) -> None:
    office.error = UnavailableError("down")
    shop.send(TO_BANK, "hello")
    network.tick(waits * HOUR_MS)
    office.error = None
    network.device(SHOP).pull()
    accepted = max(office.queued_ms, key=lambda each: office.queued_ms[each])
    office.ended[accepted] = (State.GIVEN_UP, "OutboundFailed")
    network.tick(away * HOUR_MS)
    # What was sent since does not hide it.
    network.device(SHOP).send(TO_BANK, "new")
    assert [it.reason for it in network.device(SHOP).pull()[1]] == ["OutboundFailed"]


def test_what_is_older_is_not_looked_for(network: DomainNetwork, shop: Device, office: PostOffice) -> None:
    end(office, shop)
    network.tick(30 * DAY_MS)
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
