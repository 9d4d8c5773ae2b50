"""postroom cost: a month's bill, from what was counted and a file of prices."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from tests.aws import template
from tests.cli.conftest import Postroom
from tests.cost.strangers import (
    HTTP_UNIT,
    SOCKET_UNIT,
    dcp,
    dcp_messages_over_sockets,
    open_sockets,
    socket_messages,
    sockets_held,
)

from postroom.cost import counted
from postroom.cost.items import MONTH_SECONDS
from postroom.cost.prices import OURS
from postroom.http.dcp_service import MAX_MESSAGE_BYTES
from postroom.runtime.socket_events import MAX_SOCKET_BYTES
from postroom.storage.aws.queue import MAX_BODY_BYTES

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "operate" / "cost.md").read_text(encoding="utf-8")
PROSE = " ".join(PAGE.split())
Bill = dict[str, Any]


@pytest.fixture
def bill(postroom: Postroom) -> Any:
    """The bill as programs read it."""

    def costs(*options: str) -> Bill:
        result = postroom("cost", "--json", *options)
        assert result.exit_code == 0, result.output
        value: Bill = json.loads(result.stdout)
        return value

    return costs


def usd(costs: Bill, name: str) -> float:
    [found] = [item["usd"] for item in costs["items"] if item["name"] == name]
    return float(found)


def names(costs: Bill) -> set[str]:
    return {item["name"] for item in costs["items"]}


def test_the_sums_are_the_sums_of_the_lines(bill: Any) -> None:
    costs = bill("--messages-per-month", "3000000")
    standing = sum(item["usd"] for item in costs["items"] if item["standing"])
    jobs = sum(item["usd"] for item in costs["items"] if item["jobs"])
    others = sum(item["usd"] for item in costs["items"] if not (item["standing"] or item["jobs"]))
    assert costs["usd_standing"] == pytest.approx(standing)
    assert costs["usd_per_month"] == pytest.approx(standing + others + jobs)
    assert costs["usd_per_million"] == pytest.approx(others / 3)
    assert costs["usd_per_million_jobs"] == pytest.approx(jobs / 3)


def test_the_write_units_of_the_storage_design_are_charged(bill: Any) -> None:
    costs = bill("--batch", "100")
    expected = {
        "HTTP API": 1.00,
        "SQS: send": 0.40,
        "SQS: receive, delete": 0.08,
        "DynamoDB: file": 1.25,
        "DynamoDB: acknowledge": 0.625,
        "S3: put": 0.05,
    }
    assert {name: usd(costs, name) for name in expected} == pytest.approx(expected)


def test_the_table_has_the_same_figures_as_json(postroom: Postroom, bill: Any) -> None:
    result = postroom("cost", "--batch", "100")
    assert result.exit_code == 0
    costs = bill("--batch", "100")
    first, *lines = result.stdout.splitlines()
    assert first.startswith("1,000,000 messages of 2,000 bytes a month, 100.0 in a batch, in us-east-1; US dollars")
    assert costs["prices_noted"] in first
    assert f"{costs['usd_per_month']:.2f}" in lines[-1]
    assert all(any(line.startswith(item["name"]) for line in lines) for item in costs["items"])


def test_a_function_url_saves_the_price_of_the_api_and_cloudfront_adds_its_own(bill: Any) -> None:
    api, url, cloudfront = (bill("--front", front) for front in ("http-api", "function-url", "cloudfront"))
    assert api["usd_per_million"] - url["usd_per_million"] == pytest.approx(1.00)
    assert cloudfront["usd_per_million"] > api["usd_per_million"]
    assert names(api) - names(url) == {"HTTP API"}


def test_an_api_is_cheaper_beyond_300_million(bill: Any) -> None:
    assert usd(bill("--messages-per-month", "400000000"), "HTTP API") == pytest.approx(300 * 1.00 + 100 * 0.90)


def test_little_mail_comes_in_small_batches_and_a_longer_window_makes_them_larger(bill: Any) -> None:
    alone, gathered, given = bill("--messages-per-month", "1000"), bill("--window", "10"), bill("--batch", "50")
    assert alone["batch"] == pytest.approx(1, abs=0.001)
    assert usd(alone, "S3: put") == pytest.approx(1000 * 5e-6, rel=0.001)
    assert gathered["batch"] == pytest.approx(1 + 1_000_000 / (30 * 86_400) * 10)
    assert given["batch"] == 50
    assert bill("--messages-per-month", "1000000000")["batch"] == 100


def test_a_repeated_message_costs_a_read_instead_of_a_row(bill: Any) -> None:
    costs = bill("--duplicates", "1")
    assert usd(costs, "DynamoDB: duplicates") == pytest.approx(0.625)
    assert usd(costs, "DynamoDB: duplicates, read") == pytest.approx(0.125)
    assert not {"DynamoDB: file", "DynamoDB: acknowledge", "S3: put"} & names(costs)


def test_a_discarded_message_costs_a_row_a_notification_and_the_courier(bill: Any) -> None:
    costs = bill("--discarded", "0.5")
    assert usd(costs, "DynamoDB: discards") == pytest.approx(0.5 * 0.625)
    assert usd(costs, "SQS: discard notifications") == pytest.approx(0.5 * 1.4 * 0.40)
    assert {"DynamoDB: Feedback", "Lambda: courier"} <= names(costs)
    assert usd(costs, "CloudWatch metrics") > usd(bill(), "CloudWatch metrics")


def test_messages_that_are_not_fetched_are_not_acknowledged(bill: Any) -> None:
    costs = bill("--acknowledged", "0")
    assert "DynamoDB: acknowledge" not in names(costs)
    # What is acknowledged is forgotten after a while, what is not stays.
    rows = "DynamoDB: rows kept, and their recovery"
    assert usd(costs, rows) - usd(bill(), rows) == pytest.approx((30 - 22) / 30 * 1e6 * 258 / 2**30 * 0.45)


def test_compaction_costs_a_read_for_each_line_and_a_write_for_each_that_moves(
    bill: Any,
) -> None:
    costs = bill("--left", "0.1", "--later", "0")
    assert costs["usd_per_million"] == bill("--left", "1")["usd_per_million"]
    assert usd(costs, "compaction: DynamoDB, looking up") == pytest.approx((1 + 6 * 0.1) * 0.125)
    assert usd(costs, "compaction: DynamoDB, moving") == pytest.approx(0.1 * 0.625)
    assert {item["name"] for item in costs["items"] if item["jobs"]} == {
        name for name in names(costs) if name.startswith("compaction: ")
    }


def test_objects_deleted_by_compaction_are_not_stored_for_the_whole_month(bill: Any) -> None:
    kept, gone = "S3: a month's mail kept for a month", "compaction: S3, deleted segments"
    for runs, hours in (("1", 24.5 + 12), ("24", 24.5 + 0.5)):
        costs = bill("--runs-a-day", runs)
        assert usd(costs, gone) == pytest.approx(-usd(costs, kept) * (1 - hours / 24 / 30))


def test_messages_that_are_never_fetched_are_compacted(bill: Any) -> None:
    moving = "compaction: DynamoDB, moving"
    shares = [usd(bill("--later", "0", *options), moving) / 0.625 for options in ((), ("--acknowledged", "0.7"))]
    assert shares == pytest.approx([0.05, 0.3])


def test_waiting_workers_are_charged(bill: Any) -> None:
    running = "compaction: running"
    few, many = usd(bill("--workers", "2"), running), usd(bill("--workers", "20"), running)
    assert few < many
    assert usd(bill("--workers", "2", "--job-reads", "4000", "--job-writes", "1000"), running) == pytest.approx(few / 2)


def test_starting_the_jobs_costs_the_same_without_mail_and_more_with_each_run(bill: Any) -> None:
    starting = "Glue: starting the jobs"
    once, hourly = (usd(bill("--runs-a-day", runs), starting) for runs in ("1", "24"))
    # Two workers for a minute; the other job comes once a week.
    assert once == pytest.approx((30 + 30 / 7) * 2 / 60 * 0.44)
    assert hourly == pytest.approx((24 * 30 + 30 / 7) * 2 / 60 * 0.44)


def test_without_messages_nothing_is_compacted(bill: Any) -> None:
    assert not any(item["jobs"] for item in bill("--discarded", "1")["items"])


SENT_PARTS = {
    "HTTP API": ("outbox: HTTP API",),
    "Lambda: mailbox API": ("Lambda: mailbox API, sending", "Lambda: mailbox API, sending, running"),
    "SQS": ("outbox: SQS",),
    "Lambda: courier": ("Lambda: courier, sending", "Lambda: courier, sending, running"),
    "going out": ("outbox: going out",),
    "DynamoDB": ("outbox: DynamoDB",),
    "rows kept for 30 days": ("outbox: rows kept, and their recovery",),
    "logs": ("outbox: logs",),
}


def test_sending_is_a_part_of_its_own(bill: Any) -> None:
    costs, without = bill("--sent", "1000000"), bill()
    assert costs["usd_per_million"] == without["usd_per_million"]
    assert without["usd_per_million_sent"] == 0
    sent = {item["name"] for item in costs["items"] if item["sent"]}
    assert sent == names(costs) - names(without) == {name for part in SENT_PARTS.values() for name in part}
    assert usd(costs, "outbox: DynamoDB") == pytest.approx(8 * 0.625 + 0.125)
    assert usd(costs, "outbox: SQS") == pytest.approx(1.4 * 0.40)
    assert costs["usd_per_million_sent"] == pytest.approx(bill("--sent", "3000000")["usd_per_million_sent"])


def test_the_table_shows_the_price_of_a_million_sent_messages(postroom: Postroom, bill: Any) -> None:
    costs = bill("--sent", "2000000")["usd_per_million_sent"]
    [line] = [
        it for it in postroom("cost", "--sent", "2000000").stdout.splitlines() if it.startswith("sending 2,000,000")
    ]
    assert line.split()[-2:] == [f"{2 * costs:.2f}", f"{costs:.3f}"]


def test_a_request_over_dcp_costs_three_writes_and_a_batch_one_and_two_for_each(bill: Any) -> None:
    alone, in_batches = bill("--dcp-requests", "1000000"), bill("--dcp-requests", "1000000", "--dcp-batch", "10")
    assert usd(alone, "DCP: DynamoDB") == pytest.approx(3 * 0.625)
    assert usd(in_batches, "DCP: DynamoDB") == pytest.approx((1 + 2 * 10) / 10 * 0.625)
    # The other requests of a batch need no request over HTTP.
    assert "DCP: HTTP API" not in names(alone)
    assert usd(in_batches, "DCP: HTTP API") == pytest.approx(-0.9)
    assert usd(in_batches, "DCP: Lambda, running") < usd(alone, "DCP: Lambda, running")


def test_a_connect_over_dcp_costs_a_request_and_no_write(bill: Any) -> None:
    alone = bill("--dcp-requests", "1000000")
    costs = bill("--dcp-requests", "1000000", "--dcp-sessions", "2000000")
    assert usd(costs, "DCP: HTTP API") == pytest.approx(2.00)
    assert usd(costs, "DCP: Lambda") == pytest.approx(2 * 0.20)
    for same in ("DCP: DynamoDB", "DCP: rows kept, and their recovery"):
        assert usd(costs, same) == usd(alone, same)
    assert usd(costs, "DCP: Lambda, running") > usd(alone, "DCP: Lambda, running")


def test_requests_over_dcp_are_a_part_of_their_own(bill: Any) -> None:
    costs, without = bill("--dcp-requests", "1000000", "--dcp-sessions", "1000"), bill()
    for same in ("usd_per_million", "usd_per_million_sent", "usd_per_million_jobs"):
        assert costs[same] == without[same]
    assert without["usd_per_million_dcp"] == 0
    assert {item["name"] for item in costs["items"] if item["dcp"]} == names(costs) - names(without)
    assert usd(costs, "CloudWatch metrics") - usd(without, "CloudWatch metrics") == pytest.approx(0.30)
    more = bill("--dcp-requests", "3000000", "--dcp-sessions", "3000")
    assert costs["usd_per_million_dcp"] == pytest.approx(more["usd_per_million_dcp"])


def test_the_table_shows_the_price_of_a_million_requests_over_dcp(postroom: Postroom, bill: Any) -> None:
    costs = bill("--dcp-requests", "2000000")["usd_per_million_dcp"]
    printed = postroom("cost", "--dcp-requests", "2000000").stdout.splitlines()
    [line] = [it for it in printed if it.startswith("over DCP 2,000,000")]
    assert line.split()[-2:] == [f"{2 * costs:.2f}", f"{costs:.3f}"]


@pytest.mark.parametrize(
    ("size", "sends", "requests"), [(65_000, 1, 1), (65_300, 2, 1), (600_000, 10, 2), (999_000, 16, 2)]
)
def test_large_messages_are_charged_by_the_units_of_sqs_and_the_api(
    bill: Any, size: int, sends: int, requests: int
) -> None:
    costs = bill("--size", str(size))
    assert usd(costs, "SQS: send") == pytest.approx(sends * 0.40)
    assert usd(costs, "HTTP API") == pytest.approx(requests * 1.00)


def test_a_message_too_large_for_the_queue_is_stored_in_the_bucket(bill: Any) -> None:
    costs = bill("--size", "1000000", "--batch", "100")
    assert usd(costs, "SQS: send") == pytest.approx(0.40)
    # Of 4,000,000 bytes in memory each, the third goes beyond the 8 MiB of a part, and ends it.
    assert usd(costs, "S3: put") == pytest.approx(5.00 * (1 + 34 / 100))
    assert usd(costs, "S3: get") == pytest.approx(0.40)


@pytest.mark.parametrize("batch", ["1", "1.5", "100"])
def test_a_message_as_large_as_a_batch_is_in_one_segment(bill: Any, batch: str) -> None:
    assert usd(bill("--size", "4000000", "--batch", batch), "S3: put") == pytest.approx(5.00 * (1 + 1))


def test_a_lambda_response_holds_6_mb(bill: Any) -> None:
    costs = bill("--size", "600000", "--batch", "100")
    assert costs["batch"] == pytest.approx(6 * 1024 * 1024 / 600_355)


def test_measured_milliseconds_replace_our_defaults(bill: Any) -> None:
    costs = bill("--inbox-ms", "20", "--worker-ms", "5", "--batch", "100")
    per_gb_second = 0.0000166667
    # Lambda rounds each invocation up: half a millisecond more.
    assert usd(costs, "Lambda: inbox, running") == pytest.approx(1e6 * 0.0205 * 0.5 * per_gb_second)
    assert usd(costs, "Lambda: worker, running") == pytest.approx(1e6 * (0.005 + 0.000005) * per_gb_second)


@pytest.mark.parametrize("function", ["Lambda: inbox, running", "Lambda: worker, running"])
def test_larger_messages_run_for_longer(bill: Any, function: str) -> None:
    one, two, four = (usd(bill("--size", str(size)), function) for size in (1_002_000, 2_002_000, 4_002_000))
    assert usd(bill(), function) < one
    assert four - two == pytest.approx(2 * (two - one))


def test_other_regions_have_other_prices(bill: Any) -> None:
    sums = [bill("--region", region)["usd_per_month"] for region in ("us-east-1", "eu-west-1", "eu-central-1")]
    assert sums == sorted(set(sums))


def test_a_price_file_replaces_our_prices(bill: Any, tmp_path: Path) -> None:
    text = OURS.read_text().replace("sqs_per_million = 0.40", "sqs_per_million = 0.80")
    (tmp_path / "prices.toml").write_text(text.replace("[regions.us-east-1]", "[regions.here]"))
    costs = bill("--prices", str(tmp_path / "prices.toml"), "--region", "here")
    assert usd(costs, "SQS: send") == pytest.approx(0.80)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("noted = ", "noted"), "is not TOML"),
        (("noted = ", "written = "), "must have `noted` (the date of the prices)"),
        (("sqs_per_million = 0.40", ""), "for each known name, and no other: sqs_per_million"),
        (("sqs_per_million = 0.40", "sqs_per_million = -1"), "for each known name, and no other: sqs_per_million"),
        (("sqs_per_million = 0.40", 'sqs_per_million = "0.40"'), "for each known name, and no other: sqs_per_million"),
        (("sqs_per_million", "sqs_price = 1\nsqs_per_million"), "for each known name, and no other: sqs_price"),
        (("regions.us-east-1", "regions.elsewhere"), "has no prices for 'us-east-1'; it has prices for elsewhere"),
        (("[regions.us-east-1]", "[regions]\nus-east-1 = 3\n[other]"), "[regions.us-east-1] must be a table"),
        (("[regions.", "[other."), "and tables [regions.…]"),
    ],
)
def test_an_invalid_price_file_is_reported(
    postroom: Postroom, tmp_path: Path, change: tuple[str, str], sentence: str
) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(OURS.read_text().replace(*change))
    result = postroom("cost", "--prices", str(file))
    assert result.exit_code == 2
    assert str(file) in result.stderr
    assert sentence in result.stderr


def test_a_price_file_without_a_region_is_reported(postroom: Postroom, tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text("noted = 2026-11-21\n[regions]\n")
    assert "and tables [regions.…]" in postroom("cost", "--prices", str(tmp_path / "prices.toml")).stderr


def test_a_missing_price_file_is_named(postroom: Postroom) -> None:
    result = postroom("cost", "--prices", "nowhere.toml")
    assert (result.exit_code, "nowhere.toml" in result.stderr) == (5, True)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--front", "alb"), "http-api, function-url, cloudfront"),
        (("--discarded", "0.6", "--duplicates", "0.6"), "their sum must be at most 1"),
        (("--batch", "101"), "'--batch': Input should be less than or equal to 100"),
        (("--batch", "10", "--window", "5"), "--window and --batch exclude each other"),
        (("--inbox-ms", "inf"), "'--inbox-ms': Input should be less than or equal to 900000"),
        (("--worker-ms", "inf"), "'--worker-ms': Input should be less than or equal to 900000"),
        (
            ("--acknowledged", "0.5", "--left", "0.4"),
            "it must be at least 0.5, the share that is never acknowledged (--acknowledged)",
        ),
        (("--workers", "1"), "'--workers': Input should be greater than or equal to 2"),
        (("--dcp-batch", "11"), "'--dcp-batch': Input should be less than or equal to 10"),
        (("--dcp-sessions", "5"), "--dcp-sessions are those of requests: set --dcp-requests, too"),
        (("--waiting-notified", "5"), "--waiting-notified is for owners at a WebSocket: set --waiting-sockets, too"),
        *(
            ((option, "1"), "are for senders in ENS: set --ens-senders, too")
            for option in ("--ens-off-chain", "--ens-rules", "--ens-quorum")
        ),
        (("--dm3-instances", "2"), "are for senders in ENS: set --ens-senders, too"),
        (("--messages-per-month", "0"), "'--messages-per-month': Input should be greater than or equal to 1"),
    ],
)
def test_impossible_values_are_a_usage_error(postroom: Postroom, options: tuple[str, ...], sentence: str) -> None:
    result = postroom("cost", *options)
    assert result.exit_code == 2
    assert sentence in result.stderr


# --- docs/operate/cost.md ---------------------------------------------------------------------------------------------


def test_the_page_shows_what_the_command_prints(postroom: Postroom) -> None:
    shown = re.findall(r"^```\n\$ postroom (.*?)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(shown) == 1
    for command, printed in shown:
        assert postroom(*command.split()).stdout == printed


def acknowledging(costs: Any) -> float:
    return usd(costs, "DynamoDB: acknowledge") + usd(costs, "acknowledging, logs")


def test_the_page_has_the_sums_from_inbox_to_filed(bill: Any) -> None:
    sentences = {"http-api": "From the inbox to filed, that is **${}**", "function-url": "it would be **${}**"}
    for front, sentence in sentences.items():
        costs = bill("--batch", "100", "--front", front)
        until_filed = costs["usd_per_million"] - acknowledging(costs)
        assert sentence.format(f"{until_filed:.2f}") in PROSE


def test_the_store_protocol_has_the_same_sums(bill: Any) -> None:
    protocol = (DOCS / "design" / "store-protocol.md").read_text(encoding="utf-8")
    costs = bill("--batch", "100")
    inbox, worker, logs = (
        sum(item["usd"] for item in costs["items"] if not item["standing"] and re.match(name, item["name"]))
        for name in ("Lambda: inbox", "Lambda: worker", "logs")
    )
    on_the_way = sum(usd(costs, name) for name in ("HTTP API", "SQS: send", "SQS: receive, delete")) + inbox + worker
    filed = costs["usd_per_million"] - acknowledging(costs)
    assert f"inbox Lambda {inbox:.2f}, SQS send 0.40, receive and delete 0.08, worker {worker:.2f} |" in protocol
    assert f" | ${on_the_way:.2f} |" in protocol
    assert f"| logs {logs:.2f}," in protocol
    assert f"| **inbox to filed** | **{filed:.2f}** ({filed - 1:.2f} behind a Function URL" in protocol


def test_the_page_has_the_sums_by_volume_and_window(bill: Any) -> None:
    rows = re.findall(r"^\| ([0-9,]+) \| ([0-9.]+) \| ([0-9.]+) \|$", PAGE, re.MULTILINE)
    assert len(rows) == 5
    for messages, *sums in rows:
        costs = [bill("--messages-per-month", messages.replace(",", ""), "--window", window) for window in ("1", "10")]
        assert [f"{each['usd_per_month']:.2f}" for each in costs] == sums


def test_the_page_has_the_cost_that_strangers_can_cause(bill: Any) -> None:
    a_month = template()["Parameters"]["ThrottlingRate"]["Default"] * 30 * 86_400
    forged = bill("--messages-per-month", str(a_month), "--discarded", "1")
    assert (
        f"**${forged['usd_per_month']:,.0f}** (`postroom cost --messages-per-month {a_month} --discarded 1`)" in PROSE
    )
    long = bill("--messages-per-month", str(a_month), "--discarded", "1", "--size", str(MAX_BODY_BYTES - 1_000))
    assert f"**${long['usd_per_month']:,.0f}** (`--size {MAX_BODY_BYTES - 1_000}`)" in PROSE
    by_the_inbox = ("HTTP API", "answers going out", "Lambda: inbox", "Lambda: inbox, running", "logs of the inbox")
    refused = sum(usd(forged, name) for name in by_the_inbox)
    assert f"**${refused / a_month * 1e6:.2f}** a million, which is ${refused:,.0f} a month" in PROSE


def test_the_page_has_the_cost_that_strangers_can_cause_over_dcp() -> None:
    over_https = dcp()
    assert (
        f"that is **${over_https.all:.2f}** an hour: ${over_https.api:.2f} for the API, "
        f"${over_https.started + over_https.running:.2f} for Lambda, ${over_https.writes:.2f} for the writes, "
        f"${over_https.reads:.2f} for the reads, ${over_https.logs:.2f} for the logs, "
        f"${over_https.answers:.2f} for the answers."
    ) in PROSE
    of_the_largest = over_https.api * math.ceil(MAX_MESSAGE_BYTES / HTTP_UNIT)
    assert f"then the API is ${of_the_largest:.2f} of it." in PROSE
    sent = socket_messages(
        math.ceil(MAX_SOCKET_BYTES / SOCKET_UNIT) + math.ceil(counted.DCP_REFUSALS_ANSWER_BYTES / SOCKET_UNIT)
    )
    pings, held = socket_messages(2), sockets_held()
    over_sockets = dcp_messages_over_sockets() + pings + held
    assert f"It adds **${over_sockets:.2f}** an hour at most: ${sent:.2f} for messages" in PROSE
    assert f"${pings:.2f} for pings; ${held:.2f} for open WebSockets" in PROSE
    assert f"{open_sockets():,} are open at most" in PROSE
    together = over_https.all - over_https.api + of_the_largest + over_sockets
    assert f"together is ${together:.2f} an hour." in PROSE
    security = " ".join((DOCS / "SECURITY.md").read_text(encoding="utf-8").split())
    assert f"The operator pays ${together:.0f} an hour at most for all that strangers send by DCP" in security


def test_the_page_has_the_cost_of_compaction(bill: Any) -> None:
    costs = bill("--batch", "100")
    starting = sum(usd(costs, name) for name in ("Glue: starting the jobs", "CloudWatch metrics of the jobs"))
    assert f"It costs **${costs['usd_per_million_jobs']:.2f}** a million with the default settings" in PROSE
    assert f"The jobs also have fixed costs of ${starting:.2f} a month" in PROSE
    assert f"Glue's workers are ${usd(costs, 'compaction: running'):.2f} of it" in PROSE
    assert f"and a slot can use about {counted.JOB_LINES_PER_SECOND:,}." in PROSE
    assert f"Deleting segments saves ${-usd(costs, 'compaction: S3, deleted segments'):.3f} a million" in PROSE


def test_the_page_has_the_cost_of_compaction_by_its_settings(bill: Any) -> None:
    rows = re.findall(
        r"^\| (\d+) \| ([0-9,]+) \| ([0-9,]+) \| ([0-9.]+) \| (.*) \| (.*) \| (.*) \|$", PAGE, re.MULTILINE
    )
    assert len(rows) == 3
    for workers, reads, writes, *sums in rows:
        settings = (
            "--workers",
            workers,
            "--job-reads",
            reads.replace(",", ""),
            "--job-writes",
            writes.replace(",", ""),
        )
        costs = [bill("--batch", "100", *settings, "--left", left) for left in ("0.01", "0.05", "0.2", "1")]
        assert [f"{each['usd_per_million_jobs']:.2f}" for each in costs] == sums


def test_the_page_has_the_cost_of_sending(bill: Any) -> None:
    costs = bill("--sent", "1000000")
    assert f"are **${costs['usd_per_million_sent']:.2f}** (`postroom cost --sent 1000000`)" in PROSE
    for part, lines in SENT_PARTS.items():
        assert f"\n| {part} | {sum(usd(costs, line) for line in lines):.2f} |\n" in PAGE


def test_the_page_has_the_cost_of_requests_over_dcp(bill: Any) -> None:
    costs = bill("--dcp-requests", "1000000")
    assert f"are **${costs['usd_per_million_dcp']:.2f}** more (`postroom cost --dcp-requests 1000000`)" in PROSE
    assert f"${usd(costs, 'DCP: DynamoDB'):.2f} of it is for the writes" in PROSE
    in_batches = bill("--dcp-requests", "1000000", "--dcp-batch", "10")
    assert f"In batches of ten, they are ${in_batches['usd_per_million_dcp']:.2f} more" in PROSE
    connects = bill("--dcp-requests", "1000000", "--dcp-sessions", "1000000")
    each = connects["usd_per_million_dcp"] - costs["usd_per_million_dcp"]
    assert f"A million connects are ${each:.2f}" in PROSE
    for_a_month = usd(costs, "DCP: rows kept, and their recovery") * 30 * 86_400 / counted.DCP_KEPT_SECONDS
    assert f"at most for 30 days: for a million of these, ${for_a_month:.2f}." in PROSE


SOCKET_PARTS = {
    "WebSocket, open": ("connections",),
    "WebSocket, messages and answers": ("messages",),
    "DynamoDB, writes": ("DynamoDB, writes",),
    "DynamoDB, reads": ("DynamoDB, reads",),
    "Lambda": ("Lambda", "Lambda, running"),
    "secret, read again": ("secrets, read",),
    "logs, answers going out": ("logs", "answers going out", "rows kept, and their recovery"),
}


def test_the_page_has_the_cost_of_waiting_by_either_way(bill: Any) -> None:
    for way, option in (("over a WebSocket", "--waiting-sockets"), ("by requests with `wait=20`", "--waiting-polls")):
        alone, of_many = (bill(option, number)["usd_per_waiting_owner"] for number in ("1", "100"))
        assert f"\n| {way} (`postroom cost {option} 1`) | {alone:.3f} | {of_many:.3f} |\n" in PAGE


def test_the_page_has_the_parts_of_waiting_over_a_websocket(bill: Any) -> None:
    alone, costs = bill("--waiting-sockets", "1"), bill("--waiting-sockets", "100")

    def part(costs: Bill, lines: tuple[str, ...]) -> float:
        return sum(usd(costs, f"waiting over WebSockets: {line}") for line in lines)

    for name, lines in SOCKET_PARTS.items():
        assert f"\n| {name} | {part(costs, lines) / 100:.4f} |\n" in PAGE
    total = sum(part(costs, lines) for lines in SOCKET_PARTS.values())
    assert total / 100 == pytest.approx(costs["usd_per_waiting_owner"])
    again = SOCKET_PARTS["secret, read again"]
    assert f"which is ${part(alone, again):.3f} a month instead of ${part(costs, again) / 100:.3f}" in PROSE
    connects = MONTH_SECONDS // counted.SOCKET_SECONDS
    pings = connects * (counted.SOCKET_SECONDS // counted.UNUSED_SECONDS)
    runs = next(item["amount"] for item in alone["items"] if item["name"] == "waiting over WebSockets: Lambda")
    assert f"These are {runs:,.0f} messages of an owner in a month, and as many answers, and {pings:,} pings" in PROSE


@pytest.mark.parametrize("owners", ["1", "100"])
def test_an_owner_who_waits_over_a_websocket_costs_at_most_five_cents_a_month(bill: Any, owners: str) -> None:
    assert bill("--waiting-sockets", owners)["usd_per_waiting_owner"] <= 0.05


def test_the_page_has_the_cost_of_telling_owners_who_wait(bill: Any) -> None:
    idle, told = (bill("--waiting-sockets", "100", "--waiting-notified", number) for number in ("0", "1000"))
    each = told["usd_per_waiting_owner"] - idle["usd_per_waiting_owner"]
    assert f"Mail that is told costs ${each / 1000 * 1e6:.0f} a million" in PROSE
    metrics = [usd(costs, "CloudWatch metrics") for costs in (bill(), idle, told)]
    assert [metrics[1] - metrics[0], metrics[2] - metrics[1]] == pytest.approx([0.30, 0.60])


def test_the_page_has_the_parts_of_waiting_by_requests(bill: Any) -> None:
    costs = bill("--waiting-polls", "1")
    lines = ("Lambda, running", "DynamoDB, reads", "DynamoDB, writes", "HTTP API")
    running, reads, writes, api = (usd(costs, f"waiting by long polls: {line}") for line in lines)
    assert f"${running:.2f} of the month is for Lambda, ${reads:.2f} for reads, ${writes:.2f} for the writes" in PROSE
    assert f"and ${api:.2f} for the HTTP API" in PROSE


def test_waiting_is_a_group_of_its_own(postroom: Postroom, bill: Any) -> None:
    costs = bill("--waiting-sockets", "2", "--waiting-polls", "1")
    waiting = sum(item["usd"] for item in costs["items"] if item["waiting"])
    assert costs["usd_per_waiting_owner"] == pytest.approx(waiting / 3)
    assert costs["usd_per_million"] == pytest.approx(bill()["usd_per_million"])
    shown = postroom("cost", "--waiting-sockets", "2", "--waiting-polls", "1").stdout
    assert re.search(rf"^owners who wait: 3 +{waiting:.2f}$", shown, re.MULTILINE)


def test_the_page_has_the_cost_of_large_messages(bill: Any) -> None:
    costs = bill("--size", "600000", "--batch", "100")["usd_per_million"]
    assert f"A million messages of 600,000 bytes are ${costs:.2f}," in PROSE


@pytest.mark.parametrize(
    ("name", "front"),
    [
        ("HTTP API", "http-api"),
        ("CloudFront before a Function URL", "cloudfront"),
        ("Function URL alone", "function-url"),
    ],
)
def test_the_page_has_the_sums_for_each_kind_of_front_end(bill: Any, name: str, front: str) -> None:
    costs = [bill("--batch", "100", "--front", front, "--region", region) for region in ("us-east-1", "eu-central-1")]
    sums = " | ".join(f"{each['usd_per_million']:.2f}" for each in costs)
    assert f"\n| {name} | {sums} |\n" in PAGE


@pytest.mark.parametrize("senders", [10, 100, 1_000, 10_000])
def test_the_page_has_the_requests_to_endpoints(bill: Any, senders: int) -> None:
    def posts_and_calls(instances: int) -> str:
        items = bill("--ens-senders", str(senders), "--dm3-instances", str(instances))["items"]
        amounts = {item["name"]: item["amount"] for item in items}
        posts, calls = amounts["endpoints of ENS: posts"], amounts["endpoints of ENS: calls in them"]
        return f"{posts:,.0f} posts, {calls:,.0f} calls"

    assert f"| {senders:,} | {posts_and_calls(1)} | {posts_and_calls(10)} |" in PAGE


def test_what_endpoints_take_is_not_shown_as_free(postroom: Postroom, bill: Any) -> None:
    lines = postroom("cost", "--ens-senders", "10").stdout.splitlines()
    [posts] = [line.split() for line in lines if line.startswith("endpoints of ENS: posts")]
    assert posts[-3:] == ["requests", "–", "–"]
    assert [item["usd"] for item in bill("--ens-senders", "10")["items"] if "of ENS" in item["name"]] == [None, None]


def test_accounts_and_names_off_chain_take_more_requests(bill: Any) -> None:
    def posts(*options: str) -> float:
        items = bill("--ens-senders", "1000000", *options)["items"]
        return next(float(item["amount"]) for item in items if item["name"] == "endpoints of ENS: posts")

    assert posts("--ens-off-chain", "1") == pytest.approx(2 * posts())
    assert posts("--ens-rules", "1") == pytest.approx(3 * posts())
    assert posts("--ens-quorum", "4") == pytest.approx(2 * posts())
