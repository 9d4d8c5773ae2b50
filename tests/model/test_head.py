"""The protocol of the head holds in every schedule of these cases, and breaks without any one of its rules."""

import pytest
from tests.model.head import HeadModel, Rules, Scope
from tests.tiers import amount

ONE_LATE = Scope("a late row before the first one", "-GL", readers=2)
BETWEEN = Scope("a late row between two", "LG-GL", acknowledges=1)
TWO_READERS = Scope("a late row between two, two readers", "L-GL", readers=2, passes=3)
TWO_LATE = Scope("two late rows in one gap", "L-G-L", passes=2)
DIES = Scope("a worker that dies", "LG-L", deaths=1, passes=3)
OLD = Scope("a worker of the previous release", "LGoL", passes=3)
BOTH = Scope("workers of both releases", "L-oL", passes=3)
FIRST = Scope("a late row before the first one, and a gap", "-LGL", readers=2, passes=3)
TWO_LATE_TWO_READERS = Scope("two late rows, two readers", "L-G-L", readers=2, passes=3, acknowledges=1)

CASES = (
    ONE_LATE, BETWEEN, TWO_READERS, TWO_LATE, DIES, OLD, BOTH, FIRST,
    *amount(quick=(), all=(), proof=(TWO_LATE_TWO_READERS,)),
)  # fmt: skip


@pytest.mark.parametrize("scope", CASES, ids=lambda scope: scope.name)
def test_the_head_hides_no_row_in_any_schedule_of(scope: Scope) -> None:
    explored = HeadModel(Rules(), scope).explore()
    assert explored.fault == "", "\n".join(explored.story)
    assert explored.states > 100


@pytest.mark.parametrize(
    ("rules", "scope"),
    [
        (Rules(raising="blindly"), ONE_LATE),
        (Rules(raising="blindly"), BETWEEN),
        (Rules(late="cut, then file"), BETWEEN),
        (Rules(late="count only"), BETWEEN),
        (Rules(cutting="blindly"), TWO_LATE),
        (Rules(order="blindly"), FIRST),
        (Rules(refused="keep the gaps"), TWO_LATE),
        (Rules(valid="always"), OLD),
    ],
    ids=lambda value: value.name if isinstance(value, Scope) else str(value),
)
def test_each_rule_is_needed(rules: Rules, scope: Scope) -> None:
    assert HeadModel(rules, scope).explore().fault.startswith("HIDDEN")
