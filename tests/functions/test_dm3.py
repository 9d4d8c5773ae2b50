"""functions/dm3."""

import base64
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError
from tests.aws import Deployed
from tests.functions.delivery_service import open_service, put_registry
from tests.functions.logs import log_lines, metrics
from tests.functions.samples import (
    ALICE,
    BOB,
    DM3_URL,
    MADE_AT,
    dm3_submit,
    events,
    http,
    profile_uri,
    service_keys,
    sqs,
    user_keys,
)
from tests.functions.stack import REQUEST_ID, FunctionsStack, Json, functions_stack

from postroom.core.errors import SettingsError
from postroom.core.reason import Reason
from postroom.core.reasons import SIGNING_KEY_UNAVAILABLE
from postroom.core.settings import DeploymentSettings
from postroom.pipeline.dm3_inbox import Dm3Inbox
from postroom.protocols.dm3.reasons import PROFILE_LOOKUP_FAILED
from postroom.storage.directory.domains import Dm3Mailbox

PAGE, OTHER = "https://app.example", "https://evil.example"
PATHS = pytest.mark.parametrize("path", ["/dm3", "/rpc"])
EVERY_PATH = pytest.mark.parametrize("path", ["/dm3", "/rpc", "/"])


@pytest.fixture
def opened(deployed: Deployed) -> Deployed:
    """A deployment whose delivery service is set up."""
    open_service(deployed, service_keys(), {name: profile_uri(user_keys(name)) for name in (ALICE, BOB)}, mailboxes())
    return deployed


@pytest.fixture
def running(opened: Deployed) -> Iterator[FunctionsStack]:
    with functions_stack(opened) as started:
        yield started


def mailboxes() -> list[Dm3Mailbox]:
    return [Dm3Mailbox(BOB)]


def submission(text: str = "Good morning, Bob", **members: Any) -> Json:
    return {**dm3_submit(MADE_AT, text), **members}


def forgery() -> Json:
    """A call that submits an envelope under the signature of another."""
    good, other = submission("Send money"), submission("another")
    good["params"][0]["metadata"]["signature"] = other["params"][0]["metadata"]["signature"]
    good["params"][0]["metadata"]["extra"] = "changed"
    return good


def post(running: FunctionsStack, value: object, path: str = "/dm3", headers: Mapping[str, str] | None = None) -> Json:
    given = {"content-type": "application/json", **(headers or {})}
    event = http("POST", DM3_URL.replace("/dm3", path), MADE_AT, json.dumps(value).encode(), given)
    answer: Json = running.invoke("Dm3Function", event)
    return answer


def said(answer: Json, status: int = 200) -> Any:
    """What an answer of JSON-RPC says."""
    assert (answer["statusCode"], answer["headers"]["Content-Type"]) == (status, "application/json")
    assert answer["isBase64Encoded"] is False
    return json.loads(answer["body"])


def refusal(answer: Json, status: int = 200) -> tuple[int, str]:
    error = said(answer, status)["error"]
    return error["code"], error["data"]["reason"]


# --- requests --------------------------------------------------------------------------------------------------------


@EVERY_PATH
def test_all_addresses_answer_the_same(running: FunctionsStack, path: str) -> None:
    assert said(post(running, submission(), path)) == {"jsonrpc": "2.0", "result": "accepted", "id": 1}
    assert len(running.deployed.bodies("ClaimsQueue")) == 1
    properties = {"jsonrpc": "2.0", "method": "dm3_getDeliveryServiceProperties", "id": 2}
    assert said(post(running, properties, path))["result"] == {"messageTTL": 0, "sizeLimit": 4_000_000}


@pytest.mark.parametrize("body", [{"Header": {}, "Body": {}}, "text", [], [1, 2]], ids=str)
def test_a_body_at_the_root_that_calls_nothing_is_answered_as_at_any_other_path(
    running: FunctionsStack, body: object
) -> None:
    """The sender of an NLWeb message would take the 200 of a JSON-RPC error for an acceptance."""
    answer = post(running, body, "/")
    assert (answer["statusCode"], json.loads(answer["body"])["reason"]) == (404, "NoSuchRoute")
    assert post(running, body)["statusCode"] == 200
    assert running.deployed.bodies("ClaimsQueue") == []


