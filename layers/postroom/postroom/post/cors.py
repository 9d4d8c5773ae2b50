"""Which web pages may post to the delivery service (Fetch Standard, CORS protocol). Without credentials, always."""

from collections.abc import Mapping
from typing import Final

_PREFLIGHT: Final = {
    "Access-Control-Allow-Methods": "POST",
    "Access-Control-Allow-Headers": "content-type",
    "Access-Control-Max-Age": "86400",
}


class Cors:
    """`origins`: comma-separated, as a browser says them (`https://app.example`); `*`: any; empty: none."""

    def __init__(self, origins: str) -> None:
        self._origins = frozenset(origin.strip() for origin in origins.split(",") if origin.strip())

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
