"""Parsing and verifying a message by DCP's reference implementation in Node, compared with ours.

These are processor times: as it is shipped, one run takes so long that other processes disturb each.
"""

import time
import timeit
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.call_timer import CallTimer
from benchmarks.harness import Effort, ratios
from tests.peers.dcp.reference import PACKAGES, PROGRAM
from tests.peers.made import UnavailableError, made
from tests.peers.node import Reference

from postroom.protocols.dcp.signed_message import read_signed_message


def compared(message: bytes, effort: Effort) -> tuple[float | None, float | None]:
    """The reference with native code, and as it is shipped, each to ours; None: it cannot be had here."""
    # As shipped, one turn is hundreds of milliseconds.
    fewer = replace(effort, rounds=min(effort.rounds, 5), turns=min(effort.turns, 3))
    try:
        with _reference() as native, _reference("plain") as plain:
            shipped = _to_ours(plain, message, fewer)
            return (_to_ours(native, message, effort) if native.call("native.files") else None), shipped
    except UnavailableError:
        return None, None


def _to_ours(reference: Reference, message: bytes, effort: Effort) -> float:
    theirs = CallTimer(reference, "message.verify", (message.decode(),)).warmed(effort)
    ours = timeit.Timer(lambda: read_signed_message(message), timer=time.process_time)
    return ratios([ours, theirs], effort)[1]


@contextmanager
def _reference(*options: str) -> Iterator[Reference]:
    """Raises UnavailableError."""
    with TemporaryDirectory() as home, Reference(made(PACKAGES), PROGRAM, Path(home), *options) as reference:
        yield reference
