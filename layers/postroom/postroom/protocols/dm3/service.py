"""The delivery service's own keys, and its profile (dm3 §2.1.2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from postroom.crypto.x25519 import EncryptionKey
from postroom.protocols.dm3.keys import PrivateSigningKey
from postroom.protocols.dm3.profile import ServiceProfile


@dataclass(frozen=True, slots=True)
class ServiceKeys:
    """The keys. `encryption`: the newest first. Only that one is published; the older ones still open messages."""

    signing: PrivateSigningKey
    encryption: tuple[EncryptionKey, ...]

    @staticmethod
    def generate(algorithm: str = "secp256k1") -> "ServiceKeys":
        """New keys (decision "Signatures": secp256k1, or ed25519 as in the reference)."""
        return ServiceKeys(PrivateSigningKey.generate(algorithm), (EncryptionKey.generate(),))

    def rotated(self) -> "ServiceKeys":
        """The same keys with a new encryption key in front."""
        return ServiceKeys(self.signing, (EncryptionKey.generate(), *self.encryption))

    def profile(self, url: str) -> ServiceProfile:
        """The profile for senders. `url`: where envelopes are posted."""
        return ServiceProfile(self.encryption[0].public, self.signing.public, url)

    def as_json(self) -> dict[str, Any]:
        """The keys as they are stored in the secret."""
        return {
            "signing": self.signing.encode(),
            "encryption": [key.encode() for key in self.encryption],
        }


def read_service_keys(value: Mapping[str, Any]) -> ServiceKeys:
    """Read the keys from their JSON form. Raises ValueError, KeyError or TypeError for anything else."""
    signing, encryption = value["signing"], value["encryption"]
    if not isinstance(signing, str) or not encryption:
        raise TypeError("a delivery service's keys are a text, and a list of at least one")
    return ServiceKeys(
        PrivateSigningKey.decode(signing),
        tuple(map(EncryptionKey.decode, encryption)),
    )
