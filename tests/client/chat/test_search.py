"""Searching chats: by the texts that they show, as they show them, and by no others that the archive has."""

import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.client.chat.domain_network import BANK, EVE, SHOP, DomainNetwork
from tests.client.chat.network import ALICE, BOB, CAROL, ChatNetwork, Device, wrapped
from tests.tiers import amount

from postroom.api.states import State
from postroom.client.archive.index import Hit, Index, SearchableTexts, Shown, scan
from postroom.client.archive.nlweb_messages import read_content
from postroom.client.chat import ChatError
from postroom.client.chat.carried_wrapper import CarriedWrapper
from postroom.client.chat.index import ChatIndex
from postroom.client.chat.nlweb_carrier import SUBJECT, address_of, write_body
from postroom.client.chat.reading import ConversationReader
from postroom.client.chat.search import SearchedChats
from postroom.client.dm3 import Dm3Draft
from postroom.client.mailbox import RefusedError, UnavailableError
from postroom.protocols.dm3.message import MessageType
from postroom.protocols.dm3.stored import Received
from postroom.protocols.status import sending
from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.enums import ChatKind, PayloadType
from postroom.protocols.status.group_actions import create_group
from postroom.protocols.status.group_updates import group_update
from postroom.protocols.status.ids import message_id
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.log import Fact
from postroom.protocols.status.messages import EditMessage
from postroom.protocols.status.pseudonym import pseudonym, short_key
from postroom.protocols.status.verify import ChatRef

TO_SHOP, TO_BANK = address_of(SHOP), address_of(BANK)
STRANGER = AuthorKey.from_secret(bytes(31) + b"\7")
TEA: Final = ChatRef(ChatKind.PUBLIC_GROUP, "tea")


class Unread(SearchedChats):
    """Chats that must not be read."""

    def read_shown(self) -> Shown:
        raise AssertionError("chats were read")


@dataclass
class Searcher:
    """Searches in the archive of a device, with an index that follows it."""

    device: Device
    folder: Path

    def __call__(self, text: str, limit: int = 100) -> list[Hit]:
        """What is found; without an index it is the same."""
        archive, own = self.device.archive, self.device.chats.own
        chats = SearchedChats(ConversationReader(archive, own, ChatIndex(archive, self.folder)))
        index = Index(archive, self.folder, chats)
        index.update()
        found = index.search(text, limit)
        assert scan(archive, text, limit, SearchedChats(ConversationReader(archive, own))) == found
        return found

    def texts(self, text: str) -> list[str]:
        return [hit.text for hit in self(text)]


@pytest.fixture
def network() -> DomainNetwork:
    return DomainNetwork()


@pytest.fixture
def shop(network: DomainNetwork) -> Device:
    return network.device(SHOP)


@pytest.fixture
def bank(network: DomainNetwork) -> Device:
    return network.device(BANK)


@pytest.fixture
def in_shop(network: DomainNetwork, shop: Device, tmp_path: Path) -> Searcher:
    """The shop, which has exchanged keys with the bank."""
    network.introduce(SHOP, BANK)
    return Searcher(shop, tmp_path / SHOP)


@pytest.fixture
def in_bank(bank: Device, tmp_path: Path) -> Searcher:
    return Searcher(bank, tmp_path / BANK)


@pytest.fixture
def alices(network: DomainNetwork, tmp_path: Path) -> Searcher:
    return Searcher(network.device(ALICE), tmp_path / ALICE)


def to(key: ChatKey) -> ChatRef:
    return ChatRef(ChatKind.ONE_TO_ONE, key)


def edits_of(device: Device) -> list[Fact]:
    """All edits that came, or were sent."""
    device.chats.refresh()
    return [fact for fact in device.chats.memory.log if isinstance(fact.message, EditMessage)]


# --- over NLWeb ---------------------------------------------------------------------------------------------------
def test_a_text_is_found_by_both_sides_with_its_author_and_time(
    network: DomainNetwork, shop: Device, in_shop: Searcher, bank: Device, in_bank: Searcher
) -> None:
    shop.send(TO_BANK, "Guten Morgen")
    bank.pull()
    [there] = in_bank("MORGEN")
    shown = bank.last(TO_SHOP)
    assert (there.partner, there.author, there.at_ms) == (SHOP, TO_SHOP, shown.clock)
    assert (there.text, there.in_chat) == ("Guten Morgen", True)
    [here] = in_shop("guten morgen")
    assert (here.partner, here.author, here.at_ms, here.text) == (BANK, SHOP, shown.clock, "Guten Morgen")


