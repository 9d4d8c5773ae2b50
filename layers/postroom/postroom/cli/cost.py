"""`postroom cost`: the monthly cost on AWS, from counted requests and a file of prices."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from postroom.cli.exits import UsageFault
from postroom.cli.inputs import AsJson
from postroom.cli.output import print_json, print_table
from postroom.cost import counted

if TYPE_CHECKING:
    from postroom.cost.model import Item, MailLoad
    from postroom.cost.prices import Prices

_LONGEST_MS: Final = 900_000
"""No function of Lambda runs for longer."""


def cost(
    messages: Annotated[
        int, typer.Option("--messages-per-month", min=1, help="Messages that the inbox accepts.")
    ] = 1_000_000,
    size: Annotated[int, typer.Option(min=1, max=5_000_000, help="Bytes of a message.")] = 2_000,
    batch: Annotated[
        float | None,
        typer.Option(min=1, max=100, help="Messages in one batch of the worker's [default: what the window gathers]."),
    ] = None,
    window: Annotated[
        float | None,
        typer.Option(
            min=1,
            max=10,
            help=f"Seconds for which a batch is gathered: BatchingWindowSeconds [default: {counted.WINDOW_SECONDS}].",
        ),
    ] = None,
    discarded: Annotated[float, typer.Option(min=0, max=1, help="Share of them that is discarded.")] = 0,
    duplicates: Annotated[float, typer.Option(min=0, max=1, help="Share of them that was sent before.")] = 0,
    acknowledged: Annotated[float, typer.Option(min=0, max=1, help="Share of what is filed that is fetched.")] = 1,
    sent: Annotated[
        int, typer.Option(min=0, help="Messages that owners send through the outbox, of as many bytes.")
    ] = 0,
    left: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Share of what is filed that nobody acknowledged when compaction comes [default: what is never "
            "fetched, and 0.05 at least].",
        ),
    ] = None,
    later: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="Share of that which is acknowledged from one look of compaction at a chunk to the next."
        ),
    ] = 0.2,
    runs: Annotated[int, typer.Option("--runs-a-day", min=1, max=24, help="Of compaction: CompactSchedule.")] = (
        counted.COMPACT_RUNS_A_DAY
    ),
    workers: Annotated[int, typer.Option(min=2, max=1000, help="JobsMaxWorkers.")] = counted.JOB_WORKERS,
    reads: Annotated[int, typer.Option("--job-reads", min=1, help="JobsReadUnitsPerSecond.")] = (
        counted.JOB_READS_A_SECOND
    ),
    writes: Annotated[int, typer.Option("--job-writes", min=1, help="JobsWriteUnitsPerSecond.")] = (
        counted.JOB_WRITES_A_SECOND
    ),
    front: Annotated[
        str, typer.Option(metavar="FRONT", help="http-api, function-url, or cloudfront (before a Function URL).")
    ] = "http-api",
    region: Annotated[str, typer.Option(help="Where it is deployed.")] = "us-east-1",
    prices: Annotated[Path | None, typer.Option(help="A file of prices instead of ours.")] = None,
    door_ms: Annotated[
        float | None,
        typer.Option(
            min=0, max=_LONGEST_MS, help="Milliseconds of the inbox function for a message, by your CloudWatch."
        ),
    ] = None,
    worker_ms: Annotated[
        float | None,
        typer.Option(min=0, max=_LONGEST_MS, help="The worker's, for a batch, divided by its messages."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Estimate what a month's mail costs on AWS, line by line."""
    from postroom.cost.model import Front, MailLoad, bill, gathered, largest_batch
    from postroom.cost.nights import LEFT, Nights
    from postroom.cost.prices import OURS, read_prices

    if front not in set(Front):
        raise UsageFault(f"--front is {front!r}; it must be one of {', '.join(Front)}")
    if discarded + duplicates > 1:
        raise UsageFault("--discarded and --duplicates are shares of the same messages: together at most 1")
    if batch is not None and window is not None:
        raise UsageFault("--window is for what gathers a batch, --batch says how large it is: give one of them")
    never = 1 - acknowledged
    if left is not None and left < never:
        raise UsageFault(f"--left is {left}; what is never fetched (--acknowledged) is left, too: at least {never:g}")
    come = batch or gathered(messages, window or counted.WINDOW_SECONDS)
    mail = MailLoad(
        messages=messages,
        size=size,
        batch=min(largest_batch(size), come),
        discarded=discarded,
        duplicates=duplicates,
        acknowledged=acknowledged,
        front=Front(front),
        door_ms=door_ms,
        worker_ms=worker_ms,
        sent=sent,
        nights=Nights(
            left=max(never, LEFT) if left is None else left,
            later=later,
            runs_a_day=runs,
            workers=workers,
            reads=reads,
            writes=writes,
        ),
    )
    known = read_prices(prices or OURS, region)
    items = [item for item in bill(mail, known) if item.amount]
    if as_json:
        _print_json(mail, known, region, items)
    else:
        _print(mail, known, region, items)


