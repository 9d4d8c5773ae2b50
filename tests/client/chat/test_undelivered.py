"""Who has not got a message, as its chat shows it."""

import pytest
from tests.client.chat.nameless_member import add_without_name
from tests.client.chat.network import ALICE, BOB, CAROL, MALLORY, ChatNetwork, Device
from tests.protocols.status.test_conformance import members

from postroom.client.chat import memory_reading
from postroom.client.chat.undelivered import DeliveryState, UnsentPart, find_undelivered
from postroom.protocols.status.enums import PayloadType
from postroom.protocols.status.messages import ContactUpdate


def states(device: Device, to: str) -> list[DeliveryState]:
    """The state of each message of a chat; one that is delivered has nothing in it."""
    chats = device.chats
    chats.refresh()
    view, ref = chats.view(), chats.find(to).ref
    messages = view.messages(ref)
    found = find_undelivered(chats.memory, view.chat(ref), messages)
    assert all(state != DeliveryState() for state in found.values())
    return [found.get(each.id, DeliveryState()) for each in messages]


def unsent(*parts: UnsentPart) -> DeliveryState:
    return DeliveryState(tuple(parts))


def test_a_message_that_is_delivered_has_nothing(alice: Device, bob: Device) -> None:
    alice.send(BOB, "hello")
    bob.pull()
    assert states(alice, BOB) == states(bob, ALICE) == [DeliveryState()]


def test_a_message_waits_for_who_cannot_be_reached(network: ChatNetwork, alice: Device) -> None:
    alice.send(BOB, "one")
    network[BOB].service.is_down = True
    alice.send(BOB, "two")
    assert states(alice, BOB) == [DeliveryState(), unsent(UnsentPart("message", BOB))]
    network[BOB].service.is_down = False
    alice.pull()
    assert states(alice, BOB) == [DeliveryState()] * 2


def test_a_message_is_refused_for_a_reason(network: ChatNetwork, alice: Device) -> None:
    network[BOB].refuse(ALICE)
    alice.send(BOB, "hello")
    assert states(alice, BOB) == [unsent(UnsentPart("message", BOB, "SenderNotWanted"))]


@pytest.mark.parametrize(
    ("what", "act"),
    [
        ("edit", lambda chats, id_: chats.edit(BOB, id_, "two")),
        ("deletion", lambda chats, id_: chats.delete(BOB, id_)),
        ("pin", lambda chats, id_: chats.pin(BOB, id_)),
        ("reaction", lambda chats, id_: chats.react(BOB, id_)),
    ],
)
def test_what_was_done_with_a_message_waits_beside_it(
    network: ChatNetwork, alice: Device, what: str, act: object
) -> None:
    assert callable(act)
    sent = alice.send(BOB, "one")
    alice.send(BOB, "another")
    network[BOB].service.is_down = True
    act(alice.chats, sent.id)
    assert states(alice, BOB) == [unsent(UnsentPart(what, BOB)), DeliveryState()]


def test_what_waits_in_another_chat_is_not_shown(network: ChatNetwork, alice: Device) -> None:
    alice.send(BOB, "hello")
    network[CAROL].service.is_down = True
    alice.send(CAROL, "hello")
    assert states(alice, BOB) == [DeliveryState()]


def test_in_a_group_each_member_is_named_who_has_not_got_it(network: ChatNetwork, alice: Device) -> None:
    alice.chats.create_group("Lunch", [BOB, CAROL])
    network[CAROL].service.is_down = True
    network[BOB].refuse(ALICE)
    sent = alice.send("Lunch", "noon?")
    alice.chats.react("Lunch", sent.id)
    assert states(alice, "Lunch")[0] == unsent(
        UnsentPart("message", BOB, "SenderNotWanted"),
        UnsentPart("message", CAROL),
        UnsentPart("reaction", BOB, "SenderNotWanted"),
        UnsentPart("reaction", CAROL),
    )


