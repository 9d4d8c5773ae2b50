import logging
import os
import stat
import time

import dns.dnssec
import dns.name
import dns.rrset
import pytest
from dns.rdatatype import AAAA, DNSKEY, DS, NS, NSEC, RRSIG, SOA, TXT, A

from postroom.core.errors import SettingsError
from postroom.local.zones import Mode, ZoneTree

NAME = dns.name.from_text("x.sender.example")
SENDER = dns.name.from_text("sender.example")
EXAMPLE = dns.name.from_text("example")
LONGEST = ".".join(["a" * 60] * 4)
"""There is no room for its name server's name."""


def texts(tree, name=NAME):
    zone = max((o for o in tree.zones() if name.is_subdomain(o)), key=len)
    rdataset = tree.zones()[zone].get_rdataset(name, TXT)
    return [record.strings[0].decode() for record in rdataset or ()]


def holds(tree, zone, name, rdtype):
    """Whether the signature of `zone` over an RRset holds."""
    origin = dns.name.from_text(zone)
    rdataset, rrsig = (tree.zones()[origin].get_rdataset(name, t, c) for t, c in ((rdtype, 0), (RRSIG, rdtype)))
    records = dns.rrset.from_rdata_list(name, rdataset.ttl, list(rdataset))
    keys = {origin: dns.rdataset.from_rdata(0, tree.key(zone).record)}
    try:
        dns.dnssec.validate_rrsig(records, rrsig[0], keys)
    except dns.dnssec.ValidationFailure:
        return False
    return True


def test_the_zones_above_a_zone_are_made_up_to_the_root():
    tree = ZoneTree()
    assert [str(origin) for origin in tree.zones()] == ["."]
    tree.put("sender.example", "x TXT hello")
    assert {str(origin) for origin in tree.zones()} == {".", "example.", "sender.example."}


def test_the_required_records_of_a_zone_may_be_left_out():
    tree = ZoneTree()
    tree.put("sender.example", "x TXT hello")
    zone = tree.zones()[SENDER]
    assert zone.get_rdataset(SENDER, SOA)
    assert zone.get_rdataset(SENDER, NS)[0].target == dns.name.from_text("ns.sender.example")


def test_a_delegation_has_name_servers_their_addresses_and_the_ds():
    tree = ZoneTree()
    tree.put("sender.example", "@ NS a.sender.example.\n@ NS b.other.test.\na A 127.0.0.1\na AAAA ::1")
    above = tree.zones()[EXAMPLE]
    assert {str(record.target) for record in above.get_rdataset(SENDER, NS)} == {
        "a.sender.example.",
        "b.other.test.",
    }
    assert above.get_rdataset(dns.name.from_text("a.sender.example"), A)
    assert above.get_rdataset(dns.name.from_text("a.sender.example"), AAAA)
    ds = dns.dnssec.make_ds(SENDER, tree.key("sender.example").record, "SHA256")
    assert list(above.get_rdataset(SENDER, DS)) == [ds]


def test_a_delegation_written_by_hand_is_left_as_it_is():
    tree = ZoneTree()
    tree.put("example", f"sender NS ns.elsewhere.test.\nsender DS 1 13 2 {'00' * 32}")
    tree.put("sender.example", "x TXT hello")
    above = tree.zones()[EXAMPLE]
    assert [str(record.target) for record in above.get_rdataset(SENDER, NS)] == ["ns.elsewhere.test."]
    assert [record.key_tag for record in above.get_rdataset(SENDER, DS)] == [1]


@pytest.mark.parametrize(
    ("zone", "name", "rdtype"),
    [
        ("sender.example.", NAME, TXT),
        ("sender.example.", NAME, NSEC),
        ("sender.example.", SENDER, DNSKEY),
        ("sender.example.", SENDER, SOA),
        ("example.", SENDER, DS),
        (".", EXAMPLE, DS),
        (".", dns.name.root, DNSKEY),
    ],
)
def test_every_zone_is_signed_by_its_key(zone, name, rdtype):
    tree = ZoneTree()
    tree.put("sender.example", "x TXT hello")
    assert holds(tree, zone, name, rdtype)


