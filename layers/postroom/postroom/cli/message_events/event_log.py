"""The logs of a deployment's functions, in CloudWatch Logs or in the embedded AWS."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from typing import TYPE_CHECKING, Final, NamedTuple

from postroom.cli.message_events.event import Claims, EventFilter, MessageEvent, read_events
from postroom.core.settings import missing_output
from postroom.net.aws_errors import transient_as_not_now

if TYPE_CHECKING:
    from mypy_boto3_logs import CloudWatchLogsClient
    from mypy_boto3_logs.type_defs import FilterLogEventsRequestPaginateTypeDef

FUNCTIONS: Final = (
    "InboxFunction", "Dm3Function", "WorkerFunction", "WaitingFunction", "DeadLetterFunction", "CourierFunction",
    "FeedbackFunction", "MailboxFunction", "DcpFunction",
)  # fmt: skip
"""The outputs with the names of the functions that handle messages."""
LATE_MS: Final = 15_000
"""How late a line may arrive in CloudWatch Logs behind later ones."""


class LoggedLine(NamedTuple):
    """A line. `id`: of CloudWatch Logs, unique."""

    at_ms: int
    id: str
    text: str


@dataclass(frozen=True)
class EventLog:
    """The log groups of the functions of one deployment."""

    logs: "CloudWatchLogsClient"
    groups: Sequence[str]

    def lines(self, since_ms: int, term: str = "", until_ms: int | None = None) -> Iterator[LoggedLine]:
        """The lines by time, of which one page of each group is in memory.

        `term`: what each must contain as whole words. `until_ms`: the last time; None: now. Raises
        NotNowError(STORE_UNAVAILABLE).
        """
        # FilterLogEvents returns the events of a group sorted by timestamp.
        return merge(*(self._group(group, since_ms, term, until_ms) for group in self.groups), key=_by_time)

    def lines_about(self, correlation: str, since_ms: int) -> list[LoggedLine]:
        """The lines about the messages with this Correlation: first those that name it, then those of their claims.

        Raises NotNowError(STORE_UNAVAILABLE).
        """
        # CloudWatch tells capitals, and a Correlation is logged as it came.
        found = self._with_any({correlation, correlation.lower(), correlation.upper()}, since_ms)
        events = (event for line in found.values() for event in read_events(line.at_ms, line.text))
        claims = {event.claim for event in events if event.claim and event.correlation == correlation.lower()}
        return sorted((found | self._with_any(claims, since_ms)).values(), key=_by_time)

    def lines_of_claim(self, claim: str, since_ms: int) -> list[LoggedLine]:
        """The lines about a claim, and about its message. Raises NotNowError(STORE_UNAVAILABLE)."""
        found = self._with_any({claim}, since_ms)
        events = (event for line in found.values() for event in read_events(line.at_ms, line.text))
        about = {event.correlation for event in events if event.claim == claim and event.correlation}
        for correlation in about:
            found |= {line.id: line for line in self.lines_about(correlation, since_ms)}
        return sorted(found.values(), key=_by_time)

    def events(self, since_ms: int, wanted: EventFilter) -> Iterator[MessageEvent]:
        """The wanted events by time. Raises NotNowError(STORE_UNAVAILABLE)."""
        about = wanted.correlation
        return wanted_events(self.lines_about(about, since_ms) if about else self.lines(since_ms), wanted)

    def _with_any(self, terms: Iterable[str], since_ms: int) -> dict[str, LoggedLine]:
        return {line.id: line for term in terms for line in self.lines(since_ms, term)}

    def _group(self, group: str, since_ms: int, term: str, until_ms: int | None) -> Iterator[LoggedLine]:
        request: FilterLogEventsRequestPaginateTypeDef = {
            "logGroupName": group, "startTime": since_ms, "filterPattern": f'"{term}"' if term else ""
        }  # fmt: skip
        if until_ms is not None:
            request["endTime"] = until_ms
        pages = self.logs.get_paginator("filter_log_events").paginate(**request)
        with transient_as_not_now():
            try:
                for page in pages:
                    for event in page["events"]:
                        at_ms, text = event["timestamp"], event["message"]
                        # The embedded AWS gives lines no id.
                        yield LoggedLine(at_ms, event.get("eventId") or f"{at_ms} {group} {text}", text)
            except self.logs.exceptions.ResourceNotFoundException:
                return  # it has logged nothing yet


class NewEvents:
    """The wanted events as they come, each once."""

    def __init__(self, log: EventLog, since_ms: int, wanted: EventFilter) -> None:
        self._log = log
        self._since_ms = since_ms
        self._wanted = wanted
        self._claims = Claims()
        self._seen: dict[str, int] = {}

    def look(self, now_ms: int) -> list[MessageEvent]:
        """The events that came since the last look. Raises NotNowError(STORE_UNAVAILABLE)."""
        new = [line for line in self._log.lines(self._since_ms) if line.id not in self._seen]
        self._since_ms = max(self._since_ms, now_ms - LATE_MS)
        self._seen |= {line.id: line.at_ms for line in new}
        self._seen = {line_id: at_ms for line_id, at_ms in self._seen.items() if at_ms >= self._since_ms}
        return list(wanted_events(new, self._wanted, self._claims))


def event_log_of(outputs: Mapping[str, str], logs: "CloudWatchLogsClient") -> EventLog:
    """The logs of a deployment. `outputs`: of its stack. Raises SettingsError if one is missing."""
    for name in FUNCTIONS:
        if name not in outputs:
            raise missing_output(name)
    return EventLog(logs, [f"/aws/lambda/{outputs[name]}" for name in FUNCTIONS])


def wanted_events(
    lines: Iterable[LoggedLine], wanted: EventFilter, claims: Claims | None = None
) -> Iterator[MessageEvent]:
    """The wanted events in lines by time. `claims`: what former lines said of claims."""
    known = Claims() if claims is None else claims
    for line in lines:
        for event in read_events(line.at_ms, line.text):
            whole = known.complete(event)
            if wanted.matches(whole):
                yield whole


def _by_time(line: LoggedLine) -> int:
    return line.at_ms
