"""Where every call of AWS passes on its way out, whichever client makes it, tries of the SDK's own included."""

import json
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import botocore.session
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.httpsession import URLLib3Session
from tests.faults.places import places


@dataclass(frozen=True)
class Call:
    """The `number`-th call of a run, from 1; `attempt`: which try of the SDK, from 1."""

    number: int
    service: str
    operation: str
    attempt: int
    url: str

    def __str__(self) -> str:
        return f"{self.service} {self.operation}"


class Told(NamedTuple):
    """What is told of a call: which, and the places of our code that it came through."""

    call: str
    places: list[str]


Send = Callable[[], AWSResponse]
Fault = Callable[[Call, Send], AWSResponse]
"""What becomes of a call; `send` lets it take effect."""


class Tap:
    """Taps the clients of a session that are made after `watch`. It connects nothing before it is used."""

    def __init__(self) -> None:
        self._fault: Fault = lambda _call, send: send()
        # As botocore makes its own: else the kernel holds back the second packet of a request for 40 ms.
        self._http = URLLib3Session(socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)])
        self._told = -1
        self._last = b""
        self._number = self._attempt = 0

    def watch(self, session: botocore.session.Session) -> None:
        """Tap what this session makes from now on."""
        session.register("before-send", self._passes)
        # Time passes at once: nobody waits for a delay or a long poll, and what is held back is so for a second.
        session.register("provide-client-params.sqs", _without_waiting)

    def begin(self, fault: Fault, told: int) -> None:
        """From now on calls meet `fault`, and are told of to a file descriptor, a line of JSON (`Told`) each."""
        self._fault = fault
        self._told = told

    def _passes(self, request: AWSPreparedRequest, event_name: str, **_: object) -> AWSResponse:
        _, service, operation = event_name.split(".")
        invocation = request.headers["amz-sdk-invocation-id"]
        if invocation != self._last:
            self._last, self._attempt = invocation, 0
            self._number += 1
        self._attempt += 1
        call = Call(self._number, service, operation, self._attempt, request.url)
        if self._attempt == 1 and self._told >= 0:
            os.write(self._told, json.dumps(Told(str(call), [str(place) for place in places()])).encode() + b"\n")
        return self._fault(call, lambda: self._http.send(request))


def _without_waiting(params: dict[str, Any], **_: object) -> dict[str, Any]:
    shorter = {"DelaySeconds": 0, "WaitTimeSeconds": 0, "VisibilityTimeout": 1}
    return params | {name: seconds for name, seconds in shorter.items() if name in params}
