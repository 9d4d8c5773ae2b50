"""`postroom doctor` on real zones and real TLS: a domain that has all it needs, and each way in which one may ail."""

import json
import socket
import ssl
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from tests.cli.conftest import Postroom, code_of
from tests.fakes.servers import LoopbackServer, running_server
from tests.names.ipfs.trees import car_of, file_of

from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.local.dns import DnsServer
from postroom.local.zones import Mode, ZoneTree
from postroom.names.ipfs.cid import Cid
from postroom.names.publishing import text_record
from postroom.names.registry import PROFILE_KEY, SERVICE_KEY
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.dm3.profile import ServiceProfile, UserProfile, data_uri
from postroom.protocols.nlweb.key_record import record_text, zone_line

DOMAIN, HOST = "shop.example", "nlweb.shop.example"
BUFFER_HOST = "nlweb.buffer.example"
HERE = "nlweb IN A 127.0.0.1\n"
DAY = 86_400
MANIFEST = b"About: {Name: shop.example, Feedback: buffer.example}\n"
ALL = [
    "delegation", "ds", "signatures", "key record nlweb", "key nlweb", "host", "addresses", "certificate", "inbox",
    "manifest", "feedback buffer", "DCP",
]  # fmt: skip
Printed = dict[str, str | None]
Answer = tuple[int, bytes]
Visit = Callable[..., tuple[int, dict[str, Printed]]]


@dataclass
class FakeWeb:
    """What hosts answer here; `came`: messages posted, by host."""

    port: int
    pages: dict[str, Answer] = field(default_factory=dict)
    came: list[tuple[str, bytes]] = field(default_factory=list)


@contextmanager
def serving(context: ssl.SSLContext) -> Iterator[FakeWeb]:
    """Hosts on loopback, all with the certificate of `context`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer("GET")

        def do_POST(self) -> None:
            host = self.headers["Host"].partition(":")[0]
            web.came.append((host, self.rfile.read(int(self.headers["Content-Length"]))))
            self.answer("POST")

        def answer(self, method: str) -> None:
            host = self.headers["Host"].partition(":")[0]
            status, body = web.pages.get(f"{method} {host}{self.path}", (404, b""))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
            """Say nothing."""

    with running_server(LoopbackServer(("127.0.0.1", 0), Handler), context) as server:
        web = FakeWeb(server.server_port)
        yield web


@dataclass(frozen=True)
class FakeDomain:
    tree: ZoneTree
    dns: DnsServer
    silent_resolver: str
    folder: Path
    key: PrivateKey
    authority: trustme.CA

    @property
    def options(self) -> tuple[str, ...]:
        anchor, authority = self.folder / "anchor", self.folder / "ca.pem"
        return "--resolver", self.dns.address, "--trust-anchor", str(anchor), "--ca-file", str(authority)

    def certificate(self, *names: str, begins: float = -DAY, ends: float = 90 * DAY) -> ssl.SSLContext:
        """A server's TLS. The validity of its certificate begins and ends this number of seconds from now."""
        now = datetime.now(UTC)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        issued = self.authority.issue_cert(
            *names, not_before=now + timedelta(seconds=begins), not_after=now + timedelta(seconds=ends)
        )
        issued.configure_cert(context)
        return context

    def record(self, selector: str = "nlweb", key: PrivateKey | None = None) -> str:
        return zone_line(f"{selector}._domainkey.{DOMAIN}", record_text((key or self.key).public)) + "\n"


@pytest.fixture(scope="module")
def fake_domain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeDomain]:
    folder, tree, authority = tmp_path_factory.mktemp("doctor"), ZoneTree(), trustme.CA()
    key = PrivateKey.generate("ed25519")
    (folder / "key.pem").write_bytes(key.to_pem())
    (folder / "anchor").write_text(tree.anchor_text)
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    tree.put("buffer.example", HERE)
    with DnsServer(tree) as server, socket.socket() as deaf:
        # Bound and not listening: it refuses everybody, and nobody else is given its port meanwhile.
        deaf.bind(("127.0.0.1", 0))
        silent = f"tcp://127.0.0.1:{deaf.getsockname()[1]}"
        yield FakeDomain(tree, server, silent, folder, key, authority)


@pytest.fixture(scope="module")
def server(fake_domain: FakeDomain) -> Iterator[FakeWeb]:
    with serving(fake_domain.certificate(HOST, BUFFER_HOST)) as web:
        yield web


