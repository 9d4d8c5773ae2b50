"""A mailbox API over real TLS, for commands of owners."""

import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from tests.fakes.servers import ThreadedServer, running_server
from tests.http.api_stack import ApiStack

from postroom.cli.descriptor import Descriptor
from postroom.http.request import HttpRequest
from postroom.http.response import HttpResponse
from postroom.local.authority import Authority

HOST = "nlweb.shop.com"
URL = f"https://{HOST}"


@dataclass
class ServedApi:
    """An API that is running. `asked`: method and path of each request. `before`: is called before each response, and
    may return an HTTP status to answer with. `change`: the change of each response. `local`: the file of a local stack
    with this as its only host."""

    api: ApiStack
    port: int
    ca_file: Path
    local: Path
    asked: list[str] = field(default_factory=list)
    before: Callable[[str], int | None] = lambda _asked: None
    change: Callable[[HttpResponse], HttpResponse] = lambda response: response


@contextmanager
def serve(api: ApiStack, folder: Path) -> Iterator[ServedApi]:
    """The API, which runs within the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # otherwise a body waits until its headers are acknowledged

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            headers = {name.lower(): value for name, value in self.headers.items()}
            url = urlsplit(self.path)
            asked = f"{self.command} {url.path}"
            served.asked.append(asked)
            if status := served.before(asked):
                self._send(status, {}, b"")
                return
            query = dict(parse_qsl(url.query))
            reply = served.change(api.router.respond(HttpRequest(self.command, url.path, HOST, query, headers, body)))
            self._send(reply.status, reply.headers, reply.body)

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _answer  # noqa: N815 - the base class names them

        def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
            """Log nothing."""

    authority = Authority(folder / "ca")
    context: ssl.SSLContext = authority.server_context(HOST)
    context.set_alpn_protocols(["http/1.1"])
    with running_server(ThreadedServer(("127.0.0.1", 0), Handler), context) as server:
        served = ServedApi(api, server.server_port, authority.pem, folder / "local.json")
        Descriptor("127.0.0.1:9", "", str(authority.pem), server.server_port, "http://127.0.0.1:9", "", {}).write(
            served.local
        )
        yield served
