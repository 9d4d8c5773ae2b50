"""One question to one server: UDP with TCP on truncation, TCP, or HTTPS (RFC 1035 §4.2, 7766, 8484)."""

import contextvars
import ipaddress
import socket
import ssl
import struct
import time
from collections.abc import Iterable

import httpcore

from postroom.names.dns.answer import Answer
from postroom.names.dns.servers import Server
from postroom.names.dns.wire import MAX_ANSWER_BYTES, Query, TooLong, Unusable, read_answer
from postroom.timed import TimedStream, seconds_left

_MEDIA_TYPE = b"application/dns-message"
# A datagram is lost now and then: it is sent again this often within the time of one try.
_UDP_SENDS = 3
_DEADLINE: contextvars.ContextVar[float] = contextvars.ContextVar("deadline")
"""Of the question that this thread asks over HTTPS: its connection is kept, and carries questions of others later."""


def https_connections(trust: ssl.SSLContext | None) -> httpcore.ConnectionPool:
    """Connections to https resolvers, for `exchange`."""
    return httpcore.ConnectionPool(
        ssl_context=trust, max_connections=4, keepalive_expiry=30, network_backend=_TimedBackend()
    )


def exchange(server: Server, query: Query, seconds: float, pool: httpcore.ConnectionPool) -> Answer:
    """The server's answer to `query`, of any rcode, within `seconds`.

    Raises `Unusable` (no answer to this query), `TooLong`, `OSError` or httpcore's errors (both: network, time-out).
    """
    deadline = time.monotonic() + seconds
    if server.scheme == "https":
        return _https(server, query, deadline, pool)
    if server.scheme == "udp":
        answer = _udp(server, query, deadline)
        if not answer.is_truncated:
            return answer
    return _tcp(server, query, deadline)


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ipaddress.ip_address(host).version == 6 else socket.AF_INET


def _udp(server: Server, query: Query, deadline: float) -> Answer:
    wire = query.to_wire()
    patience = seconds_left(deadline) / _UDP_SENDS
    with socket.socket(_family(server.host), socket.SOCK_DGRAM) as sock:
        # Connected: the kernel drops datagrams from elsewhere and reports a closed port at once.
        sock.connect((server.host, server.port))
        while True:
            resend_at = time.monotonic() + min(patience, seconds_left(deadline))
            sock.send(wire)
            # Datagrams that are no answer to this query are passed over: a forger must not end the wait.
            while (left := resend_at - time.monotonic()) > 0:
                sock.settimeout(left)
                try:
                    answer = read_answer(query, sock.recv(MAX_ANSWER_BYTES))
                except TimeoutError:
                    break
                if answer is not None:
                    return answer


def _tcp(server: Server, query: Query, deadline: float) -> Answer:
    wire = query.to_wire()
    with socket.create_connection((server.host, server.port), seconds_left(deadline)) as sock:
        sock.settimeout(seconds_left(deadline))
        sock.sendall(struct.pack("!H", len(wire)) + wire)
        (length,) = struct.unpack("!H", _receive(sock, 2, deadline))
        if length > MAX_ANSWER_BYTES:
            raise TooLong
        return _expect(query, _receive(sock, length, deadline))


def _receive(sock: socket.socket, count: int, deadline: float) -> bytes:
    received = b""
    while len(received) < count:
        sock.settimeout(seconds_left(deadline))
        part = sock.recv(count - len(received))
        if not part:
            raise Unusable("the connection ended early")
        received += part
    return received


def _https(server: Server, query: Query, deadline: float, pool: httpcore.ConnectionPool) -> Answer:
    _DEADLINE.set(deadline)
    with pool.stream(
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
                raise TooLong
    return _expect(query, body)


class _TimedBackend(httpcore.NetworkBackend):
    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the deadline rules
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        stream = httpcore.SyncBackend().connect_tcp(host, port, _asked_for(), local_address, socket_options)
        return TimedStream(stream, _asked_for)


def _asked_for() -> float:
    """Seconds left for the question that this thread asks."""
    return seconds_left(_DEADLINE.get())


def _authority(server: Server) -> bytes:
    host = f"[{server.host}]" if ":" in server.host else server.host
    return (host if server.port == 443 else f"{host}:{server.port}").encode()


def _expect(query: Query, wire: bytes) -> Answer:
    answer = read_answer(query, wire)
    if answer is None:
        raise Unusable("a malformed answer, or an answer to another question")
    return answer