@pytest.fixture
def web(fake_domain: FakeDomain, server: FakeWeb) -> FakeWeb:
    """A domain that has all it needs: zone, key, host, inbox, manifest, buffer."""
    fake_domain.tree.put("example", "")
    fake_domain.tree.put(DOMAIN, HERE + fake_domain.record())
    server.pages = {
        f"GET {HOST}/inbox": (200, b"a post office"),
        f"POST {HOST}/inbox": (200, json.dumps({"Domain": DOMAIN}).encode()),
        f"GET {HOST}/manifest": (200, MANIFEST),
        f"GET {BUFFER_HOST}/inbox": (200, b"a post office"),
    }
    server.came = []
    return server


@pytest.fixture
def visit(postroom: Postroom, fake_domain: FakeDomain) -> Visit:
    """The exit code, and the checks by name, of a visit to a port."""

    def visit(port: int, *options: str, private: bool = True, domain: str = DOMAIN) -> tuple[int, dict[str, Printed]]:
        allowed = ("--allow-private",) if private else ()
        result = postroom("doctor", domain, "--json", "--port", str(port), *allowed, *fake_domain.options, *options)
        printed = json.loads(result.stdout)
        assert printed["domain"] == domain
        assert all(set(check) == {"name", "status", "found", "next", "reason"} for check in printed["checks"])
        assert all(check["next"] for check in printed["checks"] if check["status"] in ("warning", "bad"))
        statuses = {check["status"] for check in printed["checks"]}
        worst = [status for status in ("bad", "not checked", "warning", "good") if status in statuses]
        assert printed["status"] == worst[0]
        return result.exit_code, {check["name"]: check for check in printed["checks"]}

    return visit


def ill(checks: dict[str, Printed], status: str = "bad") -> list[str]:
    return [name for name, check in checks.items() if check["status"] == status]


def test_a_complete_domain_is_good(visit: Visit, web: FakeWeb) -> None:
    code, checks = visit(web.port)
    assert (code, ill(checks, "good")) == (0, ALL)
    assert all((check["next"], check["reason"]) == (None, None) for check in checks.values())
    assert checks["delegation"]["found"] == "shop.example. is signed: proven by . → example. → shop.example."
    assert web.came == []


def test_the_text_output_has_a_line_and_a_next_step_for_each_check(
    postroom: Postroom, fake_domain: FakeDomain, web: FakeWeb
) -> None:
    web.pages[f"GET {HOST}/manifest"] = (200, b"About: {Name: shop.example}")
    web.pages[f"GET {HOST}/inbox"] = (404, b"")
    result = postroom(
        "doctor", DOMAIN, "--port", str(web.port), "--allow-private", *fake_domain.options, "--sign-with",
        str(fake_domain.folder / "key.pem"),
    )  # fmt: skip
    lines = result.stdout.splitlines()
    assert result.exit_code == 1
    assert lines[0] == "✓ delegation: shop.example. is signed: proven by . → example. → shop.example."
    assert lines[-8:] == [
        "✓ certificate: it names nlweb.shop.example, and ends in 89 days",
        "✗ inbox: nlweb.shop.example answered 404 to GET /inbox",
        "  → let nlweb.shop.example pass /inbox to the post office, without a redirect",
        "! manifest: it names no Feedback buffer: the domain gets no Feedback about discarded messages",
        "  → name a buffer there: About.Feedback; with postroom: `postroom domain add --feedback`",
        "✓ DCP: nlweb.shop.example is no guardian of DCP; its owners use tokens",
        "? round trip: not checked: the inbox could not be checked",
        "shop.example: bad",
    ]


def test_no_key_and_no_delegation_is_looked_up_twice(visit: Visit, fake_domain: FakeDomain, web: FakeWeb) -> None:
    fake_domain.dns.queries.clear()
    visit(web.port, "--selector", "nlweb", "--selector", "pk1")
    asked = {question: times for question, times in fake_domain.dns.queries.items() if question[1] in ("DS", "DNSKEY")}
    assert set(asked.values()) == {1}


# --- zone and keys ----------------------------------------------------------------------------------------------


def test_a_domain_that_does_not_exist(visit: Visit, web: FakeWeb) -> None:
    code, checks = visit(web.port, domain="nothing.example")
    assert (code, ill(checks), ill(checks, "good")) == (1, ["delegation", "host"], [])
    assert checks["delegation"]["reason"] == "KeyNotFound"
    assert "it is proven that there is no name" in str(checks["delegation"]["found"])


