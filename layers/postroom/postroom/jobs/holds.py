"""Mailboxes under legal hold: nothing in them expires, and their bytes stay."""

from postroom.jobs.scanning import TableScanner
from postroom.storage.aws.attributes import SK
from postroom.storage.directory.mailboxes import HELD


def held_mailboxes(directory: TableScanner) -> frozenset[str]:
    """The names of these mailboxes now. Raises NotNowError(STORE_UNAVAILABLE)."""
    return frozenset(SK.read(row) for row in directory.partition(HELD))
