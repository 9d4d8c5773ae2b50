"""The keys of the dm3 delivery service, in one secret (its form: `dm3.service`)."""

from typing import Any, Final

from postroom.core.errors import NotNowError
from postroom.core.reasons import SIGNING_KEY_UNAVAILABLE
from postroom.protocols.dm3.service import ServiceKeys, read_service_keys
from postroom.storage.secrets.secret import SecretKeys

FORM: Final = '{"signing": "<key>", "encryption": ["<key>", …]} (postroom dm3 keygen --service)'


class DeliveryServiceKeys(SecretKeys):
    """The keys of the dm3 delivery service. `needed`: missing keys are a fault; most deployments have none."""

    form = FORM
    needed = False
    _read: tuple[dict[str, Any], ServiceKeys] | None = None

    def get(self, *, fresh: bool = False) -> ServiceKeys:
        """The keys. `fresh`: read now, or at most two seconds ago.

        Raises NotNowError(SIGNING_KEY_UNAVAILABLE), also if none are stored.
        """
        entries = self._secret.entries(fresh=fresh)
        if self._read is None or self._read[0] is not entries:
            if not entries and not self.needed:
                raise NotNowError(SIGNING_KEY_UNAVAILABLE, "this delivery service has no dm3 keys")
            try:
                self._read = (entries, read_service_keys(entries))
            except (ValueError, KeyError, TypeError):
                raise self._secret.malformed() from None
        return self._read[1]

    def put(self, keys: ServiceKeys) -> None:
        """Store or replace the keys."""
        self._secret.put(keys.as_json())
