"""The parts of a request, as handlers read them: query, body, media type, ranges."""

import re
from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from postroom.api.reasons import NOT_A_REQUEST, RANGE_UNSATISFIABLE
from postroom.core.errors import TheirError
from postroom.http.media_type import check_coding, check_media_type
from postroom.http.request import HttpRequest

S = TypeVar("S", bound=msgspec.Struct)

MAX_FAULT_CHARACTERS: Final = 200
"""Of what is wrong with a query: it may repeat a value, which has up to 10 kB and may become six times as long in JSON.
"""
_RANGE: Final = re.compile(r"bytes=(?:([0-9]{1,1000})-([0-9]{0,1000})|-([0-9]{1,1000}))", re.ASCII | re.IGNORECASE)
_TAGS: Final = re.compile(r'(?:\A|,)[ \t]*(?:W/)?("[\x21\x23-\x7e]*")(?=[ \t]*(?:,|\Z))', re.ASCII)


def read_query(query: Mapping[str, str], shape: type[S]) -> S:
    """The query parameters as a shape; others are ignored. Raises TheirError(NOT_A_REQUEST)."""
    try:
        return msgspec.convert(dict(query), shape, strict=False)
    except msgspec.ValidationError as error:
        raise TheirError(NOT_A_REQUEST, f"query: {error}"[:MAX_FAULT_CHARACTERS]) from None


def read_body(request: HttpRequest, media_type: str, shape: type[S]) -> S:
    """The body as a shape. Raises TheirError: NOT_A_REQUEST, WRONG_CONTENT_TYPE, WRONG_CONTENT_ENCODING."""
    check_media(request, media_type)
    try:
        return msgspec.json.decode(request.body, type=shape)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise TheirError(NOT_A_REQUEST, f"body: {error}") from None


def check_media(request: HttpRequest, media_type: str) -> None:
    """Check that the body has this media type, and is not compressed.

    Raises TheirError: WRONG_CONTENT_TYPE, WRONG_CONTENT_ENCODING.
    """
    check_media_type(request.headers.get("content-type", ""), media_type, f"the body must be {media_type}")
    check_coding(request.headers.get("content-encoding", ""))


def is_known(if_none_match: str, etag: str) -> bool:
    """Whether If-None-Match contains this strong tag, in any form, or `*` (RFC 9110 §13.1.2: weak comparison)."""
    return if_none_match.strip() == "*" or etag in _TAGS.findall(if_none_match)


def asks_for_bytes(header: str) -> bool:
    """Whether a Range is in bytes; other units are ignored (RFC 9110 §14.2)."""
    return header.partition("=")[0].strip().lower() == "bytes"


def read_range(header: str, size: int, most: int) -> tuple[int, int]:
    """The first byte and the one after the last of a Range (RFC 9110 §14.1.2) of `size` bytes, with at most `most`
    bytes.

    Raises TheirError(RANGE_UNSATISFIABLE).
    """
    found = _RANGE.fullmatch(header.strip())
    first, last = size, size - 1
    if found and found[3]:
        first = max(0, size - int(found[3]))
    elif found:
        first, last = int(found[1]), int(found[2] or last)
    if first >= size or last < first:
        raise TheirError(RANGE_UNSATISFIABLE, f"it has {size} bytes; request one range, such as bytes=0-{most - 1}")
    return first, min(last + 1, size, first + most)
