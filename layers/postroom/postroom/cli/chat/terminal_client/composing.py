"""Parts of what the user writes: mentions that are completed, and commands that begin with a slash."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.mentions import complete

_MENTION: Final = re.compile(r"(?<![\w.+/@-])@([^@\n]{0,60})\Z")


@dataclass(frozen=True, slots=True)
class MentionCompletion:
    """Names that may be meant by what stands from `start` on, behind an "@". `chosen`: the one that stands there."""

    start: int
    names: tuple[str, ...]
    chosen: int = 0

    @property
    def name(self) -> str:
        """The name that is put there."""
        return self.names[self.chosen]

    @property
    def next(self) -> "MentionCompletion":
        """The same with the name after it."""
        return MentionCompletion(self.start, self.names, (self.chosen + 1) % len(self.names))


def find_completion(before: str, people: Mapping[ChatKey, str]) -> MentionCompletion | None:
    """The completion of what stands before the cursor; None: no "@" and beginning of a name. `people`: their names."""
    typed = _MENTION.search(before)
    found = complete(typed[1], [(name, key) for key, name in people.items()]) if typed else []
    names = tuple(dict.fromkeys(name for name, _ in found))
    return MentionCompletion(typed.start(1), names) if typed and names else None


class NoCommandError(Exception):
    """A line that begins with a slash and is no command; the sentence says why."""


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A command that the user wrote."""

    name: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CommandForm:
    """How a command is written, and what it does. `least`, `most`: so many arguments; None: any number."""

    usage: str
    does: str
    least: int
    most: int | None


FORMS: Final[Mapping[str, CommandForm]] = {
    "chat": CommandForm("/chat NAME", "open the chat with a dm3 name", 1, 1),
    "picture": CommandForm("/picture FILE TEXT…", "send a picture, without the place it was taken at", 1, None),
    "group": CommandForm("/group TITLE NAME…", "create a group; quote a title with blanks", 2, None),
    "add": CommandForm("/add NAME…", "add members to this group", 1, None),
    "remove": CommandForm("/remove NAME", "remove a member from this group", 1, 1),
    "promote": CommandForm("/promote NAME…", "make members admins", 1, None),
    "rename": CommandForm("/rename TITLE", "give this group another name", 1, None),
    "leave": CommandForm("/leave", "leave this group", 0, 0),
    "join": CommandForm("/join CHANNEL NAME…", "join a channel; your messages go to the names", 1, None),
    "part": CommandForm("/part", "leave this channel", 0, 0),
    "clear": CommandForm("/clear", "hide this chat's messages so far, on all your devices", 0, 0),
}


def read_command(text: str) -> SlashCommand | None:
    """The command that a line is; None: it is a text. Two slashes begin a text with one. Raises NoCommandError."""
    if not text.startswith("/") or text.startswith("//"):
        return None
    try:
        name, *arguments = shlex.split(text[1:]) or [""]
    except ValueError as error:
        raise NoCommandError(f"{text}: {error}") from None
    form = FORMS.get(name)
    if form is None:
        raise NoCommandError(f"there is no command /{name}; F1 lists them; // begins a text with a slash")
    if len(arguments) < form.least or (form.most is not None and len(arguments) > form.most):
        raise NoCommandError(f"{form.usage}: {form.does}")
    return SlashCommand(name, tuple(arguments))


def text_to_send(text: str) -> str:
    """A text without the slash that says that it is no command."""
    return text[1:] if text.startswith("//") else text
