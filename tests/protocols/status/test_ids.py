"""IDs of messages and of reactions, and what is none (decisions "Wrappers" and "Payloads")."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.status.known import ALICE, BOB, ID, NOW, STATUS, VECTORS, each_vector, text, wrapper_of

from postroom.crypto.ethereum import keccak_256
from postroom.protocols.status.ids import is_message_id, message_id, reaction_id
from postroom.protocols.status.keys import ChatKey


@each_vector
def test_known_ids_of_both_wrappers(vector: dict[str, Any]) -> None:
    author = ChatKey(vector["author_public_key"])
    assert message_id(author, bytes.fromhex(vector["status_protocol_message"])) == vector["message_id"]
    typed = bytes.fromhex(vector["application_metadata_message"])
    assert message_id(author, typed) == vector["application_metadata_message_id"]


def test_the_known_id_of_a_text() -> None:
    assert message_id(STATUS["status_go_key_pub"], b"test") == STATUS["message_id_test"]


def test_the_id_of_an_unsigned_wrapper_is_of_the_wrapper_alone() -> None:
    wrapper = wrapper_of(text(), None)
    assert message_id(None, wrapper) == f"0x{keccak_256(wrapper).hex()}"


def test_the_known_id_of_a_reaction() -> None:
    message = VECTORS["text one-to-one"]["message_id"]
    assert reaction_id(BOB.public, message, 1) == STATUS["emoji_reaction_local_id"]
    # A retraction is of the same reaction; another kind is another.
    assert reaction_id(BOB.public, message, 2) != STATUS["emoji_reaction_local_id"]


@given(st.binary(max_size=50))
def test_every_id_is_written_as_one(wrapper: bytes) -> None:
    assert is_message_id(message_id(ALICE.public, wrapper))
    assert is_message_id(message_id(None, wrapper))


def test_every_byte_of_a_wrapper_counts() -> None:
    wrapper = wrapper_of(text(clock=NOW))
    ids = {message_id(ALICE.public, wrapper[:at] + bytes([wrapper[at] ^ 1]) + wrapper[at + 1 :]) for at in range(80)}
    assert len(ids) == 80
    assert message_id(ALICE.public, wrapper) not in ids


@pytest.mark.parametrize(
    "text_", ["", "0x", ID[2:], ID[:-1], ID + "0", ID.upper(), "0X" + ID[2:], ID + "\n", "0x" + "AB" * 32,
              "0x" + "1d" * 31 + "1g", "0x" + "٣" * 64],
)  # fmt: skip
def test_what_is_no_id(text_: str) -> None:
    assert is_message_id(ID)
    assert not is_message_id(text_)