def test_the_json_of_a_chats_message_is_not_found_and_that_of_others_is(
    network: DomainNetwork, shop: Device, in_shop: Searcher, bank: Device, in_bank: Searcher
) -> None:
    shop.send(TO_BANK, "hello")
    network.domain(SHOP).office.deliver(BANK, "Hello@Host", {"Text": "Rechnung"})
    network.domain(SHOP).office.deliver(BANK, SUBJECT, {"Status": "no base64", "Text": "Rechnung"})
    bank.pull()
    assert in_bank("Payload@Status") == []
    assert in_bank("Status") == []
    [hit] = in_bank("rechnung")
    assert ("Hello@Host" in hit.text, hit.in_chat) == (True, False)


def test_a_message_that_was_set_aside_has_no_text(shop: Device, in_shop: Searcher) -> None:
    shop.send(TO_BANK, "hello")
    chats = SearchedChats(ConversationReader(shop.archive, shop.chats.own))
    kept = [each for each in shop.archive.open(BANK) if isinstance(each, Received)]
    assert "hello" in {chats.texts_of(each).in_chat for each in kept}
    assert {chats.texts_of(replace(each, set_aside="WrongShape")) for each in kept} == {SearchableTexts("")}


def test_an_edited_text_is_found_instead_of_the_former(
    shop: Device, in_shop: Searcher, bank: Device, in_bank: Searcher
) -> None:
    sent = shop.send(TO_BANK, "first version")
    shop.chats.edit(TO_BANK, sent.id, "second version")
    bank.pull()
    for found in (in_shop, in_bank):
        assert found.texts("version") == ["second version"]
    shop.chats.edit(TO_BANK, sent.id, "first version")
    bank.pull()
    for found in (in_shop, in_bank):
        # By the edit that gave it its first text again.
        [hit] = found("version")
        assert (hit.text, hit.at_ms) == ("first version", max(each.clock for each in edits_of(found.device)))


def test_a_deleted_text_is_not_found(shop: Device, in_shop: Searcher, bank: Device, in_bank: Searcher) -> None:
    sent = shop.send(TO_BANK, "regretted")
    shop.chats.edit(TO_BANK, sent.id, "regretted more")
    bank.pull()
    assert len(in_bank("regretted")) == len(in_shop("regretted")) == 1
    shop.chats.delete(TO_BANK, sent.id)
    bank.pull()
    assert in_bank("regretted") == in_shop("regretted") == []


def test_a_deletion_that_came_first_counts(shop: Device, in_shop: Searcher, network: DomainNetwork) -> None:
    sent = shop.send(TO_BANK, "regretted")
    shop.chats.delete(TO_BANK, sent.id)
    waiting = network[BANK].service.waiting
    network[BANK].service.waiting = waiting[::-1]
    bank = network.device(BANK)
    bank.pull()
    assert in_shop("regretted") == []


def test_what_another_says_of_a_message_is_not_found(
    network: DomainNetwork, shop: Device, in_shop: Searcher, bank: Device, in_bank: Searcher
) -> None:
    sent = shop.send(TO_BANK, "hello")
    at_ms = network.tick(10)
    for text in ("hello", "HELLO forged"):
        forged = sending.edit(to(bank.chats.own), at_ms, sent.id, text)
        network.domain(EVE).bring(BANK, forged, STRANGER)
    bank.pull()
    assert [(hit.author, hit.text) for hit in in_bank("hello")] == [(TO_SHOP, "hello")]


def test_an_edit_that_does_not_count_is_not_found(
    network: DomainNetwork, shop: Device, in_shop: Searcher, bank: Device, in_bank: Searcher
) -> None:
    sent = shop.send(TO_BANK, "hello")
    for clock in (network.now_ms - 60_000, network.now_ms + 600_000):
        network.domain(SHOP).bring(BANK, sending.edit(to(bank.chats.own), clock, sent.id, "hello"))
    bank.pull()
    assert len(in_bank("hello")) == 1


def test_hidden_and_cleared_messages_are_not_found(
    shop: Device, in_shop: Searcher, bank: Device, in_bank: Searcher
) -> None:
    sent = [shop.send(TO_BANK, f"hello {number}").id for number in range(3)]
    bank.pull()
    bank.chats.hide(TO_SHOP, sent[0])
    assert in_bank.texts("hello") == ["hello 2", "hello 1"]
    bank.chats.clear(TO_SHOP)
    assert in_bank("hello") == []
    shop.send(TO_BANK, "hello again")
    bank.pull()
    assert in_bank.texts("hello") == ["hello again"]
    assert len(in_shop("hello")) == 4


