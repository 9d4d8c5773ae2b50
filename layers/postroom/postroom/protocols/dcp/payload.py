"""Payloads and ids of requests that are sent (DCP: Connection.Request)."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp.authorization import authorize
from postroom.protocols.dcp.messages import REQUEST, Allowance, JsonObject

MAX_IDS: Final = 10_000
"""That an application gives its requests in one session; each is remembered until it ends."""
_MADE: Final = "~"
"""What an id begins with that an end makes, and no other does."""
_DIGEST_BYTES: Final = 16


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


@dataclass(frozen=True, slots=True)
class RequestIds:
    """The ids of one end's requests in a session, each of which is used once: otherwise the response to an earlier one,
    sent again, would count for a later one.

    `token`: makes a random text, so that what an end makes itself need not be remembered.
    """

    token: Callable[[], str]
    _used: set[bytes] = field(default_factory=set)

    def new(self) -> str:
        """An id for a message of ours."""
        return _MADE + self.token()

    def use(self, name: str) -> None:
        """Use an id that the application set.

        Raises ValueError if it was used before, or begins with ~, or if MAX_IDS ids were used.
        """
        if name.startswith(_MADE):
            raise ValueError(f"ids that begin with {_MADE} are made by the connection")
        digest = hashlib.sha256(name.encode(errors="surrogatepass")).digest()[:_DIGEST_BYTES]
        if digest in self._used:
            raise ValueError("another request of this session had the same id")
        if len(self._used) >= MAX_IDS:
            raise ValueError(f"{MAX_IDS} requests of this session had ids; let the connection make one")
        self._used.add(digest)


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
