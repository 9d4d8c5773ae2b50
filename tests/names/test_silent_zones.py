"""The zone that is silent about a domain: found from the top level down."""

import pytest
from dns.rdatatype import DS

from postroom.core.errors import NotNowError
from postroom.local.zones import Mode
from postroom.names.dns import Question
from postroom.names.dns.answer import Answer
from postroom.names.silent_zones import MAX_ZONE_LABELS, is_silent, silent_zone, zones_of
from postroom.protocols.nlweb.reasons import DNSSEC_TOO_COSTLY, KEY_LOOKUP_FAILED


class Servers:
    """Servers that answer for names outside the `silent` zones. `asked`: every question."""

    def __init__(self, ask, *silent, reason=KEY_LOOKUP_FAILED):
        self.ask, self.silent, self.reason = ask, silent, reason
        self.asked = []

    def __call__(self, question: Question) -> Answer:
        self.asked.append(str(question))
        name = str(question.name).rstrip(".")
        # For a DS record, the zone above is asked.
        if question.rdtype == DS and any(zone == "" or name.endswith(f".{zone}") for zone in self.silent):
            raise NotNowError(self.reason, "timed out")
        return self.ask(question)


@pytest.fixture(autouse=True)
def zones(tree):
    tree.put("silent.example", "a A 127.0.0.1")
    tree.put("unsigned.example", "a A 127.0.0.1", Mode.UNSIGNED)


@pytest.mark.parametrize("domain", ["silent.example", "a.silent.example", "made.up.below.silent.example"])
def test_the_zone_is_where_the_first_name_has_no_answer(ask, domain):
    assert silent_zone(domain, Servers(ask, "silent.example")) == "silent.example"


def test_a_zone_within_another_is_found(ask):
    assert silent_zone("a.b.sub.silent.example", Servers(ask, "sub.silent.example")) == "sub.silent.example"


@pytest.mark.parametrize("silent", ["example", ""])
def test_of_a_silent_top_level_only_the_domain_counts_as_silent(ask, silent):
    assert silent_zone("a.silent.example", Servers(ask, silent)) == "a.silent.example"


def test_if_the_root_does_not_answer_our_resolvers_are_at_fault(ask):
    def down(question):
        raise NotNowError(KEY_LOOKUP_FAILED, "no resolver answered")

    assert silent_zone("a.silent.example", down) is None


def test_an_answer_that_is_too_long_is_an_answer(ask):
    assert silent_zone("a.b.silent.example", Servers(ask, "silent.example", reason=DNSSEC_TOO_COSTLY)) == (
        "a.b.silent.example"
    )


def test_only_ds_records_are_asked_for_and_no_more_than_one_for_each_label(ask):
    servers = Servers(ask)
    silent_zone("a.unsigned.example", servers)
    assert servers.asked == [f"{name}. {DS.name}" for name in ("example", "unsigned.example", "a.unsigned.example")]


def test_zones_are_told_apart_up_to_a_number_of_labels(ask):
    domain = ".".join(["x"] * 60) + ".silent.example"
    servers = Servers(ask)
    zone = silent_zone(domain, servers)
    assert zone == zones_of(domain)[-1]
    assert len(zone.split(".")) == MAX_ZONE_LABELS
    assert len(servers.asked) == MAX_ZONE_LABELS


def test_the_zones_of_a_domain_begin_below_the_top_level():
    assert zones_of("a.b.example") == ["b.example", "a.b.example"]
    assert zones_of("b.example") == ["b.example"]
    assert zones_of("localhost") == ["localhost"]


def test_a_domain_that_answers_is_not_silent_whatever_name_below_it_fails(ask):
    def asks(*silent):
        def answer(question: Question) -> Answer:
            if str(question.name).rstrip(".") in silent:
                raise NotNowError(KEY_LOOKUP_FAILED, "timed out")
            return ask(question)

        return answer

    assert not is_silent("silent.example", asks())
    assert not is_silent("silent.example", asks("pk1._domainkey.silent.example"))
    assert is_silent("silent.example", asks("silent.example"))
    assert not is_silent("silent.example", asks("silent.example", "")), "our own resolvers do not answer"
