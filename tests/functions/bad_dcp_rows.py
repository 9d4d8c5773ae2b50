"""The rows of the table behind docs/reference/bad-input.md that are posted to the guardian of DCP."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from tests.functions.bad_requests import MARK, Sent, Then
from tests.protocols.dcp.guarded import JACK, Peer

from postroom.api.reasons import NOT_A_REQUEST, NOT_THE_OWNER
from postroom.core.reason import Reason
from postroom.core.reasons import (
    METHOD_NOT_ALLOWED,
    NOT_I_JSON,
    NOT_JSON,
    TOO_LARGE,
    WRONG_CONTENT_ENCODING,
    WRONG_CONTENT_TYPE,
)
from postroom.http.dcp_service import MAX_BATCH, MAX_MESSAGE_BYTES
from postroom.protocols.dcp.error_payload import ErrorCode
from postroom.protocols.dcp.reasons import (
    DCP_BODY_INVALID,
    DCP_DUPLICATE,
    DCP_EXPIRED,
    DCP_ID_MISSING,
    DCP_ID_REUSED,
    DCP_MESSAGE_INVALID,
    DCP_NO_ROUTER,
    DCP_NONCE_INVALID,
    DCP_OPERATION_UNKNOWN,
    DCP_RESPONSE_INVALID,
    DCP_RESPONSE_UNEXPECTED,
    DCP_SESSION_FOREIGN,
    DCP_SESSION_OVER,
    DCP_SIGNATURE_INVALID,
    DCP_TIME_TRAVEL,
    DCP_VALIDITY_INVALID,
    DCP_VERSION_UNSUPPORTED,
)

Json = dict[str, Any]
OWNED = "owned-over-dcp.example"
"""The mailbox of the peer."""
Change = Callable[[Peer], Json]


@dataclass(frozen=True)
class DcpRow:
    """A row of the table. `make`: what a peer with a session sends; `code`: of the error in the signed answer."""

    section: str
    what: str
    make: Callable[[Peer], Sent]
    reason: Reason
    then: Then = Then.NOTHING
    code: str | None = None

    @property
    def status(self) -> int:
        """The HTTP status of the response. Every signed answer is 200."""
        return self.reason.status if self.code is None else 200


def rows() -> Iterator[DcpRow]:
    """All rows of the table."""
    for what, make, reason in (*_http(), *_messages()):
        yield DcpRow("DCP: without a signed answer", what, make, reason)
    for what, body, code, reason in _sessions():
        yield DcpRow("DCP: messages and sessions", what, _signed(body), reason, code=code)
    for what, body, code, reason, then in _requests():
        yield DcpRow("DCP: requests", what, _signed(body), reason, then, code)


def post(data: bytes, **members: Any) -> Sent:
    return Sent(data, **{"path": "/dcp", **members})


def _signed(body: Change) -> Callable[[Peer], Sent]:
    return lambda peer: post(peer.signed(body(peer)))


# --- what cannot be answered under a signature -----------------------------------------------------------------------


def _http() -> Iterator[tuple[str, Callable[[Peer], Sent], Reason]]:
    def good(peer: Peer, **members: Any) -> Sent:
        return post(peer.signed(peer.request("keepalive")), **members)

    for method in ("PUT", "DELETE", "PATCH"):
        yield f"{method} /dcp", partial(good, method=method), METHOD_NOT_ALLOWED
    yield "Content-Type text/plain", partial(good, headers={"content-type": "text/plain"}), WRONG_CONTENT_TYPE
    yield "no Content-Type", partial(good, headers={}), WRONG_CONTENT_TYPE
    gzip = {"content-type": "application/json", "content-encoding": "gzip"}
    yield "Content-Encoding gzip", partial(good, headers=gzip), WRONG_CONTENT_ENCODING
    yield "one byte more than the limit", lambda _: post(b" " * (MAX_MESSAGE_BYTES + 1)), TOO_LARGE


def _messages() -> Iterator[tuple[str, Callable[[Peer], Sent], Reason]]:
    for what, data, reason in (
        ("0 bytes", b"", NOT_JSON),
        ("half a message", b'{"owner":', NOT_JSON),
        ("a name that occurs twice", b'{"owner":"","owner":""}', NOT_I_JSON),
        ("5,000 levels of nesting", b"[" * 5000 + b"]" * 5000, NOT_I_JSON),
        ("a number beyond doubles", b'{"owner":1e400}', NOT_I_JSON),
        ("an array", b"[]", DCP_MESSAGE_INVALID),
        ("no members", b"{}", DCP_MESSAGE_INVALID),
    ):
        yield what, lambda _, data=data: post(data), reason

    def changed(peer: Peer, **members: Any) -> Sent:
        return post(json.dumps({**_message(peer), **members}).encode())

    for name in ("owner", "signature", "body"):
        yield f"`{name}` is null", partial(changed, **{name: None}), DCP_MESSAGE_INVALID
    yield "an owner of 39 digits", partial(changed, owner="a" * 39), DCP_MESSAGE_INVALID
    yield "an owner with another checksum", partial(changed, owner="aB" * 20), DCP_MESSAGE_INVALID
    for what, signature in (
        ("`v` is 29", lambda signature: {**signature, "v": 29}),
        ("`r` has 31 bytes", lambda signature: {**signature, "r": _shorter(signature["r"])}),
        ("`s` is missing", lambda signature: {"r": signature["r"], "v": signature["v"]}),
    ):
        yield (
            f"a signature whose {what}",
            lambda peer, change=signature: changed(peer, signature=change(_message(peer)["signature"])),
            DCP_MESSAGE_INVALID,
        )
    yield "another body than was signed", partial(changed, body={"id": "other"}), DCP_SIGNATURE_INVALID
    yield "an owner who did not sign it", partial(changed, owner=JACK.address), DCP_SIGNATURE_INVALID
    for what, name in (("no id", None), ("an empty id", ""), ("an id that is a number", 7)):
        yield (
            f"a body with {what}",
            lambda peer, name=name: post(peer.signed({**peer.request(), "id": name})),
            DCP_ID_MISSING,
        )
    yield (
        "a response with a malformed member",
        lambda peer: post(peer.signed({"type": "response", "id": "1", "time": 1, "success": "true"})),
        DCP_RESPONSE_INVALID,
    )
    yield (
        "a response",
        lambda peer: post(peer.signed({"type": "response", "id": "1", "time": 1, "success": True})),
        DCP_RESPONSE_UNEXPECTED,
    )


def _message(peer: Peer) -> Json:
    message: Json = json.loads(peer.signed(peer.request("keepalive")))
    return message


def _shorter(buffer: Json) -> Json:
    return {**buffer, "data": buffer["data"][1:]}


# --- whole messages --------------------------------------------------------------------------------------------------


def _sessions() -> Iterator[tuple[str, Change, str, Reason]]:
    def connect(what: str, reason: Reason = DCP_BODY_INVALID, **data: Any) -> tuple[str, Change, str, Reason]:
        code = ErrorCode.EVERSION if reason == DCP_VERSION_UNSUPPORTED else ErrorCode.EINVAL
        return f"a connect with {what}", lambda peer: peer.connect(**data), code, reason

    yield connect("version 5.0.0", DCP_VERSION_UNSUPPORTED, version="5.0.0")
    yield connect("version 4", DCP_VERSION_UNSUPPORTED, version="4")
    yield connect("a list of versions", DCP_VERSION_UNSUPPORTED, version=["4.0.0"])
    yield connect("no sid", sid=None)
    yield connect("a sid of 20 characters", sid="x" * 20)
    yield connect("a sid of 1,000,000 characters", sid="x" * 1_000_000)
    for what, body in (
        ("two connects in a batch", lambda peer: _alone(peer.batch(peer.connect(), peer.connect()))),
        ("another operation without a session", lambda peer: _alone(peer.request(MARK))),
        ("an unknown type", lambda peer: {**peer.request(), "type": MARK}),
        ("no payload", lambda peer: {**peer.request(), "payload": None}),
        ("an operation that is a number", lambda peer: {**peer.request(), "payload": {"operation": 7}}),
        ("`allow` that is no array", lambda peer: _with_payload(peer, allow=MARK)),
        ("an empty batch", lambda peer: peer.batch()),
        ("a batch with the id of its message", lambda peer: peer.batch({**peer.request(), "id": "1"}, id="1")),
        (
            "more messages than a batch may have",
            lambda peer: peer.batch(*[peer.request() for _ in range(MAX_BATCH + 1)]),
        ),
    ):
        yield what, body, ErrorCode.EINVAL, DCP_BODY_INVALID
    for what, body, reason in (
        ("an unknown session", lambda peer: {**peer.request(), "dcpsid": MARK}, DCP_SESSION_FOREIGN),
        ("the session of somebody else", _of_another, DCP_SESSION_FOREIGN),
        ("a nonce of nobody, in a new session", lambda peer: {**peer.request(), "nonce": MARK}, DCP_SESSION_OVER),
        ("no nonce, in a new session", lambda peer: {**peer.request(), "nonce": None}, DCP_SESSION_OVER),
        ("a nonce that was used", _used, DCP_NONCE_INVALID),
        ("a nonce of nobody", lambda peer: {**_used(peer), "nonce": MARK}, DCP_NONCE_INVALID),
        ("a closed session", _closed, DCP_SESSION_OVER),
    ):
        yield what, body, ErrorCode.EINVAL, reason


def _alone(body: Json) -> Json:
    return {name: value for name, value in body.items() if name != "dcpsid"}


def _with_payload(peer: Peer, **members: Any) -> Json:
    request = peer.request()
    return {**request, "payload": {**request["payload"], **members}}


def _of_another(peer: Peer) -> Json:
    other = Peer.connected(peer.bank, JACK, half=peer.half, now=peer.now)
    return {**peer.request(), "dcpsid": other.dcpsid, "nonce": other.nonce}


def _used(peer: Peer) -> Json:
    nonce = peer.nonce
    peer.send(peer.request("keepalive"))
    return {**peer.request("keepalive"), "nonce": nonce}


def _closed(peer: Peer) -> Json:
    peer.send(peer.request("close"))
    return peer.request("keepalive")


# --- requests --------------------------------------------------------------------------------------------------------


def _requests() -> Iterator[tuple[str, Change, str, Reason, Then]]:
    def valid(**members: Any) -> Change:
        return lambda peer: peer.request("keepalive", validity=members)

    for what, body in (
        ("no validity", lambda peer: _with_payload(peer, validity=None)),
        ("a time that is a string", valid(time="1")),
        ("a time that is true", valid(time=True)),
        ("an empty stamp", valid(stamp="")),
        ("a stamp that is a number", valid(stamp=7)),
        ("a ttl that is a string", valid(ttl="60")),
    ):
        yield what, body, ErrorCode.EINVAL, DCP_VALIDITY_INVALID, Then.NONCE
    for what, ahead in (("a time of a minute ahead", 60), ("a time in milliseconds", 1_700_000_000_000)):
        yield (
            what,
            lambda peer, ahead=ahead: valid(time=int(peer.now) + ahead)(peer),
            ErrorCode.ETIMETRAVEL,
            DCP_TIME_TRAVEL,
            Then.NONCE,
        )
    yield "expired", lambda peer: valid(time=int(peer.now) - 90)(peer), ErrorCode.EEXPIRED, DCP_EXPIRED, Then.NONCE
    for what, body in (
        ("a batch in a batch", lambda peer: peer.batch(peer.batch(peer.request()))),
        ("a message of another session in a batch", lambda peer: peer.batch({**peer.request(), "dcpsid": MARK})),
        ("a message in a batch without an operation", lambda peer: peer.batch(_with_payload(peer, operation=None))),
    ):
        yield what, body, ErrorCode.EINVAL, DCP_BODY_INVALID, Then.NONCE
    for what, second, code, reason in (
        ("the id of an earlier request", lambda first: {"id": first["id"]}, ErrorCode.EINVAL, DCP_ID_REUSED),
        (
            "the stamp of an earlier request",
            lambda first: {"validity": {"stamp": first["payload"]["validity"]["stamp"]}},
            ErrorCode.EDUP,
            DCP_DUPLICATE,
        ),
    ):
        yield what, partial(_after, operation="status", second=second), code, reason, Then.USED
    behind = partial(_after, operation="close", second=lambda _: {})
    yield "behind a close", behind, ErrorCode.EINVAL, DCP_SESSION_OVER, Then.NONCE
    for what, operation, code, reason in (
        ("an unknown operation", MARK, ErrorCode.EINVAL, DCP_OPERATION_UNKNOWN),
        ("a connect in a session", "connect", ErrorCode.EINVAL, DCP_OPERATION_UNKNOWN),
        ("a message of version 3", "v3", ErrorCode.ENOV3, DCP_NO_ROUTER),
    ):
        yield what, lambda peer, operation=operation: peer.request(operation), code, reason, Then.NONCE
    for what, data, reason in (
        ("an owner's operation by somebody else", {"mailbox": "nobody.example"}, NOT_THE_OWNER),
        ("an owner's operation without a mailbox", {MARK: MARK}, NOT_A_REQUEST),
    ):
        yield (
            what,
            lambda peer, data=data: peer.request("status", data, keys=(peer.key,)),
            str(reason),
            reason,
            Then.NONCE,
        )


def _after(peer: Peer, *, operation: str, second: Callable[[Json], Json]) -> Json:
    def request(operation: str, **members: Any) -> Json:
        return peer.request(operation, {"mailbox": OWNED}, keys=(peer.key,), **members)

    first = request(operation)
    return peer.batch(first, request("status", **second(first)))
