"""The keys that sign owners' tokens, in one secret: `{"<epoch seconds>": "<random text>", …}`.

Each key is derived from a text that Secrets Manager generated, so that nobody who deploys ever sees one. It signs from
its time on, until a later key begins. What it signed is valid while the key is in the secret.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from postroom.storage.secrets.secret import SecretKeys

_PURPOSE: Final = b"postroom token key"


@dataclass(frozen=True, slots=True)
class TokenKeySet:
    """The key that signs now, its name, and all keys that verify, by their names."""

    kid: str
    signing: Ed25519PrivateKey
    verifying: Mapping[str, Ed25519PublicKey]


class TokenKeys(SecretKeys):
    """The keys, cached as in `Secret`."""

    form = '{"<epoch seconds>": "<random text>", …}, at least one of them in the past (postroom mailbox rotate-keys)'

    _derived: tuple[dict[str, Any], dict[str, Ed25519PrivateKey]] = ({}, {})

    def get(self) -> TokenKeySet:
        """The current keys. Raises NotNowError(SIGNING_KEY_UNAVAILABLE), also if there is none yet."""
        entries = self._secret.entries()
        if self._derived[0] is not entries:
            # A name that is not a number may be the text that belongs beside it: no error may quote it.
            if not all(kid.isdecimal() and isinstance(text, str) for kid, text in entries.items()):
                raise self._secret.malformed()
            self._derived = (entries, {kid: _derive(text) for kid, text in entries.items()})
        keys = self._derived[1]
        begun = [kid for kid in keys if int(kid) <= self._clock()]
        if not begun:
            raise self._secret.malformed()
        kid = max(begun, key=int)
        return TokenKeySet(kid, keys[kid], {name: key.public_key() for name, key in keys.items()})

    def add(self, text: str, begins_at: int, *, drop_before: int) -> None:
        """Add a key of this random text, which signs from `begins_at` on (epoch seconds).

        By then every instance must have read it. Keys that have signed nothing since `drop_before` are removed.
        """
        entries = self._secret.read()
        in_order = sorted(map(int, entries))
        # A key signs until the next one begins.
        over = {begun for begun, until in pairwise(in_order) if until < drop_before}
        kept = {kid: value for kid, value in entries.items() if int(kid) not in over}
        self._secret.put({**kept, str(begins_at): text})


def _derive(text: str) -> Ed25519PrivateKey:
    # HKDF (RFC 5869): the text is random, and longer than a key.
    seed = HKDF(SHA256(), 32, salt=None, info=_PURPOSE).derive(text.encode())
    return Ed25519PrivateKey.from_private_bytes(seed)
