"""Endpoints of a chain, and gateways: HTTP servers on this machine that answer JSON as a test says."""

import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

from tests.fakes.dripping import parts_of
from tests.fakes.servers import ThreadedServer, running_server

Answered = bytes | tuple[int, dict[str, str], bytes]
"""The body of an answer with status 200; or its status, headers and body."""
Answer = Callable[[bytes], Answered]
"""The answer to a body."""


class FakeEndpoint(ThreadedServer):
    """`answer`: may be changed; `bodies`: that were posted; `paths`: to which; `connections`: how many were made."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.bodies: list[bytes] = []
        self.paths: list[str] = []
        self.connections = 0
        super().__init__(("127.0.0.1", 0), _Handler)

    def process_request(self, request: object, client_address: object) -> None:
        self.connections += 1
        super().process_request(request, client_address)  # type: ignore[arg-type]

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FakeEndpoint

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.bodies.append(body)
        self.server.paths.append(self.path)
        answer = self.server.answer(body)
        status, headers, sent = (200, {}, answer) if isinstance(answer, bytes) else answer
        self.send_response(status)
        for name, value in {"Content-Length": str(len(sent)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        for part in parts_of(sent):
            self.wfile.write(part)
        self.close_connection = headers.get("Connection") == "close"

    def do_GET(self) -> None:
        self.do_POST()

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@contextmanager
def fake_endpoint(answer: Answer, tls: ssl.SSLContext | None = None) -> Iterator[FakeEndpoint]:
    """A running endpoint. `tls`: the context of a server."""
    with running_server(FakeEndpoint(answer), tls) as server:
        yield server
