"""Conditions of DynamoDB and policies of IAM in the embedded AWS: parsed once, and evaluated where texts do not decide.

    parse_once()
    compare_texts()  # "pk = :pk AND sk BETWEEN :from AND :end", and filters such as "st = :live AND …"

MiniStack parses an expression for each row that it evaluates it for, and a policy for each request. It evaluates the
key condition of a query for each row of the partition, and for each page again: a query of 800 tombstones took 57 ms,
and takes 15. tests/local/test_conditions.py compares the results with those of MiniStack.
"""

import functools
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from ministack.core import iam_evaluator
from ministack.services import dynamodb

from postroom.storage.aws.attributes import MalformedRowError, Text

_MOST_KEPT: Final = 512
_KEY_CONDITION: Final = "KeyConditionExpression"
_FILTER: Final = "FilterExpression"
_CHECKED: Final = re.compile(r"[\w#:=<>(),\s]*", re.ASCII)
"""What MiniStack checks the grammar of; it leaves other characters to the evaluation."""
_EXISTS: Final = re.compile(r"\battribute_(?:not_)?exists\s*\(\s*#?\w+\s*\)", re.ASCII | re.IGNORECASE)
_REFUSED_BY_VALUE: Final = re.compile(r"\bbetween\b|(?:#|\b(?!(?:and|or|not|in)\b))\w+\s*\(", re.ASCII | re.IGNORECASE)
"""What may be refused because of the values: a range, and any call but `_EXISTS`."""
_Clause = list[tuple[str, str]]
"""Tokens of MiniStack: kind and text."""
_Texts = Callable[[str], str]
"""The text of a value, by its placeholder. Raises MalformedRowError if there is none, or it is no text."""
_Test = tuple[str, Callable[[str, _Texts], bool]]
"""An attribute, as it is written in the expression, and whether its text meets a clause."""
_attribute = functools.lru_cache(_MOST_KEPT)(Text)


class _OtherFormError(Exception):
    """A clause has a form that is evaluated, not compared."""


class _RefusedRangeError(Exception):
    """The end of a range is before its begin."""


def parse_once() -> None:
    """Keep what expressions and policies are parsed to."""
    keeping = functools.lru_cache(_MOST_KEPT)
    parse = iam_evaluator.parse_policy_document
    tokens, statements = keeping(dynamodb._tokenize), keeping(parse)
    dynamodb._tokenize = lambda expression: list(tokens(expression))
    dynamodb._condition_syntax_error = keeping(dynamodb._condition_syntax_error)
    iam_evaluator.parse_policy_document = lambda policy: list(
        statements(policy) if isinstance(policy, str) else parse(policy)
    )


def compare_texts() -> None:
    """Compare the texts of key conditions, and of the first clause of filters, where MiniStack evaluates all."""
    evaluate = dynamodb._evaluate_condition
    keeping = functools.lru_cache(_MOST_KEPT)
    tests_of = {_KEY_CONDITION: keeping(_key_tests), _FILTER: keeping(_first_test)}

    def evaluate_or_compare(
        expression: str, row: Any, values: Any, names: Any, slot: str = "ConditionExpression"
    ) -> bool:
        if slot in tests_of and (tests := tests_of[slot](expression)):
            with suppress(MalformedRowError, _RefusedRangeError):
                met = _meets(tests, row, values, names)
                if slot == _KEY_CONDITION or not met:
                    return met
        evaluated: bool = evaluate(expression, row, values, names, slot)
        return evaluated

    dynamodb._evaluate_condition = evaluate_or_compare


def _meets(tests: Sequence[_Test], row: Any, values: Any, names: Any) -> bool:
    """Whether a row passes all tests. Raises MalformedRowError, _RefusedRangeError."""

    def text_of(value: str) -> str:
        return _attribute(value).read(values)

    def attribute(written: str) -> Text:
        return _attribute(names.get(written, written) if written.startswith("#") else written)

    # A list, so that none is left out: a range may be refused, whatever the row is.
    passed = [test(attribute(written).read(row), text_of) for written, test in tests]
    return all(passed)


def _key_tests(expression: str) -> Sequence[_Test]:
    """Tests of all clauses of a key condition; none: MiniStack evaluates it."""
    try:
        return [_test(clause) for clause in _clauses(expression, _KEY_CONDITION)]
    except _OtherFormError:
        return []


def _first_test(expression: str) -> Sequence[_Test]:
    """A test of the first clause of a filter, if a row that fails it cannot meet the filter, or be refused."""
    clauses = _clauses(expression, _FILTER)
    if (
        not clauses
        or not _CHECKED.fullmatch(expression)
        or _REFUSED_BY_VALUE.search(_EXISTS.sub("", expression))
        or any(map(_has_alternative, clauses))
    ):
        return []
    try:
        return [_equality(clauses[0])]
    except _OtherFormError:
        return []


def _clauses(expression: str, slot: str) -> Sequence[_Clause]:
    """The clauses that a condition joins by AND; none: it is to be refused."""
    tokens = dynamodb._tokenize(expression)
    if (
        dynamodb._check_reserved_keyword_usage(tokens)
        or dynamodb._check_redundant_parens(tokens, slot)
        or dynamodb._condition_syntax_error(expression, slot)
    ):
        return []
    found: Sequence[_Clause] = dynamodb._key_condition_clauses(tokens)
    return found


def _has_alternative(clause: _Clause) -> bool:
    """Whether it has an OR outside parentheses."""
    depth = 0
    for kind, text in clause:
        depth += (kind == "LPAREN") - (kind == "RPAREN")
        if depth == 0 and kind == "IDENT" and text.upper() == "OR":
            return True
    return False


def _test(clause: _Clause) -> _Test:
    match clause:
        case [
            ("IDENT" | "NAME_REF", name), ("IDENT", "BETWEEN"), ("VALUE_REF", first), ("IDENT", "AND"),
            ("VALUE_REF", last),
        ]:  # fmt: skip
            return name, lambda text, text_of: _is_between(text_of(first), text, text_of(last))
        case [
            ("IDENT", "begins_with"), ("LPAREN", _), ("IDENT" | "NAME_REF", name), ("COMMA", _), ("VALUE_REF", value),
            ("RPAREN", _),
        ]:  # fmt: skip
            return name, lambda text, text_of: text.startswith(text_of(value))
    return _equality(clause)


def _equality(clause: _Clause) -> _Test:
    match clause:
        case [("IDENT" | "NAME_REF", name), ("EQ", _), ("VALUE_REF", value)]:
            return name, lambda text, text_of: text == text_of(value)
    raise _OtherFormError


def _is_between(first: str, text: str, last: str) -> bool:
    if first > last:
        raise _RefusedRangeError
    return first <= text <= last
