"""Random histories of three people: whatever gets lost, comes twice, late or in another order, all show the same."""

from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.client.chat.network import ALICE, BOB, CAROL, ChatNetwork, Device, Waiting
from tests.tiers import amount

from postroom.client.chat import ChatError
from postroom.client.chat.index import ChatIndex
from postroom.client.chat.reading import ConversationReader
from postroom.protocols.status.enums import ReactionKind

NAMES: Final = (ALICE, BOB, CAROL)
CHANNEL: Final = "#tea"
GROUP: Final = "Lunch"
Step = tuple[str, str, str, int]
"""Who does what on which of two devices, where, and about which message."""


class History:
    """Three people with two devices each, in a group and in a channel, in which one of them passes messages on."""

    def __init__(self) -> None:
        self.network = ChatNetwork()
        self.devices = {name: [self.network.device(name), self.network.device(name)] for name in NAMES}
        for name, (device, _) in self.devices.items():
            others = [each for each in NAMES if each != name]
            device.chats.join("tea", others, relays=name == BOB)
        self.devices[ALICE][0].chats.create_group(GROUP, (BOB, CAROL))
        for name in NAMES:
            self.devices[name][0].pull()

    def do(self, who: str, what: str, where: str, number: int) -> None:
        device, service = self.devices[who][number % 2], self.network[who].service
        device.chats.refresh()
        to = next((name for name in NAMES if name not in (who, where)), "") if where == who else where
        match what:
            case "pull":
                device.pull()
            case "down":
                service.is_down = not service.is_down
            case "lose":
                service.loses_answers += 1
            case "double":
                service.copies = 3 - service.copies
            case "reorder":
                service.order = backwards if number % 2 else list
            case "later":
                self.network.tick(number * 20_000)
            case "send":
                device.send(to, f"text {number}")
            case _:
                self.about(device, to, what, number)

    def about(self, device: Device, to: str, what: str, number: int) -> None:
        messages = device.chats.messages(to)
        if not messages:
            return
        about = messages[number % len(messages)].id
        chats = device.chats
        acts: dict[str, Callable[[], object]] = {
            "reply": lambda: chats.send(to, f"reply {number}", reply_to=about),
            "react": lambda: chats.react(to, about, ReactionKind.LAUGH),
            "take back": lambda: chats.react(to, about, ReactionKind.LAUGH, take_back=True),
            "pin": lambda: chats.pin(to, about, pinned=bool(number % 3)),
            "edit": lambda: chats.edit(to, about, f"edit {number}"),
            "delete": lambda: chats.delete(to, about),
        }
        try:
            acts[what]()
        except ChatError as error:
            assert "somebody else wrote this message" in str(error)  # noqa: PT017 - others succeed

    def settle(self) -> None:
        """Let the network work again, and everybody pull until nothing waits."""
        for name in NAMES:
            service = self.network[name].service
            service.is_down, service.loses_answers = False, 0
        while any(self.network[name].service.waiting or self.devices[name][0].unsent() for name in NAMES):
            for first, second in self.devices.values():
                first.pull()
                second.pull()

    def shown(self, device: Device, to: str) -> list[object]:
        """A chat as everybody in it sees it. A message that its archive has removed does not say what it answered."""
        return [
            (
                it.id, it.author, it.clock, it.text, it.message and it.response_to, it.is_edited, it.is_pinned,
                it.deleted_by, it.reactions,
            )
            for it in device.shown(to)
        ]  # fmt: skip


def backwards(waiting: list[Waiting]) -> list[Waiting]:
    return waiting[::-1]


WHAT: Final = (
    "send", "send", "reply", "react", "take back", "edit", "delete", "pin", "pull", "pull", "down", "lose", "double",
    "reorder", "later",
)  # fmt: skip
WHERE: Final = (*NAMES, CHANNEL, GROUP)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(NAMES), st.sampled_from(WHAT), st.sampled_from((*NAMES, CHANNEL, GROUP)), st.integers(0, 9)
    ),
    min_size=4,
    max_size=14,
)


@settings(max_examples=amount(quick=2, all=4, proof=300), deadline=None)
@given(STEPS)
def test_an_index_that_follows_knows_what_the_archive_says(steps: list[Step]) -> None:
    history = History()
    followed = history.devices[BOB][1]
    with TemporaryDirectory() as folder:
        index = ChatIndex(followed.archive, Path(folder))
        for step in steps:
            history.do(*step)
            known = ConversationReader(followed.archive, followed.chats.own, index).read()
            assert known == ConversationReader(followed.archive, followed.chats.own).read()


@settings(max_examples=amount(quick=2, all=4, proof=300), deadline=None)
@given(STEPS)
def test_all_show_the_same_in_the_end(steps: list[Step]) -> None:
    history = History()
    for step in steps:
        history.do(*step)
    history.settle()
    for one, other in combinations(NAMES, 2):
        [here, same], [there, _] = history.devices[one], history.devices[other]
        assert history.shown(here, other) == history.shown(there, one) == history.shown(same, other)
    for chat in (CHANNEL, GROUP):
        shown = [history.shown(device, chat) for devices in history.devices.values() for device in devices]
        assert shown == shown[:1] * 6
