"""Cursors of a mailbox's pages: opaque, and valid for one mailbox.

A cursor is neither a secret nor a permission: a made-up one leads to another place in the same mailbox.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import blake2b
from typing import Final

from postroom.api.reasons import CURSOR_INVALID
from postroom.core.errors import TheirError
from postroom.storage.layout import ROW_PREFIX

_MARK_BYTES: Final = 6
_PLACE: Final = re.compile(r"[0-9]{13}#[0-9a-z-]{1,64}", re.ASCII)


def write_cursor(mailbox: str, sk: str) -> str:
    """The cursor after the row with this key; empty at the beginning."""
    return urlsafe_b64encode(_mark(mailbox) + sk.removeprefix(ROW_PREFIX).encode()).decode().rstrip("=") if sk else ""


def read_cursor(mailbox: str, cursor: str) -> str:
    """The key of the row that a cursor follows. Raises TheirError(CURSOR_INVALID)."""
    if not cursor:
        return ""
    try:
        data = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        place = data[_MARK_BYTES:].decode("ascii")
    except ValueError:
        raise TheirError(CURSOR_INVALID) from None
    if not _PLACE.fullmatch(place) or write_cursor(mailbox, sk := ROW_PREFIX + place) != cursor:
        raise TheirError(CURSOR_INVALID)
    return sk


def _mark(mailbox: str) -> bytes:
    return blake2b(mailbox.encode(), digest_size=_MARK_BYTES).digest()
