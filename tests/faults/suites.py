"""Which flows meet which faults. A suite is played in one town."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from tests.faults.flows import Flow
from tests.faults.harness import Rival, Verdict, enumerate_calls, shuffle
from tests.faults.kinds import (
    CLOCKS,
    DEATHS,
    ERRORS,
    answer_lost,
    entry_refused,
    overtaken,
)
from tests.faults.letters import LARGE, End, Letter, dm3, forged, nlweb, not_ours, unknown_subject
from tests.faults.office import ASK, AT_LENGTH, NEWS, ORDER, Town
from tests.faults.world import BUSY, DARK, SENDER, STRICT, Trouble

Play = Callable[[Town], Verdict]
EITHER = (End.FILED, End.DISCARDED)
"""Where two workers judge otherwise: whoever is first."""
SAME = Rival("overtaken by one of the same verdict")
OWNED = Rival("overtaken, and its owner has it", owner=True)
KEYLESS = Rival("overtaken by one that finds no key", keys=False)
KEYED = Rival("overtaken by one that finds a key")


@dataclass(frozen=True)
class Suite:
    """`settings`: those that are not as the template has them."""

    plays: Sequence[Play]
    settings: Mapping[str, str] = field(default_factory=dict)


def all_verdicts(count: int) -> list[Letter]:
    """A batch in which everything occurs, both protocols; of ten messages, or of as many as are asked for."""
    first = nlweb()
    made = [first, forged(), first, dm3(), nlweb(body=LARGE), nlweb(sender=DARK), nlweb(End.HANDED_ON, subject=ORDER),
            unknown_subject(), forged(STRICT), nlweb(sender=STRICT)]  # fmt: skip
    return made[:count] + [nlweb() for _ in range(count - len(made))]


def large_and_handed_on() -> list[Letter]:
    return [nlweb(body=LARGE), nlweb(End.HANDED_ON, subject=NEWS)]


def door(name: str, make: Callable[[], list[Letter]]) -> Play:
    return partial(enumerate_calls, flow=Flow(f"door: {name}", "InboxFunction", make), strikes=[*DEATHS, *ERRORS])


def worker(batch: int) -> Play:
    """A batch of everything."""
    flow = Flow(f"worker: {batch} messages of every kind", "WorkerFunction", lambda: all_verdicts(batch))
    return partial(enumerate_calls, flow=flow, strikes=[*DEATHS, answer_lost], rivals=[(overtaken, SAME)])


DOOR = Flow("door: one message", "InboxFunction", lambda: [nlweb()])
UNASKED = Flow("door: refused by its handler", "InboxFunction", lambda: [not_ours()])
ONE = Flow("worker: one message", "WorkerFunction", lambda: [nlweb()])
ONE_OR_NONE = Flow("worker: one message, judged otherwise by another", "WorkerFunction", lambda: [nlweb(*EITHER)])
DARK_ONE = Flow("worker: one message, its sender's DNS fails", "WorkerFunction", lambda: [nlweb(sender=DARK)])
NO_KEY = Flow("worker: one message, its key not found", "WorkerFunction", lambda: [nlweb(*EITHER)], keyless=True)
BAD = Flow("worker: one forged message", "WorkerFunction", lambda: [forged()])
BIG = Flow("worker: one too large for the queue, one for an event bus", "WorkerFunction", large_and_handed_on)
OFTEN = Flow("worker: two messages handed out too often", "WorkerFunction", lambda: [nlweb(), forged()], received=3)
LETTER = Flow("worker: one dm3 letter", "WorkerFunction", lambda: [dm3()])
ORDERED = Flow("worker: one for a queue", "WorkerFunction", lambda: [nlweb(End.HANDED_ON, subject=ORDER)])
RETRIED = Flow("worker: a message, and again by its sender", "WorkerFunction", lambda: [nlweb()] * 2)
REDRIVEN = Flow("worker: redriven dead letters under new ids", "WorkerFunction", lambda: all_verdicts(4), redriven=True)
TOLD = Flow("courier: one discard", "CourierFunction", lambda: [forged()], queue="CourierQueue")
DISCARDS = Flow(
    "courier: told, refused, busy", "CourierFunction", lambda: [forged(name) for name in (SENDER, STRICT, BUSY)],
    queue="CourierQueue",
)  # fmt: skip
SHARE = Flow(
    "courier: more than its share", "CourierFunction", lambda: [forged(), forged(), unknown_subject()],
    queue="CourierQueue",
)  # fmt: skip
SUMMARY = Flow("courier: the hour's summary", "CourierFunction", SHARE.make, queue="CourierQueue", hours_later=2)
DEAD = Flow("keeper: two dead letters", "KeeperFunction", lambda: [nlweb(End.DISCARDED), nlweb(End.DISCARDED)])
SHUFFLED = Flow("queue: in every order, twice, late", "WorkerFunction", lambda: [*[nlweb()] * 2, forged()])


def in_trouble(trouble: Trouble) -> Play:
    """All DNS in trouble while the victim works."""
    flow = Flow(f"worker: DNS {trouble}", "WorkerFunction", lambda: [nlweb(), dm3()], dns=trouble)
    return partial(enumerate_calls, flow=flow, strikes=DEATHS)


SUITES = {
    "door": Suite(
        [
            door("NLWeb, dm3", lambda: [nlweb(), dm3()]),
            door("too large for the queue", lambda: [nlweb(body=LARGE)]),
            door("answered at once", lambda: [nlweb(End.ANSWERED, subject=ASK)]),
            door("answered at length, and asked again", lambda: [nlweb(End.ANSWERED, subject=ASK, body=AT_LENGTH)] * 2),
            partial(enumerate_calls, flow=UNASKED, strikes=[*DEATHS, *ERRORS]),
        ]
    ),
    "one": Suite(
        [
            partial(
                enumerate_calls,
                flow=ONE,
                strikes=[*DEATHS, *ERRORS, *CLOCKS],
                rivals=[(overtaken, SAME), (overtaken, OWNED)],
            ),
            partial(enumerate_calls, flow=ONE_OR_NONE, strikes=[], rivals=[(overtaken, KEYLESS)]),
            partial(enumerate_calls, flow=NO_KEY, strikes=[*DEATHS], rivals=[(overtaken, KEYED), (overtaken, OWNED)]),
            partial(enumerate_calls, flow=BAD, strikes=[*DEATHS, *ERRORS, *CLOCKS], rivals=[(overtaken, SAME)]),
            partial(enumerate_calls, flow=RETRIED, strikes=[*DEATHS, *ERRORS], rivals=[(overtaken, OWNED)]),
            partial(enumerate_calls, flow=DARK_ONE, strikes=[*DEATHS, *ERRORS]),
            partial(enumerate_calls, flow=BIG, strikes=[*DEATHS, *ERRORS, entry_refused]),
            partial(enumerate_calls, flow=OFTEN, strikes=[*DEATHS, *ERRORS]),
            partial(enumerate_calls, flow=LETTER, strikes=ERRORS, rivals=[(overtaken, OWNED)]),
            partial(enumerate_calls, flow=ORDERED, strikes=[*DEATHS, *ERRORS]),
        ]
    ),
    "ten": Suite([worker(10), partial(enumerate_calls, flow=REDRIVEN, strikes=DEATHS)]),
    "courier": Suite(
        [
            partial(enumerate_calls, flow=TOLD, strikes=CLOCKS),
            partial(enumerate_calls, flow=DISCARDS, strikes=[*DEATHS, *ERRORS]),
        ]
    ),
    "share": Suite(
        [partial(enumerate_calls, flow=flow, strikes=[*DEATHS, *ERRORS]) for flow in (SHARE, SUMMARY)],
        {"FEEDBACK_PER_DOMAIN_AND_HOUR": "1"},
    ),
    "rest": Suite(
        [
            partial(enumerate_calls, flow=DEAD, strikes=[*DEATHS, *ERRORS]),
            partial(shuffle, flow=SHUFFLED),
            in_trouble(Trouble.SERVFAIL),
            in_trouble(Trouble.SLOW),
        ]
    ),
    "silence": Suite([in_trouble(Trouble.SILENT)], {"DNS_TRY_SECONDS": "1", "DNS_BUDGET_SECONDS": "1"}),
}
