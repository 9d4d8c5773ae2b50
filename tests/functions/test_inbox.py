"""functions/inbox: NLWeb over HTTP."""

import json
import time
from contextlib import ExitStack
from typing import Any

import pytest
from tests.functions.logs import log_lines, metrics
from tests.functions.samples import MADE_AT, RECEIVER, events, http
from tests.functions.stack import REQUEST_ID, FunctionsStack, Json

from postroom.cli.message_events.event import read_events
from postroom.core.reason import Reason
from postroom.core.reasons import (
    METHOD_NOT_ALLOWED,
    NO_SUCH_ROUTE,
    NOT_JSON,
    NOT_QUEUED,
    TOO_LARGE,
    TOO_MANY_LOOK_UPS,
    WRONG_CONTENT_ENCODING,
)
from postroom.core.settings import DeploymentSettings
from postroom.local.dns import DnsServer
from postroom.pipeline.look_ups import HOLD_SECONDS, KIND, most_look_ups
from postroom.pipeline.nlweb_inbox import NlwebInbox
from postroom.protocols.nlweb.reasons import HASH_MISMATCH, NOT_OURS, WRONG_SHAPE
from postroom.runtime.system import new_id
from postroom.storage.layout import seen_key_nlweb
from postroom.storage.limits.held_runs import HeldRuns
from postroom.storage.mail.inbox_log import read_ledger


def post_event() -> Json:
    return events()["inbox-post.json"]


def refused(answer: Json, reason: Reason) -> Json:
    """The problem document of a refusal."""
    assert answer["statusCode"] == reason.status
    assert answer["headers"]["Content-Type"] == "application/problem+json"
    document: Json = json.loads(answer["body"])
    assert (document["status"], document["reason"]) == (reason.status, str(reason))
    return document


@pytest.mark.parametrize("form", [str.lower, str.upper, str.title])
def test_the_case_of_header_names_does_not_matter(running: FunctionsStack, form: Any) -> None:
    event = post_event()
    event["headers"] = {form(name): value for name, value in event["headers"].items()}
    assert running.invoke("InboxFunction", event)["statusCode"] == 200
    event["headers"][form("content-encoding")] = "gzip"
    refused(running.invoke("InboxFunction", event), WRONG_CONTENT_ENCODING)


def test_a_message_may_be_as_long_as_the_setting_says_and_no_longer(running: FunctionsStack) -> None:
    event, most = post_event(), DeploymentSettings().nlweb_max_body_bytes
    event["body"] += " " * (most - len(event["body"].encode()))
    assert running.invoke("InboxFunction", event)["statusCode"] == 200
    event["body"] += " "
    document = refused(running.invoke("InboxFunction", event), TOO_LARGE)
    assert f"{most + 1} bytes; at most {most}" in document["detail"]


@pytest.mark.parametrize("path", ["/inbox", "/manifest", "/elsewhere"])
def test_head_is_answered_as_get_so_that_its_length_is_known(running: FunctionsStack, path: str) -> None:
    url = f"https://nlweb.{RECEIVER}{path}"
    get = running.invoke("InboxFunction", http("GET", url, MADE_AT))
    assert get["body"]
    assert running.invoke("InboxFunction", http("HEAD", url, MADE_AT)) == get


@pytest.mark.parametrize(
    ("path", "method", "allowed"),
    [
        ("/inbox", "PUT", "GET, HEAD, POST"),
        ("/inbox", "DELETE", "GET, HEAD, POST"),
        ("/inbox", "OPTIONS", "GET, HEAD, POST"),
        ("/manifest", "POST", "GET, HEAD"),
    ],
)
def test_another_method_is_refused_with_the_allowed_ones(
    running: FunctionsStack, path: str, method: str, allowed: str
) -> None:
    answer = running.invoke("InboxFunction", http(method, f"https://nlweb.{RECEIVER}{path}", MADE_AT))
    refused(answer, METHOD_NOT_ALLOWED)
    assert answer["headers"]["Allow"] == allowed


@pytest.mark.parametrize("path", ["/", "/inbox/", "//inbox", "/Inbox", "/inbox/x", "/..%2finbox"])
def test_another_path_is_nothing(running: FunctionsStack, path: str) -> None:
    refused(running.invoke("InboxFunction", http("POST", f"https://nlweb.{RECEIVER}{path}", MADE_AT)),
            NO_SUCH_ROUTE)  # fmt: skip


def test_there_is_no_manifest_for_a_domain_that_is_not_ours(running: FunctionsStack) -> None:
    for host in ("nlweb.stranger.example", RECEIVER, "a1b2c3d4e5.execute-api.eu-west-1.amazonaws.com"):
        refused(running.invoke("InboxFunction", http("GET", f"https://{host}/manifest", MADE_AT)), NOT_OURS)


@pytest.mark.parametrize("body", ["@@@", "é", "AAA"])
def test_invalid_base64_is_a_body_that_is_no_json(running: FunctionsStack, body: str) -> None:
    event = {**post_event(), "isBase64Encoded": True, "body": body}
    refused(running.invoke("InboxFunction", event), NOT_JSON)


def test_a_body_with_half_a_surrogate_pair_is_no_json(running: FunctionsStack) -> None:
    event = {**post_event(), "body": '{"Header": "\ud800"}'}
    refused(running.invoke("InboxFunction", event), NOT_JSON)


def test_no_body_at_all_is_no_json(running: FunctionsStack) -> None:
    event = post_event()
    del event["body"]
    refused(running.invoke("InboxFunction", event), NOT_JSON)


