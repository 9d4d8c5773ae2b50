"""Conditions of the embedded AWS mean what they mean to MiniStack, and few are evaluated."""

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import pytest
from ministack.core import iam_evaluator
from ministack.services import dynamodb

from postroom.local import conditions

KEY_CONDITION, FILTER = "KeyConditionExpression", "FilterExpression"
REPLACED = ((dynamodb, ("_tokenize", "_condition_syntax_error", "_evaluate_condition")),
            (iam_evaluator, ("parse_policy_document",)))  # fmt: skip


@pytest.fixture(autouse=True)
def _ministack_as_it_was(monkeypatch) -> None:
    for module, names in REPLACED:
        for name in names:
            monkeypatch.setattr(module, name, getattr(module, name))


def test_expressions_that_are_parsed_once_mean_what_they_did() -> None:
    conditions.parse_once()
    for _ in range(2):
        for expression, holds in (("a = :one", True), ("NOT a = :one", False), ("attribute_exists(b)", False)):
            assert dynamodb._evaluate_condition(expression, {"a": {"N": "1"}}, {":one": {"N": "1"}}, {}) is holds
        with pytest.raises(ValueError, match=r'token: "b"'):
            dynamodb._evaluate_condition("a b", {}, {}, {})


@pytest.mark.parametrize("policy", ['{"Statement": {"Effect": "Allow", "Action": "a", "Resource": "*"}}', "{", "", {}])
def test_policies_that_are_parsed_once_mean_what_they_did(policy: str | dict[str, Any]) -> None:
    parsed = iam_evaluator.parse_policy_document(policy)
    conditions.parse_once()
    for _ in range(2):
        again = iam_evaluator.parse_policy_document(policy)
        assert again == parsed
        again.clear()  # each request has a list of its own


KEY_CLAUSES = (
    "sk = :a", "sk BETWEEN :a AND :b", "#sk between :a and :b", "begins_with(sk, :a)", "begins_with ( #sk , :a )",
    "sk < :a", "sk >= :a", "(sk = :a)", "((sk = :a))", "begins_with(sk = :a)", "begins_with(sk, :a", "at = :a",
    "", "sk", "1 = :a", "other = :a", "sk = :unknown",
)  # fmt: skip
KEYS = ({"S": ""}, {"S": "m#"}, {"S": "m#1"}, {"S": "m#~"}, {"S": "\U0001f600"}, {"N": "1"})
FILTERS = (
    "st = :a", "#st = :a", "st = :a AND n = :b", "st = :a AND (attribute_not_exists(n) OR n >= :b)",
    "st = :a and n in (:a, :b)", "st = :a AND NOT n = :b", "st = :a AND attribute_exists(n)",
    "st = :a OR n = :b", "st = :a AND n = :a OR n = :b", "st = :a AND (n = :a) OR (n = :b)", "NOT st = :a AND n = :b",
    "(st = :a AND n = :b) OR n = :a", "st <> :a AND n = :b", "st = :a AND begins_with(n, :b)",
    "st = :a AND contains(n, n)", "st = :a AND size(n) > :b", "st = :a AND n BETWEEN :a AND :b", "st = :a AND",
    "st = :a AND attribute_exists(:b)", "st = :a AND NOT attribute_not_exists(n, :b)", "st = :a AND n IN (#st(n))",
    "st = :a AND n IN (size(n))", "st = :a AND (n = :b -", "st = :a AND n = :b - 1", "st = :a AND ((n = :b))",
    "st = :a AND at = :b", "st = :unknown", "missing = :a AND n = :b", "st.n = :a", "",
)  # fmt: skip
VALUES = ({"S": "L"}, {"S": "T"}, {"N": "1"}, {"N": "2"}, {"M": {"n": {"S": "L"}}})


def test_keys_that_are_compared_meet_the_conditions_that_they_did() -> None:
    def results() -> list[bool | str]:
        return [
            result_of(partial(dynamodb._evaluate_condition, f"pk = :pk AND {clause}", {"pk": pk, "sk": sk},
                              {":pk": {"S": "p"}, ":a": first, ":b": last}, {"#sk": "sk", "sk": "pk"}, KEY_CONDITION))
            for clause, sk, first, last, pk in product(KEY_CLAUSES, KEYS, KEYS, KEYS, ({"S": "p"}, {"S": "q"}))
        ]  # fmt: skip

    evaluated = results()
    conditions.compare_texts()
    assert results() == evaluated


def test_rows_whose_first_clause_is_compared_meet_the_filters_that_they_did() -> None:
    def results() -> list[bool | str]:
        return [
            result_of(partial(dynamodb._evaluate_condition, condition, row, values, {"#st": "st", "st": "n"}, FILTER))
            for condition, st, n, first, last in product(FILTERS, VALUES, VALUES, VALUES, VALUES)
            for row, values in product([{"st": st, "n": n}, {"st": st}], [{":a": first, ":b": last}])
        ]

    evaluated = results()
    conditions.compare_texts()
    assert results() == evaluated


@pytest.mark.parametrize("clause", ["sk = :a", "sk BETWEEN :a AND :a", "begins_with(#sk, :a)"])
def test_no_key_condition_of_texts_is_evaluated_for_each_row(clause: str, monkeypatch) -> None:
    monkeypatch.setattr(dynamodb, "_evaluate_condition", lambda *_: pytest.fail("it was evaluated"))
    conditions.compare_texts()
    row, values = {"pk": {"S": "p"}, "sk": {"S": "m#"}}, {":pk": {"S": "p"}, ":a": {"S": "m#"}}
    assert dynamodb._evaluate_condition(f"pk = :pk AND {clause}", row, values, {"#sk": "sk"}, KEY_CONDITION)


@pytest.mark.parametrize("filtered", ["st = :a", "st = :a AND (attribute_not_exists(n) OR n >= :b) AND c IN (:a)"])
def test_no_filter_is_evaluated_for_a_tombstone(filtered: str, monkeypatch) -> None:
    monkeypatch.setattr(dynamodb, "_evaluate_condition", lambda *_: pytest.fail("it was evaluated"))
    conditions.compare_texts()
    values = {":a": {"S": "L"}, ":b": {"N": "1"}}
    assert not dynamodb._evaluate_condition(filtered, {"st": {"S": "T"}}, values, {}, FILTER)


def result_of(evaluate: Callable[[], bool]) -> bool | str:
    try:
        return evaluate()
    except ValueError as error:
        return str(error)
