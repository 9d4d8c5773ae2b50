"""Payloads of requests that are sent (DCP: Connection.Request)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp.authorization import authorize
from postroom.protocols.dcp.messages import REQUEST, Allowance, JsonObject


@dataclass(frozen=True, slots=True)
class NewRequest:
    """A request that is to be sent.

    `payload`: as `new_payload` makes it, or one that somebody else authorized; `keys`: of the resources, which sign the
    payload when it is sent; `auth`: signatures that the payload has already, so that nothing is added to it; `id`: "":
    a random one.
    """

    payload: JsonObject
    keys: tuple[EthereumKey, ...] = ()
    auth: JsonObject = field(default_factory=dict)
    id: str = ""

    @property
    def operation(self) -> JsonValue:
        """What is requested."""
        return self.payload.get("operation")


def new_payload(
    operation: str,
    data: JsonValue = None,
    *,
    allow: Iterable[Allowance] = (),
    validity: JsonObject | None = None,
    hex_prefix: bool = False,
) -> dict[str, JsonValue]:
    """A payload, with its members in the order that the reference needs.

    `data` None: no data; `validity`: what of it is known, `with_validity` adds the rest; `hex_prefix`: addresses are
    written with 0x, as by the reference.
    """
    members: dict[str, JsonValue] = {
        "operation": operation,
        "allow": [each.as_json(hex_prefix=hex_prefix) for each in allow],
        "validity": dict(validity or {}),
    }
    return members if data is None else {**members, "data": data}


def with_validity(payload: JsonObject, *, time: int, ttl: float | None, stamp: str) -> dict[str, JsonValue]:
    """The payload with what its validity lacks, behind what it has, which stays as it is.

    `time`: seconds since the epoch by the receiver's clock; `ttl` None: the receiver's default applies.
    """
    added: dict[str, JsonValue] = {"time": time, "stamp": stamp}
    if ttl is not None:
        added["ttl"] = ttl
    validity = payload.get("validity")
    known = validity if isinstance(validity, dict) else {}
    missing = {name: value for name, value in added.items() if name not in known}
    return {**payload, "validity": {**known, **missing}}


def request_body(
    request: NewRequest, payload: Mapping[str, JsonValue], request_id: str, *, hex_prefix: bool
) -> dict[str, JsonValue]:
    """The members of a request, without dcpsid and nonce. `payload`: the request's, complete."""
    auth = {**request.auth, **authorize(payload, request.keys, hex_prefix=hex_prefix)}
    members: dict[str, JsonValue] = {"type": REQUEST, "id": request_id, "payload": dict(payload)}
    return {**members, "auth": auth} if auth else members
