"""Fuzzing of messages of WebSockets to the mailbox API: the function of `tests.fuzz.dcp_guardian`, and `watch`."""

import base64
import io
import json
from contextlib import redirect_stdout
from typing import Any, Final

from tests.functions.samples import SOCKET, SOCKET_HOST
from tests.fuzz.dcp_connections import SEEDS, bodies_of, is_signed
from tests.fuzz.dcp_guardian import (
    FORMS,
    FUNCTION,
    GUARDIAN,
    IDENTITIES,
    MAILBOX,
    OPERATED,
    PEER,
    STORE,
    WAITING,
    Api,
    check_stamps,
    forget,
    request,
)
from tests.fuzz.entry import LONG, Entry, fuzzed
from tests.fuzz.functions import CONTEXT
from tests.fuzz.samples import compact
from tests.protocols.dcp.guarded import NOW, OWNER

from postroom.api.dcp import WATCH
from postroom.protocols.dcp.guardian import write_late_response
from postroom.protocols.dcp.signed_message import read_signed_message
from postroom.runtime.socket_events import MAX_SOCKET_BYTES, SocketEvent, read_socket_request


class _Socket:
    """A WebSocket. `head`: its id, how its frames come, and "large" if they are as large as may be."""

    def __init__(self, head: bytes) -> None:
        self._id, self._form, size = [*head.decode("latin-1").split("\n"), "", ""][:3]
        self._is_large = size == "large"

    def send(self, data: bytes) -> str:
        """The answer to a frame, which is signed if it is one to a message; if it is none, nothing was written."""
        event = self._event(data)
        received = read_socket_request(event).body
        STORE.is_open, before = is_signed(received), STORE.writes
        with redirect_stdout(io.StringIO()):  # its metrics
            answer = FUNCTION.handler(event, CONTEXT)
        assert sorted(answer) == ["body", "statusCode"], answer
        json.dumps(answer).encode()
        text: str = answer["body"]
        assert len(text.encode()) <= MAX_SOCKET_BYTES, "API Gateway does not send it"
        if is_signed(text.encode()):
            assert STORE.is_open
            assert read_signed_message(text.encode()).owner == GUARDIAN
        else:
            assert 400 <= json.loads(text)["status"] < 500, text
            assert STORE.writes == before
        return text

    def _event(self, data: bytes) -> SocketEvent:
        """The event of API Gateway. As text, bytes that are no UTF-8 become halves of surrogate pairs."""
        if self._is_large:
            data += b" " * (MAX_SOCKET_BYTES - len(data))
        is_encoded = self._form == "base64"
        return {
            "requestContext": {
                "connectionId": self._id, "domainName": SOCKET_HOST, "identity": {"sourceIp": "203.0.113.7"},
            },
            "body": base64.b64encode(data).decode() if is_encoded else data.decode(errors="surrogateescape"),
            "isBase64Encoded": is_encoded or self._form == "claims to be base64",
        }  # fmt: skip


def _batch(*requests: dict[str, Any]) -> dict[str, Any]:
    return {"type": "request-batch", "id": "b", "payload": list(requests)}


_OPEN: Final = SOCKET.encode()
WATCHED: Final = (
    _batch(request(WATCH), request("messages")),
    _batch(request(WATCH)),
    request(WATCH),
    _batch(request(WATCH, mailbox="nobody.example"), request(WATCH, more=1)),
    _batch(request(WATCH), *(request("messages", query={"limit": number}) for number in range(10))),
)
FRAMES: Final = tuple(
    head + b"\n\n" + body
    for head, body in (
        *((_OPEN, compact(each)) for each in (*WATCHED, *OPERATED[:3])),
        (_OPEN + b"\nbase64", compact(WATCHED[0])),
        (_OPEN + b"\nclaims to be base64", compact(WATCHED[0])),
        (_OPEN + b"\ntext\nlarge", compact(WATCHED[0])),
        (_OPEN + b"\nbase64\nlarge", compact(OPERATED[1])),
        (b"", compact(WATCHED[0])),
        (b"\xff\0../another", compact(WATCHED[0])),
        (_OPEN + b"\nbase64", b"\xff\xfe"),
        (_OPEN, SEEDS[-1]),
    )
)


@fuzzed(
    "runtime.socket_events", "http.watches", "storage.directory.watching_sessions", "http.dcp_service",
    "http.dcp_operations", "protocols.dcp.guardian",
    seeds=(*map(compact, WATCHED), *FRAMES, *SEEDS), is_json=True, max_bytes=LONG // 4,
)  # fmt: skip
def dcp_sockets(data: bytes) -> None:
    """Any frame of any WebSocket: an answer as at /dcp, which fits into a frame; who waits owns the mailbox."""
    head, parted, body = data.partition(b"\n\n")
    socket, body = (_Socket(head), body) if parted else (_Socket(_OPEN), data)
    forget()
    socket.send(body)
    for form in FORMS:
        forget()
        for value in bodies_of(body, PEER.dcpsid, PEER.nonce):
            message = PEER.signed(form(value))
            socket.send(message)
            Api().post(message)
        check_stamps()
        _check_waiting()


def _check_waiting() -> None:
    """Who waits is the owner, has a WebSocket, and can be answered."""
    for each in WAITING:
        session = each.session
        assert (each.mailbox, OWNER.address in each.resources) == (MAILBOX, True), "a stranger waits"
        assert session.connection, "there is nothing to answer by"
        response = write_late_response(session.request, session.dcpsid, IDENTITIES.newest_first()[0].key, NOW)
        signed = read_signed_message(response)
        assert (signed.owner, signed.body["id"], signed.body["dcpsid"]) == (GUARDIAN, session.request, PEER.dcpsid)


ENTRIES: tuple[Entry, ...] = (dcp_sockets,)
