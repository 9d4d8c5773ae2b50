"""What senders in ENS cost: requests to endpoints as they are made, and how many a month's mail takes."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from random import Random

import pytest
from tests.fakes.clock import FakeClock
from tests.fakes.endpoints import FakeEndpoint, fake_endpoint
from tests.names.ens.nodes import NOW, AccountNode, TextNode, ens_of, off_chain_answers

from postroom.core.leaky_bucket import LeakyBucket
from postroom.core.settings import DeploymentSettings
from postroom.cost import counted
from postroom.cost.items import MONTH_SECONDS
from postroom.cost.names import NameLoad, look_ups, name_items
from postroom.cost.prices import OURS, read_prices
from postroom.names.accounts import REACHED_SECONDS, SenderAccounts
from postroom.names.ens.accounts import AccountDemands
from postroom.names.ens.ens import Ens
from postroom.names.ens_registry import DEFAULT_SECONDS, EnsRegistry
from postroom.names.registry import PROFILE_KEY
from postroom.net.https import HttpsResponse

ALICE, CAROL = "alice.eth", "carol.eth"
PRICES = read_prices(OURS, "us-east-1")


class Gateway:
    """Answers what it was asked, which the contract takes."""

    def get(self, url: str, _accept: str, _seconds: float) -> HttpsResponse:
        return HttpsResponse(200, {}, json.dumps({"data": url.rpartition("/")[2]}).encode())

    def post(self, url: str, body: bytes, content_type: str, *, seconds: float) -> HttpsResponse:
        raise AssertionError((url, body, content_type, seconds))


class Asked:
    """Nodes of which each is asked the same."""

    def __init__(self, undo: ExitStack, node: TextNode | AccountNode) -> None:
        self._servers: list[FakeEndpoint] = [undo.enter_context(fake_endpoint(node)) for _ in range(2)]
        self.ens: Ens = replace(ens_of(undo, self._servers), gateways=Gateway())

    def counted(self) -> tuple[int, int]:
        """The posts to an endpoint, and the calls in them, since the last time."""
        [bodies, _] = [list(server.bodies) for server in self._servers]
        for server in self._servers:
            assert len(server.bodies) == len(bodies)
            server.bodies.clear()
        return len(bodies), sum(len(json.loads(body)) for body in bodies)


@pytest.fixture
def undo() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


TEXT = (counted.ENS_TEXT_POSTS, counted.ENS_TEXT_CALLS)
ROUND = (counted.ENS_ROUND_POSTS, counted.ENS_ROUND_CALLS)
RULES = (counted.ENS_RULES_POSTS, counted.ENS_RULES_CALLS)


def test_a_text_takes_what_was_counted_and_nothing_while_it_is_kept(undo: ExitStack) -> None:
    node = TextNode({ALICE: {PROFILE_KEY: "data:,"}})
    node.outcomes |= off_chain_answers(CAROL, PROFILE_KEY, "data:,", "https://gateway.example/{data}")
    asked, clock = Asked(undo, node), FakeClock(NOW)
    registry = EnsRegistry(lambda: asked.ens, LeakyBucket(1, 9, clock), clock)
    registry.text(ALICE, PROFILE_KEY)
    assert asked.counted() == TEXT
    assert registry.text(CAROL, PROFILE_KEY).value == "data:,"
    assert asked.counted() == (TEXT[0] + ROUND[0], TEXT[1] + ROUND[1])
    registry.text(ALICE, PROFILE_KEY)
    assert asked.counted() == (0, 0)


def test_a_rule_about_accounts_takes_what_was_counted(undo: ExitStack) -> None:
    asked, clock = Asked(undo, AccountNode(nonce=1, balance=10, token=5)), FakeClock(NOW)
    rate = LeakyBucket(1, 9, clock)
    addresses = EnsRegistry(lambda: asked.ens, rate, clock)
    accounts = SenderAccounts(addresses, lambda: asked.ens, rate, clock)
    assert accounts.reach(ALICE, AccountDemands(balance=1))
    assert asked.counted() == RULES
    assert accounts.reach(ALICE, AccountDemands(balance=1))
    assert asked.counted() == (0, 0)


def test_what_is_kept_and_how_many_must_agree_are_those_of_the_code() -> None:
    assert DEFAULT_SECONDS == REACHED_SECONDS == counted.ENS_KEPT_SECONDS
    assert DeploymentSettings().ens_quorum == counted.ENS_QUORUM


@pytest.mark.parametrize(("senders", "instances"), [(1, 1), (4, 1), (2, 3)])
def test_the_look_ups_of_mail_that_comes_at_random(senders: int, instances: int) -> None:
    """Simulated: each message is of any sender, and meets any instance."""
    chance, messages, looked_up = Random(senders + instances), 20_000, 0
    until: dict[tuple[int, int], float] = {}
    for at in sorted(chance.uniform(0, MONTH_SECONDS) for _ in range(messages)):
        place = chance.randrange(senders), chance.randrange(instances)
        if until.get(place, 0) <= at:
            until[place] = at + counted.ENS_KEPT_SECONDS
            looked_up += 1
    assert looked_up == pytest.approx(look_ups(messages, NameLoad(senders, instances)), rel=0.03)


def test_the_lines_of_the_bill_are_those_of_all_endpoints_that_must_agree() -> None:
    load = NameLoad(senders=10**9, off_chain=0.5, with_rules=0.25, quorum=3)
    posts, calls, waiting = name_items(load, 1000, PRICES)
    assert (posts.unit, calls.unit, posts.usd, calls.usd) == ("requests", "calls", None, None)
    assert posts.amount == pytest.approx(3 * 1000 * (1 + 0.25 * 2 + 0.5 * 1.25), rel=0.001)
    assert calls.amount == pytest.approx(3 * 1000 * (4 + 0.25 * 7 + 0.5 * 1.25 * 3), rel=0.001)
    assert waiting.usd is not None
    assert waiting.usd > 0


def test_without_senders_in_ens_there_are_none() -> None:
    assert list(name_items(NameLoad(), 1_000_000, PRICES)) == []
