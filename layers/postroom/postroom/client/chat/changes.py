"""What changed in chats between two views of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from postroom.protocols.status.chat_view import ChatView, ShownChatMessage
from postroom.protocols.status.ids import MessageId
from postroom.protocols.status.verify import ChatRef

Shown = Mapping[tuple[ChatRef, MessageId], ShownChatMessage]


class ChangeKind(StrEnum):
    """What happened to a message, as its chat shows it."""

    ADDED = "added"
    CHANGED = "changed"
    """It was edited, deleted or pinned, or has other reactions."""
    REMOVED = "removed"
    """It is not shown any more: the history was cleared, or a membership does not count."""


@dataclass(frozen=True, slots=True)
class ChatChange:
    """A message that is shown in another way than before. `message`: as it is now; of a removed one, as it was."""

    kind: ChangeKind
    chat: ChatRef
    message: ShownChatMessage


def all_shown(view: ChatView) -> Shown:
    """Everything that a view shows."""
    return {(chat.ref, message.id): message for chat in view.chats() for message in view.messages(chat.ref)}


def changes_between(before: Shown, after: Shown) -> Iterator[ChatChange]:
    """The changes, by chat and in the order of its messages; removed ones at the end."""
    for key, message in after.items():
        if key not in before:
            yield ChatChange(ChangeKind.ADDED, key[0], message)
        elif before[key] != message:
            yield ChatChange(ChangeKind.CHANGED, key[0], message)
    for key, message in before.items():
        if key not in after:
            yield ChatChange(ChangeKind.REMOVED, key[0], message)
