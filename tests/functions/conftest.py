"""A deployment in moto, its domain receiver.example, and the world around it: signed zones, another post office."""

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from tests.aws import Deployed
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.functions.lambdas import Office, office
from tests.functions.samples import BUFFER, MADE_AT, RECEIVER, SELECTOR, SENDER, SUBJECT, published_key

from postroom.local.authority import Authority
from postroom.local.dns import DnsServer
from postroom.local.zones import ZoneTree
from postroom.nlweb.key_record import record_text, zone_line
from postroom.nlweb.keys import PrivateKey
from postroom.nlweb.manifest import manifest_of
from postroom.nlweb.schema import NLWEB
from postroom.nlweb.subjects import SubjectRule, Treatment
from postroom.store.directory import Domain
from postroom.store.operators import Operators
from postroom.store.secrets import SigningKeys


class Elsewhere(HTTPServer):
    """The post office of sender.example and buffer.example: its manifest names the buffer; it notes what is posted."""

    def __init__(self, authority: Authority) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.posted: list[bytes] = []
        self.status = 200
        context = authority.server_context(NLWEB.host(SENDER), NLWEB.host(BUFFER))
        context.set_alpn_protocols(["http/1.1"])
        self.socket = context.wrap_socket(self.socket, server_side=True)


class _Handler(BaseHTTPRequestHandler):
    server: Elsewhere

    def do_GET(self) -> None:
        self._say(200, manifest_of(SENDER, BUFFER).encode())

    def do_POST(self) -> None:
        self.server.posted.append(self.rfile.read(int(self.headers["Content-Length"])))
        self._say(self.server.status, b"{}")

    def _say(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        pass


@pytest.fixture(autouse=True)
def sample_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock runs, from the moment the sample events were made."""
    real, started = time.time, time.time()
    monkeypatch.setattr(time, "time", lambda: MADE_AT + 5 + real() - started)


@pytest.fixture
def key() -> PrivateKey:
    return published_key()


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def elsewhere(authority: Authority) -> Iterator[Elsewhere]:
    with Elsewhere(authority) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def zones(key: PrivateKey, sample_time: None) -> ZoneTree:
    tree = ZoneTree(clock=time.time)
    record = zone_line(NLWEB.key_name(SENDER, SELECTOR), record_text(key.public))
    tree.put(SENDER, f"nlweb IN A 127.0.0.1\n{record}\n")
    tree.put(BUFFER, "nlweb IN A 127.0.0.1\n")
    return tree


@pytest.fixture
def dns_server(zones: ZoneTree) -> Iterator[DnsServer]:
    with DnsServer(zones) as server:
        yield server


@pytest.fixture
def running(
    deployed: Deployed,
    zones: ZoneTree,
    dns_server: DnsServer,
    elsewhere: Elsewhere,
    authority: Authority,
    key: PrivateKey,
) -> Iterator[Office]:
    clients = deployed.clients
    operators = Operators(clients.dynamodb, deployed.tables["DirectoryTable"])
    operators.put_domain(Domain(RECEIVER, feedback=BUFFER))
    operators.put_subject(RECEIVER, SubjectRule(SUBJECT, Treatment.MAILBOX, RECEIVER))
    SigningKeys(clients.secrets, deployed.secrets["SigningKeys"], time.time).put(RECEIVER, SELECTOR, key)
    with office(
        deployed,
        Resolvers=f"udp://{dns_server.address}",
        TrustAnchors=zones.anchor_text.strip(),
        OutboundPort=str(elsewhere.server_port),
        OutboundCaFile=str(authority.pem),
        OutboundAllowPrivate="true",
    ) as office_running:
        yield office_running
