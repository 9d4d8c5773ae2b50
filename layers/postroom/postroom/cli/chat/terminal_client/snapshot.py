"""The state of the chats that the terminal client shows, as values: read from `Chats` in one go, by one thread.

A snapshot has the newest messages of all chats, so that a chat is opened without waiting for anything.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from postroom.cli.chat.terminal_client.safe_text import safe_text
from postroom.client.chat import Chats
from postroom.client.chat.memory import ChatMemory
from postroom.client.chat.undelivered import DeliveryState, find_undelivered
from postroom.protocols.status.chat_view import ChatView, ShownChat, ShownChatMessage
from postroom.protocols.status.enums import ChatKind
from postroom.protocols.status.ids import MessageId
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.mentions import show_mentions
from postroom.protocols.status.pseudonym import pseudonym, short_key
from postroom.protocols.status.verify import ChatRef

FIRST_MESSAGES: Final = 100
"""The newest messages of a chat, and so many more each time that older ones are shown."""


@dataclass(frozen=True, slots=True)
class KnownNames:
    """What people are called. `proven`: by their carriers; `said`: what they say of themselves, unproven."""

    proven: Mapping[ChatKey, str] = field(default_factory=dict)
    said: Mapping[ChatKey, str] = field(default_factory=dict)

    def title(self, key: ChatKey) -> str:
        """A proven name; otherwise what the user says, or the pseudonym, beside what nobody can choose. It is safe."""
        if proven := self.proven.get(key):
            return safe_text(proven)
        return f"{safe_text(self.said.get(key, '')) or pseudonym(key)} ({short_key(key)})"

    def text(self, text: str) -> str:
        """A message's text with names for the keys of its mentions. It is not safe to show."""
        return show_mentions(text, self.title)


@dataclass(frozen=True, slots=True)
class ListedChat:
    """A chat, and the newest of its messages.

    `title` is safe to show. `to`: what `Chats` sends to; empty: nobody knows a name. `clock`: the largest that counts
    in it; 0: it is empty. `came`: when each message came, in milliseconds, by its ID. `undelivered`: who has not got a
    message, or what the user said about it, by its ID.
    """

    ref: ChatRef
    title: str
    to: str
    members: tuple[ChatKey, ...] = ()
    admins: tuple[ChatKey, ...] = ()
    clock: int = 0
    messages: tuple[ShownChatMessage, ...] = ()
    has_older: bool = False
    came: Mapping[MessageId, int] = field(default_factory=dict)
    undelivered: Mapping[MessageId, DeliveryState] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChatSnapshot:
    """All that is shown; the chats with the newest messages first.

    `waiting`: how many sealed messages are stored and not delivered yet.
    """

    own: ChatKey
    own_name: str
    chats: tuple[ListedChat, ...] = ()
    names: KnownNames = field(default_factory=KnownNames)
    waiting: int = 0


def read_snapshot(chats: Chats, last: Mapping[ChatRef, int] | None = None) -> ChatSnapshot:
    """Read what is shown. `last`: so many messages of a chat; FIRST_MESSAGES of others. Raises as `Archive` does."""
    memory, view = chats.memory, chats.view()
    names = _names(chats, memory, view)
    listed = [_listed(chats, view, names, chat, (last or {}).get(chat.ref, FIRST_MESSAGES)) for chat in view.chats()]
    listed.sort(key=lambda chat: (-chat.clock, chat.title))
    waiting = sum(not each.refused for messages in memory.unsent.values() for each in messages)
    return ChatSnapshot(chats.own, chats.name, tuple(listed), names, waiting)


def newest_came(chats: Chats) -> int:
    """When the newest of all messages came, in milliseconds; 0: there is none. Raises as `Archive` does."""
    log = chats.memory.log
    return max((fact.at_ms for fact in log if fact.author != log.own), default=0)


def _names(chats: Chats, memory: ChatMemory, view: ChatView) -> KnownNames:
    said = {key: names.ens_name or names.display_name for key, names in view.names().items()}
    keys = {*memory.proven, *memory.looked_up, *(domain.key for domain in memory.domains.values() if domain.key)}
    proven = {key: memory.name_of(key) for key in keys}
    return KnownNames({**proven, chats.own: chats.name}, said)


def _listed(chats: Chats, view: ChatView, names: KnownNames, chat: ShownChat, last: int) -> ListedChat:
    found = view.messages(chat.ref, last + 1)
    messages = tuple(found[-last:])
    return ListedChat(
        chat.ref,
        _title(chat, names),
        _to(chats, chat.ref),
        chat.members,
        chat.admins,
        chat.clock,
        messages,
        len(found) > last,
        _came(chats.memory, chat.ref, messages),
        find_undelivered(chats.memory, chat, messages),
    )


def _title(chat: ShownChat, names: KnownNames) -> str:
    match chat.ref.kind:
        case ChatKind.PUBLIC_GROUP:
            return f"#{safe_text(chat.ref.id)}"
        case ChatKind.PRIVATE_GROUP:
            return safe_text(chat.name) or "(a group without a name)"
    return names.title(ChatKey(chat.ref.id))


def _to(chats: Chats, ref: ChatRef) -> str:
    match ref.kind:
        case ChatKind.PUBLIC_GROUP:
            return f"#{ref.id}"
        case ChatKind.PRIVATE_GROUP:
            return ref.id
    if ref.id == chats.own:
        return chats.name
    return chats.memory.name_of(ChatKey(ref.id))


def _came(memory: ChatMemory, ref: ChatRef, messages: Iterable[ShownChatMessage]) -> dict[MessageId, int]:
    """When each of the newest messages of a chat came."""
    missing = {message.id for message in messages}
    came: dict[MessageId, int] = {}
    for fact in reversed(memory.log.messages(ref)):
        if not missing:
            break
        if fact.id in missing:
            came[fact.id] = fact.at_ms
            missing.discard(fact.id)
    return came
