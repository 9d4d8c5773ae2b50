"""Sealed values: decision "Encryption", and the known answers of the reference."""

import base64
import json
from typing import Any

import nacl.bindings
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.dm3.known import BUILDS, each_build, encryption_key, nonce_of, refused

from postroom.core.errors import TheirError
from postroom.crypto.encodings import decode_base64
from postroom.crypto.x25519 import EncryptionKey
from postroom.protocols.dm3.reasons import PROFILE_INVALID, SEALED_VALUE_INVALID
from postroom.protocols.dm3.sealing import SCHEME, open_sealed, seal

BOB = EncryptionKey.from_seed(bytes(range(32)))
EVE = EncryptionKey.from_seed(bytes(32))
SEALED = seal(b"hello bob", BOB.public)
# All points of order 1, 2, 4 and 8 on Curve25519 and its twist, in canonical form.
SMALL_ORDER = [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
]


def refusal(text: str, *keys: EncryptionKey) -> str:
    with pytest.raises(TheirError) as caught:
        open_sealed(text, keys or (BOB,))
    return refused(caught, SEALED_VALUE_INVALID)


def with_members(**members: object) -> str:
    return json.dumps({**json.loads(SEALED), **members})


def sealed_as_is(padded: bytes) -> str:
    """Seal without padding."""
    pair, nonce = EncryptionKey.generate(), bytes(12)
    _, session = nacl.bindings.crypto_kx_client_session_keys(pair.public, pair.private, BOB.public)
    ciphertext = nacl.bindings.crypto_aead_chacha20poly1305_ietf_encrypt(padded, None, nonce, session)
    return json.dumps(
        {
            "ciphertext": base64.b64encode(ciphertext).decode(),
            "ephemPublicKey": base64.b64encode(pair.public).decode(),
            "nonce": "0x" + nonce.hex(),
        }
    )


def sealed_values(build: dict[str, Any]) -> dict[str, tuple[str, EncryptionKey, EncryptionKey, str]]:
    """Every sealed value of a build: its text, whom to, with which ephemeral key, and its plaintext."""
    bob = encryption_key(build["profiles"]["bob"]["encryptionKeyPair"])
    service = encryption_key(build["deliveryService"]["keys"]["encryptionKeyPair"])
    asymmetric, envelope, postmark = build["primitives"]["asymmetric"], build["envelope"], build["postmark"]
    first, second = (encryption_key(pair) for pair in envelope["ephemeralKeysInOrder"])
    signed = json.dumps(build["message"]["message"], sort_keys=True, separators=(",", ":"))
    stamped = json.dumps(postmark["plain"], sort_keys=True, separators=(",", ":"))
    submitted = envelope["encryptedEnvelop"]
    return {
        "primitive": (
            asymmetric["payloadStringified"],
            encryption_key(asymmetric["recipient"]),
            encryption_key(asymmetric["ephemeral"]),
            asymmetric["plaintext"],
        ),
        "message": (submitted["message"], bob, first, signed),
        "delivery": (
            submitted["metadata"]["deliveryInformation"],
            service,
            second,
            envelope["deliveryInformationPlain"],
        ),
        "postmark": (postmark["encrypted"], bob, encryption_key(postmark["ephemeral"]), stamped),
    }


KNOWN = [
    pytest.param(*sealed, id=f"{build}-{name}")
    for build in BUILDS
    for name, sealed in sealed_values(BUILDS[build]).items()
]


@pytest.mark.parametrize(("text", "key", "ephemeral", "plain"), KNOWN)
def test_values_sealed_by_the_reference_open(
    text: str, key: EncryptionKey, ephemeral: EncryptionKey, plain: str
) -> None:
    assert open_sealed(text, [EVE, key]).decode() == plain


@pytest.mark.parametrize(("text", "key", "ephemeral", "plain"), KNOWN)
def test_with_the_references_keys_we_seal_the_same_bytes(
    text: str, key: EncryptionKey, ephemeral: EncryptionKey, plain: str
) -> None:
    assert seal(plain.encode(), key.public, ephemeral=ephemeral, nonce=nonce_of(text)) == text


@each_build
def test_keys_are_derived_from_seeds_as_by_the_reference(build: dict[str, Any]) -> None:
    exchange = build["primitives"]["keyExchange"]
    for who in "AB":
        assert EncryptionKey.from_seed(base64.b64decode(exchange[f"seed{who}"])) == encryption_key(exchange[who])
    service = build["deliveryService"]
    seed = base64.b64decode(service["seeds"]["encryption"])
    assert EncryptionKey.from_seed(seed) == encryption_key(service["keys"]["encryptionKeyPair"])


def test_a_private_key_has_one_public_key() -> None:
    assert EncryptionKey.from_private(BOB.private) == BOB


@pytest.mark.parametrize("make", [EncryptionKey.from_private, EncryptionKey.from_seed])
def test_a_private_key_of_another_length_is_invalid(make: Any) -> None:
    with pytest.raises(ValueError, match="31 bytes, not 32"):
        make(bytes(31))


