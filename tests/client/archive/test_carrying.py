"""An archive carried elsewhere: to another home, or as a single file (dm3 §3.2)."""

import io
import json
from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.client.archive.mail import SENT_AT, STORAGE_KEY, archive, delivered, filled
from tests.protocols.dm3.stored_mail import ALICE, texts_of

from postroom.client.archive import FolderHome, MemoryHome, RecordError, copy, export_record, import_record
from postroom.protocols.dm3.containers import ChunkIdentifier, chunk_key, conversation_key
from postroom.protocols.dm3.storage_key import StorageKey


def test_an_archive_moves_to_another_home(tmp_path: Path) -> None:
    source, target = filled(), archive(FolderHome(tmp_path))
    copy(source, target)
    assert target.conversations() == source.conversations()
    for partner in source.conversations():
        assert target.open(partner) == source.open(partner)


def test_messages_already_in_the_other_home_stay() -> None:
    source, target = filled(), archive()
    target.store([delivered("only there", 5)])
    for _ in range(2):
        copy(source, target)
    assert texts_of(target.open(ALICE)) == ["hello", "† DELETE_REQUEST", "", "only there"]


def test_an_archive_is_exported_as_one_file_and_imported_again() -> None:
    source, target = filled(), archive()
    export_record(source, file := io.BytesIO())
    import_record(file.getvalue(), target)
    assert target.conversations() == source.conversations()
    for partner in source.conversations():
        assert target.open(partner) == source.open(partner)


def test_an_export_is_a_json_object_with_a_sealed_section_for_each_container() -> None:
    source = filled()
    export_record(source, file := io.BytesIO())
    sections = json.loads(file.getvalue())["containers"]
    at = conversation_key(source.filing.root, "carol.eth")
    assert sections.keys() >= {source.filing.root, at, chunk_key(at, ChunkIdentifier(0, SENT_AT + 1))}
    assert all(STORAGE_KEY.open(b64decode(section), key) for key, section in sections.items())
    assert b"hello" not in file.getvalue()


def test_an_empty_archive_can_be_exported() -> None:
    export_record(archive(), file := io.BytesIO())
    import_record(file.getvalue(), target := archive())
    assert target.conversations() == ()


@pytest.mark.parametrize(
    "record",
    [b"", b"[]", b"{}", b'{"containers":[]}', b'{"containers":{"x":"AA=="}}', b'{"containers":{"../x":""}}']
    + [json.dumps({"containers": {"0x" + "ab" * 32: section}}).encode() for section in (1, None, "!", "AAA")],
)
def test_an_invalid_export_is_refused_before_anything_is_stored(record: bytes) -> None:
    target = archive(home := MemoryHome())
    with pytest.raises(RecordError, match="not an export record"):
        import_record(record, target)
    assert home.containers() == {}


@pytest.mark.parametrize(
    ("change", "why"),
    [({"storage_key": StorageKey(bytes(32))}, "damaged"), ({"root": "0x" + "ab" * 32}, "of another name or key")],
)
def test_an_export_of_another_key_is_refused_before_anything_is_stored(change: Any, why: str) -> None:
    export_record(filled(), file := io.BytesIO())
    target = archive(home := MemoryHome())
    with pytest.raises(RecordError, match=why):
        import_record(file.getvalue(), replace(target, filing=replace(target.filing, **change)))
    assert home.containers() == {}


@pytest.mark.parametrize("which", ["conversation", "chunk"])
@pytest.mark.parametrize("damage", [lambda text: text[:-8], lambda text: None])
def test_a_damaged_export_is_refused_before_anything_is_stored(which: str, damage: Any) -> None:
    """Cut short, or lost, of the last conversation that is read."""
    export_record(source := filled(), file := io.BytesIO())
    record = json.loads(file.getvalue())
    at = conversation_key(source.filing.root, "carol.eth")
    key = at if which == "conversation" else chunk_key(at, ChunkIdentifier(0, SENT_AT + 1))
    damaged = damage(record["containers"].pop(key))
    if damaged is not None:
        record["containers"][key] = damaged
    target = archive(home := MemoryHome())
    with pytest.raises(RecordError, match="damaged"):
        import_record(json.dumps(record).encode(), target)
    assert home.containers() == {}
