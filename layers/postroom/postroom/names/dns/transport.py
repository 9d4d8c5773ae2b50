"""One question to one server: UDP with TCP on truncation, TCP, or HTTPS (RFC 1035 §4.2, 7766, 8484)."""

import ipaddress
import socket
import struct
import time
from typing import TYPE_CHECKING

from postroom.names.dns.answer import Answer
from postroom.names.dns.servers import Server
from postroom.names.dns.wire import HEADER_BYTES, MAX_ANSWER_BYTES, Query, Unusable, read_answer, too_long

if TYPE_CHECKING:
    from postroom.names.dns.over_https import HttpsConnections

# A datagram is sometimes lost: it is sent again this often within the time of one attempt.
_UDP_SENDS = 3


def exchange(server: Server, query: Query, seconds: float, https: "HttpsConnections | None") -> Answer:
    """The server's answer to `query`, with any rcode, within `seconds`. `https`: for a server that is asked by HTTPS.

    Raises `Unusable` (no answer to this query), `TooLong`, or `OSError` (network, time-out).
    """
    deadline = time.monotonic() + seconds
    if https is not None and server.scheme == "https":
        return _expect(query, https.post(server, query, deadline))
    if server.scheme == "udp":
        answer = _udp(server, query, deadline)
        if not answer.is_truncated:
            return answer
    return _tcp(server, query, deadline)


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ipaddress.ip_address(host).version == 6 else socket.AF_INET


def _udp(server: Server, query: Query, deadline: float) -> Answer:
    wire = query.to_wire()
    patience = _seconds_left(deadline) / _UDP_SENDS
    with socket.socket(_family(server.host), socket.SOCK_DGRAM) as sock:
        # Connected: the kernel drops datagrams from elsewhere, and reports a closed port at once.
        sock.connect((server.host, server.port))
        while True:
            resend_at = time.monotonic() + min(patience, _seconds_left(deadline))
            sock.send(wire)
            # Datagrams that do not answer this query are ignored: a forger must not end the wait.
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
    with socket.create_connection((server.host, server.port), _seconds_left(deadline)) as sock:
        sock.settimeout(_seconds_left(deadline))
        sock.sendall(struct.pack("!H", len(wire)) + wire)
        (length,) = struct.unpack("!H", _receive(sock, 2, deadline))
        if length > MAX_ANSWER_BYTES:
            # The first bytes of HTTP would be a length of 18,516.
            raise too_long(query, _receive(sock, HEADER_BYTES, deadline))
        return _expect(query, _receive(sock, length, deadline))


def _receive(sock: socket.socket, count: int, deadline: float) -> bytes:
    received = b""
    while len(received) < count:
        sock.settimeout(_seconds_left(deadline))
        part = sock.recv(count - len(received))
        if not part:
            raise Unusable("the connection ended early")
        received += part
    return received


def _expect(query: Query, wire: bytes) -> Answer:
    answer = read_answer(query, wire)
    if answer is None:
        raise Unusable("a malformed answer, or an answer to another question")
    return answer


def _seconds_left(deadline: float) -> float:
    """Until `deadline`. Raises TimeoutError when it has passed."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
