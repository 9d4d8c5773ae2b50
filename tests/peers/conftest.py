"""Fixtures with a network on loopback: a signed zone tree, its resolver, and an HTTPS server that stores requests."""

import json
import ssl
import subprocess
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import trustme
from tests.fakes.servers import ThreadedServer, running_server
from tests.patience import PATIENCE

from postroom.core.ijson import parse
from postroom.crypto.rsa_ed25519 import PublicKey
from postroom.local.dns import DnsServer
from postroom.local.guest import run_guest
from postroom.local.zones import Mode, ZoneTree
from postroom.names.dns import Resolvers
from postroom.names.dnssec import TrustAnchors
from postroom.names.keys import KeyDirectory
from postroom.protocols.nlweb.envelope import NlwebEnvelope, read_envelope
from postroom.protocols.nlweb.key_record import parse_key_record, record_text, zone_line
from postroom.protocols.nlweb.timestamp import TimestampWindow
from postroom.protocols.nlweb.verify import check_before_lookup, check_signature

RECEIVER = "receiver.example"
_WITH_TOOLS = {"chains", "clients", "go", "importer", "own_reference", "plain_reference", "reference", "reference5"}
"""Fixtures that start software of npm, Go or PyPI."""
# Not a loopback address, so that only the guest's own DNS and connections reach the server.
HOSTS = "nlweb A 192.0.2.25\npw A 192.0.2.25\n"


def pytest_itemcollected(item: pytest.Item) -> None:
    if _WITH_TOOLS & set(item.fixturenames):  # type: ignore[attr-defined]
        item.add_marker(pytest.mark.tools)


class Posted(NamedTuple):
    host: str
    path: str
    content_type: str
    body: bytes


class RecordingInbox(ThreadedServer):
    """Stores requests, and answers each with `answer`."""

    def __init__(self, ca: trustme.CA) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        # Where the client posts what is addressed to receiver.dom.
        ca.issue_cert(f"pw.{RECEIVER}", "pw.receiver.pollyweb.org").configure_cert(context)
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.posted: list[Posted] = []
        self.answer: tuple[int, dict[str, Any]] = (200, {"Status": "Queued"})


class _Handler(BaseHTTPRequestHandler):
    server: RecordingInbox

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.posted.append(Posted(self.headers["Host"], self.path, self.headers["Content-Type"], body))
        status, value = self.server.answer
        answer = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


class FakeNetwork:
    def __init__(self, tree: ZoneTree, dns: DnsServer, inbox: RecordingInbox, ca: Path) -> None:
        self.tree, self.dns, self.inbox, self.ca = tree, dns, inbox, ca

    @property
    def where(self) -> dict[str, Any]:
        return {"dns_address": self.dns.address, "https_port": self.inbox.server_port, "ca": self.ca}

    def publish(self, domain: str, keys: dict[str, PublicKey], mode: Mode = Mode.SIGNED) -> None:
        """A zone with key records, by selector."""
        records = [zone_line(f"{selector}._domainkey.pw.{domain}", record_text(key)) for selector, key in keys.items()]
        self.tree.put(domain, HOSTS + "\n".join(records) + "\n", mode)

    def run(self, script: str, stdin: object = "") -> Any:
        """The JSON output of a guest. Its standard input is a text, or the JSON of a value."""
        ran = self.attempt(script, stdin)
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    def attempt(self, script: str, stdin: object = "") -> "subprocess.CompletedProcess[str]":
        return run_guest(script, **self.where, stdin=stdin if isinstance(stdin, str) else json.dumps(stdin))

    def check_at_inbox(self, data: bytes) -> NlwebEnvelope:
        """The result of our inbox's checks of a request. Raises TheirError."""
        envelope = read_envelope(parse(data, max_bytes=1 << 20))
        check_before_lookup(
            envelope,
            is_ours=lambda domain: domain == RECEIVER,
            received_at_ms=int(time.time() * 1000),
            window=TimestampWindow(),
        )
        return envelope

    def judge(self, data: bytes, wallet_key: PublicKey | None = None) -> NlwebEnvelope:
        """The verification by inbox and worker, with a pre-shared key or one that is looked up. Raises TheirError."""
        envelope = self.check_at_inbox(data)
        if wallet_key:
            check_signature(envelope, wallet_key)
            return envelope
        anchors = TrustAnchors.parse(self.tree.anchor_text)
        with Resolvers(self.dns.address, try_seconds=PATIENCE, budget_seconds=PATIENCE) as resolvers:
            directory = KeyDirectory(resolvers.asking, anchors, parse_key_record, clock=time.time)
            assert envelope.key_name
            check_signature(envelope, directory.find(envelope.key_name).key)
        return envelope


@pytest.fixture(scope="module")
def fake_network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeNetwork]:
    ca = trustme.CA()
    pem = tmp_path_factory.mktemp("ca") / "ca.pem"
    ca.cert_pem.write_to_path(str(pem))
    tree = ZoneTree()
    tree.put(RECEIVER, HOSTS)
    tree.put("receiver.pollyweb.org", HOSTS)
    with DnsServer(tree) as dns, running_server(RecordingInbox(ca)) as inbox:
        yield FakeNetwork(tree, dns, inbox, pem)
