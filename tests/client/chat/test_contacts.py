"""Contacts: who gets the owner's name and picture, when, and what the owner's devices learn of it."""

import pytest
from tests.client.chat.network import ALICE, BOB, CAROL, EDDY, MALLORY, ChatNetwork, Device
from tests.client.chat.test_dying import check_settled, deaths
from tests.protocols.status.senders import PNG

from postroom.client.archive import MemoryHome
from postroom.client.chat import ChatError, NoSuchChatError
from postroom.client.chat.profiles_sent import authors_of_updates
from postroom.client.sending import SendOutcome
from postroom.core.errors import TheirError
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.status.contacts import ADDED, CONTACT_INTERVAL_MS, is_added
from postroom.protocols.status.enums import PayloadType
from postroom.protocols.status.messages import ChatMessageIdentity, ContactUpdate, SyncInstallationContact


def updates(device: Device, author: str) -> list[ContactUpdate]:
    """The contact updates of somebody that came to a device, by their clock."""
    device.chats.refresh()
    key = device.person.network[author].key
    found = [fact.message for fact in device.chats.memory.log.names() if fact.author == key]
    return sorted((it for it in found if isinstance(it, ContactUpdate)), key=lambda it: it.clock)


def later(network: ChatNetwork, milliseconds: int = CONTACT_INTERVAL_MS) -> None:
    network.tick(milliseconds)


# --- when one is sent -----------------------------------------------------------------------------------------------
def test_who_is_added_gets_an_update_at_once_and_nobody_else(alice: Device, bob: Device, carol: Device) -> None:
    alice.send(CAROL, "hello")
    sent = alice.chats.add_contact(BOB)
    assert [(it.to, it.outcome) for it in sent.deliveries] == [(ALICE, SendOutcome.TAKEN), (BOB, SendOutcome.TAKEN)]
    for device in (bob, carol):
        device.pull()
    [update] = updates(bob, ALICE)
    assert (update.ens_name, update.profile_image) == (ALICE, "")
    assert updates(carol, ALICE) == []


def test_a_contact_update_is_shown_in_no_chat(alice: Device, bob: Device) -> None:
    alice.chats.add_contact(BOB)
    for device in (alice, bob):
        device.pull()
        assert device.chats.chats() == []
    assert bob.chats.view().names()[alice.chats.own].ens_name == ALICE


def test_to_add_somebody_again_sends_nothing_more(alice: Device, bob: Device) -> None:
    for _ in range(2):
        alice.chats.add_contact(BOB)
    bob.pull()
    assert len(updates(bob, ALICE)) == 1


@pytest.mark.parametrize("act", [Device.pull, lambda device: device.send(CAROL, "hello")], ids=["pulling", "writing"])
def test_after_48_hours_it_is_sent_again_with_the_next_pull_or_message(
    network: ChatNetwork, alice: Device, bob: Device, act: object
) -> None:
    assert callable(act)
    alice.chats.add_contact(BOB)
    later(network, CONTACT_INTERVAL_MS - 1000)
    act(alice)
    bob.pull()
    assert len(updates(bob, ALICE)) == 1
    later(network, 1000)
    for _ in range(2):
        act(alice)
    bob.pull()
    assert len(updates(bob, ALICE)) == 2


def test_what_two_devices_of_one_home_do_is_done_once(network: ChatNetwork, alice: Device, bob: Device) -> None:
    alice.chats.add_contact(BOB)
    later(network)
    for _ in range(2):
        network.device(ALICE).pull()
    bob.pull()
    assert len(updates(bob, ALICE)) == 2


def test_who_gets_one_does_not_answer(network: ChatNetwork, alice: Device, bob: Device) -> None:
    """Not even where each is the other's contact."""
    alice.chats.add_contact(BOB)
    bob.chats.add_contact(ALICE)
    before = {name: len(network[name].service.seen) for name in (ALICE, BOB)}
    for _ in range(4):
        for device in (alice, bob):
            device.pull()
    assert {name: len(network[name].service.seen) for name in (ALICE, BOB)} == before


def test_who_is_removed_gets_none_any_more(network: ChatNetwork, alice: Device, bob: Device) -> None:
    alice.chats.add_contact(BOB)
    sent = alice.chats.remove_contact(BOB)
    assert [it.to for it in sent.deliveries] == [ALICE]
    later(network)
    alice.pull()
    bob.pull()
    assert len(updates(bob, ALICE)) == 1
    with pytest.raises(NoSuchChatError, match=r"bob\.eth is no contact"):
        alice.chats.remove_contact(BOB)
    alice.chats.add_contact(BOB)
    alice.chats.remove_contact(network[BOB].key)
    assert not is_added(alice.chats.contacts()[network[BOB].key])


