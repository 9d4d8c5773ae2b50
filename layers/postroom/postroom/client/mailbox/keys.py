"""The key that an owner signs in with, and opens dm3 messages with: an object, or a file."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from postroom.client.mailbox.session import Signer
from postroom.core.errors import OurError, TheirError
from postroom.core.ijson import parse
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.protocols.dm3.keys import UserKeys, read_user_keys

Key: TypeAlias = Signer | UserKeys | str | os.PathLike[str]
"""An object that signs, or the path of a file: PEM, or the output of `postroom dm3 keygen`.

The passphrase of an encrypted PEM is in the environment variable POSTROOM_KEY_PASSPHRASE.
"""

PASSPHRASE: Final = "POSTROOM_KEY_PASSPHRASE"  # noqa: S105 - the name of a variable

MAX_KEY_FILE_BYTES: Final = 16_384
"""The PEM of an RSA key with 8192 bits has some 6,400 bytes."""


def load_key(key: Key) -> Signer | UserKeys:
    """The object that signs, or the keys of a dm3 user.

    Raises OSError if the file cannot be read, OurError if it has no key; neither shows the key.
    """
    return read_key(Path(key)) if isinstance(key, str | os.PathLike) else key


def signer_of(key: Signer | UserKeys) -> Signer:
    """The object that signs."""
    return key.signing if isinstance(key, UserKeys) else key


def passphrase_of_environment() -> str:
    """The passphrase in POSTROOM_KEY_PASSPHRASE. Raises OurError if it is not set."""
    found = os.environ.get(PASSPHRASE)
    if found is None:
        raise OurError(f"the private key is encrypted: set {PASSPHRASE}")
    return found


def read_key(path: Path, passphrase: Callable[[], str] = passphrase_of_environment) -> PrivateKey | UserKeys:
    """The key in a file, or the keys of a dm3 user. Raises as `load_key` does."""
    with path.open("rb") as file:
        data = file.read(MAX_KEY_FILE_BYTES)
    try:
        if not data.lstrip().startswith(b"{"):
            return PrivateKey.from_pem(data, passphrase=passphrase)
        return read_user_keys(parse(data, max_bytes=MAX_KEY_FILE_BYTES))
    except OurError as error:
        raise OurError(f"{path}: {error}") from None
    except TheirError:
        raise OurError(f"{path} has no keys: it is not JSON; `postroom dm3 keygen` makes such a file") from None
    except ValueError as error:
        raise OurError(f"{path} has no keys: {error}") from None
