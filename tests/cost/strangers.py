"""What strangers can make an operator pay: the costliest requests at each public route, and their price in an hour.

test_strangers.py compares the counts with the functions, and tests/cli/test_cost_of_strangers.py the prices with
docs/operate/cost.md. All prices are at most: a row has the largest log, the largest answer and the most units of all
requests that were tried at its routes, though no request may have them all.
"""

import math
from dataclasses import dataclass
from typing import Any, Final

from tests.aws import function, resources, template

from postroom.cost import counted
from postroom.cost.items import GB, HEADER_BYTES, MILLION, PLATFORM_BYTES, PLATFORM_LINES, log_bytes
from postroom.cost.prices import OURS, Prices, read_prices
from postroom.http.rate_limit import NEWCOMERS_PER_SECOND
from postroom.runtime.socket_events import MAX_SOCKET_BYTES

HOUR_SECONDS: Final = 3600
HTTP_UNIT, SOCKET_UNIT = 512 * 1024, 32 * 1024
"""The bytes of a message that API Gateway meters as one."""
LAMBDA_BODY_BYTES, LARGEST_BODY_BYTES = 6 * 1024 * 1024, 10 * 1024 * 1024
"""The largest body of which a function hears anything, and the largest that an HTTP API takes."""
NEW_SOCKETS_PER_SECOND: Final = 500
SOCKET_IDLE_SECONDS: Final = 600
"""Quotas of API Gateway: how many WebSockets an account opens, and when one that is not used is closed."""
SOCKETS: Final = " of the WebSocket API"


@dataclass(frozen=True, slots=True)
class Entry:
    """Routes of one function, and what the costliest requests there take. `reads`, `writes`: units of DynamoDB.

    A `route` is named as in the table of the page.
    """

    routes: tuple[str, ...]
    function: str
    log_lines: int
    log_bytes: int
    answer_bytes: int
    reads: int = 0
    writes: int = 0


ENTRIES: Final = (
    Entry(("/inbox",), "InboxFunction", 2, 1_016, 409, reads=1, writes=2),
    Entry(("/manifest", "$default"), "InboxFunction", 2, 461, 143, reads=1),
    Entry(("/dm3", "/rpc", "POST /"), "Dm3Function", 51, 18_187, 89_029, reads=100, writes=100),
    Entry(("OPTIONS /",), "Dm3Function", 1, 191, 0),
    Entry(("/auth/{name}",), "MailboxFunction", 2, 505, 689, reads=4, writes=2),
    Entry(("/mailboxes/{proxy+}", "/profile/{name}"), "MailboxFunction", 2, 505, 220, reads=1, writes=2),
    Entry(("/storage/{proxy+}", "/delivery/{proxy+}"), "MailboxFunction", 2, 505, 220),
    Entry(("/openapi.json",), "MailboxFunction", 2, 505, 65_272),
)


def at(parameter: str) -> int:
    """The default of a parameter of the template."""
    return int(template()["Parameters"][parameter]["Default"])


def prices() -> Prices:
    """The prices of the page."""
    return read_prices(OURS, "us-east-1")


def routes_of_the_template() -> set[str]:
    """The routes of both APIs as the page names them: with the method if it is not ANY."""
    found: set[str] = set()
    for said in resources("AWS::Serverless::Function").values():
        events: list[dict[str, Any]] = [each["Properties"] for each in said["Events"].values() if _is_of_api(each)]
        for event in events:
            method = event.get("Method", "ANY")
            found.add(f"{'' if method == 'ANY' else method + ' '}{event.get('Path', '$default')}")
    return found | {route["RouteKey"] + SOCKETS for route in resources("AWS::ApiGatewayV2::Route").values()}


def _is_of_api(event: dict[str, Any]) -> bool:
    return event["Type"] in ("HttpApi", "Api")


def requests_an_hour() -> int:
    """At the throttle of a route."""
    return at("ThrottlingRate") * HOUR_SECONDS


def runs(name: str) -> int:
    """The runs of a function that are reserved."""
    reserved = function(name)["ReservedConcurrentExecutions"]["Fn::If"][1]["Ref"]
    return at(reserved)


def running(name: str) -> float:
    """The price of all runs of a function for an hour: the most that it can run, however long its requests take."""
    return running_of(runs(name), name)


def running_of(busy: float, name: str) -> float:
    """The price of so many runs of a function for an hour."""
    return busy * function(name)["MemorySize"] / 1024 * HOUR_SECONDS * prices().lambda_per_gb_second


