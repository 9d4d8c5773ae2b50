"""What carries the messages of a connection, and the transports that are known by the protocol of a URL."""

from collections.abc import Callable
from typing import Protocol, TypeAlias
from urllib.parse import urlsplit

from postroom.core.errors import SettingsError


class Transport(Protocol):
    """Carries messages between two ends. It neither reads nor changes them (DCP: Transport)."""

    async def send(self, message: bytes) -> None:
        """Send a message. Raises TransportError if it may not have arrived, MessageRefusedError if it was refused."""

    async def receive(self) -> bytes:
        """The next message. Raises TransportError if there will be none, MessageRefusedError if one was refused."""
        ...

    async def aclose(self) -> None:
        """Close it, at both ends. May be called again."""


OpenTransport: TypeAlias = Callable[[str], Transport]
"""Makes the transport to a URL. Raises SettingsError for one that it cannot use."""

_registered: dict[str, OpenTransport] = {}


def register(protocol: str, opens: OpenTransport) -> None:
    """Use a transport for all URLs with a protocol, such as "tcp" (DCP: Transport.require)."""
    _registered[protocol.lower().rstrip(":")] = opens


def protocol_of(url: str) -> str:
    """The protocol of a URL. Raises SettingsError."""
    try:
        return urlsplit(url).scheme
    except ValueError:
        raise SettingsError(f"{url!r} is not a URL") from None


def open_registered(url: str) -> Transport:
    """The transport to a URL, by what was registered for its protocol. Raises SettingsError."""
    protocol = protocol_of(url)
    if protocol not in _registered:
        raise SettingsError(
            f"no transport is known for {url!r}: use https:// or wss://, or register one for the protocol {protocol!r}"
        )
    return _registered[protocol](url)
