import io
import json
from dataclasses import dataclass, field
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse, HTTPHeaders
from botocore.exceptions import ReadTimeoutError
from botocore.response import StreamingBody
from botocore.stub import Stubber
from tests.aws import Deployed
from tests.fakes.clock import FakeClock
from urllib3.response import HTTPResponse

from postroom.core.errors import NotNowError, TheirError
from postroom.core.own_faults import OwnFaults
from postroom.core.reason import Reason
from postroom.core.reasons import NOT_QUEUED, STORE_UNAVAILABLE
from postroom.http.response import MAX_ANSWER_BYTES
from postroom.names.registry import PROFILE_KEY, RegistryText
from postroom.protocols.nlweb.reasons import HANDLER_FAILED, UNEXPECTED_SUBJECT
from postroom.runtime import function_clients
from postroom.runtime.adapters import AwsForwarding, LambdaHandlers, SharedTexts
from postroom.storage.aws.queue import Queue
from postroom.storage.limits.name_texts import KeptText

SESSION = boto3.Session("testing", "testing", region_name="eu-west-1")
BUS = "arn:aws:events:eu-west-1:123456789012:event-bus/orders"
MESSAGE: dict[str, object] = {"id": "1", "envelope": '{"Body":"\ufffe"}'}


def test_a_queue_is_found_by_its_arn_and_gets_ascii(deployed: Deployed) -> None:
    forwarding = AwsForwarding(deployed.clients.sqs, SESSION.client("events"), OwnFaults())
    forwarding.forward("arn:aws:sqs:eu-west-1:123456789012:SuspectsQueue", MESSAGE)
    [body] = deployed.bodies("SuspectsQueue")
    assert body.isascii()
    assert json.loads(body) == MESSAGE


@pytest.mark.parametrize("failed", [0, 1])
def test_an_event_bus_accepts_a_message_or_the_error_is_not_now(deployed: Deployed, failed: int) -> None:
    events = SESSION.client("events")
    entry = {"EventBusName": BUS, "Source": "postroom", "DetailType": "message", "Detail": json.dumps(MESSAGE)}
    with Stubber(events) as stub:
        stub.add_response("put_events", {"FailedEntryCount": failed, "Entries": []}, {"Entries": [entry]})
        forwarding = AwsForwarding(deployed.clients.sqs, events, OwnFaults())
        if failed:
            with pytest.raises(NotNowError):
                forwarding.forward(BUS, MESSAGE)
        else:
            forwarding.forward(BUS, MESSAGE)
        stub.assert_no_pending_responses()


def answer(payload: bytes, **more: Any) -> dict[str, Any]:
    return {"StatusCode": 200, "Payload": StreamingBody(io.BytesIO(payload), len(payload)), **more}


def test_a_function_gets_the_body_and_gives_the_reply() -> None:
    functions = SESSION.client("lambda")
    with Stubber(functions) as stub:
        stub.add_response("invoke", answer(b'{"y":2}'), {"FunctionName": "ask", "Payload": b'{"x": 1}'})
        assert LambdaHandlers(functions).call("lambda:ask", {"x": 1}) == {"y": 2}


def test_a_reply_that_lambda_could_not_return_is_a_failure_of_its_handler() -> None:
    functions = SESSION.client("lambda")
    longest = '"' + "x" * (MAX_ANSWER_BYTES - 2) + '"'
    with Stubber(functions) as stub:
        for reply in (longest, longest + " "):
            stub.add_response("invoke", answer(reply.encode()))
        assert LambdaHandlers(functions).call("lambda:ask", {}) == json.loads(longest)
        with pytest.raises(NotNowError, match=f"HandlerFailed.*at most {MAX_ANSWER_BYTES}"):
            LambdaHandlers(functions).call("lambda:ask", {})


def test_a_function_that_failed_or_is_throttled_is_not_now() -> None:
    functions = SESSION.client("lambda")
    with Stubber(functions) as stub:
        stub.add_response("invoke", answer(b"{}", FunctionError="Unhandled"))
        stub.add_client_error("invoke", "TooManyRequestsException", http_status_code=429)
        for _ in range(2):
            with pytest.raises(NotNowError) as caught:
                LambdaHandlers(functions).call("lambda:ask", {})
            assert caught.value.reason is HANDLER_FAILED


