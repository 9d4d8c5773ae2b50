"""The queue message of an owner's message: written and read, by this release only."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.nlweb.test_sign import DRAFTS

from postroom.outbound.outbox_messages import Outgoing
from postroom.outbound.queue_messages import read_queue_message
from postroom.protocols.nlweb.sign import Draft

OUTGOING = Outgoing(Draft("a.com", "b.com", "Hello@Host", "5f0d8f9e-0000-4000-8000-00000000000a", 7, None), "one")


@given(DRAFTS, st.text(), st.integers(0, 99))
def test_what_is_queued_is_read_again(draft: Draft, carrier: str, tries: int) -> None:
    # The key and its selector are the courier's to choose; of a body that is left out there is nothing to carry.
    plain = Draft(
        draft.sender, draft.receiver, draft.subject, draft.correlation, draft.timestamp_ms,
        draft.body if draft.has_body else None, draft.has_body, None, draft.dialect,
    )  # fmt: skip
    outgoing = Outgoing(plain, carrier, tries=tries)
    body = outgoing.encode()
    assert body.isascii()
    assert read_queue_message(body) == outgoing
    assert read_queue_message(outgoing.again().encode()) == Outgoing(plain, carrier, tries=tries + 1)


@pytest.mark.parametrize(
    "change",
    [{"form": 2}, {"form": None}, {"tries": "1"}, {"tries": True}, {"carrier": None}, {"outgoing": []},
     {"outgoing": {}}, *({"outgoing": {name: wrong}} for name, wrong in [
         ("from", None), ("to", 1), ("subject", []), ("correlation", {}), ("at", "7"), ("at", 7.5), ("dialect", "x")])],
)  # fmt: skip
def test_a_foreign_queue_message_is_not_read(change: dict[str, Any]) -> None:
    value = json.loads(OUTGOING.encode())
    for name, wrong in change.items():
        value[name] = {**value[name], **wrong} if isinstance(wrong, dict) and wrong else wrong
    with pytest.raises(ValueError):
        read_queue_message(json.dumps(value))
