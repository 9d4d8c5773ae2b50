"""Events in the functions' logs: which lines are events, how they are joined by their claim, filtered and shown."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer

from postroom.cli.message_events.event import Claims, EventFilter, MessageEvent, read_events
from postroom.cli.message_events.event_log import LATE_MS, EventLog, LoggedLine, NewEvents, wanted_events
from postroom.cli.since import read_since
from postroom.outbound.delivery import Delivery
from postroom.outbound.notification_sender import NotificationOutcome
from postroom.pipeline.outcomes import ClaimOutcome

AT = 1_795_656_221_393
QUEUED = {"level": "INFO", "message": "queued", "service": "inbox", "claim": "c1", "mailbox": "receiver.example",
          "from": "sender.example", "correlation": "0A-1", "seen": "n#1", "text": "", "received_at_ms": AT}  # fmt: skip
ACCEPTED = {"level": "INFO", "message": "accepted", "service": "worker", "claims": ["c1", "c2"]}
DISCARDED = {"level": "INFO", "message": "discarded", "service": "worker", "claim": "c2", "mailbox": "other.example",
             "correlation": "0b-2", "reason": "SignatureInvalid", "detail": "not by the key"}  # fmt: skip
FEEDBACK = {"level": "INFO", "message": "delivered", "service": "feedback", "sender": "sender.example",
            "receiver": "receiver.example", "tries": 1, "correlation": "0a-1",
            "reason": "UnexpectedSubject"}  # fmt: skip
SENT = {"level": "INFO", "message": "delivered", "service": "courier", "mailbox": "receiver.example",
        "to": "far.example", "tries": 0, "correlation": "0c-3"}  # fmt: skip
REFUSED = {"level": "INFO", "message": "refused", "service": "inbox", "reason": "WrongShape", "status": 422}


def events(*lines: dict[str, Any], wanted: EventFilter | None = None) -> list[MessageEvent]:
    logged = [LoggedLine(AT + number, str(number), json.dumps(line)) for number, line in enumerate(lines)]
    return list(wanted_events(logged, wanted or EventFilter()))


@pytest.mark.parametrize(
    "text",
    [
        "START RequestId: 1", "", "{", "[]", "null", '"queued"', "1e999",
        json.dumps({"_aws": {}, "service": "worker", "Accepted": [1.0]}),
        json.dumps({"level": "ERROR", "message": "messages to be delivered again", "service": "worker"}),
        json.dumps({"level": "INFO", "message": "x", "service": "inbox", "claim": 7, "mailbox": 7}),
    ],
)  # fmt: skip
def test_lines_about_no_message_are_no_events(text: str) -> None:
    assert list(read_events(AT, text)) == []


def test_an_accepted_message_is_known_by_the_line_of_the_inbox() -> None:
    queued, accepted, _ = events(QUEUED, ACCEPTED)
    assert (accepted.event, accepted.claim) == ("accepted", "c1")
    assert (accepted.mailbox, accepted.sender, accepted.correlation) == (
        "receiver.example", "sender.example", "0a-1"
    )  # fmt: skip
    assert queued.as_line() == (
        "2026-11-26T01:23:41.393Z  inbox         queued        0a-1  from sender.example to receiver.example"
    )


def test_a_line_of_many_claims_is_an_event_of_each() -> None:
    assert [(each.claim, each.mailbox) for each in events(ACCEPTED)] == [("c1", ""), ("c2", "")]


def test_a_discard_shows_its_reason_and_detail() -> None:
    [event] = events(DISCARDED)
    assert event.as_line().endswith("0b-2  to other.example  SignatureInvalid: not by the key")


def test_feedback_is_about_a_message_from_its_receiver() -> None:
    [event] = events(FEEDBACK)
    assert (event.sender, event.mailbox, event.tries) == ("sender.example", "receiver.example", 1)
    assert "try 2" in event.as_line()


def test_an_outgoing_message_is_from_its_mailbox() -> None:
    [event] = events(SENT)
    assert (event.sender, event.to, event.mailbox) == ("receiver.example", "far.example", "receiver.example")
    assert "from receiver.example to far.example" in event.as_line()
    assert "try" not in event.as_line()


def test_a_refusal_has_a_reason_and_no_message() -> None:
    [event] = events(REFUSED)
    assert event.as_json() == {
        "at": "2026-11-26T01:23:41.393Z", "function": "inbox", "event": "refused", "claim": None, "mailbox": None,
        "from": None, "to": None, "correlation": None, "reason": "WrongShape", "detail": None, "tries": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (EventFilter(), 7),
        (EventFilter(mailbox="receiver.example"), 4),
        (EventFilter(sender="sender.example"), 3),
        (EventFilter(correlation="0a-1"), 3),
        (EventFilter(reason="SignatureInvalid"), 1),
        (EventFilter(sender="sender.example", reason="UnexpectedSubject"), 1),
        (EventFilter(mailbox="nobody.example"), 0),
    ],
)
def test_events_are_filtered_by_what_is_known_of_their_claim(wanted: EventFilter, found: int) -> None:
    assert len(events(QUEUED, ACCEPTED, DISCARDED, FEEDBACK, SENT, REFUSED, wanted=wanted)) == found


def test_few_claims_are_remembered() -> None:
    claims = Claims(most=1)
    [queued] = read_events(AT, json.dumps(QUEUED))
    [discarded] = read_events(AT, json.dumps(DISCARDED))
    first, _ = read_events(AT, json.dumps(ACCEPTED))
    claims.complete(queued)
    assert claims.complete(first).mailbox == "receiver.example"
    claims.complete(discarded)
    assert claims.complete(first).mailbox == ""


class Log:
    """CloudWatch Logs with lines that arrive late."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def add(self, at_ms: int, line: dict[str, Any]) -> None:
        self.lines.append({"timestamp": at_ms, "eventId": str(len(self.lines)), "message": json.dumps(line)})

    def get_paginator(self, _name: str) -> "Log":
        return self

    def paginate(self, *, logGroupName: str, startTime: int, filterPattern: str) -> list[Any]:  # noqa: N803 - boto3's
        term = filterPattern.strip('"')
        return [{"events": [each for each in self.lines if each["timestamp"] >= startTime and term in each["message"]]}]

    class exceptions:  # noqa: N801 - boto3's
        ResourceNotFoundException = KeyError


