import dns.name

from postroom.names.dnssec.zones import KnownZones, Zone

NOW = 1_000


def name(number):
    return dns.name.from_text(f"z{number}.example")


def zone(until=NOW + 1):
    return Zone({}, (), until)


def test_a_zone_is_remembered_by_any_spelling_until_it_ends():
    known = KnownZones()
    known.put(name(1), zone(), NOW)
    assert known.get(dns.name.from_text("Z1.EXAMPLE"), NOW) == zone()
    assert known.get(name(1), NOW + 1) is None


def test_so_many_zones_are_remembered_and_no_more():
    known = KnownZones(most=2)
    for number in (1, 2):
        known.put(name(number), zone(), NOW)
    assert known.get(name(1), NOW)
    known.put(name(3), zone(), NOW)
    assert known.get(name(1), NOW)
    assert known.get(name(3), NOW)
    assert known.get(name(2), NOW) is None, "the one used longest ago leaves"
