"""The media type and the coding of a request's body (RFC 9110 §8.3, §8.4)."""

import re
from typing import Final

from postroom.core.errors import TheirError
from postroom.core.reasons import WRONG_CONTENT_ENCODING, WRONG_CONTENT_TYPE

_TOKEN: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105 - RFC 9110 §5.6.2
_TYPE: Final = re.compile(rf"[ \t]*({_TOKEN}/{_TOKEN})[ \t]*(?=;|\Z)", re.ASCII)
_PARAMETER: Final = re.compile(
    rf';[ \t]*(?:({_TOKEN})=({_TOKEN}|"(?:[^"\\]|\\.)*+"))?[ \t]*(?=;|\Z)', re.ASCII | re.DOTALL
)


def check_media_type(content_type: str, media_type: str, detail: str = "") -> None:
    """Check that the header Content-Type names this media type, and UTF-8 if it names a character set.

    Further parameters are ignored. Raises TheirError(WRONG_CONTENT_TYPE, detail).
    """
    if content_type == media_type:
        return  # most requests
    found = _TYPE.match(content_type)
    if found is None or found[1].lower() != media_type:
        raise TheirError(WRONG_CONTENT_TYPE, detail)
    at = found.end()
    while at < len(content_type):
        parameter = _PARAMETER.match(content_type, at)
        if parameter is None:
            raise TheirError(WRONG_CONTENT_TYPE, detail)
        name, value = parameter[1], parameter[2]
        if name and name.lower() == "charset" and value.strip('"').lower() != "utf-8":
            raise TheirError(WRONG_CONTENT_TYPE, detail)
        at = parameter.end()


def check_coding(content_encoding: str) -> None:
    """Check that the header Content-Encoding names no compression. Raises TheirError(WRONG_CONTENT_ENCODING)."""
    if content_encoding.strip().lower() not in ("", "identity"):
        raise TheirError(WRONG_CONTENT_ENCODING)
