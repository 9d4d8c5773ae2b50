"""The steps of a watch over chats: what a pull has changed, and the wait for more mail."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from postroom.client.archive.pull import MailSource, Pulled
from postroom.client.archive.receiving import WaitingMessage
from postroom.client.chat.changes import ChatChange, all_shown, changes_between
from postroom.client.chat.memory import ChatMemory
from postroom.client.chat.sent_to import SentTo
from postroom.client.mailbox import UnavailableError
from postroom.client.sending import SendOutcome

PAUSE_SECONDS: Final = 5.0
"""Before the next pull, while messages stay in the mailbox that cannot be pulled, verified or opened now."""


class WaitingMail(MailSource, Protocol):
    """A source of messages that can be waited for: `client.mailbox.Mailbox`."""

    def unread(self, *, wait: float | bool = False) -> Iterator[WaitingMessage]:
        """Each message, once. `wait`: for more of them, until none came for so many seconds; True: for ever."""
        ...


class WatchedChats(Protocol):
    """The chats of an owner: `Chats`."""

    @property
    def memory(self) -> ChatMemory:
        """All chats as they are now."""
        ...

    def pull(self, mail: MailSource, met: Callable[[int], object] = ...) -> Pulled:
        """Bring waiting mail into the archive."""
        ...

    def deliver_due(self) -> Iterator[SentTo]:
        """Send all that is to be sent after a pull."""
        ...


@dataclass(frozen=True, slots=True)
class WatchedPull:
    """What is new after a pull. `refused`: who has refused something, and why, each once.

    `needs_pause`: messages stay in the mailbox, and nothing else came, or the post office did not answer: to pull at
    once again would be in vain.
    """

    changes: list[ChatChange]
    refused: list[SentTo]
    needs_pause: bool


class ChatWatch:
    """A watch over chats, which knows what was shown before; what is there at first is no change.

    `unavailable`: called with the error if the post office does not answer; then the watch goes on. None: it is raised.
    """

    def __init__(
        self, chats: WatchedChats, mail: WaitingMail, unavailable: Callable[[UnavailableError], object] | None = None
    ) -> None:
        self._chats = chats
        self._mail = mail
        self._unavailable = unavailable
        self._shown = all_shown(chats.memory)

    def pull(self) -> WatchedPull:
        """Pull, send what waits to be sent, and compare with what was shown before. Raises as `Chats.pull` does."""
        try:
            pulled = self._chats.pull(self._mail)
            needs_pause = pulled.leaves_mail and not pulled.kept
        except UnavailableError as error:
            self._note(error)
            needs_pause = True
        refused = dict.fromkeys(each for each in self._chats.deliver_due() if each.outcome is SendOutcome.REFUSED)
        before, self._shown = self._shown, all_shown(self._chats.memory)
        return WatchedPull([*changes_between(before, self._shown)], [*refused], needs_pause)

    def has_mail(self, wait: float | bool) -> bool:
        """Whether a message is there, comes within so many seconds, or may be there; True: wait until one comes."""
        try:
            return next(iter(self._mail.unread(wait=wait)), None) is not None
        except UnavailableError as error:
            self._note(error)
            return True

    def _note(self, error: UnavailableError) -> None:
        if self._unavailable is None:
            raise error
        self._unavailable(error)
