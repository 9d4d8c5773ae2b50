"""Mailboxes under legal hold: nothing of them expires, and their bytes stay."""

from postroom.jobs.scanning import Table
from postroom.storage.directory.mailboxes import HELD


def held_mailboxes(directory: Table) -> frozenset[str]:
    """Their names, as they are now. Raises NotNowError(STORE_UNAVAILABLE)."""
    return frozenset(row["sk"]["S"] for row in directory.partition(HELD))
