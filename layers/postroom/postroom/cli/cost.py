"""`postroom cost`: the monthly cost on AWS, from counted requests and a file of prices."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from postroom.cli.exits import UsageFault
from postroom.cli.inputs import AsJson
from postroom.cli.output import print_json, print_table
from postroom.cli.terminal import print_line
from postroom.core.settings import MAX_ENS_QUORUM
from postroom.cost import counted

if TYPE_CHECKING:
    from postroom.cost.items import Item
    from postroom.cost.model import MailLoad
    from postroom.cost.prices import Prices

_LONGEST_MS: Final = 900_000
"""The longest time-out of a Lambda function."""


def cost(
    messages: Annotated[
        int, typer.Option("--messages-per-month", min=1, help="Messages that the inbox accepts.")
    ] = 1_000_000,
    size: Annotated[int, typer.Option(min=1, max=5_000_000, help="Bytes of a message.")] = 2_000,
    batch: Annotated[
        float | None,
        typer.Option(min=1, max=100, help="Messages in one batch of the worker [default: by --window]."),
    ] = None,
    window: Annotated[
        float | None,
        typer.Option(
            min=1,
            max=10,
            help=f"Seconds for which a batch is collected: BatchingWindowSeconds [default: {counted.WINDOW_SECONDS}].",
        ),
    ] = None,
    discarded: Annotated[float, typer.Option(min=0, max=1, help="Share of these messages that is discarded.")] = 0,
    duplicates: Annotated[float, typer.Option(min=0, max=1, help="Share of these messages that are duplicates.")] = 0,
    acknowledged: Annotated[
        float, typer.Option(min=0, max=1, help="Share of stored messages that is acknowledged.")
    ] = 1,
    sent: Annotated[
        int, typer.Option(min=0, help="Messages that owners send through the outbox, of the same size.")
    ] = 0,
    dcp_requests: Annotated[
        int, typer.Option(min=0, help="Requests of owners over DCP, beside what they cost over HTTP.")
    ] = 0,
    dcp_batch: Annotated[float, typer.Option(min=1, max=10, help="Requests in one message of DCP.")] = 1,
    dcp_sessions: Annotated[int, typer.Option(min=0, help="How often owners connect for these requests.")] = 0,
    waiting_sockets: Annotated[
        int, typer.Option(min=0, help="Owners who wait for mail all month over a WebSocket.")
    ] = 0,
    waiting_polls: Annotated[
        int,
        typer.Option(min=0, help=f"Owners who wait all month by requests that wait for {counted.POLL_SECONDS} s."),
    ] = 0,
    notified: Annotated[
        int, typer.Option("--waiting-notified", min=0, help="How often each owner at a WebSocket is notified of mail.")
    ] = 0,
    ens_senders: Annotated[
        int, typer.Option(min=0, help="Senders of these messages, if they are dm3 names in ENS; 0: none is.")
    ] = 0,
    ens_off_chain: Annotated[
        float, typer.Option(min=0, max=1, help="Share of these senders whose texts are off chain.")
    ] = 0,
    ens_rules: Annotated[
        float, typer.Option(min=0, max=1, help="Share of messages to mailboxes with a rule about accounts.")
    ] = 0,
    ens_quorum: Annotated[int, typer.Option(min=1, max=MAX_ENS_QUORUM, help="EnsQuorum.")] = counted.ENS_QUORUM,
    instances: Annotated[
        int, typer.Option("--dm3-instances", min=1, help="Warm instances of the dm3 inbox: each looks names up itself.")
    ] = 1,
    left: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Share of stored messages that is not acknowledged when compaction reads them [default: 0.05, or "
            "1 minus --acknowledged if that is more].",
        ),
    ] = None,
    later: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Share of messages in a chunk that is acknowledged between two looks of compaction at it.",
        ),
    ] = 0.2,
    runs: Annotated[
        int, typer.Option("--runs-a-day", min=1, max=24, help="Runs of compaction a day: CompactSchedule.")
    ] = (counted.COMPACT_RUNS_A_DAY),
    workers: Annotated[int, typer.Option(min=2, max=1000, help="JobsMaxWorkers.")] = counted.JOB_WORKERS,
    reads: Annotated[int, typer.Option("--job-reads", min=1, help="JobsReadUnitsPerSecond.")] = (
        counted.JOB_READS_PER_SECOND
    ),
    writes: Annotated[int, typer.Option("--job-writes", min=1, help="JobsWriteUnitsPerSecond.")] = (
        counted.JOB_WRITES_PER_SECOND
    ),
    front: Annotated[
        str, typer.Option(metavar="FRONT", help="http-api, function-url, or cloudfront (with a Function URL).")
    ] = "http-api",
    region: Annotated[str, typer.Option(help="The AWS region.")] = "us-east-1",
    prices: Annotated[
        Path | None, typer.Option(help="A file of prices [default: prices.toml of this release].")
    ] = None,
    inbox_ms: Annotated[
        float | None,
        typer.Option(
            min=0, max=_LONGEST_MS, help="Duration of the inbox for a message in milliseconds, from CloudWatch."
        ),
    ] = None,
    worker_ms: Annotated[
        float | None,
        typer.Option(
            min=0, max=_LONGEST_MS, help="Duration of the worker for a batch in milliseconds, divided by its messages."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Estimate what a month's mail costs on AWS, line by line."""
    from postroom.cost.compaction import LEFT, Nights
    from postroom.cost.dcp import DcpLoad
    from postroom.cost.model import Front, MailLoad, bill, expected_batch, largest_batch
    from postroom.cost.names import NameLoad
    from postroom.cost.prices import OURS, read_prices
    from postroom.cost.waits import WaitLoad

    if front not in set(Front):
        raise UsageFault(f"--front is {front!r}; it must be one of {', '.join(Front)}")
    if discarded + duplicates > 1:
        raise UsageFault("--discarded and --duplicates are shares of the same messages: their sum must be at most 1")
    if batch is not None and window is not None:
        raise UsageFault("--window and --batch exclude each other: both determine the size of a batch")
    never = 1 - acknowledged
    if left is not None and left < never:
        raise UsageFault(
            f"--left is {left}; it must be at least {never:g}, the share that is never acknowledged (--acknowledged)"
        )
    if dcp_sessions and not dcp_requests:
        raise UsageFault("--dcp-sessions are those of requests: set --dcp-requests, too")
    if notified and not waiting_sockets:
        raise UsageFault("--waiting-notified is for owners at a WebSocket: set --waiting-sockets, too")
    if not ens_senders and (ens_off_chain or ens_rules or ens_quorum != counted.ENS_QUORUM or instances > 1):
        raise UsageFault(
            "--ens-off-chain, --ens-rules, --ens-quorum and --dm3-instances are for senders in ENS: set --ens-senders, "
            "too"
        )
    come = batch or expected_batch(messages, window or counted.WINDOW_SECONDS)
    mail = MailLoad(
        messages=messages,
        size=size,
        batch=min(largest_batch(size), come),
        discarded=discarded,
        duplicates=duplicates,
        acknowledged=acknowledged,
        front=Front(front),
        inbox_ms=inbox_ms,
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
        dcp=DcpLoad(dcp_requests, dcp_batch, dcp_sessions),
        waits=WaitLoad(waiting_sockets, waiting_polls, notified),
        names=NameLoad(ens_senders, instances, ens_off_chain, ens_rules, ens_quorum),
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
                "standing": item.standing, "sent": item.sent, "jobs": item.jobs, "dcp": item.dcp,
                "waiting": item.waiting,
            }
            for item in items
        ],
        "usd_per_month": _sum(items),
        "usd_standing": _sum([item for item in items if item.standing]),
        "usd_per_million": _per_million(mail, _sum([item for item in items if item.received])),
        "usd_per_million_jobs": _per_million(mail, _sum([item for item in items if item.jobs])),
        "usd_per_million_sent": _sum([item for item in items if item.sent]) / (mail.sent or 1) * 1_000_000,
        "usd_per_million_dcp": _sum([item for item in items if item.dcp]) / (mail.dcp.requests or 1) * 1_000_000,
        "usd_per_waiting_owner": _sum([item for item in items if item.waiting]) / (mail.waits.owners or 1),
    })  # fmt: skip