def test_at_the_root_a_batch_with_one_call_is_a_batch(running: FunctionsStack) -> None:
    accepted, error = said(post(running, [submission(), 5], "/"))
    assert (accepted["result"], error["error"]["code"]) == ("accepted", -32600)


def test_the_function_answers_no_route_of_the_inbox(running: FunctionsStack) -> None:
    for path in ("/inbox", "/manifest", "/dm3/"):
        event = http("POST", DM3_URL, MADE_AT, b"{}") | {"rawPath": path}
        answer = running.invoke("Dm3Function", event)
        assert (answer["statusCode"], json.loads(answer["body"])["reason"]) == (404, "NoSuchRoute")


def test_the_properties_are_those_that_the_template_sets(opened: Deployed) -> None:
    with functions_stack(opened, Dm3SizeLimitBytes="5000", Dm3MessageTtlDays="40") as running:
        properties = {"jsonrpc": "2.0", "method": "dm3_getDeliveryServiceProperties", "id": 2}
        assert said(post(running, properties))["result"] == {"messageTTL": 40, "sizeLimit": 5000}
        assert refusal(post(running, submission())) == (-32011, "TooLarge")


def test_a_time_to_live_that_dm3_does_not_allow_stops_the_start(opened: Deployed) -> None:
    with (
        functions_stack(opened, Dm3MessageTtlDays="29") as running,
        pytest.raises(SettingsError, match="DM3_MESSAGE_TTL_DAYS"),
    ):
        running.start("Dm3Function")


def test_a_body_in_base64_is_the_same_body(running: FunctionsStack) -> None:
    event = events()["dm3-submit.json"]
    event |= {"body": base64.b64encode(event["body"].encode()).decode(), "isBase64Encoded": True}
    assert said(running.invoke("Dm3Function", event))["result"] == "accepted"


@pytest.mark.parametrize(
    "change",
    [
        {"isBase64Encoded": True, "body": "@@@"},
        {"isBase64Encoded": True, "body": "é"},
        {"isBase64Encoded": True, "body": base64.b64encode(b"\xff").decode()},
        {"body": '{"id": "\ud800"}'},
        {"body": ""},
        {"body": None},
    ],
    ids=["no base64", "no ASCII", "no UTF-8", "half a surrogate pair", "empty", "none"],
)
def test_a_body_that_is_no_text_is_a_parse_error(running: FunctionsStack, change: Json) -> None:
    event = {name: value for name, value in {**events()["dm3-submit.json"], **change}.items() if value is not None}
    answer = running.invoke("Dm3Function", event)
    assert refusal(answer) == (-32700, "NotJson")
    assert said(answer)["id"] is None


@PATHS
@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH"])
def test_another_method_is_refused_with_the_allowed_ones(running: FunctionsStack, path: str, method: str) -> None:
    answer = running.invoke("Dm3Function", http(method, DM3_URL.replace("/dm3", path), MADE_AT))
    assert (answer["statusCode"], answer["headers"]["Allow"]) == (405, "OPTIONS, POST")
    assert answer["headers"]["Content-Type"] == "application/problem+json"
    assert json.loads(answer["body"])["reason"] == "MethodNotAllowed"


def test_a_call_without_an_id_is_answered(running: FunctionsStack) -> None:
    call = submission()
    del call["id"]
    assert said(post(running, call)) == {"jsonrpc": "2.0", "result": "accepted", "id": None}
    assert len(running.deployed.bodies("ClaimsQueue")) == 1


# --- web pages -------------------------------------------------------------------------------------------------------


def preflight(running: FunctionsStack, origin: str, path: str = "/dm3") -> Json:
    asked = {"access-control-request-method": "POST", "access-control-request-headers": "content-type"}
    event = http("OPTIONS", DM3_URL.replace("/dm3", path), MADE_AT, headers={"origin": origin, **asked})
    answer: Json = running.invoke("Dm3Function", event)
    assert (answer["statusCode"], answer["body"]) == (204, "")
    return answer


def cors(answer: Json) -> Json:
    """What an answer says to browsers."""
    return {
        name.lower(): value
        for name, value in answer["headers"].items()
        if name.lower().startswith("access-control-") or name.lower() == "vary"
    }


