"""Injected AWS faults in a process of a soak: below botocore, so that its retries meet them like real ones."""

import json
import threading
from collections.abc import Callable
from enum import StrEnum
from io import BytesIO
from random import Random
from typing import Final

from botocore.awsrequest import AWSPreparedRequest, AWSResponse, HTTPHeaders
from botocore.exceptions import ReadTimeoutError
from botocore.httpsession import URLLib3Session
from urllib3.response import HTTPResponse


class Fault(StrEnum):
    """A kind of fault."""

    THROTTLED = "throttled"
    UNAVAILABLE = "unavailable (503)"
    ANSWER_LOST = "time-out after success"


ONE_CALL_IN: Final = 250
STUBBORN: Final = 0.2
"""The share of faults in all of botocore's attempts of a call, so that the call fails."""

_Send = Callable[[URLLib3Session, AWSPreparedRequest], AWSResponse]


class Faults:
    """Decides which calls of this process meet a fault. `note`: counts each. Thread-safe."""

    def __init__(self, rng: Random, note: Callable[[Fault], None]) -> None:
        self._rng = rng
        self._note = note
        self._lock = threading.Lock()
        self._stubborn: dict[object, Fault] = {}

    def install(self) -> None:
        """Intercept every AWS call of this process from now on."""
        send: _Send = URLLib3Session.send

        def faulty(session: URLLib3Session, request: AWSPreparedRequest) -> AWSResponse:
            fault = self._choose(request.headers.get("amz-sdk-invocation-id"))
            if fault is None:
                return send(session, request)
            self._note(fault)
            if fault is Fault.ANSWER_LOST:
                send(session, request)
                raise ReadTimeoutError(endpoint_url=request.url)
            return _refusal(fault, request)

        URLLib3Session.send = faulty

    def _choose(self, call: object) -> Fault | None:
        """The fault of an attempt, or None. `call`: the same for all attempts of a call."""
        with self._lock:
            if call in self._stubborn:
                return self._stubborn[call]
            if self._rng.random() * ONE_CALL_IN >= 1:
                return None
            fault = self._rng.choice(list(Fault))
            if self._rng.random() < STUBBORN:
                self._stubborn[call] = fault
            return fault


def _refusal(fault: Fault, request: AWSPreparedRequest) -> AWSResponse:
    """The error response of DynamoDB, SQS and Secrets Manager (JSON) or S3 (XML), without any effect."""
    throttled = fault is Fault.THROTTLED
    if "X-Amz-Target" in request.headers:
        status, code = (400, "ThrottlingException") if throttled else (503, "ServiceUnavailable")
        body = json.dumps({"__type": code, "message": code}).encode()
    else:
        status, code = 503, "SlowDown" if throttled else "ServiceUnavailable"
        body = f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
    return AWSResponse(request.url, status, HTTPHeaders(), HTTPResponse(BytesIO(body), preload_content=False))
