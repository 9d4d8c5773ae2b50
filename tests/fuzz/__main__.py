"""The command line of the fuzzer: `make fuzz`, or `python -m tests.fuzz [NAME …] --minutes N [--keep]`.

`--keep` puts a small part of what was found to lead somewhere into the repository; `--write` writes
docs/evidence/fuzz.md by what all searches in build/fuzz came to, and searches no more if no minutes are given.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from tests.contents import with_contents
from tests.fuzz.corpus import CORPUS, Reached, keep
from tests.fuzz.entries import ENTRIES
from tests.fuzz.page import PAGE, page, table
from tests.fuzz.search import Outcome, search

ROOT: Final = Path(__file__).parent.parent.parent
BUILD: Final = ROOT / "build" / "fuzz"


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0, or 1 where something was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Search for inputs that break parsers.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="entries; without: all of them")
    parser.add_argument("--minutes", type=float, default=0, help="for all entries together")
    parser.add_argument("--keep", action="store_true", help="keep what leads somewhere in tests/fuzz/corpus")
    parser.add_argument("--write", action="store_true", help="write docs/evidence/fuzz.md")
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.names if name not in ENTRIES]
    if unknown:
        parser.error(f"there is no entry {unknown[0]!r}; there are {', '.join(ENTRIES)}")
    names = chosen.names or list(ENTRIES)
    if chosen.minutes and find_spec("atheris") is None:
        parser.error("atheris is not installed; `make fuzz` installs it, on Linux on x86-64")
    found = 0
    ends_at = time.monotonic() + 60 * chosen.minutes
    for place, name in enumerate(names if chosen.minutes else ()):
        # An entry that was done early leaves its time to those after it.
        seconds = int((ends_at - time.monotonic()) / (len(names) - place))
        found += _searched(name, max(1, seconds))
    if chosen.keep:
        for name in names:
            _kept(name)
    outcomes = {name: _outcome(name) for name in names}
    print("\n".join(table(outcomes)))
    if chosen.write:
        PAGE.write_text(with_contents(page({name: _outcome(name) for name in ENTRIES})))
    return 1 if found else 0


def _searched(name: str, seconds: int) -> int:
    """Search one entry, say what came of it, add it to what is known; how much was found."""
    print(f"{name}: at most {seconds} s …", flush=True)
    outcome = search(ENTRIES[name], BUILD / name, seconds)
    print(f"{name}: {outcome.executions:,} executions, {outcome.features:,} features", flush=True)
    for why in outcome.findings:
        print(f"{name}: FOUND: {why}; the input is in {BUILD / name / 'findings'}, the log beside it", flush=True)
    _note(name, _outcome(name).then(outcome))
    return len(outcome.findings)


def _kept(name: str) -> None:
    """Replay what is known of one entry, and keep a part of it."""
    directories = [directory for directory in (CORPUS / name, BUILD / name / "corpus") if directory.is_dir()]
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.corpus", name, *map(str, directories)],
        stdout=subprocess.PIPE, check=True, text=True,
    )  # fmt: skip
    reached: Reached = json.loads(done.stdout)
    keep(name, reached["files"])
    _note(name, replace(_outcome(name), lines=reached["lines"], of=reached["of"]))


def _outcome(name: str) -> Outcome:
    """What all searches of an entry came to so far."""
    path = BUILD / name / "outcome.json"
    if not path.exists():
        return Outcome()
    said = json.loads(path.read_text())
    return Outcome(**{**said, "findings": tuple(said["findings"])})


def _note(name: str, outcome: Outcome) -> None:
    path = BUILD / name / "outcome.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(outcome)))


if __name__ == "__main__":
    sys.exit(main())
