"""The delivery of messages of a chat, and of what the owner said about them: who has not got them, and why."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from postroom.client.chat.memory import ChatMemory
from postroom.core.ijson import JsonValue
from postroom.protocols.status.chat_view import ShownChat, ShownChatMessage
from postroom.protocols.status.enums import ChatKind
from postroom.protocols.status.ids import MessageId
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.log import Fact
from postroom.protocols.status.membership import Group
from postroom.protocols.status.messages import (
    ChatMessage,
    DeleteMessage,
    EditMessage,
    EmojiReaction,
    PinMessage,
    StatusMessage,
)

_KINDS: Final[tuple[tuple[type[StatusMessage], str], ...]] = (
    (ChatMessage, "message"),
    (EditMessage, "edit"),
    (DeleteMessage, "deletion"),
    (PinMessage, "pin"),
    (EmojiReaction, "reaction"),
)


@dataclass(frozen=True, slots=True, order=True)
class UnsentPart:
    """A message, or an edit, a deletion, a pin or a reaction, that one receiver has not got.

    `what`: which of them. `reason`: of the refusal; empty: it is sent again with the next pull.
    """

    what: str
    to: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class DeliveryState:
    """What is not delivered of a message, in order. `unreached`: members of its group whose name nobody knew."""

    unsent: tuple[UnsentPart, ...] = ()
    unreached: tuple[ChatKey, ...] = ()

    def as_json(self) -> dict[str, JsonValue]:
        """`{unsent: [{what, to, reason}], unreached: [key]}`; a reason is null while the message waits."""
        return {
            "unsent": [{"what": each.what, "to": each.to, "reason": each.reason or None} for each in self.unsent],
            "unreached": list(self.unreached),
        }


def find_undelivered(
    memory: ChatMemory, chat: ShownChat, messages: Collection[ShownChatMessage]
) -> dict[MessageId, DeliveryState]:
    """The states of these messages of a chat that are not delivered to all, by their IDs."""
    ids = {message.id for message in messages}
    unsent = _unsent(memory, chat, ids)
    unreached = _unreached(memory, chat, messages) if chat.ref.kind is ChatKind.PRIVATE_GROUP else {}
    return {
        # In order: the archive lists what waits by the hashes of its states.
        id_: DeliveryState(tuple(sorted(unsent.get(id_, ()))), unreached.get(id_, ()))
        for id_ in ids
        if id_ in unsent or id_ in unreached
    }


def _unsent(memory: ChatMemory, chat: ShownChat, ids: Collection[MessageId]) -> Mapping[MessageId, list[UnsentPart]]:
    found: defaultdict[MessageId, list[UnsentPart]] = defaultdict(list)
    if not memory.unsent:
        return found
    log = memory.log
    names = {name: fact.id for fact in log.messages(chat.ref) if fact.id in ids for name in log.ids(fact)}
    for fact in (*log.messages(chat.ref), *log.changes(chat.ref)):
        about = names.get(MessageId(getattr(fact.message, "message_id", fact.id)))
        if about is not None:
            what = next(word for kind, word in _KINDS if isinstance(fact.message, kind))
            found[about] += [UnsentPart(what, each.to, each.refused) for each in memory.unsent.get(fact.key, ())]
    return {id_: parts for id_, parts in found.items() if parts}


def _unreached(
    memory: ChatMemory, chat: ShownChat, messages: Collection[ShownChatMessage]
) -> Mapping[MessageId, tuple[ChatKey, ...]]:
    """The members to whom no message was ever written. Of a deleted message it is not known any more."""
    own, group = memory.log.own, memory.log.group(chat.ref.id)
    ids = {message.id for message in messages if message.author == own and message.message is not None}
    found = {
        fact.id: tuple(
            member
            for member in chat.members
            if member != own and group.had_member(member, fact.clock) and not _is_reached(memory, group, fact, member)
        )
        for fact in (memory.log.messages(chat.ref) if ids else ())
        if fact.id in ids
    }
    return {id_: members for id_, members in found.items() if members}


def _is_reached(memory: ChatMemory, group: Group, fact: Fact, member: ChatKey) -> bool:
    """Whether a message of the owner was written to a member."""
    written = memory.hashes.get(fact.key, {})
    # What is quickly found first: a long group has many messages, and nearly all were written to all by their names.
    return (
        memory.names_used.get(fact.key, {}).get(member) in written
        or not written.keys().isdisjoint(memory.addresses_of(member))
        or not written.keys().isdisjoint(memory.names_said(member, partial(group.had_member, clock=fact.clock)))
    )
