"""The README is a newcomer's front door: every command in it is run here, as it stands there."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.tiers import Tier

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)

PAGES = sorted(path.name for path in (ROOT / "docs").glob("*.md"))

pytestmark = pytest.mark.xdist_group("readme")


def test_every_page_of_the_docs_is_listed() -> None:
    assert sorted(re.findall(r"^\| \[docs/([A-Za-z-]+\.md)\]", README, re.MULTILINE)) == PAGES


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The checkout, in a folder of its own: what the commands leave behind is not left in the checkout."""
    for path in ROOT.iterdir():
        if path.name not in (".postroom", ".venv"):
            (tmp_path / path.name).symlink_to(path)
    # The environment that runs this test is the one that `make` made: the commands use it, too.
    (tmp_path / ".venv").symlink_to(sys.prefix)
    return tmp_path


@pytest.fixture
def shell(clone: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(clone), "LANG": "C.UTF-8", "MAKEFLAGS": f"VENV={sys.prefix}"}


def run(commands: str, clone: Path, shell: dict[str, str]) -> str:
    done = subprocess.run(
        ["sh", "-eu", "-c", commands], cwd=clone, env=shell, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def stack(clone: Path, shell: dict[str, str]) -> Iterator[None]:
    [command] = [block for block in BLOCKS if block.startswith("make up")]
    with subprocess.Popen(
        ["sh", "-c", f"exec {command}"],
        cwd=clone, env=shell, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line)
            if line.startswith("up:"):
                break
        else:
            pytest.fail("".join(said))
        yield
        os.killpg(process.pid, signal.SIGINT)
        process.stdout.read()


def test_the_readme_has_the_commands_that_are_run_here() -> None:
    assert [block.split("\n")[0] for block in BLOCKS] == [
        "make demo", "make test", "make up", *[". .venv/bin/activate"] * 5,
    ]  # fmt: skip


def test_make_demo_tells_the_story(clone: Path, shell: dict[str, str]) -> None:
    told = run(BLOCKS[0], clone, shell)
    assert "22 things happened as they should" in told
    assert "\x1b" not in told


def test_ci_runs_make_test_all_and_each_tier_has_a_target() -> None:
    # Run by this very run: a test cannot run all tests.
    commands = BLOCKS[1].split("\n")[:-1]
    assert commands == [tier.command for tier in Tier]
    assert commands[1] in (ROOT / ".ci" / "run").read_text().splitlines()
    targets = (ROOT / "Makefile").read_text().splitlines()
    assert [command for command in commands if f".PHONY: {command.removeprefix('make ')}" not in targets] == []


@pytest.mark.usefixtures("stack")
def test_what_there_is_to_try_works_as_printed(clone: Path, shell: dict[str, str]) -> None:
    said = run(BLOCKS[3], clone, shell)
    assert "accepted" in said
    assert "Queued" in said
    assert "sender.example" in said.rpartition("Queued")[2]


@pytest.mark.usefixtures("stack")
def test_a_sealed_letter_goes_its_way_as_printed_and_the_audit_finds_it(clone: Path, shell: dict[str, str]) -> None:
    said = run(BLOCKS[4], clone, shell)
    assert "taken: ds.eth" in said
    assert "Good morning, Bob" in said
    assert said.rstrip().endswith("accepted")
    picked_up = run(BLOCKS[5], clone, shell)
    assert "text         Good morning, Bob\nacknowledged 1\nnothing waits in bob.eth" in picked_up
    audited = run(BLOCKS[6], clone, shell)
    assert ["acknowledged", "1", "1"] in [line.split()[:3] for line in audited.splitlines()]
    assert audited.rstrip().endswith("nothing is wrong")


@pytest.mark.usefixtures("stack")
def test_the_doctor_finds_a_domain_good_as_printed(clone: Path, shell: dict[str, str]) -> None:
    *checks, end = run(BLOCKS[7], clone, shell).splitlines()
    assert [line[0] for line in checks] == ["✓"] * len(checks)
    assert end == "sender.example: good"


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{name}" for name in PAGES)])
def test_every_file_that_a_page_links_to_is_there(page: str) -> None:
    links = re.findall(r"\]\((?!https:)([^)#]+)(?:#[^)]*)?\)", (ROOT / page).read_text(encoding="utf-8"))
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []
