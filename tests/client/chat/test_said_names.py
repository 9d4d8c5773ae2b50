"""What NLWeb domains say of the domains of a group's members, and by whom it is believed."""

from pathlib import Path
from uuid import uuid4

import pytest
from tests.client.chat.domain_network import BANK, CAFE, EVE, SHOP, SPY, DomainNetwork
from tests.client.chat.network import CAROL, Device
from tests.protocols.status.histories import author

from postroom.client.archive.nlweb_messages import read_content
from postroom.client.chat import Chats
from postroom.client.chat.domain_keys import DomainKey
from postroom.client.chat.index import ChatIndex
from postroom.client.chat.memory import ChatMemory
from postroom.client.chat.memory_additions import note_said
from postroom.client.chat.nlweb_carrier import address_of, read_body
from postroom.client.chat.said_names import MAX_NAMES_SAID, SaidName
from postroom.client.chat.undelivered import find_undelivered
from postroom.client.mailbox import UnavailableError
from postroom.protocols.dm3.stored import Received
from postroom.protocols.status import sending
from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.enums import ChatKind
from postroom.protocols.status.group_actions import add_members, create_group, remove_member
from postroom.protocols.status.group_updates import group_update
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.log import ChatLog
from postroom.protocols.status.membership import Group, SignedEvent
from postroom.protocols.status.verify import ChatRef

TO_SHOP, TO_BANK, TO_EVE, TO_CAFE, TO_SPY = map(address_of, (SHOP, BANK, EVE, CAFE, SPY))
STRANGER = AuthorKey.from_secret(bytes(31) + b"\7")


@pytest.fixture
def network() -> DomainNetwork:
    """Shop, Bank and Cafe know each other's keys; nobody knows Eve's but Shop."""
    network = DomainNetwork()
    for one, other in ((SHOP, BANK), (SHOP, CAFE), (BANK, CAFE)):
        network.introduce(one, other)
    network.device(SHOP).chats.trust(EVE, network[EVE].key)
    return network


@pytest.fixture
def bank(network: DomainNetwork) -> Device:
    return network.device(BANK)


def founded(network: DomainNetwork, *members: str) -> Group:
    """A group that Shop has created with these. Bank gets it, without a word about anybody's domain."""
    others = [network[member].key for member in members]
    group = create_group(str(uuid4()), network[SHOP].author, network.tick(), "Lunch", others)
    network.domain(SHOP).bring(BANK, group_update(group))
    return group


def change(network: DomainNetwork, group: Group, event: SignedEvent) -> None:
    """Bank gets a change of the group by Shop."""
    group.apply(event)
    network.domain(SHOP).bring(BANK, group_update(group))


def say(network: DomainNetwork, sayer: str, member: ChatKey, address: str, author: AuthorKey | None = None) -> None:
    """A text for Bank, in a message of a domain, which says where a key is."""
    at_ms = network.tick()
    text = sending.text_message(ChatRef(ChatKind.ONE_TO_ONE, network[BANK].key), at_ms, at_ms, "psst")
    network.domain(sayer).bring(BANK, text, author, names={member: address})


def receivers(device: Device) -> tuple[tuple[str, ...], tuple[ChatKey, ...]]:
    """Whom a message in the group would go to, and whom it would not reach."""
    device.pull()
    device.chats.refresh()
    target = device.chats.find("Lunch")
    return target.receivers, target.unreached


