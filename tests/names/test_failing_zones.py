"""Zones in which the hosts of several names failed."""

import dns.name
import dns.rrset
import pytest
from dns.rdatatype import SOA
from tests.fakes.clock import FakeClock

from postroom.core.errors import NotNowError
from postroom.local.zones import Mode
from postroom.names.failing_zones import FAILING_NAMES, FAILING_SECONDS, MAX_ZONES, FailingZones, zone_of
from postroom.protocols.nlweb.reasons import KEY_LOOKUP_FAILED

ZONE = "wild.example"


def failed(zones: FailingZones, zone: str = ZONE, names: int = FAILING_NAMES) -> None:
    for number in range(names):
        zones.note(f"n{number}.{zone}", zone)


def test_a_zone_fails_when_the_hosts_of_three_names_in_it_failed() -> None:
    zones = FailingZones(FakeClock(0.0))
    failed(zones, names=FAILING_NAMES - 1)
    assert zones.zone_above(f"another.{ZONE}") is None
    zones.note("n9.wild.example", ZONE)
    assert zones.zone_above(f"another.{ZONE}") == zones.zone_above(f"a.b.c.{ZONE}") == ZONE


def test_one_name_that_fails_again_and_again_is_not_its_zone() -> None:
    zones = FailingZones(FakeClock(0.0))
    for _ in range(10):
        zones.note(f"down.{ZONE}", ZONE)
    assert zones.zone_above(f"up.{ZONE}") is None


def test_a_failing_zone_is_left_alone_for_five_minutes_and_no_longer() -> None:
    clock = FakeClock(0.0)
    zones = FailingZones(clock)
    failed(zones)
    clock.now += FAILING_SECONDS - 1
    assert zones.zone_above(f"another.{ZONE}") == ZONE
    clock.now += 1
    assert zones.zone_above(f"another.{ZONE}") is None


def test_names_that_are_made_up_below_a_zone_do_not_stop_its_own_name_or_others() -> None:
    zones = FailingZones(FakeClock(0.0))
    failed(zones)
    for name in (ZONE, "example", "other.example", f"not{ZONE}"):
        assert zones.zone_above(name) is None


def test_the_number_of_remembered_zones_is_limited() -> None:
    zones = FailingZones(FakeClock(0.0))
    failed(zones)
    for number in range(MAX_ZONES):
        zones.note(f"a.z{number}.example", f"z{number}.example")
    assert zones.zone_above(f"another.{ZONE}") is None


# --- which zone a host is in ----------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def hosts(tree):
    tree.put("sender.example", "* A 127.0.0.1")
    tree.put("wild.test", "* A 127.0.0.1", Mode.UNSIGNED)


@pytest.mark.parametrize(
    ("host", "zone"),
    [
        ("nlweb.x1.wild.test", "wild.test"),
        ("wild.test", "wild.test"),
        ("nlweb.sender.example", "sender.example"),
    ],
)
def test_the_zone_of_a_host_is_the_one_that_answers_for_it(ask, host, zone):
    assert zone_of(host, ask) == zone


def test_a_zone_that_is_not_above_the_host_or_is_a_top_level_domain_is_not_believed(ask, meddle):
    for owner in ("test.", ".", "other.test.", "a.nlweb.x1.wild.test."):

        def another_zone(message, owner=owner):
            [soa] = [rrset for rrset in message.authority if rrset.rdtype.name == "SOA"]
            message.authority = [dns.rrset.from_rdata(owner, 60, soa[0])]

        assert zone_of("nlweb.x1.wild.test", meddle(another_zone, "nlweb.x1.wild.test", SOA)) is None


def test_without_an_answer_there_is_no_zone():
    def silent(_):
        raise NotNowError(KEY_LOOKUP_FAILED, "down")

    assert zone_of("nlweb.wild.test", silent) is None
    assert zone_of("x" * 64 + ".test", silent) is None
