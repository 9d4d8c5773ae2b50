"""The archive of a dm3 user who sends messages."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from postroom.cli.archive.homes import open_home
from postroom.cli.archive.inputs import archive_errors, open_archive
from postroom.cli.network import ConnectionOptions
from postroom.cli.owner import OwnersKeyOptions

if TYPE_CHECKING:
    from postroom.client.archive import Archive


@contextmanager
def open_own_archive(
    home: str, key: Path, connections: ConnectionOptions, owner: str | None = None
) -> Iterator["Archive"]:
    """The archive in a home, until the block ends; with `owner`, a home without an archive becomes the owner's.

    Its errors end the command.
    """
    from postroom.client.archive.ownership import take_home

    options = OwnersKeyOptions(key=key, ca_file=connections.ca_file, local=connections.local)
    with archive_errors(), open_home(home, options) as place:
        archive = open_archive(place.home, key, owner)
        if owner is not None:
            take_home(archive)
        yield archive
