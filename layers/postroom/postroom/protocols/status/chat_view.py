"""The view of a log: chats, and their messages in order, with edits, deletions, pins and reactions.

A view is a function of the log's facts, the user's key and the channels that the user has joined.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from postroom.core.ens_names import normalized_name
from postroom.core.reason import Reason
from postroom.protocols.status.clock import is_ahead, is_late
from postroom.protocols.status.enums import ChatKind
from postroom.protocols.status.ids import MessageId
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.log import WRITTEN, ChatLog, Fact, place_of
from postroom.protocols.status.messages import (
    ChatMessage,
    ChatMessageIdentity,
    ContactUpdate,
    DeleteMessage,
    EditMessage,
    EmojiReaction,
    PinMessage,
)
from postroom.protocols.status.reasons import CHAT_UNKNOWN, CLOCK_AHEAD
from postroom.protocols.status.sync import OwnDevices
from postroom.protocols.status.verify import ChatRef

M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class ShownChat:
    """A chat. `name`, `members` and `admins`: of a group, the keys sorted. `clock`: the largest that counts in it."""

    ref: ChatRef
    name: str
    members: tuple[ChatKey, ...]
    admins: tuple[ChatKey, ...]
    clock: int


@dataclass(frozen=True, slots=True)
class ShownChatMessage:
    """A message as its chat shows it.

    `message`: as its author first sent it; None: it is deleted. `text`: the newest. `deleted_by`: the author of the
    first deletion. `reactions`: the authors of each kind, sorted. `is_late`: it may have been inserted in the history.
    """

    id: MessageId
    author: ChatKey
    clock: int
    timestamp: int
    content_type: int
    text: str
    response_to: str
    is_edited: bool
    is_pinned: bool
    is_late: bool
    message: ChatMessage | None
    deleted_by: ChatKey | None = None
    reactions: dict[int, tuple[ChatKey, ...]] = field(default_factory=dict)
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownNames:
    """What a user says of itself, unproven. `ens_name`: the newest, normalised; empty: none, or no name by ENSIP-15."""

    ens_name: str = ""
    display_name: str = ""


class ChatView:
    """What is shown of a log, which must not be changed meanwhile. `channels`: those that the user has joined.

    Channels that another device of the user has joined are joined, too, but for those that were left since: `parted`.
    """

    def __init__(self, log: ChatLog, channels: Iterable[str] = (), *, parted: Iterable[str] = ()) -> None:
        self._log = log
        self._channels = frozenset(channels)
        self._parted = frozenset(parted)

    def chats(self) -> list[ShownChat]:
        """All chats by ID: those with messages, the channels that are joined, the groups of which one was a member."""
        refs = {ref for ref in self._log.chats() if ref.kind is ChatKind.ONE_TO_ONE and next(self._newest(ref), None)}
        refs |= {ChatRef(ChatKind.PUBLIC_GROUP, channel) for channel in self.joined}
        others = [self.chat(ref) for ref in refs]
        return sorted([*others, *self.groups()], key=lambda chat: (chat.ref.id, chat.ref.kind))

    def groups(self) -> list[ShownChat]:
        """The groups of which one was a member, in no order."""
        return [
            self.chat(ChatRef(ChatKind.PRIVATE_GROUP, group))
            for group in self._log.groups()
            if self._log.group(group).ever_had(self._log.own)
        ]

    def chat(self, ref: ChatRef) -> ShownChat:
        """One chat."""
        group = self._log.group(ref.id) if ref.kind is ChatKind.PRIVATE_GROUP else None
        return ShownChat(
            ref,
            group.name if group else "",
            tuple(sorted(group.members)) if group else (),
            tuple(sorted(group.admins)) if group else (),
            self.clock(ref),
        )

    def messages(self, ref: ChatRef, last: int | None = None) -> list[ShownChatMessage]:
        """The messages of a chat in order, by clock and ID. `last`: only so many, the newest."""
        shown: list[ShownChatMessage] = []
        for fact, message in self._newest(ref):
            if len(shown) == last:
                break
            shown.append(self._shown(fact, message))
        return shown[::-1]

    def clock(self, ref: ChatRef) -> int:
        """The largest clock of all that counts in a chat, also of what names a message that is not there; 0: none."""
        return max(
            self._log.group(ref.id).clock if ref.kind is ChatKind.PRIVATE_GROUP else 0,
            self.own_devices.cleared.get(ref, 0),
            self._largest(self._log.messages(ref)),
            self._largest(self._log.changes(ref)),
        )

    def _largest(self, facts: list[Fact]) -> int:
        """The clock of the last that counts of facts in their order; 0: none does."""
        return next((fact.clock for fact in reversed(facts) if self.reason_against(fact) is None), 0)

    def reason_against(self, fact: Fact) -> Reason | None:
        """Why a message does not count by its clock or its chat; None: it does."""
        if is_ahead(fact.clock, fact.at_ms):
            return CLOCK_AHEAD
        if fact.chat and isinstance(fact.message, WRITTEN) and not self._may_write(fact.chat, fact):
            return CHAT_UNKNOWN
        return None

    @cached_property
    def own_devices(self) -> OwnDevices:
        """What the user's own devices say."""
        return OwnDevices(self._log)

    @cached_property
    def joined(self) -> frozenset[str]:
        """The channels that are joined, on any device."""
        return (self._channels | self.own_devices.channels) - self._parted

    def names(self) -> dict[ChatKey, ShownNames]:
        """The names that users say they have, of all who said one: the newest by clock and ID.

        An empty ens_name says nothing in a ChatMessage, and "none" elsewhere.
        """
        ens_names: dict[ChatKey, str] = {}
        display_names: dict[ChatKey, str] = {}
        for fact in sorted(self._log.names(), key=place_of):
            if self.reason_against(fact) is not None:
                continue
            match fact.message:
                case ChatMessage() | ContactUpdate() | ChatMessageIdentity():
                    ens_names[fact.author] = fact.message.ens_name
            if isinstance(fact.message, ChatMessageIdentity):
                display_names[fact.author] = fact.message.display_name
        return {
            author: ShownNames(_normalized(ens_names[author]), display_names.get(author, ""))
            for author in sorted(ens_names)
        }

    def not_shown(self) -> list[tuple[Fact, Reason]]:
        """What does not count by its clock or its chat, by ID and author, with the reason."""
        against = ((fact, self.reason_against(fact)) for fact in self._log)
        return sorted(
            ((fact, reason) for fact, reason in against if reason),
            key=lambda each: (each[0].id, each[0].author, each[0].key),
        )

    def is_deleted(self, fact: Fact) -> bool:
        """Whether a deletion of a message counts, also if the message is not shown."""
        return any(isinstance(each.message, DeleteMessage) for each in self._about(fact))

    def is_held(self, fact: Fact) -> bool:
        """Whether a message is of a group that is not known yet: it counts when the group's founding comes."""
        chat = fact.chat
        return chat is not None and chat.kind is ChatKind.PRIVATE_GROUP and not self._log.group(chat.id).is_created

    def _may_write(self, chat: ChatRef, fact: Fact) -> bool:
        match chat.kind:
            case ChatKind.PUBLIC_GROUP:
                return chat.id in self.joined
            case ChatKind.PRIVATE_GROUP:
                group = self._log.group(chat.id)
                return (
                    group.had_member(fact.author, fact.clock)
                    and group.had_member(self._log.own, fact.clock)
                    # Who was removed does not write into the past.
                    and (not is_late(fact.clock, fact.at_ms) or group.had_member(fact.author, fact.at_ms))
                )
        return True

    def _newest(self, ref: ChatRef) -> Iterator[tuple[Fact, ChatMessage]]:
        """The messages that are shown, from the newest on."""
        cleared = self.own_devices.cleared.get(ref, 0)
        deleted = self.own_devices.deleted_for_me
        for fact in reversed(self._log.messages(ref)):
            message = fact.message
            if not isinstance(message, ChatMessage) or message.clock <= cleared:
                return
            if self.reason_against(fact) is None and deleted.isdisjoint(self._log.ids(fact)):
                yield fact, message

    def _about(self, fact: Fact) -> list[Fact]:
        """What counts of all that was said about a message, in order."""
        return sorted(
            (
                each
                for each in self._log.about(fact)
                if each.chat == fact.chat and self.reason_against(each) is None and self._may_change(each, fact)
            ),
            key=place_of,
        )

    def _may_change(self, each: Fact, fact: Fact) -> bool:
        match each.message:
            case EditMessage():
                return each.author == fact.author and each.clock >= fact.clock
            case DeleteMessage():
                return each.author == fact.author or self._was_admin(each)
        return True

    def _was_admin(self, fact: Fact) -> bool:
        chat = fact.chat
        if chat is None or chat.kind is not ChatKind.PRIVATE_GROUP:
            return False
        return self._log.group(chat.id).had_admin(fact.author, fact.clock)

    def _shown(self, fact: Fact, message: ChatMessage) -> ShownChatMessage:
        about = self._about(fact)
        deleted_by = next((each.author for each in about if isinstance(each.message, DeleteMessage)), None)
        is_there = deleted_by is None
        edit = _last(about, EditMessage) if is_there else None
        pin = _last(about, PinMessage) if is_there else None
        return ShownChatMessage(
            fact.id,
            fact.author,
            message.clock,
            message.timestamp,
            message.content_type,
            (edit.text if edit else message.text) if is_there else "",
            message.response_to,
            is_edited=edit is not None,
            is_pinned=pin is not None and pin.pinned,
            is_late=is_late(message.clock, fact.at_ms),
            message=message if is_there else None,
            deleted_by=deleted_by,
            reactions=_reactions(about) if is_there else {},
            marks=fact.marks,
        )


def _normalized(name: str) -> str:
    try:
        return normalized_name(name) if "." in name else ""
    except ValueError:
        return ""


def _last(about: list[Fact], kind: type[M]) -> M | None:
    return next((each.message for each in reversed(about) if isinstance(each.message, kind)), None)


def _reactions(about: list[Fact]) -> dict[int, tuple[ChatKey, ...]]:
    """The authors of each kind of reaction that stands: the last of an author and a kind says whether it does."""
    stands: dict[tuple[int, ChatKey], bool] = {}
    for each in about:
        if isinstance(each.message, EmojiReaction):
            stands[each.message.type, each.author] = not each.message.retracted
    found: defaultdict[int, list[ChatKey]] = defaultdict(list)
    for kind, author in sorted(key for key, is_so in stands.items() if is_so):
        found[kind].append(author)
    return {kind: tuple(authors) for kind, authors in found.items()}
