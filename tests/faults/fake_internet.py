"""DNS with DNSSEC and the post offices of other domains, in a process of its own.

It is a process of its own because a process that forks may have no threads, and because received messages must remain
when their sender dies.
"""

import os
import threading
import time
from contextlib import suppress
from enum import StrEnum
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import dns.message
import dns.rcode
from tests.fakes.post_offices import FakePostOffices
from tests.faults.fake_sockets import ADDRESS, FakeSockets, Sent
from tests.functions.samples import SOCKET_HOST, published_key

from postroom.local.authority import Authority
from postroom.local.dns import DnsServer
from postroom.local.zones import ZoneTree
from postroom.protocols.nlweb.key_record import record_text, zone_line
from postroom.protocols.nlweb.schema import NLWEB

SELECTOR = "pk1"
SENDER, STRICT, BUSY, DARK = "sender.example", "strict.example", "busy.example", "dark.example"
"""Senders, all with one key. STRICT's buffer refuses Feedback, BUSY's is busy at first, DARK's DNS fails at first."""
BUFFERS = {name: f"buffer.{name}" for name in (SENDER, STRICT, BUSY, DARK)}
SLOW_SECONDS = 1.2


class Trouble(StrEnum):
    """A kind of DNS failure."""

    SILENT = "silent"
    SERVFAIL = "SERVFAIL"
    SLOW = "slow"


class _Dns(DnsServer):
    """A resolver that fails for names with certain endings."""

    troubles: dict[str, Trouble]

    def reply(self, wire: bytes, *, udp: bool) -> bytes | None:
        query = dns.message.from_wire(wire)
        name = str(query.question[0].name)
        trouble = next((how for end, how in self.troubles.items() if name.endswith(f"{end}.")), None)
        if trouble is Trouble.SILENT:
            return None
        if trouble is Trouble.SLOW:
            time.sleep(SLOW_SECONDS)
        if trouble is Trouble.SERVFAIL:
            response = dns.message.make_response(query)
            response.set_rcode(dns.rcode.SERVFAIL)
            return response.to_wire()
        return super().reply(wire, udp=udp)


class FakeInternet:
    """A context manager. `resolvers`, `anchors`, `port`, `ca_file`: as in the settings of the functions."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def __enter__(self) -> "FakeInternet":
        self._line, line = Pipe()
        self._child = os.fork()
        if not self._child:
            with suppress(EOFError):  # the parent has ended
                self._line.close()
                _serve(self._directory, line)
            os._exit(0)
        line.close()
        self.resolvers, self.anchors, self.port, self.ca_file = self._line.recv()
        return self

    def __exit__(self, *_: object) -> None:
        self._line.close()
        os.waitpid(self._child, 0)

    def dns(self, **troubles: Trouble) -> None:
        """Let names with these endings (`example`: all) fail in this way from now on, and no others."""
        self._ask("dns", {end.replace("_", "."): how for end, how in troubles.items()})

    def publish(self, *, keys: bool) -> None:
        """Publish or remove the key of SENDER."""
        self._ask("publish", keys)

    def buffers(self, statuses: dict[str, int]) -> None:
        """Let the buffers of these domains (SOCKET_HOST: the WebSocket API) answer with these statuses from now on, and
        others with 200.
        """
        self._ask("buffers", {BUFFERS.get(domain, domain): status for domain, status in statuses.items()})

    def posted(self) -> list[bytes]:
        """The messages that buffers have received so far."""
        posted: list[bytes] = self._ask("posted", None)
        return posted

    def taken(self) -> list[str]:
        """The domains that have accepted a message so far, once for each."""
        taken: list[str] = self._ask("taken", None)
        return taken

    def sent(self) -> list[Sent]:
        """What was sent to WebSockets so far."""
        sent: list[Sent] = self._ask("sent", None)
        return sent

    def came(self) -> tuple[int, int]:
        """The numbers of messages received and accepted so far, by buffers and WebSockets."""
        posted, taken = self._ask("came", None)
        return posted, taken

    def forget(self) -> None:
        """Reset everything: no failures, no received messages."""
        self._ask("forget", None)

    def _ask(self, what: str, value: object) -> Any:
        self._line.send((what, value))
        return self._line.recv()


def _serve(directory: Path, line: Connection) -> None:
    authority = Authority(directory)
    with FakePostOffices(authority, BUFFERS) as offices, FakeSockets(authority, offices.server_port) as sockets:
        for each in (offices, sockets):
            threading.Thread(target=each.serve_forever, daemon=True).start()
        zones = ZoneTree()
        zones.put(SOCKET_HOST, f"@ IN A {ADDRESS}\n")
        for name in {*BUFFERS, *BUFFERS.values()}:
            _publish(zones, name, key=name in BUFFERS)
        with _Dns(zones) as server:
            server.troubles = {}
            line.send((f"udp://{server.address}", zones.anchor_text.strip(), offices.server_port, str(authority.pem)))
            while True:
                what, value = line.recv()
                if what == "dns":
                    server.troubles = value
                elif what == "buffers":
                    offices.statuses, sockets.status = value, value.get(SOCKET_HOST, 200)
                elif what == "publish":
                    _publish(zones, SENDER, key=value)
                elif what == "forget":
                    server.troubles, offices.statuses, offices.posted, offices.taken = {}, {}, [], []
                    sockets.status, sockets.sent = 200, []
                arrived = [each for each in sockets.sent if each.arrived]
                came = len(offices.posted) + len(sockets.sent), len(offices.taken) + len(arrived)
                line.send(
                    {"posted": offices.posted, "taken": offices.taken, "sent": sockets.sent, "came": came}.get(what)
                )


def _publish(zones: ZoneTree, name: str, *, key: bool) -> None:
    record = zone_line(NLWEB.key_name(name, SELECTOR), record_text(published_key().public))
    zones.put(name, f"nlweb IN A 127.0.0.1\n{record if key else ''}\n")
