"""The inputs in the repository: each of them takes a path through our code that no smaller one takes.

`python -m tests.fuzz.corpus NAME DIRECTORY…` replays inputs in a process of its own and says what they reach, for
`tests.fuzz.__main__`, which keeps some of them.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final, TypedDict

CORPUS: Final = Path(__file__).parent / "corpus"
MOST_FILES: Final = 100
MOST_BYTES: Final = 200_000
"""Of one entry in the repository."""
_OURS: Final = f"{Path('layers', 'postroom', 'postroom')}/"


class Reached(TypedDict):
    """What inputs reach. `lines`: of the modules that the entry aims at, how many of how many; `files`: to be kept."""

    lines: int
    of: int
    files: list[str]


def kept(name: str) -> list[Path]:
    """The inputs that are kept for an entry."""
    return sorted((CORPUS / name).glob("*"))


def keep(name: str, files: Sequence[str]) -> None:
    """Make these the inputs that are kept for an entry, each named by its content."""
    contents = [Path(file).read_bytes() for file in files]
    (CORPUS / name).mkdir(parents=True, exist_ok=True)
    for path in kept(name):
        path.unlink()
    for data in contents:
        (CORPUS / name / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)


def by_size(directories: Iterable[Path]) -> list[Path]:
    """All inputs, the smallest first; of equal ones the same order each time."""
    files = (path for directory in directories for path in directory.glob("*"))
    return sorted(files, key=lambda path: (path.stat().st_size, path.name))


Way = tuple[str, int, int]
"""A file, and two lines of it that were run one after the other."""


def watch() -> set[Way]:
    """The ways through our code that are gone from now on."""
    ways: set[Way] = set()

    def enter(frame: FrameType, _event: str, _argument: object) -> Callable[..., Any] | None:
        file = frame.f_code.co_filename
        if _OURS not in file:
            return None
        last = 0

        def step(frame: FrameType, event: str, _argument: object) -> Callable[..., Any]:
            nonlocal last
            if event == "line":
                ways.add((file, last, frame.f_lineno))
                last = frame.f_lineno
            return step

        return step

    sys.settrace(enter)
    return ways


def lines_of(code: CodeType) -> Iterator[int]:
    """The lines that can be run, of a module and all that is defined in it."""
    yield from (line for _, _, line in code.co_lines() if line)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from lines_of(constant)


def replay(name: str, directories: Iterable[Path]) -> Reached:
    """Run an entry's seeds and these inputs; of those, list which go ways that neither the seeds nor smaller ones go.

    It must be the first thing in its process that imports any of our code.
    """
    ways = watch()
    from tests.fuzz.entries import ENTRIES

    entry = ENTRIES[name]
    for seed in entry.seeds:
        entry.run(seed)
    files: list[str] = []
    room = MOST_BYTES
    for path in by_size(directories):
        data, known = path.read_bytes(), len(ways)
        entry.run(data)
        if len(ways) > known and len(data) <= room and len(files) < MOST_FILES:
            files.append(str(path))
            room -= len(data)
    sys.settrace(None)
    there: set[tuple[str, int]] = set()
    for aim in entry.aims:
        spec = find_spec(aim)
        assert spec is not None
        assert spec.origin is not None
        code = compile(Path(spec.origin).read_text(), spec.origin, "exec")
        there |= {(spec.origin, line) for line in lines_of(code)}
    gone = {(file, line) for file, _, line in ways}
    return {"lines": len(there & gone), "of": len(there), "files": files}


if __name__ == "__main__":
    name, *directories = sys.argv[1:]
    print(json.dumps(replay(name, map(Path, directories))))
