"""The form of a fuzzing entry: it accepts any bytes, and raises only if a property is broken.

An entry hands its bytes to a parser, and what the parser gives to a second reader, or to the writer and back. What it
holds is its docstring's first line; docs/evidence/fuzz.md repeats it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import JsonValue, parse
from postroom.core.reason import Reason

T = TypeVar("T")

MOST_BYTES = 4096
"""Of an input, where an entry says nothing else: enough for every rule, and small enough for thousands a second."""
LONG = 131_072
"""Of what may come in by the megabyte: enough for what takes time that grows with the square."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One parser. `aims`: the modules whose lines it is to reach. `is_json`: most inputs should be JSON.

    `seeds`: inputs to begin with; each of them a good one, or a bad one of its own kind.
    """

    name: str
    holds: str
    run: Callable[[bytes], None]
    aims: tuple[str, ...]
    seeds: tuple[bytes, ...]
    is_json: bool
    max_bytes: int


def fuzzed(
    *aims: str, seeds: tuple[bytes, ...], is_json: bool = False, max_bytes: int = MOST_BYTES
) -> Callable[[Callable[[bytes], None]], Entry]:
    """Make an entry of a function, by its name and docstring; `aims` are modules of postroom, without that name."""

    def entry(run: Callable[[bytes], None]) -> Entry:
        assert run.__doc__, f"{run.__name__} does not say what it holds"
        modules = tuple(f"postroom.{aim}" for aim in aims)
        return Entry(run.__name__, run.__doc__.splitlines()[0], run, modules, seeds, is_json, max_bytes)

    return entry


def outcome_of(rule: Callable[[], T], *reasons: Reason) -> T | TheirError | NotNowError:
    """What a rule answers, or the refusal, which must be for one of these reasons. Other errors are findings."""
    try:
        return rule()
    except (TheirError, NotNowError) as error:
        assert error.reason in reasons, f"refused for a reason that does not belong here: {error}"
        return error


def json_of(data: bytes) -> "JsonValue | TheirError":
    """The value of a JSON text, or why it is none."""
    try:
        return parse(data, max_bytes=len(data))
    except TheirError as error:
        return error


def text_of(data: bytes) -> str:
    """The bytes as a text, as it may stand in JSON that was taken: any characters but halves of surrogate pairs."""
    return data.decode(errors="replace")


def fields_of(data: bytes, count: int) -> list[str]:
    """So many texts, parted by NUL; those that are not there are empty."""
    parts = [text_of(part) for part in data.split(b"\0", count - 1)]
    return parts + [""] * (count - len(parts))


def bit_flipped(data: bytes, place: int) -> bytes:
    """The same but for one bit. `place`: any number."""
    at, bit = divmod(place % (8 * len(data)), 8)
    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]


def place_in(data: bytes) -> int:
    """A place that an input decides, so that the same input always breaks the same bit."""
    return int.from_bytes(data[-4:])
