"""The interception of all AWS calls, of all clients, including the retries of the SDK."""

import json
import os
import socket
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import botocore.session
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.httpsession import URLLib3Session
from tests.faults.places import places


@dataclass(frozen=True)
class Call:
    """The `number`-th call of a run, from 1. `attempt`: of the SDK, from 1."""

    number: int
    service: str
    operation: str
    attempt: int
    url: str

    def __str__(self) -> str:
        return f"{self.service} {self.operation}"


class Left(NamedTuple):
    """The state if a process ends now. `outside`: its log, and what it has sent to anyone but AWS."""

    stored: str
    outside: str


class CallRecord(NamedTuple):
    """The record of a call: the places of our code on its stack, and the state before and after."""

    call: str
    places: list[str]
    before: Left
    after: Left


class Look(Protocol):
    """Looks at the state: before the first call, and after a call of a service."""

    def __call__(self, service: str = "") -> Left: ...


Send = Callable[[], AWSResponse]
Fault = Callable[[Call, Send], AWSResponse]
"""Decides the result of a call. `send`: lets it take effect."""


class Tap:
    """Intercepts the calls of a session's clients that are created after `watch`. It connects when it is first used.

    `calls`: the number of calls since `begin`. `records`: of the calls, if they are recorded. `failed`: the calls of a
    run, in this process, whose answer was not that of AWS.
    """

    def __init__(self) -> None:
        self._received = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - as long as this is
        self.failed: list[str] = []
        # As in botocore: otherwise the kernel delays the second packet of a request by 40 ms.
        self._http = URLLib3Session(socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)])
        self.end()

    def watch(self, session: botocore.session.Session) -> None:
        """Intercept the calls of clients that this session creates from now on."""
        session.register("before-send", self._passes)
        # No waiting: delays and long polls are skipped.
        session.register("provide-client-params.sqs", _without_waiting)

    def close(self) -> None:
        """Close the connections; new ones are opened when they are needed."""
        self._http.close()

    def received(self) -> list[tuple[str, str]]:
        """The queue and the receipt handle of each message received since the last call, also by forked processes."""
        self._received.seek(0)
        said = [json.loads(line) for line in self._received.read().splitlines()]
        self._received.truncate(0)
        return [(url, receipt) for url, receipt in said]

    def begin(self, fault: Fault, look: Look | None = None) -> None:
        """Let calls get `fault` from now on."""
        self._fault, self._look = fault, look
        self.calls = self._attempt = 0
        self.records: list[CallRecord] = []
        self._last = b""

    def end(self) -> None:
        """Let calls get no faults from now on."""
        self.begin(lambda _call, send: send())

    def _passes(self, request: AWSPreparedRequest, event_name: str, **_: object) -> AWSResponse:
        _, service, operation = event_name.split(".")
        invocation = request.headers["amz-sdk-invocation-id"]
        if invocation != self._last:
            self._last, self._attempt = invocation, 0
            self.calls += 1
        self._attempt += 1
        call = Call(self.calls, service, operation, self._attempt, request.url)

        def send() -> AWSResponse:
            answer = self._http.send(request)
            if operation == "ReceiveMessage":
                self._note(json.loads(request.body)["QueueUrl"], json.loads(answer.content).get("Messages", []))
            return answer

        if self._look is None or self._attempt > 1:
            return self._answer(call, send)
        # Only calls change what is stored, but others may have been sent something since the last one.
        before = self._look("nothing" if self.records else "")
        answer = self._answer(call, send)
        self.records.append(CallRecord(str(call), list(map(str, places())), before, self._look(service)))
        return answer

    def _answer(self, call: Call, send: Send) -> AWSResponse:
        sent: list[AWSResponse] = []

        def send_and_keep() -> AWSResponse:
            sent.append(send())
            return sent[-1]

        answer = None
        try:
            answer = self._fault(call, send_and_keep)
        finally:
            if answer is None or answer not in sent:
                self.failed.append(str(call))
        return answer

    def _note(self, url: str, messages: list[dict[str, str]]) -> None:
        self._received.seek(0, os.SEEK_END)
        for message in messages:
            self._received.write(json.dumps([url, message["ReceiptHandle"]]).encode() + b"\n")


def _without_waiting(params: dict[str, Any], **_: object) -> dict[str, Any]:
    shorter = {"DelaySeconds": 0, "WaitTimeSeconds": 0}
    return params | {name: seconds for name, seconds in shorter.items() if name in params}
