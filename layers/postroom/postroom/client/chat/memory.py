"""What an owner's archive says of chats: it is the memory of them, on every device.

All dm3 messages are read, and the NLWeb messages that carry a wrapper. Wrappers become facts of the log, at the time of
the postmark or the receipt. A dm3 message without a wrapper stands in the chat with its sender by its own time. One
that the archive has removed keeps its place, without its text, by the request to delete it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeGuard

from postroom.client.chat.channels import ChannelRecord, belongs_to, find_channel
from postroom.client.chat.dm3_carrier import CarriedWrapper, find_wrapper, is_canonical
from postroom.client.chat.domain_keys import DomainKey, check_author, domains_by_key, keys_of_domains, marked
from postroom.client.chat.entries import ChatEntry, ReadEntry, verify_carried
from postroom.client.chat.nlweb_carrier import address_of
from postroom.client.chat.profiles_sent import SentContactUpdate
from postroom.client.chat.reading import ConversationReader
from postroom.client.chat.said_names import SaidName, said_by_domains, said_over_dm3
from postroom.client.chat.unsent import Unsent, UnsentMessage, read_unsent
from postroom.client.chat.unsent_to_domain import UnsentToDomain
from postroom.core.errors import TheirError
from postroom.protocols.dm3.message import NEEDS_NO_TEXT, MessageType
from postroom.protocols.dm3.names import normalize
from postroom.protocols.dm3.stored import Tombstone
from postroom.protocols.status.chat_view import ChatView
from postroom.protocols.status.checks import MAX_TEXT
from postroom.protocols.status.enums import ChatKind, ContentType
from postroom.protocols.status.ids import MessageId, message_id
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.log import ChatLog, Fact, place_of
from postroom.protocols.status.messages import (
    ChatMessage,
    ChatMessageIdentity,
    ContactUpdate,
    DeleteMessage,
    EditMessage,
    StatusMessage,
)
from postroom.protocols.status.sent_profile import SentProfile, profile_digest
from postroom.protocols.status.verify import UNSIGNED, ChatRef, VerifiedPayload, verify
from postroom.protocols.status.white_space import is_blank

PLAIN: Final = "plain"
"""A mark: it was written as a dm3 message, not in a chat."""
_PLAIN_TYPE: Final = 0
"""No wrapper has this type: whoever passes on a plain text makes no message of Status of it."""
_PLAIN_CHAT: Final = "plain"
_REMOVED: Final = "(deleted)"
"""The text of a message that the archive has removed."""


@dataclass(frozen=True, slots=True)
class DiscardedMessage:
    """A message whose wrapper was discarded. `message_hash`: of the dm3 message, or of the NLWeb message's ID."""

    partner: str
    message_hash: str
    error: TheirError