# --- the profile ----------------------------------------------------------------------------------------------------
def test_with_another_picture_all_contacts_get_one(alice: Device, bob: Device) -> None:
    alice.chats.add_contact(BOB)
    sent = alice.chats.change_profile(picture=PNG)
    assert [it.to for it in sent.deliveries] == [ALICE, BOB]
    bob.pull()
    assert [bool(it.profile_image) for it in updates(bob, ALICE)] == [False, True]
    alice.chats.change_profile(picture=b"")
    bob.pull()
    assert [bool(it.profile_image) for it in updates(bob, ALICE)] == [False, True, False]


def test_a_display_name_goes_to_chats_and_is_in_no_contact_update(alice: Device, bob: Device) -> None:
    alice.send(BOB, "hello")
    alice.chats.add_contact(BOB)
    assert [it.to for it in alice.chats.change_profile(display_name="Alice L.").deliveries] == [ALICE]
    bob.pull()
    assert bob.chats.view().names()[alice.chats.own].display_name == ""
    alice.send(BOB, "it is me")
    alice.send(BOB, "and still is")
    bob.pull()
    assert bob.chats.view().names()[alice.chats.own].display_name == "Alice L."
    said = [it.message for it in bob.chats.memory.log.names() if isinstance(it.message, ChatMessageIdentity)]
    assert sorted(it.display_name for it in said) == ["", "Alice L."]
    assert len(updates(bob, ALICE)) == 1


def test_a_change_of_the_profile_leaves_what_it_does_not_name_as_it_was(network: ChatNetwork, alice: Device) -> None:
    alice.chats.change_profile(display_name="Alice L.", picture=PNG)
    other = network.device(ALICE).chats
    other.change_profile(display_name="Alice")
    alice.chats.refresh()
    profile = alice.chats.profile()
    assert (profile.ens_name, profile.display_name) == (ALICE, "Alice")
    assert profile.profile_image is not None
    other.change_profile(picture=b"")
    alice.chats.refresh()
    assert alice.chats.profile().profile_image is None
    assert alice.chats.profile().display_name == "Alice"


def test_a_profile_counts_before_the_other_devices_have_it(network: ChatNetwork, alice: Device) -> None:
    alice.chats.change_profile(display_name="Alice L.")
    network[ALICE].service.is_down = True
    alice.chats.change_profile(display_name="Alice")
    alice.chats.refresh()
    assert alice.chats.profile().display_name == "Alice"


def test_a_picture_that_is_none_is_refused(alice: Device) -> None:
    with pytest.raises(TheirError, match="MediaInvalid"):
        alice.chats.change_profile(picture=b"<svg/>")


def test_nobody_but_oneself_changes_ones_profile(network: ChatNetwork, alice: Device, bob: Device) -> None:
    bob.chats.change_profile(display_name="Bob")
    network[BOB].carry(ALICE, ChatMessageIdentity(network.tick(), ALICE, "Mallory"), typed=False)
    network[ALICE].carry(BOB, ChatMessageIdentity(network.tick(1000), ALICE, "to Bob alone"), typed=False)
    alice.pull()
    assert alice.chats.profile().display_name == ""


# --- devices --------------------------------------------------------------------------------------------------------
def test_a_device_with_a_home_of_its_own_learns_of_contacts_and_of_the_profile(
    network: ChatNetwork, alice: Device
) -> None:
    alice.chats.add_contact(BOB)
    alice.chats.change_profile(display_name="Alice L.")
    second = network[ALICE].device(MemoryHome())
    second.pull()
    assert {key: is_added(it) for key, it in second.chats.contacts().items()} == {network[BOB].key: True}
    assert second.chats.contacts()[network[BOB].key].ens_name == BOB
    assert second.chats.profile().display_name == "Alice L."


def test_a_name_may_be_written_as_another_client_has_it(network: ChatNetwork, alice: Device, bob: Device) -> None:
    network[ALICE].carry(
        ALICE, SyncInstallationContact(network.now_ms, network[BOB].key, ens_name="BOB.eth", system_tags=(ADDED,))
    )
    for _ in range(2):
        alice.pull()
    bob.pull()
    assert len(updates(bob, ALICE)) == 1


