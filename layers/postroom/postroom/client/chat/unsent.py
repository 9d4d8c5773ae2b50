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
from typing import Final

import orjson

from postroom.client.archive import Archive
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
    def progress(self) -> tuple[bool, bool, bool]:
        """Larger in a later state."""
        return bool(self.refused), bool(self.replaces), self.sealed is not None


def store_unsent(archive: Archive, messages: Iterable[UnsentMessage]) -> None:
    """Store messages before they leave. Raises as `Archive` does."""
    archive.merge(UNSENT, [_written(message) for message in messages])


def read_unsent(archive: Archive) -> list[UnsentMessage]:
    """What is not delivered yet, and what was refused, the oldest first. Raises as `Archive` does."""
    states: dict[str, list[UnsentMessage]] = defaultdict(list)
    for entry in archive.open(UNSENT):
        if isinstance(entry, Received):
            message = _read(entry)
            states[message.origin].append(message)
    return [_latest(each) for each in states.values()]


def remove_unsent(archive: Archive, message: UnsentMessage) -> None:
    """Remove a message in this state and earlier ones: it is delivered, or stored in a later state. Raises as `Archive`
    does."""
    archive.merge(UNSENT, [_removed(id_, message.timestamp_ms) for id_ in (*message.earlier, _id_of(message))])


def replace_unsent(archive: Archive, message: UnsentMessage, later: UnsentMessage) -> UnsentMessage | None:
    """Store a message in a later state, then remove it in this one; the message as it is stored now.

    Another device may have been quicker: then the state that it has stored counts; None: it has delivered the message.
    Raises as `Archive` does.
    """
    store_unsent(archive, [later])
    remove_unsent(archive, message)
    return next((each for each in read_unsent(archive) if each.origin == later.origin), None)


def _latest(states: list[UnsentMessage]) -> UnsentMessage:
    *earlier, latest = sorted(states, key=lambda each: each.progress)
    return replace(latest, earlier=tuple(map(_id_of, earlier)))


def _id_of(message: UnsentMessage) -> str:
    state = _REFUSED if message.refused else _SEALED if message.sealed else _SIGNED
    return f"{state}:{sha256(message.message.encode()).hexdigest()}"


def _removed(id_: str, timestamp_ms: int) -> Tombstone:
    message_hash = sha256(id_.encode()).hexdigest()
    return Tombstone(message_hash, timestamp_ms, UNSENT, (), "", Removal.DELETE_REQUEST, message_hash)


def _written(message: UnsentMessage) -> Received:
    sealed, id_ = message.sealed, _id_of(message)
    value = {
        "message": message.message.as_json(),
        "sealed": sealed.sealed if sealed else "",
        "receiverKey": b64encode(sealed.receiver_key).decode() if sealed else "",
        "refused": message.refused,
        "replaces": message.replaces,
    }
    return Received(
        id=id_,
        timestamp_ms=message.timestamp_ms,
        author=UNSENT,
        receipt="{}",
        envelope=orjson.dumps(value).decode(),
        set_aside=id_.partition(":")[0],
    )


def _read(entry: Received) -> UnsentMessage:
    data = entry.envelope.encode()
    try:
        members = Members(parse(data, max_bytes=len(data)), "an unsent message")
        message = read_message(members.any("message"))
        text, key = members.text("sealed"), decode_base64(members.text("receiverKey"))
        sealed = SealedMessage(message, text, key) if text else None
        return UnsentMessage(message, sealed, members.text("refused"), members.text("replaces"))
    except (TheirError, ValueError) as error:
        raise ContainerError(UNSENT, f"holds an unsent message that cannot be read: {error}") from None
