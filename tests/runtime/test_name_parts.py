"""The look-ups of a deployment in ENS, as they are put together: how many may begin, and that no endpoint is believed
alone."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import partial

import pytest
from tests.aws import Deployed
from tests.fakes.clock import FakeClock
from tests.fakes.endpoints import Answered, FakeEndpoint, fake_endpoint
from tests.names.ens.nodes import NOW, TextNode
from tests.names.patience import unhurried
from tests.patience import PATIENCE

from postroom.core.errors import NotNowError, TheirError
from postroom.names.ens.accounts import AccountDemands
from postroom.names.registry import PROFILE_KEY
from postroom.runtime.deployment import Deployment
from postroom.runtime.system import System

NAME = "carol.eth"
HONEST, LIE = {NAME: {PROFILE_KEY: "data:honest"}}, {NAME: {PROFILE_KEY: "data:a lie"}}
A_SECOND, AT_ONCE = 5, 50
"""Look-ups that an instance may begin (decision "Registries")."""


def _answer_once(node: TextNode, body: bytes) -> Answered:
    """Over a connection that is not kept, because an instance has no end."""
    return 200, {"Connection": "close"}, node(body)


class DeployedChain:
    """Two endpoints, and an instance that asks them."""

    def __init__(self, deployed: Deployed, undo: ExitStack) -> None:
        undo.enter_context(unhurried())
        self.nodes = [TextNode(HONEST) for _ in range(2)]
        self.servers: list[FakeEndpoint] = [
            undo.enter_context(fake_endpoint(partial(_answer_once, node))) for node in self.nodes
        ]
        deployed.storage.chain_endpoints.put([f"http://127.0.0.1:{server.port}/" for server in self.servers])
        self.monotonic = FakeClock()
        system = System(clock=FakeClock(NOW), monotonic=self.monotonic)
        self.instance: Deployment = deployed.parts(system=system, dm3_lookup_seconds=PATIENCE)

    @property
    def asked(self) -> list[int]:
        """How often each endpoint was."""
        return [len(server.bodies) for server in self.servers]


@pytest.fixture
def chain(deployed: Deployed) -> Iterator[DeployedChain]:
    with ExitStack() as undo:
        yield DeployedChain(deployed, undo)


@pytest.mark.parametrize("liar", [0, 1])
def test_one_liar_is_not_believed_by_the_look_ups_for_all_instances(chain: DeployedChain, liar: int) -> None:
    body = json.dumps({"name": NAME, "key": PROFILE_KEY})
    chain.nodes[liar].outcomes = TextNode(LIE).outcomes
    chain.instance.pipeline.name_look_ups.look_up([body])
    assert chain.asked == [1, 1]
    assert chain.instance.storage.name_texts.find(NAME, PROFILE_KEY, NOW) is None


def test_what_both_endpoints_say_is_kept_for_all_instances(chain: DeployedChain) -> None:
    chain.instance.pipeline.name_look_ups.look_up([json.dumps({"name": NAME, "key": PROFILE_KEY})])
    kept = chain.instance.storage.name_texts.find(NAME, PROFILE_KEY, NOW)
    assert kept is not None
    assert (kept.value, json.loads(kept.evidence)["agreed"]) == ("data:honest", 2)


def test_texts_accounts_and_look_ups_for_all_instances_share_one_rate(chain: DeployedChain) -> None:
    names = chain.instance.names
    kinds = (
        lambda name: names.profiles.find_user(name),
        lambda name: names.accounts.reach(name, AccountDemands(nonce=1)),
        lambda name: names.patient_registries.text(name, PROFILE_KEY),
    )

    def look_up(first: int, number: int) -> None:
        for place in range(first, first + number):
            with suppress(NotNowError, TheirError):
                kinds[place % len(kinds)](f"nobody{place}.eth")

    look_up(0, AT_ONCE)
    assert chain.asked == [AT_ONCE] * 2, "each is a request"
    look_up(AT_ONCE, len(kinds))
    assert chain.asked == [AT_ONCE] * 2
    chain.monotonic.now += 1
    look_up(100, A_SECOND + len(kinds))
    assert chain.asked == [AT_ONCE + A_SECOND] * 2
