"""Sending from Python, against a real TLS server on loopback."""

import json
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
import trustme
from tests.fakes.servers import LoopbackServer, running_server
from tests.patience import PATIENCE

from postroom.client import Sender, SendOutcome, deliver
from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import JsonValue
from postroom.core.reasons import NOT_I_JSON, OUTBOUND_FAILED
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.net.https import HttpsClient
from postroom.protocols.nlweb.envelope import check_hash, read_envelope
from postroom.protocols.nlweb.schema import NLWEB, POLLYWEB, Dialect
from postroom.protocols.nlweb.verify import check_signature

RECEIVER = "receiver.example"
CORRELATION = "0f8fad5b-d9cb-469f-a165-70867728950e"
QUEUED = b'{"Correlation":"0f8fad5b-d9cb-469f-a165-70867728950e","Status":"Queued"}'


@dataclass
class FakeInbox:
    """What came in, and what is answered to it."""

    port: int = 0
    ca_file: str = ""
    status: int = 200
    body: bytes = QUEUED
    came: list[tuple[str, str, str, bytes]] = field(default_factory=list)

    def https(self) -> HttpsClient:
        return HttpsClient(
            lambda _host: ["127.0.0.1"], port=self.port, allow_private=True, ca_file=self.ca_file,
            connect_timeout=PATIENCE, total_timeout=PATIENCE,
        )  # fmt: skip


