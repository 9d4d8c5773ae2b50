"""Profiles by name: looked up in a registry, read, remembered for a time (decision "Profiles")."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.fakes.names import FakeRegistry

from postroom.core.errors import NotNowError, TheirError
from postroom.core.reason import Reason
from postroom.core.reasons import TOO_MANY_LOOK_UPS
from postroom.names import profiles as module
from postroom.names.profiles import Profiles
from postroom.names.registry import MAX_TEXT_SECONDS, PROFILE_KEY, SERVICE_KEY, RegistryText
from postroom.names.uris import PublishedJson
from postroom.protocols.dm3.keys import PrivateSigningKey
from postroom.protocols.dm3.profile import ServiceProfile, UserProfile, data_uri
from postroom.protocols.dm3.reasons import (
    NAME_INVALID,
    PROFILE_INVALID,
    PROFILE_LOOKUP_FAILED,
    PROFILE_UNKNOWN,
    PROFILE_URI_UNSUPPORTED,
)

KEY = PrivateSigningKey.generate().public
ALICE = UserProfile(bytes(range(32)), KEY, ("ds.eth",))
MOVED = UserProfile(bytes(range(32)), KEY, ("other.eth",))
SERVICE = ServiceProfile(bytes(range(32)), KEY, "https://ds.example/dm3")


class TimedRegistry(FakeRegistry):
    """A registry with a clock."""

    now = 1_000_000.0

    def clock(self) -> float:
        return self.now


@pytest.fixture
def registry() -> TimedRegistry:
    return TimedRegistry(
        {
            "alice.eth": {PROFILE_KEY: data_uri(ALICE.as_json())},
            "a.b.co.uk": {PROFILE_KEY: data_uri(ALICE.as_json())},
            "ds.eth": {SERVICE_KEY: data_uri(SERVICE.as_json())},
            "empty.eth": {PROFILE_KEY: ""},
            "broken.eth": {PROFILE_KEY: "data:application/json,{}"},
            "mixed-up.eth": {PROFILE_KEY: data_uri(SERVICE.as_json())},
            "linked.eth": {PROFILE_KEY: "https://h.example/a?dm3Hash=0x00"},
        }
    )


def profiles(registry: TimedRegistry, **settings: Any) -> Profiles:
    return Profiles(registry, registry.clock, **settings)


def reason_for(ours: Profiles, name: str) -> Reason:
    with pytest.raises((TheirError, NotNowError)) as caught:
        ours.user(name)
    assert isinstance(caught.value, TheirError | NotNowError)
    return caught.value.reason


def test_users_and_services_are_found_by_their_texts(registry: TimedRegistry) -> None:
    ours = profiles(registry)
    assert ours.user("alice.eth") == ALICE
    assert ours.service("ds.eth") == SERVICE


def test_one_name_may_be_a_user_and_a_service(registry: TimedRegistry) -> None:
    registry.put("ds.eth", PROFILE_KEY, data_uri(ALICE.as_json()))
    ours = profiles(registry)
    assert (ours.service("ds.eth"), ours.user("ds.eth")) == (SERVICE, ALICE)


def test_a_name_is_normalized_and_looked_up_once(registry: TimedRegistry) -> None:
    ours = profiles(registry)
    assert ours.user("ALICE.eth") == ours.user("Alice.eth") == ALICE
    assert registry.lookups == ["alice.eth"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("bob.eth", PROFILE_UNKNOWN),
        ("ds.eth", PROFILE_UNKNOWN),
        ("empty.eth", PROFILE_UNKNOWN),
        ("broken.eth", PROFILE_INVALID),
        ("mixed-up.eth", PROFILE_INVALID),
        ("linked.eth", PROFILE_URI_UNSUPPORTED),
    ],
)
def test_a_name_without_a_profile_is_refused_and_looked_up_again_later(
    registry: TimedRegistry, name: str, reason: Reason
) -> None:
    ours = profiles(registry)
    assert reason_for(ours, name) is reason
    registry.put(name, PROFILE_KEY, data_uri(ALICE.as_json()))
    registry.now += 29
    assert reason_for(ours, name) is reason
    assert registry.lookups == [name]
    registry.now += 1
    assert ours.user(name) == ALICE


def test_an_invalid_name_is_not_looked_up(registry: TimedRegistry) -> None:
    assert reason_for(profiles(registry), "not a name") is NAME_INVALID
    assert registry.lookups == []


def test_a_profile_is_cached_for_its_lifetime(registry: TimedRegistry) -> None:
    ours = profiles(registry)
    ours.user("alice.eth")
    registry.put("alice.eth", PROFILE_KEY, data_uri(MOVED.as_json()))
    registry.now += 299
    assert ours.user("alice.eth") == ALICE
    registry.now += 1
    assert ours.user("alice.eth") == MOVED


def test_a_failed_look_up_is_raised_and_not_cached(registry: TimedRegistry) -> None:
    ours = profiles(registry)
    registry.down = True
    assert reason_for(ours, "alice.eth") is PROFILE_LOOKUP_FAILED
    registry.down = False
    assert ours.user("alice.eth") == ALICE


def test_cached_profiles_are_found_while_the_registry_is_unavailable(registry: TimedRegistry) -> None:
    ours = profiles(registry)
    ours.user("alice.eth")
    reason_for(ours, "bob.eth")
    registry.down = True
    assert ours.user("alice.eth") == ALICE
    assert reason_for(ours, "bob.eth") is PROFILE_UNKNOWN


def test_the_cache_is_limited_and_names_without_a_profile_displace_none(registry: TimedRegistry) -> None:
    for name in ("b.eth", "c.eth"):
        registry.put(name, PROFILE_KEY, data_uri(ALICE.as_json()))
    ours = profiles(registry, most=2)
    for name in ("alice.eth", "b.eth"):
        ours.user(name)
    for number in range(3):
        reason_for(ours, f"{number}.eth")
    registry.lookups.clear()
    for name in ("alice.eth", "b.eth", "c.eth", "b.eth", "alice.eth"):
        ours.user(name)
    for number in (2, 1, 0):
        reason_for(ours, f"{number}.eth")
    assert registry.lookups == ["c.eth", "alice.eth", "0.eth"]


def test_the_total_size_of_cached_profiles_is_limited(registry: TimedRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("b.eth", "c.eth"):
        registry.put(name, PROFILE_KEY, data_uri(ALICE.as_json()))
    monkeypatch.setattr(module, "MAX_CACHED_BYTES", 2 * len(data_uri(ALICE.as_json())))
    ours = profiles(registry)
    for name in ("alice.eth", "b.eth", "alice.eth", "c.eth", "alice.eth", "b.eth"):
        ours.user(name)
    assert registry.lookups == ["alice.eth", "b.eth", "c.eth", "b.eth"]


def test_a_fresh_profile_is_at_most_two_seconds_old(registry: TimedRegistry) -> None:
    ours = profiles(registry)
    ours.user("alice.eth")
    registry.put("alice.eth", PROFILE_KEY, data_uri(MOVED.as_json()))
    registry.now += 1.9
    assert ours.user("alice.eth", fresh=True) == ALICE
    registry.now += 0.1
    assert ours.user("alice.eth") == ALICE
    assert ours.user("alice.eth", fresh=True) == MOVED
    assert ours.user("alice.eth") == MOVED


def test_a_profile_is_cached_for_as_long_as_its_own_text_may_be_kept() -> None:
    brief = TimedRegistry({"alice.eth": {PROFILE_KEY: data_uri(ALICE.as_json())}}, keep_seconds=60)
    ours = profiles(brief)
    ours.user("alice.eth")
    brief.now += 59.9
    ours.user("alice.eth")
    assert brief.lookups == ["alice.eth"]
    brief.now += 0.1
    ours.user("alice.eth")
    assert brief.lookups == ["alice.eth"] * 2


def test_a_name_that_is_pinned_now_is_no_longer_what_was_found_elsewhere(registry: TimedRegistry) -> None:
    pinned = FakeRegistry()
    ours = profiles(registry, pinned=pinned)
    assert ours.user("alice.eth") == ALICE
    pinned.put("alice.eth", PROFILE_KEY, data_uri(MOVED.as_json()))
    assert ours.user("alice.eth") == MOVED
    pinned.put("ds.eth", PROFILE_KEY, data_uri(MOVED.as_json()))
    assert ours.user("ds.eth") == MOVED
    assert registry.lookups == ["alice.eth"]


def test_a_name_that_is_pinned_for_one_text_is_looked_up_nowhere_else_for_the_other(registry: TimedRegistry) -> None:
    pinned = FakeRegistry({"alice.eth": {SERVICE_KEY: data_uri(SERVICE.as_json())}})
    assert reason_for(profiles(registry, pinned=pinned), "alice.eth") is PROFILE_UNKNOWN
    assert registry.lookups == []


def test_profiles_that_are_documents_count_by_their_size(
    registry: TimedRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = {f"https://{name}": PublishedJson(ALICE.as_json(), 40) for name in ("a.eth", "b.eth", "c.eth")}
    for uri in documents:
        registry.put(uri.removeprefix("https://"), PROFILE_KEY, uri)
    monkeypatch.setattr(module, "MAX_CACHED_BYTES", 2 * 40)
    ours = Profiles(registry, registry.clock, documents.__getitem__)
    for name in ("a.eth", "b.eth", "a.eth", "c.eth", "a.eth", "b.eth"):
        assert ours.user(name) == ALICE
    assert registry.lookups == ["a.eth", "b.eth", "c.eth", "b.eth"]


class Held:
    """The look-ups of domains that are going on: `domains`; at most `most` are ever allowed."""

    def __init__(self, most: int = 1_000) -> None:
        self.domains: list[str] = []
        self.most = most

    @contextmanager
    def __call__(self, domain: str) -> Iterator[bool]:
        self.domains.append(domain)
        yield len(self.domains) <= self.most


def test_a_look_up_of_a_sender_receiver_or_owner_counts_for_the_registrable_domain(registry: TimedRegistry) -> None:
    senders, receivers, owners = Held(), Held(), Held()
    ours = profiles(registry, senders=senders, receivers=receivers, owners=owners)
    ours.user("alice.eth")
    ours.service("ds.eth")
    ours.find_sender("alice.eth")
    ours.find_receiver("alice.eth")
    assert senders.domains == receivers.domains == [], "it is in memory"
    ours.find_sender("a.b.co.uk")
    registry.now += 3
    ours.find_sender("a.b.co.uk", fresh=True)
    registry.now += 300
    ours.find_receiver("a.b.co.uk")
    assert (senders.domains, receivers.domains, owners.domains) == (["b.co.uk"] * 2, ["b.co.uk"], [])
    assert ours.owner("a.b.co.uk") == ours.user("a.b.co.uk")
    registry.now += 3
    ours.owner("a.b.co.uk", fresh=True)
    assert owners.domains == ["b.co.uk"]


@pytest.mark.parametrize("find", ["find_sender", "find_receiver", "owner"])
def test_a_name_beyond_the_limit_of_look_ups_is_not_looked_up(registry: TimedRegistry, find: str) -> None:
    ours = profiles(registry, senders=Held(most=0), receivers=Held(most=0), owners=Held(most=0))
    with pytest.raises(NotNowError) as caught:
        getattr(ours, find)("alice.eth")
    assert caught.value.reason is TOO_MANY_LOOK_UPS
    assert registry.lookups == []


def test_a_name_without_a_dot_is_in_no_registry_of_strangers_and_in_no_limit(registry: TimedRegistry) -> None:
    with pytest.raises(TheirError):
        profiles(registry, senders=Held(most=0)).find_sender("alice")


def test_a_sender_that_is_pinned_is_in_no_limit(registry: TimedRegistry) -> None:
    ours = profiles(TimedRegistry({}), pinned=registry, senders=Held(most=0))
    assert ours.find_sender("alice.eth").profile == ALICE


def test_a_text_that_is_kept_for_all_is_in_no_limit_unless_it_leads_to_a_document(registry: TimedRegistry) -> None:
    def kept(name: str, key: str) -> RegistryText:
        return registry.text(name, key)

    ours = profiles(TimedRegistry({}), kept=kept, senders=Held(most=0))
    assert ours.find_sender("alice.eth").profile == ALICE
    with pytest.raises(NotNowError) as caught:
        ours.find_sender("linked.eth")
    assert caught.value.reason is TOO_MANY_LOOK_UPS


def test_while_too_many_look_ups_are_made_a_profile_counts_for_an_hour(registry: TimedRegistry) -> None:
    ours = profiles(registry, senders=Held(most=1))
    assert ours.find_sender("alice.eth").profile == ALICE
    registry.put("alice.eth", PROFILE_KEY, data_uri(MOVED.as_json()))
    registry.now += MAX_TEXT_SECONDS - 1
    assert ours.find_sender("alice.eth").profile == ALICE
    with pytest.raises(NotNowError):
        ours.find_sender("alice.eth", fresh=True)
    assert ours.user("alice.eth") == MOVED, "it is looked up anew as soon as that is possible"
    registry.now += MAX_TEXT_SECONDS
    with pytest.raises(NotNowError) as caught:
        ours.find_sender("alice.eth")
    assert caught.value.reason is TOO_MANY_LOOK_UPS
