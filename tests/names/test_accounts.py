"""The accounts of senders: which requests they take, and how long what was found counts."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from tests.fakes.clock import FakeClock
from tests.fakes.endpoints import FakeEndpoint, fake_endpoint
from tests.names.ens.nodes import NOW, AccountNode, ens_of
from tests.names.ens.vectors import NAMES, raw

from postroom.core.errors import NotNowError, TooSlowError
from postroom.core.leaky_bucket import LeakyBucket
from postroom.names import accounts
from postroom.names.accounts import MISSED_SECONDS, NONCE_REACHED_SECONDS, REACHED_SECONDS, SenderAccounts
from postroom.names.ens.accounts import AccountDemands
from postroom.names.ens_registry import FAILING_SECONDS, EnsRegistry
from postroom.names.registry import MemoryRegistry, RegistryText
from postroom.protocols.dm3.reasons import FILTER_RULE_UNCHECKED, PROFILE_LOOKUP_FAILED

NAME, TOKEN = "alice.eth", raw(NAMES["filter"]["token"])
NONCE, BALANCE = AccountDemands(nonce=1), AccountDemands(balance=10)
HELD = AccountDemands(token=TOKEN, token_balance=5)


class Setting:
    """Two nodes that are asked, and what asks them."""

    def __init__(self, undo: ExitStack) -> None:
        self.clock = FakeClock(NOW)
        self.nodes = [AccountNode(nonce=1, balance=10, token=5) for _ in range(2)]
        self.servers: list[FakeEndpoint] = [undo.enter_context(fake_endpoint(node)) for node in self.nodes]
        self.ens = ens_of(undo, self.servers)
        self.rate = LeakyBucket(1, 100, self.clock)
        self.registry = EnsRegistry(lambda: self.ens, self.rate, self.clock)
        self.accounts = SenderAccounts(self.registry, lambda: self.ens, self.rate, self.clock)

    @property
    def posts(self) -> int:
        """How many requests the first endpoint had."""
        return len(self.servers[0].bodies)


@pytest.fixture
def setting() -> Iterator[Setting]:
    with ExitStack() as undo:
        yield Setting(undo)


def test_all_rules_of_an_account_take_two_requests_of_each_endpoint(setting: Setting) -> None:
    assert setting.accounts.reach(NAME, AccountDemands(1, 10, TOKEN, 5))
    assert [len(each.bodies) for each in setting.servers] == [2, 2]


@pytest.mark.parametrize("more", [{"nonce": 2}, {"balance": 11}, {"token": TOKEN, "token_balance": 6}], ids=str)
def test_one_number_that_is_too_small_is_enough(setting: Setting, more: dict[str, Any]) -> None:
    demands = AccountDemands(**{"nonce": 1, "balance": 10, "token": TOKEN, "token_balance": 5, **more})
    assert not setting.accounts.reach(NAME, demands)


def test_a_name_without_an_address_holds_nothing(setting: Setting) -> None:
    assert not setting.accounts.reach("nobody.eth", NONCE)
    assert setting.posts == 1


@pytest.mark.parametrize(
    ("demands", "seconds"),
    [(NONCE, NONCE_REACHED_SECONDS), (BALANCE, REACHED_SECONDS), (HELD, REACHED_SECONDS)],
    ids=["nonce", "balance", "token"],
)
def test_what_was_reached_counts_for_a_time(setting: Setting, demands: AccountDemands, seconds: int) -> None:
    assert setting.accounts.reach(NAME, demands)
    for node in setting.nodes:
        node.nonce = node.balance = node.token = 0
    setting.clock.now += seconds - 1
    assert setting.accounts.reach(NAME, demands)
    assert setting.posts == 2
    setting.clock.now += 1
    assert not setting.accounts.reach(NAME, demands)


def test_what_was_missed_counts_for_half_a_minute(setting: Setting) -> None:
    more = AccountDemands(nonce=2)
    assert not setting.accounts.reach(NAME, more)
    for node in setting.nodes:
        node.nonce = 2
    setting.clock.now += MISSED_SECONDS - 1
    assert not setting.accounts.reach(NAME, more)
    assert setting.posts == 2
    setting.clock.now += 1
    assert setting.accounts.reach(NAME, more)


def test_only_what_is_not_known_is_asked(setting: Setting) -> None:
    assert setting.accounts.reach(NAME, AccountDemands(nonce=1, balance=10))
    setting.clock.now += REACHED_SECONDS
    assert setting.accounts.reach(NAME, AccountDemands(nonce=1, balance=10))
    assert [node.looked_up for node in setting.nodes] == [["nonce", "balance", "balance"]] * 2


def test_the_quorum_is_over_what_is_reached_and_not_over_the_numbers(setting: Setting) -> None:
    setting.nodes[1].balance = 10_000
    assert setting.accounts.reach(NAME, BALANCE)
    setting.nodes[0].nonce = 0
    with pytest.raises(NotNowError) as caught:
        setting.accounts.reach(NAME, NONCE)
    assert caught.value.reason is FILTER_RULE_UNCHECKED


def test_what_could_not_be_found_out_is_not_kept(setting: Setting) -> None:
    for server in setting.servers:
        server.answer = lambda _: (500, {}, b"")
    with pytest.raises(NotNowError) as caught:
        setting.accounts.reach(NAME, NONCE)
    assert caught.value.reason is FILTER_RULE_UNCHECKED
    for server, node in zip(setting.servers, setting.nodes, strict=True):
        server.answer = node
    setting.clock.now += FAILING_SECONDS
    assert setting.accounts.reach(NAME, NONCE)


def test_a_name_whose_address_could_not_be_found_out_is_left_alone_for_some_seconds(setting: Setting) -> None:
    for server in setting.servers:
        server.answer = lambda _: (500, {}, b"")
    for _ in range(3):
        with pytest.raises(NotNowError):
            setting.accounts.reach(NAME, NONCE)
    assert setting.posts == 1


def test_the_numbers_of_an_account_are_read_again_at_once_if_they_could_not_be_read(setting: Setting) -> None:
    node = setting.nodes[0]
    setting.servers[0].answer = lambda body: node(body) if setting.posts == 1 else (500, {}, b"")
    with pytest.raises(NotNowError):
        setting.accounts.reach(NAME, NONCE)
    setting.servers[0].answer = node
    assert setting.accounts.reach(NAME, NONCE)
    assert setting.posts == 3


def test_a_name_without_a_dot_has_no_address_anywhere(setting: Setting) -> None:
    assert not setting.accounts.reach("alice", NONCE)
    assert setting.posts == 0


def test_an_address_that_took_too_long_is_told_so(setting: Setting) -> None:
    class SlowRegistry(MemoryRegistry):
        def text(self, name: str, key: str, *, fresh: bool = False) -> RegistryText:
            raise TooSlowError(PROFILE_LOOKUP_FAILED)

    slow = SenderAccounts(SlowRegistry(), lambda: setting.ens, setting.rate, setting.clock)
    with pytest.raises(TooSlowError) as caught:
        slow.reach(NAME, NONCE)
    assert caught.value.reason is FILTER_RULE_UNCHECKED


def test_look_ups_have_a_rate(setting: Setting) -> None:
    for place in range(100):
        setting.accounts.reach(f"nobody{place}.eth", NONCE)
    assert not setting.accounts.reach("nobody0.eth", NONCE)
    for what in ("names", "accounts"):
        with pytest.raises(NotNowError, match=f"too many {what}") as caught:
            setting.accounts.reach(NAME, NONCE)
        assert caught.value.reason is FILTER_RULE_UNCHECKED
        setting.clock.now += 1
    assert setting.accounts.reach(NAME, NONCE)


def test_the_number_of_kept_verdicts_is_limited(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accounts, "MAX_VERDICTS", 1)
    few = SenderAccounts(setting.registry, lambda: setting.ens, setting.rate, setting.clock)
    assert few.reach(NAME, AccountDemands(nonce=1, balance=10))
    assert few.reach(NAME, BALANCE)
    assert setting.posts == 2
    assert few.reach(NAME, NONCE)
    assert setting.posts == 3


def test_without_endpoints_no_rule_can_be_checked() -> None:
    clock = FakeClock()
    with pytest.raises(NotNowError, match="no endpoints") as caught:
        SenderAccounts(MemoryRegistry(), lambda: None, LeakyBucket(1, 1, clock), clock).reach(NAME, NONCE)
    assert caught.value.reason is FILTER_RULE_UNCHECKED
