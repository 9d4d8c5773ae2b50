"""URLs of endpoints that an operator names, which may hold a key: no error here quotes one."""

import re
from dataclasses import dataclass
from typing import Final

from postroom.core.errors import SettingsError

_PORTS: Final = {"https": 443, "http": 80}
_MAX_PORT: Final = 65_535
# Upon a name with an empty or a longer label, Python's resolver raises UnicodeError.
_LABEL: Final = "[a-z0-9-]{1,63}"
_HOST: Final = rf"{_LABEL}(?:\.{_LABEL})*\.?|\[[0-9a-f:]+(?:\.[0-9]{{1,3}}){{0,3}}\]"
# Without a user name, and without a fragment, which is never sent.
_URL: Final = re.compile(rf'(https?)://({_HOST})(?::([0-9]{{1,5}}))?(?![^/?])(/?[!"$-~]*)', re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True, repr=False)
class EndpointUrl:
    """Where requests are posted. `host`: all that may be shown of it; `target`: path and query."""

    scheme: str
    host: str
    port: int
    target: str


def read_endpoint_url(text: str) -> EndpointUrl:
    """Read a URL. Raises SettingsError."""
    found = _URL.fullmatch(text)
    port = int(found[3]) if found and found[3] else None
    if found is None or (port is not None and not 1 <= port <= _MAX_PORT):
        raise SettingsError("the URL of an endpoint is not of the form https://host/path, without a user name")
    scheme, target = found[1].lower(), found[4]
    host = found[2].lower().strip("[]")
    return EndpointUrl(scheme, host, port or _PORTS[scheme], target if target.startswith("/") else f"/{target}")
