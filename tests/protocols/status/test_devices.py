"""Three users with two devices each, bad carriers and a stranger: whoever has the same copies is shown the same.

What is shown is what a second fold shows that is written from the settlements alone (`second_fold`).
"""

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from tests.protocols.status import histories as h
from tests.protocols.status.second_fold import Copy, second_fold
from tests.tiers import examples

from postroom.core.errors import TheirError
from postroom.protocols.status import messages as m
from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.chat_view import ChatView, ShownChatMessage
from postroom.protocols.status.clock import next_clock
from postroom.protocols.status.enums import ChatKind
from postroom.protocols.status.enums import MembershipEventType as Kind
from postroom.protocols.status.fold import HistoryLine, fold, read_line
from postroom.protocols.status.keys import key_named
from postroom.protocols.status.log import ChatLog
from postroom.protocols.status.verify import ChatRef, verify

KINDS = {ChatKind.ONE_TO_ONE: "one-to-one", ChatKind.PUBLIC_GROUP: "public", ChatKind.PRIVATE_GROUP: "group"}


def _place(user: AuthorKey, chat: Any) -> object:
    """A chat as all know it."""
    return frozenset({user.public, chat["chat_id"]}) if chat["message_type"] == ChatKind.ONE_TO_ONE else chat["chat_id"]


def shown(log: ChatLog, channels: Sequence[str]) -> list[dict[str, Any]]:
    """What a log shows, as the second fold has it."""
    view = ChatView(log, channels)
    return [
        {
            "id": chat.ref.id,
            "kind": KINDS[chat.ref.kind],
            "name": chat.name,
            "members": list(chat.members),
            "admins": list(chat.admins),
            "clock": chat.clock,
            "messages": [_message(message) for message in view.messages(chat.ref)],
        }
        for chat in view.chats()
    ]


def _message(message: ShownChatMessage) -> dict[str, Any]:
    return {
        **{name: getattr(message, name) for name in ("id", "author", "clock", "timestamp", "content_type", "text")},
        "response_to": message.response_to,
        "edited": message.is_edited,
        "deleted": message.message is None,
        "pinned": message.is_pinned,
        "reactions": {kind: list(authors) for kind, authors in message.reactions.items()},
        "late": message.is_late,
    }


HISTORIES = json.loads((Path(__file__).parents[2] / "vectors" / "status-fold.json").read_bytes())["histories"]


@pytest.mark.parametrize("history", HISTORIES, ids=range(len(HISTORIES)))
def test_the_second_fold_shows_the_known_histories_as_well(history: dict[str, Any]) -> None:
    own = key_named(history["own"])
    copies: list[Copy] = []
    for line in history["lines"]:
        read = read_line(json.dumps(line).encode())
        if not fold([read], own).discarded:
            copies.append((verify(read.wrapper, own=own, named=read.type, carrier=read.carrier), read.at_ms))
    found = second_fold(copies, own, history["joined"])
    names = {1: "LOVE", 2: "THUMBS_UP", 3: "THUMBS_DOWN", 4: "LAUGH", 5: "SAD", 6: "ANGRY"}
    for chat in found:
        for message in chat["messages"]:
            message["reactions"] = {names.get(kind, str(kind)): by for kind, by in message["reactions"].items()}
    assert found == history["shown"]["chats"]


@dataclass
class Device:
    """A device of a user: its log, and the copies that reached it."""

    user: AuthorKey
    log: ChatLog
    copies: list[Copy] = field(default_factory=list)

    def receive(self, line: HistoryLine) -> None:
        try:
            verified = h.verified(line, self.user.public)
        except TheirError:
            return
        self.copies.append((verified, line.at_ms))
        self.log.add(verified, line.at_ms)


@dataclass
class Carried:
    """A copy on its way to one user. `left`: the devices that it has not reached yet."""

    line: HistoryLine
    user: AuthorKey
    left: list[Device]


