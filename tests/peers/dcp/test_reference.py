"""The reference itself: that it is that of the known answers."""

import json
import platform
from typing import Any

import pytest
from tests.peers.answering import RefusedError
from tests.peers.node import Reference
from tests.protocols.dcp.known import KEYS, MESSAGES

from postroom.protocols.dcp.signed_message import sign_body

MESSAGE = sign_body({"type": "request"}, KEYS["ones"]).decode()


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES)
def test_it_signs_as_in_the_known_answers(reference: Reference, message: dict[str, Any]) -> None:
    wire = json.loads(message["wire"])
    signed = json.loads(reference.call("message.sign", KEYS[message["key"]].secret.hex(), wire["body"]))
    assert signed == wire


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="npm's packages bring no code for it")
def test_it_verifies_by_the_native_code_of_its_packages(reference: Reference) -> None:
    reference.call("message.verify", MESSAGE, 1)
    files = reference.call("native.files")
    assert any(name.startswith("secp256k1.") for name in files)
    assert len(files) == 2, "that of keccak, too"


def test_as_shipped_it_verifies_without_native_code(plain_reference: Reference) -> None:
    plain_reference.call("message.verify", MESSAGE, 1)
    assert plain_reference.call("native.files") == []


@pytest.mark.tools
@pytest.mark.parametrize("of", ["reference", "plain_reference"])
def test_a_message_that_was_changed_is_refused(request: pytest.FixtureRequest, of: str) -> None:
    with pytest.raises(RefusedError, match="a wrong signature"):
        request.getfixturevalue(of).call("message.verify", MESSAGE.replace("request", "respond"), 1)


def test_an_unknown_call_is_an_error(reference: Reference) -> None:
    with pytest.raises(RefusedError, match="no call"):
        reference.call("connection")
