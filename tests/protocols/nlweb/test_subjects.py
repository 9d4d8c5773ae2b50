"""The registry of subjects: decisions "Feedback", "Buffer" and "Subjects"."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.protocols.nlweb.subjects import (
    BUILT_IN,
    FEEDBACK,
    IDENTITY,
    SubjectRule,
    Treatment,
    find_rule,
    is_pattern,
    patterns_for,
)


def rule(pattern: str, treatment: Treatment = Treatment.MAILBOX, target: str = "box") -> SubjectRule:
    return SubjectRule(pattern, treatment, target)


def test_a_subject_that_matches_nothing_has_no_rule() -> None:
    assert find_rule("Hello@Host", []) is None
    assert find_rule("Hello@Host", [rule("Hello"), rule("Hello@Guest"), rule("*@Guest"), rule("Bye@*")]) is None


@pytest.mark.parametrize("pattern", ["Hello@Host", "Hello@*", "*@Host", "*@*", "*"])
def test_a_star_stands_for_the_method_the_role_or_everything(pattern: str) -> None:
    assert find_rule("Hello@Host", [rule(pattern)]) == rule(pattern)


@pytest.mark.parametrize("pattern", ["AnyMethod", "*"])
def test_a_subject_may_be_a_bare_name(pattern: str) -> None:
    assert find_rule("AnyMethod", [rule(pattern)]) == rule(pattern)
    assert find_rule("AnyMethod", [rule("AnyMethod@*"), rule("*@AnyMethod")]) is None


def test_the_more_specific_pattern_takes_precedence() -> None:
    rules = [rule("*"), rule("*@Host"), rule("Hello@*"), rule("Hello@Host")]
    for order in (rules, rules[::-1]):
        assert find_rule("Hello@Host", order) == rule("Hello@Host")
        assert find_rule("Hello@Guest", order) == rule("Hello@*")
        assert find_rule("Bye@Host", order) == rule("*@Host")
        assert find_rule("Bye@Guest", order) == rule("*")


@pytest.mark.parametrize("subject", ["hello@host", "Hello@Host ", "Hello @Host", "Hello@", "@Host", "Hello@Host@Host"])
def test_a_subject_is_case_sensitive(subject: str) -> None:
    assert find_rule(subject, [rule("Hello@Host")]) is None


def test_every_domain_accepts_feedback() -> None:
    assert find_rule("Feedback@Buffer", []) == SubjectRule(FEEDBACK, Treatment.FEEDBACK, "")


@pytest.mark.parametrize("subject", ["Identity@Graph", "Identity@Broker"])
def test_identity_has_two_names_and_is_synchronous(subject: str) -> None:
    assert subject in IDENTITY
    assert find_rule(subject, []) == SubjectRule(subject, Treatment.SYNC, "identity")


@pytest.mark.parametrize("built_in", BUILT_IN, ids=lambda built_in: built_in.pattern)
def test_an_operators_rule_overrides_the_built_in_rule_of_the_same_pattern_only(built_in: SubjectRule) -> None:
    assert find_rule(built_in.pattern, [rule("*"), rule("*@Buffer"), rule("Identity@*")]) == built_in
    assert find_rule(built_in.pattern, [rule(built_in.pattern)]) == rule(built_in.pattern)


@pytest.mark.parametrize("text", ["*", "Hello", "Hello@Host", "Hello@*", "*@Host", "*@*", "Grüße@Haus"])
def test_a_pattern_is_a_subject_with_stars_for_whole_parts(text: str) -> None:
    assert is_pattern(text)


@pytest.mark.parametrize("text", ["", "@", "Hello@", "@Host", "**", "He*@Host", "Hello@Ho*", "Hello\n", "Hello@\0Host"])
def test_a_pattern_that_matches_nothing_or_too_much_is_refused(text: str) -> None:
    assert not is_pattern(text)


@pytest.mark.parametrize("subject", ["Hello@Host", "AnyMethod"])
def test_every_form_of_a_pattern_is_looked_up(subject: str) -> None:
    assert all(is_pattern(pattern) for pattern in patterns_for(subject))


PARTS = ("a", "b", "*")
PATTERNS = [*PARTS, *(f"{method}@{role}" for method in PARTS for role in PARTS)]


@given(st.sampled_from([*PATTERNS, "a@", "@a", "@", "a@b@a"]), st.lists(st.sampled_from(PATTERNS), max_size=4))
def test_the_most_specific_matching_rule_is_used(subject: str, patterns: list[str]) -> None:
    fitting = sorted((rank, pattern) for pattern in patterns if (rank := _rank(pattern, subject)) is not None)
    assert find_rule(subject, [rule(pattern) for pattern in patterns]) == (rule(fitting[0][1]) if fitting else None)


def _rank(pattern: str, subject: str) -> int | None:
    """The lower, the more telling; None: it does not fit."""
    if pattern == subject:
        return 0
    if pattern == "*":
        return 4
    method, at, role = pattern.partition("@")
    method_there, at_there, role_there = subject.partition("@")
    if at and at_there and method in ("*", method_there) and role in ("*", role_there):
        return 3 if pattern == "*@*" else 1 if role == "*" else 2
    return None
