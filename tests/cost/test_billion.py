"""docs/design/scale.md reckons with a billion messages a day, and with other designs: its arithmetic, done again.

`python -m tests.cost.test_billion` prints the tables.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.aws import resources

from postroom.cost import counted
from postroom.cost.compaction import Nights, Run, run_of
from postroom.cost.items import MILLION, Item
from postroom.cost.model import MailLoad, bill
from postroom.cost.prices import OURS, Prices, read_prices

PAGE = (Path(__file__).parents[2] / "docs" / "design" / "scale.md").read_text(encoding="utf-8")
PROSE = " ".join(PAGE.split())
A_DAY, SIZE, BATCH, DAYS = 10**9, 2_000, 100, 30
PRICES = read_prices(OURS, "us-east-1")
LINE = SIZE + counted.LINE_BYTES_BESIDE

HOURLY = (
    Nights(left=0.01, runs_a_day=24, workers=7, reads=30_000, writes=10_000),
    Nights(left=0.05, runs_a_day=24, workers=7, reads=30_000, writes=10_000),
    Nights(left=0.2, runs_a_day=24, workers=7, reads=60_000, writes=20_000),
    Nights(left=1, runs_a_day=24, workers=25, reads=150_000, writes=60_000),
)
NIGHTLY = (
    Nights(workers=10, reads=2_000, writes=500),
    Nights(workers=2, reads=2_000, writes=500),
    Nights(workers=5, reads=12_000, writes=6_000),
    Nights(workers=12, reads=36_000, writes=18_000),
)
TUNED = Nights(workers=2, reads=8_000, writes=4_000)


def run(nights: Nights) -> Run:
    return run_of(A_DAY, SIZE, 1 / BATCH, nights)


def compaction(nights: Nights, a_month: int) -> list[Item]:
    return [item for item in bill(MailLoad(a_month, SIZE, BATCH, nights=nights), PRICES) if item.jobs]


def dollars(nights: Nights, name: str) -> float:
    """A day's."""
    return sum(item.usd for item in compaction(nights, A_DAY * DAYS) if name in item.name) / DAYS


def starting(nights: Nights) -> float:
    [item] = [
        it for it in bill(MailLoad(A_DAY, SIZE, BATCH, nights=nights), PRICES) if it.name.startswith("Glue: starting")
    ]
    return item.usd / DAYS


