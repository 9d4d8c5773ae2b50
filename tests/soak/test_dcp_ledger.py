"""The ledger of what is done over DCP: whatever it must find, it finds."""

from collections import Counter

import pytest
from tests.soak.dcp_ledger import DcpLedger, DcpProblem, Outcome
from tests.soak.mix import DcpKind

DONE, REFUSED, UNKNOWN = Outcome.DONE, Outcome.REFUSED, Outcome.UNKNOWN
Answers = tuple[tuple[Outcome, str], ...]
EDUP, FOREIGN, OTHER = (REFUSED, "EDUP"), (REFUSED, "NotTheOwner"), (REFUSED, "EINVAL")
ONCE: Answers = ((DONE, ""),)
UNKNOWN_FIRST: Answers = ((UNKNOWN, "StoreUnavailable"), EDUP)


def audited(kind: DcpKind, answers: Answers, effects: int, *, others: Answers = (), unfinished: int = 0) -> DcpLedger:
    """What a ledger finds about one stamp. `others`: the answers to somebody who may not use it."""
    ledger = DcpLedger()
    ledger.begin(kind, "its mailbox")
    for answer in others:
        ledger.answered_another("its mailbox", *answer)
    for answer in answers:
        ledger.answered("its mailbox", *answer)
    ledger.audit({"its mailbox": effects}, unfinished=unfinished)
    return ledger


@pytest.mark.parametrize(
    ("kind", "answers", "effects"),
    [
        (DcpKind.REQUEST, ONCE, 1),
        (DcpKind.BATCH, ((UNKNOWN, ""),), 0),
        (DcpKind.BATCH, ((UNKNOWN, ""),), 1),
        (DcpKind.CHEQUE, ONCE, 1),
        (DcpKind.CHEQUE, UNKNOWN_FIRST, 1),
        (DcpKind.CHEQUE, UNKNOWN_FIRST, 0),
        (DcpKind.CONTESTED, (EDUP, *ONCE), 1),
        (DcpKind.REVOKED, (EDUP,), 0),
        (DcpKind.CHANGED, (FOREIGN,), 0),
    ],
)
def test_correct_answers_are_no_problem(kind: DcpKind, answers: Answers, effects: int) -> None:
    found = audited(kind, answers, effects)
    assert +found.problems == Counter(), found.examples
    assert (found.kinds, +found.done) == (Counter({kind: 1}), +Counter({kind: effects}))


@pytest.mark.parametrize("others", [(FOREIGN,), (FOREIGN, FOREIGN)])
def test_another_may_be_refused_before_the_holder(others: Answers) -> None:
    assert +audited(DcpKind.CARRIED, ONCE, 1, others=others).problems == Counter()


@pytest.mark.parametrize(
    ("problem", "kind", "answers", "effects"),
    [
        (DcpProblem.TWICE, DcpKind.REQUEST, ONCE, 2),
        (DcpProblem.TWICE, DcpKind.CHEQUE, UNKNOWN_FIRST, 2),
        (DcpProblem.ANSWERED_TWICE, DcpKind.CONTESTED, ONCE + ONCE, 1),
        (DcpProblem.LOST, DcpKind.REQUEST, ONCE, 0),
        (DcpProblem.UNTOLD, DcpKind.CHEQUE, (EDUP,), 1),
        (DcpProblem.UNEXPECTED, DcpKind.REVOKED, (EDUP,), 1),
        (DcpProblem.UNEXPECTED, DcpKind.CHANGED, ONCE, 1),
        (DcpProblem.WRONGLY_REFUSED, DcpKind.CHEQUE, (EDUP,), 0),
        (DcpProblem.WRONGLY_REFUSED, DcpKind.CONTESTED, (EDUP, EDUP), 0),
        (DcpProblem.WRONGLY_REFUSED, DcpKind.CARRIED, (EDUP,), 0),
        (DcpProblem.WRONG_CODE, DcpKind.REQUEST, (OTHER, (UNKNOWN, "")), 0),
        (DcpProblem.WRONG_CODE, DcpKind.REVOKED, (FOREIGN,), 0),
    ],
)
def test_wrong_answers_and_effects_are_found(
    problem: DcpProblem, kind: DcpKind, answers: Answers, effects: int
) -> None:
    found = audited(kind, answers, effects)
    assert +found.problems == Counter({problem: 1})
    assert len(found.examples) == 1


@pytest.mark.parametrize(("problem", "others"), [(DcpProblem.UNEXPECTED, ONCE), (DcpProblem.WRONG_CODE, (OTHER,))])
def test_a_wrong_answer_to_another_is_found(problem: DcpProblem, others: Answers) -> None:
    assert audited(DcpKind.CARRIED, ONCE, 1, others=others).problems[problem] == 1


def test_what_was_not_finished_is_found() -> None:
    assert +audited(DcpKind.REQUEST, ONCE, 1, unfinished=2).problems == Counter({DcpProblem.UNFINISHED: 2})


def test_every_problem_is_found_by_a_test_above() -> None:
    [cases] = [mark.args[1] for mark in test_wrong_answers_and_effects_are_found.pytestmark]  # type: ignore[attr-defined]
    assert {problem for problem, *_ in cases} | {DcpProblem.UNFINISHED} == set(DcpProblem)
