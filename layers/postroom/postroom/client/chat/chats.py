"""A user's chats over dm3 and NLWeb: what is shown, and sending.

    chats = Chats(archive, Dm3Sender("alice.eth", keys, profiles, https))
    sent = chats.send("bob.eth", "hello")
    for message in chats.messages("bob.eth"):
        print(message.author, message.text)

The archive is the memory: what is sent is stored there before it leaves, and every device that opens the archive shows
the same. `pull` of `client.archive` brings what others sent.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial

from postroom.client.archive.pull import MailSource, Pulled, pull
from postroom.client.archive.receiving import MailReceiver
from postroom.client.chat.changes import ChatChange
from postroom.client.chat.errors import ChatError, NoSuchChatError
from postroom.client.chat.groups import GroupChats
from postroom.client.chat.own_devices import OwnDeviceChats
from postroom.client.chat.owner_chats import SentChatMessage
from postroom.client.chat.sent_to import SentTo
from postroom.client.chat.targets import ChatTarget
from postroom.client.chat.watching import PAUSE_SECONDS, ChatWatch, WaitingMail
from postroom.client.mailbox import UnavailableError
from postroom.protocols.status import sending
from postroom.protocols.status.enums import ReactionKind
from postroom.protocols.status.ids import MessageId
from postroom.protocols.status.log import Fact
from postroom.protocols.status.media import Cleaned, MediaType
from postroom.protocols.status.message_media import MessageMedia, media_of
from postroom.protocols.status.messages import ChatMessage, StatusMessage, StickerMessage
from postroom.protocols.status.verify import ChatRef


class Chats(GroupChats, OwnDeviceChats):
    """The chats of the archive's owner: what is written, and what comes. `OwnerChats` says what they are made from."""

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
        target, about = self._chat_and_message(to, message)
        return self._send_about(target, about, partial(sending.reaction, kind=kind, retracted=take_back))

    def edit(self, to: str, message: str, text: str) -> SentChatMessage:
        """Give one's own message another text. Raises as `send` does."""
        target, about = self._chat_and_message(to, message)
        if about.author != self.own:
            raise ChatError("somebody else wrote this message: only its author can edit it")
        return self._send_about(target, about, partial(sending.edit, text=text))

    def delete(self, to: str, message: str) -> SentChatMessage:
        """Delete one's own message, or as an admin any of the group, for everybody. Raises as `send` does."""
        target, about = self._chat_and_message(to, message)
        if about.author != self.own and self.own not in self.memory.log.group(target.ref.id).admins:
            raise ChatError("somebody else wrote this message: its author or an admin of its group can delete it")
        return self._send_about(target, about, sending.deletion)

    def pin(self, to: str, message: str, *, pinned: bool = True) -> SentChatMessage:
        """Pin a message in its chat, or no longer. Raises as `send` does."""
        target, about = self._chat_and_message(to, message)
        return self._send_about(target, about, partial(sending.pin, pinned=pinned))

    def _chat_and_message(self, to: str, message: str) -> tuple[ChatTarget, Fact]:
        """A chat and a message in it. Raises as `find` and `find_message` do."""
        target = self.find(to)
        return target, self.find_message(target.ref, message)

    def _send_about(
        self, target: ChatTarget, about: Fact, make: Callable[[ChatRef, int, MessageId], StatusMessage]
    ) -> SentChatMessage:
        """Send what `make` makes of the chat, the clock and the ID of the message that it is about."""
        clock, _ = self._next(target.ref)
        return self._send(target, make(target.ref, clock, self.memory.id_of(about)), about)

    def media(self, to: str, message: str) -> MessageMedia:
        """The picture or the sound of a message, as received: `clean` it before anything reads it.

        Raises NoSuchChatError: the message is not shown, is deleted or has none; as `send` does.
        """
        target, fact = self._chat_and_message(to, message)
        messages = self.view().messages(target.ref)
        shown = next((each for each in messages if (each.id, each.author) == (fact.id, fact.author)), None)
        media = media_of(shown.message) if shown and shown.message else None
        if media is None:
            raise NoSuchChatError(f"the message {message} has no picture and no sound, or is not shown any more")
        return media

    def pull(self, mail: MailSource, met: Callable[[int], object] = lambda _: None) -> Pulled:
        """Bring waiting mail into the archive, as `client.archive.pull` does. `met`: with the messages of each step."""
        receiver = MailReceiver(self.name, self._sender.keys, self._sender.profiles)
        try:
            return pull(mail, self._archive, receiver, met)
        finally:
            self.refresh()

    def watch(
        self,
        mail: WaitingMail,
        wait: float | bool = True,
        refused: Callable[[SentTo], object] = lambda _: None,
        unavailable: Callable[[UnavailableError], object] | None = None,
    ) -> Iterator[ChatChange]:
        """Pull again and again, and yield each change; what is there at first is no change.

        `wait`: end when no message came for so many seconds; True: never. `refused`: called with who has refused
        something since and why: also a change of a group, which no chat shows. `unavailable`: called with the error if
        the post office does not answer, and it goes on; None: the error is raised.
        """
        watch = ChatWatch(self, mail, unavailable)
        while True:
            pulled = watch.pull()
            for each in pulled.refused:
                refused(each)
            yield from pulled.changes
            if not watch.has_mail(wait):
                return
            if pulled.needs_pause:
                time.sleep(PAUSE_SECONDS)
