"""The committed record of the sample: each fault, the test that found it, or the reason why none does."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, Final

RECORD: Final = Path(__file__).with_name("record.json")
SHARE: Final = 0.95
"""So many of the faults tests are to find."""
_lock = Lock()


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """A fault: the lines `before`, from `line` on, become `after`.

    `path`: of the module, from the root of the checkout. `operator`: of cosmic-ray, or of `checks`. `by`: the test that
    found it; None: it was not played yet; empty: no test that covers it does. `reason`: why no test has to.
    """

    path: str
    line: int
    operator: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    by: str | None = None
    reason: str = ""

    @property
    def is_found(self) -> bool:
        """Whether a test found it."""
        return bool(self.by)

    @property
    def key(self) -> tuple[str, int, str, tuple[str, ...]]:
        """What makes it another fault than all others."""
        return self.path, self.line, self.operator, self.after

    @property
    def package(self) -> str:
        """The folder of its module, below `postroom`."""
        return str(Path(self.module).parent)

    @property
    def module(self) -> str:
        """The path below `postroom`."""
        return self.path.partition("postroom/postroom/")[2]

    @property
    def dotted(self) -> str:
        """Its module's name below `postroom`, as it is imported."""
        return self.module.removesuffix(".py").replace("/", ".")

    def apply(self, source: str) -> str:
        """The source of its module with the fault. Raises LookupError if the lines are not there any more."""
        lines, at = source.split("\n"), self.line_in(source) - 1
        return "\n".join([*lines[:at], *self.after, *lines[at + len(self.before) :]])

    def line_in(self, source: str) -> int:
        """The line from which it is put into its module as it is now. Raises LookupError as `apply` does."""
        lines, size = source.split("\n"), len(self.before)
        places = [at + 1 for at in range(len(lines)) if tuple(lines[at : at + size]) == self.before]
        if not places:
            raise LookupError(f"{self.path} has no line {self.before[0].strip()!r}")
        return min(places, key=lambda place: abs(place - self.line))


@dataclass(frozen=True, slots=True)
class Record:
    """A sample and its results. `commit`: the checkout from which it was drawn. `places`: all from which it was."""

    seed: int
    commit: str
    places: int
    faults: Sequence[Fault]

    @property
    def found(self) -> int:
        """How many faults tests found."""
        return sum(fault.is_found for fault in self.faults)

    @property
    def open(self) -> list[Fault]:
        """The faults that no test found, or that were not played, and that have no reason."""
        return [fault for fault in self.faults if not fault.is_found and not fault.reason]


def read() -> Record:
    """The committed record."""
    kept: Mapping[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    faults = [
        Fault(**{**fault, "before": tuple(fault["before"]), "after": tuple(fault["after"])}) for fault in kept["faults"]
    ]
    return Record(**{**kept, "faults": faults})


def write(record: Record) -> None:
    """Replace the committed record."""
    RECORD.write_text(json.dumps(asdict(record), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def note(fault: Fault, by: str) -> None:
    """Store a result immediately, so that a run that is interrupted loses none."""
    with _lock:
        record = read()
        noted = [replace(each, by=by) if each.key == fault.key else each for each in record.faults]
        write(replace(record, faults=noted))
