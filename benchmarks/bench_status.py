"""Benchmark `status`: from a wrapper to a checked message and back, compared with the bare libraries and with Go."""

from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.call_timer import CallTimer
from benchmarks.harness import Benchmark, Effort, KnownMiss, Table, Timer, marked, over_processes, ratios
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
from tests.peers.answering import AnsweringProcess
from tests.peers.made import UnavailableError, made
from tests.peers.status.program import PROGRAM, go_process

from postroom.protocols.status.membership import read_signed_event
from postroom.protocols.status.verify import VerifiedPayload, verify

MOST_TO_BARE: Final = 1.3
LEAST_TO_GO: Final = 0.8
NOTES: Final = f"""\
*Ours*, in the rows that open, is everything from the bytes of a wrapper to a message: both protobuf messages read
strictly, the author recovered from the signature, every field checked, the chat, the ID, and of an update the author of
each event. *Bare* is two parses by the same protobuf, one recovery by the same coincurve, and Keccak-256 of the payload
and of the wrapper; of an update also a parse and a recovery for each event. In the row that makes, both build the
payload, sign it and wrap it, and make the ID.

Clients send the events of a group again with each message in it. An event that was read is known: the last row opens
the same update again.

*Go* is what Status's node does with the same bytes, by its libraries, measured inside Go (`time` of the program in
tests/peers/status): the same parses, Keccak-256 and recoveries, and the ID. It checks no fields and no chat. The
program is built where Go and a C compiler exist; otherwise the table says what is missing. Go recovers with the same C
library.

Goals: ours ≤ {MOST_TO_BARE} × bare; Go ≥ {LEAST_TO_GO} × ours. "–": not measured.
"""
ROWS: Final = (
    "open a text of 250 B",
    "open a picture of 300 kB",
    "open an update of 100 events",
    "make a text of 250 B",
    "open the same update again",
)
OF_GO: Final = (ROWS[0], ROWS[2])
"""Those that Go opens, too."""


def measure(effort: Effort) -> Sequence[Table]:
    """One table: a row for each message."""
    try:
        folder, missing = made(PROGRAM), ""
    except UnavailableError as why:
        folder, missing = None, str(why).partition("\n")[0]
    found = over_processes(partial(measure_here, folder), effort)
    rows = []
    for name, (to_bare, *of_go) in zip(ROWS, found, strict=True):
        cells = [marked(ratio, reached=ratio >= LEAST_TO_GO) for ratio in of_go]
        cells = cells or [missing if name in OF_GO else "–"]
        rows.append((name, *cells, marked(to_bare, reached=to_bare <= MOST_TO_BARE)))
    return [Table("", ("way", "Go : ours", "ours : bare"), tuple(rows))]


def measure_here(folder: Path | None, effort: Effort) -> list[list[float]]:
    """For each row: ours to bare, and Go to ours for those that Go opens (not without `folder`)."""
    (short, _), (large, _), (group, _) = wrapped(text()), wrapped(picture()), wrapped(update())
    with _go(folder) as go:
        ways: list[list[Callable[[], object] | Timer]] = [
            [partial(bare_message, short), partial(_verified, short), *_of_go(go, short, effort)],
            [partial(bare_message, large), partial(_verified, large)],
            [partial(bare_update, group), partial(_verified, group), *_of_go(go, group, effort)],
            [bare_text, lambda: wrapped(text())],
            [partial(bare_update, group), partial(verify, group, own=OWN, carrier=AUTHOR.public)],
        ]
        return [_to_ours(row, effort) for row in ways]


def _to_ours(ways: Sequence[Callable[[], object] | Timer], effort: Effort) -> list[float]:
    _, ours, *of_go = ratios(ways, effort)
    return [ours, *(ratio / ours for ratio in of_go)]


@contextmanager
def _go(folder: Path | None) -> Iterator[AnsweringProcess | None]:
    if folder is None:
        yield None
        return
    with go_process(folder) as go:
        yield go


def _of_go(go: AnsweringProcess | None, wrapper: bytes, effort: Effort) -> list[Timer]:
    """Go's opening of a wrapper, after enough runs for its heap to have grown."""
    return [] if go is None else [CallTimer(go, "time", (b64encode(wrapper).decode(),)).warmed(effort)]


def _verified(wrapper: bytes) -> VerifiedPayload:
    """As the first time: no event is known."""
    read_signed_event.cache_clear()
    return verify(wrapper, own=OWN, carrier=AUTHOR.public)


KNOWN: Final = (
    KnownMiss(
        "Go : ours",
        OF_GO,
        "the bare steps take longer than Go as well, by what Python's calls of the libraries take: of a text, "
        "Keccak-256 is a quarter of them, and most of that are calls.",
    ),
)
BENCHMARK = Benchmark("status", "Status payloads", NOTES, measure, known=KNOWN)
