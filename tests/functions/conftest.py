"""Fixtures for tests of the functions: a deployment in moto with receiver.example, signed zones, a post office."""

import time
from collections.abc import Iterator
from copy import copy
from functools import cache
from pathlib import Path

import pytest
from tests.aws import Deployed
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.fakes.post_offices import FakePostOffices
from tests.fakes.servers import running_server
from tests.functions.samples import BUFFER, MADE_AT, RECEIVER, SELECTOR, SENDER, SUBJECT, published_key
from tests.functions.stack import FunctionsStack, functions_stack

from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.local.authority import Authority
from postroom.local.dns import DnsServer
from postroom.local.zones import ZoneTree
from postroom.protocols.nlweb.key_record import record_text, zone_line
from postroom.protocols.nlweb.schema import NLWEB
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.storage.directory.domains import Domain
from postroom.storage.secrets.signing_keys import SigningKeys


@pytest.fixture(autouse=True)
def sample_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A running clock that starts at the time of the sample events."""
    real, started = time.time, time.time()
    monkeypatch.setattr(time, "time", lambda: MADE_AT + 5 + real() - started)


@pytest.fixture
def key() -> PrivateKey:
    return published_key()


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def post_offices(authority: Authority) -> Iterator[FakePostOffices]:
    with running_server(FakePostOffices(authority, {SENDER: BUFFER})) as server:
        yield server


@cache
def _signed_zones() -> ZoneTree:
    """The zones, signed once, because that takes longer than most tests."""
    tree = ZoneTree(clock=lambda: MADE_AT)
    record = zone_line(NLWEB.key_name(SENDER, SELECTOR), record_text(published_key().public))
    tree.put(SENDER, f"nlweb IN A 127.0.0.1\n{record}\n")
    tree.put(BUFFER, "nlweb IN A 127.0.0.1\n")
    return tree


@pytest.fixture
def zones() -> ZoneTree:
    """A zone tree for each test, because `put` signs all zones again."""
    tree = copy(_signed_zones())
    tree._put = dict(tree._put)
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
    post_offices: FakePostOffices,
    authority: Authority,
    key: PrivateKey,
) -> Iterator[FunctionsStack]:
    clients = deployed.clients
    operators = deployed.storage.operators
    operators.put_domain(Domain(RECEIVER, feedback=BUFFER))
    operators.put_subject(RECEIVER, SubjectRule(SUBJECT, Treatment.MAILBOX, RECEIVER))
    SigningKeys(clients.secrets, deployed.secrets["SigningKeys"], time.time).put(RECEIVER, SELECTOR, key)
    with functions_stack(
        deployed,
        Resolvers=f"udp://{dns_server.address}",
        TrustAnchors=zones.anchor_text.strip(),
        OutboundPort=str(post_offices.server_port),
        OutboundCaFile=str(authority.pem),
        OutboundAllowPrivate="true",
    ) as started:
        yield started
