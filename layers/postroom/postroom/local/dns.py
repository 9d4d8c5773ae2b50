"""A DNS resolver on loopback for one zone tree: UDP and TCP on the same port, one thread.

It answers as a recursive resolver answers a query with DO and CD: with signatures, CNAMEs and DNAMEs followed across
zones, denials with SOA and NSEC, the DS from the zone above. It answers a query without CD as a validating resolver.
"""

import asyncio
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Self, cast

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.opcode
import dns.rcode
from dns.rdatatype import DS, NSEC, RRSIG, SOA, RdataType

from postroom.local.answers import ZoneAnswer, answer, zone_of
from postroom.local.zones import Zones, ZoneTree
from postroom.names import dns as names_dns
from postroom.names.dns import Question
from postroom.names.dnssec import Bogus, Secure, TrustAnchors, Verdict, validate

_UDP_PAYLOAD = 1232
_TCP_PAYLOAD = 65_535
_BIND_TRIES = 20


def _judge(zones: Zones, anchors: TrustAnchors, said: ZoneAnswer) -> list[Verdict]:
    """The verdict of a validating resolver on an answer: here the signatures of a zone are all valid, or none is."""

    def ask(question: Question) -> names_dns.Answer:
        found = answer(zones, question.name, question.rdtype)
        message = dns.message.QueryMessage()
        message.set_rcode(found.rcode)
        message.answer, message.authority = found.answer, found.authority
        return names_dns.Answer.read(message.to_wire(max_size=_TCP_PAYLOAD))

    # An NSEC may have the name of the zone below its own; it always comes with its zone's SOA, or an answer.
    rrsets = [rrset for rrset in said.answer + said.authority if rrset.rdtype not in (RRSIG, NSEC)]
    origins = {zone_of(zones, rrset.name, rrset.rdtype)[1] for rrset in rrsets}
    return [validate(origin, SOA, anchors, ask, time.time()) for origin in origins]


class DnsServer:
    """Serves a tree; a context manager. `queries` counts questions received, by (name, type) in text form."""

    def __init__(self, tree: ZoneTree, host: str = "127.0.0.1", port: int = 0) -> None:
        self._tree = tree
        self._anchors = TrustAnchors.parse(tree.anchor_text)
        self.host = host
        self.port = port
        self.queries: Counter[tuple[str, str]] = Counter()
        self._paused: list[dns.name.Name] = []
        self._slow: list[dns.name.Name] = []
        self._delay_seconds = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> str:
        """`HOST:PORT`, as in the setting of resolvers."""
        return f"{self.host}:{self.port}"

    def pause(self, *zones: str) -> None:
        """Stop answering for these zones; none: for all. Questions are counted and not answered.

        A zone's DS is a record of the zone above.
        """
        self._paused = [dns.name.from_text(zone) for zone in zones or (".",)]

    def resume(self) -> None:
        """Answer again."""
        self._paused = []

    def slow_down(self, delay_seconds: float, *zones: str) -> None:
        """Answer for these zones after a delay, as for those that are slow already."""
        self._slow += [dns.name.from_text(zone) for zone in zones]
        self._delay_seconds = delay_seconds

    def delay_seconds(self, wire: bytes) -> float:
        """The delay of the answer to a query."""
        if not self._slow:
            return 0.0
        try:
            question = dns.message.from_wire(wire).question[0]
        except (dns.exception.DNSException, IndexError):
            return 0.0
        return self._delay_seconds if _is_in(self._slow, question.name, question.rdtype) else 0.0

    def start(self) -> Self:
        """Bind both sockets (after this, `port` is known) and serve. Raises `OSError`."""
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
        """Stop the thread and close its sockets."""
        if self._thread and self._loop and self._stopping:
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join()
            self._thread = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
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
        # The only other tasks are connections that are being accepted: once they are open, they can be closed.
        self._loop.remove_reader(tcp)
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})
        server.close()
        for connection in connections:
            connection.abort()

    def reply(self, wire: bytes, *, udp: bool) -> bytes | None:
        """The answer to a query, truncated if too large for UDP; None if there must be none."""
        try:
            query = dns.message.from_wire(wire)
            response = dns.message.make_response(query, recursion_available=True, our_payload=_UDP_PAYLOAD)
        except dns.exception.DNSException:
            return None
        if query.opcode() != dns.opcode.QUERY or len(query.question) != 1:
            response.set_rcode(dns.rcode.NOTIMP)
            return response.to_wire()
        name, rdtype = query.question[0].name, query.question[0].rdtype
        self.queries[str(name), rdtype.name] += 1
        if _is_in(self._paused, name, rdtype):
            return None
        response.flags |= query.flags & dns.flags.CD
        wants_signatures = bool(query.ednsflags & dns.flags.DO)
        response.want_dnssec(wants_signatures)
        zones = self._tree.zones()
        said = answer(zones, name, rdtype)
        if not query.flags & dns.flags.CD:
            # RFC 4035 §3.2.3, RFC 6840 §5.8: SERVFAIL instead of bogus data, AD for clients that ask for it.
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


def _is_in(zones: Sequence[dns.name.Name], name: dns.name.Name, rdtype: RdataType) -> bool:
    is_at_cut = rdtype == DS and name != dns.name.root
    place = name.parent() if is_at_cut else name
    return any(place.is_subdomain(zone) for zone in zones)


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
            transport = cast("asyncio.DatagramTransport", self._transport)
            send = partial(transport.sendto, reply, addr)
            asyncio.get_running_loop().call_later(self._server.delay_seconds(data), send)


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
            query, self._received = self._received[2:end], self._received[end:]
            reply = self._server.reply(query, udp=False)
            if reply is not None:
                send = partial(self._transport.write, struct.pack("!H", len(reply)) + reply)
                asyncio.get_running_loop().call_later(self._server.delay_seconds(query), send)


def _bind(host: str, port: int) -> tuple[socket.socket, socket.socket]:
    """A listening TCP and a UDP socket on the same port; for a free port, another one is tried if UDP is in use."""
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
