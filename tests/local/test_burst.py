"""`python -m tests.burst`: what it says is so, and what it finds wrong."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.burst import too_many
from tests.tiers import amount

from postroom.local.emulator import Processes


@pytest.mark.stack
def test_a_burst_at_the_real_template_is_filed_by_few_processes() -> None:
    """In its own time: a busy machine fails no test."""
    messages = amount(quick=6, all=24, proof=400)
    command = [sys.executable, "-m", "tests.burst", "--messages", str(messages), "--seconds", "3600"]
    ended = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert f"filed: {messages}; in the worker's queues: 0" in ended.stdout
    assert re.search(r"^ +[1-9]\d* receiver-WorkerFunction-\w+$", ended.stdout, re.MULTILINE)


def test_more_processes_than_allowed_are_found() -> None:
    most = Counter({"fed": 5, "fed well": 4, "asked": 17, "asked well": 16})
    assert too_many(most, {"fed", "fed well"}, Processes(queue=4, http=16)) == ["fed", "asked"]