def test_a_domain_may_be_a_name_in_the_zone_above(visit: Visit, fake_domain: FakeDomain, web: FakeWeb) -> None:
    fake_domain.tree.put(DOMAIN, "a.b IN A 127.0.0.1")
    _, checks = visit(web.port, domain=f"b.{DOMAIN}")
    assert checks["delegation"]["found"] == (
        "b.shop.example is in the zone shop.example., which is signed: proven by . → example. → shop.example."
    )
    assert ill(checks, "good")[:3] == ["delegation", "ds", "signatures"]


def test_an_unsigned_zone(visit: Visit, fake_domain: FakeDomain, web: FakeWeb) -> None:
    fake_domain.tree.put(DOMAIN, HERE + fake_domain.record(), Mode.UNSIGNED)
    code, checks = visit(web.port)
    assert (code, ill(checks), ill(checks, "not checked")) == (1, ["delegation"], [*ALL[1:5], "dm3 record"])
    assert (checks["delegation"]["reason"], checks["ds"]["reason"]) == ("SenderNotSigned", None)
    assert checks["delegation"]["found"] == "shop.example. has no DS record in the zone above it"


def test_a_zone_with_invalid_signatures(visit: Visit, fake_domain: FakeDomain, web: FakeWeb) -> None:
    fake_domain.tree.put(DOMAIN, HERE + fake_domain.record(), Mode.BOGUS)
    code, checks = visit(web.port)
    assert (code, ill(checks), ill(checks, "not checked")) == (1, ["signatures"], [*ALL[3:5], "dm3 record"])
    assert checks["signatures"]["reason"] == "DnssecBogus"
    assert "does not hold" in str(checks["signatures"]["found"])


def test_a_ds_record_without_its_key(visit: Visit, fake_domain: FakeDomain, web: FakeWeb) -> None:
    fake_domain.tree.put("example", f"shop IN DS 1 13 2 {'00' * 32}")
    code, checks = visit(web.port)
    assert (code, ill(checks), ill(checks, "not checked")) == (1, ["ds"], [*ALL[2:5], "dm3 record"])
    assert checks["ds"]["found"] == "no DNSKEY of shop.example. matches its DS"


@pytest.mark.parametrize(("days", "status"), [(26, "good"), (28, "warning")])
def test_signatures_that_expire_soon(
    postroom: Postroom, fake_domain: FakeDomain, web: FakeWeb, tmp_path: Path, days: int, status: str
) -> None:
    # Signed so many days ago, for thirty days.
    tree = ZoneTree(clock=lambda: time.time() - days * DAY)
    tree.put(DOMAIN, HERE + fake_domain.record())
    (tmp_path / "old").write_text(tree.anchor_text)
    with DnsServer(tree) as dns:
        result = postroom(
            "doctor", DOMAIN, "--json", "--port", str(web.port), "--allow-private", *fake_domain.options,
            "--resolver", dns.address, "--trust-anchor", "old",
        )  # fmt: skip
    checks = {check["name"]: check for check in json.loads(result.stdout)["checks"]}
    assert checks["signatures"]["status"] == status
    assert checks["key nlweb"]["status"] == "good"


def test_no_key_record(visit: Visit, fake_domain: FakeDomain, web: FakeWeb) -> None:
    code, checks = visit(web.port, "--selector", "pk1")
    assert (code, ill(checks), ill(checks, "not checked")) == (1, ["key record pk1"], ["key pk1"])
    assert checks["key record pk1"]["reason"] == "KeyNotFound"
    assert "pk1._domainkey.shop.example" in str(checks["key record pk1"]["next"])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("v=DKIM1; k=ed25519; p=not base64!", "KeyRecordInvalid"),
        ("v=DKIM1; p=", "KeyRevoked"),
        ("v=spf1 -all", "KeyNotFound"),
    ],
)
def test_an_invalid_key_record(visit: Visit, fake_domain: FakeDomain, web: FakeWeb, text: str, reason: str) -> None:
    fake_domain.tree.put(DOMAIN, HERE + zone_line(f"nlweb._domainkey.{DOMAIN}", text) + "\n")
    code, checks = visit(web.port)
    assert (code, ill(checks), ill(checks, "not checked")) == (1, ["key record nlweb"], ["key nlweb"])
    assert checks["key record nlweb"]["reason"] == reason


def test_a_weak_key(visit: Visit, fake_domain: FakeDomain, web: FakeWeb) -> None:
    weak = generate_private_key(65537, 1024).public_key()
    spki = b64encode(weak.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).decode()
    record = zone_line(f"nlweb._domainkey.{DOMAIN}", f"v=DKIM1; k=rsa; p={spki}")
    fake_domain.tree.put(DOMAIN, f"{HERE}{record}\n")
    code, checks = visit(web.port)
    assert (code, ill(checks)) == (1, ["key nlweb"])
    assert checks["key nlweb"]["reason"] == "KeyUnusable"
    assert "1024 bits" in str(checks["key nlweb"]["found"])


