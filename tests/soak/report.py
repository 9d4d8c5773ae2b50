"""The page of a soak in Markdown, and the progress bar while it runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks.harness import Table
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from tests.soak.crew import BATCH
from tests.soak.dcp_ledger import DcpProblem
from tests.soak.dcp_peers import LOST
from tests.soak.faults import ONE_CALL_IN, STUBBORN, Fault
from tests.soak.ledger import Problem
from tests.soak.memory import MARKS
from tests.soak.mix import DCP_ENDS, DCP_SHARE, ENDS, LOUD_SHARE, QUIET, DcpKind, Kind
from tests.soak.poller import DUPLICATED, LATEST_SECONDS
from tests.soak.soak import Order, Result, Sight
from tests.soak.stack import VISIBILITY_SECONDS

from postroom.storage.audit.findings import AuditOutcome
from postroom.storage.audit.problems import AuditProblem as StoreProblem

PAGE: Final = Path(__file__).parent.parent.parent / "docs" / "evidence" / "soak.md"


@contextmanager
def show(order: Order) -> Iterator[Callable[[Sight], None]]:
    """A progress bar on standard error; yields a function that updates it."""
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.fields[said]}"))
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=order.messages, said="")

        def see(sight: Sight) -> None:
            memory = ", ".join(f"{name} {size} MB" for name, size in sight.memory.items())
            said = f"waiting {sight.waiting}, killed {sight.killed}; {memory}"
            progress.update(task, completed=sight.sent, said=said)

        yield see


def page(result: Result) -> str:
    """The page."""
    order, ledger, dcp = result.order, result.ledger, result.over_dcp
    sections = [
        INTRODUCTION,
        f"## A run\n\n    make soak MESSAGES={order.messages} SEED={order.seed}\n",
        _section(
            "Messages sent, and their results",
            ("kind", "answered", "accepted", "expected result"),
            [(kind, ledger.kinds[kind], ledger.taken[kind], ENDS[kind]) for kind in Kind],
        ),
        _section(
            "Stamps used over DCP, and their effects",
            ("kind", "stamps", "took effect", "outcome once unknown", "expected result"),
            [(kind, dcp.kinds[kind], dcp.done[kind], dcp.unknown[kind], DCP_ENDS[kind]) for kind in DcpKind],
        ),
        _section("Injected faults", ("fault", "times"), _wrong(result)),
        _section("The ledger", ("what", "messages"), _kept(result)),
        _section(
            "Problems",
            ("problem", "found"),
            [
                *((str(it), ledger.problems[it]) for it in Problem),
                *((str(it), dcp.problems[it]) for it in DcpProblem),
            ],
        ),
        _section(
            "Result of `postroom audit` for the same deployment",
            ("", "messages"),
            [
                *((f"accepted: {end}", (result.findings.accepted or {}).get(end, 0)) for end in AuditOutcome),
                ("synchronous, reply stored", result.findings.answered),
                *((name_of(problem), result.findings.count(problem)) for problem in StoreProblem),
            ],
        ),
        _section(
            "Memory (resident MB; of each kind, the oldest process, which was never killed)",
            ("process", *(f"at {mark} %" for mark in MARKS), "maximum"),
            [
                (name, *(result.memory.at.get(mark, {}).get(name, "–") for mark in MARKS), most)
                for name, most in result.memory.most.items()
            ],
        ),
        _MEMORY,
    ]
    return "\n".join(sections)


def name_of(problem: StoreProblem) -> str:
    """The kind of a problem and its name, such as `problem: Lost`."""
    return f"{'problem' if problem.grave else 'note'}: {problem}"


def _wrong(result: Result) -> list[tuple[object, ...]]:
    return [
        *((f"{function}: killed (SIGKILL)", count) for function, count in result.killed.items()),
        *((f"AWS calls: {fault}", result.counts[fault]) for fault in Fault),
        ("queue: delivered twice", result.counts["handed out twice by the queue"]),
        ("queue: delivered again after a failure", result.counts["redelivered"]),
        ("queue: processed, and not deleted", result.counts["not deleted"]),
        ("queue: dead letters redriven", result.redriven),
        ("functions: whole batch failed", result.counts["function failed"]),
        ("inbox: died before it answered; resent", result.unanswered),
        ("inbox: answered 503; resent", result.not_now),
        ("inbox: gave a reply that could not be stored", result.given_up),
        ("mailbox: died before it answered; resent", result.dcp_unanswered),
        ("mailbox: answer lost; resent", result.dcp_lost),
        ("buffer: stored a Feedback, and answered 503", result.feedback_failed),
    ]


def _kept(result: Result) -> list[tuple[object, ...]]:
    return [
        ("posts to the inbox, with retries", result.posts),
        ("messages with a final answer", result.ledger.kinds.total()),
        ("accepted", result.ledger.taken.total()),
        ("different messages to be filed", result.ledger.filed),
        ("claims discarded", result.discarded),
        ("messages of DCP, with resent ones", result.dcp_messages),
        ("Feedback received by the buffer, with repeated ones", result.feedback),
    ]


def _section(title: str, columns: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    texts = tuple(tuple(f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row) for row in rows)
    return f"**{title}**\n\n" + "\n".join(Table("", columns, texts).lines()) + "\n"


INTRODUCTION: Final = f"""\
# Soak test

