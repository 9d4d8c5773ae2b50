"""Pulling mail into an archive: messages are fetched, verified, opened, stored, and only then acknowledged.

If a device dies at any point in between, the message is still in the mailbox, and will be stored once. The home is read
once more before anything is acknowledged: if the archive is moving out of this home, the message might have come too
late to be copied.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

from postroom.client.archive.archive import Archive
from postroom.client.archive.ownership import check_ownership, take_home
from postroom.client.archive.receiving import MailReceiver, OtherKeyError, WaitingMessage
from postroom.client.mailbox import MessageGoneError
from postroom.core.errors import NotNowError
from postroom.protocols.dm3.containers import ContainerError
from postroom.protocols.dm3.stored import Received, StoredEnvelope, conversation_partner

BATCH_MESSAGES: Final = 500
BATCH_CHARACTERS: Final = 4_000_000
"""Characters of envelopes that are in memory at once."""


class MailSource(Protocol):
    """The source of messages: `client.mailbox.Mailbox`."""

    def unread(self) -> Iterator[WaitingMessage]:
        """Each message in the mailbox, once."""
        ...

    def acknowledge(self, messages: Iterable[str]) -> object:
        """Acknowledge messages that are stored."""
        ...


@dataclass(slots=True)
class Pulled:
    """The result.

    `kept`: messages that are in the archive now. `set_aside`: those of them that were set aside, by reason. `left`:
    messages that stay in the mailbox because their sender cannot be verified now, by reason. `unopened`: messages that
    stay there, encrypted to a key that is no longer in the profile. `damaged`: conversations that nothing can be added
    to, with the fault, by partner; their messages stay in the mailbox, too.
    """

    kept: int = 0
    set_aside: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    unopened: int = 0
    damaged: dict[str, str] = field(default_factory=dict)

    @property
    def leaves_mail(self) -> bool:
        """Whether messages stay in the mailbox."""
        return bool(self.left or self.unopened or self.damaged)


def pull(
    mail: MailSource, archive: Archive, receiver: MailReceiver, met: Callable[[int], object] = lambda _: None
) -> Pulled:
    """Pull the messages of the mailbox. `met`: called with the number of messages of each step.

    Raises MailboxError, NotThisHomeError, OurError, and as `Archive` does; messages acknowledged until then are stored.
    """
    take_home(archive)
    pulled = Pulled()
    for batch in _batches(mail.unread()):
        _keep(batch, mail, archive, receiver, pulled)
        met(len(batch))
    return pulled


def _keep(
    batch: list[WaitingMessage], mail: MailSource, archive: Archive, receiver: MailReceiver, pulled: Pulled
) -> None:
    read: dict[str, dict[str, StoredEnvelope | Received]] = defaultdict(dict)
    for message in batch:
        try:
            entry = receiver.read(message)
        except NotNowError as error:
            pulled.left[str(error.reason)] += 1
        except OtherKeyError:
            pulled.unopened += 1
        else:
            read[conversation_partner(entry, archive.owner)][message.id] = entry
    kept: dict[str, StoredEnvelope | Received] = {}
    for partner, entries in read.items():
        try:
            archive.merge(partner, list(entries.values()))
        except ContainerError as error:
            pulled.damaged[partner] = str(error)
        else:
            kept |= entries
    if not kept:
        return
    check_ownership(archive)
    mail.acknowledge(kept)
    pulled.kept += len(kept)
    pulled.set_aside.update(it.set_aside for it in kept.values() if isinstance(it, Received) and it.set_aside)


def _batches(waiting: Iterable[WaitingMessage]) -> Iterator[list[WaitingMessage]]:
    batch: list[WaitingMessage] = []
    size = 0
    for message in waiting:
        try:
            size += len(message.envelope)
        except MessageGoneError:
            # Another device was quicker, while this one still had to fetch a large envelope.
            continue
        batch.append(message)
        if len(batch) >= BATCH_MESSAGES or size >= BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
