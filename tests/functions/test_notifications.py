"""functions/mailbox, worker and courier: a target is verified, and told over real HTTPS that something waits."""

import json
import socket
import time
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from typing import Any

import boto3
import pytest
import standardwebhooks.webhooks
from standardwebhooks import Webhook, WebhookVerificationError
from tests.fakes.post_offices import FakePostOffices
from tests.fakes.servers import LoopbackServer, running_server
from tests.functions.logs import log_lines, metrics
from tests.functions.samples import BUFFER, MADE_AT, RECEIVER, SOCKET, SOCKET_HOST, events, published_key, sqs
from tests.functions.stack import MOTO_REGION, FunctionsStack, Json, functions_stack
from tests.functions.test_mailbox import ask, said, sign_in

from postroom.local.authority import Authority
from postroom.local.zones import ZoneTree
from postroom.net.https import MAX_RESPONSE_BYTES
from postroom.outbound.notification_messages import WatchReplaced
from postroom.protocols.dcp.signed_message import read_signed_message
from postroom.storage.directory.watching_sessions import WatchingSession

AT = f"/mailboxes/{RECEIVER}/notifications"
HOOK = "hook.example"


class Hook(LoopbackServer):
    """A receiver of webhooks. `got`: (path, headers, body) of each. `answers`: the statuses to come, then 204.

    `body`: of its answers; `location`: where a redirect leads; `slowly`: seconds between the bytes of an answer.
    """

    def __init__(self, authority: Authority, port: int) -> None:
        super().__init__(("127.0.0.2", port), _Handler)
        self.got: list[tuple[str, dict[str, str], bytes]] = []
        self.answers: list[int] = []
        self.body, self.location, self.slowly = b"", "", 0.0
        context = authority.server_context(HOOK, SOCKET_HOST)
        context.set_alpn_protocols(["http/1.1"])
        self.socket = context.wrap_socket(self.socket, server_side=True)


