"""What shares something costly runs in one process, which makes it once: the tests of a group, and those of a file. A
process that crashes ends the run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[1]
TESTS = """
import os, pathlib, pytest

@pytest.mark.parametrize("number", range(4))
def test_one(number):
    pathlib.Path(os.environ["PYTEST_XDIST_WORKER"] + "-" + pathlib.Path(__file__).stem).touch()
"""
CRASHES = "import os, time\n\ndef test_crash():\n    time.sleep(1)\n    os.abort()\n"
OF_A_GROUP = f'{TESTS}\npytestmark = pytest.mark.xdist_group("shared")\n'


def _run(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadgroup", "-p", "xdist", "-p", "tests.schedule"]
    # Plugins that are not needed take seconds in each of three processes.
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE
    )


def test_a_group_runs_in_one_process_and_so_does_a_file(tmp_path: Path) -> None:
    """Versions of pytest and xdist that do not fit pass all tests, each process with a local stack of its own."""
    grouped, alone = {"test_a", "test_b"}, {"test_c", "test_d"}
    for name in grouped | alone:
        (tmp_path / f"{name}.py").write_text(OF_A_GROUP if name in grouped else TESTS, encoding="utf-8")
    done = _run(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    ran = [path.name.partition("-")[::2] for path in tmp_path.glob("gw*")]
    assert sorted(file for _, file in ran) == sorted(grouped | alone)
    assert len({process for process, file in ran if file in grouped}) == 1
    assert len({process for process, _ in ran}) == 2


@pytest.mark.proof
def test_a_process_that_crashes_fails_its_test_and_ends_the_run(tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"test_{number}.py").write_text(CRASHES if number == 4 else TESTS, encoding="utf-8")
    done = _run(tmp_path)
    assert done.returncode != 0
    assert "crashed while running 'test_4.py::test_crash'" in done.stdout
