"""Processes that die while they store an archive in a folder: one before and one after each operation on a file.

`python -m tests.client.archive.dying FOLDER` creates FOLDER/<n>, with the state that the n-th process has left.
"""

import fcntl
import os
import sys
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from tests.protocols.dm3.stored_mail import ALICE, deletion, stored_message

from postroom.client.archive import FolderHome
from postroom.client.archive.filing import ArchiveFiling, run
from postroom.protocols.dm3.containers import root_key
from postroom.protocols.dm3.storage_key import StorageKey
from postroom.protocols.dm3.stored import StoredEnvelope

DIED = 77
SIZE = len(stored_message("a").encode())
BEFORE = [stored_message(text, at) for at, text in enumerate("bcdef", 20)]
"""The messages that are stored before: a full chunk, and one that is not full."""
BROUGHT = [
    stored_message("a", 1),
    deletion(BEFORE[0], 60),
    *(stored_message(text, at) for at, text in enumerate("ghi", 30)),
]
"""The messages to be stored: they move the last chunk, rewrite the full one, and begin another."""
CAROL = "carol.eth"
FROM_CAROL = [stored_message("from carol", sender=CAROL)]

filing = ArchiveFiling(
    root_key(b"bob's signature"), StorageKey(bytes(32)), partial(os.urandom, 12), 4 * SIZE + 200, True
)


def store(home: FolderHome, brought: list[StoredEnvelope], *, partner: str = ALICE) -> None:
    run(filing.store({partner: brought}), home)


def store_all(home: FolderHome) -> None:
    """First what moves a chunk, then all of it, then what is a new partner's."""
    store(home, BROUGHT[:1])
    store(home, BROUGHT)
    store(home, FROM_CAROL, partner=CAROL)


def die_at(death: int) -> None:
    """Let this process die at point `death`: there are two for each operation on a file."""
    chances = count()

    def mortal(do: Callable[..., Any]) -> Callable[..., Any]:
        def done(*args: Any, **further: Any) -> Any:
            if next(chances) == death:
                os._exit(DIED)
            result = do(*args, **further)
            if next(chances) == death:
                os._exit(DIED)
            return result

        return done

    fcntl.flock = mortal(fcntl.flock)
    os.fsync = mortal(os.fsync)
    Path.replace = mortal(Path.replace)  # type: ignore[method-assign]
    Path.unlink = mortal(Path.unlink)  # type: ignore[method-assign]


def main(folder: Path) -> None:
    for death in count():
        home = FolderHome(folder / str(death))
        store(home, BEFORE)
        child = os.fork()
        if child == 0:
            die_at(death)
            store_all(home)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code == 0:
            return
        assert code == DIED, code


if __name__ == "__main__":
    main(Path(sys.argv[1]))