class _Handler(BaseHTTPRequestHandler):
    server: Hook

    def do_DELETE(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.got.append((self.path, headers, self.rfile.read(int(self.headers.get("Content-Length", 0)))))
        self.send_response(self.server.answers.pop(0) if self.server.answers else 204)
        if self.server.location:
            self.send_header("Location", self.server.location)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        try:
            for byte in self.server.body if self.server.slowly else b"":
                self.wfile.write(bytes([byte]))
                time.sleep(self.server.slowly)
            self.wfile.write(b"" if self.server.slowly else self.server.body)
        except OSError:  # who asked has heard enough
            pass

    def do_GET(self) -> None:
        raise AssertionError("nobody follows a redirect")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        pass


@pytest.fixture
def hook(authority: Authority, zones: ZoneTree, post_offices: FakePostOffices) -> Iterator[Hook]:
    """At the port of all other hosts here, at an address of its own."""
    zones.put(HOOK, "@ IN A 127.0.0.2\n")
    zones.put(SOCKET_HOST, "@ IN A 127.0.0.2\n")
    with running_server(Hook(authority, post_offices.server_port)) as server:
        yield server


@pytest.fixture
def token(running: FunctionsStack) -> str:
    running.deployed.storage.mailboxes.set_keys(RECEIVER, [b64encode(published_key().public.spki()).decode()])
    running.deployed.clients.s3.put_object(Bucket=running.deployed.bucket, Key="registry/names.yaml", Body=b"{}")
    return sign_in(running)


def add(running: FunctionsStack, token: str, to: str = f"https://{HOOK}/mail?for=us", kind: str = "webhook") -> Json:
    made: Json = said(ask(running, "POST", AT, {"kind": kind, "to": to}, token=token))
    return made


def act(running: FunctionsStack, token: str, target: Json, what: str, body: object = None) -> Json:
    done: Json = said(ask(running, "POST", f"{AT}/{target['id']}/{what}", body, token=token))
    return done


def courier(running: FunctionsStack) -> None:
    """The courier's turn, with all that was queued."""
    carried = running.deployed.bodies("CourierQueue")
    running.deployed.empty("CourierQueue")
    for each in carried:
        assert running.invoke("CourierFunction", sqs("CourierQueue", MADE_AT, each)) == {"batchItemFailures": []}


def verified(running: FunctionsStack, token: str, hook: Hook) -> Json:
    """A target that is, and has told its receiver its code."""
    made = add(running, token)
    courier(running)
    code = json.loads(hook.got[-1][2])["data"]["code"]
    assert act(running, token, made, "verify", {"code": code})["state"] == "active"
    hook.got.clear()
    return made


def shown(running: FunctionsStack, token: str) -> Json:
    [target] = said(ask(running, "GET", AT, token=token))["targets"]
    return dict(target)


def file(running: FunctionsStack) -> None:
    """Mail comes in, and is filed."""
    event = events()["worker-claims.json"]
    event["Records"] = event["Records"][:1]
    assert running.invoke("WorkerFunction", event) == {"batchItemFailures": []}


@pytest.fixture(autouse=True)
def library_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library's clock is that of the samples, too."""

    class Then(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime.fromtimestamp(time.time(), tz or UTC)

    monkeypatch.setattr(standardwebhooks.webhooks, "datetime", Then)


def test_the_courier_reports_a_wrong_webhook_secret_too(
    running: FunctionsStack, token: str, capsys: pytest.CaptureFixture[str]
) -> None:
    add(running, token)
    store = running.deployed
    store.clients.secrets.put_secret_value(SecretId=store.secrets["WebhookKeys"], SecretString="{}")
    capsys.readouterr()
    courier(running)
    output = capsys.readouterr().out
    assert metrics(output)["OwnFault"] == [1]
    assert [line["level"] for line in log_lines(output) if "WebhookKeys" in line["message"]] == ["ERROR"]


def test_a_target_is_verified_and_notified_by_calls_that_the_roles_allow(
    running: FunctionsStack, hook: Hook, token: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = add(running, token)
    courier(running)
    [(path, headers, body)] = hook.got
    challenge = Webhook(made["secret"]).verify(body, headers)
    assert (path, headers["content-type"]) == ("/mail?for=us", "application/json")
    assert challenge["type"] == "postroom.verify"
    assert challenge["data"]["target"] == made["id"]
    act(running, token, made, "verify", {"code": challenge["data"]["code"]})
    file(running)
    capsys.readouterr()
    courier(running)
    output = capsys.readouterr().out
    courier(running)
    output += capsys.readouterr().out
    waiting = Webhook(made["secret"]).verify(hook.got[1][2], hook.got[1][1])
    assert (waiting["type"], waiting["data"]) == ("postroom.waiting", {"mailbox": RECEIVER})
    assert len(hook.got) == 2
    told = metrics(output)
    assert (told["NotifySpread"], told["NotifyDelivered"]) == ([1.0], [1.0])
    assert {"spread", "delivered"} <= {line["message"] for line in log_lines(output)}
    assert made["secret"] not in output
    assert challenge["data"]["code"] not in output
    assert ask(running, "DELETE", f"{AT}/{made['id']}", token=token)["statusCode"] == 200


def test_after_a_rotation_either_secret_verifies_a_webhook(running: FunctionsStack, hook: Hook, token: str) -> None:
    made = verified(running, token, hook)
    rotated = act(running, token, made, "rotate")
    file(running)
    courier(running)
    courier(running)
    [(_, headers, body)] = hook.got
    for secret in (made["secret"], rotated["secret"]):
        assert Webhook(secret).verify(body, headers)["type"] == "postroom.waiting"
    with pytest.raises(WebhookVerificationError):
        Webhook("whsec_" + b64encode(b"x" * 32).decode()).verify(body, headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(made["secret"]).verify(body + b" ", headers)


@pytest.mark.parametrize(
    ("trouble", "detail"),
    [
        ({"answers": [500]}, "it answered 500"),
        ({"answers": [404]}, "it answered 404"),
        ({"answers": [302], "location": f"https://nlweb.{BUFFER}/inbox"}, "it answered 302"),
        ({"answers": [307], "location": "https://169.254.169.254/"}, "it answered 307"),
        ({"answers": [200], "body": b"x" * (MAX_RESPONSE_BYTES + 1)}, "answered with more than"),
        ({"answers": [200], "body": b"x" * 1000, "slowly": 0.2}, "did not answer in time"),
    ],
    ids=["500", "404", "302", "307", "giant", "slow"],
)
def test_any_failed_response_is_retried_and_no_redirect_is_followed(
    running: FunctionsStack, hook: Hook, token: str, trouble: dict[str, Any], detail: str, post_offices: FakePostOffices
) -> None:
    verified(running, token, hook)
    file(running)
    courier(running)
    for name, value in trouble.items():
        setattr(hook, name, value)
    with functions_stack(running.deployed, **running.parameters) as hasty:
        if hook.slowly:
            hasty.settings["OUTBOUND_TOTAL_SECONDS"] = "1.0"
        while not hook.got:
            courier(hasty)
    assert detail in shown(running, token)["detail"]
    hook.body, hook.location, hook.slowly = b"", "", 0.0
    courier(running)
    first, second = hook.got
    assert (first[0], first[2], first[1]["webhook-id"]) == (second[0], second[2], second[1]["webhook-id"])
    assert "detail" not in shown(running, token)
    assert post_offices.posted == []


def test_a_target_that_answers_410_is_notified_no_more(running: FunctionsStack, hook: Hook, token: str) -> None:
    verified(running, token, hook)
    file(running)
    courier(running)
    hook.answers = [410]
    courier(running)
    assert (shown(running, token)["state"], running.deployed.bodies("CourierQueue")) == ("paused", [])


def test_nothing_is_sent_to_a_private_network_whatever_the_hosts_name(
    running: FunctionsStack, hook: Hook, token: str
) -> None:
    add(running, token)
    with functions_stack(running.deployed, **{**running.parameters, "OutboundAllowPrivate": "false"}) as careful:
        courier(careful)
    assert hook.got == []
    assert shown(running, token)["detail"] == f"{HOOK} has no public address"


def test_the_address_of_a_host_is_checked_at_each_attempt(
    running: FunctionsStack, hook: Hook, token: str, zones: ZoneTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who was verified at a public address and then names a private one is not followed there."""
    verified(running, token, hook)
    file(running)
    connected: list[str] = []
    monkeypatch.setattr(socket, "create_connection", lambda address, *_, **__: connected.append(address[0]))
    with functions_stack(running.deployed, **{**running.parameters, "OutboundAllowPrivate": "false"}) as careful:
        courier(careful)
        for private in ("10.0.0.1", "169.254.169.254", "127.0.0.2"):
            zones.put(HOOK, f"@ IN A {private}\n")
            careful._modules.clear()
            courier(careful)
    assert hook.got == []
    assert not {"10.0.0.1", "169.254.169.254", "127.0.0.2"} & set(connected)
    assert shown(running, token)["detail"] == f"{HOOK} has no public address"


# --- topics -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def topic(running: FunctionsStack) -> tuple[str, str]:
    """A topic that the operator allows, and the URL of a queue that hears of it."""
    sns, sqs_client = boto3.client("sns"), running.deployed.clients.sqs
    arn = sns.create_topic(Name="mail-ours")["TopicArn"]
    url = sqs_client.create_queue(QueueName="heard")["QueueUrl"]
    queue_arn = sqs_client.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    sns.subscribe(TopicArn=arn, Protocol="sqs", Endpoint=queue_arn)
    running.parameters["NotifyTopicArn"] = arn.replace("ours", "*")
    running._modules.clear()
    return arn, url


def test_a_topic_is_verified_and_notified_the_same_way(
    running: FunctionsStack, topic: tuple[str, str], token: str
) -> None:
    arn, url = topic

    def heard() -> list[Any]:
        messages = running.deployed.clients.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get(
            "Messages", []
        )
        return [json.loads(json.loads(message["Body"])["Message"]) for message in messages]

    made = add(running, token, arn, "sns")
    courier(running)
    [challenge] = heard()
    act(running, token, made, "verify", {"code": challenge["data"]["code"]})
    file(running)
    courier(running)
    courier(running)
    [waiting] = heard()
    assert (challenge["type"], waiting["type"]) == ("postroom.verify", "postroom.waiting")
    assert waiting["data"] == {"mailbox": RECEIVER}


def test_a_topic_that_is_not_there_any_more_is_tried_again(
    running: FunctionsStack, topic: tuple[str, str], token: str
) -> None:
    made = add(running, token, topic[0], "sns")
    boto3.client("sns").delete_topic(TopicArn=topic[0])
    courier(running)
    assert shown(running, token)["detail"] == "SNS answered NotFound"
    assert len(running.deployed.bodies("CourierQueue")) == 1
    assert made["state"] == "unverified"


def test_without_allowed_topics_none_is_accepted_and_without_the_right_none_is_notified(
    running: FunctionsStack, token: str
) -> None:
    answer = ask(running, "POST", AT, {"kind": "sns", "to": "arn:aws:sns:eu-west-1:123456789012:x"}, token=token)
    assert json.loads(answer["body"])["reason"] == "NotificationNotOffered"


def test_a_page_of_the_web_may_remove_a_target(running: FunctionsStack) -> None:
    answer = ask(running, "OPTIONS", AT, headers={"origin": "https://app.example"})
    assert "DELETE" in answer["headers"]["Access-Control-Allow-Methods"]


# --- sessions of DCP that wait for mail -------------------------------------------------------------------------------


def watch(running: FunctionsStack) -> str:
    """A session waits for mail of RECEIVER; returns the id of its request."""
    identity = running.deployed.storage.dcp_identities.newest_first()[0].key.address
    session = WatchingSession(SOCKET, "X-Y", "request 1", identity)
    running.deployed.storage.targets.watch(RECEIVER, session, random_id=f"{1:032x}", now_ms=MADE_AT * 1000)
    return session.request


def test_a_session_that_waits_is_told_by_calls_that_the_role_allows_and_that_are_signed(
    running: FunctionsStack, hook: Hook, token: str
) -> None:
    request = watch(running)
    hook.answers = [200]
    file(running)
    courier(running)
    courier(running)
    [(path, headers, body)] = hook.got
    assert path == "/dcp/@connections/L0SM9cOFvHcCIhw%3D"
    assert headers["host"].partition(":")[0] == SOCKET_HOST
    assert headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=testing/")
    assert f"/{MOTO_REGION}/execute-api/aws4_request" in headers["authorization"]
    assert read_signed_message(body).body["id"] == request
    assert running.deployed.storage.targets.of(RECEIVER) == []


@pytest.mark.parametrize(("status", "left"), [(410, 0), (403, 1), (500, 1)])
def test_a_session_waits_on_unless_its_websocket_is_gone(
    running: FunctionsStack, hook: Hook, token: str, status: int, left: int
) -> None:
    watch(running)
    hook.answers = [status]
    file(running)
    courier(running)
    courier(running)
    assert len(running.deployed.storage.targets.of(RECEIVER)) == left
    assert len(running.deployed.bodies("CourierQueue")) == left


@pytest.mark.parametrize(
    ("status", "event", "left"), [(200, "delivered", 0), (410, "nobody to tell", 0), (500, "waiting", 1)]
)
def test_a_session_whose_place_another_one_took_is_told_so(
    running: FunctionsStack, hook: Hook, token: str, status: int, event: str, left: int,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    request = watch(running)
    [target] = running.deployed.storage.targets.of(RECEIVER)
    replaced = WatchReplaced(RECEIVER, target.to, MADE_AT * 1000).encode()
    hook.answers = [status]
    capsys.readouterr()
    assert running.invoke("CourierFunction", sqs("CourierQueue", MADE_AT, replaced)) == {"batchItemFailures": []}
    [(_, _, body)] = hook.got
    response = read_signed_message(body).body
    assert (response["id"], response["success"], response["payload"]["code"]) == (request, False, "WatchReplaced")
    assert len(running.deployed.bodies("CourierQueue")) == left
    assert event in [line["message"] for line in log_lines(capsys.readouterr().out)]


@pytest.mark.parametrize(("status", "says"), [(403, "does not allow execute-api:ManageConnections"), (429, "throttl")])
def test_that_api_gateway_refuses_the_courier_is_reported_as_a_fault_of_our_own(
    running: FunctionsStack, hook: Hook, token: str, status: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    watch(running)
    hook.answers = [status]
    file(running)
    courier(running)
    capsys.readouterr()
    courier(running)
    lines = [line["message"] for line in log_lines(capsys.readouterr().out)]
    assert any(line.startswith(f"WebSocket API wss://{SOCKET_HOST}/dcp: ") and says in line for line in lines)
