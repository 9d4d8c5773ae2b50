"""Range requests: how a body larger than a response is read (RFC 9110 §14)."""

from collections.abc import Callable, Mapping
from http import HTTPStatus

from postroom.core.errors import TheirError
from postroom.http.private_responses import refuse
from postroom.http.request_parts import asks_for_bytes, read_range
from postroom.http.response import HttpResponse

Part = Callable[[int, int, Mapping[str, str], int], HttpResponse]
"""Makes the response with the bytes from the first to before the second, with these headers and this status."""


def whole_or_part(range_header: str, size: int, most: int, part: Part) -> HttpResponse:
    """All of `size` bytes, if a response has room for them (`most`) and no range is requested; otherwise the range, or
    a 416."""
    # An empty body has no ranges, and a server may always ignore a Range (RFC 9110 §14.2).
    if not size or (size <= most and not asks_for_bytes(range_header)):
        return part(0, size, {}, HTTPStatus.OK)
    try:
        first, end = read_range(range_header, size, most)
    except TheirError as error:
        return refuse(error, {"Content-Range": f"bytes */{size}"})
    return part(first, end, {"Content-Range": f"bytes {first}-{end - 1}/{size}"}, HTTPStatus.PARTIAL_CONTENT)