def test_discarded_messages_are_not_found(network: DomainNetwork, bank: Device, in_bank: Searcher) -> None:
    now_ms = network.tick()
    message = sending.text_message(to(bank.chats.own), now_ms, now_ms, "hello")
    network.domain(SHOP).bring(BANK, message, signed=False)
    network.domain(SHOP).bring(BANK, sending.text_message(to(STRANGER.public), now_ms, now_ms, "hello"))
    ahead = sending.text_message(to(bank.chats.own), now_ms + 600_000, now_ms, "hello")
    network.domain(SHOP).bring(BANK, ahead)
    wrapper = wrapped(message, STRANGER)
    network.domain(SHOP).office.deliver(BANK, SUBJECT, write_body(CarriedWrapper(wrapper[:-1], None)))
    network.domain(SHOP).office.deliver(BANK, SUBJECT, write_body(CarriedWrapper(b"\x01" + wrapper, None)))
    bank.pull()
    assert len(bank.archive.open(SHOP)) == 5
    assert in_bank("hello") == []


def test_what_a_stranger_passes_on_of_ones_own_is_found_once(
    network: DomainNetwork, shop: Device, in_shop: Searcher
) -> None:
    shop.send(TO_BANK, "hello")
    [kept, *_] = [each for each in shop.archive.open(BANK) if isinstance(each, Received)]
    network.domain(EVE).office.deliver(SHOP, SUBJECT, read_content(kept).body)
    shop.pull()
    assert [(hit.partner, hit.author) for hit in in_shop("hello")] == [(BANK, SHOP)]


def test_a_key_that_is_not_the_domains_has_its_pseudonym(
    network: DomainNetwork, in_shop: Searcher, bank: Device, in_bank: Searcher
) -> None:
    now_ms = network.tick()
    network.domain(SHOP).bring(BANK, sending.text_message(to(bank.chats.own), now_ms, now_ms, "hello"), STRANGER)
    bank.pull()
    [hit] = in_bank("hello")
    key = STRANGER.public
    assert (hit.partner, hit.author) == (SHOP, f"{pseudonym(key)} ({short_key(key)})")


def test_what_was_sent_without_an_answer_is_found_when_it_is_delivered(
    network: DomainNetwork, shop: Device, in_shop: Searcher
) -> None:
    office = network.domain(SHOP).office
    office.error = UnavailableError("down")
    shop.send(TO_BANK, "hello")
    assert in_shop("hello") == []
    office.error = None
    shop.pull()
    assert in_shop.texts("hello") == ["hello"]


def test_what_was_refused_at_once_is_not_found_and_what_was_refused_later_is(
    network: DomainNetwork, shop: Device, in_shop: Searcher
) -> None:
    office = network.domain(SHOP).office
    shop.send(TO_BANK, "hello")
    correlation = max(office.queued_ms, key=office.queued_ms.__getitem__)
    office.ended[correlation] = (State.REFUSED, "SenderNotWanted")
    shop.pull()
    assert shop.unsent() == [f"{TO_BANK}: SenderNotWanted"]
    assert in_shop.texts("hello") == ["hello"]
    office.error = RefusedError("too large", reason="TooLarge")
    shop.send(TO_BANK, "hello again")
    assert len(shop.unsent()) == 2
    assert in_shop.texts("hello") == ["hello"]


def test_an_edit_that_is_not_delivered_yet_counts(network: DomainNetwork, shop: Device, in_shop: Searcher) -> None:
    sent = shop.send(TO_BANK, "hello")
    network.domain(SHOP).office.error = UnavailableError("down")
    shop.chats.delete(TO_BANK, sent.id)
    assert in_shop("hello") == []


# --- channels and groups ------------------------------------------------------------------------------------------
def test_a_channel_is_searched_while_it_is_joined(network: DomainNetwork, alices: Searcher) -> None:
    alice, at_ms = alices.device, network.tick()
    network.domain(EVE).bring(ALICE, sending.text_message(TEA, at_ms, at_ms, "green tea"), STRANGER)
    alice.pull()
    assert alices("green") == []
    alice.chats.join("tea", [])
    assert alices.texts("green") == ["green tea"]
    alice.chats.part("tea")
    assert alices("green") == []


