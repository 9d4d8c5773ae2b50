"""The kinds of faults at an AWS call. Each is created with the number of the call."""

import io
import json
import os
from collections.abc import Callable

from botocore.awsrequest import AWSResponse, HeadersDict
from botocore.exceptions import ConnectionClosedError, ReadTimeoutError
from tests.faults import fork
from tests.faults.clock import CLOCK
from tests.faults.tap import Call, Fault, Send
from urllib3.response import HTTPResponse

HOUR = 3600

Strike = Callable[[Call, Send], AWSResponse]


def at(number: int, strike: Strike) -> Fault:
    """The fault `strike` at every attempt of call `number`, and no other call."""
    return lambda call, send: strike(call, send) if call.number == number else send()


def taking(seconds: float, fault: Fault) -> Fault:
    """Every call takes `seconds` seconds, and gets `fault`."""

    def slowly(call: Call, send: Send) -> AWSResponse:
        CLOCK.sleep(seconds)
        return fault(call, send)

    return slowly


def untouched(_call: Call, send: Send) -> AWSResponse:
    return send()


def die_before(_call: Call, _send: Send) -> AWSResponse:
    os._exit(1)


def die_after(_call: Call, send: Send) -> AWSResponse:
    send()
    os._exit(1)


def throttled(call: Call, _send: Send) -> AWSResponse:
    """Every attempt is throttled, with the error of its service."""
    if call.service == "s3":
        return _answer(call, 503, b"<Error><Code>SlowDown</Code><Message>Reduce your rate</Message></Error>")
    code = {"sqs": "RequestThrottled", "lambda": "TooManyRequestsException"}.get(call.service, "ThrottlingException")
    return _answer(call, 429 if call.service == "lambda" else 400, json.dumps({"__type": code}).encode(), code)


def denied(call: Call, _send: Send) -> AWSResponse:
    """Every attempt is denied: an operator removes the function's permissions, and restores them later."""
    if call.service == "s3":
        return _answer(call, 403, b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>")
    code = "AccessDenied" if call.service == "sqs" else "AccessDeniedException"
    return _answer(call, 403 if call.service in ("sqs", "lambda") else 400, json.dumps({"__type": code}).encode(), code)


def reset(call: Call, _send: Send) -> AWSResponse:
    """Every attempt fails without any effect."""
    raise ConnectionClosedError(endpoint_url=call.url)


def answer_lost(call: Call, send: Send) -> AWSResponse:
    """The first attempt takes effect, but its answer is lost; the SDK's second attempt meets that effect."""
    answer = send()
    if call.attempt == 1:
        raise ReadTimeoutError(endpoint_url=call.url)
    return answer


def answers_lost(call: Call, send: Send) -> AWSResponse:
    """Every attempt takes effect, but its answer is lost."""
    send()
    raise ReadTimeoutError(endpoint_url=call.url)


def entry_refused(call: Call, send: Send) -> AWSResponse:
    """PutEvents, the only batch call: it answers 200, but the entry has failed."""
    if call.operation != "PutEvents":
        return send()
    said = {"FailedEntryCount": 1, "Entries": [{"ErrorCode": "InternalFailure", "ErrorMessage": "not taken"}]}
    return _answer(call, 200, json.dumps(said).encode())


def an_hour_on(_call: Call, send: Send) -> AWSResponse:
    CLOCK.ahead += HOUR
    return send()


def an_hour_back(_call: Call, send: Send) -> AWSResponse:
    CLOCK.ahead -= HOUR
    return send()


def overtaken(_call: Call, send: Send) -> AWSResponse:
    """The visibility time-out passes: another worker does the same work completely before this call."""
    fork.pause()
    return send()


ERRORS: tuple[Strike, ...] = (throttled, answer_lost, answers_lost)
CLOCKS: tuple[Strike, ...] = (an_hour_on, an_hour_back)


def _answer(call: Call, status: int, body: bytes, code: str = "") -> AWSResponse:
    headers = HeadersDict({"x-amzn-errortype": code} if code else {})
    return AWSResponse(call.url, status, headers, HTTPResponse(io.BytesIO(body), preload_content=False))