def test_an_unsigned_zone_has_no_signatures_and_no_ds():
    tree = ZoneTree()
    tree.put("sender.example", "x TXT hello", Mode.UNSIGNED)
    kinds = {rdataset.rdtype for _, rdataset in tree.zones()[SENDER].iterate_rdatasets()}
    assert kinds == {TXT, SOA, NS, A}
    assert tree.zones()[EXAMPLE].get_rdataset(SENDER, NS)
    assert tree.zones()[EXAMPLE].get_rdataset(SENDER, DS) is None


def test_a_bogus_zone_has_valid_signatures_over_its_keys_only():
    tree = ZoneTree()
    tree.put("sender.example", "x TXT hello", Mode.BOGUS)
    assert holds(tree, "sender.example.", SENDER, DNSKEY)
    assert not holds(tree, "sender.example.", NAME, TXT)
    assert not holds(tree, "sender.example.", SENDER, SOA)
    assert holds(tree, "example.", SENDER, DS)


def test_a_zone_put_again_has_new_records_and_its_old_key():
    tree = ZoneTree()
    tree.put("sender.example", "x TXT one")
    key, anchor = tree.key("sender.example").record, tree.anchor_text
    tree.put("sender.example", "x TXT two")
    assert texts(tree) == ["two"]
    assert holds(tree, "sender.example.", NAME, TXT)
    assert (tree.key("sender.example").record, tree.anchor_text) == (key, anchor)


def test_a_zone_put_again_has_a_new_delegation_in_the_zone_above():
    tree = ZoneTree()
    tree.put("sender.example", "", Mode.UNSIGNED)
    tree.put("sender.example", "@ NS b.sender.example.\nb A 127.0.0.1")
    assert [str(record.target) for record in tree.zones()[EXAMPLE].get_rdataset(SENDER, NS)] == ["b.sender.example."]
    assert holds(tree, "example.", SENDER, DS)


def test_only_what_a_new_zone_changes_is_signed_again():
    tree = ZoneTree()
    tree.put("sender.example", "x TXT hello")
    before = dict(tree.zones())
    tree.put("other.example", "")
    after = tree.zones()
    assert {str(origin) for origin in before if after[origin] is before[origin]} == {".", "sender.example."}
    assert holds(tree, "example.", dns.name.from_text("other.example"), DS)


def test_a_text_that_cannot_be_read_is_refused_and_changes_nothing():
    tree = ZoneTree()
    tree.put("sender.example", "x TXT one")
    with pytest.raises(SettingsError, match=r"sender\.example\. cannot be read"):
        tree.put("sender.example", "x NONSENSE one")
    tree.put("other.example", "")
    assert texts(tree) == ["one"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x TXT one\n\nb NONSENSE one\n", "line 3: unknown rdatatype 'NONSENSE'"),
        ("x TXT one\nb A 1.2.3\nc A 127.0.0.1\n", "line 2: Text input is malformed."),
        ("b A 1.2.3", "line 1: Text input is malformed."),
        ("x TXT one\ny TXT ( two\n three )\nb TXT ( four\n\n", "line 4: unbalanced parentheses"),
        ("x A 127.0.0.1\n; why\nx CNAME y\nz A 127.0.0.1\n", "line 3: CNAME rdataset is not compatible"),
        ("$TTL a\n", "line 1: "),
        ("x TXT ( one\n" + "; why\n" * 30, "line 32: unbalanced parentheses"),
        ("x TXT (\n one\n" + " two\n" * 18, "line 1: unbalanced parentheses"),
    ],
)
def test_an_unreadable_line_is_named_by_its_number(text, said):
    with pytest.raises(SettingsError) as refused:
        ZoneTree().put("sender.example", text)
    assert str(refused.value).startswith(f"the zone sender.example. cannot be read: {said}")


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("sender.example.zone", b"x TXT one\nx NONSENSE\n", "the zone sender.example. cannot be read: line 2: unknown"),
        ("sender.example.zone", b"x TXT \xff", "not UTF-8, at byte 6"),
        ("sender..example.zone", b"", "'sender..example' is not the name of a zone"),
        (f"{LONGEST}.zone", b"", f"the zone {LONGEST}. cannot be served: A DNS name is > 255 octets long"),
    ],
)
def test_a_wrong_file_is_named_by_its_path(tmp_path, name, data, said):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(SettingsError) as refused:
        ZoneTree(tmp_path)
    assert str(refused.value).startswith(f"{tmp_path / name}: {said}")


