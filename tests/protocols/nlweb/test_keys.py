"""Keys: decision "Key records", RFC 8017, RFC 8032, RFC 8301, RFC 8410."""

import dataclasses
import hashlib
from base64 import b64encode

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA1, SHA256, SHA512
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_der_public_key,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import examples

from postroom.core.errors import OurError, TheirError
from postroom.crypto.reasons import KEY_RECORD_INVALID, KEY_UNUSABLE
from postroom.crypto.rsa_ed25519 import (
    MAX_DER_BYTES,
    MAX_RSA_BITS,
    MAX_RSA_EXPONENT,
    MIN_RSA_BITS,
    KeyRules,
    PrivateKey,
    PublicKey,
    ed25519_from_raw,
    public_key_from_pkcs1,
    public_key_from_spki,
)

RSA = PrivateKey.generate("rsa")
ED25519 = PrivateKey.generate("ed25519")
BOTH = pytest.mark.parametrize("key", [RSA, ED25519], ids=["rsa", "ed25519"])
LARGE = rsa.generate_private_key(65537, 2048)
MODULUS = LARGE.public_key().public_numbers().n
P = 2**255 - 19  # the field of Ed25519


def element(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < 128:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8)
    return bytes([tag, 0x80 | len(length)]) + length + content


def integer(number: int) -> bytes:
    return element(0x02, number.to_bytes(number.bit_length() // 8 + 1, signed=True))


def pkcs1(modulus: int, exponent: int) -> bytes:
    return element(0x30, integer(modulus) + integer(exponent))


RSA_ENCRYPTION = bytes.fromhex("300d06092a864886f70d0101010500")
RSASSA_PSS = bytes.fromhex("300b06092a864886f70d01010a")


def spki(key: bytes, algorithm: bytes = RSA_ENCRYPTION) -> bytes:
    return element(0x30, algorithm + element(0x03, b"\0" + key))


def der_of(key: object) -> bytes:
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)  # type: ignore[attr-defined,no-any-return]


def refusal(der: bytes, rules: KeyRules = KeyRules()) -> TheirError:  # noqa: B008
    with pytest.raises(TheirError) as caught:
        public_key_from_spki(der, rules)
    return caught.value


# --- signing and verifying ----------------------------------------------------------------------------------


@BOTH
def test_a_signature_verifies_its_own_text_only(key: PrivateKey) -> None:
    signature = key.sign(b"text")
    assert key.public.verify(signature, b"text")
    assert not key.public.verify(signature, b"Text")
    assert not key.public.verify(signature[:-1] + bytes([signature[-1] ^ 1]), b"text")


@BOTH
def test_a_precomputed_digest_gives_the_same_verdict(key: PrivateKey) -> None:
    signature, digest = key.sign(b"text"), hashlib.sha256(b"text").digest()
    assert key.public.verify(signature, b"text", digest)
    assert not key.public.verify(signature, b"Text", hashlib.sha256(b"Text").digest())
    assert not key.public.verify(bytes(256), b"text", digest)


@BOTH
def test_another_key_does_not_verify_it(key: PrivateKey) -> None:
    assert not PrivateKey.generate(key.public.algorithm).public.verify(key.sign(b"text"), b"text")


@BOTH
@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 255, 256, 257, 100_000])
def test_any_bytes_are_an_invalid_signature_without_an_error(key: PrivateKey, length: int) -> None:
    assert not key.public.verify(bytes(length), b"text")
    assert not key.public.verify(b"\xff" * length, b"text")


def test_rsa_signs_with_pkcs1_v1_5_and_sha_256() -> None:
    ours = public_key_from_spki(der_of(LARGE.public_key()))
    assert ours.verify(LARGE.sign(b"text", padding.PKCS1v15(), SHA256()), b"text")
    for hash_ in (SHA1(), SHA512()):
        assert not ours.verify(LARGE.sign(b"text", padding.PKCS1v15(), hash_), b"text")


def test_pss_signatures_are_refused() -> None:
    ours = public_key_from_spki(der_of(LARGE.public_key()))
    for salt in (32, 0, padding.PSS.MAX_LENGTH):
        pss = padding.PSS(padding.MGF1(SHA256()), salt)  # type: ignore[arg-type]
        assert not ours.verify(LARGE.sign(b"text", pss, SHA256()), b"text")


def test_ed25519_signs_the_text_never_its_digest() -> None:
    public = ed25519.Ed25519PublicKey.from_public_bytes(ED25519.public.spki()[-32:])
    public.verify(ED25519.sign(b"text"), b"text")
    with pytest.raises(InvalidSignature):
        public.verify(ED25519.sign(b"text"), hashlib.sha256(b"text").digest())