def _print(mail: "MailLoad", prices: "Prices", region: str, items: "list[Item]") -> None:
    print_line(
        f"{mail.messages:,} messages of {mail.size:,} bytes a month, {mail.batch:.1f} in a batch, in {region}; "
        f"US dollars, prices of {prices.noted}"
    )
    received, jobs = [item for item in items if item.received], [item for item in items if item.jobs]
    sent, dcp = [item for item in items if item.sent], [item for item in items if item.dcp]
    waiting, standing = [item for item in items if item.waiting], [item for item in items if item.standing]
    rows = [
        *_rows_by_message(mail, received, "receiving and storing"),
        *_rows_by_message(mail, jobs, "compaction"),
        *_rows_of_each(mail.sent, sent, "sending"),
        *_rows_of_each(mail.dcp.requests, dcp, "over DCP"),
        *_rows_of_a_month(waiting, f"owners who wait: {mail.waits.owners:,}"),
        *_rows_of_a_month(standing, "fixed costs"),
        ("total", "", f"{_sum(items):.2f}", f"{_per_million(mail, _sum(items)):.3f}"),
    ]
    print_table(("", "a month", "$ a month", "$ a million messages"), rows)


def _rows_by_message(mail: "MailLoad", items: "list[Item]", total: str) -> list[tuple[str, str, str, str]]:
    rows = [(item.name, _amount(item), *_shown(item, mail.messages)) for item in items]
    return [*rows, (total, "", f"{_sum(items):.2f}", f"{_per_million(mail, _sum(items)):.3f}")] if items else []


def _rows_of_each(number: int, items: "list[Item]", name: str) -> list[tuple[str, str, str, str]]:
    """The items that are shown for a million sent messages, or requests over DCP."""
    if not items:
        return []
    rows = [(item.name, _amount(item), *_shown(item, number)) for item in items]
    return [*rows, (f"{name} {number:,}", "", f"{_sum(items):.2f}", f"{_sum(items) / number * 1e6:.3f}")]


def _rows_of_a_month(items: "list[Item]", total: str) -> list[tuple[str, str, str, str]]:
    """The items that do not depend on the number of messages."""
    rows = [(item.name, _amount(item), _shown(item, 1)[0], "") for item in items]
    return [*rows, (total, "", f"{_sum(items):.2f}", "")] if items else []


def _shown(item: "Item", number: int) -> tuple[str, str]:
    """The dollars of an item, and those for a million of what comes `number` times."""
    return ("–", "–") if item.usd is None else (f"{item.usd:.2f}", f"{item.usd / number * 1e6:.3f}")


def _amount(item: "Item") -> str:
    return f"{item.amount:,.0f} {item.unit}" if abs(item.amount) >= 100 else f"{item.amount:.3g} {item.unit}"


def _sum(items: "list[Item]") -> float:
    return sum(item.usd or 0 for item in items)


def _per_million(mail: "MailLoad", usd: float) -> float:
    return usd / mail.messages * 1_000_000
