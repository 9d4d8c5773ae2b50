"""Post offices of other domains on one loopback port with real TLS: manifests, and buffers that accept Feedback."""

from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from threading import Event

from tests.fakes.servers import ThreadedServer
from tests.patience import PATIENCE

from postroom.local.authority import Authority
from postroom.protocols.nlweb.manifest import domain_of_host, manifest_of
from postroom.protocols.nlweb.schema import NLWEB


class FakePostOffices(ThreadedServer):
    """Each domain in `buffers` names its buffer in its manifest. `posted`: all messages received; `taken`: the domains
    at which a message was accepted.

    `status`, `body`: the response to a message; `statuses`: different statuses of single domains. `slow`: the domains
    whose manifests are answered after a message was received.
    """

    def __init__(self, authority: Authority, buffers: Mapping[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.buffers = buffers
        self.posted: list[bytes] = []
        self.taken: list[str] = []
        self.status = 200
        self.body = b"{}"
        self.statuses: dict[str, int] = {}
        self.slow: set[str] = set()
        self.has_received = Event()
        context = authority.server_context(*(NLWEB.host(name) for name in {*buffers, *buffers.values()}))
        context.set_alpn_protocols(["http/1.1"])
        self.socket = context.wrap_socket(self.socket, server_side=True)


class _Handler(BaseHTTPRequestHandler):
    server: FakePostOffices

    def do_GET(self) -> None:
        domain = domain_of_host(self.headers["Host"])
        if domain in self.server.slow:
            self.server.has_received.wait(PATIENCE)
        self._say(200, manifest_of(domain, self.server.buffers[domain]).encode())

    def do_POST(self) -> None:
        self.server.posted.append(self.rfile.read(int(self.headers["Content-Length"])))
        domain = domain_of_host(self.headers["Host"])
        status = self.server.statuses.get(domain, self.server.status)
        self.server.taken += [domain] if status == 200 else []
        self.server.has_received.set()
        self._say(status, self.server.body)

    def _say(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        pass
