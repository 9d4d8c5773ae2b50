"""The setting that lists resolvers.

`tcp://9.9.9.9,tcp://1.1.1.1:53,udp://127.0.0.1:5353,https://dns.example/dns-query`
"""

import ipaddress
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from postroom.core.errors import SettingsError

Scheme = Literal["udp", "tcp", "https"]

_PORTS: dict[str, int] = {"udp": 53, "tcp": 53, "https": 443}


class Server(NamedTuple):
    """One resolver. `host` is an IP address, or for https a host name; `path` is only used for https."""

    scheme: Scheme
    host: str
    port: int
    path: str = ""

    def __str__(self) -> str:
        return f"{self.scheme}://{_bracketed(self.host)}:{self.port}{self.path}"


def parse_servers(text: str) -> tuple[Server, ...]:
    """The resolvers of a setting: comma-separated `SCHEME://HOST[:PORT]` (udp, tcp) or an https URL.

    A bare `HOST[:PORT]` is udp (with TCP when an answer was truncated). Raises `SettingsError`.
    """
    servers = tuple(_server(part.strip()) for part in text.split(",") if part.strip())
    if not servers:
        raise SettingsError("no DNS resolver is set; expected for example tcp://9.9.9.9,tcp://1.1.1.1")
    return servers


def _server(text: str) -> Server:
    wrong = f"DNS resolver {text!r} is not of the form udp://IP[:PORT], tcp://IP[:PORT] or https://HOST/PATH"
    try:
        url = urlsplit(text if "://" in text else f"udp://{_bracketed(text)}")
        host, port = url.hostname, url.port
    except ValueError as error:
        raise SettingsError(wrong) from error
    if url.scheme not in _PORTS or not host or url.username or url.query or url.fragment:
        raise SettingsError(wrong)
    if port is None:
        port = _PORTS[url.scheme]
    if url.scheme == "https":
        return Server("https", host, port, url.path or "/dns-query")
    # A resolver named by a host name would itself need a resolver.
    if url.path.strip("/") or not _is_ip(host):
        raise SettingsError(wrong)
    return Server("udp" if url.scheme == "udp" else "tcp", host, port)


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _bracketed(host: str) -> str:
    """A bare IPv6 address, as people write it, in the brackets that URLs need."""
    return f"[{host}]" if ":" in host and _is_ip(host) else host
