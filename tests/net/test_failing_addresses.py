"""Addresses that failed, and are not connected to for some minutes."""

from ipaddress import ip_address

from tests.fakes.clock import FakeClock

from postroom.net.failing_addresses import FAILING_SECONDS, MAX_FAILING, FailingAddresses

FIRST, SECOND = ip_address("192.0.2.1"), ip_address("192.0.2.2")


def test_an_address_that_failed_is_left_out_for_five_minutes_and_no_longer() -> None:
    clock = FakeClock(0.0)
    failing = FailingAddresses(clock)
    failing.note(FIRST)
    clock.now += FAILING_SECONDS - 1
    assert failing.without([FIRST, SECOND]) == [SECOND]
    clock.now += 1
    assert failing.without([FIRST, SECOND]) == [FIRST, SECOND]


def test_a_host_is_tried_again_when_the_first_of_its_addresses_may_be() -> None:
    clock = FakeClock(0.0)
    failing = FailingAddresses(clock)
    failing.note(FIRST)
    clock.now += 100
    failing.note(SECOND)
    assert failing.seconds_left([SECOND]) == FAILING_SECONDS
    assert failing.seconds_left([SECOND, FIRST]) == FAILING_SECONDS - 100
    clock.now += FAILING_SECONDS - 100
    assert failing.seconds_left([SECOND, FIRST]) == 0


def test_all_ipv6_addresses_of_one_network_count_as_one() -> None:
    failing = FailingAddresses(FakeClock(0.0))
    failing.note(ip_address("2001:db8:0:1::1"))
    assert failing.without([ip_address("2001:db8:0:1:ffff::9")]) == []
    assert failing.without([ip_address("2001:db8:0:2::1")]) == [ip_address("2001:db8:0:2::1")]


def test_addresses_of_both_families_are_told_apart() -> None:
    failing = FailingAddresses(FakeClock(0.0))
    failing.note(ip_address(int(ip_address("0:0:0:1::")) >> 64))
    assert failing.without([ip_address("0:0:0:1::5")]) == [ip_address("0:0:0:1::5")]


def test_the_number_of_remembered_addresses_is_limited() -> None:
    failing = FailingAddresses(FakeClock(0.0))
    failing.note(FIRST)
    for number in range(MAX_FAILING):
        failing.note(ip_address(int(ip_address("198.18.0.0")) + number))
    assert failing.without([FIRST]) == [FIRST]
