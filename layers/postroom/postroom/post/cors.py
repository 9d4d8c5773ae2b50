"""Which web pages may post to the delivery service (Fetch Standard, CORS protocol). Without credentials, always."""

import re
from collections.abc import Mapping
from typing import Final

from postroom.errors import SettingsError

_PREFLIGHT: Final = {
    "Access-Control-Allow-Methods": "POST",
    "Access-Control-Allow-Headers": "content-type",
    "Access-Control-Max-Age": "86400",
}
_NONE: Final = "none"
"""A word, because a setting that is empty takes its default, which is any page."""
_ORIGIN: Final = re.compile(r"[a-z][a-z0-9+.-]*://(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?", re.ASCII)


class Cors:
    """`origins`: comma-separated, as browsers say them (`https://app.example`); `*`: any page; `none`: no page.

    Raises SettingsError for what no browser would say: a page whose origin is misspelt would just not work.
    """

    def __init__(self, origins: str) -> None:
        listed = frozenset(origin.strip() for origin in origins.split(",") if origin.strip())
        if not listed:
            raise SettingsError(f"DM3_CORS_ORIGINS lists nothing; write {_NONE} if no page may post")
        self._origins = frozenset[str]() if listed == {_NONE} else listed
        for origin in self._origins - {"*"}:
            if not _ORIGIN.fullmatch(origin):
                raise SettingsError(f"DM3_CORS_ORIGINS holds {origin[:80]!r}; expected origins as https://app.example")

    def headers(self, origin: str) -> dict[str, str]:
        """The headers of an answer to a page of `origin` (the header Origin; empty: no page asks)."""
        if "*" in self._origins:
            return {"Access-Control-Allow-Origin": "*"}
        if not self._origins:
            return {}
        allowed = {"Access-Control-Allow-Origin": origin} if origin in self._origins else {}
        # What is answered differs with the origin: a cache must know.
        return {**allowed, "Vary": "Origin"}

    def preflight(self, origin: str) -> Mapping[str, str]:
        """The headers of the answer to OPTIONS."""
        headers = self.headers(origin)
        return {**headers, **_PREFLIGHT} if "Access-Control-Allow-Origin" in headers else headers
