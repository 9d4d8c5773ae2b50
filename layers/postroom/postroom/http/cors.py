"""Cross-origin requests (Fetch Standard, CORS protocol); never with a browser's credentials."""

import re
from collections.abc import Mapping
from typing import Final

from postroom.core.errors import SettingsError

_MAY: Final = "Access-Control-Allow-Origin"
_NONE: Final = "none"
"""A word, because an empty setting takes its default, which is any page."""
_ORIGIN: Final = re.compile(r"[a-z][a-z0-9+.-]*://(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?", re.ASCII)


class Cors:
    """CORS settings. `origins`: comma-separated, as browsers send them (`https://app.example`); `*`: any page; `none`:
    no page.

    `setting`: the name of the setting. `methods`, `allowed`: what requests may use; `exposed`: what pages may read.
    Raises SettingsError for an origin that no browser sends: with a misspelt origin, the page would just not work.
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
        """The headers of a response to a page of `origin` (the header Origin; empty: not from a page)."""
        headers = self._may(origin)
        return {**headers, **self._exposed} if _MAY in headers else headers

    def preflight(self, origin: str) -> Mapping[str, str]:
        """The headers of the response to OPTIONS."""
        headers = self._may(origin)
        return {**headers, **self._preflight} if _MAY in headers else headers

    def _may(self, origin: str) -> dict[str, str]:
        if "*" in self._origins:
            return {_MAY: "*"}
        if not self._origins:
            return {}
        allowed = {_MAY: origin} if origin in self._origins else {}
        # The response depends on the origin, so caches must distinguish it.
        return {**allowed, "Vary": "Origin"}
