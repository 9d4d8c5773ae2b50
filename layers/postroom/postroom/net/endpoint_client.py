"""The HTTP client for endpoints that an operator names: any port, kept connections, limited in time and size.

A URL holds the operator's key for its provider, so no error says more of it than the host.
"""

import ssl
import time
from collections import deque
from collections.abc import Iterable
from ipaddress import ip_address
from threading import Lock
from typing import Final

import httpcore

from postroom.net.endpoint_url import read_endpoint_url
from postroom.net.timed import TimedBackend, seconds_left

MAX_KEPT: Final = 4
"""Connections to one endpoint that are kept when nobody uses them."""
_CONNECT_SECONDS: Final = 3.0
_OK: Final = 200
_BROKEN: Final = (httpcore.NetworkError, httpcore.RemoteProtocolError)


class EndpointError(Exception):
    """An endpoint did not answer as it should. The sentence may be shown to anybody."""


class EndpointClient:
    """Posts JSON to one endpoint; safe to share among threads. `ca_file`: instead of the public authorities."""

    def __init__(self, url: str, *, max_response_bytes: int, ca_file: str | None = None) -> None:
        """Raises SettingsError, which does not quote the URL."""
        read = read_endpoint_url(url)
        self._url = httpcore.URL(scheme=read.scheme, host=read.host, port=read.port, target=read.target)
        self.host = read.host
        self._max_response_bytes = max_response_bytes
        self._tls = ssl.create_default_context(cafile=ca_file) if self._url.scheme == b"https" else None
        self._kept: deque[_Connection] = deque()
        self._lock = Lock()
        self._is_closed = False

    def post(self, body: bytes, seconds: float) -> bytes:
        """The body of the answer, within so many seconds. Raises EndpointError.

        If a kept connection turns out to be gone, the request is made once more over a new one.
        """
        deadline = time.monotonic() + seconds
        connection = self._take()
        try:
            try:
                return self._exchange(connection, body, deadline)
            except _BROKEN:
                if not connection.was_used:
                    raise
                return self._exchange(_Connection(self._url, self._tls), body, deadline)
        except httpcore.TimeoutException:
            raise EndpointError("it did not answer in time") from None
        except httpcore.ProtocolError:
            raise EndpointError("it does not speak HTTP/1.1 as it should") from None
        except httpcore.NetworkError as error:
            if isinstance(error.__cause__, ssl.SSLCertVerificationError):
                raise EndpointError("its certificate was not accepted") from None
            raise EndpointError("no connection to it, or it broke") from None

    def close(self) -> None:
        """Close the connections that are kept; those in use are closed after it."""
        with self._lock:
            self._is_closed = True
            while self._kept:
                self._kept.pop().close()

    def _take(self) -> "_Connection":
        with self._lock:
            return self._kept.pop() if self._kept else _Connection(self._url, self._tls)

    def _exchange(self, connection: "_Connection", body: bytes, deadline: float) -> bytes:
        try:
            answer = connection.post(body, deadline, self._max_response_bytes)
        except BaseException:
            # What is left of an answer would be taken for that to the next request.
            connection.close()
            raise
        self._keep(connection)
        return answer

    def _keep(self, connection: "_Connection") -> None:
        with self._lock:
            if len(self._kept) < MAX_KEPT and not self._is_closed:
                self._kept.append(connection)
                return
        connection.close()


class _Connection:
    """A connection that one request at a time uses. `was_used`: for another one before."""

    def __init__(self, url: httpcore.URL, tls: ssl.SSLContext | None) -> None:
        self._url, self._deadline, self.was_used = url, 0.0, False
        backend = (TimedBackend if tls else _OwnBackend)(lambda: seconds_left(self._deadline), _CONNECT_SECONDS)
        self._connection = httpcore.HTTPConnection(url.origin, tls, network_backend=backend, keepalive_expiry=None)

    def post(self, body: bytes, deadline: float, max_response_bytes: int) -> bytes:
        self._deadline = deadline
        headers = [("Content-Type", "application/json"), ("Accept-Encoding", "identity"), ("User-Agent", "postroom")]
        with self._connection.stream("POST", self._url, headers=headers, content=body) as answer:
            if answer.status != _OK:
                raise EndpointError(f"it answered with status {answer.status}")
            if any(name.lower() == b"content-encoding" and value != b"identity" for name, value in answer.headers):
                raise EndpointError("it answered in a compressed form that was not requested")
            read = bytearray()
            for chunk in answer.iter_stream():
                read += chunk
                if len(read) > max_response_bytes:
                    raise EndpointError(f"it answered with more than {max_response_bytes} bytes")
        self.was_used = True
        return bytes(read)

    def close(self) -> None:
        self._connection.close()


class _OwnBackend(TimedBackend):
    """Connects without TLS, and therefore only to addresses that are not public."""

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        stream = super().connect_tcp(host, port, timeout, local_address, socket_options)
        if not ip_address(stream.get_extra_info("server_addr")[0]).is_private:
            stream.close()
            raise EndpointError("http:// is for addresses of one's own network; this one is public")
        return stream
