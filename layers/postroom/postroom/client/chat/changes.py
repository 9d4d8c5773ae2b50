"""Changes of chats between two views of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from postroom.client.chat.memory import ChatMemory
from postroom.client.chat.undelivered import DeliveryState, find_undelivered
from postroom.protocols.status.chat_view import ShownChatMessage
from postroom.protocols.status.ids import MessageId
from postroom.protocols.status.verify import ChatRef

Shown = Mapping[tuple[ChatRef, MessageId], tuple[ShownChatMessage, DeliveryState]]


class ChangeKind(StrEnum):
    """What happened to a message, as its chat shows it."""

    ADDED = "added"
    CHANGED = "changed"
    """It was edited, deleted or pinned, has other reactions, or was delivered to somebody or refused."""
    REMOVED = "removed"
    """It is not shown any more: the history was cleared, or a membership does not count."""


@dataclass(frozen=True, slots=True)
class ChatChange:
    """A message that is shown in another way than before.

    `message`: as it is now; of a removed one, as it was. `delivery`: who has not got it; of a removed one, nobody.
    """

    kind: ChangeKind
    chat: ChatRef
    message: ShownChatMessage
    delivery: DeliveryState


def all_shown(memory: ChatMemory) -> Shown:
    """Everything that is shown of a user's chats."""
    view = memory.view()
    shown: dict[tuple[ChatRef, MessageId], tuple[ShownChatMessage, DeliveryState]] = {}
    for chat in view.chats():
        messages = view.messages(chat.ref)
        undelivered = find_undelivered(memory, chat, messages)
        shown |= {(chat.ref, it.id): (it, undelivered.get(it.id, DeliveryState())) for it in messages}
    return shown


def changes_between(before: Shown, after: Shown) -> Iterator[ChatChange]:
    """The changes, by chat and in the order of its messages; removed ones at the end."""
    for key, shown in after.items():
        if before.get(key) != shown:
            yield ChatChange(ChangeKind.CHANGED if key in before else ChangeKind.ADDED, key[0], *shown)
    for key, (message, _) in before.items():
        if key not in after:
            yield ChatChange(ChangeKind.REMOVED, key[0], message, DeliveryState())
