import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import dns.message
import dns.name
import dns.rrset
import pytest
from dns.rdatatype import TXT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fakes.clock import FakeClock
from tests.names.patience import patient
from tests.tiers import examples

from postroom.core.errors import NotNowError, TheirError
from postroom.core.reasons import TOO_MANY_LOOK_UPS
from postroom.crypto.reasons import KEY_RECORD_INVALID
from postroom.local.zones import Mode
from postroom.names.dnssec import Policy
from postroom.names.dnssec.walk import MAX_ALIASES
from postroom.names.keys import FoundKey, KeepTimes, KeyDirectory
from postroom.protocols.nlweb.reasons import (
    DNSSEC_BOGUS,
    DNSSEC_TOO_COSTLY,
    KEY_LOOKUP_FAILED,
    KEY_NOT_FOUND,
    SENDER_NOT_SIGNED,
)

KEY = "pk1._domainkey.sender.example"
TIMES = KeepTimes(min_key_seconds=10, max_key_seconds=100)


@pytest.fixture
def clock():
    return FakeClock(time.time())


def parse(records):
    """Stands for the rules of key records: any one record but `invalid` is a key."""
    if len(records) != 1 or records[0] == b"invalid":
        raise TheirError(KEY_RECORD_INVALID, f"{len(records)} records")
    return records[0]


@pytest.fixture
def directory(resolvers, anchors, clock):
    return KeyDirectory(resolvers.asking, anchors, parse, clock=clock, times=TIMES)


@pytest.fixture
def looked_up(server):
    """How often the TXT records at a name were asked for."""
    return lambda name=KEY: server.queries[f"{name}.", "TXT"]


def publish(tree, text, ttl=60):
    tree.put("sender.example", f"pk1._domainkey {ttl} TXT {text}")


def refusal(directory, name=KEY, **how):
    with pytest.raises(TheirError) as caught:
        directory.find(name, **how)
    return caught.value.reason


# --- what is found -------------------------------------------------------------------------------------------


def test_a_proven_key_is_found_with_its_evidence(directory, clock):
    found = directory.find(KEY)
    assert found == FoundKey(b"v=DKIM1; k=ed25519; p=abc", found.evidence, clock.now + 60, False, False)
    assert str(found.evidence).startswith(". → example. → sender.example. (")


def test_a_key_of_two_strings_larger_than_a_datagram_is_found_whole(directory, tree):
    strings = ["p" * 255] * 5
    publish(tree, " ".join(f'"{s}"' for s in strings))
    assert directory.find(KEY).key == "".join(strings).encode()


def test_a_zone_without_dnssec_is_sender_not_signed(directory, tree):
    tree.put("plain.example", "pk1._domainkey TXT x", Mode.UNSIGNED)
    assert refusal(directory, "pk1._domainkey.plain.example") is SENDER_NOT_SIGNED


def test_a_zone_with_broken_dnssec_is_bogus(directory, tree):
    tree.put("bad.example", "pk1._domainkey TXT x", Mode.BOGUS)
    assert refusal(directory, "pk1._domainkey.bad.example") is DNSSEC_BOGUS


@pytest.mark.parametrize("name", ["pk9._domainkey.sender.example", "_domainkey.sender.example", "pk1.nowhere", ""])
def test_no_record_is_key_not_found(directory, name):
    assert refusal(directory, name) is KEY_NOT_FOUND


@pytest.mark.parametrize("name", ["a..b", f"{'a' * 64}.example", "ü.example", "x\\.example", ".".join("a" * 200)])
def test_an_invalid_dns_name_is_key_not_found_without_a_look_up(directory, name, server):
    assert refusal(directory, name) is KEY_NOT_FOUND
    assert not server.queries


def test_a_loop_of_aliases_is_an_invalid_key_record(directory, tree):
    tree.put("sender.example", "pk1._domainkey CNAME pk1._domainkey")
    assert refusal(directory) is KEY_RECORD_INVALID


def test_an_expensive_name_does_not_affect_its_domain(directory, tree):
    aliases = "\n".join(f"a{number + 1}._domainkey CNAME a{number}._domainkey" for number in range(MAX_ALIASES + 1))
    tree.put("sender.example", f"pk1._domainkey TXT key\na0._domainkey TXT key\n{aliases}")
    for _ in range(2):
        with pytest.raises(NotNowError):
            directory.find(f"a{MAX_ALIASES + 1}._domainkey.sender.example")
    assert directory.find(KEY).key == b"key"


