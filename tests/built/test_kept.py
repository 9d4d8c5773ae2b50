"""A build is kept for as long as its inputs are the same."""

from pathlib import Path

import pytest
from tests.built.kept import inputs_of, kept

FILES = ("template.yaml", "functions/inbox/app.py", "layers/postroom/requirements.txt", "requirements-sam.lock")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("before", encoding="utf-8")
    for name in ("samconfig.toml", "glue_jobs/jobs.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize("name", FILES)
def test_each_input_changes_the_digest_by_its_text_and_by_its_name(root: Path, name: str) -> None:
    before = inputs_of(root, "sam 1")
    (root / name).write_text("after", encoding="utf-8")
    changed = inputs_of(root, "sam 1")
    assert changed != before
    (root / "functions" / "new.py").write_text("", encoding="utf-8")
    assert inputs_of(root, "sam 1") != changed


def test_the_version_of_sam_changes_the_digest_and_caches_of_python_do_not(root: Path) -> None:
    before = inputs_of(root, "sam 1")
    assert inputs_of(root, "sam 2") != before
    (root / "functions" / "__pycache__").mkdir()
    (root / "functions" / "__pycache__" / "app.pyc").touch()
    assert inputs_of(root, "sam 1") == before


def test_a_build_is_made_again_if_its_inputs_have_changed_and_only_then(tmp_path: Path) -> None:
    folder, made = tmp_path / "sam" / "3.13", []

    def make(new: Path) -> None:
        new.mkdir()
        (new / f"file of build {len(made)}").touch()
        made.append(new)

    for inputs, names in (("a", "0"), ("a", "0"), ("b", "1"), ("b", "1"), ("a", "2")):
        with kept(folder, inputs, make) as found:
            assert [path.name for path in found.iterdir()] == [f"file of build {names}"]
    assert made == [folder] * 3


def test_a_build_that_failed_is_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "3.13"
    with kept(folder, "a", Path.mkdir):
        pass

    def fail(new: Path) -> None:
        new.mkdir()
        raise NotADirectoryError

    with pytest.raises(NotADirectoryError), kept(folder, "b", fail):
        pass
    made: list[Path] = []
    with kept(folder, "a", made.append):
        assert made == [folder]
