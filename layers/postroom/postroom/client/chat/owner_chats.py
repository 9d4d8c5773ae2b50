"""An owner's chats: what is shown, whom a message goes to, and its sending."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from postroom.client.archive import Archive
from postroom.client.chat.carried_wrapper import CarriedWrapper
from postroom.client.chat.channels import ChannelRecord
from postroom.client.chat.delivery import ChatDelivery
from postroom.client.chat.domain_delivery import ChatOutbox
from postroom.client.chat.drafts import drafts_to_domains, drafts_to_names
from postroom.client.chat.errors import ChatError, NoChatKeyError, NoOutboxError, NoSuchChatError
from postroom.client.chat.index import ChatIndex
from postroom.client.chat.late_refusals import LateRefusals
from postroom.client.chat.memory import ChatMemory
from postroom.client.chat.memory_reading import read_memory
from postroom.client.chat.nlweb_carrier import address_of, domain_at
from postroom.client.chat.profiles_sent import contact_update_of, contact_updates_due, names_of_contact, profile_now
from postroom.client.chat.reading import ConversationReader
from postroom.client.chat.sent_to import SentTo
from postroom.client.chat.targets import ChatTarget, TargetFinder
from postroom.client.chat.unsent_to_domain import UnsentToDomain
from postroom.client.dm3 import Dm3Draft, Dm3Sender
from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.chat_view import ChatView, ShownChat, ShownChatMessage
from postroom.protocols.status.clock import MOST_AHEAD_MS, next_clock
from postroom.protocols.status.codec import type_of_message, write_payload
from postroom.protocols.status.enums import ChatKind, PayloadType
from postroom.protocols.status.group_updates import group_update
from postroom.protocols.status.identity import identity_receivers_due
from postroom.protocols.status.ids import MessageId, message_id
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.log import Fact
from postroom.protocols.status.messages import (
    ChatMessage,
    ChatMessageIdentity,
    EmojiReaction,
    StatusMessage,
    SyncInstallationContact,
    clock_of,
)
from postroom.protocols.status.sent_profile import profile_digest
from postroom.protocols.status.verify import ChatRef
from postroom.protocols.status.wrapper import write_wrapper

CHUNK_BYTES: Final = 500_000
"""Of a chunk of the archive: the last one is written again with each message, and chats have many short ones."""
_SHORTEST_PREFIX: Final = 8
"""Characters of an ID's beginning that a user must give, 0x among them."""


@dataclass(frozen=True, slots=True)
class SentChatMessage:
    """A message that was stored, and possibly sent. `unreached`: members of a group whose name nobody knows."""

    id: MessageId
    deliveries: tuple[SentTo, ...]
    unreached: tuple[ChatKey, ...] = ()


