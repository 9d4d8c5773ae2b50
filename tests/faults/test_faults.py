"""Whatever befalls any call of AWS: nothing is lost, nothing is doubled, and nobody is told twice.

Each suite is played in a process without threads, which forks its victims: `python -m tests.faults`. What it prints
stands in docs/faults.md; `python -m tests.faults --write` writes it there.
"""

import subprocess
import sys

import pytest
from tests.faults.__main__ import PAGE
from tests.faults.broken import VARIANTS
from tests.faults.suites import SUITES


def play(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "tests.faults", *arguments], capture_output=True, text=True)


@pytest.mark.parametrize("suite", SUITES)
def test_nothing_is_lost_nothing_is_doubled(suite: str) -> None:
    played = play(suite)
    assert played.returncode == 0, played.stdout + played.stderr
    rows = played.stdout.strip().splitlines()[2:]
    assert rows
    assert [row for row in rows if row not in PAGE.read_text(encoding="utf-8")] == []


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_harness_finds_what_is_broken(variant: str) -> None:
    played = play("--broken", variant)
    assert played.returncode == 1, played.stdout + played.stderr
    assert VARIANTS[variant].finds in played.stdout
