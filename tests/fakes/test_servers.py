"""Servers of tests: they report their own errors and not those of clients, and end with their block."""

import socket
import struct
import threading
from http.server import BaseHTTPRequestHandler

import pytest
from tests.fakes.servers import ThreadedServer, running_server
from tests.patience import PATIENCE

RESETS = struct.pack("ii", 1, 0)


class Noticed(ThreadedServer):
    """Notes when it has handled an error."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        self.has_handled = threading.Event()
        super().__init__(("127.0.0.1", 0), handler)

    def handle_error(self, request: object, client_address: object) -> None:
        super().handle_error(request, client_address)
        self.has_handled.set()


class Failing(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        raise KeyError("a fault of the test")

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def test_a_client_that_resets_its_connection_is_not_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with running_server(Noticed(Failing)) as server:
        client = socket.create_connection(("127.0.0.1", server.server_port))
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESETS)
        client.close()
        assert server.has_handled.wait(PATIENCE)
    assert capsys.readouterr().err == ""


def test_another_error_of_a_handler_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with (
        running_server(Noticed(Failing)) as server,
        socket.create_connection(("127.0.0.1", server.server_port)) as client,
    ):
        client.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert server.has_handled.wait(PATIENCE)
    assert "a fault of the test" in capsys.readouterr().err


def test_a_server_ends_with_its_block_even_if_the_test_fails() -> None:
    before = set(threading.enumerate())
    with pytest.raises(AssertionError, match="a test failed"), running_server(Noticed(Failing)) as server:
        raise AssertionError("a test failed")
    assert server.fileno() == -1
    assert not [thread for thread in set(threading.enumerate()) - before if "serve_forever" in thread.name]
