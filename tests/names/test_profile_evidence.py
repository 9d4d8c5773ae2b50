"""The evidence of how a profile was found, as it is filed with messages: what it says, how long it is, and no name."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.aws import Deployed, new_clients
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.fakes.clock import FakeClock
from tests.fakes.endpoints import fake_endpoint
from tests.fakes.outbound import FakeQueue
from tests.names.ens.nodes import NOW, TextNode, ens_of

from postroom.core.ijson import MAX_EXACT_INTEGER
from postroom.core.leaky_bucket import LeakyBucket
from postroom.local.zones import ZoneTree
from postroom.names.dns import Resolvers
from postroom.names.dns_registry import DnsRegistry
from postroom.names.dnssec import TrustAnchors
from postroom.names.ens_registry import EnsRegistry
from postroom.names.profiles import FoundUser, Profiles
from postroom.names.registry import PROFILE_KEY, MemoryRegistry, PinnedRegistry, Registry
from postroom.names.shared_registry import SharedRegistry
from postroom.names.uris import PublishedJson
from postroom.pipeline.slow_names import NameLookUps, SlowNames
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.dm3.profile import UserProfile
from postroom.runtime.adapters import SharedTexts
from postroom.storage.limits.name_texts import NameTexts

LABEL = "longest" * 9
NAME = f"{LABEL}.example"
KEYS = UserKeys.random()
PROFILE = UserProfile(KEYS.encryption.public, KEYS.signing.public, ("ds.example",))
URIS = {
    "data": f"data:application/json,{LABEL}",
    "https": f"https://{NAME}/profile?dm3Hash={'0' * 64}",
    "ipfs": f"ipfs://Qm/{LABEL}",
}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOW)


@pytest.fixture(params=URIS)
def scheme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def pinned(clock: FakeClock, scheme: str) -> Registry:
    return PinnedRegistry(lambda: json.dumps({NAME: {PROFILE_KEY: URIS[scheme]}}).encode(), clock)


@pytest.fixture
def ens(clock: FakeClock, scheme: str) -> Iterator[Registry]:
    with ExitStack() as undo:
        nodes = [TextNode({NAME: {PROFILE_KEY: URIS[scheme]}}) for _ in range(2)]
        for node in nodes:
            node.block = MAX_EXACT_INTEGER
        chain = ens_of(undo, [undo.enter_context(fake_endpoint(node)) for node in nodes])
        yield EnsRegistry(lambda: chain, LeakyBucket(1, 4, clock), clock)


def found(registry: Registry, clock: FakeClock) -> FoundUser:
    return Profiles(registry, clock, lambda _: PublishedJson(PROFILE.as_json(), 1)).find_user(NAME)


def check(evidence: object, expected: dict[str, object]) -> None:
    assert evidence == expected
    written = json.dumps(evidence)
    assert len(written.encode()) <= 500
    assert LABEL not in written


def test_that_of_a_pinned_name_says_so(pinned: Registry, clock: FakeClock, scheme: str) -> None:
    check(found(pinned, clock).evidence, {"registry": "pinned", "uri": scheme})


def test_that_of_a_name_in_dns_says_what_dnssec_says(
    resolvers: Resolvers, anchors: TrustAnchors, tree: ZoneTree, scheme: str
) -> None:
    tree.put(NAME, f'_dm3 300 TXT "{PROFILE_KEY}={URIS[scheme]}"')
    clock = FakeClock(time.time())
    registry = DnsRegistry(resolvers.asking, anchors, clock)
    check(found(registry, clock).evidence, {"registry": "dns", "dnssec": "secure", "uri": scheme})


def ens_evidence(scheme: str) -> dict[str, object]:
    return {"registry": "ens", "block": MAX_EXACT_INTEGER, "agreed": 2, "uri": scheme}


def test_that_of_a_name_in_ens_says_the_block_and_how_many_agreed(ens: Registry, clock: FakeClock, scheme: str) -> None:
    check(found(ens, clock).evidence, ens_evidence(scheme))


def test_that_of_a_text_that_another_instance_has_looked_up_is_the_same(
    ens: Registry, clock: FakeClock, scheme: str, deployed: Deployed
) -> None:
    texts, queue = NameTexts(new_clients().dynamodb, deployed.tables["LimitsTable"]), FakeQueue()
    SlowNames(texts=texts, queue=queue, rate=LeakyBucket(1, 1, clock), clock=clock).request(NAME, PROFILE_KEY)
    NameLookUps(registry=ens, addresses=ens, texts=texts, clock=clock).look_up(queue.bodies)
    shared = SharedRegistry(MemoryRegistry(), SharedTexts(texts, clock).find)
    check(found(shared, clock).evidence, ens_evidence(scheme))