@dataclass(slots=True)
class ChatMemory:
    """The chats of one user.

    `hashes`: of the dm3 message that carried a message, by the key of its fact and the partner's name; empty: it is not
    encrypted yet. `wrappers`: of signed messages in channels, which may be passed on, by the same key. `buried`:
    requests to delete messages, with what the archive has left of them.

    `proven`: the names that a key's messages came from, by the key; `looked_up`: those whose profile had it when the
    owner wrote to them or named them to a group, with the time; `said`: what others say of names and domains, with who
    said it and when first. `names_used`: of the members of a group, in a message of the owner, by the key of its fact.
    `channels`: the newest record of each channel. `identities`, `contact_updates`: those that the owner sent.
    `profile`: the newest identity that the owner's devices sent to each other; None: none did. `unsent`: what is not
    delivered yet, by the key of its fact.

    `domains`: the keys of NLWeb domains, which stand beside names as `address_of` names them; `domains_by_key`: those
    that have a key, in order. `is_domain`: the owner has sent messages as one, which a post office has accepted;
    `is_dm3_name`: messages of chats over dm3. `sent_to_domains`: those that a post office has accepted, by their
    Correlations.
    """

    log: ChatLog
    hashes: dict[bytes, dict[str, str]] = field(default_factory=dict)
    wrappers: dict[bytes, CarriedWrapper] = field(default_factory=dict)
    buried: list[tuple[Fact, Tombstone]] = field(default_factory=list)
    proven: dict[ChatKey, set[str]] = field(default_factory=dict)
    looked_up: dict[ChatKey, dict[str, int]] = field(default_factory=dict)
    said: dict[ChatKey, dict[tuple[str, ChatKey], int]] = field(default_factory=dict)
    channels: dict[str, ChannelRecord] = field(default_factory=dict)
    identities: list[SentProfile] = field(default_factory=list)
    names_used: dict[bytes, Mapping[ChatKey, str]] = field(default_factory=dict)
    contact_updates: list[SentContactUpdate] = field(default_factory=list)
    profile: Fact | None = None
    unsent: dict[bytes, list[Unsent]] = field(default_factory=dict)
    domains: dict[str, DomainKey] = field(default_factory=dict)
    domains_by_key: dict[ChatKey, list[str]] = field(default_factory=dict)
    is_domain: bool = False
    is_dm3_name: bool = False
    sent_to_domains: dict[str, ChatEntry] = field(default_factory=dict)
    discarded: list[DiscardedMessage] = field(default_factory=list)

    def view(self) -> ChatView:
        """What is shown of the chats."""
        return ChatView(
            self.log,
            (name for name, record in self.channels.items() if record.is_joined),
            parted=(name for name, record in self.channels.items() if not record.is_joined),
        )

    def id_of(self, fact: Fact) -> MessageId:
        """The ID by which others know a message, too: whoever passes a channel's message on can give it further IDs."""
        carried = self.wrappers.get(fact.key)
        return message_id(fact.author, carried.wrapper) if carried and len(self.log.ids(fact)) > 1 else fact.id

    def key_at(self, name: str) -> ChatKey | None:
        """A key whose messages came from a name; None: none did."""
        return next((key for key, names in self.proven.items() if name in names), None)

    def name_of(self, key: ChatKey) -> str:
        """A name from which messages of a key came, otherwise one that was looked up, or a domain that has it; empty:
        there is none."""
        return next(iter(self.names_of(key)), "")

    def names_proven(self, key: ChatKey) -> list[str]:
        """The names and domains of `names_of` that others have not only said."""
        return [*sorted(self.proven.get(key, ())), *self.addresses_of(key)]

    def names_of(self, key: ChatKey) -> list[str]:
        """The names at which a key may be reached: those proven first, then those that were looked up, the first
        first, then domains."""
        looked_up = self.looked_up.get(key, {})
        names = (*sorted(self.proven.get(key, ())), *sorted(looked_up, key=lambda name: (looked_up[name], name)))
        return [*dict.fromkeys(names), *self.addresses_of(key)]

    def addresses_of(self, key: ChatKey) -> list[str]:
        """The domains that have a key, as `address_of` names them."""
        return [address_of(domain) for domain in self.domains_by_key.get(key, ())]

    def names_said(self, key: ChatKey, may_say: Callable[[ChatKey], bool]) -> list[str]:
        """The names and domains that those who may have said of a key, the first said first: who is in the group that
        is written to."""
        said = ((at_ms, name) for (name, sayer), at_ms in self.said.get(key, {}).items() if may_say(sayer))
        return list(dict.fromkeys(name for _, name in sorted(said)))


def read_memory(reader: ConversationReader) -> ChatMemory:
    """Read all chats of an archive. Raises as `ConversationReader.read` does."""
    # First, because another device may deliver them meanwhile: better found twice than not at all.
    unsent = read_unsent(reader.archive)
    return make_memory(reader.archive.owner, reader.own, unsent, reader.read())


def make_memory(
    owner: str, own: ChatKey, unsent: Iterable[Unsent], conversations: Mapping[str, Sequence[ReadEntry]]
) -> ChatMemory:
    """The memory of what is not delivered yet, and of the entries of conversations, by the partner's name.

    `owner`: the owner's normalised name. `own`: the owner's chat key.
    """
    memory = ChatMemory(ChatLog(own))
    for message in unsent:
        if isinstance(message, UnsentToDomain):
            _add_unsent_to_domain(memory, owner, message)
        else:
            _add_unsent(memory, message)
    for partner, entries in conversations.items():
        _add_conversation(memory, owner, partner, [entry for entry in entries if not _is_of_domain(entry)])
    _add_from_domains(memory, owner, [entry for each in conversations.values() for entry in each])
    _add_buried(memory)
    return memory


def _add_conversation(memory: ChatMemory, owner: str, partner: str, entries: Sequence[ReadEntry]) -> None:
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
                ids |= dict.fromkeys(entry.hashes, MessageId(f"0x{entry.message_hash}"))
        elif entry.payload is not None:
            fact = _add_carried(memory, partner, entry, entry.carried, entry.payload)
            ids |= dict.fromkeys(entry.hashes, fact.id)
            if entry.carrier == memory.log.own:
                memory.is_dm3_name = True
                other = other or _other_of_two(memory, fact)
                _note_looked_up(memory, fact, entry.carried, partner, entry.came_ms)
            else:
                for said in said_over_dm3(entry):
                    _note_said(memory, said)
            _note_buried(memory, fact, entry, removed)
            if entry.author == owner == partner and entry.carrier == memory.log.own:
                _note_channel(memory, entry.channel)
                _note_profile(memory, fact)
        elif entry.error is not None:
            memory.discarded.append(DiscardedMessage(partner, entry.message_hash, entry.error))
    for entry in plain:
        chat = entry.carrier if entry.author != owner else memory.key_at(partner) or other
        if chat is not None and (message := _plain_message(entry, ids)) is not None:
            fact = memory.log.add(_plain_fact(entry, message, chat), entry.came_ms)
            memory.hashes.setdefault(fact.key, {})[partner] = entry.message_hash