def test_the_order_of_the_parts_does_not_depend_on_what_the_archive_lists_first(
    network: ChatNetwork, alice: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The archive lists a message that waits by the hash of its state, which is another one when it is sealed."""
    alice.chats.create_group("Lunch", [BOB, CAROL])
    network[BOB].service.is_down = network[CAROL].service.is_down = True
    sent = alice.send("Lunch", "noon?")
    alice.chats.react("Lunch", sent.id)
    [before] = states(alice, "Lunch")
    read_unsent = memory_reading.read_unsent
    monkeypatch.setattr(memory_reading, "read_unsent", lambda archive: read_unsent(archive)[::-1])
    assert states(alice, "Lunch") == [before]
    assert [(each.what, each.to) for each in before.unsent] == [
        ("message", BOB), ("message", CAROL), ("reaction", BOB), ("reaction", CAROL),
    ]  # fmt: skip


def test_a_member_whose_name_nobody_knew_stays_unreached(network: ChatNetwork, alice: Device, bob: Device) -> None:
    """Also when a name is known later, and when somebody says that the member is one who got the message."""
    update = alice.chats.create_group("Lunch", [BOB])
    bob.pull()
    [chat] = bob.chats.view().groups()
    stranger = network[MALLORY]
    assert update.unreached == ()
    add_without_name(alice, stranger.key)
    sent = alice.send("Lunch", "who is this?")
    assert sent.unreached == (stranger.key,)
    wrapper = network[CAROL].carry(ALICE, ContactUpdate(network.tick(), CAROL))
    network[CAROL].pass_on(ALICE, wrapper, PayloadType.CONTACT_UPDATE, names={stranger.key: BOB})
    alice.pull()
    assert states(alice, chat.ref.id)[-1] == DeliveryState(unreached=(stranger.key,))
    network.device(MALLORY).send(ALICE, "it is me")
    alice.pull()
    alice.send("Lunch", "hello")
    assert states(alice, chat.ref.id) == [DeliveryState(unreached=(stranger.key,)), DeliveryState()]


def test_what_reaches_nobody_is_kept_in_the_chat(network: ChatNetwork, alice: Device) -> None:
    alice.chats.create_group("Lunch", [BOB])
    add_without_name(alice, network[MALLORY].key)
    alice.chats.remove_member("Lunch", BOB)
    sent = alice.send("Lunch", "anyone?")
    assert sent.unreached == (network[MALLORY].key,)
    assert alice.texts("Lunch") == ["anyone?"]
    assert states(alice, "Lunch") == [DeliveryState(unreached=(network[MALLORY].key,))]


def test_who_leaves_a_group_in_which_nobody_can_be_reached_is_out_of_it(network: ChatNetwork, alice: Device) -> None:
    alice.chats.create_group("Lunch", [BOB])
    add_without_name(alice, network[MALLORY].key)
    alice.chats.remove_member("Lunch", BOB)
    alice.chats.leave_group("Lunch")
    [chat] = alice.chats.view().groups()
    assert alice.chats.own not in chat.members


def test_who_was_no_member_yet_and_what_is_deleted_is_not_counted(network: ChatNetwork, alice: Device) -> None:
    alice.chats.create_group("Lunch", [BOB])
    alice.send("Lunch", "before")
    add_without_name(alice, network[MALLORY].key)
    gone = alice.send("Lunch", "after")
    alice.chats.delete("Lunch", gone.id)
    assert states(alice, "Lunch") == [DeliveryState()] * 2


def test_what_others_wrote_has_nothing(network: ChatNetwork, alice: Device, bob: Device) -> None:
    alice.chats.create_group("Lunch", [BOB])
    add_without_name(alice, network[MALLORY].key)
    bob.pull()
    bob.send("Lunch", "hello")
    alice.pull()
    assert states(alice, "Lunch") == [DeliveryState()]


def test_programs_get_the_reason_or_null() -> None:
    state = DeliveryState((UnsentPart("edit", BOB), UnsentPart("message", CAROL, "TooLarge")), ())
    assert state.as_json() == {
        "unsent": [
            {"what": "edit", "to": BOB, "reason": None},
            {"what": "message", "to": CAROL, "reason": "TooLarge"},
        ],
        "unreached": [],
    }
    assert members("## `postroom chat show --json`") == list(state.as_json())