def api(metered: float = 1) -> float:
    """Of the HTTP API, for requests that count as `metered` each."""
    return requests_an_hour() / MILLION * metered * prices().http_api_per_million


def started() -> float:
    """Of Lambda, for the requests."""
    return requests_an_hour() / MILLION * prices().lambda_per_million


def logs(lines: int, size: int) -> float:
    """Of the log, with the lines that Lambda writes."""
    written = requests_an_hour() * (log_bytes(lines, size) + log_bytes(PLATFORM_LINES, PLATFORM_BYTES))
    return written / GB * (prices().logs_per_gb + prices().logs_per_gb_month)


def answers(size: int) -> float:
    """Of what goes out, with headers."""
    return requests_an_hour() * (size + HEADER_BYTES) / GB * prices().out_per_gb


def reads(a_second: float) -> float:
    """Of read units."""
    return a_second * HOUR_SECONDS / MILLION * prices().dynamodb_reads_per_million


def writes(a_second: float) -> float:
    """Of write units."""
    return a_second * HOUR_SECONDS / MILLION * prices().dynamodb_writes_per_million


def an_hour(entry: Entry) -> float:
    """The price of one of the routes at its throttle, by requests without large bodies."""
    throttle = at("ThrottlingRate")
    units = reads(min(throttle * entry.reads, at("TableReadUnitsPerSecond")))
    units += writes(min(throttle * entry.writes, at("TableWriteUnitsPerSecond")))
    own = logs(entry.log_lines, entry.log_bytes) + answers(entry.answer_bytes)
    return api() + started() + running(entry.function) + own + units


@dataclass(frozen=True, slots=True)
class OfDcp:
    """The price of messages of DCP at the throttle, by its parts."""

    api: float
    started: float
    running: float
    writes: float
    reads: float
    logs: float
    answers: float

    @property
    def all(self) -> float:
        return self.api + self.started + self.running + self.writes + self.reads + self.logs + self.answers


def dcp() -> OfDcp:
    """Over HTTPS: all runs busy, and each looks up as many mailboxes as it may."""
    return OfDcp(
        api(),
        started(),
        running("DcpFunction"),
        writes(at("ThrottlingRate") * counted.DCP_MESSAGE_WRITES),
        reads(runs("DcpFunction") * NEWCOMERS_PER_SECOND * counted.DCP_LOOK_READS),
        logs(counted.DCP_REFUSALS_LOG_LINES, counted.DCP_REFUSALS_LOG_BYTES),
        answers(counted.DCP_REFUSALS_ANSWER_BYTES),
    )


def socket_messages(metered: int) -> float:
    """Of the WebSocket API, for messages that count, with their answers, as `metered` each."""
    return requests_an_hour() / MILLION * metered * prices().socket_messages_per_million


def dcp_messages_over_sockets() -> float:
    """Messages alone, without the running that they share with those over HTTPS."""
    answer = counted.DCP_REFUSALS_ANSWER_BYTES
    metered = math.ceil(MAX_SOCKET_BYTES / SOCKET_UNIT) + math.ceil(answer / SOCKET_UNIT)
    of_each = dcp()
    out = requests_an_hour() * answer / GB * prices().out_per_gb
    return socket_messages(metered) + of_each.started + of_each.writes + of_each.logs + out


def open_sockets() -> int:
    """The most that are open: new ones, and those that a message or a ping keeps."""
    routes = [each for each in routes_of_the_template() if each.endswith(SOCKETS)]
    return (NEW_SOCKETS_PER_SECOND + len(routes) * at("ThrottlingRate")) * SOCKET_IDLE_SECONDS


def sockets_held() -> float:
    """The price of these in an hour."""
    return open_sockets() * 60 / MILLION * prices().socket_minutes_per_million


def at_all_routes() -> float:
    """Everything at once, with bodies of 6 MB; each function has its runs once."""
    http = [(entry, route) for entry in ENTRIES for route in entry.routes]
    bodies = (len(http) + 1) * api(LAMBDA_BODY_BYTES / HTTP_UNIT - 1)
    apart = sum(an_hour(entry) - running(entry.function) for entry, _ in http) + dcp().all
    shared = sum(running(name) for name in {entry.function for entry in ENTRIES})
    return bodies + apart + shared + dcp_messages_over_sockets() + socket_messages(2) + sockets_held()
