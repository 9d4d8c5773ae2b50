"""Keys of dm3: decision "Signatures", the derivation the reference has, and the form they are stored in."""

import base64
import hashlib
import json
from typing import Any

import coincurve
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.dm3.known import each_build, encryption_key, private_signing_key, public_signing_key, refused

from postroom.core.errors import TheirError
from postroom.protocols.dm3.keys import PrivateSigningKey, PublicSigningKey, UserKeys, read_user_keys, wallet_message
from postroom.protocols.dm3.reasons import PROFILE_INVALID

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
TEXT = b'{"a":1}'
BOTH = pytest.mark.parametrize(
    "key",
    [PrivateSigningKey.generate("secp256k1"), PrivateSigningKey.generate("ed25519")],
    ids=["secp256k1", "ed25519"],
)
OURS = ec.derive_private_key(0xD3, ec.SECP256K1())
SECP = PrivateSigningKey.decode("secp256k1:" + base64.b64encode((0xD3).to_bytes(32)).decode())
# Points of order 1, 2, 4 and 8 on Curve25519's Edwards form, and one in a form that is not canonical.
SMALL_ORDER = [
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
]


def b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def public_refusal(text: str) -> str:
    with pytest.raises(TheirError) as caught:
        PublicSigningKey.parse(text)
    return refused(caught, PROFILE_INVALID)


# --- which key it is ------------------------------------------------------------------------------------------


def test_a_public_key_of_33_or_65_bytes_is_secp256k1() -> None:
    for form in (PublicFormat.CompressedPoint, PublicFormat.UncompressedPoint):
        raw = OURS.public_key().public_bytes(Encoding.X962, form)
        key = PublicSigningKey.parse(b64(raw))
        assert key.algorithm == "secp256k1"
        assert key.encode() == b64(raw)
        assert key == SECP.public


def test_a_public_key_of_32_bytes_is_ed25519() -> None:
    raw = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    key = PublicSigningKey.parse(b64(raw))
    assert key.algorithm == "ed25519"
    assert key.encode() == b64(raw)


@pytest.mark.parametrize("length", [0, 31, 34, 64, 66])
def test_a_public_key_of_another_length_is_invalid(length: int) -> None:
    assert f"has {length} bytes" in public_refusal(b64(b"\x02" * length))


def test_the_hybrid_form_of_a_point_is_refused() -> None:
    raw = OURS.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    hybrid = bytes([6 + raw[-1] % 2]) + raw[1:]
    assert coincurve.PublicKey(hybrid).format(compressed=False) == raw, "the library would take it"
    assert "has 65 bytes" in public_refusal(b64(hybrid))


@pytest.mark.parametrize("raw", [b"\x02" + bytes(32), b"\x03" + b"\xff" * 32, b"\x04" + bytes(64), b"\x05" + bytes(32)])
def test_a_point_off_the_curve_is_refused(raw: bytes) -> None:
    assert "secp256k1" in public_refusal(b64(raw))


@pytest.mark.parametrize("raw", SMALL_ORDER)
def test_an_ed25519_key_of_small_order_is_refused(raw: str) -> None:
    assert "prime-order" in public_refusal(b64(bytes.fromhex(raw)))


@pytest.mark.parametrize("text", ["", " ", "AAA", "-_-_", "é", "\ud800", b64(bytes(32))[:-2] + "B="])
def test_a_key_must_be_base64(text: str) -> None:
    public_refusal(text)


@given(st.binary(min_size=30, max_size=70))
def test_arbitrary_bytes_are_a_key_or_refused(raw: bytes) -> None:
    try:
        assert PublicSigningKey.parse(b64(raw)).encode() == b64(raw)
    except TheirError as error:
        if error.reason is not PROFILE_INVALID:
            raise


@BOTH
def test_the_fingerprint_is_of_the_subject_public_key_info(key: PrivateSigningKey) -> None:
    raw = base64.b64decode(key.public.encode())
    if key.public.algorithm == "ed25519":
        spki = bytes.fromhex("302a300506032b6570032100") + raw
    else:
        spki = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256K1(), raw).public_bytes(
            Encoding.DER, PublicFormat.SubjectPublicKeyInfo
        )
    assert key.public.fingerprint == "SHA256:" + b64(hashlib.sha256(spki).digest()).rstrip("=")


