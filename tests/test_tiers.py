"""Tiers: a run plays what it should, says what it leaves out, and no costly test is taken for a quick one."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.proof import Part, chosen, parts

ROOT = Path(__file__).parent.parent
CONFTEST = """
import tests.costs

tests.costs.QUICK_SECONDS = 0.2
pytest_plugins = ["tests.tiers", "tests.schedule", "tests.costs"]
"""
TESTS = """
import subprocess, sys, time
import pytest
from hypothesis import given, settings, strategies
from tests.tiers import amount, examples, tier

def burn():
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass

def start(name):
    subprocess.run([sys.executable, "-c", "", name], check=True)

@pytest.fixture(scope="module")
def shared():
    burn()

def test_quick(shared): ...
def test_dear(): burn()
def test_starts_the_emulator(): start("ministack")
def test_starts_java(): start("java")

@pytest.mark.stack(tier="quick")
def test_dear_and_marked():
    burn()
    start("ministack")

@pytest.mark.stack
def test_stack(): ...

@pytest.mark.spark(tier="proof")
def test_spark(): ...

@pytest.mark.proof
def test_proof(): ...

def test_amounts():
    print(f"amounts {tier()} {examples(100)} {amount(quick='a', all='b', proof='c')} {settings.default.max_examples}")

@given(strategies.integers())
def test_seeded(number):
    print("number", number)
"""


def play(folder: Path, *arguments: str) -> str:
    """What pytest says of TESTS."""
    (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (folder / "test_some.py").write_text(TESTS, encoding="utf-8")
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "CI": "true"}
    command = [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False).stdout


def outcomes(said: str, outcome: str) -> set[str]:
    """The tests of which the short summary says so."""
    return set(re.findall(rf"^{outcome} test_some\.py::(\w+)", said, re.MULTILINE))


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A run of the tier `quick`."""
    return play(tmp_path_factory.mktemp("quick"), "--tier", "quick", "--rotation", "3", "--hypothesis-seed=7")


def test_quick_plays_unmarked_tests_and_those_whose_marker_says_so(quick: str) -> None:
    assert outcomes(quick, "PASSED") == {"test_quick", "test_dear_and_marked", "test_amounts", "test_seeded"}
    assert "left to make test-all (stack): 1 tests" in quick
    assert "left to make proof (spark): 1 tests" in quick
    assert "left to make proof (proof): 1 tests" in quick


def test_an_unmarked_test_that_is_slow_or_starts_other_software_fails(quick: str) -> None:
    assert outcomes(quick, "FAILED") == {"test_dear", "test_starts_the_emulator", "test_starts_java"}
    assert re.search(r"it took 0\.\d s of processor time", quick)
    assert "it needs the marker stack" in quick
    assert "it needs the marker spark" in quick


def test_a_run_says_its_tier_its_seed_its_rotation_and_its_slowest_tests(quick: str) -> None:
    assert "tier quick: --rotation 3 --hypothesis-seed=7" in quick
    assert "amounts quick 25 a 25" in quick
    slowest = quick.partition("the slowest by that:")[2]
    assert re.search(r"0\.\d+ s test_some\.py::test_dear", slowest)


def test_proof_plays_everything_with_full_examples(tmp_path: Path) -> None:
    said = play(tmp_path, "--tier", "proof")
    assert outcomes(said, "PASSED") >= {"test_stack", "test_spark", "test_proof", "test_seeded"}
    assert "amounts proof 1000 c 1000" in said
    assert "left to" not in said


def test_a_seed_plays_the_same_examples_again_and_another_seed_plays_others(tmp_path: Path) -> None:
    def numbers(name: str, seed: int) -> list[str]:
        folder = tmp_path / name
        folder.mkdir()
        said = play(folder, "-s", "-k", "seeded", "--tier", "quick", f"--hypothesis-seed={seed}")
        return re.findall(r"^number (.+)", said, re.MULTILINE)

    assert len(first := numbers("first", 7)) > 3
    assert numbers("again", 7) == first
    assert numbers("other", 8) != first


def test_every_test_is_in_the_tier_proof() -> None:
    named = {Path(word) for part in parts(0) for word in part.command if word.startswith("tests/")}
    files = [path.relative_to(ROOT) for path in ROOT.glob("tests/**/test_*.py")]
    assert [path for path in files if not any(path.is_relative_to(each) for each in named)] == []


def test_rotations_of_successive_days_cover_everything() -> None:
    every = [Part(str(number), (), seconds) for number, seconds in enumerate((500, 100, 900, 700, 9_000))]
    assert chosen(every, 3, None) == [every[3], every[4], *every[:3]]
    slices = [chosen(every, rotation, 16) for rotation in range(5)]
    assert all(sum(part.seconds for part in one) <= 16 * 60 for one in slices)
    assert {part.name for one in slices for part in one} == {"0", "1", "2", "3"}


def test_what_tests_start_can_be_interrupted_even_if_they_run_in_the_background() -> None:
    code = (
        "import signal, subprocess, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); import tests.conftest; "
        "sys.exit(subprocess.run(['sh', '-c', 'kill -INT $$; sleep 30']).returncode != -signal.SIGINT)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
