"""The flow's protocol holds in every schedule of these cases, and breaks without any one of its rules."""

import pytest
from tests.model.flow import Flow, Message, Rules, Scope
from tests.tiers import in_turns

GOOD, FORGED = Message(0), Message(0, good=False)
TWICE = Scope("one message, handed out twice", (GOOD,))
LARGE = Scope("a claim too large for the queue", (Message(0, large=True),))
LARGE_FORGERY = Scope("a forgery too large for the queue", (Message(0, good=False, large=True),), acks=False)
LARGE_RETRY = Scope("a large message and its sender's retry", (Message(0, large=True),) * 2, deliveries=1, acks=False)
LARGE_SILENT = Scope("a large claim in a silent zone", (Message(0, large=True),), deliveries=1, silent=True)
LARGE_LOST = Scope("a large forgery whose object somebody deletes", (Message(0, good=False, large=True),), loses=True)
RETRY = Scope("a message and its sender's retry", (GOOD, GOOD), deliveries=1)
REUSE = Scope("two texts under one Correlation", (GOOD, Message(0, text=1)), deliveries=1)
STRANGER = Scope("a forgery under the Correlation of a good message", (GOOD, Message(0, 1, good=False)), 1, notices=2)
DISCARD = Scope("a forgery, its notice handed out twice to two couriers", (FORGED,), notices=2, couriers=2)
FLIPS = Scope("judgements that differ", (GOOD,), deliveries=3, flips=True)
SHARDS = Scope("a second shard while an owner reads", (GOOD, Message(1, shard=1)), 1, workers=1, passes=1)
AGED = Scope("a retry, and the horizon passes", (GOOD, GOOD), deliveries=1, ages=True)
SILENT = Scope("a silent zone", (GOOD,), deliveries=1, silent=True)

CASES = (
    TWICE,
    Scope("one message, handed out three times to three workers", (GOOD,), deliveries=3, workers=3),
    LARGE,
    LARGE_FORGERY,
    LARGE_RETRY,
    LARGE_SILENT,
    LARGE_LOST,
    Scope("judgements that differ about a large claim", (Message(0, large=True),), flips=True, loses=True),
    Scope("a large claim, its sender's retry, and the horizon", (Message(0, large=True), GOOD), 1, ages=True),
    Scope("two large texts under one Correlation", (Message(0, large=True), Message(0, 1, large=True)), deliveries=1),
    Scope("two messages in changing batches, one of them large", (GOOD, Message(1, large=True)), deliveries=1),
    RETRY,
    Scope("the same, both handed out twice", (GOOD, GOOD), acks=False),
    REUSE,
    STRANGER,
    DISCARD,
    FLIPS,
    Scope("judgements that differ, and a retry", (GOOD, GOOD), deliveries=1, flips=True),
    AGED,
    Scope("a forgery, and the horizon passes", (FORGED,), notices=2, ages=True),
    SHARDS,
    SILENT,
    Scope("a silent zone, the claim handed out twice to one worker", (GOOD,), workers=1, silent=True),
    Scope("a silent zone, and the sender's retry", (GOOD, GOOD), deliveries=1, workers=1, silent=True),
    Scope("a silent zone, and the horizon passes", (GOOD,), deliveries=1, silent=True, ages=True, acks=False),
    Scope("a forgery in a silent zone", (FORGED,), deliveries=1, silent=True),
)


@pytest.mark.parametrize("scope", in_turns(CASES, quick=4, all=2), ids=lambda scope: scope.name)
def test_the_protocol_holds_in_every_schedule_of(scope: Scope) -> None:
    explored = Flow(Rules(), scope).explore()
    assert explored.fault == "", "\n".join(explored.story)
    assert explored.states > 100


@pytest.mark.parametrize(
    ("rules", "scope", "fault"),
    in_turns(
        [
            (Rules(inbox="answer, then queue"), TWICE, "LOST"),
            (Rules(large="queue, then store"), LARGE, "WITHOUT BYTES"),
            (Rules(known="drop"), RETRY, "LOST"),
            (Rules(reuse="adopt"), REUSE, "LOST"),
            (Rules(segment="empty"), TWICE, "DANGLING"),
            (Rules(file="always"), TWICE, "RESURRECTED"),
            (Rules(discard="only tell"), FLIPS, "LOST"),
            (Rules(done="before telling"), DISCARD, "LOST"),
            (Rules(home="not asked"), STRANGER, "SLANDER"),
            (Rules(told="noted after"), DISCARD, "TOLD TWICE"),
            (Rules(told="noted always"), DISCARD, "TOLD TWICE"),
            (Rules(sent="before sending"), DISCARD, "UNTOLD"),
            (Rules(shards="remembered"), SHARDS, "SKIPPED"),
            (Rules(acked="row deleted"), TWICE, "RESURRECTED"),
            (Rules(memory="short"), AGED, "RESURRECTED"),
            (Rules(moved="deleted, then sent"), SILENT, "LOST"),
            (Rules(object="deleted before its row"), LARGE, "WITHOUT BYTES"),
            (Rules(object="deleted while it waits"), LARGE_SILENT, "WITHOUT BYTES"),
            (Rules(object="kept"), LARGE_FORGERY, "LEFT"),
            (Rules(copy="no row"), LARGE_RETRY, "WITHOUT BYTES"),
            (Rules(gone="fails"), LARGE, "UNDECIDED"),
            (Rules(gone="done"), LARGE_LOST, "LOST"),
            (Rules(gone="row decides, not told again"), LARGE_LOST, "LOST"),
        ],
        quick=4,
        all=2,
    ),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_rule_is_needed(rules: Rules, scope: Scope, fault: str) -> None:
    assert Flow(rules, scope).explore().fault.startswith(fault)