def test_the_dialect_of_2026_has_other_names(visit: Visit, fake_domain: FakeDomain, web: FakeWeb) -> None:
    key = zone_line(f"pw1._domainkey.pw.{DOMAIN}", record_text(fake_domain.key.public))
    fake_domain.tree.put(DOMAIN, f"pw IN A 127.0.0.1\n{key}\n")
    with serving(fake_domain.certificate(f"pw.{DOMAIN}")) as pw:
        pw.pages = {f"GET pw.{DOMAIN}/inbox": (200, b""), f"GET pw.{DOMAIN}/manifest": (200, b"About: {}")}
        code, checks = visit(pw.port, "--dialect", "pollyweb")
    assert (code, ill(checks, "warning")) == (0, ["manifest"])
    assert checks["key pw1"]["status"] == "good"


# --- dm3 ----------------------------------------------------------------------------------------------------------


KEYS = UserKeys.random()
PROFILE = UserProfile(KEYS.encryption.public, KEYS.signing.public, ("ds.example",)).as_json()
SERVICE = ServiceProfile(KEYS.encryption.public, KEYS.signing.public, f"https://{HOST}/dm3").as_json()
DOCUMENT = json.dumps(PROFILE).encode()


def with_dm3(fake_domain: FakeDomain, *records: str) -> None:
    fake_domain.tree.put(DOMAIN, "\n".join([HERE + fake_domain.record(), *records]))


def dm3(uri: str, key: str = PROFILE_KEY) -> str:
    return text_record(DOMAIN, key, uri)


def test_profiles_of_a_user_and_of_a_delivery_service_in_dns(
    visit: Visit, fake_domain: FakeDomain, web: FakeWeb
) -> None:
    web.pages[f"GET {HOST}/a?dm3Hash={sha256(DOCUMENT).hexdigest()}"] = (200, DOCUMENT)
    uri = f"https://{HOST}/a?dm3Hash={sha256(DOCUMENT).hexdigest()}"
    with_dm3(fake_domain, dm3(uri), dm3(data_uri(SERVICE), SERVICE_KEY))
    code, checks = visit(web.port)
    assert (code, ill(checks, "good")) == (0, [*ALL[:5], "dm3 record", *ALL[5:]])
    assert checks["dm3 record"]["found"] == (
        "at _dm3.shop.example. is published network.dm3.profile under https:, network.dm3.deliveryService under data:"
    )


@pytest.mark.parametrize(
    ("records", "reason", "found"),
    [
        ([dm3(data_uri(SERVICE))], "ProfileInvalid", "network.dm3.profile: "),
        ([dm3(data_uri(PROFILE)), dm3(data_uri(SERVICE))], "ProfileInvalid", "there are two records"),
        ([dm3("http://shop.example/a")], "ProfileInvalid", "the URI's scheme is none of"),
        ([dm3(f"https://{HOST}/a?dm3Hash={'0' * 64}")], "ProfileInvalid", "answered with status 404"),
        (['_dm3 300 TXT "network.dm3.profiles=data:,"'], "ProfileUnknown", "no record at _dm3.shop.example."),
        ([dm3("")], "ProfileUnknown", "no record at _dm3.shop.example."),
    ],
    ids=["of a service", "two", "http", "no document", "another key", "taken back"],
)
def test_an_invalid_dm3_record(
    visit: Visit, fake_domain: FakeDomain, web: FakeWeb, records: list[str], reason: str, found: str
) -> None:
    with_dm3(fake_domain, *records)
    code, checks = visit(web.port)
    assert (code, ill(checks)) == (1, ["dm3 record"])
    assert checks["dm3 record"]["reason"] == reason
    assert found in str(checks["dm3 record"]["found"])
    assert "`postroom dm3 publish` prints" in str(checks["dm3 record"]["next"])


def test_a_dm3_document_that_cannot_be_fetched_now(visit: Visit, fake_domain: FakeDomain, web: FakeWeb) -> None:
    with_dm3(fake_domain, dm3(f"https://{HOST}/a?dm3Hash={'0' * 64}"))
    web.pages[f"GET {HOST}/a?dm3Hash={'0' * 64}"] = (503, b"")
    code, checks = visit(web.port)
    assert (code, ill(checks), ill(checks, "not checked")) == (3, [], ["dm3 record"])
    assert checks["dm3 record"]["reason"] == "ProfileLookupFailed"


