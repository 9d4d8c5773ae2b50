"""A dm3 message for the benchmarks, and the bare library calls of the delivery service step."""

import hashlib
import os
from base64 import b64decode, b64encode
from collections.abc import Callable
from functools import partial
from typing import Final

import coincurve
import orjson
from nacl.bindings import (
    crypto_aead_chacha20poly1305_ietf_decrypt,
    crypto_aead_chacha20poly1305_ietf_encrypt,
    crypto_kx_client_session_keys,
    crypto_kx_keypair,
    crypto_kx_server_session_keys,
    sodium_pad,
)
from nacl.signing import SigningKey

from postroom.core.canonical import stringify
from postroom.crypto.x25519 import EncryptionKey
from postroom.protocols.dm3.envelope import DeliveryInformation, write_envelope
from postroom.protocols.dm3.keys import Algorithm, PrivateSigningKey
from postroom.protocols.dm3.message import MessageMetadata, MessageType
from postroom.protocols.dm3.postmark import make_postmark
from postroom.protocols.dm3.sealing import BLOCK_BYTES, NONCE_BYTES, open_sealed
from postroom.protocols.dm3.sign import sign_message

NOW_MS: Final = 1_797_000_000_000


class Sample:
    """A message of Alice to Bob, and its envelope for Bob's delivery service."""

    def __init__(self, algorithm: Algorithm, size: int) -> None:
        self.algorithm: Algorithm = algorithm
        self.secret = os.urandom(32)
        self.key = PrivateSigningKey.decode(f"{algorithm}:{b64encode(self.secret).decode()}")
        """The signing key of Alice, and of the service, because both cost the same."""
        self.service_pair, self.bobs_pair = EncryptionKey.generate(), EncryptionKey.generate()
        self.delivery = DeliveryInformation("bob.eth", "alice.eth")
        message = sign_message("x" * size, MessageMetadata("bob.eth", "alice.eth", NOW_MS, MessageType.NEW), self.key)
        self.plaintext = message.encode()
        self.envelope = write_envelope(
            message,
            delivery=self.delivery,
            receiver_key=self.bobs_pair.public,
            service_key=self.service_pair.public,
            signing=self.key,
        )

    def postmark(self) -> str:
        """The postmark of the envelope, sealed for Bob."""
        return make_postmark(self.envelope.message, self.delivery, NOW_MS, self.key, self.bobs_pair.public)


def bare_step(sample: Sample) -> Callable[[], object]:
    """A function that opens, checks, hashes, signs and seals; the libraries raise if something is wrong."""
    data, message = sample.envelope.encode().encode(), sample.envelope.message.encode()
    postmark = open_sealed(sample.postmark(), [sample.bobs_pair])
    open_delivery = bare_open(sample.envelope.metadata.delivery_information, sample.service_pair)
    check, sign = _signatures(sample, postmark)
    seal_postmark = bare_seal(postmark, sample.bobs_pair)

    def bare() -> None:
        orjson.loads(data)
        open_delivery()
        check()
        hashlib.sha256(message).digest()
        sign()
        seal_postmark()

    return bare


def bare_seal(plaintext: bytes, pair: EncryptionKey) -> Callable[[], object]:
    """A function that seals: a new key pair, the key agreement, the cipher."""
    padded, nonce = sodium_pad(plaintext, BLOCK_BYTES), os.urandom(NONCE_BYTES)

    def bare() -> None:
        public, private = crypto_kx_keypair()
        _, session = crypto_kx_client_session_keys(public, private, pair.public)
        crypto_aead_chacha20poly1305_ietf_encrypt(padded, None, nonce, session)

    return bare


def bare_open(text: str, pair: EncryptionKey) -> Callable[[], object]:
    """A function that opens: the key agreement and the cipher."""
    value = orjson.loads(text)
    ephemeral, ciphertext = b64decode(value["ephemPublicKey"]), b64decode(value["ciphertext"])
    nonce = bytes.fromhex(value["nonce"][2:])

    def bare() -> None:
        session, _ = crypto_kx_server_session_keys(pair.public, pair.private, ephemeral)
        crypto_aead_chacha20poly1305_ietf_decrypt(ciphertext, None, nonce, session)

    return bare


def _signatures(sample: Sample, postmark: bytes) -> tuple[Callable[[], object], Callable[[], object]]:
    """Functions that check the signature of the metadata and sign the postmark, both of the SHA-256."""
    signed = stringify(sample.envelope.metadata.unsigned())
    if sample.algorithm == "secp256k1":
        secp256k1 = coincurve.PrivateKey(sample.secret)
        return partial(secp256k1.public_key.verify, secp256k1.sign(signed), signed), partial(secp256k1.sign, postmark)
    ed25519 = SigningKey(sample.secret)
    check = partial(ed25519.verify_key.verify, signed, ed25519.sign(signed).signature)
    return check, lambda: ed25519.sign(hashlib.sha256(postmark).digest())