def test_an_edit_may_name_its_message_by_any_of_its_ids(network: DomainNetwork, alices: Searcher) -> None:
    alice, at_ms = alices.device, network.tick()
    alice.chats.join("tea", [])
    message = sending.text_message(TEA, at_ms, at_ms, "green tea")
    wrappers = [wrapped(message, STRANGER, unknown=unknown) for unknown in (b"", b"\x50\x01", b"\x50\x02")]
    for wrapper in wrappers:
        network.domain(EVE).office.deliver(ALICE, SUBJECT, write_body(CarriedWrapper(wrapper, None)))
    for number, wrapper in enumerate(wrappers):
        edit = sending.edit(TEA, network.tick(), message_id(STRANGER.public, wrapper), f"black tea {number}")
        network.domain(EVE).bring(ALICE, edit, STRANGER)
        alice.pull()
        assert alices.texts("tea") == [f"black tea {number}"]


def test_a_group_is_searched_as_it_is_shown(
    network: DomainNetwork, shop: Device, in_shop: Searcher, bank: Device, in_bank: Searcher
) -> None:
    shop.chats.create_group("Lunch", [TO_BANK])
    shop.send("Lunch", "noon?")
    bank.pull()
    assert in_bank.texts("noon") == in_shop.texts("noon") == ["noon?"]
    shop.chats.remove_member("Lunch", TO_BANK)
    bank.pull()
    group = shop.chats.find("Lunch").ref
    [known] = [shop.chats.memory.log.group(group.id)]
    at_ms = network.tick(5)
    network.domain(SHOP).bring(BANK, group_update(known, sending.text_message(group, at_ms, at_ms, "noon secret")))
    bank.pull()
    assert in_bank.texts("noon") == ["noon?"]


def test_another_member_cannot_edit_a_message_of_a_group(
    network: DomainNetwork, shop: Device, in_shop: Searcher, bank: Device, in_bank: Searcher
) -> None:
    network.introduce(SHOP, EVE)
    shop.chats.create_group("Lunch", [TO_BANK, address_of(EVE)])
    sent = shop.send("Lunch", "noon?")
    group, at_ms = shop.chats.find("Lunch").ref, network.tick(10)
    for change in (sending.edit(group, at_ms, sent.id, "noon?"), sending.edit(group, at_ms, sent.id, "noon or one")):
        network.domain(EVE).bring(BANK, change)
    bank.pull()
    assert [(hit.partner, hit.text) for hit in in_bank("noon")] == [(SHOP, "noon?")]
    network.domain(EVE).bring(BANK, sending.text_message(group, at_ms, at_ms, "one"))
    bank.pull()
    assert [(hit.partner, hit.text) for hit in in_bank("one")] == [(EVE, "one")]


def test_a_group_whose_founding_has_not_come_is_not_searched(
    network: DomainNetwork, bank: Device, in_bank: Searcher
) -> None:
    author = network[SHOP].author
    made = create_group("8b51b6b2-2f5f-4a0e-9a0b-3c1d5e7f9a1b", author, network.tick(), "Lunch", [bank.chats.own])
    ref, at_ms = ChatRef(ChatKind.PRIVATE_GROUP, made.id), network.tick()
    message = sending.text_message(ref, at_ms, at_ms, "noon?")
    network.domain(SHOP).bring(BANK, replace(group_update(made, message), events=group_update(made).events[1:]))
    bank.pull()
    assert in_bank("noon") == []
    network.domain(SHOP).bring(BANK, group_update(made))
    bank.pull()
    assert in_bank.texts("noon") == ["noon?"]


def test_what_went_to_several_domains_is_found_once(network: DomainNetwork, shop: Device, in_shop: Searcher) -> None:
    network.introduce(SHOP, EVE)
    shop.chats.create_group("Lunch", [TO_BANK, address_of(EVE)])
    sent = shop.send("Lunch", "noon?")
    shop.send("Lunch", "noon?")
    assert [(hit.text, hit.author) for hit in in_shop("noon")] == [("noon?", SHOP)] * 2
    assert [hit.text for hit in in_shop("noon", 2)] == ["noon?"] * 2
    shop.chats.edit("Lunch", sent.id, "noon or one?")
    assert sorted(in_shop.texts("noon")) == ["noon or one?", "noon?"]
    shop.chats.join("tea", [TO_BANK, address_of(EVE)])
    shop.pull()
    shop.send("#tea", "green")
    assert in_shop.texts("green") == ["green"]


