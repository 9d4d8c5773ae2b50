"""docs/operate/cost.md, "What strangers can make you pay": all public routes are there, and every sum is calculated."""

import json
import math
import re
from typing import Any

import pytest
from tests.aws import function
from tests.cli.conftest import Postroom
from tests.cli.test_cost import DOCS, PAGE, PROSE, usd
from tests.cost.strangers import (
    ENTRIES,
    HOUR_SECONDS,
    HTTP_UNIT,
    LAMBDA_BODY_BYTES,
    LARGEST_BODY_BYTES,
    SOCKETS,
    an_hour,
    answers,
    api,
    at,
    at_all_routes,
    dcp,
    dcp_messages_over_sockets,
    prices,
    reads,
    requests_an_hour,
    routes_of_the_template,
    running,
    running_of,
    runs,
    socket_messages,
    writes,
)

from postroom.api.schemas import MAX_PAGE_BYTES, MAX_PART_BYTES
from postroom.core.settings import DAY_SECONDS, DeploymentSettings
from postroom.cost import counted
from postroom.cost.items import MILLION, MONTH_SECONDS
from postroom.http import message_listing
from postroom.http.dcp_service import MAX_MESSAGE_BYTES
from postroom.http.rate_limit import NEWCOMERS_PER_SECOND
from postroom.pipeline import silent_zones
from postroom.pipeline.look_ups import most_look_ups
from postroom.protocols.dm3.jsonrpc import MAX_BATCH
from postroom.storage.aws.queue import MAX_BODY_BYTES

SECTION = PAGE.partition("## What strangers can make you pay\n")[2].partition("\n## ")[0]
TABLE = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in SECTION.partition("\n\n**How it was counted.**")[0].splitlines()
    if line.startswith("| `")
]
READS_OF_THE_INBOX = 6
"""Of each message, while many wait: what is known of its domain and its zones."""
KEPT_READS_PER_SECOND = 3_000
"""Read units of one partition: what DynamoDB allows."""


def names_of(cell: str) -> list[str]:
    """The routes of a row."""
    return [name + (SOCKETS if cell.endswith(SOCKETS) else "") for name in re.findall(r"`([^`]+)`", cell)]


def row_of(route: str) -> list[str]:
    """The cells of a route: log, answer, units, sum."""
    [cells] = [cells for cells in TABLE if route in names_of(cells[0])]
    return cells[2:6]


def test_the_table_has_every_public_route_once() -> None:
    named = [name for cells in TABLE for name in names_of(cells[0])]
    assert sorted(named) == sorted(routes_of_the_template())
    assert all(len(cells) == 7 and all(cells) for cells in TABLE)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.routes[0])
def test_the_table_has_what_was_counted_at_a_route_and_its_price(entry: Any) -> None:
    log, answer = f"{entry.log_lines}, {entry.log_bytes:,}", f"{entry.answer_bytes:,}"
    for route in entry.routes:
        assert row_of(route) == [log, answer, f"{entry.reads}, {entry.writes}", f"{an_hour(entry):.2f}"]


def test_the_table_has_the_prices_of_dcp() -> None:
    log = f"{counted.DCP_REFUSALS_LOG_LINES}, {counted.DCP_REFUSALS_LOG_BYTES:,}"
    answer = f"{counted.DCP_REFUSALS_ANSWER_BYTES:,}"
    of_each = runs("DcpFunction") * NEWCOMERS_PER_SECOND * counted.DCP_LOOK_READS / at("ThrottlingRate")
    units = f"{of_each:.0f}, {counted.DCP_MESSAGE_WRITES}"
    assert row_of("/dcp") == [log, answer, units, f"{dcp().all:.2f}"]
    alone = dcp_messages_over_sockets() + running("DcpFunction")
    assert row_of("$default" + SOCKETS) == [log, answer, f"0, {counted.DCP_MESSAGE_WRITES}", f"{alone:.2f}"]
    assert row_of("ping" + SOCKETS) == ["0, 0", "0", "0, 0", f"{socket_messages(2):.2f}"]


def test_the_page_says_how_the_sums_of_the_table_are_made() -> None:
    [document] = [entry for entry in ENTRIES if "/openapi.json" in entry.routes]
    assert f"answers anybody with {document.answer_bytes:,} bytes. At the {at('ThrottlingRate')} requests" in PROSE
    assert f"what goes out is ${answers(document.answer_bytes):.2f} an hour" in PROSE
    assert f"takes for these requests **${an_hour(document):.2f}**" in PROSE
    of = {name: running(name) for name in ("InboxFunction", "MailboxFunction", "Dm3Function", "DcpFunction")}
    assert of["Dm3Function"] == of["DcpFunction"]
    assert (
        f"the inbox ${of['InboxFunction']:.2f}, the mailbox API ${of['MailboxFunction']:.2f}, "
        f"dm3 and DCP ${of['DcpFunction']:.2f} each"
    ) in PROSE
    of_a_table = reads(at("TableReadUnitsPerSecond")), writes(at("TableWriteUnitsPerSecond"))
    assert f"allow a table ${of_a_table[0]:.2f} and ${of_a_table[1]:.2f} in an hour" in PROSE
    metered, largest = LAMBDA_BODY_BYTES // HTTP_UNIT, LARGEST_BODY_BYTES // HTTP_UNIT
    assert f"counts as {metered}: ${api(metered - 1):.2f} an hour more at each route" in PROSE
    assert f"counts as {largest}: if AWS charges for it, which it does not say, that is ${api(largest):.2f} an" in PROSE


