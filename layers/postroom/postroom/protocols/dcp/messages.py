"""The four messages of DCP, as the body of a signed message has them (DCP: Message Grammar).

Each keeps its members in received order, with those that are unknown here: signatures cover them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum import Address
from postroom.protocols.dcp.addresses import address_in
from postroom.protocols.dcp.reasons import DCP_BODY_INVALID

JsonObject: TypeAlias = Mapping[str, JsonValue]

REQUEST: Final = "request"
RESPONSE: Final = "response"
REQUEST_BATCH: Final = "request-batch"
RESPONSE_BATCH: Final = "response-batch"

MAX_ALLOWANCES: Final = 256
"""Of one request: each has three addresses, whose letter case costs a hash each."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """Who may do what is requested: `guardian`, to `resource`, when it is received from `accessor`."""

    resource: Address
    guardian: Address
    accessor: Address

    def as_json(self, *, hex_prefix: bool = False) -> JsonValue:
        """The member of `allow`. `hex_prefix`: addresses are written with 0x, as by the reference."""
        prefix = "0x" if hex_prefix else ""
        return {
            "resource": prefix + self.resource, "guardian": prefix + self.guardian, "accessor": prefix + self.accessor
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Payload:
    """What is requested. `members`: all of it, which authorizations sign; `validity`: as it was sent, not checked."""

    operation: str
    data: JsonValue
    validity: JsonValue
    allow: tuple[Allowance, ...]
    members: JsonObject


@dataclass(frozen=True, slots=True)
class Request:
    """A request. `auth`: the signatures of the payload, as they were sent, by the address of their resource.

    `dcpsid`, `nonce`: None in a batch, which has them, and before there is a session.
    """

    id: str
    payload: Payload
    auth: Mapping[Address, JsonValue]
    dcpsid: str | None
    nonce: str | None
    members: JsonObject


@dataclass(frozen=True, slots=True)
class MalformedRequest:
    """A member of a batch that is no request. `id`: "": it has none, so that no response can name it."""

    id: str
    error: TheirError
    members: JsonObject


@dataclass(frozen=True, slots=True)
class Response:
    """A response. `id`: of its request; `time`: the responder's clock, seconds since the epoch.

    `payload`: the result, or if not `success` the error; `nonce` None: the one that is known stays.
    """

    id: str
    time: float
    success: bool
    payload: JsonValue
    dcpsid: str | None
    nonce: str | None
    members: JsonObject


@dataclass(frozen=True, slots=True)
class RequestBatch:
    """Requests under one nonce. Each member of the batch counts by itself, whatever is wrong with the others."""

    id: str
    requests: tuple[Request | MalformedRequest, ...]
    dcpsid: str | None
    nonce: str | None
    members: JsonObject


@dataclass(frozen=True, slots=True)
class ResponseBatch:
    """Responses with one nonce. The first one may answer the batch itself."""

    id: str
    responses: tuple[Response, ...]
    dcpsid: str | None
    nonce: str | None
    members: JsonObject


DcpMessage: TypeAlias = Request | Response | RequestBatch | ResponseBatch


def is_answer(body: JsonObject) -> bool:
    """Whether the body of a signed message says that it has responses, which are never answered."""
    return body.get("type") in (RESPONSE, RESPONSE_BATCH)


def check_number(body: JsonObject, most: int) -> None:
    """Check the number of messages in a batch, before any of them is read. Raises TheirError(DCP_BODY_INVALID)."""
    payload = body.get("payload")
    if body.get("type") in (REQUEST_BATCH, RESPONSE_BATCH) and isinstance(payload, list) and len(payload) > most:
        raise _invalid(f"a batch has at most {most} messages")


def read_body(body: JsonObject) -> DcpMessage:
    """The message in the body of a signed message. Raises TheirError(DCP_BODY_INVALID)."""
    return read_responses(body) if is_answer(body) else read_requests(body)


def read_requests(body: JsonObject) -> Request | RequestBatch:
    """The request or batch in the body of a signed message. Raises TheirError(DCP_BODY_INVALID)."""
    match body.get("type"):
        case "request":
            return read_request(body)
        case "request-batch":
            name, dcpsid = _text(body, "id"), _optional_text(body, "dcpsid")
            requests = tuple(_read_member(each, dcpsid) for each in _batched(body))
            if any(each.id == name for each in requests):
                raise _invalid("a member of the batch has the id of the batch: one response could answer both")
            return RequestBatch(name, requests, dcpsid, _optional_text(body, "nonce"), body)
        case _:
            raise _invalid(f"type is none of {REQUEST}, {RESPONSE}, {REQUEST_BATCH} and {RESPONSE_BATCH}")


def read_responses(body: JsonObject) -> Response | ResponseBatch:
    """The response or batch in the body of a signed message. Raises TheirError(DCP_BODY_INVALID)."""
    if body.get("type") == RESPONSE:
        return _read_response(body)
    dcpsid, members = _optional_text(body, "dcpsid"), _batched(body)
    responses = tuple(_read_response(_member(each, RESPONSE, dcpsid)) for each in members)
    return ResponseBatch(_text(body, "id"), responses, dcpsid, _optional_text(body, "nonce"), body)


def read_request(members: JsonObject) -> Request:
    """The request with these members. Raises TheirError(DCP_BODY_INVALID)."""
    return Request(
        _text(members, "id"),
        _read_payload(members.get("payload")),
        _read_auth(members.get("auth", {})),
        _optional_text(members, "dcpsid"),
        _optional_text(members, "nonce"),
        members,
    )


def _read_payload(payload: JsonValue) -> Payload:
    if not isinstance(payload, dict):
        raise _invalid("payload is missing or not an object")
    return Payload(
        _text(payload, "operation", "payload.operation"),
        payload.get("data"),
        payload.get("validity"),
        _read_allow(payload.get("allow", [])),
        payload,
    )


def _read_allow(allow: JsonValue) -> tuple[Allowance, ...]:
    if not isinstance(allow, list) or len(allow) > MAX_ALLOWANCES:
        raise _invalid(f"payload.allow is not a list of at most {MAX_ALLOWANCES} objects")
    return tuple(_read_allowance(each, f"payload.allow[{index}]") for index, each in enumerate(allow))


def _read_allowance(value: JsonValue, what: str) -> Allowance:
    if not isinstance(value, dict):
        raise _invalid(f"{what} is not an object")
    resource, guardian, accessor = (
        address_in(value.get(name), f"{what}.{name}") for name in ("resource", "guardian", "accessor")
    )
    return Allowance(resource, guardian, accessor)


def _read_auth(auth: JsonValue) -> Mapping[Address, JsonValue]:
    if not isinstance(auth, dict) or len(auth) > MAX_ALLOWANCES:
        raise _invalid(f"auth is not an object of at most {MAX_ALLOWANCES} members")
    found = {address_in(name, "a name in auth"): signature for name, signature in auth.items()}
    if len(found) < len(auth):
        raise _invalid("two names in auth are the same address")
    return found


def _read_response(members: JsonObject) -> Response:
    time, success = members.get("time"), members.get("success")
    if type(time) is not int and type(time) is not float:  # True is an int
        raise _invalid("time is missing or not a number")
    if not isinstance(success, bool):
        raise _invalid("success is missing or not a boolean")
    return Response(
        _text(members, "id"),
        time,
        success,
        members.get("payload"),
        _optional_text(members, "dcpsid"),
        _optional_text(members, "nonce"),
        members,
    )


def _read_member(value: JsonValue, dcpsid: str | None) -> Request | MalformedRequest:
    """A member of a batch (DCP: Message Receipt: "each message in the batch is individually processed")."""
    try:
        return read_request(_member(value, REQUEST, dcpsid))
    except TheirError as error:
        members = value if isinstance(value, dict) else {}
        name = members.get("id")
        return MalformedRequest(name if isinstance(name, str) else "", error, members)


def _batched(body: JsonObject) -> Sequence[JsonValue]:
    payload = body.get("payload")
    if not isinstance(payload, list) or not payload:
        raise _invalid("the payload of a batch is not a list of one or more messages")
    return payload


def _member(value: JsonValue, kind: str, dcpsid: str | None) -> JsonObject:
    if not isinstance(value, dict) or value.get("type") != kind:
        raise _invalid(f"a member of the batch is not a {kind}")
    if value.get("dcpsid") not in (None, dcpsid):
        raise _invalid("a member of the batch has another dcpsid than the batch")
    return value


def _text(members: JsonObject, name: str, what: str = "") -> str:
    text = _optional_text(members, name)
    if not text:
        raise _invalid(f"{what or name} is missing or empty")
    return text


def _optional_text(members: JsonObject, name: str) -> str | None:
    value = members.get(name)
    if value is None or isinstance(value, str):
        return value
    raise _invalid(f"{name} is not a string")


def _invalid(what: str) -> TheirError:
    return TheirError(DCP_BODY_INVALID, what)