# --- over dm3 -----------------------------------------------------------------------------------------------------
def bring_other_text(network: DomainNetwork, payload: str, text: str) -> None:
    """Bob sends Alice a chat message whose dm3 message has another text."""
    at_ms = network.tick()
    message = sending.text_message(to(network[ALICE].key), at_ms, at_ms, payload)
    network[BOB].pass_on(ALICE, wrapped(message, network[BOB].author), PayloadType.CHAT_MESSAGE, text)


def test_both_texts_of_a_message_are_found_each_by_its_own_words(network: DomainNetwork, alices: Searcher) -> None:
    bring_other_text(network, "alpha beta", "gamma delta")
    alices.device.pull()
    [chats] = alices("beta alpha")
    [own] = alices("gamma")
    assert (chats.text, chats.author, chats.in_chat) == ("alpha beta", BOB, True)
    assert (own.text, own.author, own.in_chat) == ("gamma delta", BOB, False)
    assert (chats.partner, chats.message_hash) == (own.partner, own.message_hash) == (BOB, own.message_hash)
    assert alices("alpha gamma") == []
    alices.device.chats.hide(BOB, alices.device.last(BOB).id)
    assert alices("alpha") == []
    assert len(alices("gamma")) == 1


def test_a_message_without_a_text_is_found_by_that_of_its_payload(network: DomainNetwork, alices: Searcher) -> None:
    bring_other_text(network, "alpha beta", "")
    alices.device.pull()
    assert alices.texts("alpha") == ["alpha beta"]


def test_a_text_that_both_have_is_found_once_whatever_the_chat_shows(network: DomainNetwork, alices: Searcher) -> None:
    network.device(BOB).send(ALICE, "alpha beta")
    alices.device.pull()
    assert [hit.in_chat for hit in alices("alpha")] == [False]
    alices.device.chats.clear(BOB)
    assert alices.texts("alpha") == ["alpha beta"]


def test_what_somebody_else_wrote_is_not_found_in_a_dm3_message(network: DomainNetwork, alices: Searcher) -> None:
    at_ms = network.tick()
    message = sending.text_message(to(network[ALICE].key), at_ms, at_ms, "alpha")
    network[BOB].pass_on(ALICE, wrapped(message, STRANGER), PayloadType.CHAT_MESSAGE, "hello")
    alices.device.pull()
    assert alices("alpha") == []
    assert alices.texts("hello") == ["hello"]


def test_a_message_that_the_archive_has_removed_is_not_found(network: DomainNetwork, alices: Searcher) -> None:
    bring_other_text(network, "alpha beta", "gamma")
    alices.device.pull()
    bob = network[BOB]
    [hit] = alices("alpha")
    bob.post(Dm3Draft(ALICE, "", MessageType.DELETE_REQUEST, hit.message_hash))
    alices.device.pull()
    assert alices("alpha") == alices("gamma") == []


def in_group_of_three(network: ChatNetwork, alice: Device) -> tuple[Device, Device]:
    """Alice founds Lunch with Bob and Carol; their devices."""
    alice.chats.create_group("Lunch", [BOB, CAROL])
    bob, carol = network.device(BOB), network.device(CAROL)
    bob.pull()
    carol.pull()
    return bob, carol


def test_what_an_admin_has_deleted_is_not_found(network: DomainNetwork, alices: Searcher, tmp_path: Path) -> None:
    alice = alices.device
    bob, carol = in_group_of_three(network, alice)
    bob.send("Lunch", "mango at noon")
    bob.chats.edit("Lunch", bob.last("Lunch").id, "mango at one")
    alice.pull()
    carol.pull()
    searchers = [alices, *(Searcher(each, tmp_path / each.person.name) for each in (bob, carol))]
    for found in searchers:
        assert [found.texts(each) for each in ("noon", "one")] == [["mango at noon"], ["mango at one"]]
    alice.chats.delete("Lunch", alice.last("Lunch").id)
    bob.pull()
    carol.pull()
    for found in searchers:
        assert found.device.texts("Lunch") == ["(deleted)"]
        assert found("mango") == []
        found.device.chats.hide("Lunch", found.device.last("Lunch").id)
        assert found("mango") == []
        found.device.chats.clear("Lunch")
        assert found("mango") == []


def test_a_deletion_that_the_archive_knows_nothing_of_counts(
    network: DomainNetwork, alices: Searcher, tmp_path: Path
) -> None:
    network[ALICE].takes(MessageType.NEW)
    bob = network.device(BOB)
    sent = bob.send(ALICE, "mango")
    alices.device.pull()
    assert alices.texts("mango") == ["mango"]
    bob.chats.delete(ALICE, sent.id)
    alices.device.pull()
    assert alices.device.texts(BOB) == ["(deleted)"]
    assert alices("mango") == Searcher(bob, tmp_path / BOB)("mango") == []


