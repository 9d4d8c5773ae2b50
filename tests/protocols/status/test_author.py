"""Authors: the signature is of the Keccak-256 of the payload (decisions "Wrappers" and "Authors")."""

from typing import Any

import pytest
from coincurve.utils import GROUP_ORDER_INT
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.status.known import ALICE, BOB, STATUS, each_vector, refused

from postroom.crypto.ethereum_keys import has_higher_s
from postroom.protocols.status.author import AuthorKey, author_of
from postroom.protocols.status.reasons import AUTHOR_SIGNATURE_INVALID

PAYLOAD = b"payload"
SIGNATURE = ALICE.sign(PAYLOAD)
N = GROUP_ORDER_INT


def signature(r: int | None = None, s: int | None = None, v: int | None = None) -> bytes:
    """Alice's signature with some of its parts changed."""
    return (
        (int.from_bytes(SIGNATURE[:32]) if r is None else r).to_bytes(32)
        + (int.from_bytes(SIGNATURE[32:64]) if s is None else s).to_bytes(32)
        + bytes([SIGNATURE[64] if v is None else v])
    )


@each_vector
def test_known_signatures(vector: dict[str, Any]) -> None:
    key = AuthorKey.from_secret(bytes.fromhex(vector["author_private_key"]))
    payload = bytes.fromhex(vector["payload"])
    assert key.public == vector["author_public_key"]
    assert key.sign(payload).hex() == vector["signature"]
    assert author_of(bytes.fromhex(vector["signature"]), payload) == key.public


@pytest.mark.parametrize("event", STATUS["status_go_membership"], ids=["name", "members"])
def test_known_signatures_of_events(event: dict[str, str]) -> None:
    signed = b"chat-id" + bytes.fromhex(event["raw"])
    assert author_of(bytes.fromhex(event["signature"]), signed) == STATUS["status_go_key_pub"]


@given(st.binary(min_size=32, max_size=32).filter(lambda s: 0 < int.from_bytes(s) < N), st.binary(max_size=50))
def test_who_signs_is_found(secret: bytes, payload: bytes) -> None:
    key = AuthorKey.from_secret(secret)
    signed = key.sign(payload)
    assert author_of(signed, payload) == key.public
    assert len(signed) == 65
    assert signed[64] in (0, 1)
    assert not has_higher_s(signed)
    assert key.sign(payload) == signed


@pytest.mark.parametrize("length", [0, 1, 32, 64, 66, 130])
def test_a_signature_has_65_bytes(length: int) -> None:
    assert f"{length} bytes" in refused(lambda: author_of((SIGNATURE * 2)[:length], PAYLOAD), AUTHOR_SIGNATURE_INVALID)


@pytest.mark.parametrize("v", [2, 3, 4, 27, 28, 255])
def test_its_recovery_id_is_0_or_1(v: int) -> None:
    assert f"is {v}" in refused(lambda: author_of(signature(v=v), PAYLOAD), AUTHOR_SIGNATURE_INVALID)


@pytest.mark.parametrize(
    "bad",
    [signature(r=0), signature(s=0), signature(r=0, s=0), signature(r=N), signature(s=N), signature(r=N + 1),
     signature(r=2**256 - 1, s=2**256 - 1), signature(r=5)],
    ids=["r is 0", "s is 0", "both are 0", "r is n", "s is n", "r is n + 1", "all bits set", "no point has this x"],
)  # fmt: skip
def test_what_no_key_can_have_made_is_refused(bad: bytes) -> None:
    for v in (0, 1):
        refused(lambda v=v: author_of(bad[:64] + bytes([v]), PAYLOAD), AUTHOR_SIGNATURE_INVALID)


def test_the_higher_s_has_the_same_author() -> None:
    high = signature(s=N - int.from_bytes(SIGNATURE[32:64]), v=SIGNATURE[64] ^ 1)
    assert has_higher_s(high)
    assert author_of(high, PAYLOAD) == ALICE.public


def test_another_recovery_id_or_payload_is_of_somebody_else() -> None:
    # Nobody can be named as the author without a signature of that author's.
    assert author_of(signature(v=SIGNATURE[64] ^ 1), PAYLOAD) not in (ALICE.public, BOB.public)
    assert author_of(SIGNATURE, b"another") not in (ALICE.public, BOB.public)


@pytest.mark.parametrize(
    "secret", [b"", b"\1", bytes(32), b"\1" * 31, b"\1" * 33, bytes(32) + b"\1", N.to_bytes(32), b"\xff" * 32]
)
def test_a_key_is_32_bytes_below_n(secret: bytes) -> None:
    with pytest.raises(ValueError, match="32 bytes") as caught:
        AuthorKey.from_secret(secret)
    assert repr(secret) not in str(caught.value)


def test_a_key_is_never_shown() -> None:
    secret = bytes.fromhex(STATUS["vectors"][0]["author_private_key"])
    assert secret.hex() not in repr(ALICE)
    assert repr(secret) not in repr(ALICE)
    assert AuthorKey.from_secret(secret) == ALICE
    assert ALICE != BOB
