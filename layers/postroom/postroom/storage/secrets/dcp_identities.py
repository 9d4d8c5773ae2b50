"""The identities of the guardian of DCP, in one secret: `{"<epoch seconds>": "<random text>", …}`.

An identity and the secret of its sessions' names are derived from a text that Secrets Manager generated, so that nobody
who deploys ever sees one. All identities are guardians for as long as they are in the secret.
"""

from dataclasses import dataclass
from typing import Final

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp.session_names import SessionNames
from postroom.storage.secrets.dated_keys import DatedKeys

_KEY: Final = b"postroom dcp identity"
_NAMES: Final = b"postroom dcp session names"


@dataclass(frozen=True, slots=True)
class DcpIdentity:
    """An identity: its key, and the names of the sessions that it opens."""

    key: EthereumKey
    names: SessionNames


class DcpIdentities(DatedKeys[DcpIdentity]):
    """The identities, cached as in `Secret`."""

    form = '{"<epoch seconds>": "<random text>", …}, at least one of them in the past (postroom dcp identity rotate)'

    def newest_first(self) -> tuple[DcpIdentity, ...]:
        """The identities; the first opens sessions. Raises NotNowError(SIGNING_KEY_UNAVAILABLE)."""
        newest, all_ = self.newest_and_all()
        return all_[newest], *(identity for begun, identity in all_.items() if begun != newest)

    def derive(self, text: str) -> DcpIdentity:
        """The identity of a random text."""
        key = EthereumKey.from_secret(_bytes_of(text, _KEY))
        return DcpIdentity(key, SessionNames(key.address, _bytes_of(text, _NAMES)))


def _bytes_of(text: str, purpose: bytes) -> bytes:
    # HKDF (RFC 5869): the text is random, and longer than a key.
    return HKDF(SHA256(), 32, salt=None, info=purpose).derive(text.encode())
