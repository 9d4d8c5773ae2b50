"""An archive as a single file (dm3 §3.2, "export record"): a JSON object with a section for each container.

    {"containers": {"0x…": "base64 of the sealed container", …}}

The sections are encrypted as in every other home: an export is as safe as the archive, wherever it is stored, and it
proves that nothing in it was changed. Opening it needs the archive's signing key and storage key.
"""

from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from typing import BinaryIO

from postroom.client.archive.archive import Archive, copy
from postroom.client.archive.home import check_key
from postroom.client.archive.memory import MemoryHome
from postroom.client.archive.ownership import check_ownership, take_home
from postroom.core.errors import PostroomError, TheirError
from postroom.core.ijson import JsonValue, parse
from postroom.crypto.encodings import decode_base64
from postroom.protocols.dm3.containers import ContainerError


class RecordError(PostroomError):
    """The file is not an export record; the sentence says why."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the file is not an export record: {why}")


def export_record(archive: Archive, out: BinaryIO, met: Callable[[str], object] = lambda _: None) -> None:
    """Write all current conversations, encrypted anew; they are in memory meanwhile. Raises as `Archive.open`.

    `met`: called with each conversation that was read.
    """
    home = MemoryHome()
    copy(archive, replace(archive, home=home), met)
    out.write(b'{"containers":{')
    for number, (key, sealed) in enumerate(home.containers().items()):
        out.write(b'%b\n"%b":"%b"' % (b"," if number else b"", key.encode(), b64encode(sealed)))
    out.write(b"\n}}\n")


def import_record(record: bytes, archive: Archive) -> None:
    """Add the content of a file to the archive. If it was interrupted, it can be started again.

    Raises RecordError before anything is stored, if the file is invalid; NotThisHomeError, and as `Archive.merge` does.
    """
    home = read_record(record)
    source = replace(archive, home=home)
    if home.containers() and home.get(archive.filing.root) is None:
        raise RecordError(f"it is of another name or key than {archive.owner}'s")
    try:
        conversations = {partner: source.whole(partner) for partner in source.conversations()}
    except ContainerError as error:
        raise RecordError(f"it is damaged: {error}") from None
    take_home(archive)
    for partner, entries in conversations.items():
        archive.merge(partner, entries)
    # If the archive was moving out of this home, some of this may have come too late to be copied.
    check_ownership(archive)


def read_record(record: bytes) -> MemoryHome:
    """The containers of a file, still encrypted. Raises RecordError."""
    try:
        value = parse(record, max_bytes=len(record), max_values=len(record))
    except TheirError as error:
        raise RecordError(error.detail) from None
    match value:
        case {"containers": dict(sections)}:
            return MemoryHome({_key_of(key): _sealed_in(key, text) for key, text in sections.items()})
    raise RecordError("it must be an object with the member containers, which is an object, too")


def _key_of(section: str) -> str:
    try:
        return check_key(section)
    except ValueError as error:
        raise RecordError(str(error)) from None


def _sealed_in(key: str, text: JsonValue) -> bytes:
    try:
        return decode_base64(text if isinstance(text, str) else "?")
    except ValueError:
        raise RecordError(f"the section {key} is not standard base64 on one line") from None
