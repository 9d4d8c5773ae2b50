"""A DCP target's protocol holds in every schedule of these cases, and breaks without any one of its rules."""

import pytest
from tests.model.dcp import Message, Payload, Revoke, Rules, Scope, Target
from tests.tiers import in_turns

OWN = Payload("s", accessor="A")
CHEQUE = Payload("s", accessor="B")
BY_TWO_SESSIONS = (Message("x", "B", (0,)), Message("y", "B", (0,)))
THEN = (Message("x", "A", (0,)), Message("x", "A", (1,), after=0))

RACE = Scope("one message three times", (OWN,), (Message("x", "A", (0,)),), (3,), runs=3, lost=1)
CHAIN = Scope("two messages in turn, each twice", (OWN, Payload("t", accessor="A")), THEN, (2, 2), lost=1)
TWO_SESSIONS = Scope("a cheque on two sessions, three times", (CHEQUE,), BY_TWO_SESSIONS, (2, 1), runs=3, lost=1)
THIEF = Scope(
    "a cheque that its carrier presents, too",
    (CHEQUE, Payload("s")),
    (Message("x", "B", (0,)), Message("y", "J", (0,)), Message("z", "J", (1,))),
    (2, 1, 1),
)
TWO_KEYS = Scope(
    "a cheque that two keys of an owner signed, by each signature",
    (CHEQUE, CHEQUE._replace(signer="other")),
    (Message("x", "B", (0,)), Message("y", "B", (1,)), Message("z", "B", (0, 1))),
    (1, 1, 1),
    lost=1,
)
BATCH = Scope(
    "a batch with one stamp twice, and a later message",
    (OWN, Payload("t", accessor="A"), Payload("s", accessor="A", operation="read")),
    (Message("x", "A", (0, 2, 1)), Message("y", "A", (1,))),
    (2, 1),
    lost=1,
)
CLOCKS = Scope(
    "clocks differ, time goes on", (CHEQUE,), BY_TWO_SESSIONS, (1, 2), last=5, skews=(-1, 0, 1), slop=1, opens=9
)
SLOP = Scope("slop", (CHEQUE,), BY_TWO_SESSIONS, (1, 1), last=3, slop=2, opens=9)
SLOW = Scope("a slow run, time goes on", (CHEQUE,), BY_TWO_SESSIONS, (1, 1), last=5, skews=(-1, 0), opens=9)
RAISED = Scope(
    "the longest ttl is raised", (CHEQUE._replace(ttl=3),), BY_TWO_SESSIONS, (1, 1), last=3, longest=(0, 3), opens=9
)
CLOSED = Scope("closed, and sent again", (OWN, Payload("c", operation="close")), THEN, (3, 1), last=1)
CLOSED_FIRST = Scope("closed by its first message", (Payload("c", operation="close"), OWN), THEN, (3, 1), last=1)
FAILS = Scope("an operation fails for a moment", (CHEQUE,), BY_TWO_SESSIONS, (2, 2), lost=1, failures=1)
READ_FAILS = Scope(
    "a read fails for a moment", (CHEQUE._replace(operation="read"),), BY_TWO_SESSIONS, (2, 2), runs=3, failures=2
)
GIVEN_BACK = Scope(
    "a slow run gives its stamp back",
    (CHEQUE._replace(operation="read"), CHEQUE._replace(time=3, operation="read")),
    (Message("x", "B", (0,)), Message("y", "B", (1,)), Message("z", "B", (1,))),
    (1, 1, 1),
    last=3,
    skews=(0, 1),
    opens=9,
    failures=1,
)
REVOKED = Scope(
    "a cheque that is revoked",
    (CHEQUE._replace(ttl=3), Payload("r", accessor="A", operation=Revoke("s"))),
    (Message("x", "B", (0,)), Message("y", "A", (1,)), Message("z", "B", (0,))),
    (1, 1, 1),
    last=3,
    longest=(3,),
    opens=9,
)
REVOKED_BY_OTHER = Scope(
    "a cheque that another key of its owner revokes",
    (CHEQUE, Payload("r", accessor="A", operation=Revoke("s"), signer="other")),
    (Message("x", "B", (0,)), Message("y", "A", (1,)), Message("z", "B", (0,))),
    (1, 1, 1),
)

CASES = (
    RACE, CHAIN, TWO_SESSIONS, THIEF, TWO_KEYS, BATCH, CLOCKS, SLOP, SLOW, RAISED, CLOSED, CLOSED_FIRST, FAILS,
    READ_FAILS, GIVEN_BACK, REVOKED, REVOKED_BY_OTHER,
)  # fmt: skip


@pytest.mark.parametrize("scope", in_turns(CASES, quick=4, all=2), ids=lambda scope: scope.name)
def test_the_protocol_holds_in_every_schedule_of(scope: Scope) -> None:
    explored = Target(Rules(), scope).explore()
    assert explored.fault == "", "\n".join(explored.story)
    assert explored.states > 100


@pytest.mark.parametrize(
    ("rules", "scope", "fault"),
    in_turns(
        [
            (Rules(nonce="read, then write"), RACE, "NONCE"),
            (Rules(first="always"), RACE, "NONCE"),
            (Rules(closed="deleted"), CLOSED_FIRST, "REVIVED"),
            (Rules(tombstones="short", sweep="at once"), CLOSED, "NONCE"),
            (Rules(stamp="read, then write"), TWO_SESSIONS, "TWICE"),
            (Rules(stamp="after"), TWO_SESSIONS, "TWICE"),
            (Rules(scope="global"), THIEF, "USED UP"),
            (Rules(scope="key"), TWO_KEYS, "TWICE"),
            (Rules(scope="key"), REVOKED_BY_OTHER, "UNREVOKED"),
            (Rules(owner="last"), THIEF, "WRITTEN"),
            (Rules(remember="ttl"), SLOP, "TWICE"),
            (Rules(settings="now"), RAISED, "TWICE"),
            (Rules(clock="again"), SLOW, "TWICE"),
            (Rules(sweep="at once"), CLOCKS, "TWICE"),
            (Rules(sweep="early"), SLOW, "TWICE"),
            (Rules(validity="not checked"), CLOCKS, "TWICE"),
            (Rules(own="refused"), RACE, "ITSELF"),
            (Rules(own="refused"), BATCH, "ITSELF"),
            (Rules(release="any"), FAILS, "TWICE"),
            (Rules(release="blind"), GIVEN_BACK, "TWICE"),
            (Rules(revoke="request"), REVOKED, "UNREVOKED"),
        ],
        quick=4,
        all=2,
    ),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_rule_is_needed(rules: Rules, scope: Scope, fault: str) -> None:
    assert Target(rules, scope).explore().fault.startswith(fault)
