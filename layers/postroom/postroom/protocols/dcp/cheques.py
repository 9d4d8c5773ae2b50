"""Cheques: requests that the key of a resource authorized for somebody else, who sends them in a session of their own
(DCP: Cheque Scenario; Third-Party Requests).

A cheque is a JSON object with the `payload` of a request and its `auth`. It may pass through anybody's hands.
"""

from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp.authorization import authorize
from postroom.protocols.dcp.messages import JsonObject, Request, read_request
from postroom.protocols.dcp.payload import NewRequest
from postroom.protocols.dcp.reasons import DCP_BODY_INVALID

_ANY_ID = "cheque"
"""The id of a request is that of who sends it: a cheque has none."""


def write_cheque(payload: JsonObject, key: EthereumKey, *, hex_prefix: bool = False) -> dict[str, JsonValue]:
    """A cheque of a complete payload. `key`: of the resource; `hex_prefix`: as for `authorize`.

    Raises NotCanonicalError.
    """
    return {"payload": dict(payload), "auth": authorize(payload, [key], hex_prefix=hex_prefix)}


def read_cheque(value: JsonValue) -> Request:
    """The request in a cheque, with the id of none. Raises TheirError(DCP_BODY_INVALID)."""
    if not isinstance(value, dict) or not isinstance(value.get("payload"), dict):
        raise TheirError(DCP_BODY_INVALID, "a cheque is an object with payload and auth, both objects")
    return read_request({"id": _ANY_ID, "payload": value["payload"], "auth": value.get("auth", {})})


def request_of(cheque: Request) -> NewRequest:
    """What its holder sends, with payload and signatures as they were read."""
    auth = cheque.members.get("auth")
    return NewRequest(cheque.payload.members, auth=auth if isinstance(auth, dict) else {})