ALLOWS = {
    "access-control-allow-methods": "POST",
    "access-control-allow-headers": "content-type",
    "access-control-max-age": "86400",
}


@EVERY_PATH
@pytest.mark.parametrize("setting", ["*", ""])
def test_any_page_may_post_unless_the_operator_says_otherwise(opened: Deployed, path: str, setting: str) -> None:
    with functions_stack(opened, Dm3CorsOrigins=setting) as running:
        assert cors(preflight(running, PAGE, path)) == {"access-control-allow-origin": "*", **ALLOWS}
        assert cors(post(running, submission(), path, {"origin": PAGE})) == {"access-control-allow-origin": "*"}
        assert cors(post(running, 5, path, {"Origin": PAGE})) == {"access-control-allow-origin": "*"}


def test_only_a_listed_origin_is_allowed_and_named(opened: Deployed) -> None:
    with functions_stack(opened, Dm3CorsOrigins=f"{PAGE},http://localhost:3000") as running:
        named = {"access-control-allow-origin": PAGE, "vary": "Origin"}
        assert cors(preflight(running, PAGE)) == {**named, **ALLOWS}
        assert cors(post(running, submission(), headers={"origin": PAGE})) == named
        assert cors(preflight(running, OTHER)) == {"vary": "Origin"}
        # No browser's: it is answered, and told what a cache must know.
        assert cors(post(running, submission("from a server"))) == {"vary": "Origin"}


def test_the_setting_none_allows_no_origin(opened: Deployed) -> None:
    with functions_stack(opened, Dm3CorsOrigins="none") as running:
        assert cors(preflight(running, PAGE)) == {}
        answer = post(running, submission(), headers={"origin": PAGE})
        assert cors(answer) == {}
        assert said(answer)["result"] == "accepted"


@pytest.mark.parametrize("setting", ["*", PAGE, "none"])
def test_credentials_and_cookies_are_never_allowed(opened: Deployed, setting: str) -> None:
    with functions_stack(opened, Dm3CorsOrigins=setting) as running:
        for answer in (preflight(running, PAGE), post(running, submission(), headers={"origin": PAGE})):
            assert not {name.lower() for name in answer["headers"]} & {
                "access-control-allow-credentials", "set-cookie", "www-authenticate",
            }  # fmt: skip
            assert "cookies" not in answer


def test_an_invalid_origin_stops_the_start(opened: Deployed) -> None:
    with (
        functions_stack(opened, Dm3CorsOrigins="app.example") as running,
        pytest.raises(SettingsError, match="DM3_CORS"),
    ):
        running.start("Dm3Function")


# --- what is written of it -------------------------------------------------------------------------------------------


