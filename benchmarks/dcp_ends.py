"""Both ends of a DCP connection in one process: ours in an event loop, and the reference's in Node."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from tests.peers.dcp.reference import PACKAGES, PROGRAM
from tests.peers.made import UnavailableError, made
from tests.peers.node import Reference
from tests.protocols.dcp.guarded import NOW

from postroom.client.dcp import AsyncConnection, IdentityMemory, accept, memory_pair
from postroom.client.dcp.requests import IncomingRequest
from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp.memory_store import MemoryStore

BATCH: Final = 10
_DATA: Final[JsonValue] = {"amount": 7}
_WARM_TURNS: Final = 5
"""Of the reference: Node compiles what runs often."""


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds for opening a session, for a request that is alone, and for one of a batch."""

    opening: float
    alone: float
    in_batch: float


def compared(rounds: int, requests: int) -> tuple[Times, Times | None]:
    """Ours, and the reference's; None: it cannot be had here. `requests`: of each kind in each round."""
    ours, theirs = [], []
    try:
        with _reference() as reference:
            _their_times(reference, min(_WARM_TURNS, requests))
            for _ in range(rounds):
                ours.append(asyncio.run(_our_times(requests)))
                theirs.append(_their_times(reference, requests))
    except UnavailableError:
        ours = [asyncio.run(_our_times(requests)) for _ in range(rounds)]
    return _median(ours), _median(theirs) if theirs else None


def _median(found: list[Times]) -> Times:
    return Times(
        median(each.opening for each in found),
        median(each.alone for each in found),
        median(each.in_batch for each in found),
    )


@contextmanager
def _reference() -> Iterator[Reference]:
    """Raises UnavailableError."""
    with TemporaryDirectory() as home, Reference(made(PACKAGES), PROGRAM, Path(home)) as reference:
        reference.call("clock.set", NOW)
        yield reference


def _their_times(reference: Reference, requests: int) -> Times:
    opening = median(float(reference.call("pair.open")) for _ in range(requests))
    alone = float(reference.call("pair.send", requests, 1)) / requests
    return Times(opening, alone, float(reference.call("pair.send", requests, BATCH)) / requests / BATCH)


async def _our_times(requests: int) -> Times:
    openings = []
    for _ in range(requests):
        async with _pair() as connection:
            begun = time.perf_counter()
            await connection.connect()
            openings.append(time.perf_counter() - begun)
    return Times(median(openings), await _sending(requests, 1), await _sending(requests, BATCH))


async def _sending(times: int, at_once: int) -> float:
    """Seconds for one request."""
    async with _pair() as connection:
        await connection.connect()
        begun = time.perf_counter()
        for _ in range(times):
            await asyncio.gather(*(connection.send("echo", _DATA) for _ in range(at_once)))
        return (time.perf_counter() - begun) / times / at_once


@asynccontextmanager
async def _pair() -> AsyncIterator[AsyncConnection]:
    """An initiator whose target is in this loop."""
    one, other = memory_pair()
    accepting = asyncio.create_task(accept(other, _THEIRS, on_request=_echo, store=MemoryStore()))
    async with AsyncConnection("memory:", _OURS, transport=one, identities=IdentityMemory()) as connection:
        yield connection
    await (await accepting).close()


def _echo(request: IncomingRequest) -> None:
    request.respond(request.data)


_OURS, _THEIRS = (EthereumKey.from_secret(bytes([number]) * 32) for number in (0x11, 0x22))
