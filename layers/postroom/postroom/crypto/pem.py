"""Private keys in PEM, which may be encrypted by a passphrase."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.serialization import load_pem_private_key

from postroom.core.errors import OurError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes


def load_pem(pem: bytes, passphrase: Callable[[], str]) -> "PrivateKeyTypes":
    """The key in a PEM of any kind. `passphrase` is called if it is encrypted; empty: there is none.

    Raises OurError, because it is our own key.
    """
    try:
        return load_pem_private_key(pem, password=None)
    except TypeError:  # encrypted
        return _decrypted(pem, passphrase())
    except ValueError as error:
        raise OurError("the private key must be a PEM file (PKCS#8, PKCS#1 or SEC 1)") from error


def _decrypted(pem: bytes, passphrase: str) -> "PrivateKeyTypes":
    if not passphrase:
        raise OurError("the private key is encrypted, and there is no passphrase for it")
    try:
        return load_pem_private_key(pem, password=passphrase.encode())
    except ValueError as error:
        raise OurError("the private key is encrypted with another passphrase") from error