def test_each_call_of_a_batch_is_logged_and_counted_and_no_line_names_a_sender(
    running: FunctionsStack, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    notification = submission("and again")
    del notification["id"]
    batch = [submission(), forgery(), notification, 5, submission(method="dm3_x")]
    assert len(said(post(running, batch))) == 5
    output = capsys.readouterr().out
    lines = log_lines(output)
    assert [line["message"] for line in lines] == ["queued", "refused", "queued", "refused", "refused"]
    assert [line["mailbox"] for line in lines if line["message"] == "queued"] == [BOB, BOB]
    claims = [json.loads(body)["claim"]["id"] for body in running.deployed.bodies("ClaimsQueue")]
    assert [line["claim"] for line in lines if line["message"] == "queued"] == claims
    refused = [line for line in lines if line["message"] == "refused"]
    assert [line["reason"] for line in refused] == ["SenderSignatureInvalid", "RpcNotARequest", "RpcUnknownMethod"]
    assert ["correlation" in line for line in refused] == [True, False, False]
    assert {(line["level"], line["status"], line["request"]) for line in refused} == {("INFO", 200, REQUEST_ID)}
    assert metrics(output) == {
        "Answered": [1.0, 1.0],
        "Refused": [1.0, 1.0, 1.0],
        **{f"Refused{line['reason']}": [1.0] for line in refused},
    }
    assert ALICE not in output + caplog.text
    for secret in (*service_keys().as_json()["encryption"], service_keys().as_json()["signing"]):
        assert secret not in output + caplog.text


def test_the_worker_names_no_sender_either(running: FunctionsStack, capsys: pytest.CaptureFixture[str]) -> None:
    post(running, submission())
    running.invoke("WorkerFunction", sqs("ClaimsQueue", MADE_AT, *running.deployed.bodies("ClaimsQueue")))
    output = capsys.readouterr().out
    assert [line["message"] for line in log_lines(output)] == ["queued", "accepted"]
    assert ALICE not in output


# --- what may be missing ---------------------------------------------------------------------------------------------


def unavailable(running: FunctionsStack, reason: Reason, status: int = 200) -> str:
    """Submitting is answered -32002, and nothing is stored; what is said of it."""
    before = running.deployed.dump()
    answer = post(running, submission())
    assert refusal(answer, status) == (-32002, str(reason))
    assert running.deployed.dump() == before
    detail: str = said(answer, status)["error"]["data"]["detail"]
    return detail


@contextmanager
def denied(operation: str) -> Iterator[None]:
    """AWS refuses an operation meanwhile."""
    calls: Callable[..., object] = getattr(BaseClient, "_make_api_call")  # noqa: B009 - no stub knows it

    def call(client: BaseClient, name: str, request: Json) -> object:
        if name == operation:
            raise ClientError({"Error": {"Code": "AccessDenied"}, "ResponseMetadata": {"HTTPStatusCode": 403}}, name)  # type: ignore[typeddict-item]
        return calls(client, name, request)

    with patch.object(BaseClient, "_make_api_call", call):
        yield


def test_without_a_document_no_name_is_pinned(running: FunctionsStack) -> None:
    store = running.deployed
    store.clients.s3.delete_object(Bucket=store.bucket, Key=DeploymentSettings().dm3_registry)
    assert refusal(post(running, submission())) == (-32002, "ProfileUnknown")
    assert running.deployed.bodies("ClaimsQueue") == []


def test_a_403_of_s3_for_a_missing_document_means_the_same(running: FunctionsStack) -> None:
    with denied("GetObject"):
        answer = post(running, submission())
    assert refusal(answer) == (-32002, "ProfileUnknown")
    assert running.deployed.bodies("ClaimsQueue") == []


def test_a_registry_that_is_broken_says_where_and_a_repaired_one_is_seen_within_half_a_minute(
    running: FunctionsStack, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = time.time()
    monkeypatch.setattr(time, "time", lambda: clock)
    [good] = running.deployed.objects().values()
    put_registry(running.deployed, b"alice.eth: {network.dm3.profile: [")
    detail = unavailable(running, PROFILE_LOOKUP_FAILED)
    assert "the registry document" in detail
    assert "line 1" in detail
    assert ALICE not in detail
    put_registry(running.deployed, good)
    unavailable(running, PROFILE_LOOKUP_FAILED)
    clock += 31
    assert said(post(running, submission()))["result"] == "accepted"
    # And one that breaks while it is in use is told to us, not to senders.
    put_registry(running.deployed, b"{")
    clock += 31
    caplog.clear()
    assert said(post(running, submission("once more")))["result"] == "accepted"
    assert "the old one stays" in caplog.text


def test_nothing_is_accepted_before_there_are_keys(deployed: Deployed) -> None:
    with functions_stack(deployed) as running:
        assert unavailable(running, SIGNING_KEY_UNAVAILABLE, 503) == "this delivery service has no dm3 keys"


def test_keys_that_may_not_be_read_are_unavailable(running: FunctionsStack) -> None:
    with denied("GetSecretValue"):
        unavailable(running, SIGNING_KEY_UNAVAILABLE, 503)


def test_an_exception_in_one_call_is_an_internal_error_that_only_our_log_shows(
    running: FunctionsStack, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    store = running.deployed
    store.clients.sqs.delete_queue(QueueUrl=store.queues["ClaimsQueue"])
    properties = {"jsonrpc": "2.0", "method": "dm3_getDeliveryServiceProperties", "id": 2}
    answer = post(running, [submission(), properties])
    failed, told = said(answer)
    assert failed == {"jsonrpc": "2.0", "error": {"code": -32603, "message": "Internal error"}, "id": 1}
    assert told["result"] == {"messageTTL": 0, "sizeLimit": 4_000_000}
    output = capsys.readouterr().out
    assert "queue ClaimsQueue: it does not exist" in output
    assert metrics(output) == {"Answered": [1.0], "Refused": [1.0], "RefusedNotQueued": [1.0], "OwnFault": [1.0]}
    assert ALICE not in output + caplog.text


def test_the_status_is_503_if_all_calls_failed_by_our_fault(running: FunctionsStack) -> None:
    """Who sends a batch, of which something was done, reads on."""
    store = running.deployed
    store.clients.sqs.delete_queue(QueueUrl=store.queues["ClaimsQueue"])
    assert said(post(running, submission()), 503)["error"]["code"] == -32603
    assert [error["error"]["code"] for error in said(post(running, [submission(), submission()]), 503)] == [-32603] * 2


def test_the_status_is_200_if_a_call_succeeded(running: FunctionsStack) -> None:
    store = running.deployed
    store.clients.sqs.delete_queue(QueueUrl=store.queues["ClaimsQueue"])
    properties = {"jsonrpc": "2.0", "method": "dm3_getDeliveryServiceProperties", "id": 2}
    told, failed = said(post(running, [properties, submission()]))
    assert (told["id"], failed["error"]["code"]) == (2, -32603)


def test_an_exception_in_the_inbox_is_answered_503(running: FunctionsStack, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: object) -> None:
        raise RuntimeError("the roof of /var/task is leaking")

    monkeypatch.setattr(Dm3Inbox, "post", breaks)
    answer = post(running, submission())
    assert (answer["statusCode"], answer["headers"]["Retry-After"].isdigit()) == (503, True)
    assert "roof" not in json.dumps(answer)


# --- the roles -------------------------------------------------------------------------------------------------------


def called(running: FunctionsStack) -> set[str]:
    """Which calls of AWS the last invocation made; that its role allows them, `invoke` has checked."""
    return {call.action for call in running.calls}


def test_the_roles_allow_the_first_dm3_call_after_a_cold_start(running: FunctionsStack) -> None:
    post(running, submission())
    assert called(running) == {
        "secretsmanager:GetSecretValue", "dynamodb:Query", "s3:GetObject", "sqs:SendMessage",
    }  # fmt: skip
    running.invoke("WorkerFunction", sqs("ClaimsQueue", MADE_AT, *running.deployed.bodies("ClaimsQueue")))
    # The directory is asked whether anybody is told.
    assert called(running) == {
        "secretsmanager:GetSecretValue", "dynamodb:Query", "dynamodb:PutItem", "s3:PutObject",
    }  # fmt: skip


def test_a_large_dm3_message_is_in_the_bucket_until_the_worker_has_it(running: FunctionsStack) -> None:
    post(running, submission("x" * 1_000_000))
    assert "s3:PutObject" in called(running)
    [body] = running.deployed.bodies("ClaimsQueue")
    assert json.loads(body)["claim"]["envelope"] == ""
    running.invoke("WorkerFunction", sqs("ClaimsQueue", MADE_AT, body))
    assert {"s3:GetObject", "s3:DeleteObject"} <= {*called(running)}
    assert len(running.deployed.rows("PostTable")) == 1
    assert [name for name in running.deployed.objects() if name.startswith("claim/")] == []


def test_the_worker_may_look_up_a_sender_whom_the_inbox_could_not(opened: Deployed) -> None:
    open_mailbox = Dm3Mailbox(BOB, takes_unverified=True)
    open_service(opened, service_keys(), {BOB: profile_uri(user_keys(BOB))}, [open_mailbox])
    with functions_stack(opened) as running:
        assert said(post(running, submission()))["result"] == "accepted"
        for queue in ("ClaimsQueue", "LookUpsQueue"):
            running.invoke("WorkerFunction", sqs(queue, MADE_AT, *opened.bodies(queue)))
        assert "s3:GetObject" in called(running)
    [segment] = [data for name, data in opened.objects().items() if name.startswith("seg/")]
    assert json.loads(segment)["receipt"]["unverified"] == "ProfileUnknown"
