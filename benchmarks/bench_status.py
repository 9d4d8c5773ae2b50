"""Benchmark `status`: from a wrapper to a checked message and back, compared with the bare libraries."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from benchmarks.harness import Benchmark, Effort, Table, marked, over_processes, ratios
from benchmarks.status_sample import (
    AUTHOR,
    OWN,
    bare_message,
    bare_text,
    bare_update,
    picture,
    text,
    update,
    wrapped,
)

from postroom.protocols.status.membership import read_signed_event
from postroom.protocols.status.verify import VerifiedPayload, verify

MOST_TO_BARE: Final = 1.3
NOTES: Final = f"""\
*Ours*, in the rows that open, is everything from the bytes of a wrapper to a message: both protobuf messages read
strictly, the author recovered from the signature, every field checked, the chat, the ID, and of an update the author of
each event. *Bare* is two parses by the same protobuf, one recovery by the same coincurve, and Keccak-256 of the payload
and of the wrapper; of an update also a parse and a recovery for each event. In the row that makes, both build the
payload, sign it and wrap it, and make the ID.

Clients send the events of a group again with each message in it. An event that was read is known: the last row opens
the same update again.

Goal: ours ≤ {MOST_TO_BARE} × bare.
"""
ROWS: Final = (
    "open a text of 250 B",
    "open a picture of 300 kB",
    "open an update of 100 events",
    "make a text of 250 B",
    "open the same update again",
)


def measure(effort: Effort) -> Sequence[Table]:
    """One table: a row for each message."""
    found = over_processes(measure_here, effort)
    rows = [(name, marked(ratio, reached=ratio <= MOST_TO_BARE)) for name, [ratio] in zip(ROWS, found, strict=True)]
    return [Table("", ("way", "ours : bare"), tuple(rows))]


def measure_here(effort: Effort) -> list[list[float]]:
    """For each row: ours to bare."""
    (short, _), (large, _), (group, _) = wrapped(text()), wrapped(picture()), wrapped(update())
    pairs: list[tuple[Callable[[], object], Callable[[], object]]] = [
        (partial(bare_message, short), partial(_verified, short)),
        (partial(bare_message, large), partial(_verified, large)),
        (partial(bare_update, group), partial(_verified, group)),
        (bare_text, lambda: wrapped(text())),
        (partial(bare_update, group), partial(verify, group, own=OWN, carrier=AUTHOR.public)),
    ]
    return [ratios(pair, effort)[1:] for pair in pairs]


def _verified(wrapper: bytes) -> VerifiedPayload:
    """As the first time: no event is known."""
    read_signed_event.cache_clear()
    return verify(wrapper, own=OWN, carrier=AUTHOR.public)


BENCHMARK = Benchmark("status", "Status payloads", NOTES, measure)