def test_the_repr_of_a_key_does_not_show_its_private_half() -> None:
    assert repr(BOB.private) not in repr(BOB)
    assert repr(BOB.public) in repr(BOB)


def test_the_scheme_is_the_specifications_default() -> None:
    assert SCHEME == "x25519-chacha20-poly1305"


def test_a_sealed_value_is_a_json_text_with_three_members_sorted() -> None:
    members = json.loads(SEALED)
    assert list(members) == ["ciphertext", "ephemPublicKey", "nonce"]
    assert json.dumps(members, separators=(",", ":")) == SEALED


def test_ephemeral_key_and_nonce_are_fresh_for_each_value() -> None:
    first, second = (json.loads(seal(b"the same", BOB.public)) for _ in range(2))
    assert not set(first.values()) & set(second.values())


@given(st.binary(max_size=5000))
def test_a_sealed_value_opens(plaintext: bytes) -> None:
    text = seal(plaintext, BOB.public)
    assert open_sealed(text, [BOB]) == plaintext
    blocks = len(plaintext) // 2048 + 1
    assert len(base64.b64decode(json.loads(text)["ciphertext"])) == blocks * 2048 + 16


@pytest.mark.parametrize(
    "text", [SEALED.replace("0x", "\\u0030x"), SEALED.replace('"ciphertext":', '"ciphertext" : '), f" {SEALED}\n"]
)
def test_a_sealed_value_opens_from_any_json_form(text: str) -> None:
    assert open_sealed(text, [BOB]) == b"hello bob"


def test_any_of_several_keys_opens() -> None:
    old, new = EncryptionKey.generate(), EncryptionKey.generate()
    assert open_sealed(seal(b"x", old.public), [new, old]) == b"x"


def test_a_value_sealed_to_another_key_is_refused() -> None:
    assert "sealed to another key" in refusal(SEALED, EVE)


def test_no_key_opens_nothing() -> None:
    with pytest.raises(TheirError) as caught:
        open_sealed(SEALED, [])
    assert "sealed to another key" in refused(caught, SEALED_VALUE_INVALID)


@pytest.mark.parametrize("point", SMALL_ORDER)
def test_an_ephemeral_key_of_small_order_is_refused(point: str) -> None:
    key = base64.b64encode(bytes.fromhex(point)).decode()
    assert refusal(with_members(ephemPublicKey=key)) == "ephemPublicKey is of small order"


@pytest.mark.parametrize("point", SMALL_ORDER)
def test_a_receiver_key_of_small_order_is_refused(point: str) -> None:
    with pytest.raises(TheirError) as caught:
        seal(b"secret", bytes.fromhex(point))
    assert "small order" in refused(caught, PROFILE_INVALID)


def test_a_receiver_key_of_another_length_is_refused() -> None:
    with pytest.raises(TheirError) as caught:
        seal(b"secret", bytes(33))
    assert "33 bytes" in refused(caught, PROFILE_INVALID)


@pytest.mark.parametrize(
    "nonce",
    [
        "0x" + "00" * 11,
        "0x" + "00" * 13,
        "00" * 13,
        "0X" + "00" * 12,
        "0x" + "0g" * 12,
        "0x" + "00 " * 8,
        "0x" + "٠٠" * 12,
        "",
        None,
        0,
        [],
    ],
)
def test_a_nonce_is_0x_and_the_hex_of_twelve_bytes(nonce: object) -> None:
    assert "nonce" in refusal(with_members(nonce=nonce))


def test_hex_of_either_case_is_read() -> None:
    nonce = "0x" + nonce_of(SEALED).hex().upper()
    assert open_sealed(with_members(nonce=nonce), [BOB]) == b"hello bob"


@pytest.mark.parametrize("member", ["ciphertext", "ephemPublicKey"])
@pytest.mark.parametrize("value", ["!", "AAA", "AAAA\n", "AA=A", "AB==", "AAAA=", "AAAA====", "é", "A-_A", None, 5, {}])
def test_improper_base64_is_refused(member: str, value: object) -> None:
    assert member in refusal(with_members(**{member: value}))


@pytest.mark.parametrize("member", ["ciphertext", "ephemPublicKey", "nonce"])
def test_no_member_may_be_missing(member: str) -> None:
    members = json.loads(SEALED)
    del members[member]
    assert member in refusal(json.dumps(members))


def test_an_ephemeral_key_of_another_length_is_refused() -> None:
    assert "31 bytes" in refusal(with_members(ephemPublicKey=base64.b64encode(bytes(31)).decode()))


@pytest.mark.parametrize("padded", [b"", b"hello", bytes(2048), b"\x80" + bytes(2048), bytes(2047) + b"\x81"])
def test_a_plaintext_without_padding_is_refused(padded: bytes) -> None:
    assert "not padded" in refusal(sealed_as_is(padded))