def test_a_device_is_listed_on_all_devices_by_the_name_that_it_has_now(network: ChatNetwork, alice: Device) -> None:
    alice.chats.name_device("a1", "laptop")
    alice.chats.name_device("b2", "phone", "android")
    alice.chats.name_device("a1", "old laptop")
    second = network[ALICE].device(MemoryHome())
    second.pull()
    assert {id_: (it.name, it.device_type) for id_, it in second.chats.devices().items()} == {
        "a1": ("old laptop", "desktop"),
        "b2": ("phone", "android"),
    }
    with pytest.raises(TheirError, match="name is blank"):
        alice.chats.name_device("a1", " ")


# --- what goes wrong ------------------------------------------------------------------------------------------------
def test_one_is_no_contact_of_ones_own_and_a_contact_can_chat(alice: Device) -> None:
    with pytest.raises(ChatError, match="this is you"):
        alice.chats.add_contact(ALICE)
    with pytest.raises(ChatError, match=r"postroom dm3 send"):
        alice.chats.add_contact(EDDY)


def test_while_one_is_not_delivered_no_second_one_waits(network: ChatNetwork, alice: Device, bob: Device) -> None:
    network[BOB].service.is_down = True
    alice.chats.add_contact(BOB)
    later(network)
    alice.pull()
    assert alice.unsent() == [BOB]
    network[BOB].service.is_down = False
    alice.pull()
    bob.pull()
    # It was written more than 48 hours ago, so another one follows.
    assert len(updates(bob, ALICE)) == 2
    assert alice.unsent() == []


def test_who_refuses_one_gets_none_until_something_changes(network: ChatNetwork, alice: Device, bob: Device) -> None:
    alice.chats.add_contact(BOB)
    network[BOB].refuse(ALICE)
    for _ in range(2):
        later(network)
        alice.pull()
    assert alice.unsent() == [f"{BOB}: SenderNotWanted"]
    network[BOB].refuse()
    alice.chats.change_profile(picture=PNG)
    bob.pull()
    assert len(updates(bob, ALICE)) == 2


def test_a_name_that_has_another_key_gets_none(network: ChatNetwork, alice: Device) -> None:
    alice.chats.add_contact(BOB)
    network[BOB].keys = UserKeys.random()
    network[BOB].publish()
    later(network)
    seen = len(network[BOB].service.seen)
    alice.pull()
    assert len(network[BOB].service.seen) == seen


def test_who_cannot_be_looked_up_gets_it_later(network: ChatNetwork, alice: Device, bob: Device) -> None:
    alice.chats.add_contact(BOB)
    later(network)
    network.registry.down = True
    alice.pull()
    network.registry.down = False
    bob.pull()
    assert len(updates(bob, ALICE)) == 1
    alice.pull()
    bob.pull()
    assert len(updates(bob, ALICE)) == 2


def test_a_stranger_who_says_that_a_contact_has_another_name_keeps_no_update_from_it(
    network: ChatNetwork, alice: Device, carol: Device
) -> None:
    alice.chats.add_contact(BOB)
    wrapper = network[MALLORY].carry(ALICE, ContactUpdate(network.tick(), MALLORY))
    network[MALLORY].pass_on(ALICE, wrapper, PayloadType.CONTACT_UPDATE, names={network[CAROL].key: BOB})
    alice.pull()
    alice.chats.add_contact(CAROL)
    carol.pull()
    assert len(updates(carol, ALICE)) == 1


def test_a_fast_clock_of_a_chat_does_not_make_it_come_twice(network: ChatNetwork, alice: Device, bob: Device) -> None:
    from tests.client.chat.test_chats import to_user

    network[BOB].carry(ALICE, to_user(bob, alice.chats.own, "from a fast clock", network.now_ms + 119_000))
    alice.pull()
    seen = len(network[BOB].service.seen)
    alice.chats.add_contact(BOB)
    for _ in range(2):
        alice.pull()
    bob.pull()
    assert len(network[BOB].service.seen) == seen + 1
    [update] = updates(bob, ALICE)
    assert update.clock > network.now_ms + 100_000


# --- devices that die -----------------------------------------------------------------------------------------------
def test_a_death_while_a_contact_is_added_adds_it_and_sends_the_update_or_does_neither(network: ChatNetwork) -> None:
    known = []
    for _ in deaths(network, ALICE, lambda device: device.chats.add_contact(BOB)):
        check_settled(network, ALICE, BOB)
        came = len(updates(network.device(BOB), ALICE))
        assert came == len(network.device(ALICE).chats.contacts())
        known.append(came)
    assert known == sorted(known)
    assert (known[0], known[-1]) == (0, 1)


