"""Benchmark `dm3`: the delivery service step and sealed values, compared with bare primitives and the reference."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import orjson
from benchmarks.call_timer import CallTimer
from benchmarks.dm3_sample import NOW_MS, Sample, bare_open, bare_seal, bare_step
from benchmarks.harness import Benchmark, Effort, Table, Timer, marked, over_processes, ratios
from tests.peers.dm3.reference import PACKAGES
from tests.peers.made import UnavailableError, made
from tests.peers.node import Reference

from postroom.core.ijson import parse
from postroom.protocols.dm3.envelope import check_envelope, open_delivery, read_envelope
from postroom.protocols.dm3.keys import Algorithm
from postroom.protocols.dm3.postmark import make_postmark
from postroom.protocols.dm3.sealing import open_sealed, seal

MOST_TO_BARE: Final = 1.6
LEAST_TO_SHIPPED: Final = 5.0
LEAST_TO_BARE_STEP: Final = 1.3
_KEYS: Final[tuple[tuple[str, Algorithm], ...]] = (("secp256k1", "secp256k1"), ("Ed25519", "ed25519"))
_BODIES: Final = (("20 B", 20), ("1 kB", 1_000), ("10 kB", 10_000))

NOTES: Final = f"""\
*Ours*, in the service step, is everything from the bytes of the envelope to the postmark: strict I-JSON, the form of
every member, opening the delivery information, checking the sender's signature, and signing the postmark and sealing it
for the receiver. Keys and profile are in memory. *Bare* has only the library calls that cannot be avoided, with the
same libraries (PyNaCl, coincurve): `orjson.loads` of the envelope, X25519 and ChaCha20-Poly1305 to open and, with a new
key pair, to seal, one signature check, one signature, and SHA-256 of the message and of what is signed. It has no
base64, no padding and no JSON of sealed values. For sealed values, *bare* is X25519 and ChaCha20-Poly1305, and
`orjson.loads` of what was opened.

*The reference* is npm's `@dm3-org/dm3-lib-*` on Node, measured inside Node, with envelopes that its client makes of the
same bodies, always with Ed25519. `handleIncomingMessage` makes the postmark and opens the delivery information; it
checks no signature. *As shipped*, its delivery service first calls `validateSchema`, which compiles the schema each
time. Its other work (database, spam filter) is not measured.

Goals: ours ≤ {MOST_TO_BARE} × bare; the reference's step as shipped ≥ {LEAST_TO_SHIPPED} × ours; without the schema,
and for sealing and opening, ≥ {LEAST_TO_BARE_STEP} × ours.
"""

_Way = Callable[[], object] | Timer


def measure(effort: Effort) -> Sequence[Table]:
    """A table of the service step, a row for each key and size of body, and one of sealing and opening."""
    try:
        folder, missing = made(PACKAGES), ""
    except UnavailableError as why:
        folder, missing = None, str(why).partition("\n")[0]
    return [
        _table(
            "The service step",
            ("keys, body", "reference as shipped : ours", "reference, no schema : ours", "ours : bare"),
            [f"{key}, {size}" for key, _ in _KEYS for size, _ in _BODIES],
            over_processes(partial(measure_steps, folder), effort),
            (LEAST_TO_SHIPPED, LEAST_TO_BARE_STEP),
            missing,
        ),
        _table(
            "Sealed values",
            ("way, body", "reference : ours", "ours : bare"),
            [f"{way}, {size}" for way in ("seal", "open") for size, _ in _BODIES],
            over_processes(partial(measure_sealing, folder), effort),
            (LEAST_TO_BARE_STEP,),
            missing,
        ),
    ]


def measure_steps(folder: Path | None, effort: Effort) -> list[list[float]]:
    """For each row: the reference as shipped and its step alone to ours (not without `folder`); ours to bare."""
    with _node(folder) as node:
        rows = []
        for _, algorithm in _KEYS:
            for _, size in _BODIES:
                sample = Sample(algorithm, size)
                theirs = _theirs(node, ("shipped", "step"), size, effort)
                rows.append(_to_ours([bare_step(sample), _our_step(sample), *theirs], effort))
        return rows


def measure_sealing(folder: Path | None, effort: Effort) -> list[list[float]]:
    """For each row: the reference to ours (not without `folder`); ours to bare."""
    with _node(folder) as node:
        rows = []
        for way in ("seal", "open"):
            for _, size in _BODIES:
                bare, ours = _sealing(way, Sample("ed25519", size))
                rows.append(_to_ours([bare, ours, *_theirs(node, (way,), size, effort)], effort))
        return rows


def _to_ours(ways: Sequence[_Way], effort: Effort) -> list[float]:
    _, ours, *theirs = ratios(ways, effort)
    return [*(their / ours for their in theirs), ours]


def _table(
    title: str,
    columns: tuple[str, ...],
    names: Sequence[str],
    rows: Sequence[Sequence[float]],
    least: tuple[float, ...],
    missing: str,
) -> Table:
    """The rows of a table. `missing`: why they have no numbers of the reference."""
    cells = []
    for name, (*theirs, ours) in zip(names, rows, strict=True):
        found = [marked(ratio, reached=ratio >= wanted) for ratio, wanted in zip(theirs, least, strict=not missing)]
        cells.append((name, *(found or [missing] * len(least)), marked(ours, reached=ours <= MOST_TO_BARE)))
    return Table(title, columns, tuple(cells))


def _our_step(sample: Sample) -> Callable[[], object]:
    data, keys = sample.envelope.encode().encode(), (sample.service_pair,)
    sender, service, receiver_key = sample.key.public, sample.key, sample.bobs_pair.public

    def ours() -> None:
        envelope = read_envelope(parse(data, max_bytes=1 << 20))
        delivery = open_delivery(envelope, keys)
        check_envelope(envelope, sender)
        make_postmark(envelope.message, delivery, NOW_MS, service, receiver_key)

    return ours


def _sealing(way: str, sample: Sample) -> tuple[Callable[[], object], Callable[[], object]]:
    """Bare and ours, for the message of a sample."""
    pair, sealed = sample.bobs_pair, sample.envelope.message
    if way == "seal":
        return bare_seal(sample.plaintext, pair), partial(seal, sample.plaintext, pair.public)
    opened = bare_open(sealed, pair)

    def bare() -> None:
        orjson.loads(sealed)
        opened()

    return bare, partial(open_sealed, sealed, (pair,))


@contextmanager
def _node(folder: Path | None) -> Iterator[Reference | None]:
    if folder is None:
        yield None
        return
    with Reference(folder, Path(__file__).parent / "dm3_peer.js") as node:
        yield node


def _theirs(node: Reference | None, ways: Sequence[str], size: int, effort: Effort) -> list[Timer]:
    """The reference's operations for a body of this size, after enough runs for Node to compile them."""
    if node is None:
        return []
    given = node.call("bench.given", "x" * size)
    return [CallTimer(node, "bench.time", (way, given)).warmed(effort) for way in ways]


BENCHMARK = Benchmark("dm3", "The delivery service step of a dm3 message, and sealing", NOTES, measure)
