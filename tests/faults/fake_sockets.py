"""The WebSockets of peers of DCP, as API Gateway lets a function send to them."""

from http.server import BaseHTTPRequestHandler
from typing import NamedTuple

from tests.fakes.servers import LoopbackServer
from tests.functions.samples import SOCKET_HOST

from postroom.local.authority import Authority
from postroom.local.socket_gateway import find_connection

ADDRESS = "127.0.0.2"
"""An address of its own, because all other hosts have the same port."""
_STAGE = "dcp"


class Sent(NamedTuple):
    """A message to the WebSocket `connection` (None: to nothing that is one), and the status that was answered."""

    connection: str | None
    status: int
    message: bytes

    @property
    def arrived(self) -> bool:
        """Whether the peer has it."""
        return self.status == 200


class FakeSockets(LoopbackServer):
    """The host SOCKET_HOST. `status`: of its answers; `sent`: all that came."""

    def __init__(self, authority: Authority, port: int) -> None:
        super().__init__((ADDRESS, port), _Handler)
        self.status = 200
        self.sent: list[Sent] = []
        context = authority.server_context(SOCKET_HOST)
        context.set_alpn_protocols(["http/1.1"])
        self.socket = context.wrap_socket(self.socket, server_side=True)


class _Handler(BaseHTTPRequestHandler):
    server: FakeSockets

    def do_POST(self) -> None:
        message = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.sent.append(Sent(find_connection(self.path, _STAGE), self.server.status, message))
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        pass
