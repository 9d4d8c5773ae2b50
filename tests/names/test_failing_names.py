"""Names whose hosts failed, and zones with a wildcard in which several did."""

import dns.name
import dns.rrset
import pytest
from dns.rcode import NOERROR
from dns.rdatatype import SOA
from tests.fakes.clock import FakeClock
from tests.names.messages import answer_of, message_of

from postroom.core.errors import NotNowError
from postroom.local.zones import Mode
from postroom.names.failing_names import FAILING_NAMES, FailingNames, wildcard_above
from postroom.names.silent_zones import MAX_ZONE_LABELS
from postroom.net.failing_addresses import FAILING_SECONDS
from postroom.protocols.nlweb.reasons import KEY_LOOKUP_FAILED

ZONE, MOST = "wild.example", 10


def failed(failing: FailingNames, zone: str = ZONE, names: int = FAILING_NAMES) -> None:
    for number in range(names):
        failing.note(f"n{number}.{zone}", zone)


def test_a_name_that_failed_is_left_alone_for_five_minutes_and_no_longer() -> None:
    clock = FakeClock(0.0)
    failing = FailingNames(clock, MOST)
    failing.note("down.example", None)
    clock.now += FAILING_SECONDS - 1
    assert failing.seconds_left("down.example") == 1
    assert failing.seconds_left("below.down.example") == failing.seconds_left("up.example") == 0
    clock.now += 1
    assert failing.seconds_left("down.example") == 0


def test_a_zone_fails_when_the_hosts_of_three_names_in_it_failed() -> None:
    failing = FailingNames(FakeClock(0.0), MOST)
    failed(failing, names=FAILING_NAMES - 1)
    assert failing.seconds_left(f"another.{ZONE}") == 0
    failing.note("n9.wild.example", ZONE)
    assert failing.seconds_left(f"another.{ZONE}") == failing.seconds_left(f"a.b.c.{ZONE}") == FAILING_SECONDS


def test_one_name_that_fails_again_and_again_is_not_its_zone() -> None:
    failing = FailingNames(FakeClock(0.0), MOST)
    for _ in range(10):
        failing.note(f"down.{ZONE}", ZONE)
    assert failing.seconds_left(f"up.{ZONE}") == 0


def test_a_failing_zone_is_left_alone_for_five_minutes_and_no_longer() -> None:
    clock = FakeClock(0.0)
    failing = FailingNames(clock, MOST)
    failed(failing)
    clock.now += FAILING_SECONDS - 1
    assert failing.seconds_left(f"another.{ZONE}") == 1
    clock.now += 1
    assert failing.seconds_left(f"another.{ZONE}") == 0


def test_names_that_are_made_up_below_a_zone_do_not_stop_its_own_name_or_others() -> None:
    failing = FailingNames(FakeClock(0.0), MOST)
    failed(failing)
    for name in (ZONE, "example", "other.example", f"not{ZONE}"):
        assert failing.seconds_left(name) == 0


def test_the_number_of_remembered_names_and_zones_is_limited() -> None:
    failing = FailingNames(FakeClock(0.0), MOST)
    failed(failing)
    failing.note("down.example", None)
    for number in range(MOST):
        failing.note(f"a.z{number}.example", f"z{number}.example")
    assert failing.seconds_left(f"another.{ZONE}") == failing.seconds_left("down.example") == 0


# --- which wildcard a name is below ---------------------------------------------------------------------------------


LABEL = "drawn"


@pytest.fixture(autouse=True)
def zones(tree):
    tree.put("wild.test", "* A 127.0.0.1", Mode.UNSIGNED)
    tree.put("signed.test", "* A 127.0.0.1")
    tree.put("alias.test", "* CNAME nothing.plain.test.")
    tree.put("plain.test", "* TXT x\n@ A 127.0.0.1", Mode.UNSIGNED)
    tree.put("registry.test", "here A 127.0.0.1\n*.deep A 127.0.0.1")
    tree.put("stranger.registry.test", "* A 127.0.0.1", Mode.UNSIGNED)


@pytest.mark.parametrize(
    ("domain", "above"),
    [
        ("x1.wild.test", "wild.test"),
        ("a.b.c.wild.test", "wild.test"),
        ("x1.signed.test", "signed.test"),
        ("x1.alias.test", "alias.test"),
        ("x1.deep.registry.test", "deep.registry.test"),
        ("x1.stranger.registry.test", "stranger.registry.test"),
        ("wild.test", None),
        ("here.registry.test", None),
        ("stranger.registry.test", None),
        ("test", None),
    ],
)
def test_names_that_can_be_made_up_are_below_the_highest_wildcard(ask, domain, above):
    assert wildcard_above(domain, ask, LABEL) == above


def test_a_stranger_is_not_asked_about_what_is_above_its_own_domain(ask):
    stranger = dns.name.from_text("stranger.registry.test")
    asked = []

    def with_a_liar(question):
        asked.append(str(question))
        answer = ask(question)
        if not question.name.is_subdomain(stranger):
            return answer
        message = message_of(answer)
        [soa] = [rrset for rrset in message.authority if rrset.rdtype == SOA]
        message.set_rcode(NOERROR)
        message.authority = [dns.rrset.from_rdata("registry.test.", 60, soa[0])]
        return answer_of(message)

    assert wildcard_above("stranger.registry.test", with_a_liar, LABEL) is None
    assert asked == ["drawn.registry.test. SOA"]
    assert wildcard_above("x1.stranger.registry.test", with_a_liar, LABEL) == "stranger.registry.test"


def test_nothing_is_asked_about_a_top_level_domain_and_little_about_many_labels(ask):
    asked = []

    def counted(question):
        asked.append(str(question.name))
        return ask(question)

    assert wildcard_above("sender.test", counted, LABEL) is None
    assert asked == []
    assert wildcard_above("a.b.c.d.e.f.g.registry.test", counted, LABEL) is None
    assert len(asked) == MAX_ZONE_LABELS - 1


def test_without_an_answer_no_wildcard_is_known():
    def silent(_):
        raise NotNowError(KEY_LOOKUP_FAILED, "down")

    assert wildcard_above("x1.wild.test", silent, LABEL) is None
    assert wildcard_above(".".join(["x" * 63] * 4), silent, LABEL) is None
