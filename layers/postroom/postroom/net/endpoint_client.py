"""The HTTP client for endpoints that an operator names: any port, kept connections, limited in time and size.

A URL holds the operator's key for its provider, so no error says more of it than the host.
"""

import socket
import ssl
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from threading import Lock
from typing import Any, Final

import httpcore

from postroom.net.endpoint_url import FOR_HTTP, is_in_own_network, read_endpoint_url
from postroom.net.reuse import GONE, close_with, is_reusable
from postroom.net.timed import TimedBackend, seconds_left

MAX_AT_ONCE: Final = 32
"""Requests to one endpoint: those of all messages of a batch. One that is silent must not hold the threads of others.
"""
MAX_KEPT: Final = 4
"""Connections to one endpoint that are kept when nobody uses them."""
_CONNECT_SECONDS: Final = 3.0
_OK: Final = 200


class EndpointError(Exception):
    """An endpoint did not answer as it should. The sentence may be shown to anybody."""


class EndpointClient:
    """Posts JSON to one endpoint; safe to share among threads. `ca_file`: instead of the public authorities.

    Connections that nobody uses are closed with it: by `close`, or when nothing refers to it any more.
    """

    def __init__(self, url: str, *, max_response_bytes: int, ca_file: str | None = None) -> None:
        """Raises SettingsError, which does not quote the URL."""
        read = read_endpoint_url(url)
        self._url = httpcore.URL(scheme=read.scheme, host=read.host, port=read.port, target=read.target)
        self.host = read.host
        self._max_response_bytes = max_response_bytes
        self._tls = ssl.create_default_context(cafile=ca_file) if self._url.scheme == b"https" else None
        self._kept: deque[_Connection] = deque()
        close_with(self, self._kept)
        self._in_use: set[_Connection] = set()
        self._lock = Lock()
        self._is_closed = False

    def post(self, body: bytes, seconds: float) -> bytes:
        """The body of the answer, within so many seconds. Raises EndpointError, at once if too many others wait for it.

        If a kept connection turns out to be gone, the request is made once more over a new one.
        """
        deadline = time.monotonic() + seconds
        try:
            try:
                with self._connection(kept=True) as connection:
                    return connection.post(body, deadline, self._max_response_bytes)
            except GONE:
                if not connection.was_used or self._is_closed:
                    raise
            with self._connection(kept=False) as connection:
                return connection.post(body, deadline, self._max_response_bytes)
        except httpcore.TimeoutException:
            raise EndpointError("it did not answer in time") from None
        except httpcore.ProtocolError:
            raise EndpointError("it does not speak HTTP/1.1 as it should") from None
        except httpcore.NetworkError as error:
            if isinstance(error.__cause__, ssl.SSLCertVerificationError):
                raise EndpointError("its certificate was not accepted") from None
            what_for = f" ({FOR_HTTP})" if self._tls is None else ""
            raise EndpointError(f"no connection to it, or it broke{what_for}") from None

    def close(self) -> None:
        """Close all connections. Whoever waits for an answer gets an EndpointError."""
        with self._lock:
            self._is_closed = True
            while self._kept:
                self._kept.pop().close()
            for connection in self._in_use:
                connection.interrupt()

    @contextmanager
    def _connection(self, *, kept: bool) -> "Iterator[_Connection]":
        """A connection, which is kept after a request that was answered."""
        connection = self._take(kept=kept)
        try:
            yield connection
        except BaseException:
            self._give_back(connection, keep=False)
            raise
        self._give_back(connection, keep=True)

    def _take(self, *, kept: bool) -> "_Connection":
        with self._lock:
            if len(self._in_use) == MAX_AT_ONCE:
                raise EndpointError(f"it has not answered {MAX_AT_ONCE} requests before this one yet")
            taken = self._kept.pop() if kept and self._kept else _Connection(self._url, self._tls)
            self._in_use.add(taken)
            if self._is_closed:
                taken.interrupt()
            return taken

    def _give_back(self, connection: "_Connection", *, keep: bool) -> None:
        with self._lock:
            self._in_use.remove(connection)
            if keep and connection.is_reusable and len(self._kept) < MAX_KEPT and not self._is_closed:
                self._kept.append(connection)
                return
        # What is left of an answer would be taken for that to the next request.
        connection.close()


class _Connection:
    """A connection that one request at a time uses. `was_used`: for another one before."""

    def __init__(self, url: httpcore.URL, tls: ssl.SSLContext | None) -> None:
        self._url, self._deadline, self.was_used = url, 0.0, False
        self._socket: socket.socket | None = None
        self._is_interrupted = False
        backend = (TimedBackend if tls else _OwnBackend)(lambda: seconds_left(self._deadline), _CONNECT_SECONDS)
        self._connection = httpcore.HTTPConnection(url.origin, tls, network_backend=backend, keepalive_expiry=None)

    def post(self, body: bytes, deadline: float, max_response_bytes: int) -> bytes:
        self._deadline = deadline
        headers = [("Content-Type", "application/json"), ("Accept-Encoding", "identity"), ("User-Agent", "postroom")]
        events = {} if self.was_used else {"trace": self._note_socket}
        with self._connection.stream("POST", self._url, headers=headers, content=body, extensions=events) as answer:
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

    @property
    def is_reusable(self) -> bool:
        return is_reusable(self._connection)

    def close(self) -> None:
        self._connection.close()

    def interrupt(self) -> None:
        """Break the connection while another thread uses it."""
        self._is_interrupted = True
        if self._socket is not None:
            with suppress(OSError):  # it is gone already
                # Not SSLSocket's own, which takes TLS away from the thread that reads.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def _note_socket(self, event: str, info: Mapping[str, Any]) -> None:
        if event not in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            return
        stream = info["return_value"]
        self._socket = stream.get_extra_info("socket")
        if self._is_interrupted:
            stream.close()  # httpcore does not have it yet
            raise httpcore.ConnectError("it was interrupted")


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
        if not is_in_own_network(ip_address(stream.get_extra_info("server_addr")[0])):
            stream.close()
            raise EndpointError(f"{FOR_HTTP}; this one is not")
        return stream
