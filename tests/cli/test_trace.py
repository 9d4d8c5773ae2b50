"""`postroom trace` and `postroom logs` on a deployed store: what its logs, tables and bucket have of a message."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pytest
from click.testing import Result
from tests.cli.conftest import Postroom, StorageStack

from postroom.protocols.nlweb.reasons import SIGNATURE_INVALID
from postroom.storage.layout import row_key, segment_name
from postroom.storage.mail.ids import id_of
from postroom.storage.mail.segments import Line, lay_out

pytestmark = pytest.mark.xdist_group("cli-storage")

MAILBOX = "shop.example"
DAY = 86_400


@dataclass
class Message:
    """A message in the store, and the log lines about it."""

    stack: StorageStack
    claim: str = field(default_factory=lambda: uuid4().hex)
    correlation: str = field(default_factory=lambda: str(uuid4()))
    at_ms: int = field(default_factory=lambda: int(time.time() * 1000) - 1000)

    def __post_init__(self) -> None:
        self.row = row_key(MAILBOX, 1, self.at_ms, self.claim)
        self.id = id_of(self.row)

    def queued(self) -> None:
        self.log(
            "inbox", "queued", claim=self.claim, mailbox=MAILBOX, correlation=self.correlation,
            received_at_ms=self.at_ms, **{"from": "a.example"},
        )  # fmt: skip

    def log(self, function: str, event: str, **members: Any) -> None:
        logs, group = self.stack.clients("logs"), f"/aws/lambda/{function}"
        stream = uuid4().hex
        if not logs.describe_log_groups(logGroupNamePrefix=group)["logGroups"]:
            logs.create_log_group(logGroupName=group)
        logs.create_log_stream(logGroupName=group, logStreamName=stream)
        text = json.dumps({"level": "INFO", "service": function, "message": event, **members})
        logged: Any = {"timestamp": int(time.time() * 1000), "message": text}
        logs.put_log_events(logGroupName=group, logStreamName=stream, logEvents=[logged])

    def file(self) -> None:
        storage, name = self.stack.storage, segment_name(self.at_ms, self.claim)
        data, [place] = lay_out([Line(self.row, "a.example", "{}", {"protocol": "nlweb"})], name)
        storage.objects.put(name, data)
        storage.register.file(self.row, place, "a.example")

    def discard(self) -> None:
        self.stack.storage.register.discard(self.row, SIGNATURE_INVALID, int(time.time()) + DAY)


@pytest.fixture
def message(storage_stack: StorageStack) -> Callable[[], Message]:
    return lambda: Message(storage_stack)


@pytest.fixture
def trace(postroom: Postroom, storage_stack: StorageStack) -> Callable[..., Result]:
    return lambda *words: postroom("trace", *words, *storage_stack.options)


def read(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    traced: dict[str, Any] = json.loads(result.stdout)
    return traced


def test_messages_that_were_filed_together_are_traced_each_on_its_own(
    message: Callable[[], Message], trace: Callable[..., Result]
) -> None:
    ours, other = message(), message()
    for each in (ours, other):
        each.queued()
        each.file()
    ours.log("worker", "accepted", claims=[ours.claim, other.claim])
    for asked in (ours.correlation, ours.correlation.upper(), ours.id):
        [life] = read(trace(asked, "--json"))["messages"]
        assert (life["claim"], life["state"]) == (ours.claim, "filed")
        assert [event["event"] for event in life["events"]] == ["queued", "accepted"]
        assert other.correlation not in json.dumps(life)


def test_a_filed_message_whose_log_lines_are_gone_has_passed_its_checks_and_that_is_said(
    message: Callable[[], Message], trace: Callable[..., Result]
) -> None:
    ours = message()
    ours.file()
    traced = read(trace(ours.id, "--mailbox", MAILBOX, "--json"))
    [life] = traced["messages"]
    assert (life["state"], life["events"]) == ("filed", [])
    assert {check["result"] for check in life["checks"]} == {"passed"}
    [unread] = traced["unread"]
    assert ours.id in unread
    assert "could not be read: log lines of" in trace(ours.id, "--mailbox", MAILBOX).stdout


def test_a_discarded_message_whose_log_lines_are_gone_keeps_the_check_that_it_failed(
    message: Callable[[], Message], trace: Callable[..., Result]
) -> None:
    ours = message()
    ours.discard()
    [life] = read(trace(ours.id, "--mailbox", MAILBOX, "--json"))["messages"]
    assert [check["name"] for check in life["checks"] if check["result"] == "failed"] == ["signature"]


def test_a_message_with_its_log_lines_was_read_whole(
    message: Callable[[], Message], trace: Callable[..., Result]
) -> None:
    ours = message()
    ours.queued()
    ours.file()
    ours.log("worker", "accepted", claims=[ours.claim])
    assert read(trace(ours.id, "--json"))["unread"] == []


@pytest.mark.parametrize("asked", ["", " ", "queued", "INFO", 'a"b', "nosuch.json", "0" * 63])
def test_what_names_no_message_is_a_usage_error(trace: Callable[..., Result], asked: str) -> None:
    result = trace(asked)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "neither a Correlation, the hash of a dm3 message, the id of a message, nor a file" in result.stderr


def test_a_message_that_nobody_knows_is_not_found(message: Callable[[], Message], trace: Callable[..., Result]) -> None:
    unknown = message()
    for asked in (unknown.correlation, unknown.id, "0" * 64):
        assert trace(asked).exit_code == 5


def test_logs_take_a_correlation_only(postroom: Postroom, storage_stack: StorageStack) -> None:
    for text in ("", "queued"):
        result = postroom("logs", "--correlation", text, *storage_stack.options)
        assert (result.exit_code, result.stdout) == (2, "")


def test_logs_show_the_events_of_all_functions_by_time(
    postroom: Postroom, storage_stack: StorageStack, message: Callable[[], Message]
) -> None:
    ours = message()
    ours.queued()
    ours.log("worker", "retried", claim=ours.claim, mailbox=MAILBOX, reason="KeyLookupFailed", detail="no answer")
    ours.log("worker", "accepted", claims=[ours.claim])
    ours.log("mailbox", "acknowledged", claims=[ours.claim], mailbox=MAILBOX)
    result = postroom("logs", "--correlation", ours.correlation, "--json", *storage_stack.options)
    events = [json.loads(line) for line in result.stdout.splitlines()]
    assert [event["event"] for event in events] == ["queued", "retried", "accepted", "acknowledged"]
    assert {event["from"] for event in events} == {"a.example"}
    far_back = postroom("logs", "--since", "999999d", "--reason", "KeyLookupFailed", *storage_stack.options)
    assert ours.correlation in far_back.stdout


def test_logs_that_may_not_be_read_leave_the_result_unknown(
    trace: Callable[..., Result], message: Callable[[], Message], monkeypatch: pytest.MonkeyPatch
) -> None:
    from botocore.exceptions import ClientError

    from postroom.cli.message_events.event_log import EventLog

    def denied(*_: object) -> None:
        raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": ""}}, "FilterLogEvents")

    monkeypatch.setattr(EventLog, "lines", denied)
    ours = message()
    result = trace(ours.correlation)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "could not be read: the logs: AccessDeniedException" in result.stderr
    # Its row tells without them.
    ours.file()
    traced = read(trace(ours.id, "--mailbox", MAILBOX, "--json"))
    assert traced["messages"][0]["state"] == "filed"
    assert traced["unread"] == ["the logs: AccessDeniedException"]


@pytest.mark.parametrize("outcome", [("refused", "HashMismatch"), ("answered", "")])
def test_a_message_of_which_no_copy_was_queued_is_traced_by_its_correlation(
    message: Callable[[], Message], trace: Callable[..., Result], outcome: tuple[str, str]
) -> None:
    ours, (event, reason) = message(), outcome
    names = {"mailbox": MAILBOX, "from": "a.example", "correlation": ours.correlation}
    ours.log("inbox", event, **names, **({"reason": reason} if reason else {}))
    [life] = read(trace(ours.correlation, "--json"))["messages"]
    assert (life["claim"], life["state"], life["from"], life["row"]) == (None, event, "a.example", None)
    assert f"message {ours.correlation} for {MAILBOX}: {event}" in trace(ours.correlation).stdout


def test_a_copy_that_was_refused_is_shown_with_the_one_that_was_queued(
    message: Callable[[], Message], trace: Callable[..., Result]
) -> None:
    ours = message()
    ours.queued()
    ours.log(
        "inbox", "refused", mailbox=MAILBOX, correlation=ours.correlation, reason="MailboxFull", **{"from": "a.example"}
    )
    [life] = read(trace(ours.correlation, "--json"))["messages"]
    assert (life["claim"], life["state"]) == (ours.claim, "queued")
    assert [event["event"] for event in life["events"]] == ["queued", "refused"]
