"""Requests to delete or edit a message (dm3 §2.2.3), in whichever order they arrive.

Only the author of a message can have it removed, and only by a message that is proven to be the author's. A
DELETE_REQUEST removes a message and all its later versions; it is itself a message that stays. An EDIT is the new
version; the message that it replaces stays (history), or is removed with all versions but the newest.

`settle` is monotone: a removed message stays removed. Entries may be settled at once, or some of them before; the only
difference may be which of several requests a tombstone names.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from postroom.protocols.dm3.dialect import read_reference
from postroom.protocols.dm3.message import MessageType
from postroom.protocols.dm3.stored import Entry, Received, Removal, StoredEnvelope, Tombstone, place


def merge_copies(entries: Iterable[Entry]) -> dict[str, Entry]:
    """One entry for each message, by its hash: a removed one stays removed, then a proven one is preferred, then the
    first."""
    merged: dict[str, Entry] = {}
    for entry in entries:
        other = merged.get(entry.message_hash)
        if other is None or _rank(entry) > _rank(other):
            merged[entry.message_hash] = entry
    return merged


def removals_requested(entries: Iterable[Entry]) -> set[tuple[str, str]]:
    """The messages that these entries ask to delete or edit and that are not among them, by author and one of their
    hashes."""
    entries = list(entries)
    requested = {
        (entry.author, reference) for entry in entries for reference in (_removes(entry), _edits(entry)) if reference
    }
    return requested.difference(*map(names_of, entries)) if requested else requested


def names_of(entry: Entry) -> set[tuple[str, str]]:
    """The names of an entry in requests: its author with each of its hashes."""
    return {(entry.author, reference) for reference in entry.hashes()}


def settle(entries: Iterable[Entry], *, keep_history: bool) -> dict[str, Entry]:
    """The entries by their hashes, copies merged, with tombstones for those that others ask to remove.

    `keep_history`: an EDIT keeps older versions.
    """
    settled = merge_copies(entries)
    requests = sorted((entry for entry in settled.values() if _removes(entry)), key=place)
    edits = sorted((entry for entry in settled.values() if _edits(entry)), key=place)
    if not requests and not edits:
        return settled
    find = _Finder(settled)
    versions: dict[str, list[str]] = defaultdict(list)
    for edit in edits:
        if target := find.target(edit, _edits(edit)):
            versions[target].append(edit.message_hash)
    doomed = [
        (target, request.message_hash) for request in requests if (target := find.target(request, _removes(request)))
    ]
    _delete(settled, versions, doomed)
    if not keep_history:
        for target, (*older, newest) in versions.items():
            for replaced in (target, *older):
                _bury(settled, replaced, Removal.EDIT, newest)
    return settled


def _delete(settled: dict[str, Entry], versions: Mapping[str, list[str]], doomed: list[tuple[str, str]]) -> None:
    """Replace these messages, and all their versions, by tombstones with the hash of the request."""
    doomed = [*doomed, *((entry.message_hash, _removed_by(entry)) for entry in settled.values() if _is_deleted(entry))]
    seen: set[str] = set()
    while doomed:
        target, request = doomed.pop()
        if target not in seen:
            seen.add(target)
            _bury(settled, target, Removal.DELETE_REQUEST, request)
            doomed += ((version, request) for version in versions.get(target, ()))


def _bury(settled: dict[str, Entry], target: str, cause: Removal, removed_by: str) -> None:
    entry = settled[target]
    tombstone = Tombstone(
        entry.message_hash, entry.timestamp_ms, entry.author, entry.hashes(), _edits(entry), cause, removed_by
    )
    if _rank(tombstone) > _rank(entry):
        settled[target] = tombstone


class _Finder:
    """Finds the message that a reference means, if its author may have it removed.

    A reference has one meaning. Messages may claim any names, and must not be searched again for each request.
    """

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self._entries = entries
        self._meant: dict[tuple[str, str], str] = {}
        for entry in sorted(entries.values(), key=place):
            for name in names_of(entry):
                self._meant.setdefault(name, entry.message_hash)

    def target(self, request: Entry, reference: str) -> str | None:
        """The hash of the message of the same author that `reference` means.

        None if it is a deletion request, which stays, or a message that was not opened.
        """
        # A message's own hash is certain; the other ones are only claimed.
        own = self._entries.get(reference)
        meant = reference if own and own.author == request.author else self._meant.get((request.author, reference))
        if meant is None or meant == request.message_hash or _stays(self._entries[meant]):
            return None
        return meant


def _stays(entry: Entry) -> bool:
    return isinstance(entry, Received) or (
        isinstance(entry, StoredEnvelope) and entry.message.metadata.type is MessageType.DELETE_REQUEST
    )


def _removes(entry: Entry) -> str:
    """The message that a proven request asks to delete; empty if it is not one."""
    return _proven_reference(entry, MessageType.DELETE_REQUEST)


def _edits(entry: Entry) -> str:
    """The message of which a proven EDIT is a new version, also if the EDIT was removed; empty if it is not one."""
    return entry.edited if isinstance(entry, Tombstone) else _proven_reference(entry, MessageType.EDIT)


def _proven_reference(entry: Entry, wanted: MessageType) -> str:
    if not isinstance(entry, StoredEnvelope) or entry.unverified or entry.message.metadata.type is not wanted:
        return ""
    return read_reference(entry.message.metadata.reference_message_hash or "")


def _is_deleted(entry: Entry) -> bool:
    return isinstance(entry, Tombstone) and entry.cause is Removal.DELETE_REQUEST


def _removed_by(entry: Entry) -> str:
    return entry.removed_by if isinstance(entry, Tombstone) else ""


def _rank(entry: Entry) -> int:
    match entry:
        case Tombstone(cause=Removal.DELETE_REQUEST):
            return 3
        case Tombstone():
            return 2
        case StoredEnvelope(unverified=""):
            return 1
        case _:
            return 0