def test_rfc_8032_section_7_1_test_2() -> None:
    public = ed25519_from_raw(bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"))
    signature = bytes.fromhex(
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    )
    assert public.verify(signature, b"\x72")
    assert not public.verify(signature, b"\x73")


def test_a_signature_with_s_not_reduced_is_refused() -> None:
    signature = ED25519.sign(b"text")
    order = 2**252 + 27742317777372353535851937790883648493
    moved = signature[:32] + (int.from_bytes(signature[32:], "little") + order).to_bytes(32, "little")
    assert not ED25519.public.verify(moved, b"text")


# --- Ed25519 keys of small order ------------------------------------------------------------------------------

IDENTITY = (1).to_bytes(32, "little")
FORGED = IDENTITY + bytes(32)  # R = identity, S = 0


def test_cryptography_accepts_one_signature_for_every_text_under_the_identity() -> None:
    """Why its verify is not used here: this raises nothing. When it does, this module may be thought over."""
    for text in (b"pay", b"do not pay"):
        ed25519.Ed25519PublicKey.from_public_bytes(IDENTITY).verify(FORGED, text)


ORDER_8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
SMALL = {
    "identity": 1,
    "order 2": P - 1,
    "order 4": 0,
    "order 4, sign set": 1 << 255,
    "order 8": ORDER_8,
    "order 8, sign set": ORDER_8 | 1 << 255,
    "order 8, the other": P - ORDER_8,
}
NOT_CANONICAL = {
    "0 as p": P,
    "1 as p + 1": P + 1,
    "identity, sign set": 1 | 1 << 255,
    "p + 3": P + 3,
    "2^255 - 1": 2**255 - 1,
}


@pytest.mark.parametrize("point", [*SMALL.values(), *NOT_CANONICAL.values()], ids=[*SMALL, *NOT_CANONICAL])
def test_points_of_small_order_and_in_other_than_canonical_form_are_refused(point: int) -> None:
    raw = point.to_bytes(32, "little")
    with pytest.raises(TheirError) as caught:
        ed25519_from_raw(raw)
    assert caught.value.reason is KEY_UNUSABLE
    assert refusal(bytes.fromhex("302a300506032b6570032100") + raw).reason is KEY_UNUSABLE


def test_bytes_that_are_not_a_point_are_refused() -> None:
    with pytest.raises(TheirError, match="KeyUnusable"):
        ed25519_from_raw((2).to_bytes(32, "little"))


@pytest.mark.parametrize("length", [0, 31, 33, 64])
def test_an_ed25519_key_has_32_bytes(length: int) -> None:
    with pytest.raises(TheirError, match=f"KeyRecordInvalid.* this one {length}"):
        ed25519_from_raw(bytes(length))
    assert refusal(bytes.fromhex("302a300506032b6570032100") + bytes(length)).reason in (KEY_RECORD_INVALID,)


# --- public keys as strangers write them -----------------------------------------------------------------------


@BOTH
def test_a_key_is_written_and_read_unchanged(key: PrivateKey) -> None:
    again = public_key_from_spki(key.public.spki())
    assert again == key.public
    assert hash(again) == hash(key.public)
    assert again.verify(key.sign(b"text"), b"text")


@BOTH
def test_the_fingerprint_is_of_the_subject_public_key_info(key: PrivateKey) -> None:
    digest = hashlib.sha256(key.public.spki()).digest()
    assert key.public.fingerprint == "SHA256:" + b64encode(digest).decode().rstrip("=")


def test_a_key_has_its_algorithm_and_bits() -> None:
    assert (RSA.public.algorithm, RSA.public.bits) == ("rsa", 2048)
    assert (ED25519.public.algorithm, ED25519.public.bits) == ("ed25519", 256)


def test_a_bare_rsa_public_key_is_the_same_key() -> None:
    bare = LARGE.public_key().public_bytes(Encoding.DER, PublicFormat.PKCS1)
    assert public_key_from_pkcs1(bare) == public_key_from_spki(der_of(LARGE.public_key()))


def odd(bits: int) -> int:
    return 2**bits - 1


@pytest.mark.parametrize(("end", "beyond"), [(MIN_RSA_BITS, MIN_RSA_BITS - 1), (MAX_RSA_BITS, MAX_RSA_BITS + 1)])
def test_the_length_of_a_modulus_is_limited(end: int, beyond: int) -> None:
    assert public_key_from_spki(spki(pkcs1(odd(end), 65537))).bits == end
    error = refusal(spki(pkcs1(odd(beyond), 65537)))
    assert error.reason is KEY_UNUSABLE
    assert f"{beyond} bits; {MIN_RSA_BITS} to {MAX_RSA_BITS}" in error.detail


@pytest.mark.parametrize("bits", [2049, 3072, 4096])
def test_rsa_of_sizes_between_is_accepted(bits: int) -> None:
    assert public_key_from_spki(spki(pkcs1(odd(bits), 65537))).bits == bits


@pytest.mark.parametrize("bits", [0, 1, 8, 512, 1024, 16384, 65536, 1_000_000])
def test_rsa_of_other_sizes_is_refused(bits: int) -> None:
    assert refusal(spki(pkcs1(odd(bits), 65537))).reason is KEY_UNUSABLE


def test_rsa_1024_is_accepted_by_setting_and_shorter_keys_are_not() -> None:
    rules = KeyRules(allow_rsa_1024=True)
    assert public_key_from_spki(spki(pkcs1(odd(1024), 65537)), rules).bits == 1024
    error = refusal(spki(pkcs1(odd(1023), 65537)), rules)
    assert error.reason is KEY_UNUSABLE
    assert "1023 bits; 1024 to 8192" in error.detail


def test_oversized_keys_are_refused_before_parsing() -> None:
    for read in (public_key_from_spki, public_key_from_pkcs1):
        for size, reason in ((MAX_DER_BYTES, KEY_RECORD_INVALID), (MAX_DER_BYTES + 1, KEY_UNUSABLE)):
            with pytest.raises(TheirError) as caught:
                read(bytes(size))
            assert caught.value.reason is reason


def test_the_size_of_an_exponent_is_limited() -> None:
    assert public_key_from_spki(spki(pkcs1(MODULUS, MAX_RSA_EXPONENT))).algorithm == "rsa"
    error = refusal(spki(pkcs1(MODULUS, MAX_RSA_EXPONENT + 2)))  # the next that is odd
    assert error.reason is KEY_UNUSABLE
    assert "exponent" in error.detail


@pytest.mark.parametrize("exponent", [3, 17, 65537])
def test_odd_exponents_from_3_are_accepted(exponent: int) -> None:
    assert public_key_from_spki(spki(pkcs1(MODULUS, exponent))).algorithm == "rsa"


@pytest.mark.parametrize(
    "exponent",
    [-3, -1, 0, 1, 2, 4, 65536, 2**32,
     pytest.param(MODULUS - 2, id="below n"), pytest.param(MODULUS + 2, id="above n")],
)  # fmt: skip
def test_other_exponents_are_refused(exponent: int) -> None:
    error = refusal(spki(pkcs1(MODULUS, exponent)))
    assert error.reason is KEY_UNUSABLE
    assert "exponent" in error.detail


@pytest.mark.parametrize("modulus", [0, -MODULUS, MODULUS + 1], ids=["zero", "negative", "even"])
def test_impossible_moduli_are_refused(modulus: int) -> None:
    assert refusal(spki(pkcs1(modulus, 65537))).reason is KEY_UNUSABLE


def test_a_pss_key_is_refused_though_cryptography_reads_it_as_plain_rsa() -> None:
    pss = spki(pkcs1(MODULUS, 65537), RSASSA_PSS)
    assert isinstance(load_der_public_key(pss), rsa.RSAPublicKey)
    assert refusal(pss).reason is KEY_UNUSABLE


@pytest.mark.parametrize(
    "key",
    [
        ec.generate_private_key(ec.SECP256R1()).public_key(),
        ec.generate_private_key(ec.SECP256K1()).public_key(),
        ed448.Ed448PrivateKey.generate().public_key(),
        dsa.DSAPublicNumbers(2**2047 + 3, dsa.DSAParameterNumbers(2**2047 + 9, 2**255 + 95, 2)),
    ],
    ids=["P-256", "secp256k1", "Ed448", "DSA"],
)
def test_keys_of_other_kinds_are_refused(key: object) -> None:
    if isinstance(key, dsa.DSAPublicNumbers):
        numbers = key.parameter_numbers
        parameters = element(0x30, integer(numbers.p) + integer(numbers.q) + integer(numbers.g))
        der = spki(integer(key.y), element(0x30, bytes.fromhex("06072a8648ce380401") + parameters))
    else:
        der = der_of(key)
    error = refusal(der)
    assert error.reason is KEY_UNUSABLE
    assert "kind" in error.detail


GOOD = spki(pkcs1(MODULUS, 65537))


@pytest.mark.parametrize(
    "der",
    [
        b"",
        b"\x30",
        b"\x30\x80",
        b"\x30\xff" + b"\xff" * 127,
        b"not DER at all",
        GOOD[:-1],
        GOOD + b"\0",
        pkcs1(MODULUS, 65537),  # no SubjectPublicKeyInfo
        spki(b""),
        spki(pkcs1(MODULUS, 65537) + b"\0"),
        spki(element(0x30, integer(MODULUS))),
        spki(element(0x30, integer(MODULUS) + integer(3) + integer(5))),
        spki(element(0x30, b"\x02\x82\x01\x02\0" + MODULUS.to_bytes(257) + integer(3))),  # not the shortest
        element(0x30, RSA_ENCRYPTION + element(0x03, b"\x01" + pkcs1(MODULUS, 65537))),  # unused bits
        element(0x30, RSA_ENCRYPTION + element(0x04, b"\x00" + pkcs1(MODULUS, 65537))),
        element(0x30, element(0x30, b"") + element(0x03, b"\x00" + pkcs1(MODULUS, 65537))),
    ],
)
def test_invalid_der_is_malformed(der: bytes) -> None:
    assert refusal(der).reason is KEY_RECORD_INVALID


def padded(der: bytes) -> bytes:
    """The same value, its outermost length in one octet more than it needs: BER, not DER."""
    assert der[:2] == b"\x30\x82"
    return b"\x30\x83\0" + der[2:]


def test_one_key_has_one_encoding_x_690_section_10_1() -> None:
    assert refusal(padded(GOOD)).reason is KEY_RECORD_INVALID
    with pytest.raises(TheirError, match="KeyRecordInvalid"):
        public_key_from_pkcs1(padded(pkcs1(MODULUS, 65537)))


def test_rsa_encryption_without_its_null_is_refused_rfc_3279_section_2_3_1() -> None:
    bare = spki(pkcs1(MODULUS, 65537), bytes.fromhex("300b06092a864886f70d010101"))
    assert refusal(bare).reason is KEY_UNUSABLE


@given(
    st.binary(max_size=100)
    | st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255), st.booleans()).map(
        lambda change: GOOD[: change[0]] + bytes([change[1]]) + GOOD[change[0] + change[2] :]
    )
)
@settings(max_examples=examples(500))
def test_mutated_keys_are_refused_or_written_back_identically(der: bytes) -> None:
    try:
        key = public_key_from_spki(der)
    except TheirError as error:
        assert error.reason in (KEY_RECORD_INVALID, KEY_UNUSABLE)  # noqa: PT017
    else:
        assert key.spki() == der
        assert not key.verify(bytes(256), b"text")


