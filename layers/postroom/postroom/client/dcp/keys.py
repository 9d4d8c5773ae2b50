"""The key of an identity or of a resource, from a file."""

import os
from collections.abc import Callable
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ec import SECP256K1, EllipticCurvePrivateKey

from postroom.client.mailbox.keys import MAX_KEY_FILE_BYTES, passphrase_of_environment
from postroom.core.errors import OurError, TheirError
from postroom.core.ijson import parse
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.crypto.keystore import unlock
from postroom.crypto.pem import load_pem
from postroom.protocols.dm3.keys import read_user_keys

_SCALAR_BYTES = 32


def load_ethereum_key(
    path: str | os.PathLike[str], passphrase: Callable[[], str] = passphrase_of_environment
) -> EthereumKey:
    """The secp256k1 key in a file: a keystore of version 3, a PEM, or what `postroom dm3 keygen` writes.

    `passphrase`: called for a keystore or an encrypted PEM; by default, it is in the environment variable
    POSTROOM_KEY_PASSPHRASE. Raises OSError, or OurError if the file has no such key; neither shows it.
    """
    with Path(path).open("rb") as file:
        data = file.read(MAX_KEY_FILE_BYTES)
    try:
        return _of_json(data, passphrase) if data.lstrip().startswith(b"{") else _of_pem(data, passphrase)
    except (OurError, ValueError) as error:
        raise OurError(f"{path}: {error}") from None


def _of_json(data: bytes, passphrase: Callable[[], str]) -> EthereumKey:
    try:
        value = parse(data, max_bytes=MAX_KEY_FILE_BYTES)
    except TheirError:
        raise OurError("it has no key: it is neither JSON nor PEM") from None
    if isinstance(value, dict) and "version" in value:
        return unlock(value, passphrase())
    try:
        key = read_user_keys(value).signing.ethereum_key
    except ValueError:
        raise OurError("it is neither a keystore of version 3 nor what `postroom dm3 keygen` writes") from None
    if key is None:
        raise OurError("its signing key is an Ed25519 key; DCP needs one of secp256k1")
    return key


def _of_pem(data: bytes, passphrase: Callable[[], str]) -> EthereumKey:
    key = load_pem(data, passphrase)
    if not isinstance(key, EllipticCurvePrivateKey) or not isinstance(key.curve, SECP256K1):
        raise OurError("the private key is not one of secp256k1, which DCP needs")
    return EthereumKey.from_secret(key.private_numbers().private_value.to_bytes(_SCALAR_BYTES))