def test_new_events_are_seen_once_and_late_lines_too() -> None:
    log = Log()
    new = NewEvents(EventLog(log, ["g"]), AT, EventFilter())  # type: ignore[arg-type]
    log.add(AT - 1, SENT)
    log.add(AT, QUEUED)
    assert [each.event for each in new.look(AT + 1000)] == ["queued"]
    assert new.look(AT + 2000) == []
    log.add(AT + 100, {**ACCEPTED, "claims": ["c1"]})
    [accepted] = new.look(AT + 100 + LATE_MS)
    assert (accepted.event, accepted.sender) == ("accepted", "sender.example")
    assert new.look(AT + 200 + LATE_MS) == []


def test_the_lines_of_a_correlation_are_those_that_name_it_and_those_of_its_claims() -> None:
    log = Log()
    lines: list[dict[str, Any]] = [QUEUED, ACCEPTED, DISCARDED, FEEDBACK, SENT]
    for number, line in enumerate(lines):
        log.add(AT + number, line)
    reader = EventLog(log, ["g"])  # type: ignore[arg-type]
    expected = [json.dumps(line) for line in (QUEUED, ACCEPTED, FEEDBACK)]
    assert [line.text for line in reader.lines_about("0a-1", AT)] == expected
    assert [line.text for line in reader.lines_of_claim("c1", AT)] == expected


def test_the_page_names_every_event() -> None:
    page = (Path(__file__).parents[2] / "docs" / "operate" / "logs.md").read_text(encoding="utf-8")
    for outcomes in (ClaimOutcome, Delivery, NotificationOutcome):
        assert [str(each) for each in outcomes if f"`{each}`" not in page] == []


@pytest.mark.parametrize(("text", "seconds"), [("30s", 30), ("10m", 600), ("2h", 7200), ("1d", 86_400)])
def test_since_is_a_time_ago(text: str, seconds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 1_000_000.0)
    assert read_since(text) == (1_000_000 - seconds) * 1000


def test_since_is_a_time_of_utc_unless_it_has_a_zone() -> None:
    assert read_since("2026-11-26T01:23:41.393") == read_since("2026-11-26T01:23:41.393Z") == AT
    assert read_since("2026-11-26T02:23:41.393+01:00") == AT


@pytest.mark.parametrize("text", ["999999d", "0001-01-01", "0001-01-01T00:00+14:00"])
def test_since_is_not_before_the_epoch_which_cloudwatch_does_not_take(text: str) -> None:
    assert read_since(text) == 0


@pytest.mark.parametrize("text", ["", "10", "m", "1w", "-5m", "yesterday", "1.5h"])
def test_any_other_since_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="neither 10m, 2h or 1d nor a time"):
        read_since(text)