def _is_of_domain(entry: ReadEntry) -> TypeGuard[ChatEntry]:
    return isinstance(entry, ChatEntry) and bool(entry.domain)


def _add_from_domains(memory: ChatMemory, owner: str, entries: Iterable[ReadEntry]) -> None:
    """Add NLWeb messages: first what is the owner's, which can say whose keys domains have."""
    own, of_others = memory.log.own, []
    for entry in filter(_is_of_domain, entries):
        if entry.payload is None:
            _note_discarded(memory, entry, entry.error)
        elif entry.carrier or (entry.domain == owner and entry.payload.author == own):
            memory.proven.setdefault(own, set()).add(owner)
            memory.is_domain = True
            if entry.correlation:
                memory.sent_to_domains[entry.correlation] = entry
            _add_from_domain(memory, owner, entry, entry.payload)
        else:
            of_others.append(entry)
    came = [entry for entry in of_others if entry.domain != owner]
    memory.domains = keys_of_domains(memory.log, came)
    memory.domains_by_key = domains_by_key(memory.domains)
    for said in said_by_domains(memory.domains, came, frozenset({own, owner})):
        _note_said(memory, said)
    for entry in of_others:
        if entry.payload is None:
            continue
        try:
            check_author(entry.payload, own)
        except TheirError as error:
            _note_discarded(memory, entry, error)
        else:
            payload = marked(entry.payload, memory.domains.get(entry.domain, DomainKey()).key)
            _add_from_domain(memory, owner, entry, payload)


def _add_from_domain(memory: ChatMemory, owner: str, entry: ChatEntry, payload: VerifiedPayload) -> None:
    if entry.carried is not None:
        fact = _add_carried(memory, address_of(entry.domain), entry, entry.carried, payload)
        if entry.domain == owner and fact.author == memory.log.own:
            _note_profile(memory, fact)
            _note_channel_of_domain(memory, fact, entry.channel)


def _note_discarded(memory: ChatMemory, entry: ChatEntry, error: TheirError | None) -> None:
    if error is not None:
        memory.discarded.append(DiscardedMessage(address_of(entry.domain), entry.message_hash, error))


def _note_looked_up(memory: ChatMemory, fact: Fact, carried: CarriedWrapper, receiver: str, at_ms: int) -> None:
    """The names that the owner's devices looked up to send a message of the owner."""
    other = _other_of_two(memory, fact)
    for key, name in (*carried.names.items(), *([(other, receiver)] if other else [])):
        known = memory.looked_up.setdefault(key, {})
        known[name] = min(at_ms, known.get(name, at_ms))


def _note_said(memory: ChatMemory, said: SaidName) -> None:
    known = memory.said.setdefault(said.member, {})
    known[said.name, said.sayer] = min(said.at_ms, known.get((said.name, said.sayer), said.at_ms))


def _other_of_two(memory: ChatMemory, fact: Fact) -> ChatKey | None:
    """Whom the owner has written to; None: it is not the owner's, or not in a chat of two."""
    is_own = fact.author == memory.log.own and fact.chat is not None and fact.chat.kind is ChatKind.ONE_TO_ONE
    return ChatKey(fact.chat.id) if fact.chat is not None and is_own else None


def _add_carried(
    memory: ChatMemory, partner: str, entry: ChatEntry, carried: CarriedWrapper, payload: VerifiedPayload
) -> Fact:
    fact = _add_payload(memory, carried, payload, entry.came_ms)
    hashes = memory.hashes.setdefault(fact.key, {})
    # Others refer to the author's own dm3 message, which the author can have removed.
    if entry.carrier == fact.author or not hashes.get(partner):
        hashes[partner] = entry.message_hash
    _note_sent(memory, fact, carried, partner, is_delivered=True)
    return fact


def _add_payload(memory: ChatMemory, carried: CarriedWrapper, payload: VerifiedPayload, at_ms: int) -> Fact:
    fact = memory.log.add(payload, at_ms)
    if fact.chat is not None and fact.chat.kind is ChatKind.PUBLIC_GROUP and UNSIGNED not in fact.marks:
        known = memory.wrappers.get(fact.key)
        if known is None or (known.wrapper != carried.wrapper and is_canonical(carried)):
            memory.wrappers[fact.key] = carried
    return fact


def _note_buried(memory: ChatMemory, fact: Fact, entry: ChatEntry, removed: Mapping[str, Tombstone]) -> None:
    if entry.type is MessageType.DELETE_REQUEST and isinstance(fact.message, DeleteMessage):
        left = removed.get(entry.reference)
        if left is not None and left.author == entry.author:
            memory.buried.append((fact, left))