@given(st.binary(max_size=3), st.integers(0, 4100), st.binary(max_size=3))
def test_padding_is_libsodiums(start: bytes, zeros: int, end: bytes) -> None:
    plaintext = start + bytes(zeros) + end
    padded = nacl.bindings.sodium_pad(plaintext, 2048)
    assert open_sealed(sealed_as_is(padded), [BOB]) == plaintext
    ours = json.loads(seal(plaintext, BOB.public, ephemeral=EVE, nonce=bytes(12)))["ciphertext"]
    _, session = nacl.bindings.crypto_kx_client_session_keys(EVE.public, EVE.private, BOB.public)
    theirs = nacl.bindings.crypto_aead_chacha20poly1305_ietf_encrypt(padded, None, bytes(12), session)
    assert base64.b64decode(ours) == theirs


def test_padding_may_fill_a_block_of_its_own() -> None:
    assert open_sealed(sealed_as_is(bytes(2048) + b"\x80" + bytes(2047)), [BOB]) == bytes(2048)


def symmetric_cases(build: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """The plaintexts of the symmetric primitive, and each sealed to Bob with the padding the reference gave it."""
    symmetric = build["primitives"]["symmetric"]
    sealed = {}
    for case in symmetric["cases"]:
        key, nonce = base64.b64decode(symmetric["key"]), bytes.fromhex(case["nonce"][2:])
        ciphertext = base64.b64decode(case["ciphertext"])
        padded = nacl.bindings.crypto_aead_chacha20poly1305_ietf_decrypt(ciphertext, None, nonce, key)
        plain = case["plaintext"]
        sealed[case["name"]] = (
            plain if isinstance(plain, str) else plain["repeat"] * plain["count"],
            sealed_as_is(padded),
        )
    return sealed


@each_build
def test_padding_is_that_of_the_reference(build: dict[str, Any]) -> None:
    cases = {name: case for name, case in symmetric_cases(build).items() if name.endswith("/2048")}
    assert len(cases) == 5
    for plain, sealed in cases.values():
        assert open_sealed(sealed, [BOB]).decode() == plain


@each_build
def test_padding_to_another_block_is_refused(build: dict[str, Any]) -> None:
    _, sealed = symmetric_cases(build)["ascii/1"]
    assert "not padded" in refusal(sealed)


@pytest.mark.parametrize("text", ["", "null", "[]", '"x"', "{}", "{", SEALED + "x", SEALED[:-1], "\ud800", "\ufeff{}"])
def test_json_of_another_form_is_refused(text: str) -> None:
    refusal(text)


def test_a_member_that_occurs_twice_is_refused() -> None:
    assert "twice" in refusal('{"nonce":"0x00",' + SEALED[1:])


@pytest.mark.parametrize("member", ["ciphertext", "ephemPublicKey"])
@pytest.mark.parametrize("at", [0, 17, -1])
def test_a_changed_bit_is_detected(member: str, at: int) -> None:
    raw = bytearray(base64.b64decode(json.loads(SEALED)[member]))
    raw[at] ^= 1
    assert "or was changed" in refusal(with_members(**{member: base64.b64encode(raw).decode()}))


def test_another_nonce_is_detected() -> None:
    assert "or was changed" in refusal(with_members(nonce="0x" + bytes(12).hex()))


@given(st.text() | st.text(st.characters(categories=["Cs"]), min_size=1))
def test_arbitrary_text_is_refused_and_nothing_else_happens(text: str) -> None:
    refusal(text)


@given(
    st.dictionaries(
        st.sampled_from(["ciphertext", "ephemPublicKey", "nonce"]),
        st.text()
        | st.binary(max_size=40).map(lambda raw: base64.b64encode(raw).decode())
        | st.binary(max_size=13).map(lambda raw: "0x" + raw.hex())
        | st.integers()
        | st.none()
        | st.lists(st.text(), max_size=2),
        min_size=1,
    )
)
def test_any_member_replaced_is_refused_and_nothing_else_happens(members: dict[str, object]) -> None:
    refusal(with_members(**members))


@given(st.integers(0, len(SEALED) - 1), st.characters(codec="utf-8"))
def test_any_character_replaced_is_refused_or_means_the_same(at: int, character: str) -> None:
    text = SEALED[:at] + character + SEALED[at + 1 :]
    if text.lower() == SEALED.lower() and json.loads(text)["nonce"] != json.loads(SEALED)["nonce"]:
        text = SEALED  # a hex digit of the nonce in the other case: the one change that changes nothing
    if text == SEALED:
        assert open_sealed(text, [BOB]) == b"hello bob"
    else:
        refusal(text)


@given(st.binary())
def test_base64_has_one_form(raw: bytes) -> None:
    assert decode_base64(base64.b64encode(raw).decode()) == raw


@given(st.text("A=", max_size=12) | st.text("AB/+=-_ \n", max_size=9))
def test_only_that_form_is_read(text: str) -> None:
    try:
        decoded = decode_base64(text)
    except ValueError:
        return
    assert base64.b64encode(decoded).decode() == text