def test_signatures_are_valid_from_an_hour_ago_for_a_month():
    tree = ZoneTree(clock=lambda: 1_800_000_000)
    (signature,) = tree.zones()[dns.name.root].get_rdataset(dns.name.root, RRSIG, SOA)
    assert (signature.inception, signature.expiration) == (1_800_000_000 - 3600, 1_800_000_000 - 3600 + 30 * 86_400)


# --- files ---------------------------------------------------------------------------------------------------


def write(path, text):
    """Write with a time of change that differs from the last, however fast the clock's tick is."""
    path.write_text(text)
    write.moment = getattr(write, "moment", time.time()) + 1
    os.utime(path, (write.moment, write.moment))


def test_a_directory_holds_a_zone_per_file_and_its_name_says_how(tmp_path):
    write(tmp_path / "sender.example.zone", "x TXT signed")
    write(tmp_path / "plain.test.unsigned", "x TXT plain")
    write(tmp_path / "bad.test.bogus", "x TXT bad")
    write(tmp_path / "README.md", "not a zone")
    tree = ZoneTree(tmp_path)
    assert {str(origin) for origin in tree.zones()} == {
        *(".", "example.", "test."),
        *("sender.example.", "plain.test.", "bad.test."),
    }
    assert holds(tree, "sender.example.", NAME, TXT)
    assert tree.zones()[dns.name.from_text("plain.test")].get_rdataset(dns.name.from_text("plain.test"), DNSKEY) is None
    assert not holds(tree, "bad.test.", dns.name.from_text("x.bad.test"), TXT)


def test_changes_in_the_directory_are_seen(tmp_path):
    tree = ZoneTree(tmp_path)
    assert SENDER not in tree.zones()
    write(tmp_path / "sender.example.zone", "x TXT one")
    assert texts(tree) == ["one"]
    write(tmp_path / "sender.example.zone", "x TXT two")
    assert texts(tree) == ["two"]
    (tmp_path / "sender.example.zone").unlink()
    assert SENDER not in tree.zones()


def test_a_zone_put_by_hand_overrides_its_file(tmp_path):
    write(tmp_path / "sender.example.zone", "x TXT file")
    tree = ZoneTree(tmp_path)
    tree.put("sender.example", "x TXT hand")
    write(tmp_path / "sender.example.zone", "x TXT file2")
    assert texts(tree) == ["hand"]


def test_a_file_that_breaks_later_changes_nothing_and_is_reported(tmp_path, caplog):
    write(tmp_path / "sender.example.zone", "x TXT one")
    tree = ZoneTree(tmp_path)
    write(tmp_path / "sender.example.zone", "x NONSENSE")
    with caplog.at_level(logging.WARNING):
        assert texts(tree) == ["one"]
    assert "sender.example. cannot be read" in caplog.text
    write(tmp_path / "sender.example.zone", "x TXT two")
    assert texts(tree) == ["two"]


@pytest.mark.parametrize(
    "files", [{"sender.example.zone": "x NONSENSE"}, {"sender.example.zone": "", "sender.example.bogus": ""}]
)
def test_a_broken_directory_stops_the_start(tmp_path, files):
    for name, text in files.items():
        write(tmp_path / name, text)
    with pytest.raises(SettingsError, match=r"sender\.example"):
        ZoneTree(tmp_path)


def test_zones_that_were_put_outlive_the_process_with_the_keys(tmp_path):
    """Functions of a local stack that starts again look up what is in their queues at once."""
    tree = ZoneTree(keys_directory=tmp_path)
    tree.put("sender.example", "x TXT hello")
    tree.put("other.example", "x TXT first", Mode.UNSIGNED)
    tree.put("other.example", "x TXT second", Mode.UNSIGNED)
    again = ZoneTree(keys_directory=tmp_path)
    assert again.zones().keys() == tree.zones().keys()
    other = again.zones()[dns.name.from_text("other.example")]
    assert "second" in other.to_text()
    assert "RRSIG" not in other.to_text()
    assert "RRSIG" in again.zones()[dns.name.from_text("sender.example")].to_text()


def test_keys_outlive_the_process_and_only_their_owner_may_read_them(tmp_path):
    def anchor():
        tree = ZoneTree(keys_directory=tmp_path / "keys")
        tree.put("sender.example", "x TXT hello")
        return tree.anchor_text, tree.key("sender.example").record

    assert anchor() == anchor()
    files = list((tmp_path / "keys").glob("*.pem"))
    assert len(files) == 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
