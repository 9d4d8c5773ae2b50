"""Tiers: a run plays what it should, says what it leaves out and what is slow, and no test starts what it may not."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests import tiers
from tests.costs import is_tool, table_of
from tests.proof.inputs import Checkout
from tests.proof.test_inputs import git, write
from tests.tiers import Tier, default_rotation, in_turns

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
def test_slow(): burn()
def test_starts_the_emulator(): start("ministack")
def test_starts_java(): start("java")
def test_starts_a_tool(): subprocess.run(["sh", "-c", "cd / && npm --version"])

@pytest.mark.stack(tier="quick")
def test_slow_and_marked():
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


@pytest.fixture(scope="module")
def proof(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A run of the tier `proof`."""
    return play(tmp_path_factory.mktemp("proof"), "--tier", "proof", "--hypothesis-seed=8")


def numbers(printed: str) -> list[str]:
    """The examples of the property test."""
    return re.findall(r"^number (.+)", printed, re.MULTILINE)


def test_quick_plays_unmarked_tests_and_those_whose_marker_says_so(quick: str) -> None:
    played = {"test_quick", "test_slow", "test_slow_and_marked", "test_amounts", "test_seeded"}
    assert outcomes(quick, "PASSED") == played
    assert "left to make test-all (stack): 1 tests" in quick
    assert "left to make proof (spark): 1 tests" in quick
    assert "left to make proof (proof): 1 tests" in quick


def test_an_unmarked_test_that_starts_other_software_fails(quick: str) -> None:
    assert outcomes(quick, "FAILED") == {"test_starts_the_emulator", "test_starts_java", "test_starts_a_tool"}
    assert "it needs the marker stack" in quick
    assert "it needs the marker spark" in quick
    assert "it needs the marker tools" in quick


def test_an_unmarked_test_that_is_slow_is_named_and_passes(quick: str) -> None:
    assert re.findall(r"^over 0\.2 s: \d+\.\d s test_some\.py::(\w+)$", quick, re.MULTILINE) == ["test_slow"]


def test_a_run_says_its_tier_its_seed_its_rotation_and_its_slowest_tests(quick: str) -> None:
    assert "tier quick: --rotation 3 --hypothesis-seed=7" in quick
    assert "amounts quick 10 a 10" in quick
    slowest = quick.partition("the slowest by that:")[2]
    assert re.search(r"\d+\.\d+ s test_some\.py::test_slow", slowest)


def test_proof_plays_everything_with_full_examples(proof: str) -> None:
    assert outcomes(proof, "PASSED") >= {"test_stack", "test_spark", "test_proof", "test_seeded"}
    assert "amounts proof 1000 c 1000" in proof
    assert "left to" not in proof


def test_a_seed_plays_the_same_examples_again_and_another_seed_plays_others(
    quick: str, proof: str, tmp_path: Path
) -> None:
    again = play(tmp_path, "-k", "seeded", "--tier", "quick", "--hypothesis-seed=7")
    first = numbers(quick)
    assert len(first) > 3
    assert numbers(again) == first
    assert numbers(proof)[: len(first)] != first


@pytest.mark.parametrize(
    "command",
    [
        "npm ci",
        "/usr/local/go/bin/go build",
        ".venv-sam/bin/sam build",
        "python3 -m pip install x",
        "make review",
        "make test-all",
        "env A=1 npm ci",
        "pip3.13 install x",
        ("dash", "-c", "if ! npm ci; then exit 1; fi"),
        ("sh", "-c", "cd x\nVALUE=1 exec /usr/bin/gcc x.c"),
        ("bash", "-euc", "cat x | openssl dgst"),
    ],
)
def test_a_command_that_needs_more_than_the_lock_has(command: str | tuple[str, ...]) -> None:
    assert is_tool(command.split() if isinstance(command, str) else command)


@pytest.mark.parametrize(
    "command",
    [
        "git add go",
        "python3 -c pip",
        "make demo",
        "make -n lock",
        "postroom doctor node",
        ("sh", "-c", "echo go; ls node"),
    ],
)
def test_a_command_that_needs_only_what_the_lock_has(command: str | tuple[str, ...]) -> None:
    assert not is_tool(command.split() if isinstance(command, str) else command)


def test_the_table_has_the_packages_that_grew_most_first_and_a_sum() -> None:
    now = {"tests/a/test_1.py": 10.0, "tests/a/b/test_2.py": 20.0, "tests/test_3.py": 70.0}
    before = {"tests/a/test_1.py": 5.0, "tests/a/test_not_run.py": 9.0, "tests/test_3.py": 80.0}
    assert list(table_of(now, before)) == [
        "seconds  share  change  package",
        "     30  30.0%     +25  tests/a",
        "     70  70.0%     -10  tests/test_3.py",
        "    100 100.0%     +15  2 packages",
    ]


def test_the_table_is_short_and_its_sum_is_of_all() -> None:
    *rows, whole = table_of({f"tests/test_{number}.py": number for number in range(20)}, {})
    assert [row.split()[-1] for row in rows[1:]] == [f"tests/test_{number}.py" for number in range(19, 4, -1)]
    assert whole == "    190 100.0%    +190  20 packages, 5 of which grew less than these"


def test_what_tests_start_can_be_interrupted_even_if_they_run_in_the_background() -> None:
    code = (
        "import signal, subprocess, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); import tests.conftest; "
        "sys.exit(subprocess.run(['sh', '-c', 'kill -INT $$; sleep 30']).returncode != -signal.SIGINT)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_in_ci_the_rotation_is_a_number_of_the_commit_and_elsewhere_of_the_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    git(checkout, "init")
    write(checkout, {"README.md": ""})
    head = Checkout(checkout).commit()
    today = int(time.time()) // 86_400
    monkeypatch.setenv("CI", "true")
    assert default_rotation(checkout) == int(head[:8], 16)
    assert default_rotation(tmp_path) - today in (0, 1)
    monkeypatch.delenv("CI")
    assert default_rotation(checkout) - today in (0, 1)


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 9])
def test_successive_rotations_have_all_cases_of_what_runs_in_turns(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiers, "_chosen", Tier.QUICK)
    cases, played = list(range(number)), []
    for rotation in range(7, 11):
        monkeypatch.setattr(tiers, "_rotation", rotation)
        played.append(in_turns(cases, quick=4, all=1))
    assert {case for one in played for case in one} == set(cases)
    assert all(0 < len(one) <= number // 4 + 1 for one in played)
    for tier in (Tier.ALL, Tier.PROOF):
        monkeypatch.setattr(tiers, "_chosen", tier)
        assert in_turns(cases, quick=4, all=1) == cases
