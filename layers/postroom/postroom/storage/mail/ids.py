"""Ids of messages for people and programs: `<received at, epoch ms>-<claim id>-<shard>`. Pure.

An id says which row the message is in, but not in which mailbox: that is given by the request.
"""

import re
from typing import Final

from postroom.storage.layout import ROW_PREFIX, RowKey, partition

_FORM: Final = re.compile(r"([0-9]{13})-([0-9a-z]{1,64})-(0|[1-9][0-9]{0,3})", re.ASCII)


def id_of(row: RowKey) -> str:
    """The id of the message in this row."""
    return f"{row.received_at_ms:013d}-{row.claim_id}-{row.pk.rpartition('#')[2]}"


def claim_of(message_id: str) -> str:
    """The claim of a message, by its id; empty: not an id."""
    found = _FORM.fullmatch(message_id)
    return found[2] if found else ""


def row_of(message_id: str, mailbox: str) -> RowKey | None:
    """The row of a message of this mailbox, whether it exists or not; None: not an id."""
    found = _FORM.fullmatch(message_id)
    if found is None:
        return None
    received_at_ms, claim_id, shard = found.groups()
    return RowKey(partition(mailbox, int(shard)), f"{ROW_PREFIX}{received_at_ms}#{claim_id}")
