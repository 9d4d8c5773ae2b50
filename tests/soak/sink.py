"""The senders' post offices: a TLS server with their manifests, which stores the Feedback for their buffer.

Sometimes it fails after it has stored Feedback, as any server may; then the courier has to send the same one again.
"""

import json
import ssl
import threading
from collections import Counter, defaultdict
from http.server import BaseHTTPRequestHandler
from typing import Final

from tests.fakes.servers import ThreadedServer
from tests.patience import PATIENCE

from postroom.local.ports import HOST
from postroom.protocols.nlweb.manifest import manifest_of

FAILS_EVERY: Final = 20
"""The share of Feedback that is stored, but answered with 503."""


class Sink:
    """A context manager. `feedback`: the Correlations of the Feedback received about each (sender, Correlation)."""

    def __init__(self, context: ssl.SSLContext, buffer: str) -> None:
        self.feedback: dict[tuple[str, str], set[str]] = defaultdict(set)
        self.codes: Counter[str] = Counter()
        self.received = self.failed = 0
        self._buffer = buffer
        self._lock = threading.Lock()
        sink = self

        class Handler(BaseHTTPRequestHandler):
            # Each request of the courier has a connection of its own, so many may wait.
            timeout = PATIENCE

            def do_GET(self) -> None:
                domain = self.headers["Host"].partition(":")[0].partition(".")[2]
                self._answer(200, manifest_of(domain, sink._buffer).encode())

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self._answer(sink._keep(json.loads(body)), b"{}")

            def _answer(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None: ...

        self._server = _Server((HOST, 0), Handler)
        self._context = context
        self._server.context = context
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, name="sink", daemon=True)

    def __enter__(self) -> "Sink":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _keep(self, feedback: dict[str, dict[str, str]]) -> int:
        header, body = feedback["Header"], feedback["Body"]
        with self._lock:
            self.received += 1
            self.feedback[body["Sender"], body["Correlation"]].add(header["Correlation"])
            if self.received % FAILS_EVERY:
                return 200
            self.failed += 1
            return 503


class _Server(ThreadedServer):
    """TLS by connection, in the connection's own thread: a slow handshake must not hold up the others."""

    context: ssl.SSLContext

    def finish_request(self, request: object, client_address: object) -> None:
        with self.context.wrap_socket(request, server_side=True) as tls:  # type: ignore[arg-type]
            super().finish_request(tls, client_address)  # type: ignore[arg-type]
