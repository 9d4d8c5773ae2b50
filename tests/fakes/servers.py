"""HTTP servers on loopback for tests: a client may end its connection at any time, and a server ends with its block."""

import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import HTTPServer
from socketserver import BaseServer, TCPServer, ThreadingMixIn
from threading import Thread
from typing import TypeVar

S = TypeVar("S", bound=TCPServer)


class ToleratesDisconnects(BaseServer):
    """Reports no connection that its client ended: a client may close one with unread data, which resets it."""

    def handle_error(self, request: object, client_address: object) -> None:
        """Print any other error."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError | ssl.SSLError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class LoopbackServer(ToleratesDisconnects, HTTPServer):
    """Answers requests one after the other."""


class ThreadedServer(ThreadingMixIn, LoopbackServer):
    """Answers each connection in a thread."""

    daemon_threads = True


@contextmanager
def running_server(server: S, tls: ssl.SSLContext | None = None) -> Iterator[S]:
    """The server, which runs within the block. `tls`: of its side, if it has none yet."""
    with server:
        if tls:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
