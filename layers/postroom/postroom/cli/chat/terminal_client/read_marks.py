"""What was read last in each chat, on this device: a small file in the cache folder.

It holds times and digests, neither names nor texts. If it is lost, all that is there at the next start counts as read.
Other devices have marks of their own: what was read is not sent to them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Final

import orjson

from postroom.cli.output import replace_private
from postroom.cli.user_folders import cache_folder
from postroom.core.errors import TheirError
from postroom.core.ijson import parse
from postroom.core.typed_members import Members
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.verify import ChatRef

_MOST_BYTES: Final = 10_000_000


@dataclass(frozen=True, slots=True)
class ReadMarks:
    """When the newest message that was read in a chat came, in milliseconds. `since`: of chats without a mark."""

    own: ChatKey
    since: int
    marks: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    def read_to(self, chat: ChatRef) -> int:
        """Messages that came later are unread."""
        return self.marks.get(self._name(chat), self.since)

    def with_read(self, chat: ChatRef, at_ms: int) -> "ReadMarks":
        """The marks after a message that came at this time was read. Marks never go back."""
        if at_ms <= self.read_to(chat):
            return self
        return ReadMarks(self.own, self.since, MappingProxyType({**self.marks, self._name(chat): at_ms}))

    def _name(self, chat: ChatRef) -> str:
        return sha256(f"{self.own} {int(chat.kind)} {chat.id}".encode()).hexdigest()[:32]


def marks_file(own: ChatKey) -> Path:
    """The file of one user's marks."""
    name = sha256(f"read marks of {own}".encode()).hexdigest()
    return cache_folder("chat") / f"{name[:32]}.json"


def load_marks(path: Path, own: ChatKey, since: int) -> ReadMarks:
    """The marks of a file; with `since` alone if there is none, or one that cannot be read."""
    try:
        members = Members(parse(path.read_bytes(), max_bytes=_MOST_BYTES), "the file")
        found = members.any("marks")
        if not isinstance(found, dict):
            return ReadMarks(own, since)
        marks = {name: at_ms for name, at_ms in found.items() if isinstance(at_ms, int)}
        return ReadMarks(own, members.whole("since"), MappingProxyType(marks))
    except (TheirError, ValueError, OSError):
        return ReadMarks(own, since)


def store_marks(path: Path, marks: ReadMarks) -> None:
    """Store the marks. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_private(path, orjson.dumps({"since": marks.since, "marks": dict(marks.marks)}))