def _print_json(mail: "MailLoad", prices: "Prices", region: str, items: "list[Item]") -> None:
    print_json({
        "messages": mail.messages,
        "size": mail.size,
        "batch": mail.batch,
        "region": region,
        "prices_noted": prices.noted.isoformat(),
        "items": [
            {
                "name": item.name, "amount": item.amount, "unit": item.unit, "usd": item.usd,
                "standing": item.standing, "sent": item.sent, "jobs": item.jobs,
            }
            for item in items
        ],
        "usd_per_month": _sum(items),
        "usd_standing": _sum([item for item in items if item.standing]),
        "usd_per_million": _per_million(mail, _sum(_at_once(items))),
        "usd_per_million_jobs": _per_million(mail, _sum([item for item in items if item.jobs])),
        "usd_per_million_sent": _sum([item for item in items if item.sent]) / (mail.sent or 1) * 1_000_000,
    })  # fmt: skip


def _print(mail: "MailLoad", prices: "Prices", region: str, items: "list[Item]") -> None:
    print(
        f"{mail.messages:,} messages of {mail.size:,} bytes a month, {mail.batch:.1f} in a batch, in {region}; "
        f"US dollars, prices of {prices.noted}"
    )
    by_message, jobs = _at_once(items), [item for item in items if item.jobs]
    sent = [item for item in items if item.sent]
    standing = [item for item in items if item.standing]
    rows = [
        *_rows_by_message(mail, by_message, "all that"),
        *_rows_by_message(mail, jobs, "compaction"),
        *_rows_of_sent(mail, sent),
        *((item.name, _amount(item), f"{item.usd:.2f}", "") for item in standing),
        ("whether or not there is mail", "", f"{_sum(standing):.2f}", ""),
        ("together", "", f"{_sum(items):.2f}", f"{_per_million(mail, _sum(items)):.3f}"),
    ]
    print_table(("", "a month", "$ a month", "$ a million messages"), rows)


def _at_once(items: "list[Item]") -> "list[Item]":
    """What is calculated by a million messages received, from the inbox until they are acknowledged."""
    return [item for item in items if not (item.standing or item.sent or item.jobs)]


def _rows_by_message(mail: "MailLoad", items: "list[Item]", total: str) -> list[tuple[str, str, str, str]]:
    rows = [(item.name, _amount(item), f"{item.usd:.2f}", f"{_per_million(mail, item.usd):.3f}") for item in items]
    return [*rows, (total, "", f"{_sum(items):.2f}", f"{_per_million(mail, _sum(items)):.3f}")] if items else []


def _rows_of_sent(mail: "MailLoad", items: "list[Item]") -> list[tuple[str, str, str, str]]:
    """What is calculated by a million messages sent."""
    if not items:
        return []
    rows = [(item.name, _amount(item), f"{item.usd:.2f}", f"{item.usd / mail.sent * 1e6:.3f}") for item in items]
    return [*rows, (f"sending {mail.sent:,}", "", f"{_sum(items):.2f}", f"{_sum(items) / mail.sent * 1e6:.3f}")]


def _amount(item: "Item") -> str:
    return f"{item.amount:,.0f} {item.unit}" if abs(item.amount) >= 100 else f"{item.amount:.3g} {item.unit}"


def _sum(items: "list[Item]") -> float:
    return sum(item.usd for item in items)


def _per_million(mail: "MailLoad", usd: float) -> float:
    return usd / mail.messages * 1_000_000
