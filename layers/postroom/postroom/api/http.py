"""HTTP terms that operations and the router share: authentication, path variables, headers, media types."""

from enum import StrEnum
from typing import Final

NAME, ID, KEY = "{name}", "{id}", "{key}"
"""Variables of paths."""
IF_MATCH, IF_NONE_MATCH, RANGE = "If-Match", "If-None-Match", "Range"
ETAG_PATTERN: Final = r'(?:W/)?"[\x21\x23-\x7e]*"'
ETAGS_PATTERN: Final = rf"{ETAG_PATTERN}(?:[ \t]*,[ \t]*{ETAG_PATTERN})*"
DCP_PATH: Final = "/dcp"
JSON: Final = "application/json"
BYTES: Final = "application/octet-stream"
MERGE_PATCH: Final = "application/merge-patch+json"


class Authentication(StrEnum):
    """The schemes by which clients prove who they are."""

    NONE = "none"
    BEARER = "bearer"
    """A token of the mailbox (RFC 6750)."""
