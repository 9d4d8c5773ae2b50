"""What a part of the proof can reach: modules, files beside them and files that they name, and nothing else."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.proof.inputs import RECORD, Checkout

FILES = {
    "pyproject.toml": "",
    "requirements.lock": "",
    "README.md": "",
    "template.yaml": "",
    "functions/worker/app.py": "from postroom.worker import work\n",
    "functions/worker/Makefile": "",
    "layers/postroom/postroom/__init__.py": "",
    "layers/postroom/postroom/rules/__init__.py": "",
    "layers/postroom/postroom/rules/one.py": "import os\n",
    "layers/postroom/postroom/rules/two.py": "def late():\n    from postroom.rules import one\n",
    "layers/postroom/postroom/rules/lazy.py": "NAMES = {'Two': 'postroom.rules.two'}\n",
    "layers/postroom/postroom/worker.py": "from postroom.rules.lazy import (\n    a,  # one\n    b,\n)\n",
    "layers/postroom/postroom/cli.py": "",
    "tests/conftest.py": "import tests.helper\n",
    "tests/helper.py": "",
    "tests/vectors/known.json": "{}",
    "tests/rules/test_one.py": "from postroom.rules.one import rule\nUSER = 'tests'\n",
    "tests/rules/test_two.py": "import postroom.rules.two\nKNOWN = HERE.parent / 'vectors' / 'known.json'\n",
    "tests/data/conftest.py": "",
    "tests/data/sample.bin": "1",
    "tests/data/test_data.py": "",
    "tests/deployed/test_worker.py": "FOLDER = ROOT / 'functions'\n",
    "tests/programs/test_program.py": "import subprocess\n",
    RECORD: "{}",
    "tests/durations.json": "{}",
}
ALWAYS = {"pyproject.toml", "requirements.lock", "tests/conftest.py", "tests/helper.py"}


def library(*modules: str) -> set[str]:
    return {f"layers/postroom/postroom/{module}.py" for module in modules}


def git(root: Path, *arguments: str) -> str:
    who = ("-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false")
    return subprocess.run(
        ["git", *who, *arguments], cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip()


def write(root: Path, files: Mapping[str, str]) -> str:
    """Write and commit files; returns the commit."""
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    git(root, "add", ".")
    git(root, "commit", "-m", "a change")
    return git(root, "rev-parse", "HEAD")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    git(tmp_path, "init")
    write(tmp_path, FILES)
    return tmp_path


@pytest.mark.parametrize(
    ("start", "reached"),
    [
        ("tests/rules/test_one.py", library("__init__", "rules/__init__", "rules/one")),
        (
            "tests/rules/test_two.py",
            library("__init__", "rules/__init__", "rules/one", "rules/two") | {"tests/vectors/known.json"},
        ),
        ("tests/data/test_data.py", {"tests/data/conftest.py", "tests/data/sample.bin"}),
        (
            "tests/deployed/test_worker.py",
            library("__init__", "worker", "rules/__init__", "rules/lazy", "rules/one", "rules/two")
            | {"functions/worker/app.py", "functions/worker/Makefile"},
        ),
        (
            "tests/programs/test_program.py",
            {path for path in FILES if path.startswith(("layers/", "functions/", "template"))},
        ),
    ],
)
def test_a_file_reaches_what_it_imports_what_it_names_and_what_it_can_start(
    root: Path, start: str, reached: set[str]
) -> None:
    assert Checkout(root).reached([start]) == reached | ALWAYS | {start}


def test_a_folder_reaches_what_its_files_do_and_nothing_given_is_everything(root: Path) -> None:
    one, two = (Checkout(root).reached([f"tests/rules/test_{name}.py"]) for name in ("one", "two"))
    assert Checkout(root).reached(["tests/rules"]) == one | two
    assert Checkout(root).reached([]) == FILES.keys() - {RECORD, "tests/durations.json"}


@pytest.mark.parametrize(
    ("changed", "differs"),
    [
        ("layers/postroom/postroom/rules/one.py", True),
        ("tests/helper.py", True),
        ("requirements.lock", True),
        ("tests/rules/test_one.py", True),
        ("layers/postroom/postroom/cli.py", False),
        ("README.md", False),
        (RECORD, False),
        ("tests/durations.json", False),
    ],
)
def test_the_digest_changes_with_what_can_be_reached(root: Path, changed: str, *, differs: bool) -> None:
    before = Checkout(root).digest(["tests/rules"])
    (root / changed).write_text("# changed\n", encoding="utf-8")
    assert (Checkout(root).digest(["tests/rules"]) != before) is differs


def test_a_new_file_changes_the_digest_once_it_is_tracked(root: Path) -> None:
    before = Checkout(root).digest(["tests/rules"])
    write(root, {"tests/rules/test_new.py": ""})
    assert Checkout(root).digest(["tests/rules"]) != before


def test_uncommitted_changes_and_new_modules_are_seen_and_the_record_is_none(root: Path) -> None:
    assert Checkout(root).changes() == []
    for path in ("README.md", "tests/test_new.py", "notes.txt", RECORD):
        (root / path).write_text("new", encoding="utf-8")
    assert Checkout(root).changes() == ["README.md", "tests/test_new.py"]


def test_what_changed_since_a_commit_is_not_known_without_its_history(root: Path) -> None:
    before = Checkout(root).commit()
    assert Checkout(root).changed_since(before) == set()
    write(root, {"README.md": "new", "tests/new.py": "", RECORD: "{ }"})
    assert Checkout(root).changed_since(before) == {"README.md", "tests/new.py"}
    assert Checkout(root).changed_since("0" * 40) is None
