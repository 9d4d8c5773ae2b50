"""Moving an archive to another home: copy, compare, then record in the old home where it went.

1. The new home becomes the owner's, then everything is copied into it and compared. 2. The ownership record of the old
home says where the archive moved to: from then on no device that reads it acknowledges messages that it stored there
(client/archive/pull.py). 3. Everything is copied and compared again, for messages that were stored before a device
could know.

Until step 2 the archive is in the old home, from then on in the new one. A device that dies in between starts again,
and loses nothing. The old home keeps its content until it is vacated.

An ownership record is replaced only if it has not changed since it was read: if two devices move an archive to
different homes at the same time, one moves it, and the other gets an error. If the archive has moved on since, what is
left in an old home goes to where the ownership records lead.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from postroom.client.archive.archive import Archive
from postroom.client.archive.filing import run
from postroom.client.archive.home import ConflictError, Home
from postroom.client.archive.ownership import (
    NotThisHomeError,
    Ownership,
    check_ownership,
    put_ownership,
    read_ownership,
)
from postroom.core.errors import PostroomError
from postroom.protocols.dm3.containers import chunk_key, conversation_key
from postroom.protocols.dm3.edits import merge_copies
from postroom.protocols.dm3.stored import Entry

Met = Callable[[str], object]
"""Called with each conversation that was copied."""


class NotCopiedError(PostroomError):
    """The new home does not return what was written into it; the sentence says which conversation."""


def move(
    source: Archive, target: Archive, to: str, open_home: Callable[[str], Home], met: Met = lambda _: None
) -> None:
    """Move an archive. If it was interrupted, it can be started again.

    `to`: the new home, as a command names it. `open_home`: opens the home with such a name. Raises NotThisHomeError,
    NotCopiedError, and as `Archive` does.
    """
    ownership, etag = read_ownership(source)
    made: str | None = None
    while not ownership.moved_to:
        made = _claim(target, made)
        _copy(source, target, met)
        with suppress(ConflictError):
            put_ownership(source, Ownership(source.owner, moved_to=to), etag)
        ownership, etag = read_ownership(source)
    moved_to, live = _follow(source, open_home)
    if moved_to != to:
        if made:
            _give_up(target, made, moved_to, live)
        raise NotThisHomeError(
            f"the archive of {ownership.owner} moved to {moved_to} already: say --home {moved_to}, "
            f"or --to {moved_to} for what is left in the old home"
        )
    if not ownership.vacated:
        _copy(source, target, lambda _: None)
    # If the archive moved on meanwhile, this copy may have come too late.
    check_ownership(target)


def vacate(source: Archive, target: Archive) -> None:
    """Delete from the old home what moved; its ownership record stays, for devices that come late.

    Raises NotCopiedError if something is not in the new home, NotThisHomeError if the archive is in the old one; then
    nothing is deleted.
    """
    ownership, etag = read_ownership(source)
    while not ownership.vacated:
        if not ownership.moved_to:
            raise NotThisHomeError(f"the archive of {ownership.owner} is in this home: nothing was removed")
        for partner in source.conversations():
            _compare(source.whole(partner), target, partner)
        with suppress(ConflictError):
            put_ownership(source, replace(ownership, vacated=True), etag)
        ownership, etag = read_ownership(source)
    filing = source.filing
    for partner in source.conversations():
        at = conversation_key(filing.root, partner)
        conversation, _ = run(filing.read_conversation(at), source.home)
        for identifier in (*conversation.chunks, *conversation.discarded):
            source.home.delete(chunk_key(at, identifier))
        source.home.delete(at)
    source.home.delete(filing.root)


def _claim(target: Archive, made: str | None) -> str | None:
    """Write into a home's ownership record that the archive is there. Returns the record's etag; None: another writer
    had written that before.

    It is written again even then, so that the other writer cannot undo it. `made`: the etag of what we wrote before.
    """
    while True:
        ownership, etag = read_ownership(target)
        try:
            mine = put_ownership(target, Ownership(target.owner), etag)
        except ConflictError:
            continue
        return mine if ownership.moved_to or etag in (None, made) else None


def _give_up(target: Archive, made: str, moved_to: str, live: Archive) -> None:
    """Undo the ownership record that we wrote; what was stored in the home meanwhile goes to where the archive is."""
    with suppress(ConflictError):
        put_ownership(target, Ownership(target.owner, moved_to=moved_to), made)
        _copy(target, live, lambda _: None)


def _follow(archive: Archive, open_home: Callable[[str], Home]) -> tuple[str, Archive]:
    """The last home of an archive that moved out of a home, by the ownership records: its name, and its archive."""
    passed: list[str] = []
    here = archive
    while moved_to := read_ownership(here)[0].moved_to:
        if moved_to in passed:
            raise NotThisHomeError(
                f"each of these homes says that the archive of {archive.owner} moved to the next: {', '.join(passed)}"
            )
        passed.append(moved_to)
        here = replace(archive, home=open_home(moved_to))
    return passed[-1], here


def _copy(source: Archive, target: Archive, met: Met) -> None:
    for partner in source.conversations():
        entries = source.whole(partner)
        target.merge(partner, entries)
        _compare(entries, target, partner)
        met(partner)


def _compare(entries: list[Entry], target: Archive, partner: str) -> None:
    """Check that the new home has all of these. Raises NotCopiedError."""
    there = target.open(partner)
    both = merge_copies([*there, *entries])
    if both != merge_copies(there):
        raise NotCopiedError(f"messages with {partner} that are in the old home are not in the new one; move again")
