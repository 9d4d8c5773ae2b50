"""A watch's protocol holds in every schedule of these cases, and breaks without any one of its rules."""

from collections.abc import Iterator

import pytest
from tests.model.watch import Rules, Scope, State, Step, Watch
from tests.tiers import amount, in_turns

STALE = Scope("a worker who has read that nobody waits", stale=frozenset({0}), pauses=1, last=1)
STALE_THEN = Scope("that worker, with two messages", (0, 0), stale=frozenset({0}), last=1)
TWO = Scope("two messages by two workers", (0, 1))
TWO_LATE = Scope("two messages, time goes on", (0, 1), last=1)
DIES = Scope("two runs that die", deaths=2)
DIES_LATE = Scope("a run that dies, time goes on", deaths=1, last=2)
DIES_OF_TWO = Scope("a run that dies, two messages", (0, 1), deaths=amount(quick=0, all=1, proof=1))
AT_ONCE = Scope("a message that is handed out twice at once, a run that dies", deaths=1, doubles=1)
TWO_AT_ONCE = Scope("two messages, handed out twice at once", (0, 1), doubles=1)
CLOSES = Scope("a WebSocket that closes, a run that dies", deaths=amount(quick=0, all=1, proof=1), closes=1)
CLOSES_OF_TWO = Scope("a WebSocket that closes, two messages", (0, 1), closes=1)
OWNERS = Scope("two owners", owners=2)
ONE_TOO_MANY = Scope("a session more than there are places", owners=2, places=1)
RETURNS = Scope("a session more than there are places, whose owners ask anew", owners=2, places=1, returns=2, runs=1)
ONE_TOO_MANY_DIES = Scope("a session more than there are places, a run that dies", owners=2, places=1, deaths=1, runs=1)
ONE_TOO_MANY_AT_ONCE = Scope(
    "a session more than there are places, a message that is handed out twice at once", owners=2, places=1, doubles=1
)
ONE_TOO_MANY_CLOSES = Scope(
    "a session more than there are places, a WebSocket that closes", owners=2, places=1, closes=1, runs=1
)

CASES = (
    STALE, STALE_THEN, TWO, DIES, DIES_LATE, DIES_OF_TWO, AT_ONCE, CLOSES, OWNERS, ONE_TOO_MANY, RETURNS,
    *amount(
        quick=(),
        all=(TWO_LATE, ONE_TOO_MANY_DIES),
        proof=(
            TWO_LATE, TWO_AT_ONCE, CLOSES_OF_TWO, ONE_TOO_MANY_DIES, ONE_TOO_MANY_AT_ONCE, ONE_TOO_MANY_CLOSES,
        ),
    ),
)  # fmt: skip


@pytest.mark.parametrize("scope", in_turns(CASES, quick=4, all=3), ids=lambda scope: scope.name)
def test_the_protocol_holds_in_every_schedule_of(scope: Scope) -> None:
    explored = Watch(Rules(), scope).explore()
    assert explored.fault == "", "\n".join(explored.story)
    assert explored.states > 100


@pytest.mark.parametrize(
    ("rules", "scope", "fault"),
    in_turns(
        [
            (Rules(listing="before the watch"), TWO, "UNSEEN"),
            (Rules(second="never"), STALE, "UNSEEN"),
            (Rules(second="early"), STALE, "UNSEEN"),
            (Rules(second="in its first wait"), STALE, "UNSEEN"),
            (Rules(reading="for ever"), STALE_THEN, "UNSEEN"),
            (Rules(trigger="ask, then file"), TWO, "UNSEEN"),
            (Rules(put="always"), OWNERS, "UNSEEN"),
            (Rules(put="by id"), ONE_TOO_MANY, "TWICE"),
            (Rules(replaced="never told"), ONE_TOO_MANY, "UNSEEN"),
            (Rules(replaced="told, then put"), ONE_TOO_MANY, "TWICE"),
            (Rules(leased="told, too"), ONE_TOO_MANY, "TWICE"),
            (Rules(lease="none"), TWO, "TWICE"),
            (Rules(lease="short"), TWO_LATE, "TWICE"),
            (Rules(lease="refused to its own"), DIES, "UNSEEN"),
            (Rules(end="removed, then told"), DIES, "UNSEEN"),
            (Rules(find="by place"), TWO, "OTHER"),
            (Rules(remove="by place"), TWO, "UNSEEN"),
            (Rules(queue="deleted before"), DIES, "UNSEEN"),
            (Rules(again="no more"), CLOSES, "UNSEEN"),
            (Rules(again="no more"), AT_ONCE, "UNSEEN"),
        ],
        quick=4,
        all=3,
    ),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_rule_is_needed(rules: Rules, scope: Scope, fault: str) -> None:
    assert Watch(rules, scope).explore().fault.startswith(fault)


class WithoutDoubts(Watch):
    """It does not know why a watch may be answered again."""

    def following(self, s: State) -> Iterator[Step]:
        yield from super().following(s._replace(doubts=frozenset()))


@pytest.mark.parametrize("scope", [Scope("a run that dies", deaths=1), Scope("two at once", doubles=1)])
def test_a_watch_is_answered_again_after_a_run_that_ended_between_and_by_two_runs_at_once(scope: Scope) -> None:
    assert WithoutDoubts(Rules(), scope).explore().fault.startswith("TWICE")
    assert Watch(Rules(), scope).explore().fault == ""
