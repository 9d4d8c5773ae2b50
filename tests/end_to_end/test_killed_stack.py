"""`make up STATE=dir` after a `kill -9` of all of its processes (docs/start/try-it.md)."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import psutil
import pytest
from tests.patience import PATIENCE
from tests.tiers import amount

from postroom.demo.scenes import Story, envelope_of
from postroom.demo.stack import RECEIVER, DemoStack
from postroom.local.checkout import template_path
from postroom.local.emulator import Emulator
from postroom.local.stack import LocalStack

pytestmark = pytest.mark.stack
ACCEPTED = amount(quick=40, all=60, proof=400)
KILLS = amount(quick=1, all=2, proof=8)


def test_nothing_accepted_is_lost_or_filed_twice_when_all_processes_are_killed(tmp_path: Path) -> None:
    accepted: list[str] = []
    for _ in range(KILLS):
        accepted += accepted_until_killed(tmp_path, ACCEPTED // KILLS)
    with LocalStack(template_path(), state_dir=tmp_path) as stack:
        again = DemoStack(stack, tmp_path / "keys")
        again.receiver.settle()
        filed = Counter(envelope_of(each)["Hash"] for each in again.receiver.filed(RECEIVER))
        assert set(accepted) - set(filed) == set()
        assert set(filed.values()) == {1}
        story = Story(again, print)
        sent = story.envelope(again.sender)
        assert story.post(sent)[0] == 200
        story.find_filed(again.receiver, RECEIVER, sent)


def accepted_until_killed(folder: Path, messages: int) -> list[str]:
    """The Hashes of the messages that were accepted before everything was killed, in the middle of others."""
    command = [sys.executable, "-m", "tests.end_to_end.killed_stack", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as posting:
        assert posting.stdout
        said = [posting.stdout.readline().strip() for _ in range(messages)]
        kill_all(psutil.Process(posting.pid))
        return [*said, *(line.strip() for line in posting.stdout if line.endswith("\n"))]


def kill_all(process: psutil.Process) -> None:
    """Kill a process and all that it has started."""
    tree = [process, *process.children(recursive=True)]
    for each in tree:
        each.suspend()
    tree = [process, *process.children(recursive=True)]
    for each in tree:
        each.kill()
    psutil.wait_procs(tree, PATIENCE)


def test_functions_end_with_the_supervisor_of_the_embedded_aws(tmp_path: Path) -> None:
    with LocalStack(template_path(), state_dir=tmp_path) as stack:
        DemoStack(stack, tmp_path / "keys")
        emulator: Emulator = stack.emulator
        assert emulator._supervisor
        supervisor = psutil.Process(emulator._supervisor.pid)
        rest = supervisor.children(recursive=True)
        assert len(rest) > 1
        supervisor.kill()
        assert psutil.wait_procs(rest, PATIENCE)[1] == []
