"""Agreement of endpoints: every mixture of honest, failing, lying and slow ones, in every order of their answers.

tests/names/ens/test_lying_endpoints.py has the same for whole look-ups.
"""

from collections import Counter
from itertools import permutations, product

import pytest

from postroom.names.ens.agreement import Agreement

HONEST, FAILS, SLOW = "honest", "fails", "slow"
KINDS = (HONEST, FAILS, "lies A", "lies B", SLOW)
"""A slow one is honest, and answers when all others have answered, and more were asked in its place."""


def play(kinds: tuple[str, ...], quorum: int, order: tuple[int, ...]) -> tuple[Agreement[str], list[int]]:
    """Ask until something counts or nothing can; those that were asked answer by `order`. Also: who was asked."""
    agreement: Agreement[str] = Agreement(len(kinds), quorum)
    asked: list[int] = []
    waiting: list[int] = []
    late: set[int] = set()
    while agreement.agreed is None and not agreement.has_failed:
        more = agreement.next_endpoints()
        asked += more
        waiting = sorted([*waiting, *more], key=lambda each: (kinds[each] == SLOW, order.index(each)))
        if kinds[waiting[0]] == SLOW and not late.issuperset(waiting):
            agreement.be_late()
            late.update(waiting)
            continue
        endpoint = waiting.pop(0)
        if kinds[endpoint] == FAILS:
            agreement.fail()
        else:
            agreement.add(said_by(kinds[endpoint]), was_late=endpoint in late)
    return agreement, asked


def said_by(kind: str) -> str:
    return HONEST if kind == SLOW else kind


@pytest.mark.parametrize("quorum", [1, 2, 3])
@pytest.mark.parametrize("endpoints", [1, 2, 3, 4])
def test_only_what_a_quorum_says_alike_counts(endpoints: int, quorum: int) -> None:
    for kinds in product(KINDS, repeat=endpoints):
        counts = Counter(said_by(kind) for kind in kinds if kind != FAILS)
        enough = {said for said, number in counts.items() if number >= quorum}
        for order in permutations(range(endpoints)):
            agreement, asked = play(kinds, quorum, order)
            if not enough:
                assert agreement.has_failed
                assert len(asked) == endpoints
            else:
                assert agreement.agreed in enough
                assert agreement.number_alike == quorum
            assert asked == list(range(len(asked)))


@pytest.mark.parametrize("endpoints", [2, 3, 4])
def test_one_liar_is_never_believed_with_a_quorum_of_two(endpoints: int) -> None:
    for liar in range(endpoints):
        for kinds in product((HONEST, FAILS, SLOW), repeat=endpoints):
            mixed = (*kinds[:liar], "lies A", *kinds[liar + 1 :])
            for order in permutations(range(endpoints)):
                assert play(mixed, 2, order)[0].agreed in (HONEST, None)


@pytest.mark.parametrize("quorum", [1, 2, 3])
def test_no_more_are_asked_than_the_quorum_while_they_answer_alike(quorum: int) -> None:
    agreement, asked = play((HONEST,) * 4, quorum, (0, 1, 2, 3))
    assert (agreement.agreed, asked) == (HONEST, list(range(quorum)))


def test_the_first_ones_are_asked_at_once_and_the_next_only_for_one_that_failed_or_differs() -> None:
    agreement: Agreement[str] = Agreement(4, 2)
    assert list(agreement.next_endpoints()) == [0, 1]
    assert list(agreement.next_endpoints()) == []
    agreement.fail()
    assert list(agreement.next_endpoints()) == [2]
    agreement.add(HONEST)
    agreement.add("lies A")
    assert list(agreement.next_endpoints()) == [3]
    agreement.add(HONEST)
    assert (agreement.agreed, agreement.number_alike) == (HONEST, 2)


def test_the_next_ones_are_asked_for_those_that_are_late_whose_answers_still_count() -> None:
    agreement: Agreement[str] = Agreement(4, 2)
    assert list(agreement.next_endpoints()) == [0, 1]
    agreement.add("lies A")
    assert list(agreement.next_endpoints()) == []
    agreement.be_late()
    assert list(agreement.next_endpoints()) == [2]
    agreement.add(HONEST)
    assert list(agreement.next_endpoints()) == [3]
    agreement.fail()
    assert (agreement.agreed, agreement.has_failed) == (None, False)
    agreement.add(HONEST, was_late=True)
    assert agreement.agreed == HONEST


@pytest.mark.parametrize("fails", [False, True])
def test_nobody_is_asked_for_a_late_one_that_has_answered_while_another_one_is_waited_for(fails: bool) -> None:
    agreement: Agreement[str] = Agreement(4, 2)
    agreement.next_endpoints()
    agreement.add(HONEST)
    agreement.be_late()
    assert list(agreement.next_endpoints()) == [2]
    if fails:
        agreement.fail(was_late=True)
    else:
        agreement.add("lies A", was_late=True)
    assert list(agreement.next_endpoints()) == []


def test_as_many_are_asked_each_time_in_place_of_late_ones_as_are_missing() -> None:
    agreement: Agreement[str] = Agreement(8, 2)
    asked = [list(agreement.next_endpoints())]
    for _ in range(3):
        agreement.be_late()
        asked.append(list(agreement.next_endpoints()))
    assert asked == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_nothing_counts_any_more_once_the_late_ones_have_failed() -> None:
    agreement: Agreement[str] = Agreement(2, 2)
    agreement.next_endpoints()
    agreement.be_late()
    agreement.add(HONEST)
    assert not agreement.has_failed
    agreement.fail(was_late=True)
    assert agreement.has_failed


def test_fewer_endpoints_than_the_quorum_are_not_believed() -> None:
    agreement, asked = play((HONEST, HONEST), 3, (0, 1))
    assert (agreement.has_failed, agreement.number_alike, asked) == (True, 2, [0, 1])
