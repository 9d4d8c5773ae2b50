"""Loopback ports."""

import socket

from postroom.core.errors import OurError

HOST = "127.0.0.1"


def free_port() -> int:
    """Return a port that was free for TCP and UDP a moment ago; the kernel assigns them in turn."""
    for _ in range(50):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp:
            tcp.bind((HOST, 0))
            port = int(tcp.getsockname()[1])
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
                try:
                    udp.bind((HOST, port))
                except OSError:
                    continue
                return port
    raise OurError(f"no port of {HOST} is free for both TCP and UDP")


def require_free(port: int, what: str, *, with_udp: bool = False) -> int:
    """Return `port`; raises OurError if TCP (and UDP) cannot be bound to it: it is in use, or needs privileges."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp:
            tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tcp.bind((HOST, port))
        if with_udp:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
                udp.bind((HOST, port))
    except OSError as error:
        raise OurError(f"port {port} for {what} cannot be used: {error.strerror}") from error
    return port