def test_the_page_has_the_sum_of_all_routes() -> None:
    routes = routes_of_the_template()
    http = [route for route in routes if not route.endswith(SOCKETS)]
    assert f"The HTTP API has {len(http)} routes and the WebSocket API two." in PROSE
    assert len(routes) - len(http) == 2
    assert f"are **${at_all_routes():,.0f}** an hour at most" in PROSE
    assert f"they are then {len(routes) * at('ThrottlingRate'):,} requests a second" in PROSE


def test_the_page_has_the_cost_of_mail_of_verified_senders(postroom: Postroom) -> None:
    def row(what: str, *options: str) -> str:
        costs = json.loads(postroom("cost", "--json", *options).stdout)
        in_the_month = costs["usd_per_million"] * costs["messages"] / MILLION
        kept = usd(costs, "S3: a month's mail kept for a month")
        return f"| {what} | {in_the_month:,.0f} | {kept:,.0f} |"

    throttle = at("ThrottlingRate")
    a_month = ("--messages-per-month", str(throttle * MONTH_SECONDS))
    size, largest = MAX_BODY_BYTES - 1_000, DeploymentSettings().dm3_size_limit_bytes
    options = " ".join((*a_month, "--size", str(size)))
    assert row(f"NLWeb, {size:,} bytes (`postroom cost {options}`)", *options.split()) in SECTION
    assert largest == 4_000_000
    assert row(f"dm3, envelopes of 4 MB (`--size {largest}`)", *a_month, "--size", str(largest)) in SECTION
    # Each message is a write of one unit in two tables.
    filed = at("TableWriteUnitsPerSecond")
    assert filed <= throttle * MAX_BATCH
    each = 780_000
    in_a_body = filed // throttle
    assert in_a_body * each < LAMBDA_BODY_BYTES < (in_a_body + 1) * each
    options = f"--messages-per-month {filed * MONTH_SECONDS} --size {each}"
    assert row(f"dm3, batches with 6 MB of envelopes (`{options}`)", *options.split()) in SECTION
    assert f"the tables take {filed:,} messages a second" in PROSE
    costs = json.loads(postroom("cost", "--json", "--size", str(each)).stdout)
    [took] = [item["amount"] for item in costs["items"] if item["name"] == "Lambda: inbox, running"]
    seconds = in_a_body * took / costs["messages"] * 1024 / counted.MEMORY_MB
    in_time = runs("Dm3Function") / throttle
    assert f"a body of 6 MB in {in_time} s, and by the times of the model take {seconds:.1f} s" in PROSE


def test_the_page_has_the_cost_of_strangers_who_have_a_mailbox() -> None:
    settings = DeploymentSettings()
    a_second = settings.mailbox_api_requests_per_second * settings.dm3_self_registrations_per_domain
    assert a_second >= at("ThrottlingRate")
    assert MAX_PART_BYTES == MAX_PAGE_BYTES == message_listing.MAX_MESSAGE_BYTES == 4_000_000
    for route in ("/storage/{proxy+}", "/mailboxes/{proxy+}", "/delivery/{proxy+}"):
        assert re.search(rf"^\| `{re.escape(route)}` \| [^|]+ 4 MB \| {answers(4_000_000):.2f} \|$", SECTION, re.M)
    assert f"| `/dcp` | the same, up to 4.5 MB | {answers(MAX_MESSAGE_BYTES):.2f} |\n" in SECTION
    each = runs("MailboxFunction") / at("ThrottlingRate"), runs("DcpFunction") / at("ThrottlingRate")
    assert f"make each answer in {each[0]} s (`MailboxApiReservedConcurrency`), or {each[1]} s for DCP" in PROSE
    # tests/storage/test_containers.py: an object, and a transaction of two rows, each of which takes two units.
    stored = requests_an_hour() / 1000 * prices().s3_puts_per_thousand + writes(4 * at("ThrottlingRate"))
    assert f"again and again costs ${stored:.2f} an hour" in PROSE
    gigabytes = settings.dm3_self_registrations_per_domain * settings.storage_max_bytes / 2**30
    cents = math.ceil(gigabytes * prices().s3_per_gb_month * 100)
    assert f"is ${cents / 100:.2f} a month for each domain" in PROSE


