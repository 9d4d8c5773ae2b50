"""Fuzzing of dm3's sealed values, and of the base64 in them."""

import binascii
import json

from tests.fuzz.entry import Entry, bit_flipped, fuzzed, outcome_of, place_in, text_of
from tests.fuzz.samples import ALICES, BOBS, SERVICES, SUBMITTED

from postroom.core.errors import TheirError
from postroom.crypto.encodings import decode_base64
from postroom.crypto.x25519 import EncryptionKey
from postroom.protocols.dm3.reasons import SEALED_VALUE_INVALID
from postroom.protocols.dm3.sealing import open_sealed, seal

KEYS = [BOBS.encryption, SERVICES.encryption]
ZERO = "A" * 43 + "="
SEALED = (
    SUBMITTED["message"], SUBMITTED["metadata"]["deliveryInformation"],
    json.dumps(json.loads(SUBMITTED["message"]), indent=1), SUBMITTED["message"].replace('"nonce"', '"n\\u006fnce"'),
    f'{{"ciphertext":"","ephemPublicKey":"{ZERO}","nonce":"0x{"0" * 24}"}}', "{}", "[]", '"', "",
)  # fmt: skip


@fuzzed("protocols.dm3.sealing", seeds=tuple(text.encode() for text in SEALED), max_bytes=16_384)
def sealed_values(data: bytes) -> None:
    """Opened, or refused; the short way through our own form opens what the strict parser's way opens, and the same."""
    text = text_of(data)
    found = outcome_of(lambda: open_sealed(text, KEYS), SEALED_VALUE_INVALID)
    # White space before it is JSON's, and no form of ours.
    slowly = outcome_of(lambda: open_sealed(" " + text, KEYS), SEALED_VALUE_INVALID)
    assert isinstance(found, TheirError) is isinstance(slowly, TheirError), f"{found!r}, but {slowly!r}"
    assert isinstance(found, TheirError) or found == slowly
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        assert isinstance(found, TheirError), "opened, and no JSON"
    else:
        assert isinstance(found, TheirError) or set(value) >= {"ciphertext", "ephemPublicKey", "nonce"}


@fuzzed(
    "protocols.dm3.sealing",
    seeds=(b"", b"text", b"\x80", b"\x80" + bytes(20), bytes(2048), b"a" * 2047),
    max_bytes=6000,
)
def sealing(data: bytes) -> None:
    """What is sealed is opened by its key and no other, not with one flipped bit; its length tells of blocks only."""
    text = seal(data, BOBS.encryption.public, ephemeral=ALICES.encryption, nonce=data[:12].ljust(12, b"n"))
    assert open_sealed(text, KEYS) == data
    assert len(text) == len(seal(b"x" * (len(data) // 2048 * 2048), BOBS.encryption.public))
    assert isinstance(_opened(text, SERVICES.encryption), TheirError), "another key opens it"
    broken = bit_flipped(text.encode(), place_in(data)).decode(errors="replace")
    # The nonce is hex, of which both cases are taken.
    if broken.lower() != text.lower() or broken[:-40] != text[:-40]:
        assert isinstance(_opened(broken, BOBS.encryption), TheirError), "opened with a flipped bit"


def _opened(text: str, key: EncryptionKey) -> object:
    return outcome_of(lambda: open_sealed(text, [key]), SEALED_VALUE_INVALID)


@fuzzed(
    "protocols.dm3.sealing", seeds=(b"", b"QQ==", b"QUI=", b"QUJD", b"QR==", b"Q", b"QQ=", b"====", b"Q Q=", b"-_8=")
)
def base64_texts(data: bytes) -> None:
    """Decoded as Python's own strict decoder has it, where that is the only text of these bytes; refused otherwise."""
    text = text_of(data)
    try:
        found: bytes | None = decode_base64(text)
    except ValueError:
        found = None
    try:
        expected = binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        assert found is None
    else:
        is_only = binascii.b2a_base64(expected, newline=False) == text.encode()
        assert found == (expected if is_only else None)


ENTRIES: tuple[Entry, ...] = (sealed_values, sealing, base64_texts)
