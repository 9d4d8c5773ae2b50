"""Moving an archive to another home: copy, compare, then note in the old home where it went.

1. The new home becomes the owner's, then everything is copied into it and compared.
2. The deed of the old home says where the archive moved to: from then on no device that asks acknowledges what it
   stored there (client/archive/pull.py).
3. Everything is copied and compared again: what came before anybody could know.

Until step 2 the old home is the archive, from then on the new one; whoever dies in between begins again, and loses
nothing. What is in the old home stays until it is vacated.

A deed is written only as long as it says what it said before: of two devices that move at once to different homes,
one moves, and the other is told. Where the archive moved on since, what is left in an old home goes to where the
deeds lead.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from postroom.client.archive.archive import Archive
from postroom.client.archive.deed import Deed, NotThisHomeError, check_deed, put_deed, read_deed
from postroom.client.archive.filing import run
from postroom.client.archive.home import ConflictError, Home
from postroom.core.errors import PostroomError
from postroom.protocols.dm3.containers import chunk_key, conversation_key
from postroom.protocols.dm3.settling import merge_copies
from postroom.protocols.dm3.stored import Entry

Met = Callable[[str], object]
"""Is told of each conversation that was copied."""


class NotCopiedError(PostroomError):
    """The new home does not give back what was written into it; the sentence says which conversation."""


def move(
    source: Archive, target: Archive, to: str, open_home: Callable[[str], Home], met: Met = lambda _: None
) -> None:
    """Move an archive. It may be begun again where it was stopped.

    `to`: the new home, as a command is told it. `open_home`: opens the home that is told so.
    Raises NotThisHomeError, NotCopiedError, and as `Archive` does.
    """
    deed, etag = read_deed(source)
    made: str | None = None
    while not deed.moved_to:
        made = _claim(target, made)
        _copy(source, target, met)
        with suppress(ConflictError):
            put_deed(source, Deed(source.owner, moved_to=to), etag)
        deed, etag = read_deed(source)
    told, live = _follow(source, open_home)
    if told != to:
        if made:
            _give_up(target, made, told, live)
        raise NotThisHomeError(
            f"the archive of {deed.owner} moved to {told} already: say --home {told}, "
            f"or --to {told} for what is left in the old home"
        )
    if not deed.vacated:
        _copy(source, target, lambda _: None)
    # If it moved on meanwhile, this came too late to be taken along.
    check_deed(target)


def vacate(source: Archive, target: Archive) -> None:
    """Remove from the old home what moved; its deed stays, for devices that come late.

    Raises NotCopiedError where something is not in the new home, NotThisHomeError where the archive is in the old one;
    nothing is removed then.
    """
    deed, etag = read_deed(source)
    while not deed.vacated:
        if not deed.moved_to:
            raise NotThisHomeError(f"the archive of {deed.owner} is in this home: nothing was removed")
        for partner in source.conversations():
            _compare(source.whole(partner), target, partner)
        with suppress(ConflictError):
            put_deed(source, replace(deed, vacated=True), etag)
        deed, etag = read_deed(source)
    filing = source.filing
    for partner in source.conversations():
        at = conversation_key(filing.root, partner)
        conversation, _ = run(filing.read_conversation(at), source.home)
        for identifier in (*conversation.chunks, *conversation.discarded):
            source.home.delete(chunk_key(at, identifier))
        source.home.delete(at)
    source.home.delete(filing.root)


def _claim(target: Archive, made: str | None) -> str | None:
    """Have a home say that the archive is there. The etag of its deed; None: it said so before, and not by us.

    It is written anew even then: whoever else said it must not take it back any more. `made`: the etag of what we
    wrote there before.
    """
    while True:
        deed, etag = read_deed(target)
        try:
            mine = put_deed(target, Deed(target.owner), etag)
        except ConflictError:
            continue
        return mine if deed.moved_to or etag in (None, made) else None


def _give_up(target: Archive, made: str, told: str, live: Archive) -> None:
    """Take back that the archive is in the home that we claimed; what came into it meanwhile goes where it is."""
    with suppress(ConflictError):
        put_deed(target, Deed(target.owner, moved_to=told), made)
        _copy(target, live, lambda _: None)


def _follow(archive: Archive, open_home: Callable[[str], Home]) -> tuple[str, Archive]:
    """Where deeds lead from a home that it moved out of: how that home is told, and the archive in it."""
    passed: list[str] = []
    here = archive
    while moved_to := read_deed(here)[0].moved_to:
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
    """See that the new home has all of these. Raises NotCopiedError."""
    there = target.open(partner)
    both = merge_copies([*there, *entries])
    if both != merge_copies(there):
        raise NotCopiedError(f"messages with {partner} that are in the old home are not in the new one; move again")