USERS = (h.ALICE, h.BOB, h.CAROL)
CHANNELS = ("news",)
CHATS: list[Any] = [h.IN_GROUP, h.IN_GROUP, h.IN_CHANNEL, *map(h.to, USERS)]
STEPS = st.sampled_from([0, 1, 1000, 119_999, 120_000, 120_001, 600_000])
DELAYS = st.sampled_from([0, 0, 0, 1, 5_000, 120_000, 120_001, 700_000])
BACK = st.sampled_from([0, 0, 0, 1, 60_000, 120_001, 700_000, -120_000, -120_001])
WRITTEN: dict[str, Callable[..., m.StatusMessage]] = {
    "text": lambda clock, _, chat: h.text(clock, f"{clock}", chat),
    "edit": lambda clock, target, chat: h.edit(target, clock, f"edited {clock}", chat),
    "deletion": lambda clock, target, chat: h.deletion(target, clock, chat, deleted_by=h.ALICE.public),
    "pin": lambda clock, target, chat: h.pin(target, clock, chat),
    "unpin": lambda clock, target, chat: h.pin(target, clock, chat, pinned=False),
    "reaction": lambda clock, target, chat: h.reaction(target, clock, chat),
    "retraction": lambda clock, target, chat: h.reaction(target, clock, chat, retracted=True),
    "unknown reaction": lambda clock, target, chat: h.reaction(target, clock, chat, kind=99),
    "reply": lambda clock, target, chat: h.text(clock, f"{clock}", chat, response_to=target),
}
EVENTS = (Kind.CHAT_CREATED, Kind.NAME_CHANGED, Kind.MEMBERS_ADDED, Kind.MEMBER_REMOVED, Kind.ADMINS_ADDED)


