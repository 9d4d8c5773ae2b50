"""Devices that die between any two steps of sending to a domain and of pulling: another one completes the work.

Nothing is lost, nothing is sent or shown twice, and both sides show the same.
"""

from collections.abc import Callable

import pytest
from tests.client.chat.domain_network import BANK, SHOP, DomainNetwork
from tests.client.chat.network import ALICE, Device
from tests.client.chat.test_dying import check_settled, deaths, shown

from postroom.client.archive.nlweb_messages import read_content
from postroom.client.chat.nlweb_carrier import address_of, read_body
from postroom.client.mailbox import RefusedError
from postroom.protocols.dm3.stored import Received

TO_SHOP, TO_BANK = address_of(SHOP), address_of(BANK)


@pytest.fixture
def talk() -> DomainNetwork:
    """Shop and Bank have written to each other once."""
    network = DomainNetwork()
    network.introduce(SHOP, BANK)
    shop, bank = network.device(SHOP), network.device(BANK)
    shop.send(TO_BANK, "first")
    bank.pull()
    bank.send(TO_SHOP, "second")
    shop.pull()
    bank.pull()
    return network


def check_sent_once(network: DomainNetwork) -> None:
    """No wrapper is twice in a conversation of either, or went through a post office twice."""
    for name, partner in ((SHOP, BANK), (BANK, SHOP)):
        sent = network[name].service.seen
        assert len(set(sent)) == len(sent)
        kept = [each for each in network.device(name).archive.open(partner) if isinstance(each, Received)]
        wrappers = [read_body(read_content(each).body).wrapper for each in kept]
        assert len(set(wrappers)) == len(wrappers)


ACTIONS: dict[str, Callable[[Device], object]] = {
    "a reply": lambda shop: shop.send(TO_BANK, "third", reply_to=shop.last(TO_BANK).id),
    "a reaction": lambda shop: shop.chats.react(TO_BANK, shop.last(TO_BANK).id),
    "an edit": lambda shop: shop.chats.edit(TO_BANK, shop.shown(TO_BANK)[0].id, "changed"),
    "a deletion": lambda shop: shop.chats.delete(TO_BANK, shop.shown(TO_BANK)[0].id),
}


@pytest.mark.parametrize("what", ACTIONS)
def test_who_dies_while_sending(talk: DomainNetwork, what: str) -> None:
    before = shown(talk, SHOP, TO_BANK)
    outcomes = []
    for at in deaths(talk, SHOP, ACTIONS[what]):
        left = shown(talk, SHOP, TO_BANK)
        check_settled(talk, SHOP, BANK)
        check_sent_once(talk)
        after = shown(talk, SHOP, TO_BANK)
        assert after == shown(talk, BANK, TO_SHOP) == left, at
        outcomes.append(after != before)
    assert outcomes == sorted(outcomes)
    assert (outcomes[0], outcomes[-1]) == (False, True)
    assert len(outcomes) > 6


def test_who_dies_while_sending_to_a_group(talk: DomainNetwork) -> None:
    talk.device(SHOP).chats.create_group("Lunch", [TO_BANK])
    check_settled(talk, SHOP, BANK)
    lengths = []
    for at in deaths(talk, SHOP, lambda device: device.send("Lunch", "noon?")):
        check_settled(talk, SHOP, BANK)
        check_sent_once(talk)
        assert shown(talk, SHOP, "Lunch") == shown(talk, BANK, "Lunch"), at
        lengths.append(len(shown(talk, SHOP, "Lunch")))
    assert lengths == sorted(lengths)
    assert (lengths[0], lengths[-1]) == (0, 1)


def test_who_dies_while_a_message_is_refused(talk: DomainNetwork) -> None:
    talk.domain(SHOP).office.error = RefusedError("too large", reason="TooLarge")
    for _ in deaths(talk, SHOP, lambda device: device.chats.react(TO_BANK, device.last(TO_BANK).id)):
        shop = talk.device(SHOP)
        shop.pull()
        assert shop.unsent() in ([], [f"{TO_BANK}: TooLarge"])
        assert bool(shop.unsent()) == bool(shop.last(TO_BANK).reactions)


def test_who_dies_while_pulling(talk: DomainNetwork) -> None:
    shop = talk.device(SHOP)
    shop.send(TO_BANK, "third")
    shop.chats.react(TO_BANK, shop.last(TO_BANK).id)
    for _ in deaths(talk, BANK, Device.pull):
        check_settled(talk, BANK, SHOP)
        check_sent_once(talk)
        assert shown(talk, SHOP, TO_BANK) == shown(talk, BANK, TO_SHOP)
        assert talk.device(BANK).texts(TO_SHOP) == ["first", "second", "third"]


def test_who_dies_while_trusting_a_key(talk: DomainNetwork) -> None:
    trusted = []
    for _ in deaths(talk, SHOP, lambda device: device.chats.trust(BANK, talk[ALICE].key)):
        check_settled(talk, SHOP, BANK)
        domains = talk.device(SHOP).chats.memory.domains
        trusted.append(domains[BANK].key == talk[ALICE].key)
    assert trusted == sorted(trusted)
    assert (trusted[0], trusted[-1]) == (False, True)


def test_a_post_office_that_answers_again_after_its_answers_were_lost(talk: DomainNetwork) -> None:
    office = talk.domain(SHOP).office
    for lost in range(3):
        office.loses_answers = lost
        talk.device(SHOP).send(TO_BANK, f"{lost}")
        check_settled(talk, SHOP, BANK)
        check_sent_once(talk)
    assert talk.device(BANK).texts(TO_SHOP) == ["first", "second", "0", "1", "2"]