# --- signing and verifying --------------------------------------------------------------------------------------


@BOTH
def test_a_signature_verifies_its_own_text_only(key: PrivateSigningKey) -> None:
    signature = key.sign(TEXT)
    assert len(signature) == 64
    assert key.public.verify(signature, TEXT)
    assert not key.public.verify(signature, TEXT + b" ")
    assert not PrivateSigningKey.generate(key.public.algorithm).public.verify(signature, TEXT)
    for at in range(64):
        assert not key.public.verify(signature[:at] + bytes([signature[at] ^ 1]) + signature[at + 1 :], TEXT)


@BOTH
@given(signature=st.binary(max_size=80))
def test_any_other_bytes_are_an_invalid_signature(key: PrivateSigningKey, signature: bytes) -> None:
    assert not key.public.verify(signature, TEXT)


def test_secp256k1_signs_the_sha256_of_the_text_as_another_library_sees_it() -> None:
    signature = SECP.sign(TEXT)
    r, s = int.from_bytes(signature[:32]), int.from_bytes(signature[32:])
    OURS.public_key().verify(utils.encode_dss_signature(r, s), TEXT, ec.ECDSA(SHA256()))


def low_and_high(signature: bytes) -> tuple[tuple[int, int], tuple[int, int]]:
    r, s = utils.decode_dss_signature(signature)
    return (r, min(s, ORDER - s)), (r, max(s, ORDER - s))


@given(st.binary(max_size=20))
def test_a_signature_of_another_library_verifies_in_either_form_but_with_the_lower_s_only(text: bytes) -> None:
    low, high = low_and_high(OURS.sign(text, ec.ECDSA(SHA256())))
    for (r, s), good in ((low, True), (high, False)):
        assert SECP.public.verify(r.to_bytes(32) + s.to_bytes(32), text) is good
        assert SECP.public.verify(utils.encode_dss_signature(r, s), text) is good


@given(st.binary(max_size=20))
def test_the_higher_s_is_told_apart_from_a_wrong_signature(text: bytes) -> None:
    low, high = low_and_high(OURS.sign(text, ec.ECDSA(SHA256())))
    for (r, s), is_higher in ((low, False), (high, True)):
        assert SECP.public.has_higher_s(r.to_bytes(32) + s.to_bytes(32)) is is_higher
        assert SECP.public.has_higher_s(utils.encode_dss_signature(r, s)) is is_higher
    assert not SECP.public.has_higher_s(b"neither form")
    assert not UserKeys.random("ed25519").signing.public.has_higher_s(b"\xff" * 64)


@given(st.binary(max_size=20))
def test_the_lower_s_is_emitted(text: bytes) -> None:
    assert int.from_bytes(SECP.sign(text)[32:]) <= ORDER // 2


@pytest.mark.parametrize("r", [0, 1, ORDER - 1, ORDER, 2**256 - 1])
@pytest.mark.parametrize("s", [0, 1, ORDER, 2**256 - 1])
def test_numbers_at_the_edge_of_the_range_are_refused(r: int, s: int) -> None:
    assert not SECP.public.verify(r.to_bytes(32) + s.to_bytes(32), TEXT)


def test_a_compact_number_that_begins_with_zeros_is_read() -> None:
    shortest = min((SECP.sign(text) for text in (b"%d" % n for n in range(700))), key=lambda s: s[:32])
    assert shortest[0] == 0, "one of 256 begins so"
    texts = [b"%d" % n for n in range(700) if SECP.sign(b"%d" % n) == shortest]
    assert SECP.public.verify(shortest, texts[0])


@each_build
def test_ed25519_signs_as_the_reference_does(build: dict[str, Any]) -> None:
    known = build["primitives"]["signature"]
    key = PrivateSigningKey.from_seed(base64.b64decode(known["seed"]))
    assert key.public == public_signing_key(known["keyPair"])
    assert b64(key.sign(known["message"].encode())) == known["signature"]


def test_other_algorithms_are_refused() -> None:
    with pytest.raises(ValueError, match="not by rsa"):
        PrivateSigningKey.generate("rsa")


# --- storing ------------------------------------------------------------------------------------------------------


@BOTH
def test_a_stored_key_is_the_same_key(key: PrivateSigningKey) -> None:
    again = PrivateSigningKey.decode(key.encode())
    assert again == key
    assert again.public.verify(again.sign(TEXT), TEXT)
    assert again.encode() == key.encode()


