"""However much work a zone asks for, a look-up does no more than its bounds say. How long that takes, no test asks."""

import sys
from collections import Counter
from dataclasses import dataclass, field

import pytest
from dns.dnssectypes import Algorithm
from dns.rdatatype import TXT
from tests.names import costly, signing

from postroom.names.dns import Question
from postroom.names.dnssec import Absent, Bogus, Indeterminate, KnownZones, Secure, Verdict, validate
from postroom.names.dnssec.budget import MAX_CHECKS, MAX_HASHES, MAX_QUESTIONS
from postroom.names.dnssec.nsec3 import MAX_ITERATIONS
from postroom.protocols.nlweb.reasons import DNSSEC_TOO_COSTLY


@dataclass
class Counted:
    """A look-up, and what it made the libraries do: `calls` are of functions in C, by name."""

    verdict: Verdict | None = None
    questions: list[Question] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)

    @property
    def signatures(self) -> int:
        return self.calls["verify"]

    @property
    def digests(self) -> int:
        return self.calls["openssl_sha256"] + self.calls["openssl_sha384"]

    @property
    def hashes(self) -> int:
        return self.calls["openssl_sha1"]

    @property
    def walks(self) -> int:
        """What ends bogus is looked up a second time."""
        return 2 if isinstance(self.verdict, Bogus) else 1


def look_up(made: costly.Costly, known: KnownZones | None = None) -> Counted:
    zones, name = made
    counted = Counted()

    def ask(question):
        counted.questions.append(question)
        return zones.ask(question)

    def count(_frame, event, function):
        if event == "c_call":
            counted.calls[function.__name__] += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        counted.verdict = validate(name, TXT, zones.anchors, ask, signing.NOW, known=known)
    finally:
        sys.setprofile(before)
    return counted


def test_a_look_up_in_three_zones_takes_six_questions_six_signatures_and_three_digests():
    counted = look_up(costly.honest())
    assert isinstance(counted.verdict, Secure)
    assert (len(counted.questions), counted.signatures, counted.digests, counted.hashes) == (6, 6, 3, 0)


def test_a_look_up_in_known_zones_takes_one_question_and_one_signature():
    made, known = costly.honest(), KnownZones()
    look_up(made, known)
    counted = look_up(made, known)
    assert isinstance(counted.verdict, Secure)
    assert (len(counted.questions), counted.signatures, counted.digests, counted.hashes) == (1, 1, 0, 0)


def within_the_bounds(counted: Counted) -> bool:
    return (
        len(counted.questions) <= counted.walks * MAX_QUESTIONS
        and counted.signatures + counted.digests <= counted.walks * MAX_CHECKS
        and counted.hashes <= counted.walks * MAX_HASHES
    )


@pytest.mark.parametrize("made", costly.COSTLY, ids=lambda made: made.__name__)
def test_an_expensive_zone_is_given_up_within_the_limits(made):
    counted = look_up(made())
    verdict = counted.verdict
    assert isinstance(verdict, Bogus) or (isinstance(verdict, Indeterminate) and verdict.reason is DNSSEC_TOO_COSTLY)
    assert within_the_bounds(counted)


@pytest.mark.parametrize(
    ("made", "ends"),
    [
        (costly.nsec3_bomb_of_as_many_hashes_as_are_made, Absent),
        (costly.a_set_as_long_as_an_answer, Secure),
        (costly.dnames_beside_aliases, Secure),
        (costly.start_of_authority_by_the_dozen, Absent),
        (costly.aliases_by_p_384, Secure),
    ],
    ids=["hashes", "a long set", "DNAMEs", "SOAs", "P-384"],
)
def test_a_zone_at_the_limits_is_validated(made, ends):
    counted = look_up(made())
    assert isinstance(counted.verdict, ends)
    assert within_the_bounds(counted)


def test_a_zone_at_the_limit_of_hashes_leaves_none_for_another_name():
    counted = look_up(costly.nsec3_bomb_of_as_many_hashes_as_are_made())
    assert MAX_HASHES - (MAX_ITERATIONS + 1) < counted.hashes <= MAX_HASHES


@pytest.mark.parametrize(
    "made",
    [costly.key_trap, costly.key_trap_at_a_delegation, costly.signatures_of_signers_that_are_deep],
    ids=lambda made: made.__name__,
)
def test_only_a_few_of_many_signatures_and_keys_are_checked(made):
    """Eight: four signatures, two keys each. The others are of the zones above, and of the keys."""
    assert look_up(made()).signatures <= look_up(costly.honest()).signatures + 8


def test_the_most_expensive_look_up_checks_as_many_signatures_as_its_limit():
    """The bound is what ends it, and not that it ran out of traps."""
    # With P-384 a signature counts for four.
    for made, cost in (
        (costly.aliases_signed_so_that_the_last_holds_that_is_tried, 4),
        (costly.zones_within_zones, 1),
        (costly.nsec3_bomb_in_a_key_trap, 4),
    ):
        counted = look_up(made())
        assert MAX_CHECKS - cost < cost * counted.signatures + counted.digests <= MAX_CHECKS
        assert counted.verdict == Indeterminate(
            DNSSEC_TOO_COSTLY, f"more than {MAX_CHECKS} signature checks would be needed"
        )


def test_a_bogus_look_up_costs_twice_as_much():
    once = look_up(costly.aliases_signed_so_that_the_last_holds_that_is_tried(6, Algorithm.ECDSAP256SHA256))
    twice = look_up(costly.aliases_that_end_bogus())
    assert isinstance(twice.verdict, Bogus)
    assert twice.questions[: len(twice.questions) // 2] == twice.questions[len(twice.questions) // 2 :]
    assert twice.signatures > once.signatures
