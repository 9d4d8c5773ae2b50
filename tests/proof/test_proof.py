"""The proof goes on where it was interrupted, plays again what failed or changed, and records nothing else."""

import json
import os
import re
from pathlib import Path

import pytest
from tests.proof import record
from tests.proof.__main__ import ChangedError, Proof, main
from tests.proof.inputs import RECORD, ROOT, Checkout
from tests.proof.parts import Part, found, parts
from tests.proof.test_inputs import git, write

PARTS = [
    Part("alpha", ("play", "alpha"), ("alpha.py",), seconds=600),
    Part("beta", ("play", "beta"), ("beta.py",), seconds=300),
    Part("gamma", ("play", "gamma"), ("gamma.py",), seconds=300),
]
NAMES = [part.name for part in PARTS]


class Played:
    """A way to play a part, without a process: it notes which parts were played, and in which order."""

    def __init__(self, *, failing: tuple[str, ...] = (), interrupted_at: str = "") -> None:
        self.names: list[str] = []
        self._failing, self._interrupted_at = failing, interrupted_at

    def __call__(self, part: Part) -> bool:
        if part.name == self._interrupted_at:
            raise KeyboardInterrupt
        self.names.append(part.name)
        return part.name not in self._failing


@pytest.fixture
def root(tmp_path: Path) -> Path:
    git(tmp_path, "init")
    write(tmp_path, {f"{name}.py": "" for name in NAMES})
    (tmp_path / RECORD).parent.mkdir()
    return tmp_path


def proof(root: Path, every: list[Part] = PARTS) -> Proof:
    return Proof(Checkout(root), every, root / RECORD)


def run(root: Path, *arguments: str, played: Played | None = None, every: list[Part] = PARTS) -> tuple[int, list[str]]:
    """The exit code of a run, and the parts that it played."""
    played = played or Played()
    return main(proof(root, every), played, arguments), played.names


def redated(root: Path, name: str, date: str) -> None:
    entries = json.loads((root / RECORD).read_text(encoding="utf-8"))
    entries[name]["date"] = date
    (root / RECORD).write_text(json.dumps(entries), encoding="utf-8")


def test_what_passed_is_not_played_again(root: Path) -> None:
    assert run(root) == (0, NAMES)
    assert run(root) == (0, [])


