"""Messages that are not delivered yet, in the owner's archive: stored before they leave, until they are taken.

A device may die between any two steps. What is stored is sent again as the same sealed message, of which a receiver
keeps one copy, until its delivery service has accepted it: then it is stored as a sent message, and removed from here.
What is refused for good stays, with the reason.

A later state of a message is stored before the earlier one is removed. Where both are found, the later one counts.
"""

from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final, TypeAlias, TypeVar

import orjson

from postroom.client.archive import Archive
from postroom.client.chat.unsent_to_domain import STATES, UnsentToDomain, read_unsent_to_domain
from postroom.client.dm3 import SealedMessage
from postroom.core.errors import TheirError
from postroom.core.ijson import parse
from postroom.core.typed_members import Members
from postroom.crypto.encodings import decode_base64
from postroom.protocols.dm3.containers import ContainerError
from postroom.protocols.dm3.message import Dm3Message, read_message
from postroom.protocols.dm3.stored import UNSENT, Received, Removal, Tombstone

_SIGNED: Final = "signed"
_SEALED: Final = "sealed"
_REFUSED: Final = "refused"


@dataclass(frozen=True, slots=True)
class UnsentMessage:
    """A signed message that no delivery service has accepted.

    `sealed`: as it is sent; None: the receiver's profile could not be looked up yet. `refused`: why no delivery service
    will ever accept it; empty: it is sent again. `replaces`: the `origin` of a message that its receiver does not take,
    of which this is another form; empty: none. `earlier`: the IDs of earlier states that are still stored.
    """

    message: Dm3Message
    sealed: SealedMessage | None = None
    refused: str = ""
    replaces: str = ""
    earlier: tuple[str, ...] = ()

    @property
    def to(self) -> str:
        """The receiver's name."""
        return self.message.metadata.to

    @property
    def timestamp_ms(self) -> int:
        """When it was written."""
        return self.message.metadata.timestamp_ms

    @property
    def origin(self) -> str:
        """What all states and forms of one message have in common."""
        return self.replaces or sha256(self.message.encode()).hexdigest()

    @property
    def state(self) -> str:
        """How an archive marks it."""
        return _REFUSED if self.refused else _SEALED if self.sealed else _SIGNED

    @property
    def progress(self) -> tuple[bool, bool, bool]:
        """Larger in a later state."""
        return bool(self.refused), bool(self.replaces), self.sealed is not None

    @property
    def id(self) -> str:
        """The ID of this state."""
        return f"{self.state}:{sha256(self.message.encode()).hexdigest()}"

    def encode(self) -> str:
        """The message as JSON text."""
        value = {
            "message": self.message.as_json(),
            "sealed": self.sealed.sealed if self.sealed else "",
            "receiverKey": b64encode(self.sealed.receiver_key).decode() if self.sealed else "",
            "refused": self.refused,
            "replaces": self.replaces,
        }
        return orjson.dumps(value).decode()


Unsent: TypeAlias = UnsentMessage | UnsentToDomain
U = TypeVar("U", UnsentMessage, UnsentToDomain)


def store_unsent(archive: Archive, messages: Iterable[Unsent]) -> None:
    """Store messages before they leave. Raises as `Archive` does."""
    archive.merge(UNSENT, [_written(message) for message in messages])


def read_unsent(archive: Archive) -> list[Unsent]:
    """What is not delivered yet, and what was refused, the oldest first. Raises as `Archive` does."""
    states: dict[str, list[Unsent]] = defaultdict(list)
    for entry in archive.open(UNSENT):
        if isinstance(entry, Received):
            message = _read(entry)
            states[message.origin].append(message)
    return [_latest(each) for each in states.values()]


def remove_unsent(archive: Archive, messages: Iterable[Unsent]) -> None:
    """Remove messages in these states and earlier ones: they are delivered, or stored in a later state. Raises as
    `Archive` does."""
    ids = [(id_, message.timestamp_ms) for message in messages for id_ in (*message.earlier, message.id)]
    archive.merge(UNSENT, [_removed(*each) for each in ids])


def replace_unsent(archive: Archive, message: U, later: U) -> U | None:
    """Store a message in a later state, then remove it in this one; the message as it is stored now.

    Another device may have been quicker: then the state that it has stored counts; None: it has delivered the message.
    Raises as `Archive` does.
    """
    store_unsent(archive, [later])
    remove_unsent(archive, [message])
    now = (each for each in read_unsent(archive) if isinstance(each, type(later)) and each.origin == later.origin)
    return next(now, None)


def _latest(states: list[Unsent]) -> Unsent:
    *earlier, latest = sorted(states, key=lambda each: each.progress)
    return replace(latest, earlier=tuple(each.id for each in earlier))


def _removed(id_: str, timestamp_ms: int) -> Tombstone:
    message_hash = sha256(id_.encode()).hexdigest()
    return Tombstone(message_hash, timestamp_ms, UNSENT, (), "", Removal.DELETE_REQUEST, message_hash)


def _written(message: Unsent) -> Received:
    return Received(
        id=message.id,
        timestamp_ms=message.timestamp_ms,
        author=UNSENT,
        receipt="{}",
        envelope=message.encode(),
        set_aside=message.state,
    )


def _read(entry: Received) -> Unsent:
    data = entry.envelope.encode()
    try:
        members = Members(parse(data, max_bytes=len(data)), "an unsent message")
        if entry.set_aside in STATES:
            return read_unsent_to_domain(members)
        message = read_message(members.any("message"))
        text, key = members.text("sealed"), decode_base64(members.text("receiverKey"))
        sealed = SealedMessage(message, text, key) if text else None
        return UnsentMessage(message, sealed, members.text("refused"), members.text("replaces"))
    except (TheirError, ValueError) as error:
        raise ContainerError(UNSENT, f"holds an unsent message that cannot be read: {error}") from None
