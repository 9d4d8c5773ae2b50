"""The delivery service of tests/pipeline/delivery_service.py, with TLS on loopback."""

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Protocol

from tests.fakes.servers import LoopbackServer, running_server
from tests.pipeline.delivery_service import BOB, SERVICE, DeliveryService

from postroom.names.profiles import Profiles
from postroom.names.registry import PROFILE_KEY, SERVICE_KEY
from postroom.protocols.dm3.explain import Opened, explain
from postroom.protocols.dm3.profile import UserProfile, data_uri

HOST, SECOND_HOST = "ds.example", "second.example"
SECOND = "second.eth"


@dataclass
class Net:
    """Hosts on loopback for the delivery service; a host may have other answers."""

    service: DeliveryService
    port: int = 0
    instead: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    came: list[tuple[str, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.publish(SERVICE, HOST)

    def publish(self, name: str, host: str) -> None:
        profile = self.service.keys.get().profile(f"https://{host}")
        self.service.registry.put(name, SERVICE_KEY, data_uri(profile.as_json()))

    def publish_second(self) -> None:
        """Let Bob's profile name two delivery services, which are the same one at two hosts."""
        self.publish(SECOND, SECOND_HOST)
        bob = self.service.users[BOB]
        profile = UserProfile(bob.encryption.public, bob.signing.public, (SERVICE, SECOND))
        self.service.registry.put(BOB, PROFILE_KEY, data_uri(profile.as_json()))

    def answer(self, host: str, path: str, body: bytes) -> tuple[int, bytes]:
        self.came.append((host, path, json.loads(body)["method"]))
        if host in self.instead:
            return self.instead[host]
        answer = self.service.post(body)
        return answer.status, answer.body

    def filed(self) -> str:
        """The only envelope in Bob's mailbox."""
        stack = self.service.stack
        assert stack.work(stack.record(stack.deployed.bodies("ClaimsQueue")[-1])).failed == ()
        [filed] = stack.listed(BOB)
        return filed.line.envelope

    def opened(self) -> Opened:
        """The same message, opened."""
        profiles = Profiles(self.service.registry, self.service.stack.clock)
        return explain(self.filed().encode(), self.service.users[BOB], profiles)


class Answering(Protocol):
    """Answer a request at `port`."""

    port: int

    def answer(self, host: str, path: str, body: bytes) -> tuple[int, bytes]:
        """The status and body of a response."""
        ...


@contextmanager
def served(net: Answering, context: ssl.SSLContext) -> Iterator[None]:
    """Answer at `net.port` of 127.0.0.1, with the certificates of `context`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, answer = net.answer(self.headers["Host"].partition(":")[0], self.path, body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
            """Log nothing."""

    with running_server(LoopbackServer(("127.0.0.1", 0), Handler), context) as server:
        net.port = server.server_port
        yield
