"""The life of a message: its state, its checks in their order, and the format of the trace."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from postroom.api.states import State
from postroom.cli.message_events.event import MessageEvent
from postroom.cli.message_events.life import VERSION, LifeCheck, MessageLife, MessageTrace, SentLife, not_queued
from postroom.core.reason import Kind
from postroom.reasons import REASONS
from postroom.storage.aws.object_store import Place
from postroom.storage.layout import RowKey
from postroom.storage.mail.feedback_log import NO_FEEDBACK, FeedbackRecord
from postroom.storage.mail.outbox import DeliveryEnd, OutboxMessage
from postroom.storage.mail.register import Row

AT = 1_795_656_221_393
KEY = RowKey("receiver.example#0", f"m#{AT}#c1")
LIVE = Row(KEY, Place("seg/1.jsonl", 7, 9), "sender.example")


def event(name: str, function: str = "worker", claim: str = "c1", reason: str = "", detail: str = "") -> MessageEvent:
    return MessageEvent(AT, function, name, claim, "receiver.example", "sender.example", "", "0a-1", reason, detail)


MESSAGE = OutboxMessage(
    "receiver.example", "0c-3", AT, "far.example", "Hello@Host", "t",
    end=DeliveryEnd(State.REFUSED, AT, "NotOurs", "not here", ""),
)  # fmt: skip
QUEUED, ACCEPTED = event("queued", "inbox"), event("accepted")


@pytest.mark.parametrize(
    ("events", "row", "state"),
    [
        ([], None, "unknown"),
        ([QUEUED], None, "queued"),
        ([QUEUED, event("retried", reason="KeyLookupFailed")], None, "waiting"),
        ([QUEUED, event("stuck")], None, "waiting"),
        ([QUEUED, event("duplicate")], None, "duplicate"),
        ([QUEUED, ACCEPTED], LIVE, "filed"),
        ([], LIVE, "filed"),
        ([QUEUED, ACCEPTED], Row(KEY, why="acked"), "acknowledged"),
        ([QUEUED, ACCEPTED], Row(KEY, why="forwarded"), "forwarded"),
        ([QUEUED, ACCEPTED], Row(KEY, why="expired"), "expired"),
        ([QUEUED, ACCEPTED], Row(KEY, why="closed"), "mailbox closed"),
        ([QUEUED], Row(KEY, why="discarded:KeyNotFound"), "discarded"),
    ],
)
def test_the_state_is_what_the_row_says_or_else_the_last_event(
    events: list[MessageEvent], row: Row | None, state: str
) -> None:
    assert MessageLife("c1", events, row=row).state == state


def results(*events: MessageEvent) -> list[str]:
    return [check.result for check in MessageLife("c1", events).checks]


def test_an_accepted_message_has_passed_all_checks() -> None:
    assert set(results(QUEUED, ACCEPTED)) == {"passed"}


def test_a_queued_message_has_passed_those_of_the_inbox() -> None:
    assert results(QUEUED) == ["passed", *["not reached"] * 6]


def test_a_discarded_message_failed_one_check_and_reached_no_later_one() -> None:
    life = MessageLife("c1", [QUEUED, event("discarded", reason="SignatureInvalid", detail="not by the key")])
    assert [check.result for check in life.checks] == [*["passed"] * 3, "failed", *["not reached"] * 3]
    assert life.checks[3].as_json() == {
        "name": "signature", "result": "failed", "reason": "SignatureInvalid", "detail": "not by the key",
    }  # fmt: skip


def test_a_message_whose_key_cannot_be_looked_up_waits_there() -> None:
    assert results(QUEUED, event("retried", reason="KeyLookupFailed")) == [
        *["passed"] * 2, "waits", *["not reached"] * 4
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("HashMismatch", ["failed", *["not reached"] * 6]),
        ("MailboxFull", ["failed", *["not reached"] * 6]),
        ("NotQueued", ["waits", *["not reached"] * 6]),
        ("SignatureInvalid", [*["passed"] * 3, "failed", *["not reached"] * 3]),
    ],
)
def test_a_refused_message_failed_the_check_of_its_reason_or_those_of_the_inbox(
    reason: str, expected: list[str]
) -> None:
    [life] = not_queued([event("refused", "inbox", claim="", reason=reason)], [])
    assert [check.result for check in life.checks] == expected
    assert [check.reason for check in life.checks if check.reason] == [reason]
    assert (life.state, life.mailbox, life.as_json()["claim"]) == ("refused", "receiver.example", None)


def test_a_request_that_was_answered_at_once_has_passed_all_checks() -> None:
    [life] = not_queued([event("answered", "inbox", claim="")], [])
    assert (life.state, {check.result for check in life.checks}) == ("answered", {"passed"})


def test_a_refused_dm3_message_failed_the_checks_of_its_inbox() -> None:
    [life] = not_queued([event("refused", "dm3", claim="", reason="ReceiverUnknown")], [])
    assert [check.result for check in life.checks] == ["failed", "not reached"]


def test_a_copy_that_was_refused_does_not_change_the_verdict_on_one_that_was_queued() -> None:
    events = [QUEUED, ACCEPTED, event("refused", "inbox", claim="", reason="TimestampTooOld")]
    life = MessageLife("c1", events)
    assert (life.state, {check.result for check in life.checks}) == ("accepted", {"passed"})
    assert list(not_queued(events, [life])) == []


def test_messages_by_others_with_the_same_correlation_that_were_refused_are_shown_apart() -> None:
    refused = event("refused", "inbox", claim="", reason="HashMismatch")
    other = replace(refused, sender="other.example")
    feedback = event("delivered", "feedback", claim="")
    assert [life.events for life in not_queued([refused, other, feedback], [])] == [[refused], [other]]


@pytest.mark.parametrize(
    "row", [LIVE, *(Row(KEY, why=why) for why in ("acked", "forwarded", "duplicate", "expired", "closed"))]
)
def test_without_its_log_lines_a_decided_message_has_passed_all_checks(row: Row) -> None:
    life = MessageLife("c1", [], row=row, receipt={"protocol": "nlweb"})
    assert [check.result for check in life.checks] == ["passed"] * 7


def test_without_its_log_lines_a_discarded_message_failed_the_check_of_its_reason() -> None:
    life = MessageLife("c1", [], row=Row(KEY, why="discarded:SignatureInvalid"))
    assert [check.result for check in life.checks] == [*["passed"] * 3, "failed", *["not reached"] * 3]
    assert life.checks[3].reason == "SignatureInvalid"


def test_a_message_that_was_retried_before_its_row_was_written_does_not_wait() -> None:
    life = MessageLife("c1", [QUEUED, event("retried", reason="KeyLookupFailed")], row=LIVE)
    assert {check.result for check in life.checks} == {"passed"}


def test_the_checks_of_a_message_are_unknown_if_nothing_tells_its_protocol() -> None:
    assert MessageLife("c1", [], row=Row(KEY, why="acked")).checks == []
    assert MessageLife("c1", [], row=Row(KEY, why="discarded:TooLate")).checks == []


def test_without_its_log_lines_a_dm3_message_has_the_checks_of_its_inbox() -> None:
    life = MessageLife("c1", [], row=LIVE, receipt={"protocol": "dm3"})
    assert [check.result for check in life.checks] == ["passed", "passed"]


def test_a_dm3_message_has_the_checks_of_its_inbox() -> None:
    assert results(event("queued", "dm3"), ACCEPTED) == ["passed", "passed"]
    assert results(event("queued", "dm3"), event("discarded", reason="TooLate")) == ["passed", "failed"]


@pytest.mark.parametrize(
    "reason", [reason for reason in REASONS if reason.kind is Kind.DISCARD], ids=lambda reason: str(reason)
)
def test_every_reason_to_discard_an_nlweb_message_fails_one_check(reason: Any) -> None:
    assert results(QUEUED, event("discarded", reason=str(reason))).count("failed") == 1


def test_the_page_names_every_member_and_state_of_a_trace() -> None:
    page = (Path(__file__).parents[2] / "docs" / "operate" / "logs.md").read_text(encoding="utf-8")
    life, sent = MessageLife("c1", [QUEUED, ACCEPTED], row=LIVE, feedback=NO_FEEDBACK), MessageTrace("a", [], [], [])
    names = [*life.as_json(), *sent.as_json(), *SentLife(MESSAGE, []).as_json(), *LifeCheck("", "").as_json()]
    assert [name for name in names if f"`{name}`" not in page] == []
    states = ["queued", "waiting", "filed", "acknowledged", "forwarded", "duplicate", "discarded", "expired"]
    states += ["refused", "answered"]
    assert [state for state in (*states, "mailbox closed", "unknown") if f"`{state}`" not in page] == []


def test_the_format_of_a_trace() -> None:
    feedback = FeedbackRecord("buffer.example", "0d-4", AT, sent=True)
    life = MessageLife("c1", [QUEUED], f"{AT}-c1-0", LIVE, {"key_name": "k", "chain": ({"zone": "."},)}, feedback)
    trace = MessageTrace("0a-1", [life], [SentLife(MESSAGE, [])], ["the logs: AccessDeniedException"])
    written: Any = trace.as_json()
    assert (written["version"], written["query"], written["unread"]) == (
        VERSION, "0a-1", ["the logs: AccessDeniedException"]
    )  # fmt: skip
    [one], [sent] = written["messages"], written["sent"]
    assert {name: value for name, value in one.items() if name not in ("checks", "events")} == {
        "claim": "c1", "id": f"{AT}-c1-0", "mailbox": "receiver.example", "from": "sender.example",
        "correlation": "0a-1", "state": "filed",
        "row": {
            "partition": "receiver.example#0", "sort": f"m#{AT}#c1", "state": "live", "why": None, "expires_at": None,
            "object": {"name": "seg/1.jsonl", "offset": 7, "length": 9},
        },
        "receipt": {"key_name": "k", "chain": [{"zone": "."}]},
        "feedback": {"buffer": "buffer.example", "correlation": "0d-4", "finished": True},
        "notifications": [],
    }  # fmt: skip
    assert one["events"] == [QUEUED.as_json()]
    assert sent == {
        "mailbox": "receiver.example", "to": "far.example", "subject": "Hello@Host", "correlation": "0c-3",
        "state": "refused", "at": "2026-11-26T01:23:41.393Z", "ended_at": "2026-11-26T01:23:41.393Z",
        "reason": "NotOurs", "detail": "not here", "feedback": None, "events": [],
    }  # fmt: skip
