"""The suites of the fault tests: flows with the same settings, and their faults."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tests.faults.dcp import BatchFlow, ChequeFlow, CloseFlow, ReadFlow, SessionFlow
from tests.faults.fake_internet import BUSY, DARK, SENDER, STRICT, Trouble
from tests.faults.flows import INBOXES, OWNERS, Flow
from tests.faults.harness import EachCall, EachDropped, EachOrder, Rival
from tests.faults.kinds import (
    CLOCKS,
    ERRORS,
    Strike,
    answer_lost,
    denied,
    entry_refused,
    overtaken,
    reset,
    throttled,
)
from tests.faults.messages import (
    EITHER,
    LARGE,
    End,
    Message,
    and_a_forged_copy,
    dm3,
    feedback,
    forged,
    nlweb,
    not_ours,
    of_a_wallet,
    two_texts,
    unknown_subject,
)
from tests.faults.notifications import NotificationFlow
from tests.faults.outbox import OutboxFlow
from tests.faults.stack import ASK, AT_LENGTH, NEWS, ORDER
from tests.faults.watches import RacedFlow, ReplacedFlow, ReplacingFlow, ToldFlow, WatchFlow

from postroom.pipeline.worker import BEGIN_SECONDS

Play = EachCall | EachOrder | EachDropped
IMPATIENT = {"DNS_TRY_SECONDS": "1", "DNS_BUDGET_SECONDS": "1"}
"""The settings of a victim whose DNS look-ups time out."""
SMALL_SHARE = {"FEEDBACK_PER_DOMAIN_AND_HOUR": "1"}
SAME = Rival("overtaken by one of the same verdict")
OWNED = Rival("overtaken, and the owner acknowledges", owner=True)
KEYLESS = Rival("overtaken by one that finds no key", keys=False)
ANOTHER_COURIER = Rival("overtaken by another courier")
ANOTHER_INSTANCE = Rival("overtaken by another instance")
MAIL = Rival("overtaken by mail")
KEYED = Rival("overtaken by one that finds a key")


@dataclass(frozen=True)
class Suite:
    """`settings`: those that are not as the template has them."""

    plays: Sequence[Play]
    settings: Mapping[str, str] = field(default_factory=dict)


def all_verdicts(count: int) -> list[Message]:
    """A batch with every kind of message of both protocols: ten messages, or as many as requested."""
    first = nlweb()
    made = [first, forged(), first, dm3(), nlweb(body=LARGE), nlweb(sender=DARK), nlweb(End.HANDED_ON, subject=ORDER),
            unknown_subject(), forged(STRICT), nlweb(sender=STRICT)]  # fmt: skip
    return made[:count] + [nlweb() for _ in range(count - len(made))]


def large_and_handed_on() -> list[Message]:
    return [nlweb(body=LARGE), nlweb(End.HANDED_ON, subject=NEWS)]


def large_of_each_verdict() -> list[Message]:
    """A message, the same one resent, and a forged one, all too large for the queue."""
    first = nlweb(body=LARGE)
    return [first, first, forged(body=LARGE)]


def inbox(name: str, make: Callable[[], list[Message]]) -> Play:
    return EachCall(Flow(f"inbox: {name}", INBOXES, make), ERRORS)


def worker(batch: int, *errors: Strike) -> Play:
    """The worker with a batch of every kind of message."""
    return EachCall(_of_every_kind(batch), errors, [(overtaken, SAME)], longer=4)


def dying_worker(batch: int) -> Play:
    """The same with deaths only, because a large batch makes hundreds of calls."""
    return EachCall(_of_every_kind(batch))


def _of_every_kind(batch: int) -> Flow:
    return Flow(f"worker: {batch} messages of every kind", "WorkerFunction", lambda: all_verdicts(batch))


INBOX = Flow("inbox: one message", INBOXES, lambda: [nlweb()])
BOTH = Flow("inbox: NLWeb, dm3", INBOXES, lambda: [nlweb(), dm3()])
SEALED = Flow("inbox: dm3, and sealed for another service", INBOXES, lambda: [dm3(), dm3(for_others=True)])
ANSWERED = Flow("inbox: synchronous request", INBOXES, lambda: [nlweb(End.ANSWERED, subject=ASK)])
REFUSED = Flow("inbox: refused by its handler", INBOXES, lambda: [not_ours()])
ONE = Flow("worker: one message", "WorkerFunction", lambda: [nlweb()])
ONE_OR_NONE = Flow(
    "worker: one message, with another verdict by a second worker", "WorkerFunction", lambda: [nlweb(*EITHER)]
)
DARK_ONE = Flow("worker: one message, its sender's DNS fails", "WorkerFunction", lambda: [nlweb(sender=DARK)])
PROVEN_DARK = Flow(
    "worker: one message, its proven sender's DNS fails", "WorkerFunction", lambda: [nlweb(sender=DARK)], proven=True
)
SENT_ON = Flow(
    "worker: two messages whose senders' look-ups take too long", "WorkerFunction", lambda: [nlweb(), forged()],
    seconds_a_call=2,
)  # fmt: skip
LOOKED_UP_LATER = Flow(
    "worker: two messages of the queue of look-ups, one of them forged", "WorkerFunction",
    lambda: [nlweb(), forged()], queue="LookUpsQueue",
)  # fmt: skip
WAITING = Flow(
    "waiting queue: two claims, the zone of one of which answers", "WaitingFunction",
    lambda: [nlweb(), nlweb(sender=DARK)], queue="WaitingQueue", stays=1,
)  # fmt: skip
NO_KEY = Flow("worker: one message, its key not found", "WorkerFunction", lambda: [nlweb(*EITHER)], keyless=True)
BAD = Flow("worker: one forged message", "WorkerFunction", lambda: [forged()])
BIG = Flow("worker: one too large for the queue, one for an event bus", "WorkerFunction", large_and_handed_on)
LARGE_ONES = Flow(
    "worker: three too large for the queue, one resent, one forged", "WorkerFunction", large_of_each_verdict
)
LARGE_AGAIN = Flow(
    "worker: three too large for the queue, done before", "WorkerFunction", large_of_each_verdict, done=True
)
OFTEN = Flow("worker: two messages delivered too often", "WorkerFunction", lambda: [nlweb(), forged()], received=3)
DM3 = Flow("worker: one dm3 message", "WorkerFunction", lambda: [dm3()])
ORDERED = Flow("worker: one for a queue", "WorkerFunction", lambda: [nlweb(End.HANDED_ON, subject=ORDER)])
RETRIED = Flow("worker: a message, and the same one resent", "WorkerFunction", lambda: [nlweb()] * 2)
REDRIVEN = Flow("worker: redriven dead letters under new ids", "WorkerFunction", lambda: all_verdicts(4), redriven=True)
TOLD = Flow("courier: one discard", "FeedbackFunction", lambda: [forged()], queue="FeedbackQueue")
DISCARDS = Flow(
    "courier: Feedback accepted, refused, busy", "FeedbackFunction",
    lambda: [forged(name) for name in (SENDER, STRICT, BUSY)],
    queue="FeedbackQueue",
)  # fmt: skip
SHARE = Flow(
    "courier: more Feedback than the limit", "FeedbackFunction", lambda: [forged(), forged(), unknown_subject()],
    queue="FeedbackQueue",
)  # fmt: skip
SUMMARY = Flow("courier: the hour's summary", "FeedbackFunction", SHARE.make, queue="FeedbackQueue", hours_later=2)
RIPENING = Flow(
    "courier: the hour's summary, too early", "FeedbackFunction", SHARE.make, queue="FeedbackQueue", hours_later=0
)
REUSED = Flow("worker: two texts under one Correlation", "WorkerFunction", two_texts)
ABOUT_KNOWN = Flow(
    "courier: Correlations of other messages", "FeedbackFunction", lambda: [*two_texts(), *and_a_forged_copy()],
    queue="FeedbackQueue",
)  # fmt: skip
NEIGHBOURS = Flow("worker: neighbours", "WorkerFunction", lambda: [nlweb(), forged(), nlweb()])
LOOKED_UP = Flow(
    "worker: from a wallet, and two Feedback messages, one without its sender", "WorkerFunction",
    lambda: [of_a_wallet(), feedback(), feedback(names_sender=False)],
)  # fmt: skip
LATE = Flow(
    "worker: more than one part, and no time for the second", "WorkerFunction",
    lambda: [*(nlweb(body=LARGE) for _ in range(3)), nlweb(), forged()], queue="LookUpsQueue",
    seconds_a_call=BEGIN_SECONDS,
)  # fmt: skip
OWNERS_TURN = Flow("owners: one mail, one message", OWNERS, lambda: [nlweb(), dm3()])
SENDS = OutboxFlow("mailbox API: three messages sent", "MailboxFunction", list, queue="CourierQueue")
SENT = OutboxFlow("courier: three messages sent", "CourierFunction", list, queue="CourierQueue")
ANNOUNCED = NotificationFlow("worker: one message, with notification targets", "WorkerFunction", lambda: [nlweb()])
CALLED = NotificationFlow("courier: a notification", "CourierFunction", ANNOUNCED.make, queue="CourierQueue")
NOTIFIED = replace(CALLED, name="courier: two targets, one of them busy", turns=1)
WAS_BUSY = replace(CALLED, name="courier: a target that was busy", turns=2, busy=200)
IS_GONE = replace(CALLED, name="courier: two targets, one of them gone", turns=1, busy=410)
MEANWHILE = replace(CALLED, name="courier: a second notification", turns=1, meanwhile=True)
AT_THE_END = replace(MEANWHILE, name="courier: the end of the interval", at_the_end=True, busy=200)
SESSION = SessionFlow("mailbox API: a session of DCP", "DcpFunction", list)
BATCH = BatchFlow("mailbox API: a batch of DCP", "DcpFunction", list)
CHEQUE = ChequeFlow("mailbox API: a cheque of DCP, presented twice", "DcpFunction", list)
CLOSED = CloseFlow("mailbox API: a session of DCP is closed", "DcpFunction", list)
READS = ReadFlow("mailbox API: a read by a cheque of DCP", "DcpFunction", list)
READ_FAILS = ReadFlow("mailbox API: a read by a cheque of DCP fails by itself", "DcpFunction", list, fails=True)
READ_UNREADABLE = replace(READS, name="mailbox API: a read by a cheque of DCP, of what is missing", is_missing=True)
WATCH = WatchFlow("mailbox API: a watch of DCP", "DcpFunction", list)
REPLACING = ReplacingFlow("mailbox API: a watch of DCP in the place of another one", "DcpFunction", list)
REPLACED = ReplacedFlow("courier: a session that was replaced", "CourierFunction", list, queue="CourierQueue",
                        turns=1, busy=200)  # fmt: skip
REPLACED_BUSY = replace(REPLACED, name="courier: a session that was replaced, and cannot be told at first", busy=503)
REPLACED_UNHEARD = replace(REPLACED, name="courier: a session that was replaced, and is gone", busy=410)
REPLACED_AGAIN = replace(REPLACED, name="courier: a session that was replaced, and cannot be told for hours", turns=2,
                         busy=503, too_late=True)  # fmt: skip
WATCHED = ToldFlow("courier: a session that waits for mail", "CourierFunction", ANNOUNCED.make, queue="CourierQueue",
                   turns=1, busy=200)  # fmt: skip
WATCHED_AGAIN = replace(WATCHED, name="courier: a session whose WebSocket API was busy", turns=2)
WATCHED_MEANWHILE = replace(WATCHED, name="courier: a session that waits, and a second message", meanwhile=True)
RACED = RacedFlow("courier: two notifications of a session", "CourierFunction", ANNOUNCED.make, queue="CourierQueue",
                  turns=1, meanwhile=True, busy=200)  # fmt: skip
UNHEARD = replace(WATCHED, name="courier: a session whose WebSocket is gone", busy=410)
GIVEN_UP = replace(WATCHED_AGAIN, name="courier: a session that cannot be told for hours", busy=503, too_late=True)
DEAD = Flow(
    "dead-letter handler: two dead letters, one of them too large for the queue", "DeadLetterFunction",
    lambda: [nlweb(End.DISCARDED), nlweb(End.DISCARDED, body=LARGE)],
)  # fmt: skip
SHUFFLED = Flow("queue: any order, twice, late", "WorkerFunction", lambda: [*[nlweb()] * 2, forged()])


def in_trouble(trouble: Trouble, **settings: str) -> list[Play]:
    """All DNS fails during the run of the worker, the courier, or the inbox with a synchronous request."""
    looking_up = Flow("worker: two messages", "WorkerFunction", lambda: [nlweb(), dm3()])
    return [
        EachCall(replace(flow, name=f"{flow.name}, DNS {trouble}", dns=trouble, settings=settings))
        for flow in (looking_up, ANSWERED, TOLD)
    ]


SUITES = {
    "inbox": Suite(
        [
            EachCall(BOTH, [*ERRORS, reset, *CLOCKS, denied]),
            EachCall(SEALED, [throttled]),
            inbox("too large for the queue", lambda: [nlweb(body=LARGE)]),
            EachCall(ANSWERED, [*ERRORS, *CLOCKS]),
            inbox(
                "answered at length, and asked again", lambda: [nlweb(End.ANSWERED, subject=ASK, body=AT_LENGTH)] * 2
            ),
            EachCall(REFUSED, ERRORS),
        ]
    ),
    "one": Suite(
        [
            EachCall(ONE, [*ERRORS, reset, *CLOCKS], [(overtaken, SAME), (overtaken, OWNED)]),
            EachCall(ONE_OR_NONE, [], [(overtaken, KEYLESS)], dies=False),
            EachCall(NO_KEY, [], [(overtaken, KEYED), (overtaken, OWNED)]),
            EachCall(BAD, [*ERRORS, reset, *CLOCKS], [(overtaken, SAME)]),
            EachCall(RETRIED, ERRORS, [(overtaken, OWNED)]),
            EachCall(DARK_ONE, [*ERRORS, denied]),
            EachCall(PROVEN_DARK, ERRORS),
            EachCall(SENT_ON, ERRORS),
            EachCall(LOOKED_UP_LATER, [throttled]),
            EachCall(WAITING, ERRORS),
            EachCall(BIG, [*ERRORS, entry_refused]),
            EachCall(LARGE_ONES, [throttled], [(overtaken, SAME)]),
            EachCall(LARGE_AGAIN),
            EachCall(OFTEN, ERRORS),
            EachCall(DM3, ERRORS, [(overtaken, OWNED)], dies=False),
            EachCall(ORDERED, [*ERRORS, *CLOCKS, denied]),
            EachCall(NEIGHBOURS, [denied], dies=False),
            EachCall(REUSED, ERRORS),
            EachCall(LOOKED_UP, [throttled, denied]),
            EachCall(LATE, [throttled], longer=4),
        ]
    ),
    "ten": Suite([worker(10, answer_lost), EachCall(REDRIVEN)]),
    "courier": Suite(
        [
            EachCall(TOLD, [*ERRORS, reset, *CLOCKS, denied]),
            EachCall(DISCARDS, [throttled]),
            EachCall(ABOUT_KNOWN, [throttled]),
        ]
    ),
    "share": Suite([EachCall(flow, ERRORS) for flow in (SHARE, SUMMARY, RIPENING)], SMALL_SHARE),
    "outbox": Suite(
        [
            EachCall(SENDS, [*ERRORS, reset]),
            EachCall(SENT, [*ERRORS, reset, denied], [(overtaken, ANOTHER_COURIER)]),
        ]
    ),
    "notified": Suite(
        [
            EachCall(ANNOUNCED, [*ERRORS, denied]),
            EachCall(CALLED, [*ERRORS, reset, *CLOCKS, denied], [(overtaken, ANOTHER_COURIER)]),
            EachCall(NOTIFIED, [*ERRORS, denied], [(overtaken, ANOTHER_COURIER)]),
            EachCall(WAS_BUSY, [*ERRORS, *CLOCKS]),
            EachCall(IS_GONE, ERRORS),
            EachCall(MEANWHILE, [*ERRORS, *CLOCKS], [(overtaken, ANOTHER_COURIER)]),
            EachCall(AT_THE_END, [*ERRORS, *CLOCKS], [(overtaken, ANOTHER_COURIER)]),
        ]
    ),
    "dcp": Suite(
        [
            EachCall(SESSION, [*ERRORS, reset, *CLOCKS, denied]),
            EachCall(BATCH, ERRORS),
            EachCall(CHEQUE, [*ERRORS, *CLOCKS], [(overtaken, ANOTHER_INSTANCE)]),
            EachCall(CLOSED, [*ERRORS, *CLOCKS]),
            EachCall(READS, [*ERRORS, denied], [(overtaken, ANOTHER_INSTANCE)]),
            EachCall(READ_FAILS, [throttled]),
            EachCall(READ_UNREADABLE, [throttled]),
        ]
    ),
    "watch": Suite(
        [
            EachCall(WATCH, [*ERRORS, denied], [(overtaken, MAIL)]),
            EachCall(REPLACING, [throttled, denied], [(overtaken, MAIL)]),
            EachCall(REPLACED, [throttled, denied]),
            EachCall(REPLACED_BUSY, [throttled]),
            EachCall(REPLACED_UNHEARD, [throttled]),
            EachCall(REPLACED_AGAIN, [throttled], dies=False),
            EachCall(WATCHED, [*ERRORS, *CLOCKS, denied], [(overtaken, ANOTHER_COURIER)]),
            EachCall(WATCHED_AGAIN, ERRORS, dies=False),
            EachCall(WATCHED_MEANWHILE, [throttled]),
            EachCall(RACED, [], [(overtaken, ANOTHER_COURIER)], dies=False),
            EachCall(UNHEARD, [throttled]),
            EachCall(GIVEN_UP, [throttled], dies=False),
        ]
    ),
    "rest": Suite(
        [
            EachCall(DEAD, [*ERRORS, reset, *CLOCKS]),
            EachOrder(SHUFFLED),
            EachCall(OWNERS_TURN, ERRORS),
            *in_trouble(Trouble.SERVFAIL),
        ]
    ),
    "silence": Suite([*in_trouble(Trouble.SILENT, **IMPATIENT), *in_trouble(Trouble.SLOW, **IMPATIENT)]),
}
