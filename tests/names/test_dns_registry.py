"""The registry in DNS, over a real signed zone: which verdict is a text, an absence, a refusal or none."""

import json
import time
from contextlib import suppress
from typing import Any

import pytest
from tests.fakes.clock import FakeClock
from tests.names.ens.vectors import NAMES
from tests.names.patience import patient

from postroom.core.errors import NotNowError, TheirError
from postroom.local import zones
from postroom.local.dns import DnsServer
from postroom.local.zones import Mode, ZoneTree
from postroom.names.dns import Resolvers
from postroom.names.dns_registry import DnsRegistry
from postroom.names.dnssec import TrustAnchors
from postroom.names.profiles import Profiles
from postroom.names.registry import ABSENT_SECONDS, PROFILE_KEY, SERVICE_KEY
from postroom.protocols.dm3.keys import PrivateSigningKey
from postroom.protocols.dm3.profile import UserProfile, data_uri
from postroom.protocols.dm3.reasons import (
    PROFILE_INVALID,
    PROFILE_LOOKUP_FAILED,
    PROFILE_NOT_PROVEN,
)

DAN = NAMES["dns"]
NAME: str = DAN["name"]


def record(text: str, owner: str = "_dm3", ttl: int = 300) -> str:
    return f"{owner} {ttl} TXT {json.dumps(text)}"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(time.time())


@pytest.fixture
def registry(resolvers: Resolvers, anchors: TrustAnchors, clock: FakeClock) -> DnsRegistry:
    return DnsRegistry(resolvers.asking, anchors, clock)


def publish(tree: ZoneTree, *records: str, **mode: Any) -> None:
    tree.put(NAME, "\n".join(records), **mode)


def test_a_proven_text_is_found_with_its_verdict(registry: DnsRegistry, tree: ZoneTree) -> None:
    strings = " ".join(json.dumps(DAN["txt"][0][at : at + 200]) for at in range(0, len(DAN["txt"][0]), 200))
    publish(tree, f"_dm3 300 TXT {strings}")
    text = registry.text(NAME, PROFILE_KEY)
    assert text.value == DAN["texts"][PROFILE_KEY]
    assert text.evidence == {"registry": "dns", "dnssec": "secure"}
    proof = registry.evidence(NAME)
    assert proof is not None
    assert (proof.owner, next(link.zone for link in proof.chain)) == (f"_dm3.{NAME}.", ".")


def test_there_is_no_proof_of_what_was_not_found(registry: DnsRegistry, tree: ZoneTree) -> None:
    publish(tree, "other TXT x")
    assert registry.evidence(NAME) is None
    assert registry.text(NAME, PROFILE_KEY).value is None
    assert (registry.evidence(NAME), registry.evidence("alice.eth")) == (None, None)


@pytest.mark.parametrize(("ttl", "seconds"), [(5, 60), (120, 120)])
def test_a_text_may_be_kept_for_its_ttl_and_a_minute_at_least(
    registry: DnsRegistry, tree: ZoneTree, clock: FakeClock, ttl: int, seconds: int
) -> None:
    publish(tree, record(f"{PROFILE_KEY}=data:a", ttl=ttl))
    assert registry.text(NAME, PROFILE_KEY).seconds == pytest.approx(seconds, abs=1)
    clock.now += 40
    assert registry.text(NAME, PROFILE_KEY).seconds == pytest.approx(seconds - 40, abs=1)


def test_a_text_may_be_kept_for_an_hour_at_most(monkeypatch: pytest.MonkeyPatch, clock: FakeClock) -> None:
    day = 86_400
    monkeypatch.setattr(zones, "TTL_SECONDS", day)  # of the zones' keys, too
    tree = ZoneTree()
    publish(tree, record(f"{PROFILE_KEY}=data:a", ttl=day))
    with DnsServer(tree) as server, patient(server.address) as resolvers:
        registry = DnsRegistry(resolvers.asking, TrustAnchors.parse(tree.anchor_text), clock)
        assert registry.text(NAME, PROFILE_KEY).seconds == pytest.approx(3600, abs=1)


def test_a_name_with_one_of_the_texts_is_in_dns_for_the_other_too(registry: DnsRegistry, tree: ZoneTree) -> None:
    publish(tree, record(f"{PROFILE_KEY}=data:a"))
    assert registry.text(NAME, SERVICE_KEY).value == ""


