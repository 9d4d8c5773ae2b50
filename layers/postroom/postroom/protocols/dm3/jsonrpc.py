"""JSON-RPC 2.0: requests and answers (dm3 §2.3; decision "JSON-RPC").

`read_calls` parses a body: each request becomes a `RpcRequest`, or the `RpcError` that answers it. The caller makes an
answer of each request, and `write_answers` joins them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

import orjson

from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import MAX_VALUES, JsonValue, parse
from postroom.core.reason import Reason
from postroom.core.reasons import NOT_I_JSON
from postroom.protocols.dm3.codes import INTERNAL_ERROR, TEXTS, code_of
from postroom.protocols.dm3.reasons import RPC_BATCH_TOO_LONG, RPC_NOT_A_REQUEST, RPC_WRONG_PARAMS, RPC_WRONG_VERSION

if TYPE_CHECKING:
    import msgspec

VERSION = "2.0"
MAX_BATCH = 50
"""The most requests in a batch."""
MAX_ID_CHARACTERS = 256
"""Ids are repeated in answers, which must not become too long to be sent after the calls were executed."""

Id: TypeAlias = "str | int | float | None"
"""The id of a request."""


@dataclass(frozen=True, slots=True)
class RpcRequest:
    """A well-formed request. `params`: as received; None: there are none.

    `id` None: it is null, or there is none (decision "JSON-RPC").
    """

    id: Id
    method: str
    params: JsonValue


@dataclass(frozen=True, slots=True)
class RpcError:
    """The error answer to a request. `reason` None: the fault is ours, and no details are given."""

    id: Id
    reason: Reason | None
    detail: str = ""

    @property
    def code(self) -> int:
        """The JSON-RPC code."""
        return INTERNAL_ERROR if self.reason is None else code_of(self.reason)

    def as_json(self) -> JsonValue:
        """The answer (JSON-RPC 2.0 §5.1): the specification's text for the code; our reason is in `data`."""
        member: dict[str, JsonValue] = {"code": self.code, "message": TEXTS[self.code]}
        if self.reason is not None:
            member["data"] = {"reason": str(self.reason), "detail": self.detail or self.reason.sentence}
        return {"jsonrpc": VERSION, "error": member, "id": self.id}


@dataclass(frozen=True, slots=True)
class RpcResult:
    """The result of a call."""

    id: Id
    value: JsonValue

    def as_json(self) -> JsonValue:
        """The answer (JSON-RPC 2.0 §5)."""
        return {"jsonrpc": VERSION, "result": self.value, "id": self.id}


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls in a body, in order. `is_batch`: the answers are returned in an array."""

    items: tuple[RpcRequest | RpcError, ...]
    is_batch: bool


def read_calls(body: bytes, *, max_bytes: int) -> Calls:
    """Parse a body of at most `max_bytes` (JSON-RPC 2.0 §4, §6). Never raises: every fault becomes an answer.

    A body that is not I-JSON, an empty batch, and one of more than `MAX_BATCH` requests get one error, not an array.
    But if only some requests of a batch are not I-JSON, the others are executed.
    """
    try:
        value = parse(body, max_bytes=max_bytes)
    except TheirError as error:
        # Only as many commas as a batch may have: otherwise each element would take memory before it is refused.
        parts = _split(body) if error.reason == NOT_I_JSON and body.count(b",") <= MAX_VALUES else []
        if not 1 < len(parts) <= MAX_BATCH:
            return _one(RpcError(None, error.reason, error.detail))
        # Together, they may take no more memory than a batch that is parsed as a whole.
        most = MAX_VALUES // len(parts)
        return Calls(tuple(_read_part(at, part, max_bytes, most) for at, part in enumerate(parts)), is_batch=True)
    if not isinstance(value, list):
        return _one(_read(value))
    if not value:
        return _one(RpcError(None, RPC_NOT_A_REQUEST, "the batch is empty"))
    if len(value) > MAX_BATCH:
        detail = f"the batch holds {len(value)} requests; at most {MAX_BATCH} are answered at once"
        return _one(RpcError(None, RPC_BATCH_TOO_LONG, detail))
    return Calls(tuple(_read(item) for item in value), is_batch=True)


def _split(body: bytes) -> "list[msgspec.Raw]":
    """The requests of a batch as bytes; none if it is not a batch."""
    # Rarely needed, and imported by no cold start of dm3.
    import msgspec

    try:
        return msgspec.json.decode(body, type=list[msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return []


def _read_part(at: int, part: "msgspec.Raw", max_bytes: int, max_values: int) -> RpcRequest | RpcError:
    try:
        return _read(parse(bytes(part), max_bytes=max_bytes, max_values=max_values))
    except TheirError as error:
        return RpcError(_id_of(part), error.reason, f"request {at + 1} of the batch: {error.detail}")


def _id_of(part: "msgspec.Raw") -> Id:
    """The id of a request that is not I-JSON; None if it is not one that can be repeated."""
    import msgspec

    try:
        given = msgspec.json.decode(part, type=dict[str, msgspec.Raw]).get("id")
        found = None if given is None else parse(bytes(given), max_bytes=2 * MAX_ID_CHARACTERS)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, TheirError):
        return None
    return None if _fault_of_id(found) else cast("Id", found)


def first_param(call: RpcRequest) -> JsonValue:
    """The first positional parameter; those after it are ignored (the reference adds a token).

    Raises TheirError(RPC_WRONG_PARAMS) if there is none, or the parameters are given by name.
    """
    if isinstance(call.params, list) and call.params:
        return call.params[0]
    raise TheirError(RPC_WRONG_PARAMS, "params must be an array with at least one element")


def error(call: RpcRequest, why: TheirError | NotNowError) -> RpcError:
    """The answer to a call that was refused, or cannot be executed now."""
    return RpcError(call.id, why.reason, why.detail)


def write_answers(calls: Calls, answers: Iterable[RpcResult | RpcError]) -> bytes:
    """The body of the response. `answers`: in the order of the calls; a call that is an error is its own answer."""
    written = [answer.as_json() for answer in answers]
    return orjson.dumps(written if calls.is_batch else written[0])


def _one(item: RpcRequest | RpcError) -> Calls:
    return Calls((item,), is_batch=False)


def _fault_of_id(given: JsonValue) -> str:
    """Why a value cannot be an id, which is repeated in the answer; empty: it can."""
    # In Python a boolean is an int, but it is not a valid id.
    if isinstance(given, dict | list | bool):
        return "id must be a string, a number or null"
    if isinstance(given, str) and len(given) > MAX_ID_CHARACTERS:
        return f"id has more than {MAX_ID_CHARACTERS} characters"
    return ""


def _read(value: JsonValue) -> RpcRequest | RpcError:
    if not isinstance(value, dict):
        return RpcError(None, RPC_NOT_A_REQUEST, "a request is an object")
    if fault := _fault_of_id(value.get("id")):
        return RpcError(None, RPC_NOT_A_REQUEST, fault)
    given = cast("Id", value.get("id"))
    if "jsonrpc" not in value:
        return RpcError(given, RPC_NOT_A_REQUEST, 'jsonrpc is missing; it must be "2.0"')
    if value["jsonrpc"] != VERSION:
        return RpcError(given, RPC_WRONG_VERSION)
    method = value.get("method")
    if not isinstance(method, str):
        return RpcError(given, RPC_NOT_A_REQUEST, "method must be a string")
    params = value.get("params")
    if not isinstance(params, list | dict | None):
        return RpcError(given, RPC_WRONG_PARAMS, "params must be an array or an object")
    return RpcRequest(given, method, params)
