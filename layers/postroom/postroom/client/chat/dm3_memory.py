"""The part of the memory of chats that comes from dm3 messages.

A dm3 message without a wrapper stands in the chat with its sender by its own time. One that the archive has removed
keeps its place, without its text, by the request to delete it.
"""

from collections.abc import Mapping, Sequence

from postroom.client.chat.carried_wrapper import CarriedWrapper
from postroom.client.chat.channels import find_channel
from postroom.client.chat.dm3_carrier import find_wrapper
from postroom.client.chat.entries import ChatEntry, ReadEntry, verify_carried
from postroom.client.chat.memory import ChatMemory, DiscardedMessage
from postroom.client.chat.memory_additions import (
    add_carried,
    add_payload,
    note_channel,
    note_profile,
    note_said,
    note_sent,
)
from postroom.client.chat.plain_messages import plain_id, plain_payload, removed_payload
from postroom.client.chat.said_names import said_over_dm3
from postroom.client.chat.unsent import UnsentMessage
from postroom.protocols.dm3.message import MessageType
from postroom.protocols.dm3.names import normalize
from postroom.protocols.dm3.stored import Tombstone
from postroom.protocols.status.enums import ChatKind
from postroom.protocols.status.ids import MessageId
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.log import Fact
from postroom.protocols.status.messages import ChatMessage, DeleteMessage
from postroom.protocols.status.verify import VerifiedPayload


def add_conversation(memory: ChatMemory, owner: str, partner: str, entries: Sequence[ReadEntry]) -> None:
    """Add the dm3 messages of a conversation. `owner`, `partner`: the normalised names."""
    messages = [entry for entry in entries if isinstance(entry, ChatEntry)]
    removed = {name: entry for entry in entries if isinstance(entry, Tombstone) for name in entry.hashes()}
    plain: list[ChatEntry] = []
    ids: dict[str, MessageId] = {}
    other: ChatKey | None = None
    for entry in messages:
        if entry.carrier:
            memory.proven.setdefault(entry.carrier, set()).add(entry.author)
        if entry.carried is None:
            if entry.carrier:
                plain.append(entry)
                ids |= dict.fromkeys(entry.hashes, plain_id(entry))
        elif entry.payload is not None:
            fact = _add_message(memory, owner, partner, entry, entry.carried, entry.payload)
            ids |= dict.fromkeys(entry.hashes, fact.id)
            if entry.carrier == memory.log.own:
                other = other or _other_of_two(memory, fact)
            _note_buried(memory, fact, entry, removed)
        elif entry.error is not None:
            memory.discarded.append(DiscardedMessage(partner, entry.message_hash, entry.error))
    for entry in plain:
        chat = entry.carrier if entry.author != owner else memory.key_at(partner) or other
        if chat is not None and (payload := plain_payload(entry, chat, ids)) is not None:
            fact = memory.log.add(payload, entry.came_ms)
            memory.hashes.setdefault(fact.key, {})[partner] = entry.message_hash


def add_unsent(memory: ChatMemory, unsent: UnsentMessage) -> None:
    """Add a message of the owner, which counts from when it was written, whether it was delivered or not."""
    carried = find_wrapper(unsent.message)
    if carried is None:
        return
    own = memory.log.own
    payload = verify_carried(carried, unsent.message.message or "", carrier=own, own=own)
    fact = add_payload(memory, carried, payload, unsent.timestamp_ms)
    receiver = normalize(unsent.to)
    memory.unsent.setdefault(fact.key, []).append(unsent)
    memory.hashes.setdefault(fact.key, {})[receiver] = unsent.sealed.message_hash if unsent.sealed else ""
    _note_looked_up(memory, fact, carried, receiver, unsent.timestamp_ms)
    note_sent(memory, fact, carried, receiver, is_delivered=False)
    if receiver == normalize(unsent.message.metadata.sender):
        note_channel(memory, find_channel(unsent.message))
        note_profile(memory, fact)


def add_removed(memory: ChatMemory) -> None:
    """Add a message in place of each that the archive has removed, when all others are there: one may still be in
    another conversation, and stays."""
    if not memory.buried:
        return
    there = {id_ for fact in memory.log if isinstance(fact.message, ChatMessage) for id_ in memory.log.ids(fact)}
    for deletion, left in memory.buried:
        payload = removed_payload(deletion, left)
        if payload is not None and payload.id not in there:
            memory.log.add(payload, left.timestamp_ms)


def _add_message(
    memory: ChatMemory,
    owner: str,
    partner: str,
    entry: ChatEntry,
    carried: CarriedWrapper,
    payload: VerifiedPayload,
) -> Fact:
    fact = add_carried(memory, partner, entry, carried, payload)
    if entry.carrier != memory.log.own:
        for said in said_over_dm3(entry):
            note_said(memory, said)
        return fact
    memory.is_dm3_name = True
    _note_looked_up(memory, fact, carried, partner, entry.came_ms)
    if entry.author == owner == partner:
        note_channel(memory, entry.channel)
        note_profile(memory, fact)
    return fact


def _note_looked_up(memory: ChatMemory, fact: Fact, carried: CarriedWrapper, receiver: str, at_ms: int) -> None:
    """Note the names that the owner's devices looked up to send a message of the owner."""
    other = _other_of_two(memory, fact)
    for key, name in (*carried.names.items(), *([(other, receiver)] if other else [])):
        known = memory.looked_up.setdefault(key, {})
        known[name] = min(at_ms, known.get(name, at_ms))


def _other_of_two(memory: ChatMemory, fact: Fact) -> ChatKey | None:
    """Whom the owner has written to; None: it is not the owner's, or not in a chat of two."""
    is_own = fact.author == memory.log.own and fact.chat is not None and fact.chat.kind is ChatKind.ONE_TO_ONE
    return ChatKey(fact.chat.id) if fact.chat is not None and is_own else None


def _note_buried(memory: ChatMemory, fact: Fact, entry: ChatEntry, removed: Mapping[str, Tombstone]) -> None:
    if entry.type is MessageType.DELETE_REQUEST and isinstance(fact.message, DeleteMessage):
        left = removed.get(entry.reference)
        if left is not None and left.author == entry.author:
            memory.buried.append((fact, left))