@pytest.mark.parametrize(("seconds", "asks_again"), [(59, False), (60, True)])
def test_an_expensive_name_is_not_looked_up_again_for_a_minute(directory, tree, clock, server, seconds, asks_again):
    tree.put("sender.example", "\n".join(f"a{number + 1} 300 CNAME a{number}" for number in range(MAX_ALIASES + 2)))
    name = f"a{MAX_ALIASES + 2}.sender.example"
    assert too_costly(directory, name)
    before = server.queries.total()
    clock.now += seconds
    assert too_costly(directory, name)
    assert (server.queries.total() > before) is asks_again


def too_costly(directory, name):
    with pytest.raises(NotNowError) as caught:
        directory.find(name)
    return caught.value.reason is DNSSEC_TOO_COSTLY


def test_the_number_of_aliases_to_a_key_is_limited(directory, tree):
    aliases = "\n".join(f"a{number + 1} CNAME a{number}" for number in range(MAX_ALIASES + 1))
    tree.put("sender.example", f"a0 TXT key\n{aliases}")
    assert directory.find(f"a{MAX_ALIASES}.sender.example").key == b"key"
    with pytest.raises(NotNowError) as caught:
        directory.find(f"a{MAX_ALIASES + 1}.sender.example")
    assert caught.value.reason is DNSSEC_TOO_COSTLY


def test_the_policy_may_allow_clock_skew(resolvers, anchors, clock):
    clock.now += 30 * 86_400
    assert refusal(KeyDirectory(resolvers.asking, anchors, parse, clock=clock)) is DNSSEC_BOGUS
    lenient = Policy(skew_seconds=86_400)
    assert KeyDirectory(resolvers.asking, anchors, parse, clock=clock, policy=lenient).find(KEY).key


def test_a_record_that_the_parser_refuses_is_refused(directory, tree):
    publish(tree, "x\npk1._domainkey TXT y")
    assert refusal(directory) is KEY_RECORD_INVALID


def test_a_failed_look_up_is_a_temporary_error(server, asking, anchors, clock):
    server.pause()
    with pytest.raises(NotNowError) as caught:
        KeyDirectory(asking, anchors, parse, clock=clock).find(KEY)
    assert caught.value.reason is KEY_LOOKUP_FAILED


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=examples(60))
@given(st.one_of(st.text(max_size=80), st.text('abc.\\-_@ "', max_size=300)))
def test_any_name_gives_a_key_or_an_error_with_a_reason(directory, name):
    with pytest.raises(TheirError):
        directory.find(name)


# --- what is remembered --------------------------------------------------------------------------------------


def test_a_key_is_cached_for_its_ttl(directory, clock, looked_up):
    directory.find(KEY)
    clock.now += 59
    assert directory.find(KEY).cached
    assert looked_up() == 1
    clock.now += 1
    assert not directory.find(KEY).cached
    assert looked_up() == 2


@pytest.mark.parametrize(
    ("ttl", "kept"), [(0, 10), (9, 10), (10, 10), (11, 11), (99, 99), (100, 100), (101, 100), (5000, 100)]
)
def test_the_ttl_is_limited(directory, tree, clock, ttl, kept):
    tree.put("sender.example", f"@ {ttl} SOA ns h 1 1 1 1 1\npk1._domainkey {ttl} TXT x")
    assert directory.find(KEY).expires_at == clock.now + kept


def test_a_name_is_the_same_in_any_case_and_with_a_final_dot(directory, looked_up):
    directory.find(KEY)
    assert directory.find(f"{KEY.upper()}.").cached
    assert looked_up() == 1


def test_the_length_of_a_key_name_is_that_of_dns(directory, looked_up):
    label = "x" * 63
    longest = f"{label}.{label}.{label}.{'x' * 46}.sender.example"  # 255 bytes in DNS
    assert refusal(directory, longest) is KEY_NOT_FOUND
    assert looked_up(longest) == 1
    assert refusal(directory, f"x{longest}") is KEY_NOT_FOUND
    assert looked_up(f"x{longest}") == 0


