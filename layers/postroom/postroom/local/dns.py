"""A resolver on loopback that knows one zone tree: UDP and TCP on the same port, one thread.

It answers as a recursive resolver answers a DO+CD query: with signatures, CNAMEs chased across zones, denials
with SOA and NSEC, the DS from the zone above. To a query without CD it answers as one that validates.
"""

import asyncio
import socket
import struct
import threading
import time
from collections import Counter
from types import TracebackType
from typing import NamedTuple, Self, cast

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.node
import dns.opcode
import dns.rcode
import dns.rdataclass
import dns.rrset
import dns.zone
from dns.rdatatype import CNAME, DS, NSEC, RRSIG, SOA, RdataType

from postroom.local.zones import Zones, ZoneTree
from postroom.names.dns.question import Question
from postroom.names.dns.records import CnameRecord
from postroom.names.dnssec import Bogus, Secure, TrustAnchors, Verdict, validate

_MAX_CHAIN = 16
_UDP_PAYLOAD = 1232
_TCP_PAYLOAD = 65_535
_BIND_TRIES = 20


class Answer(NamedTuple):
    """The contents of an answer, signatures included."""

    rcode: dns.rcode.Rcode
    answer: list[dns.rrset.RRset]
    authority: list[dns.rrset.RRset]


def answer(zones: Zones, name: dns.name.Name, rdtype: RdataType) -> Answer:
    """What the tree says to a question of class IN (RFC 1034 §4.3.2, RFC 4592, RFC 4035 §3.1)."""
    chain: list[dns.rrset.RRset] = []
    for _ in range(_MAX_CHAIN):
        zone, origin = _zone_of(zones, name, rdtype)
        source = _source(zone, name)
        if source is None:
            return Answer(dns.rcode.NXDOMAIN, chain, _denial(zone, origin, name))
        # What a wildcard gave needs the proof that the name itself is not there.
        proof = _covering(zone, name) if source.is_wild() and source != name else []
        if found := _signed(zone, source, rdtype, name):
            return Answer(dns.rcode.NOERROR, chain + found, proof)
        alias = _signed(zone, source, CNAME, name)
        if not alias:
            return Answer(dns.rcode.NOERROR, chain, _denial(zone, origin, name))
        chain += alias
        name = next(record.target for record in alias[0] if isinstance(record, CnameRecord))
        if any(rrset.name == name for rrset in chain):
            break
    return Answer(dns.rcode.NOERROR, chain, [])


def _judge(zones: Zones, anchors: TrustAnchors, said: Answer) -> list[Verdict]:
    """What a validating resolver finds of an answer: here the signatures of a zone all hold, or none does."""

    def ask(question: Question) -> dns.message.Message:
        found = answer(zones, question.name, question.rdtype)
        message = dns.message.QueryMessage()
        message.set_rcode(found.rcode)
        message.answer, message.authority = found.answer, found.authority
        return message

    # An NSEC may bear the name of the zone below its own; it always comes with its zone's SOA, or an answer.
    told = [rrset for rrset in said.answer + said.authority if rrset.rdtype not in (RRSIG, NSEC)]
    origins = {_zone_of(zones, rrset.name, rrset.rdtype)[1] for rrset in told}
    return [validate(origin, SOA, anchors, ask, time.time()) for origin in origins]


def _zone_of(zones: Zones, name: dns.name.Name, rdtype: RdataType) -> tuple[dns.zone.Zone, dns.name.Name]:
    if rdtype == DS and name in zones and name != dns.name.root:
        name = name.parent()
    origin = max((origin for origin in zones if name.is_subdomain(origin)), key=len)
    return zones[origin], origin


def _source(zone: dns.zone.Zone, name: dns.name.Name) -> dns.name.Name | None:
    """The name whose records answer for `name`: itself (even if empty), a wildcard, or none."""
    if _exists(zone, name):
        return name
    wildcard = dns.name.from_text("*", _encloser(zone, name))
    return wildcard if wildcard in zone.nodes else None


def _exists(zone: dns.zone.Zone, name: dns.name.Name) -> bool:
    return name in zone.nodes or any(isinstance(node, dns.name.Name) and node.is_subdomain(name) for node in zone.nodes)


def _encloser(zone: dns.zone.Zone, name: dns.name.Name) -> dns.name.Name:
    while not _exists(zone, name):
        name = name.parent()
    return name


def _denial(zone: dns.zone.Zone, origin: dns.name.Name, name: dns.name.Name) -> list[dns.rrset.RRset]:
    proof = _covering(zone, name)
    if not _exists(zone, name):
        wildcard = _covering(zone, dns.name.from_text("*", _encloser(zone, name)))
        proof += [rrset for rrset in wildcard if rrset not in proof]
    return _signed(zone, origin, SOA, origin) + proof


def _covering(zone: dns.zone.Zone, name: dns.name.Name) -> list[dns.rrset.RRset]:
    """The NSEC at or before `name`, with its signature; nothing in an unsigned zone."""
    owners = [owner for owner, _ in zone.iterate_rdatasets(NSEC) if owner <= name]
    return _signed(zone, max(owners), NSEC, max(owners)) if owners else []


def _signed(
    zone: dns.zone.Zone, source: dns.name.Name, rdtype: RdataType, owner: dns.name.Name
) -> list[dns.rrset.RRset]:
    """The RRset at `source`, named `owner`, then its signatures; empty if there is none."""
    found = zone.get_rdataset(source, rdtype)
    if not found:
        return []
    rdatasets = [found, zone.get_rdataset(source, RRSIG, rdtype)]
    return [dns.rrset.from_rdata_list(owner, r.ttl, list(r)) for r in rdatasets if r]


