"""Our signing keys, in one secret: `{"<domain>": {"selector": …, "pem": …}}`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from postroom.core.errors import OurError
from postroom.core.own_faults import OwnFaults
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.storage.secrets.secret import Secret

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

_FORM: Final = '{"<domain>": {"selector": "<selector>", "pem": "<PKCS#8>"}, …} (postroom domain add --key)'


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A domain's private key, and the selector under which its public key is published."""

    selector: str
    key: PrivateKey


class SigningKeys:
    """The keys of our domains."""

    def __init__(
        self,
        secrets: "SecretsManagerClient",
        secret: str,
        clock: Callable[[], float],
        own_faults: OwnFaults | None = None,
    ) -> None:
        self._secret = Secret(secrets, secret, clock, _FORM, own_faults)

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
