"""Tests that share something costly say so by an xdist_group; they then run in one process, which makes it once."""

import subprocess
import sys
from pathlib import Path

TESTS = """
import os, pathlib, pytest
pytestmark = pytest.mark.xdist_group("shared")

@pytest.mark.parametrize("number", range(4))
def test_one(number):
    pathlib.Path(os.environ["PYTEST_XDIST_WORKER"]).touch()
"""


def test_a_group_runs_in_one_process(tmp_path: Path) -> None:
    """Versions of pytest and xdist that do not fit pass all tests, each process with a local stack of its own."""
    for name in ("test_a.py", "test_b.py", "test_c.py"):
        (tmp_path / name).write_text(TESTS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(tmp_path.glob("gw*"))) == 1
