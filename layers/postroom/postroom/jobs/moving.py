"""Compact 3 and 4: sorted lines become chunks; then each row's pointer is moved."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from typing import Final

from postroom.jobs.bucket import Bucket
from postroom.jobs.evidence import ObjectEvidence, bits
from postroom.jobs.registers import Registers
from postroom.jobs.tally import Tally
from postroom.storage.mail.chunks import ChunkLine, cut
from postroom.storage.mail.segments import Place, lay_out_encoded

_JSON_LINES: Final = "application/jsonl"
_PARTS: Final = 16
"""Of a chunk, whose rows are asked to move side by side."""


class Mover:
    """Writes chunks and moves rows. `new_name`: of a chunk, never the same. `dry_run`: only counts.

    Raises NotNowError(STORE_UNAVAILABLE): then chunks stay to which no row points, or not all of theirs.
    """

    def __init__(
        self,
        bucket: Bucket,
        registers: Registers,
        tally: Tally,
        pool: Executor,
        new_name: Callable[[], str],
        *,
        dry_run: bool,
    ) -> None:
        self._bucket = bucket
        self._registers = registers
        self._tally = tally
        self._pool = pool
        self._new_name = new_name
        self._dry_run = dry_run

    def move(self, lines: Iterable[ChunkLine]) -> Iterator[ObjectEvidence]:
        """Move lines that come in their order; the evidence is of where they were copied from."""
        # While the rows of one chunk move, the next is written and the one after it gathered.
        written: tuple[Sequence[ChunkLine], Future[Sequence[Place]]] | None = None
        for chunk in cut(lines):
            following = chunk, self._pool.submit(self._write, chunk)
            if written:
                yield from self._swing(written[0], written[1].result())
            written = following
        if written:
            yield from self._swing(written[0], written[1].result())

    def _write(self, chunk: Sequence[ChunkLine]) -> Sequence[Place]:
        self._tally.add("chunks")
        with self._tally.timed("write"):
            data, places = lay_out_encoded([line.data for line in chunk], self._new_name())
            if not self._dry_run:
                # The name is ours alone: what stands there is what an earlier try of the same request has left.
                self._bucket.put_new(places[0].object, data, _JSON_LINES)
            return places

    def _swing(self, chunk: Sequence[ChunkLine], places: Sequence[Place]) -> Iterator[ObjectEvidence]:
        if not self._dry_run:
            self._swing_all(list(zip(chunk, places, strict=True)))
        # Whether moved or refused, each row has left its line's source, or would have.
        answered: dict[str, list[int]] = defaultdict(list)
        for line in chunk:
            answered[line.source].append(line.number)
        for source, numbers in answered.items():
            yield ObjectEvidence(source, 0, bits(numbers))

    def _swing_all(self, lines: Sequence[tuple[ChunkLine, Place]]) -> None:
        with self._tally.timed("swing"):
            # In as many parts as there are threads: to hand over one line costs as much as half a request.
            swung = sum(self._pool.map(self._swing_some, [lines[part::_PARTS] for part in range(_PARTS)]))
        self._tally.add("lines.swung", swung)
        self._tally.add("lines.refused", len(lines) - swung)

    def _swing_some(self, lines: Iterable[tuple[ChunkLine, Place]]) -> int:
        return sum(self._registers.swing(line.row, line.source, place) for line, place in lines)