def test_the_number_of_cached_names_is_limited(resolvers, anchors, clock, tree, looked_up):
    tree.put("sender.example", "a TXT x\nb TXT x\nc TXT x")
    directory = KeyDirectory(resolvers.asking, anchors, parse, clock=clock, times=KeepTimes(max_names=2))
    for name in "aba":
        directory.find(f"{name}.sender.example")
    assert [looked_up(f"{name}.sender.example") for name in "ab"] == [1, 1]
    for name in "cab":
        directory.find(f"{name}.sender.example")
    assert [looked_up(f"{name}.sender.example") for name in "abc"] == [1, 2, 1]


def test_the_total_size_of_cached_evidence_is_limited(resolvers, anchors, clock, tree, looked_up):
    tree.put("sender.example", "a TXT x\nb TXT x\nc TXT x")
    once = KeyDirectory(resolvers.asking, anchors, parse, clock=clock).find("a.sender.example").evidence
    times = KeepTimes(max_evidence=2 * len(repr(once)) + 20)  # which of different numbers may have some more digits
    directory = KeyDirectory(resolvers.asking, anchors, parse, clock=clock, times=times)
    before = looked_up("a.sender.example")
    for name in "ababcba":
        directory.find(f"{name}.sender.example")
    assert looked_up("a.sender.example") == before + 2
    assert looked_up("b.sender.example") == 1


def test_keys_count_as_they_are_weighed(resolvers, anchors, clock, tree, looked_up):
    tree.put("sender.example", f"a TXT {'x' * 250}\nb TXT {'x' * 250}")
    times = KeepTimes(max_evidence=100_000)
    directory = KeyDirectory(
        resolvers.asking, anchors, parse, clock=clock, times=times, weigh=lambda key: 200 * len(key)
    )
    for name in "aba":
        directory.find(f"{name}.sender.example")
    assert looked_up("a.sender.example") == 2


def test_names_without_a_key_do_not_displace_keys_and_are_limited(resolvers, anchors, clock, tree, looked_up):
    tree.put("sender.example", "pk1._domainkey TXT key\na TXT invalid\nb TXT invalid\nc TXT invalid")
    directory = KeyDirectory(resolvers.asking, anchors, parse, clock=clock, times=KeepTimes(max_names=2))
    directory.find(KEY)
    for name in "abca":
        assert refusal(directory, f"{name}.sender.example") is KEY_RECORD_INVALID
    assert directory.find(KEY).cached
    assert looked_up("a.sender.example") == 2


@pytest.mark.parametrize(
    "name", ["pk9._domainkey.sender.example", "x.plain.example", "x.bad.example", "bad.sender.example"]
)
def test_a_refusal_is_cached_for_a_minute_at_most(directory, tree, clock, looked_up, name):
    tree.put("sender.example", "@ 3600 SOA ns h 1 1 1 1 3600\nbad 3600 TXT invalid")
    tree.put("plain.example", "x 3600 TXT x", Mode.UNSIGNED)
    tree.put("bad.example", "x 3600 TXT x", Mode.BOGUS)
    first = refusal(directory, name)
    clock.now += 59
    assert refusal(directory, name) is first
    # What is bogus is looked up twice.
    times = 2 if first is DNSSEC_BOGUS else 1
    assert looked_up(name) == times
    clock.now += 1
    assert refusal(directory, name) is first
    assert looked_up(name) == 2 * times


def test_an_absence_is_cached_no_longer_than_the_zone_allows(directory, tree, clock):
    tree.put("sender.example", "@ SOA ns h 1 1 1 1 5")
    assert refusal(directory) is KEY_NOT_FOUND
    publish(tree, "x")
    clock.now += 5
    assert directory.find(KEY).key == b"x"


# --- a fresh key ---------------------------------------------------------------------------------------------


def test_a_rotated_key_is_fetched_once_when_asked_for_fresh(directory, tree, clock, looked_up):
    directory.find(KEY)
    publish(tree, "rotated")
    clock.now += 3
    assert directory.find(KEY).key == b"v=DKIM1; k=ed25519; p=abc"
    found = directory.find(KEY, fresh=True)
    assert (found.key, found.cached, found.refetched) == (b"rotated", False, True)
    assert directory.find(KEY).key == b"rotated"
    assert looked_up() == 2


