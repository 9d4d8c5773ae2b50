"""Requests: plain values, independent of Lambda's events."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request. `host`: the host that it was sent to. Names of `headers` are in lower case.

    The values of a query parameter that occurs twice are joined by a comma. `source`: the client's IP address, as the
    edge saw it. `answer_bytes`: the largest body that the response may have, if what carries it takes less than Lambda.
    `connection`: the id of the WebSocket that it came by; empty: it came over HTTPS.
    """

    method: str
    path: str
    host: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes = b""
    source: str = ""
    answer_bytes: int | None = None
    connection: str = ""

    @property
    def bearer(self) -> str:
        """The bearer token of the request; empty: none."""
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token.strip() if scheme.lower() == "bearer" else ""