The result of the soak test, for anyone who wants to know whether mail survives crashes and faults.

    make soak MESSAGES=2000

sends messages while processes are killed and AWS calls fail, and then compares every answer of the inbox with what is
stored. The exit code is 0 only if every number under "Problems" is 0, the audit finds no problem, and the audit has at
most as many notes as there were requests without a final answer. (If the inbox dies, or answers 503, after it queued a
claim, the claim is filed without a line in the ledger, and the repeated request is the copy.) `MINUTES` ends the
sending early. `SEED` chooses messages, victims and faults; when a fault occurs also depends on the machine's speed.
`WRITE=1` writes this page.

Three senders have {LOUD_SHARE:.0%} of the traffic, and {QUIET} others the rest. A sender that gets no answer, or 503,
sends the same message again. Processes are killed (SIGKILL) while they work. One AWS call in {ONE_CALL_IN} fails; of
these, one in {1 / STUBBORN:.0f} fails in all of botocore's attempts. The queues deliver one message in
{1 / DUPLICATED:.0f} twice, at the same time or up to {LATEST_SECONDS} s later, and every batch in random order.

Owners send requests over DCP, alone and in batches, and write cheques, whose holders present them until there is an
answer: {DCP_SHARE * 100:.0f} for a hundred messages. One answer in {1 / LOST:.0f} is lost. Each request signs a
mailbox of its own out, which the mailbox counts. The ledger compares how often each stamp took effect with what was
answered: once if it was done, never if it was refused, and once or never if the outcome is unknown.

- *These parts are real:* the template's tables, queues and bucket in the local stack; the functions' own handlers, in
  processes of their own, with the environment that the template gives them; batches of up to {BATCH}; signed DNS with
  the stack's trust anchor; TLS to the senders' post offices.
- *These are replaced:* API Gateway by loops that pass events to the inbox and the mailbox API; the event source
  mappings by pollers that receive, call the handler, and delete; the senders' post offices by a server that counts
  Feedback, and sometimes fails.
- *These settings differ:* the queues' visibility time-outs are {VISIBILITY_SECONDS} s, so that messages of a killed
  process are delivered again in the same run; look-ups have more time; Feedback is not limited (summaries would wait
  for the end of the hour). The dead-letter handler runs when the emulator's schedule says so, every 15 minutes; dead
  letters are redriven at the end, as an operator would do.
"""

_MEMORY: Final = """\
The worker's memory is that of the largest batch that it has processed: little of it is returned to the system. The more
messages there are that are too large for the queue, the more of them meet in one batch at some time. With only one such
message, the worker had 93 MB after 6,000 messages, and 94 after 12,000. [benchmarks.md](benchmarks.md), `memory`, has
100,000 messages of one size.
"""