class DnsServer:
    """Serves a tree; a context manager. `asked` counts questions received, by (name, type) in text form."""

    def __init__(self, tree: ZoneTree, host: str = "127.0.0.1", port: int = 0) -> None:
        self._tree = tree
        self._anchors = TrustAnchors.parse(tree.anchor_text)
        self.host = host
        self.port = port
        self.asked: Counter[tuple[str, str]] = Counter()
        self._paused = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> str:
        """`HOST:PORT`, as the resolver setting takes it."""
        return f"{self.host}:{self.port}"

    def pause(self) -> None:
        """Fall silent: questions are counted and not answered."""
        self._paused = True

    def resume(self) -> None:
        """Answer again."""
        self._paused = False

    def start(self) -> Self:
        """Bind both sockets (`port` is known from here on) and serve. Raises `OSError`."""
        tcp, udp = _bind(self.host, self.port)
        self.port = tcp.getsockname()[1]
        ready = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(tcp, udp, ready)), name="dns", daemon=True
        )
        self._thread.start()
        ready.wait()
        return self

    def stop(self) -> None:
        """End the thread and close its sockets."""
        if self._thread and self._loop and self._stopping:
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join()
            self._thread = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    async def _serve(self, tcp: socket.socket, udp: socket.socket, ready: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        transport, _ = await self._loop.create_datagram_endpoint(lambda: _Datagrams(self), sock=udp)
        connections: set[asyncio.Transport] = set()
        server = await self._loop.create_server(lambda: _Stream(self, connections), sock=tcp)
        ready.set()
        await self._stopping.wait()
        transport.close()
        # The only other tasks are connections half accepted: once whole, they can be closed.
        self._loop.remove_reader(tcp)
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})
        server.close()
        for connection in connections:
            connection.abort()

    def reply(self, wire: bytes, *, udp: bool) -> bytes | None:
        """The answer to a query, truncated if too large for UDP; None where silence is due."""
        try:
            query = dns.message.from_wire(wire)
            response = dns.message.make_response(query, recursion_available=True, our_payload=_UDP_PAYLOAD)
        except dns.exception.DNSException:
            return None
        if query.opcode() != dns.opcode.QUERY or len(query.question) != 1:
            response.set_rcode(dns.rcode.NOTIMP)
            return response.to_wire()
        name, rdtype = query.question[0].name, query.question[0].rdtype
        self.asked[str(name), rdtype.name] += 1
        if self._paused:
            return None
        response.flags |= query.flags & dns.flags.CD
        wants_signatures = bool(query.ednsflags & dns.flags.DO)
        response.want_dnssec(wants_signatures)
        zones = self._tree.zones()
        said = answer(zones, name, rdtype)
        if not query.flags & dns.flags.CD:
            # RFC 4035 §3.2.3, RFC 6840 §5.8: SERVFAIL instead of what is bogus, AD to who asks for it.
            verdicts = _judge(zones, self._anchors, said)
            if any(isinstance(verdict, Bogus) for verdict in verdicts):
                response.set_rcode(dns.rcode.SERVFAIL)
                return response.to_wire()
            if all(isinstance(verdict, Secure) for verdict in verdicts):
                response.flags |= dns.flags.AD if wants_signatures else query.flags & dns.flags.AD
        response.set_rcode(said.rcode)
        kinds = () if wants_signatures else (RRSIG, NSEC)
        response.answer = [r for r in said.answer if r.rdtype not in kinds or r.rdtype == rdtype]
        response.authority = [r for r in said.authority if r.rdtype not in kinds]
        full = response.to_wire(max_size=_TCP_PAYLOAD)
        if not udp or len(full) <= min(_UDP_PAYLOAD, max(query.payload, 512)):
            return full
        response.answer, response.authority = [], []
        response.flags |= dns.flags.TC
        return response.to_wire()


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, server: DnsServer) -> None:
        self._server = server
        self._transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        reply = self._server.reply(data, udp=True)
        if reply is not None:
            # In Python 3.11 the transport of datagrams is not yet an instance of DatagramTransport.
            cast("asyncio.DatagramTransport", self._transport).sendto(reply, addr)


class _Stream(asyncio.Protocol):
    def __init__(self, server: DnsServer, connections: set[asyncio.Transport]) -> None:
        self._server = server
        self._connections = connections
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._connections.add(self._transport)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the loop calls it so
        self._connections.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        while len(self._received) >= 2:
            end = 2 + struct.unpack("!H", self._received[:2])[0]
            if len(self._received) < end:
                break
            reply = self._server.reply(self._received[2:end], udp=False)
            self._received = self._received[end:]
            if reply is not None:
                self._transport.write(struct.pack("!H", len(reply)) + reply)


def _bind(host: str, port: int) -> tuple[socket.socket, socket.socket]:
    """A listening TCP and a UDP socket on the same port; of a free one, tries another if UDP has it taken."""
    for tries_left in reversed(range(_BIND_TRIES if port == 0 else 1)):
        tcp = socket.create_server((host, port))
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            udp.bind((host, tcp.getsockname()[1]))
        except OSError:
            tcp.close()
            udp.close()
            if not tries_left:
                raise
        else:
            return tcp, udp
    raise OSError(f"no free port on {host}")
