"""Containers: dm3 §3.2.1; decision "Containers"; keys as the reference's where it has them."""

import base64
import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.dm3.known import each_build, private_signing_key
from tests.protocols.dm3.stored_mail import AT, stored_message

from postroom.core.canonical import stringify
from postroom.protocols.dm3.containers import (
    Chunk,
    ChunkIdentifier,
    ContainerError,
    ConversationChunks,
    Root,
    chunk_key,
    conversation_key,
    read_chunk,
    read_conversation,
    read_root,
    root_key,
)
from postroom.protocols.dm3.keys import PrivateSigningKey

KEY = "0x" + "ab" * 32
IDENTIFIERS = st.builds(ChunkIdentifier, st.integers(0, 2**53 - 1), st.integers(0, 2**53 - 1))


def hashed(text: str) -> str:
    return "0x" + hashlib.sha256(text.encode()).hexdigest()


def refusal(read: Any, value: object) -> str:
    with pytest.raises(ContainerError) as caught:
        read(json.dumps(value).encode() if not isinstance(value, bytes) else value, KEY)
    assert KEY in str(caught.value)
    return caught.value.what


# --- keys -------------------------------------------------------------------------------------------------------


@each_build
def test_the_key_of_the_root_is_that_of_the_reference(build: dict[str, Any]) -> None:
    known = build["storage"]["chunkKeys"]
    signature = private_signing_key(build["profiles"]["bob"]["signingKeyPair"]).sign(b"bob.eth")
    assert base64.b64encode(signature).decode() == known["signatureOfEnsName"]
    assert root_key(signature) == known["accountManifest"]


@each_build
def test_the_key_of_a_conversation_is_that_of_the_reference(build: dict[str, Any]) -> None:
    known = build["storage"]["chunkKeys"]
    assert conversation_key(known["accountManifest"], "alice.eth") == known["conversationManifest_alice"]


@each_build
def test_the_key_of_a_chunk_is_the_known_answer(build: dict[str, Any]) -> None:
    known = build["storage"]["chunkKeys"]
    identifier = ChunkIdentifier(0, build["message"]["timestamp"])
    assert chunk_key(known["conversationManifest_alice"], identifier) == known["specChunkKeyRule_alice_first"]


def test_keys_are_sha_256_as_specified() -> None:
    signature = bytes(range(64))
    root = hashed(base64.b64encode(signature).decode())
    conversation = hashed(root + "0x123.addr.dm3.eth")
    chunk = hashed(conversation + '{"id":7,"timestamp":16759549450000}')
    assert root_key(signature) == root
    assert conversation_key(root, "0x123.addr.dm3.eth") == conversation
    assert chunk_key(conversation, ChunkIdentifier(7, 16759549450000)) == chunk


@given(IDENTIFIERS)
def test_a_chunks_key_is_made_of_stringify(identifier: ChunkIdentifier) -> None:
    assert chunk_key(KEY, identifier) == hashed(KEY + stringify(identifier.as_json()).decode())


@pytest.mark.parametrize("algorithm", ["secp256k1", "ed25519"])
def test_signatures_that_keys_derive_from_are_deterministic(algorithm: str) -> None:
    key = PrivateSigningKey.generate(algorithm)
    again = PrivateSigningKey.decode(key.encode())
    assert key.sign(b"bob.eth") == key.sign(b"bob.eth") == again.sign(b"bob.eth")


def test_a_secp256k1_signature_is_that_of_rfc_6979() -> None:
    one = PrivateSigningKey.decode("secp256k1:" + base64.b64encode((1).to_bytes(32, "big")).decode())
    assert one.sign(b"Satoshi Nakamoto").hex() == (
        "934b1ea10a4b3c1757e2b0c017d0b6143ce3c9a7e6a4a49860d7a6ab210ee3d8"
        "2442ce9d2b916064108014783e923ec36b49743e2ffa1c4496f01a512aafd9e5"
    )


# --- texts ------------------------------------------------------------------------------------------------------


def test_a_root_is_the_example_of_the_text() -> None:
    root = Root(("friend1.ens", "0x123..abc.addr.dm3.eth"))
    assert json.loads(root.encode()) == {"conversations": ["friend1.ens", "0x123..abc.addr.dm3.eth"]}
    assert read_root(root.encode(), KEY) == root


def test_a_conversation_is_the_example_of_the_text_and_what_is_ours() -> None:
    chunks = (ChunkIdentifier(0, 16759549450000), ChunkIdentifier(1, 16762446650000))
    conversation = ConversationChunks(chunks, (16762446649999,), (ChunkIdentifier(1, 16762446650001),))
    assert json.loads(conversation.encode()) == {
        "chunks": [{"id": 0, "timestamp": 16759549450000}, {"id": 1, "timestamp": 16762446650000}],
        "ends": [16762446649999],
        "discarded": [{"id": 1, "timestamp": 16762446650001}],
    }
    assert read_conversation(conversation.encode(), KEY) == conversation