def by_share() -> str:
    """A day of a billion messages, by the share of them that is left."""

    def millions(value: float) -> str:
        return f"{value / MILLION:,.1f} M" if value < 10 * MILLION else f"{value / MILLION:,.0f} M"

    def row(what: str, *cells: str) -> str:
        return f"| {' | '.join((what, *cells))} |"

    runs = [run(nights) for nights in HOURLY]
    money = ("running", "looking up", "moving", "requests", "chunks kept", "deleted")
    sums = [
        [sum(dollars(nights, name) for name in ((part,) if part != "requests" else ("S3, get", "S3, put")))
         for part in money] for nights in HOURLY
    ]  # fmt: skip
    lines = [
        row("share left after the lag", *(f"{nights.left * 100:g} %" for nights in HOURLY)),
        "|---|---:|---:|---:|---:|",
        row("segments, a GET each", *(millions(each.segments * 24) for each in runs)),
        row("LIST requests", *(f"{each.lists * 24:,.0f}" for each in runs)),
        row("lines moved into chunks", *(millions(each.survivors * 24) for each in runs)),
        row("chunks, a PUT each", *(f"{each.chunks * 24:,.0f}" for each in runs)),
        row("lines of chunks looked at again", *(millions(each.looked * 24) for each in runs)),
        row("lines of chunks copied again", *(millions(each.moved * 24) for each in runs)),
        row("read units", *(millions(each.reads * 24) for each in runs)),
        row("write units", *(millions(each.writes * 24) for each in runs)),
        row("read units a second, on average", *(f"{each.reads / 3600:,.0f}" for each in runs)),
        row("`JobsMaxWorkers`", *(f"{nights.workers}" for nights in HOURLY)),
        row("`JobsReadUnitsPerSecond`", *(f"{nights.reads:,}" for nights in HOURLY)),
        row("`JobsWriteUnitsPerSecond`", *(f"{nights.writes:,}" for nights in HOURLY)),
        row("look-ups a second, while it looks rows up",
            *(f"{each.reads / each.survey.seconds:,.0f}" for each in runs)),
        row("updates a second, while it repoints rows", *(f"{each.writes / each.move.seconds:,.0f}" for each in runs)),
        row("minutes of an hourly run", *(f"{each.seconds / 60:,.0f}" for each in runs)),
        row("GB exchanged in Spark, a run", *(f"{each.shuffled / 1e9:,.1f}" for each in runs)),
        row("… of disk, on each worker that takes part",
            *(f"{each.shuffled / 1e9 / (each.move.workers - 1):,.1f}" for each in runs)),
        row("$ a day: Glue, including starts",
            *(f"{money[0] + starting(nights):,.0f}" for money, nights in zip(sums, HOURLY, strict=True))),
        row("$ a day: look-ups", *(f"{money[1]:,.0f}" for money in sums)),
        row("$ a day: repointing", *(f"{money[2]:,.0f}" for money in sums)),
        row("$ a day: S3 requests", *(f"{money[3]:,.0f}" for money in sums)),
        row("$ a day: a day's chunks, kept for a month", *(f"{money[4]:,.0f}" for money in sums)),
        row("$ a day: deleted segments", *(f"{money[5]:,.0f}".replace("-", "−") for money in sums)),
        row("**$ a day**",
            *(f"**{sum(money) + starting(nights):,.0f}**" for money, nights in zip(sums, HOURLY, strict=True))),
        row("$ a million",
            *(f"{(sum(money) + starting(nights)) * MILLION / A_DAY:.2f}"
              for money, nights in zip(sums, HOURLY, strict=True))),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def most_a_night(nights: Nights) -> int:
    """Messages a day that one run a night comes to the end of before Glue ends it, to a million."""
    seconds = resources("AWS::Glue::Job")["CompactJob"]["Timeout"] * 60
    least, most = 0, A_DAY // MILLION * 10
    while most - least > 1:
        tried = (least + most) // 2
        if run_of(tried * MILLION, SIZE, 1 / BATCH, nights).seconds <= seconds:
            least = tried
        else:
            most = tried
    return least


def by_night() -> str:
    """How far one run a night goes."""
    lines = [
        "| `JobsMaxWorkers` | `JobsReadUnitsPerSecond` | `JobsWriteUnitsPerSecond` | messages a day | $ a million |",
        "|---:|---:|---:|---:|---:|",
    ]
    for nights in NIGHTLY:
        most = most_a_night(nights)
        usd = sum(item.usd for item in compaction(nights, most * MILLION * DAYS)) / DAYS / most
        lines.append(f"| {nights.workers} | {nights.reads:,} | {nights.writes:,} | {most} million | {usd:.2f} |")
    return "\n".join(lines) + "\n"


def others(prices: Prices, firehose: float, tables: float, objects: float) -> Iterator[tuple[str, float]]:
    """What a million messages cost, from the verdict on, `seen` not counted; 5 % of them are left after a day.

    `firehose`: a GB. `tables`: a GB that S3 Tables compacts; `objects`: a thousand of them.
    """
    write, put = prices.dynamodb_writes_per_million, prices.s3_puts_per_thousand / 1000
    batches, gb = MILLION / BATCH, MILLION * LINE / 1e9
    # What a row would hold, and what is deleted with it: of a line and its row.
    inline = -(-(LINE + counted.ROW_BYTES) // 1024) * write
    job = gb * prices.glue_per_dpu_hour / 60
    registers = 2 * write
    yield "ours", registers + batches * put + sum(it.usd for it in compaction(TUNED, MILLION))
    yield "Iceberg", 2 * batches * 4 * put + job
    yield "Delta", 2 * batches * 2 * put + job
    yield "S3 Tables", 2 * batches * 4 * put + gb * tables + 2 * batches / 1000 * objects
    yield "Firehose", MILLION * 5 * 1024 / 2**30 * firehose + registers
    yield "concatenation", registers + batches * put + batches * prices.s3_gets_per_thousand / 1000
    yield "DynamoDB alone", 2 * inline


def test_the_page_computes_the_cost_of_a_billion_messages_a_day() -> None:
    assert by_share() in PAGE


def test_the_page_says_how_far_one_run_a_night_goes() -> None:
    assert by_night() in PAGE


def test_the_page_says_what_is_estimated() -> None:
    lines, repoints = counted.JOB_LINES_PER_SECOND, counted.JOB_REPOINTS_PER_SECOND
    assert f"a slot looks at {lines:,} lines a second, moves {repoints:,}, and a run begins after a minute" in PROSE
    assert counted.JOB_START_SECONDS == 60


def test_the_page_says_why_one_run_a_night_is_not_enough() -> None:
    reads = run(Nights()).reads
    assert f"would be {reads / 1e9:.1f} billion look-ups in 8 hours, {reads / 8 / 3600:,.0f} a second" in PROSE
    assert resources("AWS::Glue::Job")["CompactJob"]["Timeout"] == 8 * 60


def test_the_page_says_what_the_mail_itself_costs() -> None:
    mail = [item for item in bill(MailLoad(A_DAY * DAYS, SIZE, BATCH), PRICES) if not (item.jobs or item.standing)]
    assert f"until it is acknowledged, is ${sum(item.usd for item in mail) / DAYS:,.0f} a day" in PROSE


def test_an_hourly_run_ends_within_the_hour() -> None:
    assert max(run(nights).seconds for nights in HOURLY) < 3600


def test_the_page_says_what_others_cost() -> None:
    [named] = re.findall(
        r"Firehose \$([0-9.]+) a GB[^.]*, S3 Tables \$([0-9.]+) a GB compacted and \$([0-9.]+) a thousand", PROSE
    )
    for name, usd in others(PRICES, *map(float, named)):
        assert re.search(rf"^\| {name}\b[^|]*\| {usd:.2f} \|", PAGE, re.MULTILINE), (name, usd)


if __name__ == "__main__":
    print(by_share())
    print(by_night())
    print(*others(PRICES, 0.029, 0.005, 0.002), sep="\n")