def test_an_empty_text_takes_it_back(registry: DnsRegistry, tree: ZoneTree) -> None:
    publish(tree, record(f"{PROFILE_KEY}="))
    assert registry.text(NAME, PROFILE_KEY).value == ""


@pytest.mark.parametrize(
    ("records", "mode", "verdict"),
    [
        (["other TXT x"], Mode.SIGNED, "absent"),
        ([record("v=spf1 -all")], Mode.SIGNED, "absent"),
        ([record(f"{PROFILE_KEY}=data:a")], Mode.UNSIGNED, "insecure"),
    ],
    ids=["no records", "other records", "no DNSSEC"],
)
def test_a_name_that_is_proven_not_to_be_in_dns_may_be_elsewhere(
    registry: DnsRegistry, tree: ZoneTree, records: list[str], mode: Mode, verdict: str
) -> None:
    publish(tree, *records, mode=mode)
    text = registry.text(NAME, PROFILE_KEY)
    assert (text.value, text.evidence["dnssec"]) == (None, verdict)


@pytest.mark.parametrize("owner", ["other", "_dm3"])
def test_a_name_that_was_not_there_is_found_a_minute_after_it_was_published(
    registry: DnsRegistry, tree: ZoneTree, clock: FakeClock, owner: str
) -> None:
    profile = UserProfile(bytes(range(32)), PrivateSigningKey.generate().public, ("ds.eth",))
    profiles = Profiles(registry, clock)
    publish(tree, record("v=spf1 -all", owner, ttl=3600))

    def is_known() -> bool:
        with suppress(TheirError):
            return profiles.user(NAME) == profile
        return False

    assert not is_known()
    publish(tree, record("v=spf1 -all", owner, ttl=3600), record(f"{PROFILE_KEY}={data_uri(profile.as_json())}"))
    clock.now += ABSENT_SECONDS - 1
    assert not is_known()
    clock.now += 60 - (ABSENT_SECONDS - 1)
    assert is_known()


@pytest.mark.parametrize("name", ["alice.eth", "dan", "xn--a.example", f"{'a' * 64}.example"])
def test_names_that_are_not_looked_up_in_dns_cause_no_question(
    registry: DnsRegistry, server: DnsServer, name: str
) -> None:
    text = registry.text(name, PROFILE_KEY)
    assert (text.value, text.evidence["dnssec"], server.queries.total()) == (None, "not looked up", 0)


def test_bogus_records_are_refused(registry: DnsRegistry, tree: ZoneTree) -> None:
    publish(tree, record(f"{PROFILE_KEY}=data:a"), mode=Mode.BOGUS)
    with pytest.raises(TheirError) as caught:
        registry.text(NAME, PROFILE_KEY)
    assert caught.value.reason is PROFILE_NOT_PROVEN


@pytest.mark.parametrize(
    "records",
    [[record(f"{PROFILE_KEY}=data:a"), record(f"{PROFILE_KEY}=data:b")], ["_dm3 CNAME _dm3"]],
    ids=["two of one key", "a loop of aliases"],
)
def test_records_that_say_nothing_definite_are_refused(
    registry: DnsRegistry, tree: ZoneTree, records: list[str]
) -> None:
    publish(tree, *records)
    with pytest.raises(TheirError) as caught:
        registry.text(NAME, PROFILE_KEY)
    assert caught.value.reason is PROFILE_INVALID


def test_a_name_whose_servers_are_silent_could_not_be_found_out(
    anchors: TrustAnchors, clock: FakeClock, tree: ZoneTree, server: DnsServer
) -> None:
    publish(tree, record(f"{PROFILE_KEY}=data:a"))
    server.pause()
    with patient(server.address, try_seconds=0.2) as hasty:
        registry = DnsRegistry(hasty.asking, anchors, clock)
        with pytest.raises(NotNowError) as caught:
            registry.text(NAME, PROFILE_KEY)
    assert caught.value.reason is PROFILE_LOOKUP_FAILED


def test_a_fresh_text_is_asked_for_again(registry: DnsRegistry, tree: ZoneTree, clock: FakeClock) -> None:
    publish(tree, record(f"{PROFILE_KEY}=data:a"))
    registry.text(NAME, PROFILE_KEY)
    publish(tree, record(f"{PROFILE_KEY}=data:b"))
    clock.now += 3
    assert registry.text(NAME, PROFILE_KEY).value == "data:a"
    assert registry.text(NAME, PROFILE_KEY, fresh=True).value == "data:b"
