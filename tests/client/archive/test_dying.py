"""A process that dies while it stores in a folder, wherever it is: nothing is lost, nothing is there twice."""

import subprocess
import sys
from pathlib import Path

from tests.client.archive.dying import ALICE, BEFORE, BROUGHT, CAROL, FROM_CAROL, filing, store_all
from tests.patience import PATIENCE
from tests.protocols.dm3.stored_mail import texts_of

from postroom.client.archive import FolderHome
from postroom.client.archive.filing import run
from postroom.protocols.dm3.containers import chunk_key, conversation_key
from postroom.protocols.dm3.edits import settle
from postroom.protocols.dm3.stored import place

ROOT = Path(__file__).parents[3]


def messages(home: FolderHome, partner: str) -> list[str]:
    return texts_of(run(filing.open(partner), home))


def unnamed(home: FolderHome, folder: Path) -> set[str]:
    """What lies in the folder, and no list names."""
    named = {filing.root, ".lock", ".unfinished"}
    for partner in (ALICE, CAROL):
        at = conversation_key(filing.root, partner)
        conversation, _ = run(filing.read_conversation(at), home)
        named |= {at, *(chunk_key(at, identifier) for identifier in (*conversation.chunks, *conversation.discarded))}
    return {path.name for path in folder.iterdir()} - named


def test_after_a_crash_at_any_point_nothing_is_lost_and_the_next_process_completes_the_work(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "tests.client.archive.dying", tmp_path], cwd=ROOT, check=True, timeout=PATIENCE
    )
    whole = texts_of(sorted(settle([*BEFORE, *BROUGHT], keep_history=True).values(), key=place))
    folders = list(tmp_path.iterdir())
    assert len(folders) > 100
    for folder in folders:
        home = FolderHome(folder)
        left = [entry.message_hash for entry in run(filing.open(ALICE), home)]
        assert {entry.message_hash for entry in BEFORE} <= set(left)
        assert len(set(left)) == len(left)
        assert len(unnamed(home, folder)) <= 1
        store_all(home)
        assert messages(home, ALICE) == whole
        assert messages(home, CAROL) == texts_of(FROM_CAROL)
        assert run(filing.conversations(), home) == (ALICE, CAROL)
        assert unnamed(home, folder) == set()
        assert not (folder / ".unfinished").exists()
