"""The operation v3: a message of version 3 of the protocol, for a route of the target (DCP: v3)."""

from dataclasses import dataclass

from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum import Address
from postroom.protocols.dcp.error_payload import ErrorPayload, Result, read_error
from postroom.protocols.dcp.reasons import DCP_BODY_INVALID
from postroom.protocols.dcp.receiving import Admitted


@dataclass(frozen=True, slots=True)
class V3Message:
    """A message for a route. `owner`: whom version 3 takes for its sender."""

    url: str
    message: JsonValue
    owner: Address


def v3_data(url: str, message: JsonValue) -> dict[str, JsonValue]:
    """The data of a request with the operation v3."""
    return {"url": url, "message": message}


def read_v3(admitted: Admitted) -> V3Message:
    """The message in a request. Raises TheirError(DCP_BODY_INVALID).

    The owner is the first resource of `allow` that authorized the request in full, otherwise the peer. The text takes
    the first one in any case, so that a peer could write any address there.
    """
    data = admitted.data if isinstance(admitted.data, dict) else {}
    url = data.get("url")
    if not isinstance(url, str) or "message" not in data:
        raise TheirError(DCP_BODY_INVALID, "the data of v3 has a url, which is a string, and a message")
    named = (allowance.resource for allowance in admitted.request.payload.allow)
    owner = next((resource for resource in named if resource in admitted.resources), admitted.peer)
    return V3Message(url, data["message"], owner)


def v3_result(outcome: Result) -> JsonValue:
    """What a request with the operation v3 is answered. `outcome`: of the route; an error: it was rejected."""
    if isinstance(outcome, ErrorPayload):
        return {"v3status": "reject", "v3rejection": outcome.as_json()}
    return {"v3status": "resolve", "v3resolution": outcome}


def read_v3_result(result: JsonValue) -> Result:
    """The outcome in an answer. Raises TheirError(DCP_BODY_INVALID)."""
    members = result if isinstance(result, dict) else {}
    match members.get("v3status"):
        case "resolve":
            return members.get("v3resolution")
        case "reject":
            return read_error(members.get("v3rejection"))
        case _:
            raise TheirError(DCP_BODY_INVALID, "the answer has no v3status, or an unknown one")
