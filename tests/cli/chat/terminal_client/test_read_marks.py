"""What was read last, kept on this device."""

from pathlib import Path

import pytest

from postroom.cli.chat.terminal_client.read_marks import ReadMarks, load_marks, marks_file, store_marks
from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.enums import ChatKind
from postroom.protocols.status.verify import ChatRef

OWN, OTHER = (AuthorKey.from_secret(bytes([number]) * 32).public for number in (1, 2))
PARK, GROUP = ChatRef(ChatKind.PUBLIC_GROUP, "park"), ChatRef(ChatKind.PRIVATE_GROUP, "park")


def test_marks_are_found_again(tmp_path: Path) -> None:
    marks = ReadMarks(OWN, 5).with_read(PARK, 9)
    path = tmp_path / "folder" / "marks.json"
    store_marks(path, marks)
    loaded = load_marks(path, OWN, since=100)
    assert (loaded.read_to(PARK), loaded.read_to(GROUP)) == (9, 5)


def test_marks_never_go_back() -> None:
    assert ReadMarks(OWN, 5).with_read(PARK, 9).with_read(PARK, 7).read_to(PARK) == 9
    assert ReadMarks(OWN, 5).with_read(PARK, 3).read_to(PARK) == 5


def test_the_file_names_no_chat_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "marks.json"
    store_marks(path, ReadMarks(OWN, 5).with_read(PARK, 9))
    assert "park" not in path.read_text()
    assert OWN not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [None, "", "[]", '{"since": "x"}', '{"marks": [], "since": 1}', "\x00"])
def test_without_a_file_that_can_be_read_all_that_is_there_counts_as_read(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "marks.json"
    if content is not None:
        path.write_text(content)
    assert load_marks(path, OWN, since=7) == ReadMarks(OWN, 7)


def test_each_user_has_a_file_in_the_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert marks_file(OWN).parent == tmp_path / "postroom" / "chat"
    assert marks_file(OWN) != marks_file(OTHER)