class OwnerChats:
    """The chats of the archive's owner. `sender`: sends as the owner, by the keys of the owner's profile.

    `index`: what was read of the archive before, on this machine; None: all of it is read.

    All methods raise as `Archive` and `ChatIndex` do. Raises NoChatKeyError: the keys cannot sign chats.
    """

    def __init__(self, archive: Archive, sender: Dm3Sender, index: ChatIndex | None = None) -> None:
        key = sender.keys.signing.ethereum_key
        if key is None:
            raise NoChatKeyError(
                f"the keys of {sender.name} sign with Ed25519; chats need a profile with a secp256k1 key, as "
                "`postroom dm3 keygen` makes it"
            )
        self._archive = archive.with_chunks_of(CHUNK_BYTES)
        self._sender = sender
        self._key = AuthorKey.from_secret(key.secret)
        self._delivery = ChatDelivery(self._archive, sender)
        self._late_refusals = LateRefusals(self._archive)
        self._reader = ConversationReader(self._archive, self.own, index)
        self._memory: ChatMemory | None = None

    @property
    def own(self) -> ChatKey:
        """The owner's chat key."""
        return self._key.public

    @property
    def name(self) -> str:
        """The owner's name, normalised, or the owner's domain, which may be no dm3 name."""
        return self._archive.owner

    @property
    def memory(self) -> ChatMemory:
        """All chats as of the last `refresh`."""
        if self._memory is None:
            self._memory = read_memory(self._reader)
        return self._memory

    def refresh(self) -> None:
        """Read the archive again, the next time that something in it is needed."""
        self._memory = None

    def send_through(self, outbox: Callable[[], ChatOutbox]) -> None:
        """Send messages to NLWeb domains from now on. `outbox`: opens that of the mailbox of the owner, a domain."""
        self._delivery = replace(self._delivery, outbox=outbox)

    def view(self) -> ChatView:
        """What is shown."""
        return self.memory.view()

    def chats(self) -> list[ShownChat]:
        """All chats."""
        return self.view().chats()

    def messages(self, to: str, last: int | None = None) -> list[ShownChatMessage]:
        """The messages of a chat in order; `last`: the newest so many. Raises ChatError, as `find` does."""
        return self.view().messages(self.find(to).ref, last)

    def find(self, to: str) -> ChatTarget:
        """The chat that a user names: a dm3 name, `#channel`, a group by its ID, or an NLWeb domain as
        `nlweb:shop.example`. A group is also found by its name if one group has it and it looks like none of these.

        The prefix may be left out if there is no such dm3 name, and the domain's key is known.

        Raises NoSuchChatError, NoChatKeyError, ChatError; TheirError and NotNowError as profiles are looked up.
        """
        return self._targets().find(to)

    def _targets(self) -> TargetFinder:
        return TargetFinder(self.memory, self._sender.profiles, self.name)

    def find_message(self, chat: ChatRef, text: str) -> Fact:
        """A message of a chat, by its ID or the beginning of it. Raises NoSuchChatError, ChatError."""
        if len(text) < _SHORTEST_PREFIX:
            raise ChatError(f"{text!r} is too short: give at least {_SHORTEST_PREFIX} characters of a message's ID")
        log = self.memory.log
        found = [fact for fact in log.messages(chat) if any(id_.startswith(text) for id_ in log.ids(fact))]
        if len(found) > 1:
            raise ChatError(f"{len(found)} messages begin with {text}: give more of the ID")
        if not found:
            raise NoSuchChatError(f"this chat has no message {text}: `postroom chat show` lists the IDs")
        return found[0]

    def profile(self) -> ChatMessageIdentity:
        """What the owner says of itself: to whom it writes, and to its contacts."""
        return self._profile(self._now_ms())

    def contacts(self) -> Mapping[ChatKey, SyncInstallationContact]:
        """What the owner's devices say of contacts, and of those who were contacts (`contacts.is_added`)."""
        return self.view().own_devices.contacts

    def update_contacts(self) -> Iterator[SentTo]:
        """Send the owner's name and picture to the contacts who need them now: they are new, the profile has changed,
        or the last update is 48 hours old.

        Not to those whose name has another key, or cannot be looked up: they are tried again the next time.
        """
        contacts = self.contacts()
        names = {key: self._contact_names(key, contact) for key, contact in contacts.items()}
        profile, sent = self.profile(), self.memory.contact_updates
        digest = profile_digest(contact_update_of(profile, profile.clock))
        updates = []
        for key in contact_updates_due(contacts, names, sent, digest, profile.clock):
            ref, name = ChatRef(ChatKind.ONE_TO_ONE, key), self._targets().name_among(key, names[key])
            if name is not None and self._targets().reaches(name):
                clock, now_ms = self._next(ref)
                updates.append((ChatTarget(ref, (name,)), contact_update_of(profile, clock), now_ms))
        for target, update, now_ms in updates:
            yield from self._send(target, update, at_ms=now_ms).deliveries

    def deliver_due(self) -> Iterator[SentTo]:
        """Send all that is to be sent without the owner writing anything: after each pull. What domains have refused
        since is among the outcomes, once."""
        yield from self._find_late_refusals()
        yield from self.deliver_unsent()
        yield from self.pass_on()
        yield from self.update_contacts()

    def pass_on(self) -> Iterator[SentTo]:
        """Pass each signed message of the channels that are relayed on, once, to whoever it did not come from."""
        view, targets = self.view(), self._targets()
        drafts: list[Dm3Draft] = []
        to_domains: list[UnsentToDomain] = []
        for record in self.memory.channels.values():
            if not (record.is_joined and record.relays):
                continue
            ref = ChatRef(ChatKind.PUBLIC_GROUP, record.channel)
            for fact in (*self.memory.log.messages(ref), *self.memory.log.changes(ref)):
                carried = self.memory.wrappers.get(fact.key)
                if carried is None or fact.message is None or view.reason_against(fact) is not None:
                    continue
                known = self.memory.hashes[fact.key].keys() | set(self.memory.names_proven(fact.author))
                new = [each for each in record.receivers if each not in known and targets.reaches(each)]
                if not new:
                    continue
                # What its sender said of others' names is not passed on.
                carried = replace(carried, names={})
                drafts += drafts_to_names(new, fact.message, carried, {})
                to_domains += drafts_to_domains(new, carried, self._now_ms())
        self.refresh()
        yield from self._delivery.deliver(self._delivery.store(drafts, to_domains=to_domains))
        self.refresh()

    def _find_late_refusals(self) -> list[SentTo]:
        """What domains did not take that the post office had accepted: stored, with the reason."""
        unsent = [message for messages in self.memory.unsent.values() for message in messages]
        known = {message.correlation for message in unsent if isinstance(message, UnsentToDomain)}
        sent = {name: entry for name, entry in self.memory.sent_to_domains.items() if name not in known}
        outbox = self._delivery.outbox
        return self._late_refusals.find(outbox, sent, self._now_ms()) if outbox else []

    def deliver_unsent(self) -> Iterator[SentTo]:
        """Send what could not be delivered before."""
        unsent = [message for messages in self.memory.unsent.values() for message in messages]
        self.refresh()
        yield from self._delivery.deliver(unsent)
        self.refresh()

    def _send(
        self,
        target: ChatTarget,
        message: StatusMessage,
        about: Fact | None = None,
        *,
        channel: ChannelRecord | None = None,
        at_ms: int | None = None,
    ) -> SentChatMessage:
        """Store a message, and send it. `channel`: the record beside it. `at_ms`: its time; None: its clock."""
        target = self._targets().reachable(target)
        self._check_receivers(target)
        written = message
        if target.ref.kind is ChatKind.PRIVATE_GROUP and isinstance(message, ChatMessage | EmojiReaction):
            message = group_update(self.memory.log.group(target.ref.id), message)
        carried = self._wrapped(message)
        # Not the time of day: a clock of the chat that is ahead of it must not look as if it came too early.
        at_ms = at_ms or clock_of(written)
        # If nobody can be reached, the archive has to know it all the same.
        receivers = target.receivers or (self._own_address(),)
        domains = {key: name for key, name in target.names.items() if domain_at(name) is not None}
        names = {key: name for key, name in target.names.items() if key not in domains}
        to_domains = drafts_to_domains(receivers, replace(carried, names=domains), at_ms or self._now_ms(), channel)
        if to_domains:
            self._check_outbox(to_domains[0].domain)
        references = self.memory.hashes.get(about.key, {}) if about else {}
        drafts = drafts_to_names(receivers, message, replace(carried, names=names), references, channel)
        self.refresh()
        stored = self._delivery.store(drafts, at_ms, to_domains)
        deliveries = tuple(self._delivery.deliver(stored))
        self.refresh()
        if isinstance(written, ChatMessage):
            # What one says to oneself is the profile on all devices, which this one may not have got yet.
            if target.ref.id != self.own:
                self._send_identity(target)
            for _ in self.update_contacts():
                pass
        return SentChatMessage(message_id(self.own, carried.wrapper), deliveries, target.unreached)

    def _send_to_own_devices(
        self, message: StatusMessage, channel: ChannelRecord | None = None, names: Mapping[ChatKey, str] | None = None
    ) -> SentChatMessage:
        own, address = ChatRef(ChatKind.ONE_TO_ONE, self.own), self._own_address()
        return self._send(ChatTarget(own, (address,), names=names or {}), message, channel=channel)

    def _own_address(self) -> str:
        """Where messages to oneself go: to the owner's dm3 name, or to the domain that the owner is."""
        return address_of(self.name) if self._targets().is_only_domain() else self.name

    def _check_outbox(self, domain: str) -> None:
        """Open the outbox before anything is stored. Raises NoOutboxError; MailboxError: it cannot be used."""
        if self._delivery.outbox is None:
            raise NoOutboxError(
                f"a message to {domain} goes through your own post office: add --at URL, or set POSTROOM_AT"
            )
        self._delivery.outbox()

    def _send_identity(self, target: ChatTarget) -> None:
        """Send the owner's name to whoever needs it now that the owner has written in this chat."""
        identity = self.profile()
        due = identity_receivers_due(
            target.ref.kind,
            target.receivers,
            has_written=True,
            sent=self.memory.identities,
            digest=profile_digest(identity),
            now_ms=identity.clock,
        )
        if due:
            self._send(ChatTarget(target.ref, tuple(sorted(due))), identity)

    def _check_receivers(self, target: ChatTarget) -> None:
        """Check that somebody would see a message. Raises ChatError."""
        if not target.receivers and not target.unreached:
            raise ChatError(
                "the message would go to nobody: `postroom chat join CHANNEL --to NAME` says to whom, and "
                "`postroom chat group add` adds members to a group"
            )
        if target.ref.kind is not ChatKind.PRIVATE_GROUP:
            return
        group = self.memory.log.group(target.ref.id)
        # One that is not known yet is being created.
        if group.is_created and self.own not in group.members:
            raise ChatError("you are not in this group any more: nobody in it would see the message")

    def _wrapped(self, message: StatusMessage) -> CarriedWrapper:
        payload, type_ = write_payload(message), type_of_message(message)
        # The typed wrapper, which clients send, has no number for an identity.
        is_typed = type_ is not PayloadType.CHAT_MESSAGE_IDENTITY
        wrapper = write_wrapper(payload, self._key.sign(payload), type_, typed=is_typed)
        return CarriedWrapper(wrapper, None if is_typed else type_)

    def _next(self, ref: ChatRef) -> tuple[int, int]:
        """The clock of the next message in a chat, and the time.

        A stranger may have put the chat's clock as far ahead as receivers accept: no further, or nobody would see it.
        """
        now_ms = self._now_ms()
        return min(next_clock(now_ms, self.view().clock(ref)), now_ms + MOST_AHEAD_MS), now_ms

    def _now_ms(self) -> int:
        return int(self._sender.clock() * 1000)

    def _profile(
        self, clock: int, display_name: str | None = None, picture: bytes | None = None
    ) -> ChatMessageIdentity:
        fact = self.memory.profile
        known = fact.message if fact and isinstance(fact.message, ChatMessageIdentity) else None
        return profile_now(known, self.name, clock, display_name, picture)

    def _contact_names(self, key: ChatKey, contact: SyncInstallationContact) -> list[str]:
        return names_of_contact(contact, self.memory.proven.get(key, ()))
