"""The log of a user's chats: all that ever came, whatever came first, how often and on which device.

A log is a set of facts. Facts are joined: the same message in several wrappers is one fact, with the earliest time at
which a copy came and all its IDs. To merge logs is commutative, associative and idempotent. What is shown is a function
of the facts (`chat_view`): devices that have the same facts show the same. Of the events of groups so many are kept as
`kept_groups` says.
"""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from operator import attrgetter
from typing import Final

from postroom.protocols.status.ids import MessageId
from postroom.protocols.status.kept_groups import KeptGroups
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.membership import Group
from postroom.protocols.status.messages import (
    OF_DEVICES,
    ChatMessage,
    ChatMessageIdentity,
    ContactUpdate,
    DeleteMessage,
    EditMessage,
    EmojiReaction,
    MembershipUpdateMessage,
    PinMessage,
    StatusMessage,
    clock_of,
)
from postroom.protocols.status.verify import ChatRef, VerifiedPayload

CHANGES: Final = (EditMessage, DeleteMessage, PinMessage, EmojiReaction)
"""What names a message of a chat, and changes what is shown of it."""
WRITTEN: Final = (ChatMessage, *CHANGES)
"""What users write in chats: in a group only members, and in a channel it counts if the user has joined it."""
_FEW: Final = 1000
"""New and changed facts that are put in their places one by one, if there are ten times as many, and not by sorting."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A message, and what all of its copies say. `message` None: its type is unknown here, or it is only events.

    `key`: of who wrote it, whether it is signed, its type and payload. `id`: the smallest of its IDs. `clock`: 0 if it
    has none. `at_ms`: when the first copy came. `marks`: those of every copy.
    """

    key: bytes
    id: MessageId
    author: ChatKey
    message: StatusMessage | None
    chat: ChatRef | None
    clock: int
    at_ms: int
    marks: tuple[str, ...] = ()

    def join(self, other: "Fact") -> "Fact":
        """What both say of one message; this one itself if the other says nothing new."""
        first, at_ms = min(self.id, other.id), min(self.at_ms, other.at_ms)
        # A copy with the higher s, which anybody can make, says nothing about the message itself.
        marks = tuple(mark for mark in self.marks if mark in other.marks)
        if (first, at_ms, marks) == (self.id, self.at_ms, self.marks):
            return self
        return replace(self, id=first, at_ms=at_ms, marks=marks)


place_of: Final = attrgetter("clock", "id", "author", "key")
"""Where a fact stands among others. Facts of two authors may have one ID: that of the same unsigned wrapper."""


def key_of(verified: VerifiedPayload) -> bytes:
    """What makes two wrappers one message: who wrote it, whether it is signed, its type and its payload."""
    head = f"{verified.author}{verified.is_signed:d}{verified.type}:".encode()
    return blake2b(head + verified.payload, digest_size=32).digest()


