"""Benchmark `canonical`: canonical text, compared with the reference implementation and with bare orjson."""

from collections.abc import Sequence
from functools import partial

import orjson
import rfc8785
from benchmarks.harness import Benchmark, Effort, Table, compare
from benchmarks.samples import body_beyond_ascii, body_of_members, body_of_text, body_with_a_price, signed_part

from postroom.core.canonical import jcs
from postroom.core.ijson import JsonValue

NOTES = """\
`jcs` writes the text that is hashed and signed. `rfc8785` is the reference: `jcs` must return the same text, and falls
back to it where it cannot be sure to. `orjson` with sorted names shows the cost without that check.
"""

_SIZE = 1600


def measure(effort: Effort) -> Sequence[Table]:
    """A table for each kind of value."""
    bodies: dict[str, JsonValue] = {
        "Text": body_of_text(_SIZE),
        "Many members": body_of_members(_SIZE),
        "Text, and a name, beyond ASCII": body_beyond_ascii(_SIZE),
        "A name beyond U+FFFF": {"🤝": body_of_text(_SIZE)},
        "Text and a price": body_with_a_price(_SIZE),
        "A whole number written with a fraction": {"Price": 12.0, "Note": body_of_text(_SIZE)},
    }
    return [_compared(title, signed_part(body), effort) for title, body in bodies.items()]


def _compared(title: str, value: JsonValue, effort: Effort) -> Table:
    ways = (
        ("jcs", partial(jcs, value)),
        ("orjson, names sorted (not always right)", partial(orjson.dumps, value, option=orjson.OPT_SORT_KEYS)),
        ("rfc8785", partial(rfc8785.dumps, value)),
    )
    return compare(title, ways, effort)


BENCHMARK = Benchmark("canonical", "Canonical text", NOTES, measure)
