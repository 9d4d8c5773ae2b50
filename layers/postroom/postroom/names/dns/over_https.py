"""DNS over HTTPS (RFC 8484), with persistent connections.

It is a module of its own, because most deployments use TCP, and need not import an HTTP library at every start.
"""

import contextvars
import ssl

import httpcore

from postroom.names.dns.servers import Server
from postroom.names.dns.wire import MAX_ANSWER_BYTES, Query, Unusable, too_long
from postroom.net.timed import TimedBackend, seconds_left

_MEDIA_TYPE = b"application/dns-message"
_DEADLINE: contextvars.ContextVar[float] = contextvars.ContextVar("deadline")
"""The deadline of this thread's question. Its connection is reused later for questions of other threads."""


class HttpsConnections:
    """Connections to https resolvers. Thread-safe; must be closed."""

    def __init__(self, trust: ssl.SSLContext | None) -> None:
        self._pool = httpcore.ConnectionPool(
            ssl_context=trust, max_connections=4, keepalive_expiry=30, network_backend=TimedBackend(_question_param)
        )

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    def post(self, server: Server, query: Query, deadline: float) -> bytes:
        """The answer of `server` to `query`, until `deadline` (time.monotonic).

        Raises `Unusable`, `TooLong`, `OSError`.
        """
        try:
            return self._post(server, query, deadline)
        except httpcore.TimeoutException as error:
            raise TimeoutError from error
        except httpcore.NetworkError as error:
            raise OSError from error
        except (httpcore.ProtocolError, httpcore.UnsupportedProtocol, httpcore.ConnectionNotAvailable) as error:
            raise Unusable("no proper HTTP answer") from error

    def _post(self, server: Server, query: Query, deadline: float) -> bytes:
        _DEADLINE.set(deadline)
        with self._pool.stream(
            "POST",
            httpcore.URL(scheme=b"https", host=server.host.encode(), port=server.port, target=server.path.encode()),
            headers={b"host": _authority(server), b"content-type": _MEDIA_TYPE, b"accept": _MEDIA_TYPE},
            content=query.to_wire(),
            extensions={"timeout": {"pool": seconds_left(deadline)}},
        ) as response:
            if response.status != 200:
                raise Unusable(f"HTTP status {response.status}")
            body = b""
            for part in response.iter_stream():
                body += part
                if len(body) > MAX_ANSWER_BYTES:
                    raise too_long(query, body)
        return body


def _question_param() -> float:
    """Seconds left for this thread's question."""
    return seconds_left(_DEADLINE.get())


def _authority(server: Server) -> bytes:
    host = f"[{server.host}]" if ":" in server.host else server.host
    return (host if server.port == 443 else f"{host}:{server.port}").encode()
