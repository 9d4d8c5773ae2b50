"""Fuzzing of published keys and of signatures."""

from base64 import b64encode

import dns.rdata
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_der_public_key
from dkim.util import InvalidTagValueList, parse_tag_value
from tests.fuzz.entry import Entry, bit_flipped, fuzzed, outcome_of, place_in
from tests.fuzz.samples import ALICES, KEY, RSA_SPKI

from postroom.crypto.reasons import KEY_RECORD_INVALID, KEY_UNUSABLE
from postroom.crypto.rsa_ed25519 import (
    KeyRules,
    PrivateKey,
    PublicKey,
    ed25519_from_raw,
    public_key_from_pkcs1,
    public_key_from_spki,
)
from postroom.names.dns.records import TxtRecord
from postroom.protocols.dm3.keys import PrivateSigningKey, PublicSigningKey
from postroom.protocols.dm3.reasons import PROFILE_INVALID
from postroom.protocols.nlweb.key_record import (
    MAX_RECORD_BYTES,
    parse_key_record,
    record_strings,
    record_text,
    zone_line,
)
from postroom.protocols.nlweb.reasons import KEY_NOT_FOUND, KEY_REVOKED

RULES = KeyRules(allow_rsa_1024=True)
OF_KEYS = (KEY_RECORD_INVALID, KEY_UNUSABLE)

P_RSA, P_ED25519 = b64encode(RSA_SPKI), b64encode(KEY.public.spki()[-32:])
RSA_PKCS1 = RSA_SPKI[24:]
RECORDS = (
    b"v=DKIM1; k=ed25519; p=" + P_ED25519, b"v=DKIM1; k=rsa; p=" + P_RSA, b"p=" + b64encode(RSA_PKCS1),
    b" v = DKIM1 ;\tk=ed25519; h=sha1 : sha256; s=email:*; t=y; n=note; p=\r\n " + P_ED25519 + b" ;",
    b"v=DKIM1; p=", b"v=spf1 -all\0v=DKIM1; k=ed25519; p=" + P_ED25519, b"k=rsa; p=x\0p=y", b"v=DKIM1; v=DKIM1; p=a",
    b"v=DKIM1; k=ed25519; p=" + b64encode(KEY.public.spki()), b"v=DKIM1; k=rsa; p=" + b64encode(b"\1" + bytes(31)),
)  # fmt: skip


@fuzzed("protocols.nlweb.key_record", "crypto.rsa_ed25519", seeds=RECORDS, max_bytes=2 * MAX_RECORD_BYTES)
def key_record(data: bytes) -> None:
    """A key, or a discard; dkimpy reads the same tag list; the record we write of the key is read as the same key."""
    records = data.split(b"\0")
    found = outcome_of(lambda: parse_key_record(records, RULES), *OF_KEYS, KEY_NOT_FOUND, KEY_REVOKED)
    if not isinstance(found, PublicKey):
        return
    read = [tags for tags in map(_by_dkimpy, records) if b"p" in tags]
    kinds = {tags.get(b"k", b"rsa") for tags in read}
    assert found.algorithm.encode() in kinds, f"dkimpy reads a key of {kinds}"
    text = record_text(found)
    assert parse_key_record([text.encode()], RULES) == found
    record = dns.rdata.from_text("IN", "TXT", zone_line("a.example", text).removeprefix("a.example. IN TXT "))
    assert isinstance(record, TxtRecord)
    assert b"".join(record.strings).decode() == text == "".join(record_strings(text))


def _by_dkimpy(record: bytes) -> dict[bytes, bytes]:
    try:
        tags: dict[bytes, bytes] = parse_tag_value(record)
    except InvalidTagValueList:
        return {}
    return tags


@fuzzed("crypto.rsa_ed25519", seeds=(RSA_SPKI, RSA_PKCS1, KEY.public.spki(), KEY.public.spki()[-32:]), max_bytes=4096)
def keys_in_der(data: bytes) -> None:
    """A key, or a discard; what is taken is one proper encoding, and OpenSSL reads the same key of it."""
    for read in (public_key_from_spki, public_key_from_pkcs1):
        found = outcome_of(lambda read=read: read(data, RULES), *OF_KEYS)  # type: ignore[misc]
        if isinstance(found, PublicKey):
            assert public_key_from_spki(found.spki(), RULES) == found
            assert found.spki().endswith(data), "another encoding of a key is taken"
            loaded = load_der_public_key(found.spki())
            assert isinstance(loaded, RSAPublicKey if found.algorithm == "rsa" else Ed25519PublicKey)
            assert not isinstance(loaded, RSAPublicKey) or loaded.key_size == found.bits
    raw = outcome_of(lambda: ed25519_from_raw(data), *OF_KEYS)
    assert not isinstance(raw, PublicKey) or raw.spki().endswith(data)
    of_dm3 = outcome_of(lambda: PublicSigningKey.from_bytes(data), PROFILE_INVALID)
    assert not isinstance(of_dm3, PublicSigningKey) or PublicSigningKey.parse(of_dm3.encode()) == of_dm3


SIGNERS: tuple[PrivateKey | PrivateSigningKey, ...] = (
    KEY, PrivateKey.generate("rsa"), ALICES.signing, PrivateSigningKey.from_seed(b"a seed of thirty-two bytes, ours"),
)  # fmt: skip
"""Ed25519 and RSA of NLWeb; secp256k1 and Ed25519 of dm3."""


@fuzzed(
    "crypto.rsa_ed25519", "protocols.dm3.keys",
    seeds=(b"text", b"", bytes(64), ALICES.signing.sign(b"text"), bytes.fromhex("3006020101020101")),
    max_bytes=1024,
)  # fmt: skip
def signatures(data: bytes) -> None:
    """verify(sign(x)) is true by keys of all kinds; with one flipped bit in text or signature, or any bytes, false."""
    place = place_in(data)
    for key in SIGNERS:
        signature = key.sign(data)
        verify = key.public.verify
        assert verify(signature, data)
        assert not verify(bit_flipped(signature, place), data)
        assert not verify(signature, bit_flipped(data, place) if data else b"\0")
        assert not verify(data, b"a text that nobody signed"), "any bytes are a signature"


ENTRIES: tuple[Entry, ...] = (key_record, keys_in_der, signatures)
