"""Hosts of the Web: an HTTPS server on this machine that answers for each of them as a test says."""

import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import NamedTuple

import trustme
from tests.fakes.dripping import parts_of
from tests.fakes.servers import ThreadedServer, running_server
from tests.patience import PATIENCE

from postroom.names.ipfs.car import MAX_CAR_BYTES
from postroom.net.https import HttpsClient


class Page(NamedTuple):
    """An answer. `length`: that it says it has, if it is another one: the rest never comes."""

    body: bytes
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    length: int | None = None


class Requested(NamedTuple):
    """A request. `path`: with its query."""

    host: str
    path: str
    accept: str


Answers = Page | Callable[[str], Page]
"""The answer to every request, or by path."""


class FakeWeb(ThreadedServer):
    """`pages`: by host, and may be changed; other hosts do not exist. `requested`: what was, in order."""

    def __init__(self, pages: dict[str, Answers], ca_file: str) -> None:
        self.pages = pages
        self.requested: list[Requested] = []
        self._ca_file = ca_file
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def hosts(self) -> list[str]:
        """The hosts of the requests."""
        return [each.host for each in self.requested]

    @property
    def settings(self) -> dict[str, str]:
        """What a function needs to reach these hosts, beside a resolver that knows them."""
        return {
            "OUTBOUND_PORT": str(self.server_address[1]),
            "OUTBOUND_CA_FILE": self._ca_file,
            "OUTBOUND_ALLOW_PRIVATE": "true",
        }

    def client(self, *, allow_private: bool = True) -> HttpsClient:
        """The client that finds these hosts; it connects to them only if private addresses are allowed."""
        return HttpsClient(
            lambda host: ["127.0.0.1"] if host in self.pages else [],
            port=int(self.server_address[1]),
            allow_private=allow_private,
            ca_file=self._ca_file,
            connect_timeout=PATIENCE,
            total_timeout=PATIENCE,
            max_response_bytes=MAX_CAR_BYTES,
        )


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FakeWeb

    def do_GET(self) -> None:
        host = self.headers["Host"].partition(":")[0]
        self.server.requested.append(Requested(host, self.path, self.headers["Accept"]))
        answers = self.server.pages[host]
        page = answers if isinstance(answers, Page) else answers(self.path)
        self.send_response(page.status)
        self.send_header("Content-Length", str(len(page.body) if page.length is None else page.length))
        for name, value in page.headers:
            self.send_header(name, value)
        self.end_headers()
        for part in parts_of(page.body):
            self.wfile.write(part)
        if page.length is not None:
            # The connection is left open until the client has had enough.
            self.rfile.read(1)

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@contextmanager
def fake_web(
    folder: Path, pages: dict[str, Answers], certificates: Mapping[str, str] | None = None
) -> Iterator[FakeWeb]:
    """These hosts, running. `folder`: for the certificate of their authority; `certificates`: the name in that of a
    host, if it is another one.
    """
    names = certificates or {}
    authority, tls = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    contexts: dict[str, ssl.SSLContext] = {}

    def certify(connection: ssl.SSLObject | ssl.SSLSocket, host: str | None, _: ssl.SSLContext) -> None:
        """The certificate of the host that is connected to."""
        if host and host not in contexts:
            contexts[host] = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            authority.issue_cert(names.get(host, host)).configure_cert(contexts[host])
        connection.context = contexts[host or ""]

    tls.sni_callback = certify
    ca_file = folder / "ca.pem"
    authority.cert_pem.write_to_path(str(ca_file))
    with running_server(FakeWeb(pages, str(ca_file)), tls) as web:
        yield web