# --- our own keys ---------------------------------------------------------------------------------------------


@BOTH
def test_a_private_key_is_read_back_from_its_pem(key: PrivateKey) -> None:
    pem = key.to_pem()
    assert pem.startswith(b"-----BEGIN PRIVATE KEY-----")
    again = PrivateKey.from_pem(pem)
    assert again.public == key.public
    assert key.public.verify(again.sign(b"text"), b"text")


def test_a_pkcs1_pem_is_read_too() -> None:
    pem = LARGE.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    assert PrivateKey.from_pem(pem).public == public_key_from_spki(der_of(LARGE.public_key()))


@BOTH
def test_no_repr_shows_a_private_key(key: PrivateKey) -> None:
    assert "_key" not in repr(key)


@BOTH
def test_keys_cannot_be_changed(key: PrivateKey) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        key.public = RSA.public  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        key.public.bits = 1  # type: ignore[misc]


SMALL_RSA = rsa.generate_private_key(65537, 1024).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


@pytest.mark.parametrize(
    "pem",
    [
        b"",
        b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        LARGE.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")),
        ec.generate_private_key(ec.SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        SMALL_RSA,
    ],
    ids=["nothing", "no key", "encrypted", "P-256", "RSA of 1024 bits"],
)
def test_an_unusable_private_key_is_our_own_fault(pem: bytes) -> None:
    with pytest.raises(OurError):
        PrivateKey.from_pem(pem)


def test_a_private_key_of_1024_bits_is_accepted_by_setting() -> None:
    key = PrivateKey.from_pem(SMALL_RSA, KeyRules(allow_rsa_1024=True))
    assert key.public.verify(key.sign(b"text"), b"text")
    assert isinstance(key.public, PublicKey)


@pytest.mark.parametrize("key", [LARGE, ed25519.Ed25519PrivateKey.generate()], ids=["rsa", "ed25519"])
def test_an_encrypted_key_is_read_with_its_passphrase(key: rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey) -> None:
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption("pässword".encode()))
    assert PrivateKey.from_pem(pem, passphrase=lambda: "pässword").public == public_key_from_spki(
        der_of(key.public_key())
    )
    for passphrase, why in (("other", "encrypted with another passphrase"), ("", "there is no passphrase for it")):
        with pytest.raises(OurError, match=why):
            PrivateKey.from_pem(pem, passphrase=lambda given=passphrase: given)  # type: ignore[misc]


def test_no_passphrase_is_asked_for_a_key_that_is_not_encrypted() -> None:
    assert PrivateKey.from_pem(RSA.to_pem(), passphrase=lambda: pytest.fail("it is asked for")) == RSA
