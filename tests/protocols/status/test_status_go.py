"""What Status's own functions said of 67 wrappers, and each difference with what asks for it (status-go.json).

Their dispatch, which checks keys and chats, is not in their answers; no carrier and no receiver is known here either.
"""

from typing import Any

import pytest
from tests.protocols.status.known import GO_ROWS, refused

from postroom.core.reason import Reason
from postroom.protocols.status.explain import ExplainedWrapper, explain
from postroom.protocols.status.reasons import (
    AUTHOR_SIGNATURE_INVALID,
    AUTHOR_UNKNOWN,
    CHAT_INVALID,
    CLOCK_INVALID,
    PAYLOAD_INVALID,
    PAYLOAD_TYPE_UNKNOWN,
    WRAPPER_INVALID,
)
from postroom.protocols.status.wrapper import read_wrapper

DIFFERENCES: dict[str, tuple[Reason | None, str]] = {
    "unsigned": (AUTHOR_UNKNOWN, 'decision "Authors": no author at all is refused, and here no carrier names one'),
    "empty sig field": (AUTHOR_UNKNOWN, "the same: an empty signature is none"),
    "sticker no text": (None, 'decision "Payloads": a sticker may come without text'),
    "audio no text": (None, 'decision "Payloads": a sound may come without text'),
    "mt99": (CHAT_INVALID, 'decision "Chats": other kinds of chat are refused (by their dispatch, too)'),
    "mt6": (CHAT_INVALID, 'decision "Chats": other kinds of chat are refused (by their dispatch, too)'),
    "group unknown": (
        PAYLOAD_INVALID,
        'decision "Payloads": field 100 of later versions is a message, not a group',
    ),
    "type unknown 0": (PAYLOAD_TYPE_UNKNOWN, 'decision "Wrappers": the typed wrapper says its type'),
    "untyped 4001": (
        PAYLOAD_TYPE_UNKNOWN,
        'decision "Wrappers": an untyped wrapper needs the type beside it',
    ),
    "react mt4": (PAYLOAD_INVALID, "6/PAYLOADS, MessageType: only local"),
    "react as contact": (PAYLOAD_INVALID, 'decision "Payloads": a reaction is not read as a contact update'),
    "edit ok": (PAYLOAD_INVALID, 'decision "Payloads": the ID of a message is 0x and 64 hex digits; here it is 0x1'),
    "edit clock future": (CLOCK_INVALID, 'decision "Clocks": one rule of clocks for every type'),
    "delete clock0": (CLOCK_INVALID, 'decision "Clocks": one rule of clocks for every type'),
}
"""Row → what we say, and what asks for it, wherever only one of both accepts."""

OTHER_IDS = {
    "sig 64": AUTHOR_SIGNATURE_INVALID,
    "v27": AUTHOR_SIGNATURE_INVALID,
    "v2": AUTHOR_SIGNATURE_INVALID,
    "v3": AUTHOR_SIGNATURE_INVALID,
    "v4": AUTHOR_SIGNATURE_INVALID,
    "untyped 4001": PAYLOAD_TYPE_UNKNOWN,
    "empty payload": WRAPPER_INVALID,
}
"""Rows of which they give an ID all the same: what nobody can have signed, or has no payload, has none here."""


def explained(row: dict[str, Any]) -> ExplainedWrapper:
    # Their clock is the transport's time, but of what they compare with their own.
    return explain(bytes.fromhex(row["wrapper"]), at_ms=row["transport_ms"])


@pytest.mark.parametrize("name", GO_ROWS)
def test_each_wrapper_is_accepted_as_by_status_or_differs_for_a_reason(name: str) -> None:
    row = GO_ROWS[name]
    reason = explained(row).reason
    if name in DIFFERENCES:
        assert reason is DIFFERENCES[name][0]
        assert (reason is None) != (row["error"] == ""), "this is no difference"
    else:
        assert (reason is None) == (row["error"] == ""), row["error"]


def test_the_table_names_rows_only() -> None:
    assert len(GO_ROWS) == 67
    assert DIFFERENCES.keys() | OTHER_IDS.keys() <= GO_ROWS.keys()


@pytest.mark.parametrize("name", GO_ROWS)
def test_author_and_id_are_the_same(name: str) -> None:
    row, found = GO_ROWS[name], explained(GO_ROWS[name])
    if name in OTHER_IDS:
        assert found.id is None
        assert found.reason is OTHER_IDS[name]
        return
    assert found.id == row["id"]
    assert (found.signer or "") == row["author"]
    assert read_wrapper(bytes.fromhex(row["wrapper"])).type == row["type"]


def test_a_wrapper_that_has_no_payload_is_none() -> None:
    refused(lambda: read_wrapper(bytes.fromhex(GO_ROWS["empty payload"]["wrapper"])), WRAPPER_INVALID)
