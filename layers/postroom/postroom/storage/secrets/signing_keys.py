"""Our signing keys, in one secret: `{"<domain>": {"selector": …, "pem": …}}`."""

from dataclasses import dataclass
from typing import Any

from postroom.core.errors import OurError
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.storage.secrets.secret import SecretKeys


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A domain's private key, and the selector under which its public key is published."""

    selector: str
    key: PrivateKey


class SigningKeys(SecretKeys):
    """The keys of our domains."""

    form = '{"<domain>": {"selector": "<selector>", "pem": "<PKCS#8>"}, …} (postroom domain add --key)'

    def of(self, domain: str) -> SigningKey | None:
        """The key of one of our domains; None: none is stored. Raises NotNowError(SIGNING_KEY_UNAVAILABLE)."""
        entry = self._secret.entries().get(domain)
        return self._signing_key(entry) if entry else None

    def first(self) -> tuple[str, SigningKey] | None:
        """The first of our domains with a key, and the key. Raises NotNowError(SIGNING_KEY_UNAVAILABLE)."""
        entries = self._secret.entries()
        domain = min(entries, default=None)
        return None if domain is None else (domain, self._signing_key(entries[domain]))

    def put(self, domain: str, selector: str, key: PrivateKey) -> None:
        """Store or replace a domain's key. Raises OurError if the secret is full."""
        self._secret.put({**self._secret.read(), domain: {"selector": selector, "pem": key.to_pem().decode("ascii")}})

    def _signing_key(self, entry: Any) -> SigningKey:
        try:
            return SigningKey(str(entry["selector"]), PrivateKey.from_pem(entry["pem"].encode()))
        except (OurError, AttributeError, KeyError, TypeError, ValueError):
            raise self._secret.malformed() from None