def test_an_interrupted_run_loses_no_part_that_had_ended(root: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(root, played=Played(interrupted_at="gamma"))
    assert run(root) == (0, ["gamma"])


def test_a_part_whose_inputs_changed_is_played_again_and_no_other(root: Path) -> None:
    run(root)
    write(root, {"beta.py": "import os\n", "README.md": ""})
    assert run(root) == (0, ["beta"])


def test_a_commit_of_the_record_makes_nothing_due(root: Path) -> None:
    run(root)
    git(root, "add", RECORD)
    git(root, "commit", "-m", "the record")
    assert run(root) == (0, [])


def test_a_part_that_failed_is_due_until_it_passes(root: Path) -> None:
    assert run(root, played=Played(failing=("beta",))) == (1, NAMES)
    assert run(root, played=Played(failing=("beta",))) == (1, ["beta"])
    assert run(root) == (0, ["beta"])
    assert run(root) == (0, [])


def test_again_plays_what_is_proven_and_a_name_plays_one_part(root: Path) -> None:
    run(root)
    assert run(root, "--again") == (0, NAMES)
    assert run(root, "beta") == (0, ["beta"])


def test_a_name_that_no_part_has_is_refused(root: Path) -> None:
    with pytest.raises(SystemExit):
        run(root, "delta")


def test_what_is_due_for_longest_is_played_first(root: Path) -> None:
    run(root)
    for name, date in (("alpha", "2026-03-03"), ("beta", "2026-01-01"), ("gamma", "2026-02-02")):
        redated(root, name, date)
    write(root, {f"{name}.py": "import os\n" for name in NAMES})
    new = Part("new", ("play", "new"), ("alpha.py",))
    assert run(root, every=[*PARTS, new]) == (0, ["new", "beta", "gamma", "alpha"])


def test_minutes_play_what_is_expected_to_fit_and_name_the_rest(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(root, "--minutes", "14") == (0, ["alpha"])
    said = capsys.readouterr().out
    assert "still due: beta, because it was never played" in said
    assert "still due: gamma" in said
    assert run(root, "--minutes", "5") == (0, ["beta"])
    # What they took counts from then on: nothing.
    assert run(root, "--minutes", "0.1", "--again") == (0, ["alpha", "beta"])


def test_the_list_says_where_a_part_is_proven_or_why_it_is_due(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(root, "alpha", "beta", played=Played(failing=("beta",)))
    capsys.readouterr()
    assert run(root, "--list") == (0, [])
    alpha, beta, gamma = capsys.readouterr().out.splitlines()
    commit = Checkout(root).commit()[:8]
    assert re.fullmatch(rf"alpha: proven at {commit} on \d{{4}}-\d\d-\d\d", alpha)
    assert re.fullmatch(rf"beta: due, because it failed at {commit} on \S+; about 1 min", beta)
    assert gamma == "gamma: due, because it was never played; about 5 min"
    write(root, {"alpha.py": "import os\n"})
    run(root, "--list")
    assert f"alpha: due, because its inputs have changed since {commit} of" in capsys.readouterr().out


def test_a_part_that_lacks_something_here_stays_due_and_neither_passes_nor_fails(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lacking = Part("old", ("play", "old"), lacks="python3.0 is nowhere")
    assert run(root, every=[*PARTS, lacking]) == (0, NAMES)
    assert "still due: old, because python3.0 is nowhere" in capsys.readouterr().out
    assert record.read(root / RECORD).keys() == set(NAMES)


def test_uncommitted_changes_are_refused(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "beta.py").write_text("import os\n", encoding="utf-8")
    assert run(root) == (1, [])
    assert "commit these first, because the record names a commit: beta.py" in capsys.readouterr().out
    assert record.read(root / RECORD) == {}


def test_nothing_is_recorded_of_a_part_whose_inputs_change_while_it_is_played(root: Path) -> None:
    def play(_: Part) -> bool:
        (root / "alpha.py").write_text("import os\n", encoding="utf-8")
        return True

    with pytest.raises(ChangedError, match="while alpha was played"):
        proof(root).play(PARTS[0], play)
    assert record.read(root / RECORD) == {}


def test_the_record_has_a_sorted_line_for_each_part_and_forgets_parts_that_are_no_more(root: Path) -> None:
    run(root, "gamma", "alpha")
    lines = (root / RECORD).read_text(encoding="utf-8").splitlines()
    assert [line.partition(":")[0] for line in lines] == ["{", '"alpha"', '"gamma"', "}"]
    assert record.read(root / RECORD)["alpha"].commit == Checkout(root).commit()
    run(root, every=PARTS[1:])
    assert record.read(root / RECORD).keys() == {"beta", "gamma"}


# ---- the parts of this checkout -------------------------------------------------------------------------------------
def test_every_test_is_in_one_part() -> None:
    played = [word for part in parts() for word in part.command if word.startswith("tests/")]
    assert sorted(played) == sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("tests/**/test_*.py"))


def test_every_part_has_a_name_of_its_own_and_inputs_that_are_there() -> None:
    every = parts()
    assert len({part.name for part in every}) == len(every)
    assert [start for part in every for start in part.starts if not (ROOT / start).exists()] == []


def test_the_record_is_of_parts_that_there_are() -> None:
    assert record.read().keys() <= {part.name for part in parts()}


def test_a_python_is_found_on_the_path_or_below_pyenv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))

    def interpreter(path: Path, status: int = 0) -> str:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\nexit {status}\n", encoding="utf-8")
        path.chmod(0o755)
        return os.fspath(path)

    assert found("3.12") == ""
    below = interpreter(tmp_path / "pyenv" / "versions" / "3.12.1" / "bin" / "python3.12")
    assert found("3.12") == below
    # What pyenv puts on PATH fails if it has no such version.
    interpreter(tmp_path / "path" / "python3.12", status=127)
    assert found("3.12") == below
    on_path = interpreter(tmp_path / "path" / "python3.12")
    assert found("3.12") == on_path
    assert found("3.1") == ""
