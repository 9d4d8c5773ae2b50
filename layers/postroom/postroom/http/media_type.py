"""The media type and the coding of a request's body (RFC 9110 §8.3, §8.4)."""

from email.message import Message

from postroom.core.errors import TheirError
from postroom.core.reasons import WRONG_CONTENT_ENCODING, WRONG_CONTENT_TYPE


def check_media_type(content_type: str, media_type: str, detail: str = "") -> None:
    """Check that the header Content-Type names this media type, and UTF-8 if it names a character set.

    Raises TheirError(WRONG_CONTENT_TYPE, detail).
    """
    # The standard library reads it as RFC 2045 §5.1 has it: in any case, with white space and further parameters.
    header = Message()
    header["Content-Type"] = content_type
    if header.get_content_type() != media_type or header.get_content_charset("utf-8") != "utf-8":
        raise TheirError(WRONG_CONTENT_TYPE, detail)


def check_coding(content_encoding: str) -> None:
    """Check that the header Content-Encoding names no compression. Raises TheirError(WRONG_CONTENT_ENCODING)."""
    if content_encoding.strip().lower() not in ("", "identity"):
        raise TheirError(WRONG_CONTENT_ENCODING)