def test_the_deletion_of_a_message_takes_both_of_its_texts(network: DomainNetwork, alices: Searcher) -> None:
    bring_other_text(network, "alpha", "gamma")
    alice = alices.device
    alice.pull()
    at_ms = network.tick()
    network[BOB].carry(ALICE, sending.deletion(to(network[ALICE].key), at_ms, alice.last(BOB).id))
    assert (alices.texts("alpha"), alices.texts("gamma")) == (["alpha"], ["gamma"])
    alice.pull()
    assert alices("alpha") == alices("gamma") == []


def test_a_deletion_that_does_not_count_takes_no_text(network: DomainNetwork, alices: Searcher) -> None:
    bob, carol = in_group_of_three(network, alices.device)
    bob.send("Lunch", "mango")
    carol.pull()
    group = carol.chats.find("Lunch").ref
    network[CAROL].carry(ALICE, sending.deletion(group, network.tick(), carol.last("Lunch").id))
    alices.device.pull()
    assert alices.texts("mango") == ["mango"]


def test_a_message_of_a_group_is_found_once_with_its_newest_text(
    network: DomainNetwork, alices: Searcher, tmp_path: Path
) -> None:
    alice = alices.device
    bob, _ = in_group_of_three(network, alice)
    sent = alice.send("Lunch", "mango at noon")
    alice.chats.send("Lunch", "mango too")
    assert alices.texts("mango") == ["mango too", "mango at noon"]
    alice.chats.edit("Lunch", sent.id, "mango at one")
    alice.chats.edit("Lunch", sent.id, "mango at two")
    bob.pull()
    for found in (alices, Searcher(bob, tmp_path / BOB)):
        assert found.texts("mango") == ["mango at two", "mango too"]
        # The archive keeps the former texts.
        assert [found.texts(each) for each in ("noon", "at one")] == [["mango at noon"], ["mango at one"]]


def test_plain_messages_are_found_each_by_itself(network: DomainNetwork, alices: Searcher) -> None:
    for _ in range(2):
        network[BOB].post(Dm3Draft(ALICE, "good morning"))
    alices.device.pull()
    assert alices.texts("morning") == ["good morning"] * 2


def test_another_text_beside_a_message_stands_for_itself(network: DomainNetwork, alices: Searcher) -> None:
    """Whoever passes a message on can give it any text, and must not hide it by that."""
    alice, at_ms = alices.device, network.tick()
    alice.chats.join("tea", [])
    wrapper = wrapped(sending.text_message(TEA, at_ms, at_ms, "green tea"), network[BOB].author)
    network[BOB].pass_on(ALICE, wrapper, PayloadType.CHAT_MESSAGE, "green tea")
    network[CAROL].pass_on(ALICE, wrapper, PayloadType.CHAT_MESSAGE, "green tea is poison")
    network[CAROL].pass_on(ALICE, wrapper, PayloadType.CHAT_MESSAGE, "green tea")
    alice.pull()
    assert sorted((hit.text, hit.author) for hit in alices("green")) == [
        ("green tea", BOB),
        ("green tea is poison", CAROL),
    ]
    bring_other_text(network, "alpha beta", "alpha gamma")
    alice.pull()
    assert sorted(alices.texts("alpha")) == ["alpha beta", "alpha gamma"]


# --- the search ---------------------------------------------------------------------------------------------------
def test_what_is_not_shown_takes_no_place_among_the_newest(
    shop: Device, in_shop: Searcher, bank: Device, in_bank: Searcher
) -> None:
    sent = [shop.send(TO_BANK, f"hello {number}").id for number in range(4)]
    for id_ in sent[2:]:
        shop.chats.delete(TO_BANK, id_)
    bank.pull()
    assert [hit.text for hit in in_bank("hello", 1)] == ["hello 1"]
    assert [hit.text for hit in in_bank("hello", 2)] == ["hello 1", "hello 0"]


def test_what_is_deleted_or_found_before_takes_no_place_among_the_newest(
    network: DomainNetwork, alices: Searcher
) -> None:
    in_group_of_three(network, alices.device)
    sent = [alices.device.send("Lunch", f"hello {number}").id for number in range(4)]
    network[BOB].takes(MessageType.NEW)
    network[CAROL].takes(MessageType.NEW)
    alices.device.chats.delete("Lunch", sent[3])
    for limit in (1, 2, 3):
        assert [hit.text for hit in alices("hello", limit)] == ["hello 2", "hello 1", "hello 0"][:limit]


