"""An archive moves to another home: it is copied, the copy is compared, then the old home's deed says where it went.

1. The new home becomes the owner's, then everything is copied into it and compared.
2. The deed of the old home says where the archive moved to: from then on no device that asks acknowledges what it
   stored there (client/archive/pull.py).
3. Everything is copied and compared again: what came before anybody could know.

Until step 2 the old home is the archive, from then on the new one; whoever dies in between begins again, and loses
nothing. What is in the old home stays until it is vacated.
"""

from collections.abc import Callable
from dataclasses import replace

from postroom.client.archive.archive import Archive
from postroom.client.archive.deed import Deed, NotThisHomeError, check_deed, read_deed, write_deed
from postroom.client.archive.filing import drive
from postroom.dm3.containers import chunk_key, conversation_key
from postroom.dm3.settling import merge_copies
from postroom.dm3.stored import Entry
from postroom.errors import PostroomError

Met = Callable[[str], object]
"""Is told of each conversation that was copied."""


class NotCopiedError(PostroomError):
    """The new home does not give back what was written into it; the sentence says which conversation."""


def move(source: Archive, target: Archive, to: str, met: Met = lambda _: None) -> None:
    """Move an archive. `to`: the new home, as a command is told it. It may be begun again where it was stopped.

    Raises NotThisHomeError, NotCopiedError, and as `Archive` does.
    """
    deed, _ = read_deed(source)
    if deed.moved_to not in ("", to):
        raise NotThisHomeError(
            f"the archive of {deed.owner} moved to {deed.moved_to} already: say --home {deed.moved_to}"
        )
    if deed.moved_to:
        check_deed(target)
    else:
        write_deed(target, Deed(target.owner))
        _copy(source, target, met)
        write_deed(source, Deed(source.owner, moved_to=to))
    if not deed.vacated:
        _copy(source, target, lambda _: None)


def vacate(source: Archive, target: Archive) -> None:
    """Remove from the old home what moved; its deed stays, for devices that come late.

    Raises NotCopiedError where something is not in the new home, and nothing is removed then.
    """
    deed, _ = read_deed(source)
    if not deed.vacated:
        for partner in source.conversations():
            _compare(source.whole(partner), target, partner)
        write_deed(source, replace(deed, vacated=True))
    filing = source.filing
    for partner in source.conversations():
        at = conversation_key(filing.root, partner)
        conversation, _ = drive(filing.read_conversation(at), source.home)
        for identifier in (*conversation.chunks, *conversation.discarded):
            source.home.delete(chunk_key(at, identifier))
        source.home.delete(at)
    source.home.delete(filing.root)


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
