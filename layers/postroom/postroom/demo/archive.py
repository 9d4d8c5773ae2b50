"""Bob's archive, in the demo."""

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
_LOOKED_FOR: Final = "blue folder"


def kept_at_home(demo: DemoStack, write: Callable[[str], None], say: Say) -> list[DemoRow]:
    """A message is archived, found, and exported to a third device. `write`: alice.eth writes to him."""
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
            return index.search(_LOOKED_FOR, 10)

        [hit, *_] = until("the message is in the archive", lambda: found() or None)
        left = demo.receiver.filed(BOB)
        expect(not left, "what came home waits no more", left)
        say(f"{BOB} pulls: fetched, opened, verified, stored in a folder, and then acknowledged; the mailbox is empty")
        stored = [path.read_bytes() for path in Path(folder, "mail").rglob("*") if path.is_file()]
        expect(not any(_LOOKED_FOR.encode() in data for data in stored), "the folder holds it sealed", folder)
        expect((hit.author, hit.text) == (ALICE, _TEXT), "it is found", hit)
        say(f'the folder has {len(stored)} encrypted files; he searches for "{_LOOKED_FOR}": {hit.author}: {hit.text}')
        file = BytesIO()
        export_record(archive, file)
        tablet = replace(archive, home=MemoryHome())
        import_record(file.getvalue(), tablet)
        expect(tablet.open(ALICE) == archive.open(ALICE), "the third device has the same", tablet.conversations())
        say(f"exported into a file of {file.tell()} bytes, also encrypted; a third device reads the same from it")
    return [DemoRow("11", "an encrypted archive", "kept, then acknowledged", "found by its words; exported in a file")]
