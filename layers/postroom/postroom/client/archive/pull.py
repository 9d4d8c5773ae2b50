"""Pulling mail into an archive: fetched, verified, opened, stored; only then acknowledged.

Whoever dies in between, at whatever point, finds the message in the mailbox again, and stores it once. The home is
asked once more before anything is acknowledged: what was stored in one that the archive is moving out of might have
come too late to be taken along.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

from postroom.client.archive.archive import Archive
from postroom.client.archive.deed import check_deed, take_home
from postroom.client.archive.receiving import MailReceiver, OtherKeyError, WaitingMessage
from postroom.client.mailbox import MessageGoneError
from postroom.core.errors import NotNowError
from postroom.protocols.dm3.containers import ContainerError
from postroom.protocols.dm3.stored import Received, StoredEnvelope, conversation_partner

BATCH_MESSAGES: Final = 500
BATCH_CHARACTERS: Final = 4_000_000
"""Of envelopes: what is in memory at once."""


class MailSource(Protocol):
    """What is pulled from: `client.mailbox.Mailbox`."""

    def unread(self) -> Iterator[WaitingMessage]:
        """Each message that waits, once."""
        ...

    def acknowledge(self, messages: Iterable[str]) -> object:
        """Say which are safe at home."""
        ...


@dataclass(slots=True)
class Pulled:
    """What came of it.

    `kept`: messages that are in the archive now. `set_aside`, of them: by reason. `left`: what stays in the mailbox,
    because it could not be found out just now who wrote it; by reason. `unopened`: letters that stay there, sealed to
    a key that the profile has no more. `damaged`: conversations that nothing can be added to, whose messages stay in
    the mailbox, too; by partner what is wrong.
    """

    kept: int = 0
    set_aside: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    unopened: int = 0
    damaged: dict[str, str] = field(default_factory=dict)


def pull(
    mail: MailSource, archive: Archive, receiver: MailReceiver, met: Callable[[int], object] = lambda _: None
) -> Pulled:
    """Bring home what waits. `met`: is told of how many messages more something came.

    Raises MailboxError, NotThisHomeError, OurError, and as `Archive` does; what was acknowledged until then is stored.
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
    check_deed(archive)
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
            # Another device was quicker, while its envelope, a large one, was still to be fetched.
            continue
        batch.append(message)
        if len(batch) >= BATCH_MESSAGES or size >= BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
