"""The ownership record of a home: a container under the same key in every home, encrypted with the owner's storage key.

Only its owner can find the other keys of an archive: with another key, a full home looks empty. The ownership record
shows that there is an archive. It also says where an archive moved to, so that no device continues to fill the old
home.
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
    """The home belongs to another owner, or the archive moved away; the sentence says what to do."""


@dataclass(frozen=True, slots=True)
class Ownership:
    """An ownership record. `owner`: a mailbox's name. `moved_to`: the home, as a command names it; empty: the archive
    is here.

    `vacated`: everything here is in the new home, and may be deleted here.
    """

    owner: str
    moved_to: str = ""
    vacated: bool = False

    def encode(self) -> bytes:
        """The text before encryption."""
        return orjson.dumps({"owner": self.owner, "movedTo": self.moved_to, "vacated": self.vacated})


def check_ownership(archive: Archive) -> None:
    """Check that the home has no other owner, and that the archive is in it.

    Raises NotThisHomeError, as `Archive` does.
    """
    _check_here(read_ownership(archive)[0])


def take_home(archive: Archive) -> None:
    """The same; a home without an owner becomes the owner's."""
    ownership, etag = read_ownership(archive)
    if etag is None:
        try:
            put_ownership(archive, ownership, None)
        except ConflictError:
            ownership, _ = read_ownership(archive)
    _check_here(ownership)


def read_ownership(archive: Archive) -> tuple[Ownership, str | None]:
    """The ownership record of the home, and its etag; None: there is none, so that the home may become the owner's.

    Raises NotThisHomeError.
    """
    ownership, etag = find_ownership(archive.home, archive.filing.storage_key)
    if ownership is None:
        return Ownership(archive.owner), None
    if ownership.owner != archive.owner:
        raise NotThisHomeError(
            f"this home has the archive of {ownership.owner}: use another --home for {archive.owner}'s"
        )
    return ownership, etag


def put_ownership(archive: Archive, ownership: Ownership, etag: str | None) -> str:
    """Write an ownership record; returns the new etag. Raises ConflictError if somebody wrote one since `etag`."""
    filing = archive.filing
    return archive.home.put(KEY, filing.storage_key.seal(ownership.encode(), KEY, filing.nonce()), etag=etag)


def find_ownership(home: Home, storage_key: StorageKey) -> tuple[Ownership | None, str | None]:
    """The ownership record in a home, whoever its owner is, and its etag.

    Raises NotThisHomeError if it is encrypted to another key.
    """
    found = home.get(KEY)
    if found is None:
        return None, None
    try:
        said = orjson.loads(storage_key.open(found.data, KEY))
        return Ownership(str(said["owner"]), str(said["movedTo"]), said["vacated"] is True), found.etag
    except (ContainerError, ValueError, KeyError, TypeError):
        raise NotThisHomeError(
            f"this home was written with another key (or its container {KEY} was changed): nothing was read or "
            "written; use that key, or another --home"
        ) from None


def _check_here(ownership: Ownership) -> None:
    if ownership.moved_to:
        raise NotThisHomeError(f"the archive of {ownership.owner} moved: use --home {ownership.moved_to}")
