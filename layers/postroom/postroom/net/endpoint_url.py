"""URLs of endpoints that an operator names, which may hold a key: no error here quotes one."""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

from postroom.core.errors import SettingsError

FOR_HTTP: Final = "http:// is for addresses of one's own network only"
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

    @property
    def place(self) -> tuple[str, str, int, str]:
        """The same of all URLs that differ only in how they are written."""
        host = self.host.removesuffix(".")
        return self.scheme, str(_as_address(host) or host), self.port, self.target


def read_endpoint_url(text: str) -> EndpointUrl:
    """Read a URL. Raises SettingsError."""
    found = _URL.fullmatch(text)
    port = int(found[3]) if found and found[3] else None
    if found is None or (port is not None and not 1 <= port <= _MAX_PORT):
        raise _malformed()
    scheme, target = found[1].lower(), found[4]
    host = found[2].lower().strip("[]")
    address = _as_address(host)
    if address is None and ":" in host:
        raise _malformed()
    if scheme == "http" and address is not None and not is_in_own_network(address):
        raise SettingsError(f"{FOR_HTTP}; this one is not: use https://")
    return EndpointUrl(scheme, host, port or _PORTS[scheme], target if target.startswith("/") else f"/{target}")


def is_in_own_network(address: IPv4Address | IPv6Address) -> bool:
    """Whether it is a private or loopback address; an IPv4 address inside an IPv6 one is checked itself."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_private


def _as_address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _malformed() -> SettingsError:
    return SettingsError(
        f"the URL of an endpoint is not of the form https://host/path, without a user name ({FOR_HTTP})"
    )
