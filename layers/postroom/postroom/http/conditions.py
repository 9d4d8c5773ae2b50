"""Conditional writes: If-Match and If-None-Match (RFC 9110 §13.1), against lost updates."""

import re
from collections.abc import Mapping
from typing import Final

from postroom.api.http import ETAG_PATTERN, ETAGS_PATTERN
from postroom.api.reasons import CHANGED_MEANWHILE, MATCH_NEEDED, NOT_A_REQUEST
from postroom.core.errors import TheirError

_ANY: Final = "*"


def check_write(headers: Mapping[str, str], etag: str | None) -> None:
    """Check that a resource with this ETag (None: it does not exist) may be overwritten.

    The client says what it expects: If-Match with a tag, or If-None-Match: * for nothing. A weak tag matches nothing.
    Raises TheirError: MATCH_NEEDED, CHANGED_MEANWHILE, NOT_A_REQUEST.
    """
    if "if-match" not in headers and headers.get("if-none-match", "").strip() != _ANY:
        raise TheirError(MATCH_NEEDED, "or If-None-Match: * for a new one")
    check_match(headers, etag)
    if etag is not None and headers.get("if-none-match", "").strip() == _ANY:
        raise TheirError(CHANGED_MEANWHILE, "something is there already")


def check_match(headers: Mapping[str, str], etag: str | None) -> None:
    """Check that If-Match holds, if there is one. Raises TheirError: CHANGED_MEANWHILE, NOT_A_REQUEST."""
    if "if-match" not in headers:
        return
    wanted = _read(headers["if-match"])
    if etag is None or not (wanted == [_ANY] or etag in wanted):
        raise TheirError(CHANGED_MEANWHILE)


def _read(header: str) -> list[str]:
    """The tags of a list, unchanged; or `*` alone."""
    text = header.strip()
    if text == _ANY:
        return [_ANY]
    if not re.fullmatch(ETAGS_PATTERN, text):
        raise TheirError(NOT_A_REQUEST, 'a condition is *, or ETags such as "a", "b"')
    return re.findall(ETAG_PATTERN, text)
