"""Moving sorted lines into chunks, and repointing the row of each (store protocol, Compact 3 and 4)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Final

from postroom.jobs.bucket import Bucket
from postroom.jobs.past_lines import PastLines, bits
from postroom.jobs.registers import Registers
from postroom.jobs.tally import Tally
from postroom.storage.aws.object_store import Place
from postroom.storage.mail.chunks import ChunkLine, cut
from postroom.storage.mail.segments import lay_out_encoded

_JSON_LINES: Final = "application/jsonl"
_PARTS: Final = 16
"""The parts of a chunk whose rows are repointed concurrently."""


@dataclass(frozen=True, slots=True, eq=False)
class Mover:
    """Writes chunks and repoints rows. `new_name`: of a chunk, never the same. `dry_run`: only counts.

    Raises NotNowError(STORE_UNAVAILABLE): then some chunks have lines that no row points to.
    """

    bucket: Bucket
    registers: Registers
    tally: Tally
    pool: Executor
    new_name: Callable[[], str]
    dry_run: bool

    def move(self, lines: Iterable[ChunkLine]) -> Iterator[PastLines]:
        """Move ordered lines; the evidence is about the objects that they were copied from."""
        # While the rows of one chunk are repointed, the next chunk is written, and the lines of a third are collected.
        written: tuple[Sequence[ChunkLine], Future[Sequence[Place]]] | None = None
        for chunk in cut(lines):
            following = chunk, self.pool.submit(self._write, chunk)
            if written:
                yield from self._repoint(written[0], written[1].result())
            written = following
        if written:
            yield from self._repoint(written[0], written[1].result())

    def _write(self, chunk: Sequence[ChunkLine]) -> Sequence[Place]:
        self.tally.add("chunks")
        with self.tally.timed("write"):
            data, places = lay_out_encoded([line.data for line in chunk], self.new_name())
            if not self.dry_run:
                # The name is unique: an object with this name was written by an earlier attempt of the same request.
                self.bucket.put_new(places[0].object, data, _JSON_LINES)
            return places

    def _repoint(self, chunk: Sequence[ChunkLine], places: Sequence[Place]) -> Iterator[PastLines]:
        if not self.dry_run:
            self._repoint_all(list(zip(chunk, places, strict=True)))
        # Whether it was repointed or not, the row no longer points to the line's source, or would not after a real run.
        answered: dict[str, list[int]] = defaultdict(list)
        for line in chunk:
            answered[line.source].append(line.number)
        for source, numbers in answered.items():
            yield PastLines(source, 0, bits(numbers))

    def _repoint_all(self, lines: Sequence[tuple[ChunkLine, Place]]) -> None:
        with self.tally.timed("repoint"):
            # In as many parts as there are threads: handing over single lines would cost half as much as the requests.
            repointed = sum(self.pool.map(self._repoint_some, [lines[part::_PARTS] for part in range(_PARTS)]))
        self.tally.add("lines.repointed", repointed)
        self.tally.add("lines.refused", len(lines) - repointed)

    def _repoint_some(self, lines: Iterable[tuple[ChunkLine, Place]]) -> int:
        return sum(self.registers.repoint(line.row, line.source, place) for line, place in lines)
