"""Cross-origin requests (Fetch Standard, CORS protocol); never with a browser's credentials."""

import re
from collections.abc import Mapping
from typing import Final

from postroom.core.errors import SettingsError

_MAY: Final = "Access-Control-Allow-Origin"
_NONE: Final = "none"
"""A word, because a setting that is empty takes its default, which is any page."""
_ORIGIN: Final = re.compile(r"[a-z][a-z0-9+.-]*://(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?", re.ASCII)


class Cors:
    """`origins`: comma-separated, as browsers say them (`https://app.example`); `*`: any page; `none`: no page.

    `setting`: what they were set by. `methods`, `allowed`: what pages may ask with; `exposed`: what they may read.
    Raises SettingsError for what no browser would say: a page whose origin is misspelt would just not work.
    """

    def __init__(
        self, origins: str, setting: str, *, methods: str = "POST", allowed: str = "content-type", exposed: str = ""
    ) -> None:
        listed = frozenset(origin.strip() for origin in origins.split(",") if origin.strip())
        if not listed:
            raise SettingsError(f"{setting} lists nothing; write {_NONE} if no page may post")
        self._origins = frozenset[str]() if listed == {_NONE} else listed
        self._exposed = {"Access-Control-Expose-Headers": exposed} if exposed else {}
        self._preflight = {
            "Access-Control-Allow-Methods": methods,
            "Access-Control-Allow-Headers": allowed,
            "Access-Control-Max-Age": "86400",
        }
        for origin in self._origins - {"*"}:
            if not _ORIGIN.fullmatch(origin):
                raise SettingsError(f"{setting} holds {origin[:80]!r}; expected origins as https://app.example")

    def headers(self, origin: str) -> dict[str, str]:
        """The headers of an answer to a page of `origin` (the header Origin; empty: no page asks)."""
        headers = self._may(origin)
        return {**headers, **self._exposed} if _MAY in headers else headers

    def preflight(self, origin: str) -> Mapping[str, str]:
        """The headers of the answer to OPTIONS."""
        headers = self._may(origin)
        return {**headers, **self._preflight} if _MAY in headers else headers

    def _may(self, origin: str) -> dict[str, str]:
        if "*" in self._origins:
            return {_MAY: "*"}
        if not self._origins:
            return {}
        allowed = {_MAY: origin} if origin in self._origins else {}
        # What is answered differs with the origin: a cache must know.
        return {**allowed, "Vary": "Origin"}
