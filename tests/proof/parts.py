"""The parts of the proof: commands that pass or fail, each of some minutes, which together play everything."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.__main__ import BENCHMARKS
from tests.faults.suites import SUITES
from tests.proof.inputs import ROOT
from tests.schedule import durations
from tests.tiers import Tier

PYTHONS = ("3.11", "3.12", "3.13")
ALONE = (
    "tests/cli/test_admin.py",
    "tests/cli/test_up.py",
    "tests/client/test_mailbox_passes.py",
    "tests/dnssec/test_verdicts.py",
    "tests/faults/test_faults.py",
    "tests/local/test_stack.py",
    "tests/model/test_watch.py",
    "tests/model/test_watch_steps.py",
    "tests/pipeline/test_interleavings.py",
    "tests/protocols/dcp/test_network.py",
    "tests/soak/test_soak.py",
    "tests/test_bad_input.py",
    "tests/test_benchmarks.py",
    "tests/test_readme.py",
)
"""The files of tests that take minutes in this tier: each is a part of its own."""
_TIMES_ALL = 4.0
"""The expected duration of tests, as a multiple of that in `make test-all`."""
_BATCH_TURNS = 4


@dataclass(frozen=True)
class Part:
    """A part. `starts`: the files and folders that its inputs begin at; none: all of the checkout.

    `seconds`: how long it is expected to take. `lacks`: what it needs and this machine does not have.
    """

    name: str
    command: tuple[str, ...]
    starts: tuple[str, ...] = ()
    seconds: float = 600.0
    lacks: str = field(default="", compare=False)


def parts() -> list[Part]:
    """Every part, in the order in which they are played where none is due for longer than the others."""
    return [*_quick(), *_tests(), *_faults(), *_programs()]


def _quick() -> Iterator[Part]:
    """What `make test` plays, on each Python that this supports."""
    for version in PYTHONS:
        python = found(version)
        # `make proof ARGS=…` would hand its arguments on.
        command = ("make", "test", f"PYTHON={python}", f"VENV=.venv-{version}", "ARGS=")
        lacks = "" if python else f"python{version} is neither on PATH nor below the versions of pyenv"
        yield Part(f"make test on Python {version}", command, lacks=lacks)


def _tests() -> Iterator[Part]:
    """Each folder of tests, without those below it and without its longest files; and each of these."""
    known = {path: took[0] for path, took in durations(Tier.ALL).items()}
    folders: dict[Path, list[Path]] = {}
    for path in sorted(path.relative_to(ROOT) for path in ROOT.glob("tests/**/test_*.py")):
        folders.setdefault(path if str(path) in ALONE else path.parent, []).append(path)
    for name, paths in sorted(folders.items()):
        files = tuple(map(str, paths))
        # The files of a folder run in two processes, and one file in one.
        seconds = sum(known.get(file, 1.0) for file in files) * _TIMES_ALL / (2 if len(files) > 1 else 1)
        at_once = ("-n", "2", "--dist", "loadgroup") if len(files) > 1 else ("-n", "0")
        # What stands in `tests` itself is about the whole checkout.
        starts = () if paths[0].parent == Path("tests") else files
        yield Part(str(name), _module("pytest", "--tier", Tier.PROOF, *at_once, *files), starts, seconds)


def _faults() -> Iterator[Part]:
    """Every strike of every flow, and every death that is not played because it is the same as another."""
    starts = ("tests/faults",)
    for suite in SUITES:
        yield Part(f"faults: {suite}", _module("tests.faults", suite), starts)
        same = f"faults: {suite}, deaths that are the same"
        yield Part(same, _module("tests.faults", suite, "--dropped"), starts, 120)
    for turn in range(_BATCH_TURNS):
        share = ("--tier", Tier.ALL, "--rotation", str(turn))
        command = _module("tests.faults", "--batch", "100", "--deaths", *share)
        yield Part(f"faults: deaths in a batch of 100, quarter {turn + 1} of {_BATCH_TURNS}", command, starts)


def _programs() -> Iterator[Part]:
    """Programs beside the tests."""
    yield Part("mutants", _module("tests.mutants", "--tier", Tier.ALL, "--jobs", "2"))
    yield Part("soak: 20,000 messages", _module("tests.soak", "--messages", "20000"), ("tests/soak",), 2_400)
    for benchmark in BENCHMARKS:
        yield Part(f"benchmark: {benchmark.name}", _module("benchmarks", benchmark.name), ("benchmarks",), 180)
        if benchmark.broken:
            command = _module("benchmarks", benchmark.name, "--broken")
            yield Part(f"benchmark: {benchmark.name}, broken on purpose", command, ("benchmarks",), 180)


def _module(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", *arguments)


def found(version: str) -> str:
    """The interpreter of a version of Python, or nothing."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    below = sorted(map(str, root.glob(f"versions/{version}.*/bin/python{version}")))
    return next((path for path in (shutil.which(f"python{version}"), *below) if path and _starts(path)), "")


def _starts(python: str) -> bool:
    """Whether an interpreter can be started; what pyenv puts on PATH may start none."""
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0