# --- what is said and used ----------------------------------------------------------------------------------------
def test_members_at_domains_who_never_wrote_to_each_other_reach_each_other(
    network: DomainNetwork, bank: Device
) -> None:
    shop, eve = network.device(SHOP), network.device(EVE)
    eve.chats.trust(SHOP, network[SHOP].key)
    eve.pull()
    shop.chats.create_group("Lunch", [TO_BANK, TO_EVE])
    shop.send("Lunch", "noon?")
    bank.pull()
    sent = bank.send("Lunch", "fine")
    assert ({it.to for it in sent.deliveries}, sent.unreached) == ({TO_SHOP, TO_EVE}, ())
    eve.pull()
    assert eve.send("Lunch", "me too").unreached == ()
    for device in (shop, bank):
        device.pull()
    assert [device.texts("Lunch") for device in (shop, bank, eve)] == [["noon?", "fine", "me too"]] * 3
    # Nobody's key is pinned by that, and nobody is said to be not reached.
    assert [device.chats.memory.domains.get(name) for device, name in ((bank, EVE), (eve, BANK))] == [
        DomainKey(authors=(network[EVE].key,)), DomainKey(authors=(bank.chats.own,)),
    ]  # fmt: skip
    view = bank.chats.view()
    [chat] = view.groups()
    assert find_undelivered(bank.chats.memory, chat, view.messages(chat.ref)) == {}


def test_only_domains_are_said_and_only_by_who_knows_their_keys(network: DomainNetwork, bank: Device) -> None:
    founded(network, BANK, EVE, CAROL)
    say(network, SHOP, network[EVE].key, TO_EVE)
    reached, unreached = receivers(bank)
    assert ({*reached}, unreached) == ({TO_SHOP, TO_EVE}, (network[CAROL].key,))
    bank.send("Lunch", "fine")
    kept = [read_content(each) for each in bank.archive.open(EVE) if isinstance(each, Received)]
    # Not Bank's own domain, which sends it, and not Eve's, of which it has only heard.
    assert [read_body(it.body).names for it in kept if it.is_sent and read_body(it.body).type is None] == [
        {network[SHOP].key: TO_SHOP}
    ]


def test_what_is_said_first_is_used_and_on_all_devices(network: DomainNetwork, bank: Device) -> None:
    founded(network, BANK, CAFE, EVE)
    for address in (TO_EVE, address_of("aaa.example"), TO_EVE):
        say(network, CAFE, network[EVE].key, address)
    assert TO_EVE in receivers(bank)[0]
    assert bank.chats.memory.names_said(network[EVE].key, lambda _: True) == [TO_EVE, "nlweb:aaa.example"]