def test_after_any_exception_the_sender_is_asked_to_retry_and_sees_no_traceback(
    running: FunctionsStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: object) -> None:
        raise RuntimeError("the roof of /var/task is leaking")

    monkeypatch.setattr(NlwebInbox, "post", breaks)
    answer = running.invoke("InboxFunction", post_event())
    document = refused(answer, NOT_QUEUED)
    assert answer["headers"]["Retry-After"].isdigit()
    assert document["detail"] == NOT_QUEUED.sentence
    assert "roof" not in json.dumps(answer)


def test_a_refusal_is_logged_with_its_reason_and_counted(
    running: FunctionsStack, capsys: pytest.CaptureFixture[str]
) -> None:
    event = post_event() | {"body": '{"Header": "a secret of the sender"}'}
    running.invoke("InboxFunction", event)
    output = capsys.readouterr().out
    [line] = log_lines(output)
    assert (line["service"], line["message"], line["reason"]) == ("inbox", "refused", str(WRONG_SHAPE))
    assert (line["status"], line["request"]) == (422, REQUEST_ID)
    assert metrics(output) == {"Refused": [1.0], "RefusedWrongShape": [1.0]}
    assert "secret" not in output


def test_a_refused_message_whose_header_is_readable_is_logged_with_its_names(
    running: FunctionsStack, capsys: pytest.CaptureFixture[str]
) -> None:
    event = post_event()
    envelope = json.loads(event["body"])
    envelope["Hash"] = "0" * 64
    refused(running.invoke("InboxFunction", event | {"body": json.dumps(envelope)}), HASH_MISMATCH)
    output = capsys.readouterr().out
    [line] = log_lines(output)
    [read] = read_events(0, json.dumps(line))
    header = envelope["Header"]
    assert (read.event, read.reason) == ("refused", "HashMismatch")
    assert (read.mailbox, read.sender, read.correlation) == (header["To"], header["From"], header["Correlation"])
    assert "Good morning" not in output


def test_a_request_that_is_answered_at_once_is_logged_with_its_names(
    running: FunctionsStack, capsys: pytest.CaptureFixture[str]
) -> None:
    event = events()["inbox-identity.json"]
    assert running.invoke("InboxFunction", event)["statusCode"] == 200
    output = capsys.readouterr().out
    [line] = log_lines(output)
    [read] = read_events(0, json.dumps(line))
    header = json.loads(event["body"])["Header"]
    assert (read.function, read.event, read.claim) == ("inbox", "answered", "")
    assert (read.mailbox, read.sender, read.correlation) == (header["To"], header["From"], header["Correlation"])
    assert list(read_ledger(output.splitlines())) == []


def test_an_accepted_message_is_counted_and_traceable_and_its_contents_are_not_logged(
    running: FunctionsStack, capsys: pytest.CaptureFixture[str]
) -> None:
    envelope = json.loads(post_event()["body"])
    running.invoke("InboxFunction", post_event())
    output = capsys.readouterr().out
    [line] = log_lines(output)
    assert (line["message"], line["mailbox"]) == ("queued", "receiver.example")
    assert line["correlation"] == envelope["Header"]["Correlation"]
    assert f'"id":"{line["claim"]}"' in running.deployed.bodies("ClaimsQueue")[0]
    assert metrics(output) == {"Answered": [1.0]}
    [accepted] = read_ledger(output.splitlines())
    header = envelope["Header"]
    key = seen_key_nlweb(header["To"], header["From"], header["Correlation"])
    assert (accepted.claim, accepted.seen) == (line["claim"], key)
    for told in ("Good morning", envelope["Signature"], envelope["Hash"]):
        assert told not in output


def test_a_failing_queue_is_answered_503_and_logged_and_nothing_is_stored(
    running: FunctionsStack, capsys: pytest.CaptureFixture[str]
) -> None:
    store = running.deployed
    before = store.dump()
    store.clients.sqs.delete_queue(QueueUrl=store.queues["ClaimsQueue"])
    refused(running.invoke("InboxFunction", post_event()), NOT_QUEUED)
    output = capsys.readouterr().out
    assert [line["level"] for line in log_lines(output)] == ["INFO", "ERROR"]
    assert "queue ClaimsQueue: it does not exist" in output
    assert "Good morning" not in output
    assert metrics(output) == {"Refused": [1.0], "RefusedNotQueued": [1.0], "OwnFault": [1.0]}
    del store.queues["ClaimsQueue"], before["ClaimsQueue"]
    assert store.dump() == before


def test_a_synchronous_request_that_may_not_wait_for_dns_is_asked_to_come_again(
    running: FunctionsStack, dns_server: DnsServer
) -> None:
    running.parameters["InboxReservedConcurrency"] = "10"
    others = HeldRuns(
        running.deployed.clients.dynamodb, running.deployed.tables["LimitsTable"], KIND,
        most=most_look_ups(10), seconds=HOLD_SECONDS, clock=time.time, new_id=new_id,
    )  # fmt: skip
    with ExitStack() as held:
        looking = [held.enter_context(others.hold(f"sender{number}.example")) for number in range(20)]
        assert sum(looking) == most_look_ups(10)
        answer = running.invoke("InboxFunction", events()["inbox-identity.json"])
        refused(answer, TOO_MANY_LOOK_UPS)
        assert int(answer["headers"]["Retry-After"]) > 0
        assert not dns_server.queries
        assert running.invoke("InboxFunction", post_event())["statusCode"] == 200
    assert running.invoke("InboxFunction", events()["inbox-identity.json"])["statusCode"] == 200
    assert running.deployed.rows("LimitsTable") == []
