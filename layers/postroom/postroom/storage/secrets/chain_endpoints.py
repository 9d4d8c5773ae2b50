"""The endpoints of the chain of ENS, in one secret, because the URLs of providers hold API keys."""

from collections.abc import Sequence
from typing import Any, Final

from postroom.core.errors import SettingsError
from postroom.storage.secrets.secret import SecretKeys

FORM: Final = '{} or {"endpoints": ["https://…", …]} (postroom dm3 chain put)'


class ChainEndpointUrls(SecretKeys):
    """The URLs, cached as in `Secret`."""

    form = FORM
    _read: tuple[dict[str, Any], tuple[str, ...]] = ({}, ())

    def get(self) -> tuple[str, ...]:
        """The URLs in the order of use; none: no chain is asked. Raises NotNowError(SIGNING_KEY_UNAVAILABLE)."""
        entries = self._secret.entries()
        if self._read[0] is not entries:
            try:
                self._read = (entries, read_chain_endpoints(entries))
            except SettingsError:
                raise self._secret.malformed() from None
        return self._read[1]

    def put(self, urls: Sequence[str]) -> None:
        """Store them, in place of others. Raises OurError if they are too long."""
        self._secret.put({"endpoints": list(urls)})


def read_chain_endpoints(value: object) -> tuple[str, ...]:
    """The URLs in the secret's form. Raises SettingsError, which quotes none."""
    urls = value.get("endpoints", []) if isinstance(value, dict) and value.keys() <= {"endpoints"} else None
    if not isinstance(urls, list) or not all(isinstance(url, str) for url in urls):
        raise SettingsError('endpoints are given as {"endpoints": ["https://…", …]}')
    if not urls:
        return ()
    # Most deployments have none.
    from postroom.net.endpoint_url import read_endpoint_url

    if len({read_endpoint_url(url).place for url in urls}) < len(urls):
        raise SettingsError("an endpoint is given twice: it would agree with itself")
    return tuple(urls)