def test_after_a_death_while_several_contacts_get_an_update_each_has_got_it_once(
    network: ChatNetwork, alice: Device
) -> None:
    for name in (BOB, CAROL):
        alice.chats.add_contact(name)
        network.device(name).pull()
    later(network)
    for _ in deaths(network, ALICE, Device.pull):
        check_settled(network, ALICE, BOB, CAROL)
        assert [len(updates(network.device(name), ALICE)) for name in (BOB, CAROL)] == [2, 2]


def test_a_death_while_the_picture_is_changed_changes_it_for_contacts_too_or_not_at_all(
    network: ChatNetwork, alice: Device
) -> None:
    alice.chats.add_contact(BOB)
    network.device(BOB).pull()
    changed = []
    for _ in deaths(network, ALICE, lambda device: device.chats.change_profile(picture=PNG)):
        check_settled(network, ALICE, BOB)
        came = [bool(it.profile_image) for it in updates(network.device(BOB), ALICE)]
        is_changed = network.device(ALICE).chats.profile().profile_image is not None
        assert came == ([False, True] if is_changed else [False])
        changed.append(is_changed)
    assert changed == sorted(changed)
    assert (changed[0], changed[-1]) == (False, True)


def test_whoever_is_removed_is_removed_with_all_keys(network: ChatNetwork, alice: Device) -> None:
    alice.chats.add_contact(BOB)
    network[BOB].keys = UserKeys.random()
    network[BOB].publish()
    added = alice.chats.add_contact(BOB)
    assert BOB in [each.to for each in added.deliveries]
    assert [is_added(each) for each in alice.chats.contacts().values()] == [True, True]
    assert alice.chats.memory.contact_updates
    assert [*alice.chats.update_contacts()] == []
    alice.chats.remove_contact("Bob.ETH")
    alice.chats.refresh()
    assert [is_added(each) for each in alice.chats.contacts().values()] == [False, False]


def test_a_note_to_oneself_says_nothing_of_the_profile(network: ChatNetwork) -> None:
    one, two = network[ALICE].device(MemoryHome()), network[ALICE].device(MemoryHome())
    two.chats.change_profile(display_name="Alice L.")
    network.tick(60_000)
    # One has not pulled yet: it knows no profile.
    one.send(ALICE, "note to myself")
    waiting = list(network[ALICE].service.waiting)
    for device in (one, two):
        network[ALICE].service.waiting = list(waiting)
        device.pull()
        device.chats.refresh()
        assert device.chats.profile().display_name == "Alice L."


# --- who has made the owner a contact -------------------------------------------------------------------------------
def test_who_sent_an_update_has_made_the_owner_a_contact(network: ChatNetwork, alice: Device) -> None:
    alice.chats.add_contact(CAROL)
    network[BOB].carry(ALICE, ContactUpdate(network.tick(), BOB))
    alice.pull()
    assert authors_of_updates(alice.chats.memory.log) == {network[BOB].key}


def test_an_update_that_is_ahead_of_its_time_makes_nobody_a_contact(network: ChatNetwork, alice: Device) -> None:
    network[BOB].carry(ALICE, ContactUpdate(network.tick() + 1_000_000, BOB))
    alice.pull()
    assert len([*alice.chats.memory.log.names()]) == 1
    assert authors_of_updates(alice.chats.memory.log) == set()


# --- beside the key of a domain ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("added", [True, False], ids=["added", "removed"])
def test_a_contact_stays_what_it_is_when_a_device_that_does_not_know_it_trusts_its_key(
    network: ChatNetwork, alice: Device, added: bool
) -> None:
    bob = network[BOB].key
    alice.chats.add_contact(BOB)
    other = network.device(ALICE)
    if added:
        alice.chats.remove_contact(BOB)
    assert is_added(other.chats.contacts()[bob]) == (not added)
    if added:
        alice.chats.add_contact(BOB)
    else:
        alice.chats.remove_contact(BOB)
    other.chats.trust("shop.example", bob)
    for device in (alice, other):
        device.chats.refresh()
        assert is_added(device.chats.contacts()[bob]) == added
        assert device.chats.memory.domains["shop.example"].key == bob


def test_trust_stands_in_the_contact_though_its_record_is_ahead(network: ChatNetwork, alice: Device) -> None:
    """Other clients of the owner take the record with the newest clock."""
    bob = network[BOB].key
    alice.chats.add_contact(BOB)
    network.now_ms -= 60_000
    for domain in ("shop.example", "shop.example", "bank.example"):
        alice.chats.trust(domain, bob)
    contact = alice.chats.contacts()[bob]
    assert [tag.split(":")[1] for tag in contact.system_tags] == ["contact/added", "shop.example", "bank.example"]