def test_an_unknown_handler_is_an_unexpected_subject() -> None:
    with pytest.raises(TheirError) as caught:
        LambdaHandlers(SESSION.client("lambda")).call("ask", {})
    assert caught.value.reason is UNEXPECTED_SUBJECT


def test_a_text_of_another_instance_may_be_kept_for_what_is_left_of_its_time(deployed: Deployed) -> None:
    clock, texts = FakeClock(), deployed.storage.name_texts
    shared = SharedTexts(texts, clock)
    assert shared.find("carol.eth", PROFILE_KEY) is None
    texts.keep("carol.eth", PROFILE_KEY, KeptText("data:,x", int(clock.now) + 200, '{"registry": "ens"}'))
    for passed, left in ((0, 200), (80, 120), (119, 1)):
        clock.now += passed
        assert shared.find("carol.eth", PROFILE_KEY) == RegistryText("data:,x", left, {"registry": "ens"})
    clock.now += 1
    assert shared.find("carol.eth", PROFILE_KEY) is None


@dataclass
class Network:
    """Carries what clients of AWS send: `silent` requests get no answer in time, then each is answered `body`."""

    body: bytes
    silent: int
    sent: int = 0
    clients: list[Any] = field(default_factory=list)

    def client(self, service: str, **options: Any) -> Any:
        made = SESSION.client(service, **options)  # type: ignore[call-overload]
        made.meta.events.register_first(f"before-send.{service}", self.carry)
        self.clients.append(made)
        return made

    def carry(self, request: AWSPreparedRequest, **_: object) -> AWSResponse:
        self.sent += 1
        if self.sent <= self.silent:
            raise ReadTimeoutError(endpoint_url=request.url)
        return AWSResponse(request.url, 200, HTTPHeaders(), HTTPResponse(io.BytesIO(self.body), preload_content=False))

    @property
    def timeouts(self) -> tuple[float, float]:
        """Seconds to connect and to read, of the client made last."""
        config = self.clients[-1].meta.config
        return config.connect_timeout, config.read_timeout


@pytest.mark.parametrize("in_time", [True, False])
def test_a_handler_that_did_not_answer_in_time_is_not_executed_again(
    monkeypatch: pytest.MonkeyPatch, in_time: bool
) -> None:
    network = Network(b'{"y":2}', silent=0 if in_time else 1)
    monkeypatch.setattr(boto3, "client", network.client)
    handlers = LambdaHandlers(function_clients.late_client("lambda", OwnFaults(), function_clients.AWS_ONCE))
    if in_time:
        assert handlers.call("lambda:ask", {}) == {"y": 2}
    else:
        with pytest.raises(NotNowError) as caught:
            handlers.call("lambda:ask", {})
        assert caught.value.reason is HANDLER_FAILED
    assert network.sent == 1
    assert network.timeouts == (function_clients.AWS_CONNECT_SECONDS, function_clients.HANDLER_READ_SECONDS)


@pytest.mark.parametrize("reason", [STORE_UNAVAILABLE, NOT_QUEUED])
@pytest.mark.parametrize("silent", [function_clients.AWS_TRIES - 1, function_clients.AWS_TRIES])
def test_a_call_of_aws_is_attempted_a_limited_number_of_times(
    monkeypatch: pytest.MonkeyPatch, silent: int, reason: Reason
) -> None:
    network = Network(b"{}", silent)
    monkeypatch.setattr(boto3, "client", network.client)
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _: None)
    sqs = function_clients.FunctionClients(OwnFaults(), "sqs")("sqs")
    queue = Queue(sqs, "https://sqs.eu-west-1.amazonaws.com/123456789012/claims")
    if silent < function_clients.AWS_TRIES:
        queue.send("{}", reason=reason)
    else:
        with pytest.raises(NotNowError) as caught:
            queue.send("{}", reason=reason)
        assert caught.value.reason is reason
    assert network.sent == function_clients.AWS_TRIES
    assert network.timeouts == (function_clients.AWS_CONNECT_SECONDS, function_clients.AWS_READ_SECONDS)
