"""The counts of waiting claims hold in every schedule of these cases, and break without any one of their rules."""

import pytest
from tests.model.waiting import PERIOD, Rules, Scope, Waiting
from tests.model.waiting import entered as model_entered
from tests.tiers import amount, in_turns

from postroom.pipeline.silent_zones import LONGEST_SECONDS
from postroom.pipeline.waiting import SPREAD_SECONDS, UNKNOWN_SECONDS
from postroom.storage.limits.waiting_periods import PERIOD_SECONDS, entered, period_of, unread, waiting

STAY = Scope("two claims, one of which leaves", last=7)
DIES = Scope("a run that dies", claims=1, leave=(None,), deaths=1, hidden=(2,), last=7)
LATE = Scope("a claim that is late", claims=1, leave=(None,), late=1, last=9)
LATE_OF_TWO = Scope("two claims, one of which is late", leave=(None, 4), late=1, hidden=(2,), last=8)
DIES_AND_LEAVES = Scope("a run that dies, a claim that leaves", claims=1, leave=(3,), deaths=1, hidden=(2,), last=9)
DIES_AND_RETURNS = Scope(
    "a run that dies, a claim that leaves and waits again", claims=1, leave=(3,), deaths=1, returns=1, last=7
)
RETURNS = Scope("two claims, one of which leaves and waits again", returns=1, last=7)
RETURNS_LATE = Scope("the same, late", returns=1, late=1, hidden=(2,), last=7)
DIES_OF_TWO = Scope("a run that dies, two claims", deaths=1, hidden=(2,), last=4)
DIES_TWICE = Scope("two runs that die", claims=1, leave=(3,), deaths=2, hidden=(2,), last=5)

CASES = (
    STAY, DIES, LATE, LATE_OF_TWO, DIES_AND_LEAVES, DIES_AND_RETURNS, RETURNS,
    *amount(quick=(), all=(RETURNS_LATE,), proof=(RETURNS_LATE, DIES_OF_TWO, DIES_TWICE)),
)  # fmt: skip


@pytest.mark.parametrize("scope", in_turns(CASES, quick=4, all=3), ids=lambda scope: scope.name)
def test_the_counts_hold_in_every_schedule_of(scope: Scope) -> None:
    explored = Waiting(Rules(), scope).explore()
    assert explored.fault == "", "\n".join(explored.story)
    assert explored.states > 100


@pytest.mark.parametrize(
    ("rules", "scope", "fault"),
    in_turns(
        [
            (Rules(counted="once"), DIES, "MISSING"),
            (Rules(counted="each time"), LATE, "EXTRA"),
            (Rules(taken_off="when it leaves"), DIES_AND_LEAVES, "NEGATIVE"),
            (Rules(answered="begins anew"), RETURNS, "MISSING"),
            (Rules(answered="begins anew, above too"), STAY, "MISSING"),
            (Rules(first="counted"), DIES, "EXTRA"),
            (Rules(again="counted"), DIES, "EXTRA"),
            (Rules(read="one period"), LATE, "MISSING"),
            (Rules(read="all periods"), DIES_AND_LEAVES, "KEPT"),
        ],
        quick=4,
        all=3,
    ),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_rule_is_needed(rules: Rules, scope: Scope, fault: str) -> None:
    assert Waiting(rules, scope).explore().fault.startswith(fault)


# ---- the code ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("begins", [True, False])
def test_the_code_counts_in_the_periods_of_the_model(*, begins: bool) -> None:
    tick = PERIOD_SECONDS // PERIOD
    for time in range(3 * PERIOD):
        for hidden in range(1, 2 * PERIOD):
            code = entered(time * tick, hidden * tick, begins=begins)
            assert code == model_entered(time, time + hidden, begins=begins)


def test_a_claim_is_hidden_for_less_than_a_period() -> None:
    assert 1 + LONGEST_SECONDS + SPREAD_SECONDS < PERIOD_SECONDS
    assert UNKNOWN_SECONDS < PERIOD_SECONDS


def test_the_count_is_the_greater_one_of_this_period_and_the_last() -> None:
    now = 100 * PERIOD_SECONDS
    assert period_of(now) == 100
    counts = {98: 9, 99: 2, 100: 1, 101: 7}
    assert waiting(counts, now) == waiting(counts, now + PERIOD_SECONDS - 1) == 2
    assert waiting(counts, now + PERIOD_SECONDS) == 7
    assert waiting(counts, now - 1) == 9
    assert waiting(counts, now + 3 * PERIOD_SECONDS) == 0


def test_no_count_is_removed_that_is_read_or_will_be() -> None:
    now = 100 * PERIOD_SECONDS
    assert list(unread(now))[-1] == 98
    assert waiting(dict.fromkeys(unread(now), 1), now) == 0