def test_a_recently_fetched_key_is_fresh(directory, clock, looked_up):
    directory.find(KEY)
    fetched = clock.now
    clock.now = fetched + TIMES.fresh_floor_seconds - 0.001
    found = directory.find(KEY, fresh=True)
    assert (found.cached, found.refetched) == (True, False)
    assert looked_up() == 1
    clock.now = fetched + TIMES.fresh_floor_seconds
    assert directory.find(KEY, fresh=True).refetched
    assert looked_up() == 2


def test_many_forgeries_cause_one_refetch(directory, clock, looked_up):
    directory.find(KEY)
    clock.now += 30
    for _ in range(20):
        directory.find(KEY, fresh=True)
    assert looked_up() == 2


def test_a_failed_refetch_does_not_remove_the_cached_key(server, asking, anchors, clock):
    directory = KeyDirectory(asking, anchors, parse, clock=clock)
    directory.find(KEY)
    clock.now += 10
    server.pause()
    with pytest.raises(NotNowError):
        directory.find(KEY, fresh=True)
    assert directory.find(KEY).cached


def test_an_unproven_answer_does_not_remove_a_proven_key(directory, tree, clock, looked_up):
    first = directory.find(KEY)
    tree.put("sender.example", "pk1._domainkey TXT x", Mode.BOGUS)
    clock.now += 10
    for _ in range(5):
        found = directory.find(KEY, fresh=True)
        assert (found.key, found.cached, found.refetched) == (first.key, True, False)
    # Once; then, as it was bogus, twice.
    assert looked_up() == 3
    clock.now += 49
    assert directory.find(KEY) == directory.find(KEY, fresh=True) == found
    clock.now += 1
    assert refusal(directory) is refusal(directory, fresh=True) is DNSSEC_BOGUS


@pytest.mark.parametrize(
    ("zone", "mode", "reason"),
    [
        ("pk1._domainkey TXT x", Mode.UNSIGNED, SENDER_NOT_SIGNED),
        ("other TXT x", Mode.SIGNED, KEY_NOT_FOUND),
        ("pk1._domainkey CNAME pk1._domainkey", Mode.SIGNED, KEY_RECORD_INVALID),
    ],
    ids=["unsigned", "withdrawn", "endless"],
)
def test_a_proven_absence_removes_a_key(directory, tree, clock, zone, mode, reason):
    directory.find(KEY)
    tree.put("sender.example", zone, mode)
    clock.now += 10
    assert refusal(directory, fresh=True) is reason
    assert refusal(directory) is reason


def test_a_proven_invalid_record_removes_a_key(directory, tree, clock, looked_up):
    publish(tree, "key", ttl=90)
    directory.find(KEY)
    publish(tree, "invalid", ttl=5)
    clock.now += 10
    assert refusal(directory, fresh=True) is KEY_RECORD_INVALID
    tree.put("sender.example", "pk1._domainkey TXT x", Mode.BOGUS)
    clock.now += 5
    assert refusal(directory) is DNSSEC_BOGUS
    assert refusal(directory, fresh=True) is DNSSEC_BOGUS
    assert looked_up() == 4


def test_a_key_replaces_a_cached_refusal(directory, tree, clock):
    publish(tree, "invalid")
    assert refusal(directory) is KEY_RECORD_INVALID
    publish(tree, "key", ttl=10)
    clock.now += 2
    assert directory.find(KEY, fresh=True).key == b"key"
    clock.now += 10
    assert directory.find(KEY).key == b"key"


# --- names that fail, and threads ----------------------------------------------------------------------------


def test_a_failed_name_is_not_looked_up_again_for_a_while(server, asking, anchors, clock, looked_up):
    server.pause()
    directory = KeyDirectory(asking, anchors, parse, clock=clock, times=KeepTimes(back_off_seconds=5))
    for how in (False, True, False):
        with pytest.raises(NotNowError):
            directory.find(KEY, fresh=how)
    sent = looked_up()
    server.resume()
    with pytest.raises(NotNowError):
        directory.find(KEY)
    assert looked_up() == sent
    clock.now += 5
    assert directory.find(KEY).key == b"v=DKIM1; k=ed25519; p=abc"


