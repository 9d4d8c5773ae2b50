"""The demo's scene of an archive: Bob stores his mail encrypted, searches it, and exports it."""

from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from postroom.client.archive import Archive, FolderHome, MemoryHome, export_record, import_record
from postroom.client.archive.index import Hit, Index
from postroom.client.archive.pull import pull
from postroom.client.archive.receiving import MailReceiver
from postroom.demo.checks import DemoRow, Say, expect
from postroom.demo.deployment import until
from postroom.demo.names import ALICE, BOB
from postroom.demo.owners import bobs_device
from postroom.demo.stack import DemoStack
from postroom.protocols.dm3.storage_key import KEY_TEXT, StorageKey

_TEXT: Final = "The plans are in the blue folder"
_SEARCHED: Final = "blue folder"


def kept_at_home(demo: DemoStack, write: Callable[[str], None], say: Say) -> list[DemoRow]:
    """A message is archived, found, and exported to a third device. `write`: sends a text from alice.eth to Bob."""
    signing = demo.names.users[BOB].signing
    storage_key = StorageKey.from_signature(signing.sign(KEY_TEXT))
    write(_TEXT)
    with TemporaryDirectory() as folder, bobs_device(demo) as mailbox:
        home = FolderHome(Path(folder, "mail"))
        archive = Archive.of(home, BOB, signing.sign(BOB.encode()), storage_key)
        receiver = MailReceiver(BOB, demo.names.users[BOB], demo.names.profiles)
        index = Index(archive, Path(folder, "index"))

        def found() -> list[Hit]:
            pull(mailbox, archive, receiver)
            index.update()
            return index.search(_SEARCHED, 10)

        [hit, *_] = until("the message is in the archive", lambda: found() or None)
        left = demo.receiver.filed(BOB)
        expect(not left, "the archived message has left the mailbox", left)
        say(f"{BOB} pulls: fetched, opened, verified, stored in a folder, and then acknowledged; the mailbox is empty")
        stored = [path.read_bytes() for path in Path(folder, "mail").rglob("*") if path.is_file()]
        expect(
            not any(_SEARCHED.encode() in data for data in stored),
            "no file in the folder has the text unencrypted",
            folder,
        )
        expect((hit.author, hit.text) == (ALICE, _TEXT), "the search finds the message", hit)
        say(f'the folder has {len(stored)} encrypted files; he searches for "{_SEARCHED}": {hit.author}: {hit.text}')
        file = BytesIO()
        export_record(archive, file)
        tablet = replace(archive, home=MemoryHome())
        import_record(file.getvalue(), tablet)
        expect(
            tablet.open(ALICE) == archive.open(ALICE), "the third device has the same messages", tablet.conversations()
        )
        say(f"exported to an encrypted file of {file.tell()} bytes; a third device reads the same messages from it")
    return [
        DemoRow("11", "an encrypted archive", "stored, then acknowledged", "found by its words; exported to a file")
    ]
