"""The options of the archive's commands: a home and the owner's key; and their error messages."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.archive.homes import FORMS, NamedHome, open_home
from postroom.cli.exits import NotFoundFault, RefusalFault, UnavailableFault, UsageFault
from postroom.cli.owner import OwnersKeyOptions, load_owners_key

if TYPE_CHECKING:
    from postroom.client.archive import Archive, Home
    from postroom.crypto.rsa_ed25519 import PrivateKey
    from postroom.protocols.dm3.keys import UserKeys


def open_archive(home: "Home", key: Path, owner: str | None = None, *, moved: bool = False) -> "Archive":
    """The archive in a home, or with `moved` one that was there; with `owner`, a new one may be created.

    Raises NotFoundFault, NotThisHomeError.
    """
    return _archive_of(home, load_owners_key(key), owner, moved=moved)


def _archive_of(
    home: "Home", keys: "PrivateKey | UserKeys", owner: str | None = None, *, moved: bool = False
) -> "Archive":
    from postroom.client.archive import Archive
    from postroom.client.archive.ownership import check_ownership, find_ownership
    from postroom.protocols.dm3.keys import UserKeys
    from postroom.protocols.dm3.storage_key import KEY_TEXT, StorageKey

    signer = keys.signing if isinstance(keys, UserKeys) else keys
    storage_key = StorageKey.from_signature(signer.sign(KEY_TEXT))
    ownership, _ = find_ownership(home, storage_key)
    name = owner or (ownership.owner if ownership else None)
    if name is None:
        raise NotFoundFault(
            "there is no archive in this home yet",
            hint="`postroom archive pull` creates one, and so do commands of `postroom chat` with --as NAME",
        )
    archive = Archive.of(home, name, signer.sign(name.encode()), storage_key)
    if not moved:
        check_ownership(archive)
    return archive


@contextmanager
def archive_errors() -> Iterator[None]:
    """Turn errors of an archive into the end of a command."""
    from postroom.client.archive import RecordError
    from postroom.client.archive.moving import NotCopiedError
    from postroom.client.archive.ownership import NotThisHomeError
    from postroom.protocols.dm3.containers import ContainerError

    try:
        yield
    except NotThisHomeError as error:
        raise UsageFault(str(error)) from None
    except RecordError as error:
        raise RefusalFault(str(error)) from None
    except ContainerError as error:
        raise UnavailableFault(f"the archive is damaged: {error}; `postroom archive verify` shows all faults") from None
    except NotCopiedError as error:
        raise UnavailableFault(str(error)) from None


@dataclass(frozen=True, kw_only=True)
class ArchiveOptions(OwnersKeyOptions):
    """An archive's home, and the key that opens it."""

    home: Annotated[
        str, typer.Option("--home", envvar="POSTROOM_HOME", metavar="HOME", help=f"The archive's home: {FORMS}.")
    ]

    def place(self, *, service: tuple[str, str] | None = None) -> "AbstractContextManager[NamedHome]":
        """The home, as by `open_home`."""
        return open_home(self.home, self, service=service)

    @contextmanager
    def open(self, owner: str | None = None) -> Iterator["Archive"]:
        """The archive in the home, until the block ends; with `owner`, a new one may be created.

        Its errors end the command.
        """
        with archive_errors(), self.place() as place:
            yield open_archive(place.home, self.key, owner)

    @contextmanager
    def open_with_keys(self) -> "Iterator[tuple[Archive, PrivateKey | UserKeys]]":
        """The same archive, and the keys in the owner's key file."""
        with archive_errors(), self.place() as place:
            keys = load_owners_key(self.key)
            yield _archive_of(place.home, keys), keys
