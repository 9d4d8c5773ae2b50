"""The registry in ENS: how often endpoints are asked, how long texts may be kept, and what is no text."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest
from tests.fakes.clock import FakeClock
from tests.fakes.endpoints import FakeEndpoint, fake_endpoint
from tests.names.ens.nodes import NOW, EchoGateways, TextNode, ens_of, off_chain_answers, reverted

from postroom.core.errors import NotNowError
from postroom.core.leaky_bucket import LeakyBucket
from postroom.names.ens_registry import ASK_SECONDS, FAILING_SECONDS, EnsRegistry
from postroom.names.registry import PROFILE_KEY, SERVICE_KEY, RegistryText
from postroom.net.https import HttpsResponse
from postroom.protocols.dm3.reasons import PROFILE_LOOKUP_FAILED

NAME = "alice.eth"
TTLS = {"default.eth": 0, "brief.eth": 5, "usual.eth": 600, "long.eth": 86_400}
TEXTS = {name: {PROFILE_KEY: f"data:{name}"} for name in (NAME, *TTLS)} | {"taken-back.eth": {PROFILE_KEY: ""}}


class EnsSetting:
    """Two nodes, and the registry that asks them."""

    def __init__(self, undo: ExitStack) -> None:
        self.undo = undo
        self.clock = FakeClock(NOW)
        self.nodes = [TextNode(TEXTS, TTLS) for _ in range(2)]
        self.servers: list[FakeEndpoint] = [undo.enter_context(fake_endpoint(node)) for node in self.nodes]
        chain = ens_of(undo, self.servers)
        self.registry = EnsRegistry(lambda: chain, LeakyBucket(1, 4, self.clock), self.clock)

    def text(self, name: str = NAME, *, fresh: bool = False) -> RegistryText:
        return self.registry.text(name, PROFILE_KEY, fresh=fresh)

    def fails(self, name: str = NAME) -> str:
        """Why a name could not be found out."""
        with pytest.raises(NotNowError) as caught:
            self.text(name)
        assert caught.value.reason is PROFILE_LOOKUP_FAILED
        return caught.value.detail

    def change(self, node: TextNode) -> None:
        """Both nodes say now what this one says."""
        for each in self.nodes:
            each.outcomes = node.outcomes

    @property
    def posts(self) -> int:
        """How many requests the first endpoint had."""
        return len(self.servers[0].bodies)


@pytest.fixture
def setting() -> Iterator[EnsSetting]:
    with ExitStack() as undo:
        yield EnsSetting(undo)


def test_a_text_is_found_with_its_block_and_how_many_agreed(setting: EnsSetting) -> None:
    text = setting.text()
    assert (text.value, text.evidence) == (f"data:{NAME}", {"registry": "ens", "block": 16, "agreed": 2})


class SlowGateways(EchoGateways):
    """Gateways until whose answer the chain has a new block."""

    def __init__(self, nodes: list[TextNode]) -> None:
        super().__init__()
        self._nodes = nodes

    def post(self, url: str, body: bytes, content_type: str, *, seconds: float) -> HttpsResponse:
        for node in self._nodes:
            node.block += 1
        return super().post(url, body, content_type, seconds=seconds)


def test_the_block_of_a_text_off_chain_is_the_last_one_that_was_agreed_on(setting: EnsSetting) -> None:
    for node in setting.nodes:
        node.outcomes |= off_chain_answers(NAME, PROFILE_KEY, "data:off chain", "https://gateway.example/")
    chain = replace(ens_of(setting.undo, setting.servers), gateways=SlowGateways(setting.nodes))
    text = EnsRegistry(lambda: chain, LeakyBucket(1, 1, setting.clock), setting.clock).text(NAME, PROFILE_KEY)
    assert (text.value, text.evidence["block"]) == ("data:off chain", 17)


@pytest.mark.parametrize(
    ("name", "seconds"), [("default.eth", 300), ("brief.eth", 60), ("usual.eth", 600), ("long.eth", 3600)]
)
def test_a_text_may_be_kept_for_the_registrys_ttl_within_a_minute_and_an_hour(
    setting: EnsSetting, name: str, seconds: int
) -> None:
    assert setting.text(name).seconds == seconds
    setting.clock.now += 20
    assert setting.text(name).seconds == seconds - 20


@pytest.mark.parametrize("name", ["nobody.eth", "taken-back.eth"])
def test_an_absence_and_an_empty_text_may_be_elsewhere_and_are_kept_for_half_a_minute(
    setting: EnsSetting, name: str
) -> None:
    text = setting.text(name)
    assert (text.value, text.seconds, text.evidence["agreed"]) == (None, 30, 2)


def test_a_name_is_asked_about_once_in_half_a_minute_even_for_a_fresh_text(setting: EnsSetting) -> None:
    setting.text()
    setting.change(TextNode({NAME: {PROFILE_KEY: "data:new"}}))
    setting.clock.now += ASK_SECONDS - 1
    assert setting.text(fresh=True).value == f"data:{NAME}"
    assert setting.posts == 1
    setting.clock.now += 1
    assert setting.text(fresh=True).value == "data:new"
    assert setting.posts == 2


def test_the_texts_of_a_name_are_looked_up_one_by_one(setting: EnsSetting) -> None:
    setting.text()
    assert setting.registry.text(NAME, SERVICE_KEY).value is None


def test_look_ups_are_limited_and_those_that_were_not_begun_count_as_none(setting: EnsSetting) -> None:
    for number in range(4):
        setting.text(f"{number}.eth")
    assert "too many" in setting.fails()
    assert setting.posts == 4
    setting.clock.now += 1
    assert setting.text().value == f"data:{NAME}"


@pytest.mark.parametrize(
    "error", ["0x95c0c752", "0x01800152", "0x", "0x12345678"], ids=["ResolverError", "HttpError", "no data", "another"]
)
def test_a_name_that_could_not_be_found_out_is_left_alone_for_a_moment(setting: EnsSetting, error: str) -> None:
    good = setting.nodes[0].outcomes
    for node in setting.nodes:
        node.outcomes = {data: reverted(error) for data in good}
    setting.fails()
    for node in setting.nodes:
        node.outcomes = good
    setting.clock.now += FAILING_SECONDS - 1
    setting.fails()
    assert setting.posts == 1
    setting.clock.now += 1
    assert setting.text().value == f"data:{NAME}"


def test_endpoints_that_differ_prove_nothing(setting: EnsSetting) -> None:
    setting.nodes[1].outcomes = TextNode({NAME: {PROFILE_KEY: "data:a lie"}}).outcomes
    assert setting.fails() == "1 of 2 endpoints of the chain said the same; 2 are needed"


def test_a_name_without_a_dot_is_not_in_ens(setting: EnsSetting) -> None:
    assert (setting.text("alice").value, setting.posts) == (None, 0)


@pytest.mark.parametrize("bound", [("MAX_TEXTS", 1), ("MAX_TEXT_CHARACTERS", 1.5 * len(f"data:{NAME}"))], ids=str)
def test_the_number_and_the_size_of_kept_texts_are_limited(
    setting: EnsSetting, monkeypatch: pytest.MonkeyPatch, bound: tuple[str, int]
) -> None:
    monkeypatch.setattr(f"postroom.names.ens_registry.{bound[0]}", bound[1])
    chain = ens_of(setting.undo, setting.servers)
    few = EnsRegistry(lambda: chain, LeakyBucket(1, 9, setting.clock), setting.clock)
    for name in (NAME, "brief.eth", NAME, NAME):
        few.text(name, PROFILE_KEY)
    assert setting.posts == 3


def test_without_endpoints_no_name_is_in_ens() -> None:
    clock = FakeClock()
    registry = EnsRegistry(lambda: None, LeakyBucket(1, 1, clock), clock)
    assert [registry.text(NAME, PROFILE_KEY).value for _ in range(3)] == [None] * 3
