"""Rows of messages as lines of a terminal of some width: parts of text with their roles, and rows of half-blocks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from enum import StrEnum
from typing import Final, TypeAlias

from rich.cells import cell_len

from postroom.cli.chat.terminal_client.rows import MessageRow, UnreadMessages
from postroom.cli.chat.terminal_client.wrapping import shorten, wrap, wrap_first

Colour: TypeAlias = tuple[int, int, int]
Cells: TypeAlias = Sequence[tuple[Colour, Colour | None]]
"""A row of half-blocks: the colours of the upper and the lower half of each cell."""

MOST_LINES: Final = 20
"""Lines of one text; the details of a message show all."""
INDENT: Final = "  "
SELECTED: Final = "▌"
"""The first character of each line of the message that is selected."""
_YEAR_9999_MS: Final = 253_370_764_800_000


class TextRole(StrEnum):
    """What a part of a line is, for its style. Without styles the texts say the same."""

    TIME = "time"
    AUTHOR = "author"
    OWN = "own"
    TEXT = "text"
    QUOTE = "quote"
    MARK = "mark"
    REACTION = "reaction"
    STATE = "state"
    PROBLEM = "problem"
    DIVIDER = "divider"


@dataclass(frozen=True, slots=True)
class LaidOutLine:
    """A line. `row`: the place of its message among the rows; None: a divider. `cells`: of a picture, after `parts`."""

    row: int | None
    parts: tuple[tuple[str, TextRole], ...]
    cells: Cells = ()


@dataclass(frozen=True, slots=True)
class DrawnPicture:
    """A picture of a message. `problem`: why there is none; safe to show."""

    id: str
    rows: Sequence[Cells] = ()
    problem: str = ""


def lay_out(
    rows: Sequence[MessageRow],
    width: int,
    pictures: Mapping[str, DrawnPicture] | None = None,
    zone: tzinfo | None = None,
) -> list[LaidOutLine]:
    """The lines of all rows. `pictures`: by the row's ID. `zone`: for times; None: the system's."""
    lines: list[LaidOutLine] = []
    day = ""
    for place, row in enumerate(rows):
        at = _time(row.at_ms, zone)
        if at is not None and (shown := f"{at:%Y-%m-%d}") != day:
            day = shown
            lines.append(_divider(day, width))
        if row.is_new:
            lines.append(_divider("new", width))
        for parts, cells in _lines(row, width - len(INDENT), at, (pictures or {}).get(row.id, DrawnPicture(row.id))):
            lines.append(LaidOutLine(place, parts, cells))
    return lines


def chat_line(title: str, unread: UnreadMessages, place: int, width: int, *, is_open: bool) -> LaidOutLine:
    """A chat of the list: a dot if it is open, its title, and how many messages are new; "@": one mentions the user."""
    many = f"{unread.count}{'+' if unread.are_more else ''}"
    new = f" {'@' if unread.mention_user else ''}{many} new" if unread.count else ""
    title = shorten(title, width - 2 - cell_len(new))
    gap = " " * (width - 2 - cell_len(title) - cell_len(new))
    role = TextRole.AUTHOR if unread.count else TextRole.TEXT
    return LaidOutLine(place, (("• " if is_open else "  ", TextRole.MARK), (title + gap, role), (new, TextRole.MARK)))


def shown_minute(at_ms: int, zone: tzinfo | None = None) -> str:
    """A time for people, with the day. `zone`: None: the system's."""
    at = _time(at_ms, zone)
    return f"{at:%Y-%m-%d %H:%M:%S}" if at else f"{at_ms} ms"


def _time(at_ms: int | None, zone: tzinfo | None) -> datetime | None:
    if at_ms is None or at_ms >= _YEAR_9999_MS:
        return None
    return datetime.fromtimestamp(at_ms / 1000, zone).astimezone(zone)


def _divider(text: str, width: int) -> LaidOutLine:
    return LaidOutLine(None, ((f" {text} ".center(width, "─"), TextRole.DIVIDER),))


_Parts: TypeAlias = tuple[tuple[str, TextRole], ...]


def _lines(row: MessageRow, width: int, at: datetime | None, picture: DrawnPicture) -> Iterator[tuple[_Parts, Cells]]:
    state = f" · {row.state}" if row.state else ""
    time = f"{at:%H:%M} " if at else "--:-- "
    fits = cell_len(f"{time}{row.author}{_marks(row)}{state}") <= width
    yield _head(row, time, state if fits else "", width), ()
    for text in wrap(state[1:], width - len(INDENT)) if state and not fits else ():
        yield ((f"{INDENT}{text}", TextRole.STATE),), ()
    for problem in wrap(f"! {row.problem}", width - len(INDENT)) if row.problem else ():
        yield ((f"{INDENT}{problem}", TextRole.PROBLEM),), ()
    if row.quote:
        yield ((f"{INDENT}↪ {shorten(row.quote, width - 4)}", TextRole.QUOTE),), ()
    texts = wrap_first(row.text, width - len(INDENT), MOST_LINES + 1)
    for text in texts[:MOST_LINES]:
        yield ((f"{INDENT}{text}", TextRole.TEXT),), ()
    if len(texts) > MOST_LINES:
        yield ((f"{INDENT}{shorten('… Enter shows all of it', width - len(INDENT))}", TextRole.MARK),), ()
    media = f"{row.media} {picture.problem}" if picture.problem else row.media
    for text in wrap(media, width - len(INDENT)) if media else ():
        yield ((f"{INDENT}{text}", TextRole.MARK),), ()
    for cells in picture.rows:
        yield ((INDENT, TextRole.TEXT),), cells[: width - len(INDENT)]
    for reaction in row.reactions:
        yield ((f"{INDENT}{shorten(reaction, width - len(INDENT))}", TextRole.REACTION),), ()


def _head(row: MessageRow, time: str, state: str, width: int) -> _Parts:
    """Time, author, marks and state; the author's name is shortened, and then the marks."""
    space = width - cell_len(time)
    marks = _marks(row)
    author = shorten(row.author, max(space - cell_len(marks) - cell_len(state), space // 2))
    return (
        (time, TextRole.TIME),
        (author, TextRole.OWN if row.is_own else TextRole.AUTHOR),
        (shorten(marks, space - cell_len(author) - cell_len(state)), TextRole.MARK),
        (state, TextRole.STATE),
    )


def _marks(row: MessageRow) -> str:
    return "".join(f" [{mark}]" for mark in row.marks)
