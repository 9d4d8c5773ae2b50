"""functions/dcp: what it logs of messages of DCP that it refuses."""

import json
from collections.abc import Callable

import pytest
from tests.functions.logs import log_lines
from tests.functions.samples import MADE_AT, dcp_connect, dcp_event, dcp_key, dcp_socket_event
from tests.functions.stack import FunctionsStack, Json

from postroom.crypto.ethereum_keys import EthereumKey
from postroom.http.dcp_service import MAX_MESSAGE_BYTES
from postroom.protocols.dcp.payload import NewRequest, new_payload, request_body
from postroom.protocols.dcp.responses import answer_body, response_body
from postroom.protocols.dcp.signed_message import sign_body

LONG = "x" * 10_000


def forged(_session: Json) -> bytes:
    return dcp_connect().replace(b'"id":"1"', f'"id":"{LONG}"'.encode())


def unasked(_session: Json) -> bytes:
    response = response_body(LONG, None, now=MADE_AT, dcpsid=None)
    return sign_body(answer_body([response], dcpsid=None, nonce=None, batch_id=None), dcp_key())


def of_another_peer(session: Json) -> bytes:
    return request(session, EthereumKey.from_secret(b"\x07" * 32))


def no_json(_session: Json) -> bytes:
    return LONG.encode()


def no_message(_session: Json) -> bytes:
    return json.dumps({"hello": LONG}).encode()


def no_i_json(_session: Json) -> bytes:
    return f'{{"{LONG}": 1, "{LONG}": 1}}'.encode()


def too_large(_session: Json) -> bytes:
    return b" " * (MAX_MESSAGE_BYTES + 1)


def without_id(_session: Json) -> bytes:
    return sign_body({"type": "request", "payload": {"operation": LONG}}, dcp_key())


def malformed_response(session: Json) -> bytes:
    response = response_body(LONG, None, now=MADE_AT, dcpsid=session["dcpsid"])
    return sign_body({**response, "success": LONG}, dcp_key())


def expired(session: Json) -> bytes:
    return request(session, dcp_key(), time=MADE_AT - 1000)


def of_no_session(session: Json) -> bytes:
    return request({**session, "nonce": LONG}, dcp_key())


def request(session: Json, key: EthereumKey, time: int = MADE_AT) -> bytes:
    payload = new_payload("keepalive", validity={"time": time, "stamp": LONG})
    body = request_body(NewRequest(payload), payload, LONG, hex_prefix=False)
    return sign_body({**body, "dcpsid": session["dcpsid"], "nonce": session["nonce"]}, key)


@pytest.mark.parametrize("event", [dcp_event, dcp_socket_event], ids=["https", "websocket"])
@pytest.mark.parametrize(
    ("message", "reason", "level"),
    [
        (forged, "DcpSignatureInvalid", "WARNING"),
        (unasked, "DcpResponseUnexpected", "WARNING"),
        (of_another_peer, "DcpSessionForeign", "WARNING"),
        (no_json, "NotJson", "WARNING"),
        (no_i_json, "NotIJson", "WARNING"),
        (no_message, "DcpMessageInvalid", "WARNING"),
        (too_large, "TooLarge", "WARNING"),
        (without_id, "DcpIdMissing", "WARNING"),
        (malformed_response, "DcpResponseInvalid", "WARNING"),
        (expired, "DcpExpired", "INFO"),
        (of_no_session, "DcpSessionOver", "INFO"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_of_a_refused_message_there_is_one_short_line_and_it_warns_if_it_ends_the_connection(
    running: FunctionsStack,
    capsys: pytest.CaptureFixture[str],
    event: Callable[[bytes], Json],
    message: Callable[[Json], bytes],
    reason: str,
    level: str,
) -> None:
    for _ in range(2):
        session = json.loads(running.invoke("DcpFunction", dcp_event(dcp_connect()))["body"])["body"]
        capsys.readouterr()
        running.invoke("DcpFunction", event(message(session)))
        [line] = log_lines(capsys.readouterr().out)
        assert (line["level"], line["reason"]) == (level, reason)
        assert set(line) == {"level", "message", "timestamp", "service", "reason", "status", "request"}
        assert LONG not in json.dumps(line)
