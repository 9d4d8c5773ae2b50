"""Our signing keys, in one secret of Secrets Manager: `{"<domain>": {"selector": …, "pem": …}}`."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from botocore.exceptions import ClientError

from postroom.errors import NotNowError, OurError
from postroom.nlweb.keys import PrivateKey
from postroom.reasons import Reason
from postroom.store.aws import passing_faults

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

MAX_SECRET_BYTES: Final = 65_536
"""The most a secret holds: some 35 RSA-2048 keys, or 300 of Ed25519."""
_CACHE_SECONDS: Final = 45


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A domain's private key, and the selector its public half is published under."""

    selector: str
    key: PrivateKey


class SigningKeys:
    """The keys of our domains, cached so briefly that a change is seen within a minute."""

    def __init__(self, secrets: "SecretsManagerClient", secret: str, clock: Callable[[], float]) -> None:
        self._secrets = secrets
        self._secret = secret
        self._clock = clock
        self._expires = 0.0
        self._entries: dict[str, dict[str, str]] = {}

    def of(self, domain: str) -> SigningKey | None:
        """The key of one of our domains; None: none was stored. Raises NotNowError(SIGNING_KEY_UNAVAILABLE)."""
        entry = self._all().get(domain)
        return _signing_key(entry) if entry else None

    def first(self) -> tuple[str, SigningKey] | None:
        """The first of our domains with a key, and the key. Raises NotNowError(SIGNING_KEY_UNAVAILABLE)."""
        entries = self._all()
        domain = min(entries, default=None)
        return None if domain is None else (domain, _signing_key(entries[domain]))

    def _all(self) -> dict[str, dict[str, str]]:
        if self._clock() >= self._expires:
            self._entries = self._read()
            self._expires = self._clock() + _CACHE_SECONDS
        return self._entries

    def put(self, domain: str, selector: str, key: PrivateKey) -> None:
        """Store or replace a domain's key. Raises OurError where the secret is full."""
        entries = {**self._read(), domain: {"selector": selector, "pem": key.to_pem().decode("ascii")}}
        text = json.dumps(entries, sort_keys=True)
        if len(text.encode()) > MAX_SECRET_BYTES:
            raise OurError(
                f"the secret of signing keys would exceed {MAX_SECRET_BYTES} bytes with {len(entries)} keys; "
                "use Ed25519 keys, or a second deployment"
            )
        self._secrets.put_secret_value(SecretId=self._secret, SecretString=text)
        self._expires = 0.0

    def _read(self) -> dict[str, dict[str, str]]:
        try:
            with passing_faults(Reason.SIGNING_KEY_UNAVAILABLE):
                text = self._secrets.get_secret_value(SecretId=self._secret)["SecretString"]
        except ClientError as error:
            raise NotNowError(Reason.SIGNING_KEY_UNAVAILABLE) from error
        value = json.loads(text)
        return value if isinstance(value, dict) else {}


def _signing_key(entry: dict[str, str]) -> SigningKey:
    return SigningKey(entry["selector"], PrivateKey.from_pem(entry["pem"].encode()))
