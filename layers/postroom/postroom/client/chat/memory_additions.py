"""Additions that messages of either carrier make to the memory of chats."""

from postroom.client.chat.carried_wrapper import CarriedWrapper, is_canonical
from postroom.client.chat.channels import ChannelRecord
from postroom.client.chat.entries import ChatEntry
from postroom.client.chat.memory import ChatMemory
from postroom.client.chat.profiles_sent import SentContactUpdate
from postroom.client.chat.said_names import MAX_NAMES_SAID, SaidName
from postroom.protocols.status.enums import ChatKind
from postroom.protocols.status.log import Fact, place_of
from postroom.protocols.status.messages import ChatMessageIdentity, ContactUpdate
from postroom.protocols.status.sent_profile import SentProfile, profile_digest
from postroom.protocols.status.verify import UNSIGNED, VerifiedPayload


def add_carried(
    memory: ChatMemory, partner: str, entry: ChatEntry, carried: CarriedWrapper, payload: VerifiedPayload
) -> Fact:
    """Add a message that an entry carries. `partner`: a name, or a domain as `address_of` names it."""
    fact = add_payload(memory, carried, payload, entry.came_ms)
    hashes = memory.hashes.setdefault(fact.key, {})
    # Others refer to the author's own dm3 message, which the author can have removed.
    if entry.carrier == fact.author or not hashes.get(partner):
        hashes[partner] = entry.message_hash
    note_sent(memory, fact, carried, partner, is_delivered=True)
    return fact


def add_payload(memory: ChatMemory, carried: CarriedWrapper, payload: VerifiedPayload, at_ms: int) -> Fact:
    """Add a message to the log; in a channel, keep the wrapper that is passed on."""
    fact = memory.log.add(payload, at_ms)
    if fact.chat is not None and fact.chat.kind is ChatKind.PUBLIC_GROUP and UNSIGNED not in fact.marks:
        known = memory.wrappers.get(fact.key)
        if known is None or (known.wrapper != carried.wrapper and is_canonical(carried)):
            memory.wrappers[fact.key] = carried
    return fact


def note_sent(memory: ChatMemory, fact: Fact, carried: CarriedWrapper, receiver: str, *, is_delivered: bool) -> None:
    """Note to whom the owner's message went, and what it says of the owner. Others' messages say nothing here."""
    message = fact.message
    if fact.author != memory.log.own:
        return
    if carried.names:
        memory.names_used[fact.key] = {**memory.names_used.get(fact.key, {}), **carried.names}
    if isinstance(message, ChatMessageIdentity):
        memory.identities.append(SentProfile(fact.at_ms, profile_digest(message), frozenset({receiver})))
    elif isinstance(message, ContactUpdate):
        sent = SentContactUpdate(receiver, fact.at_ms, profile_digest(message), is_delivered)
        memory.contact_updates.append(sent)


def note_said(memory: ChatMemory, said: SaidName) -> None:
    """Note what somebody says of a name, with the first time: of all that one says of a member, what was said first."""
    names = memory.said.setdefault(said.member, {}).setdefault(said.sayer, {})
    names[said.name] = min(said.at_ms, names.get(said.name, said.at_ms))
    if len(names) > MAX_NAMES_SAID:
        del names[max(names, key=lambda name: (names[name], name))]


def note_profile(memory: ChatMemory, fact: Fact) -> None:
    """Note the owner's profile in a message to oneself, if it is the newest."""
    known = memory.profile
    if isinstance(fact.message, ChatMessageIdentity) and (known is None or place_of(fact) > place_of(known)):
        memory.profile = fact


def note_channel(memory: ChatMemory, record: ChannelRecord | None) -> None:
    """Note the record of a channel in a message to oneself, if it is the newest; None: there is none."""
    known = memory.channels.get(record.channel) if record else None
    if record is not None and (known is None or record > known):
        memory.channels[record.channel] = record