@dataclass(slots=True)
class _InOrder:
    """Facts that are sorted when they are read.

    `_waiting`: the keys of those that are new or have changed, and the fact that stands for each meanwhile, if any.
    """

    _facts: list[Fact] = field(default_factory=list)
    _waiting: dict[bytes, Fact | None] = field(default_factory=dict)

    def expect(self, key: bytes, known: Fact | None) -> None:
        """Expect a fact to be read anew. `known`: what it was until now; None: it is new."""
        self._waiting.setdefault(key, known)

    def read(self, facts: Mapping[bytes, Fact]) -> list[Fact]:
        """All, each as it is among these facts; not to be changed."""
        if len(self._waiting) > min(_FEW, len(self._facts) // 10):
            rest = [fact for fact in self._facts if fact.key not in self._waiting]
            self._facts = sorted((*rest, *map(facts.__getitem__, self._waiting)), key=place_of)
        else:
            for key, known in self._waiting.items():
                if known is not None:
                    del self._facts[bisect_left(self._facts, place_of(known), key=place_of)]
                insort(self._facts, facts[key], key=place_of)
        self._waiting.clear()
        return self._facts


@dataclass(slots=True)
class _Chat:
    """The messages of a chat, and the edits, deletions, pins and reactions in it."""

    messages: _InOrder = field(default_factory=_InOrder)
    changes: _InOrder = field(default_factory=_InOrder)


class ChatLog:
    """The facts of one user. `own`: the user's key.

    `members_may_change`: members of a group may add others and change its name, as newer clients of Status have it.
    """

    def __init__(self, own: ChatKey, *, members_may_change: bool = False) -> None:
        self.own: Final = own
        self._facts: dict[bytes, Fact] = {}
        self._ids: dict[bytes, set[MessageId]] = {}
        """Of facts with more than one."""
        self._chats: defaultdict[ChatRef, _Chat] = defaultdict(_Chat)
        self._about: defaultdict[str, list[bytes]] = defaultdict(list)
        self._groups = KeptGroups(own, members_may_change=members_may_change)
        self._own_devices: list[bytes] = []
        self._names: list[bytes] = []
        self._authors: dict[ChatKey, ChatKey] = {}
        self._refs: dict[ChatRef, ChatRef] = {}

    def __len__(self) -> int:
        return len(self._facts)

    def __iter__(self) -> Iterator[Fact]:
        return iter(self._facts.values())

    def add(self, verified: VerifiedPayload, at_ms: int) -> Fact:
        """Add a copy of a message that came at a time, in milliseconds since 1970; the fact that it is now."""
        message = verified.message
        if isinstance(message, MembershipUpdateMessage):
            for event in verified.events:
                self._groups.add(message.chat_id, event, at_ms)
            message = message.carried
        return self._join(
            Fact(
                key_of(verified),
                verified.id,
                # One object for each user and chat: these texts are longer than most messages.
                self._authors.setdefault(verified.author, verified.author),
                message,
                None if verified.chat is None else self._refs.setdefault(verified.chat, verified.chat),
                (message and clock_of(message)) or 0,
                at_ms,
                verified.marks,
            )
        )

    def merge(self, other: "ChatLog") -> None:
        """Add all facts of another log of the same user, which stays as it is. Raises ValueError: of another user."""
        if other.own != self.own:
            raise ValueError("the logs are of two users")
        for fact in other:
            self._join(fact)
        for key, ids in other._ids.items():
            self._ids[key] = self._ids.get(key, set()) | ids
        for group, event, at_ms in [*other._groups]:
            self._groups.add(group, event, at_ms)

    def fact(self, key: bytes) -> Fact:
        """The fact with a key. Raises KeyError."""
        return self._facts[key]

    def ids(self, fact: Fact) -> Collection[MessageId]:
        """All IDs of a message."""
        return self._ids.get(fact.key, (fact.id,))

    def chats(self) -> Iterable[ChatRef]:
        """The chats in which something was written, whether it counts or not."""
        return self._chats.keys()

    def groups(self) -> Collection[str]:
        """The IDs of the groups in which the user may have been; `Group.ever_had` says whether it was so."""
        return self._groups.of_user()

    def group(self, group: str) -> Group:
        """A group as its events make it; without members if none of them counts."""
        return self._groups.group(group)

    def messages(self, chat: ChatRef) -> list[Fact]:
        """The messages of a chat by clock and ID, whether they count or not; not to be changed."""
        found = self._chats.get(chat)
        return found.messages.read(self._facts) if found else []

    def changes(self, chat: ChatRef) -> list[Fact]:
        """The edits, deletions, pins and reactions in a chat, in the same order; not to be changed."""
        found = self._chats.get(chat)
        return found.changes.read(self._facts) if found else []

    def about(self, fact: Fact) -> Iterator[Fact]:
        """Edits, deletions, pins and reactions that name a message by any of its IDs, whether they count or not."""
        for name in self.ids(fact):
            for key in self._about.get(name, ()):
                yield self._facts[key]

    def own_devices(self) -> Iterator[Fact]:
        """Messages between the user's own devices, in no order."""
        return map(self._facts.__getitem__, self._own_devices)

    def names(self) -> Iterator[Fact]:
        """Messages in which their authors say names of their own, in no order."""
        return map(self._facts.__getitem__, self._names)

    def _join(self, fact: Fact) -> Fact:
        known = self._facts.get(fact.key)
        if known is None:
            self._facts[fact.key] = fact
            self._file(fact)
            return fact
        if fact.id != known.id:
            self._ids.setdefault(fact.key, {known.id}).add(fact.id)
        joined = known.join(fact)
        if joined is not known:
            self._facts[fact.key] = joined
            if (order := self._order(fact)) is not None:
                order.expect(fact.key, known)
        return joined

    def _order(self, fact: Fact) -> _InOrder | None:
        """Where a fact has a place by its clock and ID; None: nowhere."""
        if fact.chat is None or not isinstance(fact.message, WRITTEN):
            return None
        chat = self._chats[fact.chat]
        return chat.messages if isinstance(fact.message, ChatMessage) else chat.changes

    def _file(self, fact: Fact) -> None:
        """Make a new fact be found."""
        message = fact.message
        if (order := self._order(fact)) is not None:
            order.expect(fact.key, None)
        if isinstance(message, ChatMessage):
            if message.ens_name:
                self._names.append(fact.key)
        elif isinstance(message, CHANGES):
            self._about[message.message_id].append(fact.key)
        elif isinstance(message, ContactUpdate | ChatMessageIdentity):
            self._names.append(fact.key)
        elif isinstance(message, OF_DEVICES):
            self._own_devices.append(fact.key)
