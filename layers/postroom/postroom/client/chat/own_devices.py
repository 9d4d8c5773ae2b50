"""Messages of an owner to their own devices: channels, cleared history, contacts, the profile and keys of domains."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from postroom.client.chat.channels import ChannelRecord, channel_message
from postroom.client.chat.domain_keys import trust, trusted_keys
from postroom.client.chat.errors import ChatError, NoSuchChatError
from postroom.client.chat.nlweb_carrier import domain_at, receiver_named
from postroom.client.chat.owner_chats import OwnerChats, SentChatMessage
from postroom.client.chat.targets import ChatTarget
from postroom.core.errors import TheirError
from postroom.protocols.dm3.names import normalize
from postroom.protocols.nlweb.names import read_receiver
from postroom.protocols.status.chats import is_channel
from postroom.protocols.status.clock import next_clock
from postroom.protocols.status.contacts import changed_contact, is_added
from postroom.protocols.status.enums import ChatKind
from postroom.protocols.status.keys import ChatKey, read_chat_key
from postroom.protocols.status.messages import (
    PairInstallation,
    SyncClearHistory,
    SyncDeleteForMeMessage,
)
from postroom.protocols.status.verify import ChatRef


class OwnDeviceChats(OwnerChats):
    """An owner's chats, with what all devices of the owner learn."""

    def join(self, channel: str, receivers: Sequence[str], *, relays: bool = False) -> SentChatMessage:
        """Join a channel, or change whom messages in it go to: names, and domains as `nlweb:shop.example`.

        Raises ChatError, TheirError(NAME_INVALID or WRONG_SHAPE).
        """
        if not is_channel(channel):
            raise ChatError(f"{channel!r} is no channel: it has lower-case letters, digits and hyphens")
        named = tuple(dict.fromkeys(map(receiver_named, receivers)))
        self._targets().reachable(ChatTarget(ChatRef(ChatKind.PUBLIC_GROUP, channel), named))
        return self._keep_channel(channel, True, named, relays)

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
        return self._send_to_own_devices(channel_message(record), record)

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
        clock = next_clock(self._now_ms(), max(said, known.clock if known else 0))
        return self._send_to_own_devices(trust(key, name, clock, known))

    def change_profile(self, *, display_name: str | None = None, picture: bytes | None = None) -> SentChatMessage:
        """Change it, on all devices; contacts get it now, others with the next message. None: as it is; empty: none.

        `picture`: a PNG, JPEG, WebP or GIF, cleaned. Raises TheirError: one of them cannot be sent.
        """
        known = self.memory.profile
        clock = next_clock(self._now_ms(), known.clock if known else 0)
        return self._and_contacts(self._send_to_own_devices(self._profile(clock, display_name, picture)))

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
        self._targets().reachable(target)
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

    def devices(self) -> Mapping[str, PairInstallation]:
        """What each of the owner's devices says of itself, by its installation ID."""
        return self.view().own_devices.devices

    def name_device(self, installation_id: str, name: str, device_type: str = "desktop") -> SentChatMessage:
        """Say on all of the owner's devices what one of them is called. Raises TheirError(PAYLOAD_INVALID): it is
        blank."""
        known = self.devices().get(installation_id)
        clock = next_clock(self._now_ms(), known.clock if known else 0)
        return self._send_to_own_devices(PairInstallation(clock, installation_id, device_type, name))

    def _keep_contact(self, key: ChatKey, name: str, *, added: bool) -> SentChatMessage:
        known = self.contacts().get(key)
        clock = next_clock(self._now_ms(), max(known.clock, known.last_updated) if known else 0)
        ens_name = name if "." in name else ""
        message = changed_contact(key, known, clock, ens_name=ens_name, added=added)
        return self._send_to_own_devices(message, names={key: name} if name else {})

    def _and_contacts(self, sent: SentChatMessage) -> SentChatMessage:
        """What was sent to the owner's devices, and the contact updates that follow from it."""
        return replace(sent, deliveries=(*sent.deliveries, *self.update_contacts()))
