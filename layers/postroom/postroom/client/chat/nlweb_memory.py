"""The part of the memory of chats that comes from NLWeb messages: whose keys domains have, and what they sent."""

from collections.abc import Iterable

from postroom.client.chat.channels import ChannelRecord, belongs_to
from postroom.client.chat.domain_keys import DomainKey, check_author, domains_by_key, keys_of_domains, marked
from postroom.client.chat.entries import ChatEntry
from postroom.client.chat.memory import ChatMemory, DiscardedMessage
from postroom.client.chat.memory_additions import (
    add_carried,
    add_payload,
    note_channel,
    note_profile,
    note_said,
    note_sent,
)
from postroom.client.chat.nlweb_carrier import address_of
from postroom.client.chat.said_names import said_by_domains
from postroom.client.chat.unsent_to_domain import UnsentToDomain
from postroom.core.errors import TheirError
from postroom.protocols.status.log import Fact
from postroom.protocols.status.verify import VerifiedPayload, verify


def add_from_domains(memory: ChatMemory, owner: str, entries: Iterable[ChatEntry]) -> None:
    """Add the NLWeb messages of all conversations: first what is the owner's, which can say whose keys domains have.

    `owner`: the owner's normalised name.
    """
    own, of_others = memory.log.own, []
    for entry in entries:
        if entry.payload is None:
            _note_discarded(memory, entry, entry.error)
        elif entry.carrier or (entry.domain == owner and entry.payload.author == own):
            memory.proven.setdefault(own, set()).add(owner)
            memory.is_domain = True
            if entry.correlation:
                memory.sent_to_domains[entry.correlation] = entry
            _add_message(memory, owner, entry, entry.payload)
        else:
            of_others.append(entry)
    came = [entry for entry in of_others if entry.domain != owner]
    memory.domains = keys_of_domains(memory.log, came)
    memory.domains_by_key = domains_by_key(memory.domains)
    for said in said_by_domains(memory.domains, came, frozenset({own, owner})):
        note_said(memory, said)
    for entry in of_others:
        if entry.payload is None:
            continue
        try:
            check_author(entry.payload, own)
        except TheirError as error:
            _note_discarded(memory, entry, error)
        else:
            payload = marked(entry.payload, memory.domains.get(entry.domain, DomainKey()).key)
            _add_message(memory, owner, entry, payload)


def add_unsent_to_domain(memory: ChatMemory, owner: str, unsent: UnsentToDomain) -> None:
    """Add a message of the owner, which counts from when it was written, whether it was delivered or not."""
    payload = verify(unsent.carried.wrapper, own=memory.log.own, named=unsent.carried.type)
    fact = add_payload(memory, unsent.carried, payload, unsent.timestamp_ms)
    memory.unsent.setdefault(fact.key, []).append(unsent)
    memory.hashes.setdefault(fact.key, {}).setdefault(unsent.to, "")
    note_sent(memory, fact, unsent.carried, unsent.to, is_delivered=False)
    if unsent.domain == owner:
        note_profile(memory, fact)
        _note_channel(memory, fact, unsent.channel)


def _add_message(memory: ChatMemory, owner: str, entry: ChatEntry, payload: VerifiedPayload) -> None:
    if entry.carried is not None:
        fact = add_carried(memory, address_of(entry.domain), entry, entry.carried, payload)
        if entry.domain == owner and fact.author == memory.log.own:
            note_profile(memory, fact)
            _note_channel(memory, fact, entry.channel)


def _note_channel(memory: ChatMemory, fact: Fact, record: ChannelRecord | None) -> None:
    # Others may write for the domain, but only the owner can sign for the owner's devices.
    if record is not None and belongs_to(record, fact.message):
        note_channel(memory, record)


def _note_discarded(memory: ChatMemory, entry: ChatEntry, error: TheirError | None) -> None:
    if error is not None:
        memory.discarded.append(DiscardedMessage(address_of(entry.domain), entry.message_hash, error))