def test_the_page_has_the_cost_of_look_ups_and_waits() -> None:
    def of_a_function(name: str, setting: str) -> float:
        return float(function(name)["Environment"]["Variables"][setting])

    throttle = at("ThrottlingRate")
    # Of a synchronous request: a write when it begins to wait, and one when it ends.
    waiting, seconds = most_look_ups(runs("InboxFunction")), of_a_function("InboxFunction", "DNS_BUDGET_SECONDS")
    hour = running_of(waiting, "InboxFunction") + writes(2 * waiting / seconds)
    a_million = waiting / seconds * HOUR_SECONDS / MILLION
    beside = a_million * (prices().http_api_per_million + prices().lambda_per_million)
    assert f"At most {waiting} wait at a time: if a stranger's DNS is silent, that is at most ${hour:.2f}" in PROSE
    assert f"and ${beside:.2f} for the API and the starts" in PROSE
    settings = DeploymentSettings()
    waiting = 2 * most_look_ups(runs("Dm3Function"))
    hour = running_of(waiting, "Dm3Function") + writes(2 * waiting / settings.dm3_lookup_seconds)
    assert f"At most {waiting} wait at a time, which is ${hour:.2f} an hour" in PROSE
    one, all_of_a_table = writes(2 * throttle), writes(at("TableWriteUnitsPerSecond"))
    assert f"the writes at the throttle are ${one:.2f} an hour with one message in a request" in PROSE
    assert f"and ${all_of_a_table:.2f}, which is all that the table takes, in batches" in PROSE
    over_http, over_dcp = most_look_ups(runs("MailboxFunction")), most_look_ups(runs("DcpFunction"))
    hour = running_of(over_http, "MailboxFunction") + running_of(over_dcp, "DcpFunction")
    hour += writes(2 * (over_http + over_dcp) / (3 * settings.dm3_lookup_seconds))
    assert f"At most {over_http} wait at a time over HTTP, and {over_dcp} over DCP: ${hour:.2f} an hour" in PROSE
    assert f"3,000 read units a second: ${reads(KEPT_READS_PER_SECOND):.2f} an hour for each shard" in PROSE
    assert f"up to six read units: at the throttle, ${reads(READS_OF_THE_INBOX * throttle):.2f} an hour" in PROSE


def test_the_page_has_the_cost_of_domains_that_do_not_answer() -> None:
    settings = DeploymentSettings()
    look_ups, at_seconds = 1, 0
    while at_seconds + silent_zones.seconds_silent(look_ups) <= settings.horizon_seconds:
        at_seconds += silent_zones.seconds_silent(look_ups)
        look_ups += 1
    seconds = settings.dns_budget_seconds + settings.dns_try_seconds
    assert f"Its zone takes {look_ups} look-ups in this time, each of which holds a run for {seconds:.0f} s" in PROSE
    held = running_of(seconds, "WorkerFunction") + (look_ups - 1) * running_of(seconds, "WaitingFunction")
    zone = held / HOUR_SECONDS
    assert f"${zone:.4f}. Each message takes one write unit" in PROSE
    # Two rows when it begins to wait, and again in each 8 hours; four requests of SQS and three reads for each look-up.
    begun = 1 + settings.horizon_seconds // (DAY_SECONDS // 3)
    message = 2 * begun * prices().dynamodb_writes_per_million / MILLION
    message += look_ups * (4 * prices().sqs_per_million + 3 * prices().dynamodb_reads_per_million) / MILLION
    assert 0.00009 < message < 0.0001
    most = silent_zones.MAX_WAITING
    assert f"So the {most:,} messages that may wait" in PROSE
    assert f"cost ${most * 0.0001:.0f} at most if they are of one zone" in PROSE
    all_that_wait = silent_zones.MOST_WAITING + 35_000
    assert f"and ${most * (zone + message):.0f} in a week if each has a zone of its own" in PROSE
    assert f"the {all_that_wait:,} that may wait in all, ${all_that_wait * (zone + message):.0f}." in PROSE


def test_the_page_of_security_has_the_same_sums() -> None:
    security = " ".join((DOCS / "SECURITY.md").read_text(encoding="utf-8").split())
    lowest, highest = (limit(an_hour(entry) for entry in ENTRIES) for limit in (min, max))
    bodies = api(LAMBDA_BODY_BYTES / HTTP_UNIT - 1)
    assert (
        f"${lowest:.0f} to ${highest:.0f} at one route, ${bodies:.0f} more with bodies of 6 MB, and "
        f"${at_all_routes():,.0f} at all of them"
    ) in security
    assert (
        f"${answers(4_000_000):.0f} an hour at each of three routes and ${answers(MAX_MESSAGE_BYTES):.0f} at DCP"
        in (security)
    )
    nlweb, dm3 = (
        re.search(rf"^\| {what}.* \| ([0-9,]+) \| [0-9,]+ \|$", SECTION, re.M) for what in ("NLWeb", "dm3, b")
    )
    assert nlweb
    assert dm3
    assert f"up to ${nlweb[1]} for NLWeb messages, and ${dm3[1]} for dm3 messages" in security