def test_in_a_conversation_by_another_program_any_chunk_may_end_late() -> None:
    written = b'{"chunks":[{"id":0,"timestamp":5},{"id":1,"timestamp":9}]}'
    identifiers = (ChunkIdentifier(0, 5), ChunkIdentifier(1, 9))
    assert read_conversation(written, KEY) == ConversationChunks(identifiers, (2**53 - 1,))


def test_a_chunk_holds_envelopes_with_what_was_sealed_in_them_opened() -> None:
    entry = stored_message("hello")
    chunk = Chunk((entry,))
    [stored] = json.loads(chunk.encode())["messages"]
    assert stored["message"] == entry.message.as_json()
    assert stored["metadata"] == entry.metadata.as_json()
    assert json.loads(chunk.encode()).keys() == {"messages"}
    assert read_chunk(chunk.encode(), KEY) == chunk


def test_a_full_chunk_says_so() -> None:
    chunk = Chunk((stored_message("hello"),), is_full=True)
    assert json.loads(chunk.encode())["full"] is True
    assert read_chunk(chunk.encode(), KEY) == chunk


@pytest.mark.parametrize("number", [1e20, 1.0, -0.0, 5e-324, 1.7976931348623157e308, 2**53 - 1])
def test_a_chunk_with_any_numbers_can_be_read_again(number: float) -> None:
    chunk = Chunk((stored_message("hello", extra={"further": number}),))
    assert read_chunk(chunk.encode(), KEY) == chunk


def test_a_chunk_with_a_deeply_nested_message_can_be_read_again() -> None:
    nested: Any = []
    for _ in range(62):
        nested = [nested]
    chunk = Chunk((stored_message("hello", extra={"further": nested}),))
    assert read_chunk(chunk.encode(), KEY) == chunk


def test_a_chunk_with_any_number_of_values_can_be_read_again() -> None:
    chunk = Chunk(tuple(stored_message(str(n), extra={"further": [0] * 90_000}) for n in range(2)))
    assert read_chunk(chunk.encode(), KEY) == chunk


@pytest.mark.parametrize("value", [{}, [], None, {"conversations": "x"}, {"conversations": [1]}, b"{", b"\xff", b""])
def test_an_invalid_root_is_refused(value: object) -> None:
    assert "cannot be read" in refusal(read_root, value)


@pytest.mark.parametrize(
    "chunks",
    [
        [],
        {},
        None,
        [1],
        [{"id": 0}],
        [{"timestamp": 0}],
        [{"id": -1, "timestamp": 0}],
        [{"id": True, "timestamp": 0}],
        [{"id": 0, "timestamp": "0"}],
        [{"id": 1, "timestamp": 0}, {"id": 0, "timestamp": 1}],
        [{"id": 1, "timestamp": 0}, {"id": 1, "timestamp": 1}],
    ],
)
def test_an_invalid_conversation_is_refused(chunks: object) -> None:
    assert "cannot be read" in refusal(read_conversation, {"chunks": chunks})


@pytest.mark.parametrize("further", [{"discarded": 1}, {"discarded": [{}]}, {"ends": ["x"]}])
def test_our_members_of_a_conversation_are_checked(further: dict[str, object]) -> None:
    chunks = [{"id": 0, "timestamp": 0}, {"id": 1, "timestamp": 1}]
    assert "cannot be read" in refusal(read_conversation, {"chunks": chunks, **further})


@pytest.mark.parametrize("messages", [[], {}, None, [1], [{}], [{"message": {}, "metadata": {}}], [{"tombstone": 1}]])
def test_an_invalid_chunk_is_refused(messages: object) -> None:
    assert "cannot be read" in refusal(read_chunk, {"messages": messages})


@pytest.mark.parametrize("member", ["message", "metadata", "messageHash"])
def test_no_member_of_an_envelope_may_be_missing(member: str) -> None:
    stored: Any = stored_message("hello").as_json()
    del stored[member]
    assert "cannot be read" in refusal(read_chunk, {"messages": [stored]})


@given(st.binary() | st.text().map(str.encode))
def test_arbitrary_bytes_are_refused_and_nothing_else_happens(text: bytes) -> None:
    for read in (read_root, read_conversation, read_chunk):
        refusal(read, text)


def test_a_refusal_survives_pickling() -> None:
    error = ContainerError(KEY, "is missing")
    copied = error.__reduce__()
    assert str(copied[0](*copied[1])) == str(error) == f"the container {KEY} is missing"


def test_chunks_are_ordered_by_their_ids() -> None:
    assert ChunkIdentifier(0, AT) < ChunkIdentifier(1, 0)