@BOTH
def test_no_repr_shows_a_key(key: PrivateSigningKey) -> None:
    secret = base64.b64decode(key.encode().partition(":")[2])
    shown = repr(key) + repr(UserKeys(key, encryption_key({"privateKey": b64(secret), "publicKey": b64(bytes(32))})))
    assert secret.hex() not in shown
    assert repr(secret)[2:-1] not in shown
    assert key.public.fingerprint in shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "rsa:" + b64(bytes(range(32))),
        b64(bytes(range(32))),
        "ed25519:",
        "ed25519:" + b64(b"k" * 31),
        "secp256k1:" + b64(b"k" * 33),
        "secp256k1:" + b64(bytes(32)),
        "secp256k1:" + b64(ORDER.to_bytes(32)),
        "secp256k1:é",
    ],
)
def test_an_invalid_stored_key_is_reported_without_showing_it(text: str) -> None:
    with pytest.raises(ValueError, match=r"secp256k1:|ed25519:") as caught:
        PrivateSigningKey.decode(text)
    secret = text.rpartition(":")[2]
    assert not secret or secret not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("algorithm", ["secp256k1", "ed25519"])
def test_a_users_keys_are_stored_as_json(algorithm: str) -> None:
    keys = UserKeys.random(algorithm)
    assert keys.signing.public.algorithm == algorithm
    assert read_user_keys(json.loads(json.dumps(keys.as_json()))) == keys


GOOD_KEYS = UserKeys.random().as_json()


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        "x",
        {},
        {"signing": GOOD_KEYS["signing"]},
        {**GOOD_KEYS, "encryption": None},
        {**GOOD_KEYS, "encryption": "AAAA"},
        {**GOOD_KEYS, "encryption": "é"},
        {**GOOD_KEYS, "signing": 5},
        {**GOOD_KEYS, "signing": "rsa:"},
    ],
)
def test_stored_keys_of_another_form_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"keys|key"):
        read_user_keys(value)


def test_users_sign_with_the_specifications_algorithm_by_default() -> None:
    assert UserKeys.random().signing.public.algorithm == "secp256k1"


# --- derived of a wallet --------------------------------------------------------------------------------------------


@each_build
@pytest.mark.parametrize("who", ["alice", "bob"])
def test_keys_derived_from_a_wallets_signature_are_the_references(build: dict[str, Any], who: str) -> None:
    known = build["profiles"][who]
    for signature in (known["storageKeyMessageSignature"], "0x" + known["storageKeyMessageSignature"][2:].upper()):
        keys = UserKeys.from_wallet_signature(signature)
        assert keys.encryption == encryption_key(known["encryptionKeyPair"])
        assert keys.signing == private_signing_key(known["signingKeyPair"])
        assert keys.signing.public == public_signing_key(known["signingKeyPair"])


@pytest.mark.parametrize(
    "signature", ["", "0x", "0x" + "0" * 129, "0x" + "0" * 128 + "0g", "0" * 130, "0x0x" + "0" * 128]
)
def test_an_invalid_wallet_signature_gives_no_keys(signature: str) -> None:
    with pytest.raises(ValueError, match="65 bytes"):
        UserKeys.from_wallet_signature(signature)


@each_build
@pytest.mark.parametrize("who", ["alice", "bob"])
def test_the_text_for_a_wallet_to_sign_is_the_references(build: dict[str, Any], who: str) -> None:
    known = build["profiles"][who]
    for address in (known["address"], known["address"].lower(), "0x" + known["address"][2:].upper()):
        assert wallet_message(address, known["nonce"]) == known["storageKeyMessage"]


@pytest.mark.parametrize(
    "address",
    # ERC-55's own examples
    [
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
        "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
        "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
    ],
)
def test_the_address_is_written_with_the_case_of_erc_55(address: str) -> None:
    assert f"\n{address}\n" in wallet_message(address.lower(), "1")


def test_an_address_whose_case_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="mistyped"):
        wallet_message("0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "1")


@pytest.mark.parametrize("address", ["", "0x", "alice.eth", "0x" + "0" * 39, "0x" + "0" * 41, "0x" + "g" * 40])
def test_an_invalid_address_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="40 hex digits"):
        wallet_message(address, "1")
