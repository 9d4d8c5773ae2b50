"""Bodies of responses (DCP: Connection.Response; Response Batch Messages)."""

from collections.abc import Sequence

from postroom.core.ijson import JsonValue
from postroom.protocols.dcp.error_payload import ErrorPayload, Result
from postroom.protocols.dcp.messages import RESPONSE, RESPONSE_BATCH


def response_body(request_id: str, result: Result, *, now: float, dcpsid: str | None) -> dict[str, JsonValue]:
    """The response to a request, without a nonce.

    `now`: seconds since the epoch, which are truncated to whole ones.
    """
    members: dict[str, JsonValue] = {
        "type": RESPONSE,
        "id": request_id,
        "time": int(now),
        "success": not isinstance(result, ErrorPayload),
    }
    if result is not None:
        members["payload"] = result.as_json() if isinstance(result, ErrorPayload) else result
    return members if dcpsid is None else {**members, "dcpsid": dcpsid}


def answer_body(
    responses: Sequence[dict[str, JsonValue]], *, dcpsid: str | None, nonce: str | None, batch_id: str | None
) -> dict[str, JsonValue]:
    """A message with these responses. `nonce` None: the receiver's stays; `batch_id` None: one response, no batch.

    Each response in a batch has the dcpsid, too, because the reference reads it there.
    """
    if batch_id is None:
        (response,) = responses
        return {**response, "nonce": nonce}
    members: dict[str, JsonValue] = {"type": RESPONSE_BATCH, "id": batch_id, "payload": list(responses)}
    return {**members, **({} if dcpsid is None else {"dcpsid": dcpsid}), "nonce": nonce}