@pytest.mark.parametrize(
    ("other", "is_asked_for"),
    [
        ("pk2._domainkey.sender.example", False),
        ("pk2._DOMAINKEY.Sender.Example.", False),
        ("a.b._domainkey.c._domainkey.sender.example", False),
        ("pk1._domainkey.sub.sender.example", True),
        ("pk1._domainkey.other.example", True),
        ("pk1.x_domainkey.sender.example", True),
    ],
)
def test_a_failed_selector_pauses_the_other_selectors_of_its_domain(
    server, asking, anchors, clock, other, is_asked_for
):
    server.pause()
    directory = KeyDirectory(asking, anchors, parse, clock=clock, times=KeepTimes(back_off_seconds=5))
    for name in (KEY, other):
        sent = server.queries.total()
        with pytest.raises(NotNowError):
            directory.find(name)
    assert (server.queries.total() > sent) is is_asked_for
    server.resume()
    clock.now += 5
    assert directory.find(KEY).key == b"v=DKIM1; k=ed25519; p=abc"


def test_a_failed_selector_does_not_affect_cached_keys_of_its_domain(server, asking, anchors, clock):
    directory = KeyDirectory(asking, anchors, parse, clock=clock)
    directory.find(KEY)
    server.pause()
    with pytest.raises(NotNowError):
        directory.find("pk2._domainkey.sender.example")
    assert directory.find(KEY).cached


@pytest.mark.parametrize("name", [KEY, "pk9._domainkey.sender.example"])
def test_many_threads_share_one_look_up(resolvers, anchors, clock, looked_up, name):
    gate, entered = threading.Event(), threading.Barrier(9)

    def asking():
        gate.wait()
        return resolvers.asking()

    directory = KeyDirectory(asking, anchors, parse, clock=clock)

    def find(_):
        entered.wait()
        try:
            return directory.find(name).key
        except TheirError as error:
            return error.reason

    with ThreadPoolExecutor(8) as threads:
        results = [threads.submit(find, i) for i in range(8)]
        entered.wait()
        gate.set()
        assert len({result.result() for result in results}) == 1
    assert looked_up(name) == 1


def test_an_error_of_the_parser_is_raised_for_all_waiting_threads_and_not_cached(resolvers, anchors, clock):
    calls = []

    def crash_once(records):
        calls.append(records)
        if len(calls) == 1:
            raise ZeroDivisionError
        return records[0]

    directory = KeyDirectory(resolvers.asking, anchors, crash_once, clock=clock)
    with pytest.raises(ZeroDivisionError):
        directory.find(KEY)
    assert directory.find(KEY).key == b"v=DKIM1; k=ed25519; p=abc"


def test_zones_on_the_way_to_a_key_are_cached(directory, tree, server):
    tree.put("sender.example", "pk1._domainkey TXT key\npk2._domainkey TXT key")
    directory.find(KEY)
    assert server.queries.total() == 6
    directory.find("pk2._domainkey.sender.example")
    assert server.queries.total() == 7


def test_invented_selectors_of_a_domain_cause_one_question(directory, server):
    """RFC 8198: what a zone has denied says the same of all names between the same two."""
    for number in range(20):
        assert refusal(directory, f"made-up-{number}._domainkey.sender.example") is KEY_NOT_FOUND
    assert [name for name, rdtype in server.queries if rdtype == "TXT"] == ["made-up-0._domainkey.sender.example."]
    assert directory.find(KEY).key


def test_an_unsigned_domain_is_looked_up_once(directory, tree, server):
    tree.put("plain.example", "pk1._domainkey TXT x", Mode.UNSIGNED)
    for number in range(20):
        assert refusal(directory, f"pk{number}._domainkey.plain.example") is SENDER_NOT_SIGNED
    assert [name for name, rdtype in server.queries if rdtype == "TXT"] == ["pk0._domainkey.plain.example."]


