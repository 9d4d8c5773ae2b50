"""The keys that sign owners' tokens, in one secret: `{"<epoch seconds>": "<random text>", …}`.

Each key is derived from a text that Secrets Manager generated, so that nobody who deploys ever sees one. It signs from
its time on, until a later key begins. What it signed is valid while the key is in the secret.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from postroom.storage.secrets.dated_keys import DatedKeys

_PURPOSE: Final = b"postroom token key"


@dataclass(frozen=True, slots=True)
class TokenKeySet:
    """The key that signs now, its name, and all keys that verify, by their names."""

    kid: str
    signing: Ed25519PrivateKey
    verifying: Mapping[str, Ed25519PublicKey]


class TokenKeys(DatedKeys[Ed25519PrivateKey]):
    """The keys, cached as in `Secret`."""

    form = '{"<epoch seconds>": "<random text>", …}, at least one of them in the past (postroom mailbox rotate-keys)'

    def get(self) -> TokenKeySet:
        """The current keys. Raises NotNowError(SIGNING_KEY_UNAVAILABLE), also if there is none yet."""
        kid, keys = self.newest_and_all()
        return TokenKeySet(kid, keys[kid], {name: key.public_key() for name, key in keys.items()})

    def derive(self, text: str) -> Ed25519PrivateKey:
        """The key of a random text."""
        # HKDF (RFC 5869): the text is random, and longer than a key.
        seed = HKDF(SHA256(), 32, salt=None, info=_PURPOSE).derive(text.encode())
        return Ed25519PrivateKey.from_private_bytes(seed)