@pytest.fixture
def fake_inbox(tmp_path: Path) -> Iterator[FakeInbox]:
    fake_inbox = FakeInbox()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            fake_inbox.came.append((self.headers["Host"], self.path, self.headers["Content-Type"], data))
            self.send_response(fake_inbox.status)
            self.send_header("Content-Length", str(len(fake_inbox.body)))
            self.end_headers()
            self.wfile.write(fake_inbox.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
            """Say nothing."""

    ca = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert(NLWEB.host(RECEIVER), POLLYWEB.host(RECEIVER)).configure_cert(context)
    ca.cert_pem.write_to_path(tmp_path / "ca.pem")
    with running_server(LoopbackServer(("127.0.0.1", 0), Handler), context) as server:
        fake_inbox.port, fake_inbox.ca_file = server.server_port, str(tmp_path / "ca.pem")
        yield fake_inbox


@pytest.fixture(scope="module")
def key() -> PrivateKey:
    return PrivateKey.generate("ed25519")


Make = Callable[..., Sender]


@pytest.fixture
def sender_of(fake_inbox: FakeInbox, key: PrivateKey) -> Make:
    def make(dialect: Dialect = NLWEB, selector: str | None = "pk1") -> Sender:
        return Sender(
            key,
            "sender.example",
            selector,
            dialect,
            fake_inbox.https(),
            clock=lambda: 1_700_000_000.5,
            new_correlation=lambda: CORRELATION,
        )

    return make


def test_a_message_arrives_signed_at_the_well_known_inbox(
    fake_inbox: FakeInbox, sender_of: Make, key: PrivateKey
) -> None:
    sent = sender_of().send("Receiver.Example.", "Hello@Host", {"Say": "hi 🤝"})
    assert (sent.fate, sent.status, sent.correlation) == (SendOutcome.TAKEN, 200, CORRELATION)
    assert sent.reply == {"Correlation": CORRELATION, "Status": "Queued"}
    [(host, path, content_type, data)] = fake_inbox.came
    assert (host.partition(":")[0], path, content_type) == ("nlweb.receiver.example", "/inbox", "application/json")
    envelope = read_envelope(json.loads(data))
    check_hash(envelope.claimed_hash, envelope.digest)
    check_signature(envelope, key.public)
    assert (envelope.receiver, envelope.timestamp_ms, envelope.selector) == (RECEIVER, 1_700_000_000_500, "pk1")


def test_the_dialect_of_2026_has_its_own_host_and_header(fake_inbox: FakeInbox, sender_of: Make) -> None:
    sender_of(POLLYWEB).send(RECEIVER, "Hello@Host", None)
    [(host, _, _, data)] = fake_inbox.came
    assert host.partition(":")[0] == "pw.receiver.example"
    assert json.loads(data)["Header"]["Selector"] == "pk1"


def test_a_correlation_may_be_given(fake_inbox: FakeInbox, sender_of: Make) -> None:
    given = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
    assert sender_of().send(RECEIVER, "Hello@Host", {}, correlation=given).correlation == given
    assert json.loads(fake_inbox.came[0][3])["Header"]["Correlation"] == given


def test_a_refusal_has_the_receivers_reason(fake_inbox: FakeInbox, sender_of: Make) -> None:
    fake_inbox.status, fake_inbox.body = 422, b'{"title":"No","status":422,"detail":"stale","reason":"TimestampTooOld"}'
    sent = sender_of().send(RECEIVER, "Hello@Host", {})
    assert (sent.fate, sent.reason, sent.detail) == (SendOutcome.REFUSED, "TimestampTooOld", "stale")


@pytest.mark.parametrize("status", [301, 408, 425, 429, 500, 503])
def test_a_response_that_is_not_about_the_message_allows_a_retry(
    fake_inbox: FakeInbox, sender_of: Make, status: int
) -> None:
    fake_inbox.status = status
    assert sender_of().send(RECEIVER, "Hello@Host", {}).fate is SendOutcome.NOT_NOW


@pytest.mark.parametrize(
    ("body", "reply"),
    [(b"", None), (b"no JSON", "no JSON"), (b"[1, 2]", [1, 2]), (b'{"a":1,"a":2}', '{"a":1,"a":2}'), (b"\xff", "�")],
)
def test_any_response_body_is_returned(fake_inbox: FakeInbox, sender_of: Make, body: bytes, reply: JsonValue) -> None:
    fake_inbox.status, fake_inbox.body = 400, body
    sent = sender_of().send(RECEIVER, "Hello@Host", {})
    assert (sent.reply, sent.reason, sent.detail) == (reply, "", "")


def test_a_problem_document_with_odd_members_is_accepted(fake_inbox: FakeInbox, sender_of: Make) -> None:
    fake_inbox.status, fake_inbox.body = 400, b'{"reason":[1],"detail":null}'
    sent = sender_of().send(RECEIVER, "Hello@Host", {})
    assert (sent.reason, sent.detail) == ("", "")


def test_an_envelope_is_delivered_byte_for_byte(fake_inbox: FakeInbox) -> None:
    data = b'{ "not" : "even an envelope" }\r\n'
    sent = deliver(fake_inbox.https(), NLWEB.inbox_url(RECEIVER), data)
    assert fake_inbox.came[0][3] == data
    assert sent.correlation == ""


def test_an_unreachable_host_is_a_temporary_error(fake_inbox: FakeInbox, key: PrivateKey) -> None:
    https = HttpsClient(lambda _host: [], port=fake_inbox.port, allow_private=True, ca_file=fake_inbox.ca_file)
    with pytest.raises(NotNowError) as error:
        Sender(key, "sender.example", None, NLWEB, https).send(RECEIVER, "Hello@Host", {})
    assert error.value.reason is OUTBOUND_FAILED


def test_a_body_without_a_canonical_form_is_not_sent(fake_inbox: FakeInbox, sender_of: Make) -> None:
    with pytest.raises(TheirError) as error:
        sender_of().send(RECEIVER, "Hello@Host", {"n": 2**53})
    assert error.value.reason is NOT_I_JSON
    assert fake_inbox.came == []


def test_a_receiver_that_is_not_a_host_name_is_refused(fake_inbox: FakeInbox, sender_of: Make) -> None:
    with pytest.raises(TheirError):
        sender_of().send("receiver.example/../x", "Hello@Host", {})
    assert fake_inbox.came == []
