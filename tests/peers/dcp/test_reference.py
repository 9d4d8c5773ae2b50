"""The reference itself: that it is that of the known answers."""

import json
from typing import Any

import pytest
from tests.peers.node import Reference, RefusedError
from tests.protocols.dcp.known import KEYS, MESSAGES


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES)
def test_it_signs_as_in_the_known_answers(reference: Reference, message: dict[str, Any]) -> None:
    wire = json.loads(message["wire"])
    signed = json.loads(reference.call("message.sign", KEYS[message["key"]].secret.hex(), wire["body"]))
    assert signed == wire


def test_an_unknown_call_is_an_error(reference: Reference) -> None:
    with pytest.raises(RefusedError, match="no call"):
        reference.call("connection")