def test_it_is_said_why_a_dm3_document_cannot_be_fetched(visit: Visit, fake_domain: FakeDomain, web: FakeWeb) -> None:
    with_dm3(fake_domain, dm3(f"https://gone.{DOMAIN}/a?dm3Hash={'0' * 64}"))
    _, checks = visit(web.port)
    assert str(checks["dm3 record"]["found"]).endswith(f": there is no host gone.{DOMAIN}")


def test_a_dm3_profile_in_ipfs_needs_a_gateway(visit: Visit, fake_domain: FakeDomain, web: FakeWeb) -> None:
    tree = file_of(DOCUMENT, len(DOCUMENT))
    cid = Cid.from_bytes(tree.root.cid)
    with_dm3(fake_domain, dm3(f"ipfs://{cid}"))
    code, checks = visit(web.port)
    assert (code, checks["dm3 record"]["next"]) == (3, "name one: --ipfs-gateway")
    web.pages[f"GET {HOST}/ipfs/{cid}?format=car&dag-scope=entity"] = (200, car_of(tree.blocks))
    code, checks = visit(web.port, "--ipfs-gateway", f"https://{HOST}")
    assert (code, checks["dm3 record"]["status"]) == (0, "good")


def test_dm3_records_of_a_domain_in_a_labels(visit: Visit, fake_domain: FakeDomain, web: FakeWeb) -> None:
    fake_domain.tree.put("xn--bcher-kva.example", HERE + text_record("bücher.example", PROFILE_KEY, data_uri(PROFILE)))
    _, checks = visit(web.port, domain="xn--bcher-kva.example")
    assert checks["dm3 record"]["status"] == "good"


def test_a_zone_of_dm3_records_that_is_not_signed(visit: Visit, fake_domain: FakeDomain, web: FakeWeb) -> None:
    fake_domain.tree.put("bare.example", HERE)
    fake_domain.tree.put("_dm3.bare.example", f'@ 300 TXT "{PROFILE_KEY}={data_uri(PROFILE)}"', Mode.UNSIGNED)
    _, checks = visit(web.port, domain="bare.example")
    assert (checks["dm3 record"]["status"], checks["dm3 record"]["reason"]) == ("bad", "ProfileUnknown")
    assert checks["dm3 record"]["next"] == "sign the zone, and publish its DS record in the parent zone"


@pytest.mark.parametrize("mode", [Mode.UNSIGNED, Mode.BOGUS])
def test_dm3_records_of_a_zone_that_could_not_be_confirmed_are_not_checked(
    visit: Visit, fake_domain: FakeDomain, web: FakeWeb, mode: Mode
) -> None:
    fake_domain.tree.put(DOMAIN, "\n".join([HERE + fake_domain.record(), dm3(data_uri(PROFILE))]), mode)
    _, checks = visit(web.port)
    assert checks["dm3 record"]["found"] == "not checked: the zone could not be confirmed"


def test_where_it_is_proven_that_there_is_no_domain_there_is_no_check_of_dm3(visit: Visit, web: FakeWeb) -> None:
    _, checks = visit(web.port, domain="nothing.example")
    assert "dm3 record" not in checks


# --- host and certificate ---------------------------------------------------------------------------------------


def test_no_host(visit: Visit, fake_domain: FakeDomain, web: FakeWeb) -> None:
    fake_domain.tree.put(DOMAIN, fake_domain.record())
    code, checks = visit(web.port)
    assert (code, ill(checks), ill(checks, "not checked")) == (1, ["host"], ALL[6:])
    assert checks["host"]["next"] == "give nlweb.shop.example an A or AAAA record"


def test_a_private_address(visit: Visit, web: FakeWeb) -> None:
    code, checks = visit(web.port, private=False)
    assert (code, ill(checks), ill(checks, "not checked")) == (1, ["addresses"], ALL[7:])
    assert checks["addresses"]["found"] == "none is public: 127.0.0.1"


@pytest.mark.parametrize(
    ("name", "begins", "ends", "found", "todo"),
    [
        (HOST, -90 * DAY, -DAY, "certificate has expired", "renew it"),
        (HOST, DAY, 90 * DAY, "certificate is not yet valid", "correct the clock"),
        ("other.example", -DAY, DAY, "it is for other.example, from ", "get one that names nlweb.shop.example"),
    ],
)
def test_an_invalid_certificate(
    visit: Visit, fake_domain: FakeDomain, web: FakeWeb, name: str, begins: float, ends: float, found: str, todo: str
) -> None:
    with serving(fake_domain.certificate(name, begins=begins, ends=ends)) as ailing:
        code, checks = visit(ailing.port)
    assert (code, ill(checks), ill(checks, "not checked")) == (1, ["certificate"], ALL[8:])
    assert found in str(checks["certificate"]["found"])
    assert str(checks["certificate"]["next"]).startswith(todo)