def _add_buried(memory: ChatMemory) -> None:
    """Add a message in place of each that the archive has removed; one that is still there in another conversation
    stays."""
    if not memory.buried:
        return
    there = {id_ for fact in memory.log if isinstance(fact.message, ChatMessage) for id_ in memory.log.ids(fact)}
    for deletion, left in memory.buried:
        if not isinstance(deletion.message, DeleteMessage) or deletion.chat is None:
            continue
        id_, chat = deletion.message.message_id, deletion.chat
        if id_ not in there and left.timestamp_ms > 0:
            at_ms = left.timestamp_ms
            message = ChatMessage(at_ms, at_ms, _REMOVED, chat.id, chat.kind, ContentType.TEXT_PLAIN)
            payload = VerifiedPayload(MessageId(id_), deletion.author, _PLAIN_TYPE, id_.encode(), message, chat)
            memory.log.add(payload, at_ms)


def _note_sent(memory: ChatMemory, fact: Fact, carried: CarriedWrapper, receiver: str, *, is_delivered: bool) -> None:
    """To whom the owner's message went, and what it says of the owner."""
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


def _note_profile(memory: ChatMemory, fact: Fact) -> None:
    known = memory.profile
    if isinstance(fact.message, ChatMessageIdentity) and (known is None or place_of(fact) > place_of(known)):
        memory.profile = fact


def _note_channel(memory: ChatMemory, record: ChannelRecord | None) -> None:
    known = memory.channels.get(record.channel) if record else None
    if record is not None and (known is None or record > known):
        memory.channels[record.channel] = record


def _note_channel_of_domain(memory: ChatMemory, fact: Fact, record: ChannelRecord | None) -> None:
    # Others may write for the domain, but only the owner can sign for the owner's devices.
    if record is not None and belongs_to(record, fact.message):
        _note_channel(memory, record)


def _add_unsent(memory: ChatMemory, unsent: UnsentMessage) -> None:
    """The owner's message counts from when it was written, whether it was delivered or not."""
    carried = find_wrapper(unsent.message)
    if carried is None:
        return
    own = memory.log.own
    payload = verify_carried(carried, unsent.message.message or "", carrier=own, own=own)
    fact = _add_payload(memory, carried, payload, unsent.timestamp_ms)
    receiver = normalize(unsent.to)
    memory.unsent.setdefault(fact.key, []).append(unsent)
    memory.hashes.setdefault(fact.key, {})[receiver] = unsent.sealed.message_hash if unsent.sealed else ""
    _note_looked_up(memory, fact, carried, receiver, unsent.timestamp_ms)
    _note_sent(memory, fact, carried, receiver, is_delivered=False)
    if receiver == normalize(unsent.message.metadata.sender):
        _note_channel(memory, find_channel(unsent.message))
        _note_profile(memory, fact)


def _add_unsent_to_domain(memory: ChatMemory, owner: str, unsent: UnsentToDomain) -> None:
    payload = verify(unsent.carried.wrapper, own=memory.log.own, named=unsent.carried.type)
    fact = _add_payload(memory, unsent.carried, payload, unsent.timestamp_ms)
    memory.unsent.setdefault(fact.key, []).append(unsent)
    memory.hashes.setdefault(fact.key, {}).setdefault(unsent.to, "")
    _note_sent(memory, fact, unsent.carried, unsent.to, is_delivered=False)
    if unsent.domain == owner:
        _note_profile(memory, fact)
        _note_channel_of_domain(memory, fact, unsent.channel)


def _plain_message(entry: ChatEntry, ids: Mapping[str, MessageId]) -> StatusMessage | None:
    """A dm3 message as one of a chat; None: it has nothing to show there."""
    if entry.type in NEEDS_NO_TEXT or entry.sent_ms <= 0:
        return None
    text = "(no text)" if is_blank(entry.text) else entry.text
    text = text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"
    about = ids.get(entry.reference, "")
    if entry.type is MessageType.EDIT and about:
        return EditMessage(entry.sent_ms, text, _PLAIN_CHAT, about, ChatKind.ONE_TO_ONE)
    return ChatMessage(
        entry.sent_ms,
        entry.sent_ms,
        text,
        _PLAIN_CHAT,
        ChatKind.ONE_TO_ONE,
        ContentType.TEXT_PLAIN,
        response_to=about,
    )


def _plain_fact(entry: ChatEntry, message: StatusMessage, other: ChatKey) -> VerifiedPayload:
    return VerifiedPayload(
        MessageId(f"0x{entry.message_hash}"),
        entry.carrier,
        _PLAIN_TYPE,
        entry.message_hash.encode(),
        message,
        ChatRef(ChatKind.ONE_TO_ONE, other),
        (PLAIN,),
    )