def test_plain_and_chat_texts_are_found_newest_first(
    network: DomainNetwork, shop: Device, in_shop: Searcher, bank: Device, in_bank: Searcher
) -> None:
    for number in range(3):
        shop.send(TO_BANK, f"hello {number}")
        network.domain(SHOP).office.deliver(BANK, "Hello@Host", f"hello {number}")
    bank.pull()
    assert [hit.in_chat for hit in in_bank("hello")] == [False, True] * 3
    assert [hit.in_chat for hit in in_bank("hello", 3)] == [False, True, False]


def test_chats_are_read_only_if_one_of_their_texts_is_found(
    network: DomainNetwork, shop: Device, in_shop: Searcher, bank: Device, tmp_path: Path
) -> None:
    shop.send(TO_BANK, "hello")
    network.domain(SHOP).office.deliver(BANK, "News@Host", "good morning")
    network.domain(SHOP).office.deliver(BANK, "News@Host", "hello")
    bank.pull()
    unread = Unread(ConversationReader(bank.archive, bank.chats.own))
    index = Index(bank.archive, tmp_path, unread)
    index.update()
    for text, limit in (("good morning", 10), ("evening", 10), ("hello", 1)):
        assert index.search(text, limit) == scan(bank.archive, text, limit, unread)
    with pytest.raises(AssertionError, match="chats were read"):
        index.search("hello", 2)
    with pytest.raises(AssertionError, match="chats were read"):
        scan(bank.archive, "hello", 2, unread)


def test_chats_are_read_only_if_a_dm3_message_of_a_chat_is_found(
    network: DomainNetwork, alices: Searcher, tmp_path: Path
) -> None:
    network[BOB].post(Dm3Draft(ALICE, "good morning"))
    network.device(BOB).send(ALICE, "good evening")
    network[BOB].post(Dm3Draft(ALICE, "good night"))
    alice = alices.device
    alice.pull()
    unread = Unread(ConversationReader(alice.archive, alice.chats.own))
    index = Index(alice.archive, tmp_path, unread)
    index.update()
    for text, limit in (("morning", 10), ("noon", 10), ("good", 1)):
        assert index.search(text, limit) == scan(alice.archive, text, limit, unread)
    for text, limit in (("evening", 10), ("good", 2)):
        with pytest.raises(AssertionError, match="chats were read"):
            index.search(text, limit)
        with pytest.raises(AssertionError, match="chats were read"):
            scan(alice.archive, text, limit, unread)


def test_an_index_without_chats_has_none_of_their_texts(
    shop: Device, in_shop: Searcher, bank: Device, in_bank: Searcher
) -> None:
    shop.send(TO_BANK, "hello")
    bank.pull()
    assert in_bank.texts("hello") == ["hello"]
    plain = Index(bank.archive, in_bank.folder)
    plain.update()
    assert plain.search("hello", 10) == scan(bank.archive, "hello", 10) == []
    assert {hit.in_chat for hit in plain.search("Payload@Status", 10)} == {False}
    assert in_bank.texts("hello") == ["hello"]