class Devices(RuleBasedStateMachine):
    """Users write, carriers bring it late, twice and in any order, and a stranger passes it on, changed."""

    def __init__(self) -> None:
        super().__init__()
        self.now = h.NOW
        self.devices = {user: [Device(user, ChatLog(user.public)) for _ in range(2)] for user in USERS}
        self.carried: list[Carried] = []
        self.ids: dict[object, list[str]] = defaultdict(list)
        """Of what was written in each chat."""
        self.events: list[bytes] = []

    def carry(self, line: HistoryLine, users: Sequence[AuthorKey]) -> None:
        self.carried += [Carried(line, user, list(self.devices[user])) for user in users]

    def id_in(self, chat: object, about: int) -> str:
        """An ID of what was written in a chat, the last ones first; of what is not there, if nothing was."""
        ids = self.ids[chat]
        return ids[-1 - about % len(ids)] if ids else "0x" + "00" * 32

    def send(
        self, by: Device, message: m.StatusMessage, users: Sequence[AuthorKey], delay: int = 0, way: str = "signed"
    ) -> str:
        """Send a message; the device that wrote it has it at once, the user's other device like everybody. Its ID."""
        line = h.sent(
            by.user, message, self.now, signed=way != "unsigned", carrier=by.user if way == "proven" else None
        )
        by.receive(line)
        self.carry(HistoryLine(line.wrapper, self.now + delay, line.type, line.carrier), users)
        return h.id_of(line, by.user)

    @initialize()
    def found(self) -> None:
        self.events += h.founding(self.now, [h.BOB])
        self.send(self.devices[h.ALICE][0], h.update(*self.events), USERS)

    @rule(step=STEPS)
    def wait(self, step: int) -> None:
        self.now += step

    @rule(
        user=st.sampled_from(USERS),
        which=st.integers(0, 1),
        what=st.sampled_from(sorted(WRITTEN)),
        chat=st.sampled_from(CHATS),
        about=st.integers(0, 2),
        back=BACK,
        delay=DELAYS,
        way=st.sampled_from(["signed", "proven", "unsigned"]),
        in_update=st.booleans(),
    )
    def write(
        self, user: AuthorKey, which: int, what: str, chat: Any, about: int, back: int, delay: int, way: str,
        in_update: bool,
    ) -> None:  # fmt: skip
        device = self.devices[user][which]
        kind = chat["message_type"]
        ref = ChatRef(kind, chat["chat_id"])
        clock = next_clock(self.now, ChatView(device.log, CHANNELS).clock(ref)) - back
        place, group = _place(user, chat), device.log.group(ref.id)
        message = WRITTEN[what](clock, self.id_in(place, about), chat)
        sent: m.StatusMessage = message
        if kind is ChatKind.PRIVATE_GROUP and in_update and isinstance(message, m.ChatMessage):
            sent = h.update(*self.events[-3:], message=message)
        readers = [each for each in USERS if each.public in (ref.id, user.public) or kind is not ChatKind.ONE_TO_ONE]
        id_ = self.send(device, sent, readers, delay, way)
        if isinstance(message, m.ChatMessage):
            self.ids[place].append(id_)
        view = ChatView(device.log, CHANNELS)
        # Clients send events that they know: new ones could let earlier messages count, with any clock.
        brings_nothing = device.log.group(ref.id).counted == group.counted
        is_shown = id_ not in {fact.id for fact, _ in view.not_shown()}
        if isinstance(message, m.ChatMessage) and back == 0 and brings_nothing and is_shown:
            assert view.messages(ref)[-1].id == id_, "a message with the next clock is the last of its chat"

    @rule(
        by=st.sampled_from(USERS),
        which=st.integers(0, 1),
        kind=st.sampled_from(EVENTS),
        members=st.lists(st.sampled_from([*USERS, h.MALLORY]), max_size=2),
        back=BACK,
        delay=DELAYS,
        with_others=st.integers(0, 3),
    )
    def change_group(
        self, by: AuthorKey, which: int, kind: int, members: list[AuthorKey], back: int, delay: int, with_others: int
    ) -> None:
        self.events.append(h.event(kind, self.now - back, members, f"{self.now}", by))
        abridged = self.events[-1 - with_others :]
        if kind is Kind.CHAT_CREATED:
            # Of foundings by others alone nobody takes an update.
            abridged = [self.events[0], *abridged]
        self.send(self.devices[by][which], h.update(*abridged), USERS, delay)

    @rule(
        by=st.sampled_from(USERS),
        which=st.integers(0, 1),
        what=st.integers(0, 2),
        chat=st.sampled_from(CHATS),
        back=BACK,
    )
    def own_devices(self, by: AuthorKey, which: int, what: int, chat: Any, back: int) -> None:
        message: m.StatusMessage = (
            m.SyncClearHistory(chat["chat_id"], self.now - 500_000 - back),
            m.SyncDeleteForMeMessage(self.now - back, self.id_in(_place(by, chat), 0)),
            m.SyncInstallationPublicChat(self.now - back, "town"),
        )[what]
        self.send(self.devices[by][which], message, [by])

    @rule(
        number=st.integers(0, 60),
        user=st.sampled_from(USERS),
        type_=st.sampled_from([None, None, 1, 2, 22, 28, 29, 31, 99]),
        note=st.sampled_from([b"", b"", b"1", b"2"]),
        high_s=st.booleans(),
        delay=DELAYS,
        carrier=st.sampled_from([None, h.MALLORY, h.CAROL]),
    )
    def pass_on(
        self, number: int, user: AuthorKey, type_: int | None, note: bytes, high_s: bool, delay: int,
        carrier: AuthorKey | None,
    ) -> None:  # fmt: skip
        """A stranger passes a copy on to anybody: under another label, with another signature, from any sender."""
        line = self.carried[number % len(self.carried)].line
        high_s = high_s and line.carrier is None
        copy = h.changed(line, type_=type_, at=self.now + delay, carrier=carrier, note=note, high_s=high_s)
        self.carry(copy, [user])

    @rule(
        by=st.sampled_from(USERS),
        what=st.sampled_from(sorted(WRITTEN)),
        chat=st.sampled_from(CHATS),
        about=st.integers(0, 2),
        back=BACK,
        event=st.booleans(),
    )
    def intrude(self, by: AuthorKey, what: str, chat: Any, about: int, back: int, event: bool) -> None:
        """A stranger writes: deletions of what others wrote, into the past, and changes of the group."""
        message = WRITTEN[what](self.now - back, self.id_in(_place(by, chat), about), chat)
        self.carry(h.sent(h.MALLORY, message, self.now), USERS)
        if event:
            own = h.event(Kind.MEMBERS_ADDED, self.now - back, [h.MALLORY], by=h.MALLORY)
            self.carry(h.sent(h.MALLORY, h.update(own, *self.events[:1]), self.now), USERS)

    @rule(number=st.integers(0, 60), which=st.integers(0, 1), twice=st.booleans())
    def deliver(self, number: int, which: int, twice: bool) -> None:
        """A carrier brings any copy to one device; what it never brings is lost until the end."""
        carried = self.carried[-1 - number % len(self.carried)]
        for device in carried.left[which : which + 1]:
            device.receive(carried.line)
            if not twice:
                carried.left.remove(device)

    @rule(user=st.sampled_from(USERS), which=st.integers(0, 1))
    def look(self, user: AuthorKey, which: int) -> None:
        self.compare(self.devices[user][which])

    def compare(self, device: Device) -> None:
        assert shown(device.log, CHANNELS) == second_fold(device.copies, device.user.public, CHANNELS)

    def teardown(self) -> None:
        """Devices are merged in any way, and whatever was lost comes after all: all devices of a user show the same."""
        for user, (first, second) in self.devices.items():
            copies = [*first.copies, *second.copies]
            expected = second_fold(copies, user.public, CHANNELS)
            for order in permutations((first, second)):
                merged = ChatLog(user.public)
                for device in order:
                    merged.merge(device.log)
                assert shown(merged, CHANNELS) == expected
        for carried in reversed(self.carried):
            for device in carried.left:
                device.receive(carried.line)
        for first, second in self.devices.values():
            first.log.merge(second.log)
            second.log.merge(first.log)
            second.copies = first.copies = [*first.copies, *second.copies]
            self.compare(first)
            assert shown(second.log, CHANNELS) == shown(first.log, CHANNELS)


Devices.TestCase.settings = settings(max_examples=examples(200), stateful_step_count=40)
TestDevices = Devices.TestCase
