"""The search for one entry: libFuzzer in a process of its own, and its result."""

import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tests.fuzz.corpus import CORPUS
from tests.fuzz.entry import Entry

TIMEOUT_SECONDS: Final = 10
"""For one input, by the clock on the wall and with all that watches over it: a machine with others on it is slow."""
MEMORY_MB: Final = 1024
"""Of the process: what the worker has, the largest of our functions."""
MOST_RUNS: Final = 1_000_000
"""In one search: an easy parser leaves its time to the others."""

_EXECUTED: Final = re.compile(r"^stat::number_of_executed_units: ([0-9]+)$|^#([0-9]+)\t", re.MULTILINE)
_REACHED: Final = re.compile(r" cov: ([0-9]+) ft: ([0-9]+) ")
_RAISED: Final = re.compile(r"Uncaught Python exception: ===\n(.*)")
_ENDED: Final = re.compile(r"^SUMMARY: libFuzzer: (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What searches of an entry came to. `edges`, `features`: libFuzzer's measures of what its corpus reaches.

    `lines`, `of`: what the replayed corpus reaches of the modules aimed at; 0 of 0 where it was not replayed.
    `findings`: why each search ended that found something.
    """

    executions: int = 0
    seconds: float = 0
    edges: int = 0
    features: int = 0
    lines: int = 0
    of: int = 0
    findings: tuple[str, ...] = ()

    def then(self, later: "Outcome") -> "Outcome":
        """Both searches: the later one went on from the corpus of this one."""
        return replace(
            later,
            executions=self.executions + later.executions,
            seconds=self.seconds + later.seconds,
            lines=self.lines,
            of=self.of,
            findings=self.findings + later.findings,
        )


def read_log(log: str, seconds: float) -> Outcome:
    """The outcome, by what libFuzzer and atheris print."""
    executed = [int(total or number) for total, number in _EXECUTED.findall(log)]
    edges, features = ([*_REACHED.findall(log)] or [("0", "0")])[-1]
    findings = tuple(_RAISED.findall(log) or _ENDED.findall(log))
    return Outcome(max(executed, default=0), seconds, int(edges), int(features), findings=findings)


def command(entry: Entry, directory: Path, seconds: int) -> Sequence[str]:
    """The command that searches for so long. Its corpus and what it finds are left in `directory`."""
    known = [directory / "corpus", directory / "seeds", CORPUS / entry.name]
    return (
        sys.executable, "-m", "tests.fuzz.target", entry.name,
        f"-max_total_time={seconds}", f"-runs={MOST_RUNS}", f"-max_len={entry.max_bytes}",
        f"-timeout={TIMEOUT_SECONDS}", f"-rss_limit_mb={MEMORY_MB}",
        f"-artifact_prefix={directory / 'findings'}/", "-print_final_stats=1",
        *(str(path) for path in known if path.is_dir()),
    )  # fmt: skip


def search(entry: Entry, directory: Path, seconds: int) -> Outcome:
    """Search for at most `seconds` seconds; a finding ends the search. The log is written to `directory`."""
    for name in ("corpus", "seeds", "findings"):
        (directory / name).mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(entry.seeds):
        (directory / "seeds" / str(number)).write_bytes(seed)
    log = directory / "log"
    begun = time.monotonic()
    with log.open("wb") as out:
        done = subprocess.run(command(entry, directory, seconds), stdout=out, stderr=out, check=False)
    outcome = read_log(log.read_text(errors="replace"), time.monotonic() - begun)
    if done.returncode and not outcome.findings:
        # Killed, or broken before it began: that must not look like a search without findings.
        return replace(outcome, findings=(f"the search ended with {done.returncode}; see {log}",))
    return outcome
