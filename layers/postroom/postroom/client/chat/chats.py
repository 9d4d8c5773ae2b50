"""A user's chats over dm3 and NLWeb: what is shown, and sending.

    chats = Chats(archive, Dm3Sender("alice.eth", keys, profiles, https))
    sent = chats.send("bob.eth", "hello")
    for message in chats.messages("bob.eth"):
        print(message.author, message.text)

The archive is the memory: what is sent is stored there before it leaves, and every device that opens the archive shows
the same. `pull` of `client.archive` brings what others sent.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Final, Protocol
from uuid import uuid4

from postroom.client.archive import Archive
from postroom.client.archive.pull import MailSource, Pulled, pull
from postroom.client.archive.receiving import MailReceiver, WaitingMessage
from postroom.client.chat.changes import ChatChange, Shown, all_shown, changes_between
from postroom.client.chat.channels import ChannelRecord, write_channel
from postroom.client.chat.delivery import ChatDelivery
from postroom.client.chat.dm3_carrier import CarriedWrapper, dm3_type, encodings, plain_text
from postroom.client.chat.domain_delivery import ChatOutbox
from postroom.client.chat.domain_keys import trust, trusted_keys
from postroom.client.chat.errors import ChatError, NoChatKeyError, NoOutboxError, NoSuchChatError
from postroom.client.chat.index import ChatIndex
from postroom.client.chat.memory import ChatMemory, read_memory
from postroom.client.chat.nlweb_carrier import address_of, domain_at, receiver_named
from postroom.client.chat.profiles_sent import contact_update_of, contact_updates_due, names_of_contact, profile_now
from postroom.client.chat.reading import ConversationReader
from postroom.client.chat.sent_to import SentTo
from postroom.client.chat.targets import ChatTarget, TargetFinder
from postroom.client.chat.unsent_to_domain import UnsentToDomain
from postroom.client.dm3 import Dm3Draft, Dm3Sender
from postroom.core.errors import NotNowError, TheirError
from postroom.protocols.dm3.names import normalize
from postroom.protocols.dm3.reasons import PROFILE_UNKNOWN
from postroom.protocols.nlweb.names import read_receiver
from postroom.protocols.status import sending
from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.chat_view import ChatView, ShownChat, ShownChatMessage
from postroom.protocols.status.chats import is_channel
from postroom.protocols.status.clock import MOST_AHEAD_MS, next_clock
from postroom.protocols.status.codec import type_of_message, write_payload
from postroom.protocols.status.contacts import changed_contact, is_added
from postroom.protocols.status.enums import ChatKind, PayloadType, ReactionKind
from postroom.protocols.status.group_actions import (
    add_members,
    create_group,
    leave_group,
    make_admins,
    remove_member,
    rename_group,
)
from postroom.protocols.status.group_updates import group_update
from postroom.protocols.status.identity import identity_receivers_due
from postroom.protocols.status.ids import MessageId, message_id
from postroom.protocols.status.keys import ChatKey, read_chat_key
from postroom.protocols.status.log import Fact
from postroom.protocols.status.media import Cleaned, MediaType
from postroom.protocols.status.membership import Group, SignedEvent
from postroom.protocols.status.message_media import MessageMedia, media_of
from postroom.protocols.status.messages import (
    ChatMessage,
    ChatMessageIdentity,
    EmojiReaction,
    PairInstallation,
    StatusMessage,
    StickerMessage,
    SyncClearHistory,
    SyncDeleteForMeMessage,
    SyncInstallationContact,
    SyncInstallationPublicChat,
    clock_of,
)
from postroom.protocols.status.sent_profile import profile_digest
from postroom.protocols.status.verify import ChatRef
from postroom.protocols.status.wrapper import write_wrapper

CHUNK_BYTES: Final = 500_000
"""Of a chunk of the archive: the last one is written again with each message, and chats have many short ones."""
PAUSE_SECONDS: Final = 5.0
"""Before the next pull, while messages stay in the mailbox that cannot be verified or opened now."""
_SHORTEST_PREFIX: Final = 8
"""Characters of an ID's beginning that a user must give, 0x among them."""


