# Written by `make unasync` from owner_chats.py, chats.py, groups.py, own_devices.py, which are the ones to edit.
"""A user's chats for asyncio."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from postroom.client.archive.pull import MailSource, Pulled
from postroom.client.chat.domain_delivery import ChatOutbox
from postroom.client.chat.in_thread import ChatsInThread
from postroom.client.chat.owner_chats import SentChatMessage
from postroom.client.chat.sent_to import SentTo
from postroom.client.chat.targets import ChatTarget
from postroom.protocols.status.chat_view import ShownChat, ShownChatMessage
from postroom.protocols.status.enums import ReactionKind
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.log import Fact
from postroom.protocols.status.media import Cleaned, MediaType
from postroom.protocols.status.message_media import MessageMedia
from postroom.protocols.status.messages import (
    ChatMessageIdentity,
    PairInstallation,
    StickerMessage,
    SyncInstallationContact,
)
from postroom.protocols.status.verify import ChatRef


class AsyncChats(ChatsInThread):
    """The chats of the archive's owner, for asyncio.

        chats = AsyncChats(Chats(archive, Dm3Sender("alice.eth", keys, profiles, https)))
        sent = await chats.send("bob.eth", "hello")
        async for change in chats.watch(mailbox):
            print(change.message.text)

    Each method does what the method of `Chats` with its name does, in a thread.
    """

    async def refresh(self) -> None:
        """Read the archive again, the next time that something in it is needed."""
        await self._in_thread(self._chats.refresh)

    async def send_through(self, outbox: Callable[[], ChatOutbox]) -> None:
        """Send messages to NLWeb domains from now on. `outbox`: opens that of the mailbox of the owner, a domain."""
        await self._in_thread(partial(self._chats.send_through, outbox))

    async def chats(self) -> list[ShownChat]:
        """All chats."""
        return await self._in_thread(self._chats.chats)

    async def messages(self, to: str, last: int | None = None) -> list[ShownChatMessage]:
        """The messages of a chat in order; `last`: the newest so many. Raises ChatError, as `find` does."""
        return await self._in_thread(partial(self._chats.messages, to, last))

    async def find(self, to: str) -> ChatTarget:
        """The chat that a user names: a dm3 name, `#channel`, a group by its ID, or an NLWeb domain as
        `nlweb:shop.example`. A group is also found by its name if one group has it and it looks like none of these.

        The prefix may be left out if there is no such dm3 name, and the domain's key is known.

        Raises NoSuchChatError, NoChatKeyError, ChatError; TheirError and NotNowError as profiles are looked up.
        """
        return await self._in_thread(partial(self._chats.find, to))

    async def find_message(self, chat: ChatRef, text: str) -> Fact:
        """A message of a chat, by its ID or the beginning of it. Raises NoSuchChatError, ChatError."""
        return await self._in_thread(partial(self._chats.find_message, chat, text))

    async def profile(self) -> ChatMessageIdentity:
        """What the owner says of itself: to whom it writes, and to its contacts."""
        return await self._in_thread(self._chats.profile)

    async def contacts(self) -> Mapping[ChatKey, SyncInstallationContact]:
        """What the owner's devices say of contacts, and of those who were contacts (`contacts.is_added`)."""
        return await self._in_thread(self._chats.contacts)

    async def update_contacts(self) -> list[SentTo]:
        """Send the owner's name and picture to the contacts who need them now: they are new, the profile has changed,
        or the last update is 48 hours old.

        Not to those whose name has another key, or cannot be looked up: they are tried again the next time.
        """
        return await self._in_thread(lambda: list(self._chats.update_contacts()))

    async def deliver_due(self) -> list[SentTo]:
        """Send all that is to be sent without the owner writing anything: after each pull. What domains have refused
        since is among the outcomes, once."""
        return await self._in_thread(lambda: list(self._chats.deliver_due()))

    async def pass_on(self) -> list[SentTo]:
        """Pass each signed message of the channels that are relayed on, once, to whoever it did not come from."""
        return await self._in_thread(lambda: list(self._chats.pass_on()))

    async def deliver_unsent(self) -> list[SentTo]:
        """Send what could not be delivered before."""
        return await self._in_thread(lambda: list(self._chats.deliver_unsent()))

    async def send(self, to: str, text: str, *, reply_to: str = "") -> SentChatMessage:
        """Send a text. `reply_to`: the ID of the message that it answers, or its beginning. Raises ChatError, as
        `find`; TheirError(TEXT_INVALID)."""
        return await self._in_thread(partial(self._chats.send, to, text, reply_to=reply_to))

    async def send_picture(
        self, to: str, picture: Cleaned, type_: MediaType, text: str = "", *, reply_to: str = ""
    ) -> SentChatMessage:
        """Send a picture that was cleaned (`protocols.status.media`), possibly with a text. Raises as `send` does;
        ValueError: the type is that of a sound."""
        return await self._in_thread(partial(self._chats.send_picture, to, picture, type_, text, reply_to=reply_to))

    async def send_sound(self, to: str, sound: Cleaned, type_: MediaType, *, reply_to: str = "") -> SentChatMessage:
        """Send a sound that was cleaned, with the duration that was counted. Raises as `send` does; ValueError: it is a
        picture."""
        return await self._in_thread(partial(self._chats.send_sound, to, sound, type_, reply_to=reply_to))

    async def send_sticker(self, to: str, sticker: StickerMessage, *, reply_to: str = "") -> SentChatMessage:
        """Send a sticker, by its hash and its pack. Raises as `send` does."""
        return await self._in_thread(partial(self._chats.send_sticker, to, sticker, reply_to=reply_to))

    async def react(
        self, to: str, message: str, kind: int = ReactionKind.LOVE, *, take_back: bool = False
    ) -> SentChatMessage:
        """React to a message, or take a reaction back. Raises as `send` does."""
        return await self._in_thread(partial(self._chats.react, to, message, kind, take_back=take_back))

    async def edit(self, to: str, message: str, text: str) -> SentChatMessage:
        """Give one's own message another text. Raises as `send` does."""
        return await self._in_thread(partial(self._chats.edit, to, message, text))

    async def delete(self, to: str, message: str) -> SentChatMessage:
        """Delete one's own message, or as an admin any of the group, for everybody. Raises as `send` does."""
        return await self._in_thread(partial(self._chats.delete, to, message))

    async def pin(self, to: str, message: str, *, pinned: bool = True) -> SentChatMessage:
        """Pin a message in its chat, or no longer. Raises as `send` does."""
        return await self._in_thread(partial(self._chats.pin, to, message, pinned=pinned))

    async def media(self, to: str, message: str) -> MessageMedia:
        """The picture or the sound of a message, as received: `clean` it before anything reads it.

        Raises NoSuchChatError: the message is not shown, is deleted or has none; as `send` does.
        """
        return await self._in_thread(partial(self._chats.media, to, message))

    async def pull(self, mail: MailSource, met: Callable[[int], object] = lambda _: None) -> Pulled:
        """Bring waiting mail into the archive, as `client.archive.pull` does. `met`: with the messages of each step."""
        return await self._in_thread(partial(self._chats.pull, mail, met))

    async def create_group(self, name: str, members: Sequence[str]) -> SentChatMessage:
        """Create a group of these names and the owner, its admin. Raises ChatError; as `find` does."""
        return await self._in_thread(partial(self._chats.create_group, name, members))

    async def add_members(self, to: str, members: Sequence[str]) -> SentChatMessage:
        """Add names to a group, as its admin. Raises ChatError; as `find` does."""
        return await self._in_thread(partial(self._chats.add_members, to, members))

    async def remove_member(self, to: str, member: str) -> SentChatMessage:
        """Remove a name from a group, as its admin. Raises ChatError; as `find` does."""
        return await self._in_thread(partial(self._chats.remove_member, to, member))

    async def make_admins(self, to: str, members: Sequence[str]) -> SentChatMessage:
        """Make members of a group admins, as its admin. Raises ChatError; as `find` does."""
        return await self._in_thread(partial(self._chats.make_admins, to, members))

    async def rename_group(self, to: str, name: str) -> SentChatMessage:
        """Give a group another name, as its admin. Raises ChatError; as `find` does."""
        return await self._in_thread(partial(self._chats.rename_group, to, name))

    async def leave_group(self, to: str) -> SentChatMessage:
        """Leave a group. Raises ChatError; as `find` does."""
        return await self._in_thread(partial(self._chats.leave_group, to))

    async def join(self, channel: str, receivers: Sequence[str], *, relays: bool = False) -> SentChatMessage:
        """Join a channel, or change whom messages in it go to: names, and domains as `nlweb:shop.example`.

        Raises ChatError, TheirError(NAME_INVALID or WRONG_SHAPE).
        """
        return await self._in_thread(partial(self._chats.join, channel, receivers, relays=relays))

    async def part(self, channel: str) -> SentChatMessage:
        """Leave a channel. Raises NoSuchChatError."""
        return await self._in_thread(partial(self._chats.part, channel))

    async def clear(self, to: str) -> SentChatMessage:
        """Hide all messages of a chat that are there by now, on all devices. Raises as `find` does."""
        return await self._in_thread(partial(self._chats.clear, to))

    async def hide(self, to: str, message: str) -> SentChatMessage:
        """Hide a message on all of one's own devices; others still see it. Raises as `send` does."""
        return await self._in_thread(partial(self._chats.hide, to, message))

    async def trust(self, domain: str, key: ChatKey) -> SentChatMessage:
        """Take a key as that of an NLWeb domain, on all devices, whatever key came first.

        Raises ChatError, TheirError(WRONG_SHAPE): it is no domain.
        """
        return await self._in_thread(partial(self._chats.trust, domain, key))

    async def change_profile(self, *, display_name: str | None = None, picture: bytes | None = None) -> SentChatMessage:
        """Change it, on all devices; contacts get it now, others with the next message. None: as it is; empty: none.

        `picture`: a PNG, JPEG, WebP or GIF, cleaned. Raises TheirError: one of them cannot be sent.
        """
        return await self._in_thread(partial(self._chats.change_profile, display_name=display_name, picture=picture))

    async def add_contact(self, name: str) -> SentChatMessage:
        """Make somebody a contact, on all devices: who gets a contact update now, and after each change.

        Raises ChatError; as `find` does.
        """
        return await self._in_thread(partial(self._chats.add_contact, name))

    async def remove_contact(self, name: str) -> SentChatMessage:
        """Make somebody no contact any more, on all devices: a name with all of its keys, or a chat key.

        Raises NoSuchChatError.
        """
        return await self._in_thread(partial(self._chats.remove_contact, name))

    async def devices(self) -> Mapping[str, PairInstallation]:
        """What each of the owner's devices says of itself, by its installation ID."""
        return await self._in_thread(self._chats.devices)

    async def name_device(self, installation_id: str, name: str, device_type: str = "desktop") -> SentChatMessage:
        """Say on all of the owner's devices what one of them is called. Raises TheirError(PAYLOAD_INVALID): it is
        blank."""
        return await self._in_thread(partial(self._chats.name_device, installation_id, name, device_type))