def test_a_certificate_of_an_unknown_authority(visit: Visit, fake_domain: FakeDomain, web: FakeWeb) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert(HOST).configure_cert(context)
    with serving(context) as ailing:
        _, checks = visit(ailing.port)
    assert ill(checks) == ["certificate"]
    assert "a public authority" in str(checks["certificate"]["next"])


def test_a_certificate_that_expires_soon(visit: Visit, fake_domain: FakeDomain, web: FakeWeb) -> None:
    with serving(fake_domain.certificate(HOST, BUFFER_HOST, begins=-80 * DAY, ends=10.5 * DAY)) as ailing:
        ailing.pages = web.pages
        code, checks = visit(ailing.port)
    assert (code, ill(checks, "warning")) == (0, ["certificate"])
    assert checks["certificate"]["found"] == "it names nlweb.shop.example, and ends in 10 days"


def test_a_host_that_does_not_listen(visit: Visit, web: FakeWeb) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        port = deaf.getsockname()[1]
        code, checks = visit(port)
    assert (code, ill(checks)) == (1, ["certificate"])
    assert checks["certificate"]["found"] == f"nothing listens at 127.0.0.1, port {port}"


@contextmanager
def listening(say: bytes) -> Iterator[int]:
    """A port where everybody is told the same, and then left."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        connection.recv(4096)
                        connection.sendall(say)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def test_a_host_without_tls(visit: Visit, web: FakeWeb) -> None:
    with listening(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port:
        code, checks = visit(port)
    assert (code, ill(checks)) == (1, ["certificate"])
    assert str(checks["certificate"]["found"]).startswith(f"no TLS with 127.0.0.1, port {port}: ")


def test_a_broken_connection_is_not_a_verdict(visit: Visit, web: FakeWeb) -> None:
    with listening(b"") as port:
        code, checks = visit(port)
    assert (code, ill(checks)) == (3, [])
    assert checks["certificate"]["reason"] == "OutboundFailed"
    assert checks["certificate"]["found"] == (f"unknown: the connection to 127.0.0.1, port {port}, was closed")


# --- inbox, manifest, buffer ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "code", "printed"),
    [(404, 1, "bad"), (403, 1, "bad"), (301, 1, "bad"), (405, 0, "warning"), (503, 3, "not checked")],
)
def test_an_inbox_with_a_wrong_response(visit: Visit, web: FakeWeb, status: int, code: int, printed: str) -> None:
    web.pages[f"GET {HOST}/inbox"] = (status, b"")
    ended, checks = visit(web.port)
    assert (ended, ill(checks, printed)) == (code, ["inbox"])
    assert f"answered {status} to GET /inbox" in str(checks["inbox"]["found"])


@pytest.mark.parametrize(
    ("answer", "code", "printed", "found"),
    [
        ((200, b"About: {"), 1, "bad", "the manifest is not plain YAML"),
        ((200, b"<!DOCTYPE html>"), 1, "bad", "the manifest is not a mapping, so it has no Feedback"),
        ((200, b"About: {Feedback: 127.0.0.1}"), 1, "bad", "the manifest's Feedback is not a host name"),
        ((404, b""), 1, "bad", "nlweb.shop.example answered 404 to GET /manifest"),
        ((200, b"About: {Name: shop.example}"), 0, "warning", "it names no Feedback buffer"),
        ((502, b""), 3, "not checked", "unknown: nlweb.shop.example answered 502 to GET /manifest"),
    ],
)
def test_a_manifest_that_names_no_buffer(
    visit: Visit, web: FakeWeb, answer: Answer, code: int, printed: str, found: str
) -> None:
    web.pages[f"GET {HOST}/manifest"] = answer
    ended, checks = visit(web.port)
    assert (ended, checks["manifest"]["status"]) == (code, printed)
    assert str(checks["manifest"]["found"]).startswith(found)
    # Where a manifest names none there is none to look at.
    assert ("feedback buffer" in ill(checks, "not checked")) == (printed != "warning")


def test_a_buffer_without_a_host(visit: Visit, web: FakeWeb) -> None:
    web.pages[f"GET {HOST}/manifest"] = (200, b"About: {Feedback: nobody.example}")
    code, checks = visit(web.port)
    assert (code, ill(checks)) == (1, ["feedback buffer"])
    assert checks["feedback buffer"]["found"] == "there is no host nlweb.nobody.example"


def test_a_buffer_without_an_inbox(visit: Visit, web: FakeWeb) -> None:
    del web.pages[f"GET {BUFFER_HOST}/inbox"]
    code, checks = visit(web.port)
    assert (code, ill(checks)) == (1, ["feedback buffer"])
    assert checks["feedback buffer"]["found"] == "nlweb.buffer.example answered 404 to GET /inbox"


@pytest.mark.parametrize(
    ("answer", "code", "printed", "found"),
    [
        ((200, b'{"identity": "0x1563915e194D8CfBA1943570603F7606A3115508"}'), 0, "good",
         "nlweb.shop.example is the guardian 0x1563915e194D8CfBA1943570603F7606A3115508"),
        ((200, b'{"identity": "0x1563915e194D8CfBA1943570603F7606A3115508", "socket": "wss://a.example/dcp"}'), 0,
         "good", "nlweb.shop.example is the guardian 0x1563915e194D8CfBA1943570603F7606A3115508, over WebSockets at "
         "wss://a.example/dcp"),
        ((404, b""), 0, "good", "nlweb.shop.example is no guardian of DCP; its owners use tokens"),
        ((403, b"Missing"), 0, "good", "nlweb.shop.example is no guardian of DCP; its owners use tokens"),
        ((429, b""), 3, "not checked", "unknown: nlweb.shop.example answered 429 to GET /dcp"),
    ],
)  # fmt: skip
def test_the_guardian_of_dcp_is_known_by_its_identity(
    visit: Visit, web: FakeWeb, answer: Answer, code: int, printed: str, found: str
) -> None:
    web.pages[f"GET {HOST}/dcp"] = answer
    ended, checks = visit(web.port)
    assert (ended, checks["DCP"]["status"], checks["DCP"]["found"]) == (code, printed, found)


NO_DESCRIPTION = "nlweb.shop.example answered 200 to GET /dcp, and no description of a guardian"
BROKEN = "nlweb.shop.example describes a guardian whose identity is no address: "
PASS_IT = "let nlweb.shop.example pass /dcp to the post office, without a redirect; one without DCP answers 404"


@pytest.mark.parametrize(
    ("answer", "found", "todo"),
    [
        ((200, b"<!DOCTYPE html>"), NO_DESCRIPTION, PASS_IT),
        ((200, b"[]"), NO_DESCRIPTION, PASS_IT),
        ((200, b"{}"), NO_DESCRIPTION, PASS_IT),
        ((200, b"{" + b" " * 20_000 + b"}"), NO_DESCRIPTION, PASS_IT),
        ((200, b'{"identity": "0x15"}'), f"{BROKEN}0x15",
         "let the post office describe itself there: docs/reference/dcp.md"),
        ((200, b'{"identity": "0x1563915E194D8CfBA1943570603F7606A3115508"}'),
         f"{BROKEN}0x1563915E194D8CfBA1943570603F7606A3115508",
         "let the post office describe itself there: docs/reference/dcp.md"),
        ((302, b""), "nlweb.shop.example answered 302 to GET /dcp", PASS_IT),
        ((503, b""), "nlweb.shop.example answered 503 to GET /dcp: owners cannot use DCP now",
         "look into the log of functions/dcp there: docs/operate/own-faults.md says what to do"),
    ],
    ids=lambda value: str(value[0]) if isinstance(value, tuple) else "",
)  # fmt: skip
def test_what_is_no_description_of_a_guardian_is_bad(
    visit: Visit, web: FakeWeb, answer: Answer, found: str, todo: str
) -> None:
    web.pages[f"GET {HOST}/dcp"] = answer
    code, checks = visit(web.port)
    assert (code, ill(checks)) == (1, ["DCP"])
    assert (checks["DCP"]["found"], checks["DCP"]["next"]) == (found, todo)


# --- round trip -------------------------------------------------------------------------------------------------


def test_a_message_to_itself_is_signed_and_posted(visit: Visit, fake_domain: FakeDomain, web: FakeWeb) -> None:
    code, checks = visit(web.port, "--sign-with", str(fake_domain.folder / "key.pem"))
    assert (code, checks["round trip"]["status"]) == (0, "good")
    [(host, body)] = web.came
    header = json.loads(body)["Header"]
    assert (host, header["From"], header["To"], header["Subject"]) == (HOST, DOMAIN, DOMAIN, "Identity@Graph")


def test_a_message_to_itself_is_signed_under_the_selector_of_its_key(
    visit: Visit, fake_domain: FakeDomain, web: FakeWeb
) -> None:
    fake_domain.tree.put(
        DOMAIN, HERE + fake_domain.record("pk1") + fake_domain.record("pk2", PrivateKey.generate("ed25519"))
    )
    visit(web.port, "--selector", "pk2", "--selector", "pk1", "--sign-with", str(fake_domain.folder / "key.pem"))
    assert json.loads(web.came[0][1])["Header"]["DKIM"] == "pk1"


def test_a_message_that_could_not_be_verified_is_not_posted(visit: Visit, web: FakeWeb, tmp_path: Path) -> None:
    (tmp_path / "wrong.pem").write_bytes(PrivateKey.generate("ed25519").to_pem())
    code, checks = visit(web.port, "--sign-with", "wrong.pem")
    assert (code, ill(checks), checks["round trip"]["reason"]) == (1, ["round trip"], "SignatureInvalid")
    assert web.came == []


def test_without_a_good_key_there_is_no_round_trip(visit: Visit, fake_domain: FakeDomain, web: FakeWeb) -> None:
    fake_domain.tree.put(DOMAIN, HERE, Mode.UNSIGNED)
    _, checks = visit(web.port, "--sign-with", str(fake_domain.folder / "key.pem"))
    assert checks["round trip"]["status"] == "not checked"
    assert web.came == []


@pytest.mark.parametrize(
    ("answer", "code", "status", "reason"),
    [
        ((401, b'{"reason": "SignatureInvalid", "detail": "of another key"}'), 1, "bad", "SignatureInvalid"),
        ((421, b'{"reason": "NotOurs"}'), 1, "bad", "NotOurs"),
        ((400, b"<html>"), 1, "bad", "OutboundFailed"),
        ((503, b'{"reason": "KeyLookupFailed"}'), 3, "not checked", "OutboundFailed"),
        ((200, b'{"Status": "Queued"}'), 0, "warning", None),
    ],
)
def test_a_message_without_a_response(
    visit: Visit, fake_domain: FakeDomain, web: FakeWeb, answer: Answer, code: int, status: str, reason: str | None
) -> None:
    web.pages[f"POST {HOST}/inbox"] = answer
    ended, checks = visit(web.port, "--sign-with", str(fake_domain.folder / "key.pem"))
    assert (ended, ill(checks, status), checks["round trip"]["reason"]) == (code, ["round trip"], reason)


def test_a_post_offices_text_cannot_control_the_terminal(
    postroom: Postroom, fake_domain: FakeDomain, web: FakeWeb
) -> None:
    web.pages[f"POST {HOST}/inbox"] = (400, json.dumps({"detail": "\x1b[2J\u202e" + "x" * 999}).encode())
    result = postroom(
        "doctor", DOMAIN, "--port", str(web.port), "--allow-private", *fake_domain.options,
        "--sign-with", str(fake_domain.folder / "key.pem"),
    )  # fmt: skip
    assert "\\x1b[2J\\u202exxx" in result.stdout
    assert not {"\x1b", "\u202e"} & set(result.stdout)
    assert max(map(len, result.stdout.splitlines())) < 400


# --- what cannot be found out -----------------------------------------------------------------------------------


def test_without_a_resolver_nothing_is_called_bad(postroom: Postroom, fake_domain: FakeDomain) -> None:
    result = postroom("doctor", DOMAIN, "--json", "--resolver", fake_domain.silent_resolver)
    checks = {check["name"]: check for check in json.loads(result.stdout)["checks"]}
    assert result.exit_code == 3
    assert {check["status"] for check in checks.values()} == {"not checked"}
    reasons = {name: check["reason"] for name, check in checks.items() if check["reason"]}
    assert reasons == {"delegation": "KeyLookupFailed", "host": "OutboundFailed"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("no host name",), "is not a host name such as receiver.example"),
        ((".".join(["x" * 48] * 5),), "is longer than the 253 characters of a DNS name"),
        ((DOMAIN, "--selector", "a b"), "--selector is 'a b'"),
        ((DOMAIN, "--dialect", "latin"), "--dialect is 'latin'"),
        ((DOMAIN, "--sign-with", "missing.pem"), "missing.pem: No such file"),
        ((DOMAIN, "--resolver", "a-name"), "DNS resolver 'a-name' is not of the form"),
    ],
)
def test_invalid_arguments_are_a_usage_error(postroom: Postroom, arguments: tuple[str, ...], sentence: str) -> None:
    result = postroom("doctor", *arguments)
    assert (result.exit_code, result.stdout) == (code_of(sentence), "")
    assert sentence in " ".join(result.stderr.split())