@dataclass(frozen=True, slots=True)
class SentChatMessage:
    """A message that was stored, and possibly sent. `unreached`: members of a group whose name nobody knows."""

    id: MessageId
    deliveries: tuple[SentTo, ...]
    unreached: tuple[ChatKey, ...] = ()


class WaitingMail(MailSource, Protocol):
    """A source of messages that can be waited for: `client.mailbox.Mailbox`."""

    def unread(self, *, wait: float | bool = False) -> Iterator[WaitingMessage]:
        """Each message, once. `wait`: for more of them, until none came for so many seconds; True: for ever."""
        ...


class Chats:
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
        self._reader = ConversationReader(self._archive, self.own, index)
        self._memory: ChatMemory | None = None

    @property
    def own(self) -> ChatKey:
        """The owner's chat key."""
        return self._key.public

    @property
    def name(self) -> str:
        """The owner's name, normalised."""
        return normalize(self._sender.name)

    @property
    def memory(self) -> ChatMemory:
        """All chats as of the last `refresh`."""
        if self._memory is None:
            self._memory = read_memory(self._reader)
        return self._memory

    def refresh(self) -> None:
        """Read the archive again, the next time that something is asked of it."""
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

    # --- whom a message goes to ---------------------------------------------------------------------------------

    def find(self, to: str) -> ChatTarget:
        """The chat that a user names: a dm3 name, `#channel`, a group by its ID, or by a name without dots that one
        group has, or an NLWeb domain as `nlweb:shop.example`.

        The prefix may be left out if there is no such dm3 name, and the domain's key is known.

        Raises NoSuchChatError, NoChatKeyError, ChatError; TheirError and NotNowError as profiles are looked up.
        """
        return self._targets().find(to)

    def _targets(self) -> TargetFinder:
        return TargetFinder(self.memory, self._sender.profiles, self.name)

    # --- sending ------------------------------------------------------------------------------------------------

    def send(self, to: str, text: str, *, reply_to: str = "") -> SentChatMessage:
        """Send a text. `reply_to`: the ID of the message that it answers, or its beginning. Raises ChatError, as
        `find`; TheirError(TEXT_INVALID)."""
        return self._write(
            to, reply_to, lambda chat, clock, now_ms, id_: sending.text_message(chat, clock, now_ms, text, id_)
        )

    def send_picture(
        self, to: str, picture: Cleaned, type_: MediaType, text: str = "", *, reply_to: str = ""
    ) -> SentChatMessage:
        """Send a picture that was cleaned (`protocols.status.media`), possibly with a text. Raises as `send` does;
        ValueError: the type is that of a sound."""
        return self._write(
            to,
            reply_to,
            lambda chat, clock, now_ms, id_: sending.image_message(chat, clock, now_ms, picture, type_, text, id_),
        )

    def send_sound(self, to: str, sound: Cleaned, type_: MediaType, *, reply_to: str = "") -> SentChatMessage:
        """Send a sound that was cleaned, with the duration that was counted. Raises as `send` does; ValueError: it is a
        picture."""
        return self._write(
            to, reply_to, lambda chat, clock, now_ms, id_: sending.audio_message(chat, clock, now_ms, sound, type_, id_)
        )

    def send_sticker(self, to: str, sticker: StickerMessage, *, reply_to: str = "") -> SentChatMessage:
        """Send a sticker, by its hash and its pack. Raises as `send` does."""
        return self._write(
            to, reply_to, lambda chat, clock, now_ms, id_: sending.sticker_message(chat, clock, now_ms, sticker, id_)
        )

    def _write(self, to: str, reply_to: str, make: Callable[[ChatRef, int, int, str], ChatMessage]) -> SentChatMessage:
        """Send what `make` makes of the chat, the clock, the time and the ID of the message that it answers."""
        target = self.find(to)
        answered = self.find_message(target.ref, reply_to) if reply_to else None
        clock, now_ms = self._next(target.ref)
        id_ = self.memory.id_of(answered) if answered else ""
        return self._send(target, make(target.ref, clock, now_ms, id_), answered)

    def react(
        self, to: str, message: str, kind: int = ReactionKind.LOVE, *, take_back: bool = False
    ) -> SentChatMessage:
        """React to a message, or take a reaction back. Raises as `send` does."""
        target = self.find(to)
        about = self.find_message(target.ref, message)
        clock, _ = self._next(target.ref)
        id_ = self.memory.id_of(about)
        return self._send(target, sending.reaction(target.ref, clock, id_, kind, retracted=take_back), about)

    def edit(self, to: str, message: str, text: str) -> SentChatMessage:
        """Give one's own message another text. Raises as `send` does."""
        target = self.find(to)
        about = self.find_message(target.ref, message)
        if about.author != self.own:
            raise ChatError("somebody else wrote this message: only its author can edit it")
        clock, _ = self._next(target.ref)
        return self._send(target, sending.edit(target.ref, clock, self.memory.id_of(about), text), about)

    def delete(self, to: str, message: str) -> SentChatMessage:
        """Delete one's own message, or as an admin any of the group, for everybody. Raises as `send` does."""
        target = self.find(to)
        about = self.find_message(target.ref, message)
        if about.author != self.own and self.own not in self.memory.log.group(target.ref.id).admins:
            raise ChatError("somebody else wrote this message: its author or an admin of its group can delete it")
        clock, _ = self._next(target.ref)
        return self._send(target, sending.deletion(target.ref, clock, self.memory.id_of(about)), about)

    def pin(self, to: str, message: str, *, pinned: bool = True) -> SentChatMessage:
        """Pin a message in its chat, or no longer. Raises as `send` does."""
        target = self.find(to)
        about = self.find_message(target.ref, message)
        clock, _ = self._next(target.ref)
        return self._send(target, sending.pin(target.ref, clock, self.memory.id_of(about), pinned=pinned), about)

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

    def media(self, to: str, message: str) -> MessageMedia:
        """The picture or the sound of a message, as received: `clean` it before anything reads it.

        Raises NoSuchChatError: the message is not shown, is deleted or has none; as `send` does.
        """
        ref = self.find(to).ref
        fact = self.find_message(ref, message)
        shown = next(
            (each for each in self.view().messages(ref) if (each.id, each.author) == (fact.id, fact.author)), None
        )
        media = media_of(shown.message) if shown and shown.message else None
        if media is None:
            raise NoSuchChatError(f"the message {message} has no picture and no sound, or is not shown any more")
        return media

    # --- groups -------------------------------------------------------------------------------------------------

    def create_group(self, name: str, members: Sequence[str]) -> SentChatMessage:
        """Create a group of these names and the owner, its admin. Raises ChatError; as `find` does."""
        found = self._members(members)
        with _explained():
            group = create_group(str(uuid4()), self._key, self._now_ms(), name, found.values())
        names = {key: member for member, key in found.items()}
        return self._send_update(group, (), tuple(found), names)

    def add_members(self, to: str, members: Sequence[str]) -> SentChatMessage:
        """Add names to a group, as its admin. Raises ChatError; as `find` does."""
        found = {key: receiver for receiver, key in self._members(members).items()}
        return self._change_group(to, lambda group, clock: add_members(group, self._key, clock, found.keys()), found)

    def remove_member(self, to: str, member: str) -> SentChatMessage:
        """Remove a name from a group, as its admin. Raises ChatError; as `find` does."""
        key = self._key_at(member)
        return self._change_group(to, lambda group, clock: remove_member(group, self._key, clock, key))

    def make_admins(self, to: str, members: Sequence[str]) -> SentChatMessage:
        """Make members of a group admins, as its admin. Raises ChatError; as `find` does."""
        keys = [self._key_at(member) for member in members]
        return self._change_group(to, lambda group, clock: make_admins(group, self._key, clock, keys))

    def rename_group(self, to: str, name: str) -> SentChatMessage:
        """Give a group another name, as its admin. Raises ChatError; as `find` does."""
        return self._change_group(to, lambda group, clock: rename_group(group, self._key, clock, name))

    def leave_group(self, to: str) -> SentChatMessage:
        """Leave a group. Raises ChatError; as `find` does."""
        return self._change_group(to, lambda group, clock: leave_group(group, self._key, clock))

    def _change_group(
        self, to: str, change: Callable[[Group, int], SignedEvent], added: Mapping[ChatKey, str] | None = None
    ) -> SentChatMessage:
        """Change a group, and send that to all members, to those who are added, and to those who are removed."""
        target = self.find(to)
        if target.ref.kind is not ChatKind.PRIVATE_GROUP:
            raise ChatError(f"{to} is no group")
        group = self.memory.log.group(target.ref.id)
        clock, _ = self._next(target.ref)
        with _explained():
            event = change(group, clock)
        names = {**target.names, **(added or {})}
        receivers = dict.fromkeys((*target.receivers, *(added or {}).values()))
        return self._send_update(group, (event,), tuple(receivers), names, target.unreached)

    def _send_update(
        self,
        group: Group,
        new: Sequence[SignedEvent],
        receivers: tuple[str, ...],
        names: Mapping[ChatKey, str],
        unreached: tuple[ChatKey, ...] = (),
    ) -> SentChatMessage:
        ref = ChatRef(ChatKind.PRIVATE_GROUP, group.id)
        names = {**names, self.own: self.name}
        # Who is alone in a group can still change and leave it: the archive has to know.
        target = ChatTarget(ref, receivers if receivers or unreached else (self._own_address(),), unreached, names)
        return self._send(target, group_update(group, new=new))

    def _members(self, names: Sequence[str]) -> dict[str, ChatKey]:
        """The chat keys of names, by receiver. Raises as `_key_at` does."""
        targets = [self._targets().person(name) for name in names]
        return {target.receivers[0]: ChatKey(target.ref.id) for target in targets}

    def _key_at(self, name: str) -> ChatKey:
        """The chat key of a name. Raises NoChatKeyError; TheirError and NotNowError as its profile is looked up."""
        return ChatKey(self._targets().person(name).ref.id)

    # --- channels and one's own devices -------------------------------------------------------------------------

    def join(self, channel: str, receivers: Sequence[str], *, relays: bool = False) -> SentChatMessage:
        """Join a channel, or change whom messages in it go to: names, and domains as `nlweb:shop.example`.

        Raises ChatError, TheirError(NAME_INVALID or WRONG_SHAPE).
        """
        if not is_channel(channel):
            raise ChatError(f"{channel!r} is no channel: it has lower-case letters, digits and hyphens")
        return self._keep_channel(channel, True, tuple(dict.fromkeys(map(receiver_named, receivers))), relays)

    def part(self, channel: str) -> SentChatMessage:
        """Leave a channel. Raises NoSuchChatError."""
        self._targets().channel(channel)
        return self._keep_channel(channel, False, (), False)

    def clear(self, to: str) -> SentChatMessage:
        """Hide all messages of a chat that are there by now, on all devices. Raises as `find` does."""
        ref = self.find(to).ref
        cleared_at = self.view().clock(ref)
        if not cleared_at:
            raise NoSuchChatError("the chat is empty: there is nothing to clear")
        return self._send_to_own_devices(SyncClearHistory(ref.id, cleared_at))

    def hide(self, to: str, message: str) -> SentChatMessage:
        """Hide a message on all of one's own devices; others still see it. Raises as `send` does."""
        about = self.find_message(self.find(to).ref, message).id
        return self._send_to_own_devices(SyncDeleteForMeMessage(self._now_ms(), about))

    def _keep_channel(self, channel: str, is_joined: bool, receivers: tuple[str, ...], relays: bool) -> SentChatMessage:
        known = self.memory.channels.get(channel)
        clock = next_clock(self._now_ms(), known.clock if known else 0)
        record = ChannelRecord(channel, clock, is_joined, receivers, relays)
        return self._send_to_own_devices(SyncInstallationPublicChat(clock, channel), (write_channel(record),))

    def _send_to_own_devices(
        self, message: StatusMessage, more: tuple[str, ...] = (), names: Mapping[ChatKey, str] | None = None
    ) -> SentChatMessage:
        own, address = ChatRef(ChatKind.ONE_TO_ONE, self.own), self._own_address()
        if more and domain_at(address) is not None:
            raise ChatError(f"{self.name} has no dm3 profile, and channels need one: they are kept in dm3 messages")
        return self._send(ChatTarget(own, (address,), names=names or {}), message, more=more)

    def _own_address(self) -> str:
        """Where messages to oneself go: to the owner's dm3 name, or to the domain that the owner is."""
        try:
            self._sender.profiles.user(self.name)
        except NotNowError:
            is_domain = self.memory.is_domain
            if not is_domain and self.name not in self.memory.proven.get(self.own, ()):
                raise
        except TheirError as error:
            is_domain = error.reason == PROFILE_UNKNOWN
        else:
            is_domain = False
        return address_of(self.name) if is_domain else self.name

    # --- keys of domains ------------------------------------------------------------------------------------------

    def trust(self, domain: str, key: ChatKey) -> SentChatMessage:
        """Take a key as that of an NLWeb domain, on all devices, whatever key came first.

        Raises ChatError, TheirError(WRONG_SHAPE): it is no domain.
        """
        if key == self.own:
            raise ChatError("this is your own key: trust that of somebody else's domain")
        name = read_receiver(domain_at(domain) or domain, "the domain")
        if name == self.name:
            raise ChatError("this is your own domain: its key is yours")
        known = self.contacts().get(key)
        said, _ = trusted_keys(self.memory.log).get(name, (0, key))
        clock = next_clock(self._now_ms(), max(said, known.last_updated if known else 0))
        return self._send_to_own_devices(trust(key, name, clock, known))

    # --- one's profile, contacts and devices ----------------------------------------------------------------------

    def profile(self) -> ChatMessageIdentity:
        """What the owner says of itself: to whom it writes, and to its contacts."""
        return self._profile(self._now_ms())

    def change_profile(self, *, display_name: str | None = None, picture: bytes | None = None) -> SentChatMessage:
        """Change it, on all devices; contacts get it now, others with the next message. None: as it is; empty: none.

        `picture`: a PNG, JPEG, WebP or GIF, cleaned. Raises TheirError: one of them cannot be sent.
        """
        known = self.memory.profile
        clock = next_clock(self._now_ms(), known.clock if known else 0)
        return self._and_contacts(self._send_to_own_devices(self._profile(clock, display_name, picture)))

    def contacts(self) -> Mapping[ChatKey, SyncInstallationContact]:
        """What the owner's devices say of contacts, and of those who were contacts (`contacts.is_added`)."""
        return self.view().own_devices.contacts

    def add_contact(self, name: str) -> SentChatMessage:
        """Make somebody a contact, on all devices: who gets a contact update now, and after each change.

        Raises ChatError; as `find` does.
        """
        target = self._targets().person(name)
        key, [receiver] = ChatKey(target.ref.id), target.receivers
        if key == self.own:
            raise ChatError("this is you: a contact is somebody else")
        if domain_at(receiver) is not None:
            raise ChatError(f"{name} is an NLWeb domain: contacts have dm3 names")
        return self._and_contacts(self._keep_contact(key, receiver, added=True))

    def remove_contact(self, name: str) -> SentChatMessage:
        """Make somebody no contact any more, on all devices: a name with all of its keys, or a chat key.

        Raises NoSuchChatError.
        """
        with suppress(TheirError):
            name = name if read_chat_key(name) else normalize(name)
        found = [
            key
            for key, contact in self.contacts().items()
            if is_added(contact) and (name == key or name in self._contact_names(key, contact))
        ]
        if not found:
            raise NoSuchChatError(f"{name} is no contact: `postroom chat contact list` lists them")
        *others, last = (self._keep_contact(key, "", added=False) for key in found)
        return replace(last, deliveries=(*(each for sent in others for each in sent.deliveries), *last.deliveries))

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
            if name is not None:
                clock, now_ms = self._next(ref)
                updates.append((ChatTarget(ref, (name,)), contact_update_of(profile, clock), now_ms))
        for target, update, now_ms in updates:
            yield from self._send(target, update, at_ms=now_ms).deliveries

    def devices(self) -> Mapping[str, PairInstallation]:
        """What each of the owner's devices says of itself, by its installation ID."""
        return self.view().own_devices.devices

    def name_device(self, installation_id: str, name: str, device_type: str = "desktop") -> SentChatMessage:
        """Say on all of the owner's devices what one of them is called. Raises TheirError(PAYLOAD_INVALID): it is
        blank."""
        known = self.devices().get(installation_id)
        clock = next_clock(self._now_ms(), known.clock if known else 0)
        return self._send_to_own_devices(PairInstallation(clock, installation_id, device_type, name))

    def _profile(
        self, clock: int, display_name: str | None = None, picture: bytes | None = None
    ) -> ChatMessageIdentity:
        fact = self.memory.profile
        known = fact.message if fact and isinstance(fact.message, ChatMessageIdentity) else None
        return profile_now(known, self.name, clock, display_name, picture)

    def _contact_names(self, key: ChatKey, contact: SyncInstallationContact) -> list[str]:
        return names_of_contact(contact, self.memory.proven.get(key, ()))

    def _keep_contact(self, key: ChatKey, name: str, *, added: bool) -> SentChatMessage:
        known = self.contacts().get(key)
        clock = next_clock(self._now_ms(), max(known.clock, known.last_updated) if known else 0)
        ens_name = name if "." in name else ""
        message = changed_contact(key, known, clock, ens_name=ens_name, added=added)
        return self._send_to_own_devices(message, names={key: name} if name else {})

    def _and_contacts(self, sent: SentChatMessage) -> SentChatMessage:
        """What was sent to the owner's devices, and the contact updates that follow from it."""
        return replace(sent, deliveries=(*sent.deliveries, *self.update_contacts()))

    # --- delivery -----------------------------------------------------------------------------------------------

    def pull(self, mail: MailSource, met: Callable[[int], object] = lambda _: None) -> Pulled:
        """Bring waiting mail into the archive, as `client.archive.pull` does. `met`: with the messages of each step."""
        receiver = MailReceiver(self.name, self._sender.keys, self._sender.profiles)
        try:
            return pull(mail, self._archive, receiver, met)
        finally:
            self.refresh()

    def watch(self, mail: WaitingMail, wait: float | bool = True) -> Iterator[ChatChange]:
        """Pull again and again, and yield each change; what is there at first is no change.

        `wait`: end when no message came for so many seconds; True: never.
        """
        shown = all_shown(self.view())
        while True:
            pulled, changes, shown = self.pull_changes(mail, shown)
            yield from changes
            if not has_mail(mail, wait):
                return
            if stays(pulled):
                time.sleep(PAUSE_SECONDS)

    def pull_changes(self, mail: MailSource, shown: Shown) -> tuple[Pulled, list[ChatChange], Shown]:
        """Pull, send what waits to be sent, and compare with what was shown; what is shown now."""
        pulled = self.pull(mail)
        for _ in self.deliver_due():
            pass
        after = all_shown(self.view())
        return pulled, list(changes_between(shown, after)), after

    def deliver_due(self) -> Iterator[SentTo]:
        """Send all that is to be sent without the owner writing anything: after each pull."""
        yield from self.deliver_unsent()
        yield from self.pass_on()
        yield from self.update_contacts()

    def pass_on(self) -> Iterator[SentTo]:
        """Pass each signed message of the channels that are relayed on, once, to whoever it did not come from."""
        view = self.view()
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
                known = self.memory.hashes[fact.key].keys() | self.memory.proven.get(fact.author, set())
                text = plain_text(fact.message)
                type_ = carried.type or type_of_message(fact.message)
                uris = encodings(carried.wrapper, type_, {}, typed=carried.type is None)
                new = [each for each in record.receivers if each not in known]
                drafts += [Dm3Draft(each, text, encodings=uris) for each in new if domain_at(each) is None]
                to_domains += _for_domains(new, CarriedWrapper(carried.wrapper, carried.type), self._now_ms())
        self.refresh()
        yield from self._delivery.deliver(self._delivery.store(drafts, to_domains=to_domains))
        self.refresh()

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
        more: tuple[str, ...] = (),
        at_ms: int | None = None,
    ) -> SentChatMessage:
        """Store a message, and send it. `at_ms`: its time; None: its clock."""
        if not target.receivers and not target.unreached:
            raise ChatError(
                "the message would go to nobody: `postroom chat join CHANNEL --to NAME` says to whom, and "
                "`postroom chat group add` adds members to a group"
            )
        if target.ref.kind is ChatKind.PRIVATE_GROUP and not self._is_member(target.ref):
            raise ChatError("you are not in this group any more: nobody in it would see the message")
        written = message
        if target.ref.kind is ChatKind.PRIVATE_GROUP and isinstance(message, ChatMessage | EmojiReaction):
            message = group_update(self.memory.log.group(target.ref.id), message)
        wrapper, type_ = self._wrapped(message)
        # Not the time of day: a clock of the chat that is ahead of it must not look as if it came too early.
        at_ms = at_ms or clock_of(written)
        carried = CarriedWrapper(wrapper, None if _is_typed(type_) else type_)
        to_domains = _for_domains(target.receivers, carried, at_ms or self._now_ms())
        if to_domains:
            self._check_outbox(to_domains[0].domain)
        names = {key: name for key, name in target.names.items() if domain_at(name) is None}
        hashes = self.memory.hashes.get(about.key, {}) if about else {}
        drafts = []
        for receiver in target.receivers:
            if domain_at(receiver) is not None:
                continue
            reference = hashes.get(receiver) or None
            drafts.append(
                Dm3Draft(
                    receiver,
                    plain_text(message),
                    dm3_type(message, has_reference=reference is not None),
                    reference,
                    encodings=(*encodings(wrapper, type_, names, typed=_is_typed(type_)), *more),
                )
            )
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
        return SentChatMessage(message_id(self.own, wrapper), deliveries, target.unreached)

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

    def _is_member(self, ref: ChatRef) -> bool:
        """Whether the owner is in a group; one that is not known yet is being created."""
        group = self.memory.log.group(ref.id)
        return not group.is_created or self.own in group.members

    def _wrapped(self, message: StatusMessage) -> tuple[bytes, PayloadType]:
        payload, type_ = write_payload(message), type_of_message(message)
        return write_wrapper(payload, self._key.sign(payload), type_, typed=_is_typed(type_)), type_

    def _next(self, ref: ChatRef) -> tuple[int, int]:
        """The clock of the next message in a chat, and the time.

        A stranger may have put the chat's clock as far ahead as receivers accept: no further, or nobody would see it.
        """
        now_ms = self._now_ms()
        return min(next_clock(now_ms, self.view().clock(ref)), now_ms + MOST_AHEAD_MS), now_ms

    def _now_ms(self) -> int:
        return int(self._sender.clock() * 1000)


def stays(pulled: Pulled) -> bool:
    """Whether messages stay in the mailbox, and nothing else came: to pull at once again would be in vain."""
    return not pulled.kept and bool(pulled.left or pulled.unopened or pulled.damaged)


def has_mail(mail: WaitingMail, wait: float | bool) -> bool:
    """Whether a message is there, or comes within so many seconds; True: wait until one comes."""
    return next(iter(mail.unread(wait=wait)), None) is not None


def _for_domains(receivers: Sequence[str], carried: CarriedWrapper, at_ms: int) -> list[UnsentToDomain]:
    """A message for those receivers that are domains."""
    domains = [domain for receiver in receivers if (domain := domain_at(receiver)) is not None]
    return [UnsentToDomain(domain, carried, at_ms) for domain in domains]


@contextmanager
def _explained() -> Iterator[None]:
    """What the members of a group would ignore is a ChatError."""
    try:
        yield
    except ValueError as error:
        raise ChatError(str(error)) from None


def _is_typed(type_: PayloadType) -> bool:
    return type_ is not PayloadType.CHAT_MESSAGE_IDENTITY
