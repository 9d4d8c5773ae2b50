"""`python -m tests.burst`: what it says is so, and what it finds wrong."""

import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest
from tests.burst import running, too_many
from tests.patience import PATIENCE
from tests.tiers import amount

from postroom.local.emulator import Processes


@pytest.mark.stack
def test_a_burst_at_the_real_template_is_filed_by_few_processes() -> None:
    messages = amount(quick=6, all=24, proof=400)
    command = [sys.executable, "-m", "tests.burst", "--messages", str(messages), "--seconds", str(3 * PATIENCE)]
    ended = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert f"filed: {messages}; in the worker's queues: 0" in ended.stdout
    assert re.search(r"^ +[1-9]\d* receiver-WorkerFunction-\w+$", ended.stdout, re.MULTILINE)


def test_more_processes_than_allowed_are_found() -> None:
    most = Counter({"fed": 5, "fed well": 4, "asked": 17, "asked well": 16})
    assert too_many(most, {"fed", "fed well"}, Processes(queue=4, http=16)) == ["fed", "asked"]


@pytest.mark.stack(tier="quick")
@pytest.mark.parametrize("said", ["", "Ctrl-C ends it"])
def test_a_stack_that_ends_by_itself_is_no_success(said: str, monkeypatch, tmp_path: Path) -> None:
    up = tmp_path / "postroom"
    up.write_text(f"#!/bin/sh\necho {said}\n")
    up.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(SystemExit) as ended, running(tmp_path) as stack:
        wait_until_it_ended(stack)
    assert ended.value.code


def wait_until_it_ended(process: psutil.Process) -> None:
    while process.status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)
