"""The owner of a home: a container under the same key in every home, sealed with the owner's storage key.

The other keys of an archive are found by its owner only: to whoever comes with another key, a full home looks empty.
The deed tells them. It also says where an archive moved to, so that no device goes on filling the old home.
"""

from dataclasses import dataclass
from typing import Final

import orjson

from postroom.client.archive.archive import Archive
from postroom.client.archive.home import ConflictError, Home
from postroom.core.errors import PostroomError
from postroom.protocols.dm3.containers import ContainerError
from postroom.protocols.dm3.dialect import container_key
from postroom.protocols.dm3.storage_key import StorageKey

KEY: Final = container_key("the deed of a postroom archive")


class NotThisHomeError(PostroomError):
    """The home is another's, or the archive is in it no more; the sentence says what to do."""


@dataclass(frozen=True, slots=True)
class Deed:
    """`owner`: a mailbox's name. `moved_to`: the home, as a command is told it; empty: it is here. `vacated`: all that
    was here is there, and may be removed here."""

    owner: str
    moved_to: str = ""
    vacated: bool = False

    def encode(self) -> bytes:
        """The text that is sealed."""
        return orjson.dumps({"owner": self.owner, "movedTo": self.moved_to, "vacated": self.vacated})


def check_deed(archive: Archive) -> None:
    """See that the home is nobody else's, and that the archive is in it. Raises NotThisHomeError, as `Archive` does."""
    _check_here(read_deed(archive)[0])


def take_home(archive: Archive) -> None:
    """The same; a home that is nobody's becomes the owner's."""
    deed, etag = read_deed(archive)
    if etag is None:
        try:
            put_deed(archive, deed, None)
        except ConflictError:
            deed, _ = read_deed(archive)
    _check_here(deed)


def read_deed(archive: Archive) -> tuple[Deed, str | None]:
    """What the home says, and its etag; None: nothing, so that it may become the owner's. Raises NotThisHomeError."""
    deed, etag = find_deed(archive.home, archive.filing.storage_key)
    if deed is None:
        return Deed(archive.owner), None
    if deed.owner != archive.owner:
        raise NotThisHomeError(f"this home holds the archive of {deed.owner}: say another --home for {archive.owner}'s")
    return deed, etag


def put_deed(archive: Archive, deed: Deed, etag: str | None) -> str:
    """Say what is so from now on, if nobody said anything since `etag` was read; its new one. Raises ConflictError."""
    filing = archive.filing
    return archive.home.put(KEY, filing.storage_key.seal(deed.encode(), KEY, filing.nonce()), etag=etag)


def find_deed(home: Home, storage_key: StorageKey) -> tuple[Deed | None, str | None]:
    """The deed that lies in a home, whoever is its owner, and its etag. Raises NotThisHomeError for another key's."""
    found = home.get(KEY)
    if found is None:
        return None, None
    try:
        said = orjson.loads(storage_key.open(found.data, KEY))
        return Deed(str(said["owner"]), str(said["movedTo"]), said["vacated"] is True), found.etag
    except (ContainerError, ValueError, KeyError, TypeError):
        raise NotThisHomeError(
            f"this home was filled with another key (or its container {KEY} was changed): nothing was read or written; "
            "say that key, or another --home"
        ) from None


def _check_here(deed: Deed) -> None:
    if deed.moved_to:
        raise NotThisHomeError(f"the archive of {deed.owner} moved: say --home {deed.moved_to}")