def test_messages_that_are_known_are_not_read_again(
    shop: Device, in_shop: Searcher, bank: Device, in_bank: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.send(TO_BANK, "hello")
    bank.pull()
    assert in_bank.texts("hello") == ["hello"]
    read: list[str] = []
    real = SearchedChats.texts_of
    monkeypatch.setattr(SearchedChats, "texts_of", lambda self, entry: read.append(entry.id) or real(self, entry))
    shop.send(TO_BANK, "more")
    bank.pull()
    chats = SearchedChats(ConversationReader(bank.archive, bank.chats.own))
    Index(bank.archive, in_bank.folder, chats).update()
    assert len(read) == 1


def test_a_removed_conversation_leaves_the_index_with_its_chats(
    shop: Device, in_shop: Searcher, bank: Device, in_bank: Searcher
) -> None:
    shop.send(TO_BANK, "hello")
    bank.pull()
    assert in_bank.texts("hello") == ["hello"]
    emptied = Searcher(replace(bank, archive=replace(bank.archive, home=type(bank.archive.home)())), in_bank.folder)
    assert emptied("hello") == []
    [file] = [each for each in in_bank.folder.iterdir() if b"CREATE TABLE messages" in each.read_bytes()]
    database = sqlite3.connect(file)
    assert database.execute("SELECT count(*) FROM messages").fetchone() == (0,)
    database.close()


# --- random histories ---------------------------------------------------------------------------------------------
WHAT: Final = ("send", "send", "send", "edit", "edit", "delete", "hide", "clear", "pull", "pull", "down")
STEPS = st.lists(
    st.tuples(
        st.sampled_from((SHOP, BANK)), st.sampled_from(WHAT), st.sampled_from(("other", "Lunch")), st.integers(0, 9)
    ),
    min_size=4,
    max_size=14,
)
Step = tuple[str, str, str, int]


def change(device: Device, to: str, what: str, number: int) -> None:
    messages = device.shown(to)
    if not messages:
        return
    about = messages[number % len(messages)].id
    acts: dict[str, Callable[[], object]] = {
        "edit": lambda: device.chats.edit(to, about, f"text edited {number}"),
        "delete": lambda: device.chats.delete(to, about),
        "hide": lambda: device.chats.hide(to, about),
        "clear": lambda: device.chats.clear(to),
    }
    with suppress(ChatError):
        acts[what]()


class DomainHistory:
    """Two domains that write to each other, and in a group."""

    def __init__(self) -> None:
        self.network = DomainNetwork()
        self.network.introduce(SHOP, BANK)
        self.devices = {name: self.network.device(name) for name in (SHOP, BANK)}
        self.devices[SHOP].chats.create_group("Lunch", [TO_BANK])
        self.devices[BANK].pull()

    def do(self, who: str, what: str, where: str, number: int) -> None:
        device, office = self.devices[who], self.network.domain(who).office
        to = where if where == "Lunch" else TO_BANK if who == SHOP else TO_SHOP
        match what:
            case "pull":
                device.pull()
            case "down":
                office.error = None if office.error else UnavailableError("down")
            case "send":
                device.send(to, f"text {number}")
            case _:
                change(device, to, what, number)

    def settle(self) -> None:
        for name in self.devices:
            self.network.domain(name).office.error = None
        for device in (*self.devices.values(), *self.devices.values()):
            device.pull()


def shown_texts(device: Device) -> list[str]:
    device.chats.refresh()
    view = device.chats.view()
    return sorted(it.text for chat in view.chats() for it in view.messages(chat.ref) if it.message)


@settings(max_examples=amount(quick=2, all=4, proof=300), deadline=None)
@given(STEPS)
def test_a_search_finds_what_chats_show_once_and_nothing_else(steps: list[Step]) -> None:
    history = DomainHistory()
    with TemporaryDirectory() as folder:
        search = {name: Searcher(device, Path(folder, name)) for name, device in history.devices.items()}
        for step in steps:
            history.do(*step)
            found = search[step[0]]
            assert Counter(found.texts("text")) <= Counter(shown_texts(found.device))
        history.settle()
        for found in search.values():
            assert sorted(found.texts("text")) == shown_texts(found.device)


OVER_DM3: Final = ("send", "send", "send", "edit", "edit", "delete", "pull", "pull", "down")
STEPS_OVER_DM3 = st.lists(
    st.tuples(
        st.sampled_from((ALICE, BOB, CAROL)),
        st.sampled_from(OVER_DM3),
        st.sampled_from(("other", "Lunch")),
        st.integers(0, 9),
    ),
    min_size=4,
    max_size=14,
)


@settings(max_examples=amount(quick=2, all=4, proof=300), deadline=None)
@given(STEPS_OVER_DM3)
def test_a_search_over_dm3_finds_each_message_that_is_not_deleted_once(steps: list[Step]) -> None:
    network = ChatNetwork()
    # Nobody's archive knows what others ask Bob to delete.
    network[BOB].takes(MessageType.NEW)
    devices = {name: network.device(name) for name in (ALICE, BOB, CAROL)}
    devices[ALICE].chats.create_group("Lunch", [BOB, CAROL])
    for name in (BOB, CAROL):
        devices[name].pull()
    for who, what, where, number in steps:
        device, service = devices[who], network[who].service
        to = where if where == "Lunch" else ALICE if who != ALICE else BOB
        match what:
            case "pull":
                device.pull()
            case "down":
                service.is_down = not service.is_down
            case "send":
                device.send(to, f"text {number}")
            case _:
                change(device, to, what, number)
    for each in network.people.values():
        each.service.is_down = False
    for device in (*devices.values(), *devices.values()):
        device.pull()
    with TemporaryDirectory() as folder:
        for name, device in devices.items():
            assert sorted(Searcher(device, Path(folder, name)).texts("text")) == shown_texts(device)
