"""The functions of dm3, and senders whom no operator has written down: a signed zone, and two endpoints of a chain."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from tests.aws import Deployed
from tests.fakes.endpoints import FakeEndpoint, fake_endpoint
from tests.functions.delivery_service import open_service
from tests.functions.samples import ALICE, BOB, DM3_URL, MADE_AT, http, profile_uri, service_keys, user_keys
from tests.functions.stack import FunctionsStack, functions_stack
from tests.names.ens.nodes import TextNode
from tests.patience import PATIENCE

from postroom.core.ijson import JsonValue
from postroom.local.dns import DnsServer
from postroom.local.zones import Mode, ZoneTree
from postroom.names.publishing import text_record
from postroom.names.registry import PROFILE_KEY
from postroom.protocols.dm3.envelope import DeliveryInformation, write_envelope
from postroom.protocols.dm3.message import MessageMetadata
from postroom.protocols.dm3.sign import sign_message
from postroom.storage.directory.domains import Dm3Mailbox
from postroom.storage.secrets.chain_endpoints import ChainEndpointUrls

DAN, CAROL = "dan.example", "carol.eth"
"""In DNS, and in ENS."""
OPEN = "open.eth"
"""Who takes messages of senders who are not verified. Pinned, as ALICE and BOB."""
API_KEY = "the-key-of-a-provider"


@dataclass
class Newcomers:
    """The functions, with a signed zone and two endpoints of a chain."""

    running: FunctionsStack
    zones: ZoneTree
    nodes: list[TextNode]
    servers: list[FakeEndpoint]

    def publish(self, uri: str, mode: Mode = Mode.SIGNED) -> None:
        """Publish DAN's profile in DNS."""
        self.zones.put(DAN, text_record(DAN, PROFILE_KEY, uri), mode)

    def submit(self, sender: str, as_sender: str = "", to: str = BOB) -> Any:
        """What is answered to a message of a sender; `as_sender`: whom it says that it is from."""
        keys, name = user_keys(sender), as_sender or sender
        envelope = write_envelope(
            sign_message("Hello", MessageMetadata(to=to, sender=name, timestamp_ms=MADE_AT * 1000), keys.signing),
            delivery=DeliveryInformation(to, name),
            receiver_key=user_keys(to).encryption.public,
            service_key=service_keys().encryption[0].public,
            signing=keys.signing,
        )
        params: list[JsonValue] = [envelope.as_json()]
        body = json.dumps({"jsonrpc": "2.0", "method": "dm3_submitMessage", "params": params, "id": 1}).encode()
        answer = self.running.invoke("Dm3Function", http("POST", DM3_URL, MADE_AT, body))
        said = json.loads(answer["body"])
        return said["error"]["data"]["reason"] if "error" in said else said["result"]

    @contextmanager
    def in_haste(self) -> Iterator[None]:
        """Look-ups for a request have a moment, which is too short for some of them on a busy machine, too."""
        for seconds in ("0.2", str(PATIENCE)):
            self.running.settings["DM3_LOOKUP_SECONDS"] = seconds
            self.running.end()
            if seconds == "0.2":
                yield

    def submit_until_requested(self, sender: str, look_up: str) -> Any:
        """What is answered to a message once a look-up that it needs is requested, because it takes too long."""
        while True:
            said = self.submit(sender)
            if self.requested(look_up):
                return said

    def requested(self, look_up: str) -> list[str]:
        """The requests for a look-up, which contain this text."""
        return [body for body in self.running.deployed.bodies("NamesQueue") if look_up in body]


@pytest.fixture
def newcomers(deployed: Deployed) -> Iterator[Newcomers]:
    pinned = {name: profile_uri(user_keys(name)) for name in (ALICE, BOB, OPEN)}
    open_service(deployed, service_keys(), pinned, [Dm3Mailbox(BOB), Dm3Mailbox(OPEN, takes_unverified=True)])
    zones, nodes = (
        ZoneTree(clock=lambda: MADE_AT),
        [TextNode({CAROL: {PROFILE_KEY: profile_uri(user_keys(CAROL))}}) for _ in range(2)],
    )
    for node in nodes:
        node.clock = _now
    with ExitStack() as undo:
        dns = undo.enter_context(DnsServer(zones))
        servers = [undo.enter_context(fake_endpoint(node)) for node in nodes]
        urls = [f"http://127.0.0.1:{server.port}/{API_KEY}" for server in servers]
        ChainEndpointUrls(deployed.clients.secrets, deployed.secrets["ChainEndpoints"], time.time).put(urls)
        running = undo.enter_context(
            functions_stack(deployed, Resolvers=f"udp://{dns.address}", TrustAnchors=zones.anchor_text.strip())
        )
        yield Newcomers(running, zones, nodes, servers)


def _now() -> float:
    # Looked up now: a test may have moved it.
    return time.time()
