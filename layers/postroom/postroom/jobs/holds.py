"""Which mailboxes are under legal hold: nothing of them expires, and their bytes stay."""

from postroom.jobs.scanning import Table
from postroom.store.mailboxes import PREFIX


def held_mailboxes(directory: Table) -> frozenset[str]:
    """Their names, as they are now. Raises NotNowError(STORE_UNAVAILABLE)."""
    rows = directory.rows(only="attribute_exists(held) AND begins_with(pk, :prefix)", values={":prefix": {"S": PREFIX}})
    return frozenset(row["pk"]["S"].removeprefix(PREFIX) for row in rows)
