"""Fixtures with a real signed zone tree and DNS server, and functions that change its answers."""

import socketserver
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import dns.dnssec
import dns.message
import dns.name
import dns.rrset
import pytest
from dns.rdatatype import RRSIG, TXT, RdataType
from tests.fakes.servers import ToleratesDisconnects, running_server
from tests.names.messages import answer_of, message_of
from tests.names.patience import patient

from postroom.local.dns import DnsServer
from postroom.local.zones import ZoneTree
from postroom.names.dns import Answer, Ask, Question, Resolvers
from postroom.names.dnssec import TrustAnchors, Verdict, validate

SENDER = """
pk1._domainkey  60  TXT    "v=DKIM1; k=ed25519; " "p=abc"
short           5   TXT    "short"
*.wild              TXT    "anything"
"""
KEY = "pk1._domainkey.sender.example"


@pytest.fixture
def tree() -> ZoneTree:
    tree = ZoneTree()
    tree.put("sender.example", SENDER)
    return tree


@pytest.fixture
def server(tree: ZoneTree) -> Iterator[DnsServer]:
    with DnsServer(tree) as server:
        yield server


@pytest.fixture
def resolvers(server: DnsServer) -> Iterator[Resolvers]:
    with patient(server.address) as resolvers:
        yield resolvers


@pytest.fixture
def asking(server: DnsServer, resolvers: Resolvers) -> Iterator[Callable[[], Ask]]:
    """The options of look-ups that wait for an answer, but not long for a silent server."""
    with patient(server.address, try_seconds=0.2) as hasty:
        yield lambda: (hasty if server._paused else resolvers).asking()


@pytest.fixture
def ask(resolvers: Resolvers) -> Ask:
    return resolvers.asking()


AnswerTo = Callable[[Question], dns.message.Message]


@pytest.fixture
def answer_to(ask: Ask) -> AnswerTo:
    """The answer to a question."""
    return lambda question: message_of(ask(question))


@pytest.fixture
def anchors(tree: ZoneTree) -> TrustAnchors:
    return TrustAnchors.parse(tree.anchor_text)


Judge = Callable[..., Verdict]


@pytest.fixture
def judge(ask: Ask, anchors: TrustAnchors) -> Judge:
    """The verdict on the TXT records at a name. `ask`, `now`: instead of the usual ones."""

    def judge(name: str = KEY, *, ask: Ask = ask, now: float | None = None) -> Verdict:
        return validate(dns.name.from_text(name), TXT, anchors, ask, time.time() if now is None else now)

    return judge


Change = Callable[[dns.message.Message], object]


@pytest.fixture
def meddle(ask: Ask) -> Iterator[Callable[..., Ask]]:
    """An `Ask` whose answers to one question (or to all) are changed. The test fails if a question was never asked."""
    not_asked: set[Question] = set()

    def meddle(change: Change, name: str | None = None, rdtype: RdataType = TXT) -> Ask:
        if not isinstance(rdtype, RdataType):
            raise TypeError(f"{rdtype!r} is not a record type, and equals none")
        wanted = name and Question(dns.name.from_text(name), rdtype)
        if wanted:
            not_asked.add(wanted)

        def meddled(question: Question) -> Answer:
            message = message_of(ask(question))
            if wanted in (None, question):
                change(message)
                not_asked.discard(question)
            return answer_of(message)

        return meddled

    yield meddle
    assert not not_asked


@pytest.fixture
def forge(tree: ZoneTree) -> Callable[..., list[dns.rrset.RRset]]:
    """An RRset (in text) and its signature by the key of `zone`, which claims to be of `signer`."""

    def forge(
        text: str, *, zone: str = "sender.example", signer: str | None = None, key_of: str | None = None, **times: int
    ) -> list[dns.rrset.RRset]:
        owner, ttl, rdtype, rest = text.split(maxsplit=3)
        records = dns.rrset.from_text(owner, int(ttl), "IN", rdtype, rest)
        private, record = tree.key(key_of or zone)
        now = int(time.time())
        signature = dns.dnssec.sign(
            records,
            private,
            dns.name.from_text(signer or zone),
            record,
            **{"inception": now - 60, "expiration": now + 3600, **times},
        )
        return [records, dns.rrset.from_rdata(records.name, int(ttl), signature)]

    return forge


def strip(message: dns.message.Message) -> None:
    """An answer as from a resolver without DNSSEC."""
    message.answer = [rrset for rrset in message.answer if rrset.rdtype != RRSIG]
    message.authority = [rrset for rrset in message.authority if rrset.rdtype != RRSIG]


@pytest.fixture
def stripped() -> Change:
    return strip


Handler = Callable[[bytes], bytes | None]


class _TcpServer(ToleratesDisconnects, socketserver.TCPServer):
    """Serves DNS over TCP with any bytes."""


@pytest.fixture
def serve() -> Iterator[Callable[[str, Handler], str]]:
    """A server on loopback, "udp" or "tcp", that answers a query with any bytes; yields its setting."""
    with ExitStack() as stack:

        def serve(scheme: str, handler: Handler) -> str:
            class Udp(socketserver.BaseRequestHandler):
                def handle(self) -> None:
                    data, sock = self.request
                    reply = handler(data)
                    if reply is not None:
                        sock.sendto(reply, self.client_address)

            class Tcp(socketserver.StreamRequestHandler):
                def handle(self) -> None:
                    (length,) = struct.unpack("!H", self.rfile.read(2))
                    reply = handler(self.rfile.read(length))
                    if reply is not None:
                        self.wfile.write(struct.pack("!H", len(reply)) + reply)

            server: socketserver.TCPServer = (
                socketserver.UDPServer(("127.0.0.1", 0), Udp) if scheme == "udp" else _TcpServer(("127.0.0.1", 0), Tcp)
            )
            stack.enter_context(running_server(server))
            return f"{scheme}://127.0.0.1:{server.server_address[1]}"

        yield serve


@pytest.fixture
def serve_bytes() -> Iterator[Callable[[bytes], str]]:
    """A server on loopback that sends these bytes to whoever connects over TCP, and ends; yields its setting."""
    with ExitStack() as stack:

        def serve(reply: bytes) -> str:
            class Tcp(socketserver.StreamRequestHandler):
                def handle(self) -> None:
                    (length,) = struct.unpack("!H", self.rfile.read(2))
                    self.rfile.read(length)
                    self.wfile.write(reply)

            server = stack.enter_context(running_server(_TcpServer(("127.0.0.1", 0), Tcp)))
            return f"tcp://127.0.0.1:{server.server_address[1]}"

        yield serve


def failing(rcode: dns.rcode.Rcode) -> Handler:
    def handler(wire: bytes) -> bytes:
        response = dns.message.make_response(dns.message.from_wire(wire))
        response.set_rcode(rcode)
        return response.to_wire()

    return handler


@pytest.fixture
def answers_with() -> Callable[[dns.rcode.Rcode], Handler]:
    return failing