def test_a_broken_domain_is_looked_up_twice_and_then_not_for_a_minute(directory, tree, server, clock):
    tree.put("broken.example", "pk1._domainkey TXT x", Mode.SIGNED)
    tree.put("example", f"broken DS 1 13 2 {'00' * 32}")
    for number in range(20):
        assert refusal(directory, f"pk{number}._domainkey.broken.example") is DNSSEC_BOGUS
    assert server.queries["pk0._domainkey.broken.example.", "TXT"] == 2
    assert [name for name, rdtype in server.queries if rdtype == "TXT"] == ["pk0._domainkey.broken.example."]
    tree.put("example", "")
    clock.now += 60
    assert directory.find("pk1._domainkey.broken.example").key == b"x"


def test_a_signer_that_is_not_a_zone_does_not_affect_a_domain(anchors, clock, ask, meddle, forge):
    """Strangers who forge answers to made-up names name signers as they like."""

    def change(message):
        if message.question[0].name.labels[0] == b"made-up":
            owner = f"{message.question[0].name} 60 TXT x"
            message.answer = forge(owner, signer="_domainkey.sender.example")

    directory = KeyDirectory(lambda: meddle(change), anchors, parse, clock=clock)
    assert refusal(directory, "made-up._domainkey.sender.example") is DNSSEC_BOGUS
    assert directory.find(KEY).key


def test_a_new_selector_is_seen_a_minute_after_its_absence_at_the_latest(directory, tree, clock):
    tree.put("sender.example", "@ 3600 SOA ns h 1 1 1 1 3600\npk1._domainkey 3600 TXT x")
    assert refusal(directory, "pk3._domainkey.sender.example") is KEY_NOT_FOUND
    tree.put("sender.example", "pk2._domainkey TXT new")
    assert refusal(directory, "pk2._domainkey.sender.example") is KEY_NOT_FOUND
    clock.now += 60
    assert directory.find("pk2._domainkey.sender.example").key == b"new"


def test_a_new_selector_is_seen_at_once_when_asked_for_fresh(directory, tree, clock):
    assert refusal(directory, "pk3._domainkey.sender.example") is KEY_NOT_FOUND
    tree.put("sender.example", "pk2._domainkey TXT new")
    assert directory.find("pk2._domainkey.sender.example", fresh=True).key == b"new"


def test_a_zone_with_a_hasty_key_change_is_secure_at_the_second_try(directory, tree, server, clock):
    tree.put("sender.example", "pk1._domainkey TXT key\npk2._domainkey TXT key")
    directory.find(KEY)
    tree._keys.pop(dns.name.from_text("sender.example"))
    tree.put("sender.example", "pk1._domainkey TXT key\npk2._domainkey TXT key")
    assert directory.find("pk2._domainkey.sender.example").key == b"key"
    before = server.queries.total()
    clock.now += 2
    assert directory.find(KEY, fresh=True).refetched
    assert server.queries.total() == before + 1, "the keys it has now are remembered"


def test_a_lying_resolver_is_detected_by_another(tree, server, anchors, clock, serve):
    lies = []

    def forge(wire):
        query = dns.message.from_wire(wire)
        if query.question[0].rdtype != TXT:
            return server.reply(wire, udp=True)
        lies.append(query)
        message = dns.message.make_response(query)
        message.answer = [dns.rrset.from_text(query.question[0].name, 60, "IN", "TXT", "forged")]
        return message.to_wire()

    with patient(f"{serve('udp', forge)},{server.address}") as resolvers:
        found = KeyDirectory(resolvers.asking, anchors, parse, clock=clock).find(KEY)
    assert found.key == b"v=DKIM1; k=ed25519; p=abc"
    assert len(lies) == 1


# --- how many at a time ------------------------------------------------------------------------------------------


def test_a_look_up_that_gets_no_run_asks_nothing_and_is_not_remembered(resolvers, anchors, clock, server):
    admitted, held = [], []

    @contextmanager
    def hold(domain):
        held.append(domain)
        yield bool(admitted)

    directory = KeyDirectory(resolvers.asking, anchors, parse, clock=clock, times=TIMES, hold=hold)
    for _ in range(2):
        with pytest.raises(NotNowError) as caught:
            directory.find(KEY)
        assert caught.value.reason is TOO_MANY_LOOK_UPS
    assert not server.queries
    admitted.append("now")
    assert directory.find(KEY).key
    assert held == ["sender.example"] * 3
    assert directory.find(KEY).cached
    assert len(held) == 3, "what is cached holds no run"