def test_of_one_sender_so_many_names_of_a_member_are_kept_the_first_said(bank: Device) -> None:
    assert MAX_NAMES_SAID == 10
    member, sayer, other = (user.public for user in map(author, ("eve", "cafe", "shop")))
    said = [SaidName(member, f"n{number}.eth", sayer, number // 2) for number in range(30)]
    for order in (said, said[::-1], [*said[15:], *said]):
        memory = ChatMemory(ChatLog(bank.chats.own))
        note_said(memory, SaidName(member, "last.eth", other, 99))
        for each in order:
            note_said(memory, each)
        names = [f"n{number}.eth" for number in range(MAX_NAMES_SAID)]
        assert memory.names_said(member, lambda _: True) == [*names, "last.eth"]
        assert memory.names_said(member, {other}.__contains__) == ["last.eth"]


def test_a_key_that_is_known_at_a_domain_is_reached_there(network: DomainNetwork, bank: Device) -> None:
    founded(network, BANK, CAFE, EVE)
    say(network, CAFE, network[EVE].key, address_of("aaa.example"))
    assert "nlweb:aaa.example" in receivers(bank)[0]
    bank.chats.trust(EVE, network[EVE].key)
    assert set(receivers(bank)[0]) == {TO_SHOP, TO_CAFE, TO_EVE}


def test_a_domain_gets_one_message_whoever_is_said_to_be_there(network: DomainNetwork, bank: Device) -> None:
    founded(network, BANK, EVE, CAFE, CAROL)
    for member in (EVE, CAROL):
        say(network, CAFE, network[member].key, TO_EVE)
    assert sorted(receivers(bank)[0]) == [TO_CAFE, TO_EVE, TO_SHOP]


def test_an_unsent_message_keeps_what_it_says(network: DomainNetwork) -> None:
    shop = network.device(SHOP)
    network.domain(SHOP).office.error = UnavailableError("down")
    shop.chats.create_group("Lunch", [TO_BANK, TO_EVE])
    network.domain(SHOP).office.error = None
    network.device(SHOP).pull()
    kept = [read_content(each) for each in shop.archive.open(BANK) if isinstance(each, Received)]
    assert {network[BANK].key: TO_BANK, network[EVE].key: TO_EVE} in [read_body(it.body).names for it in kept]


def test_an_index_keeps_what_is_said(network: DomainNetwork, bank: Device, tmp_path: Path) -> None:
    founded(network, BANK, CAFE, EVE)
    say(network, CAFE, network[EVE].key, TO_EVE)
    bank.pull()
    for _ in range(2):
        chats = Chats(bank.archive, network[BANK].sender(), ChatIndex(bank.archive, tmp_path))
        assert TO_EVE in chats.find("Lunch").receivers


# --- what is not believed -----------------------------------------------------------------------------------------
def test_what_a_stranger_to_the_group_says_is_not_used(network: DomainNetwork, bank: Device) -> None:
    """Even one whose key is known: the group's messages would come to somebody who could not have read them."""
    founded(network, BANK, EVE)
    say(network, CAFE, network[EVE].key, TO_SPY)
    assert receivers(bank) == ((TO_SHOP,), (network[EVE].key,))


def test_what_a_removed_member_said_is_not_used_any_more(network: DomainNetwork, bank: Device) -> None:
    group = founded(network, BANK, CAFE, EVE)
    say(network, CAFE, network[EVE].key, TO_SPY)
    assert TO_SPY in receivers(bank)[0]
    bank.send("Lunch", "noon?")
    event = remove_member(group, network[SHOP].author, network.tick(), network[CAFE].key)
    change(network, group, event)
    assert receivers(bank) == ((TO_SHOP,), (network[EVE].key,))
    # It was used when Cafe was a member.
    view = bank.chats.view()
    [chat] = view.groups()
    assert find_undelivered(bank.chats.memory, chat, view.messages(chat.ref)) == {}
    event = add_members(group, network[SHOP].author, network.tick(), [network[CAFE].key])
    change(network, group, event)
    assert TO_SPY in receivers(bank)[0]


def test_a_domain_that_has_another_key_is_not_used(network: DomainNetwork, bank: Device) -> None:
    founded(network, BANK, CAFE, EVE)
    bank.chats.trust(SPY, STRANGER.public)
    say(network, CAFE, network[EVE].key, TO_SPY)
    say(network, CAFE, network[EVE].key, TO_SHOP)
    assert network[EVE].key in receivers(bank)[1]


def test_what_another_key_says_from_a_members_domain_is_not_used(network: DomainNetwork, bank: Device) -> None:
    group = founded(network, BANK, CAFE, EVE)
    event = add_members(group, network[SHOP].author, network.tick(), [STRANGER.public])
    change(network, group, event)
    say(network, CAFE, network[EVE].key, TO_EVE, author=STRANGER)
    assert network[EVE].key in receivers(bank)[1]


def test_what_is_said_beside_a_message_that_was_passed_on_is_not_used(network: DomainNetwork, bank: Device) -> None:
    """Not even if the domain that passed it on has the author's key, too, because it did so before."""
    founded(network, BANK, CAFE, EVE)
    network.domain(CAFE).bring(BANK, _hello(network))
    for _ in range(2):
        say(network, EVE, network[EVE].key, TO_SPY, author=network[CAFE].author)
    _, unreached = receivers(bank)
    assert bank.chats.memory.domains[EVE].key == network[CAFE].key
    assert unreached == (network[EVE].key,)


def test_nothing_is_said_of_the_owner(network: DomainNetwork, bank: Device) -> None:
    founded(network, BANK, CAFE, EVE)
    say(network, CAFE, bank.chats.own, TO_SPY)
    say(network, CAFE, network[EVE].key, TO_BANK)
    assert network[EVE].key in receivers(bank)[1]
    assert bank.chats.memory.said == {}


def _hello(network: DomainNetwork) -> sending.ChatMessage:
    at_ms = network.tick()
    return sending.text_message(ChatRef(ChatKind.ONE_TO_ONE, network[BANK].key), at_ms, at_ms, "hello")
