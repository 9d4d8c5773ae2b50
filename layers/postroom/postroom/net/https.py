"""The HTTPS client for hosts that strangers name: no private networks, limited in time and size.

The name is resolved once for each request, by the given resolver. Each address is checked, the connection is made to
exactly that address, and its peer address is checked afterwards; a kept connection is used again only if it leads to an
address that was found and checked anew. TLS checks the certificate against the host name. Redirects are answers like
any other, proxies of the environment are ignored, and compressed answers are neither requested nor accepted.
"""

import re
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from math import inf
from typing import Protocol
from urllib.parse import urlsplit

import httpcore

from postroom.core.errors import NotNowError
from postroom.core.reasons import OUTBOUND_FAILED
from postroom.net.address_locks import AddressLocks
from postroom.net.failing_addresses import FailedRecentlyError, FailingAddresses
from postroom.net.pinned_connection import MAX_KEPT, KeptConnections, PinnedConnection
from postroom.net.reuse import GONE
from postroom.protocols.nlweb.names import is_host_name

Resolve = Callable[[str], Sequence[str]]
"""Host name → its addresses as text. An empty sequence means that there is no such host."""

_NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052 §2.1: the IPv4 address is in the last 32 bits

MAX_URL_CHARACTERS = 8192
"""The URL of a gateway has the data of a call in it, as digits: those of proofs are long."""
MAX_RESPONSE_BYTES = 1 << 20
"""Unless the caller sets another limit. The expected answers are a status, a manifest, or a JSON-RPC answer."""
MAX_ADDRESSES = 8
"""Addresses tried for one host, in the resolver's order: a stranger's zone must not make us connect to many hosts."""
FEW_ADDRESSES = 2
"""The same, where a forged message is enough to name the host."""


class NoSuchHostError(NotNowError):
    """The URL's host does not exist, according to the resolver; the reason is OutboundFailed."""


class UnusableUrlError(NotNowError):
    """The URL is one to which no request is made, whenever it is tried; the reason is OutboundFailed."""


class LongResponseError(NotNowError):
    """The answer is longer than is read; the reason is OutboundFailed."""


@dataclass(frozen=True, slots=True)
class HttpsResponse:
    """The other host's answer. `headers`: by lower-case name, repeated ones joined with ", "."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def may_change_soon(self) -> bool:
        """Whether there may be another answer soon: a fault of the server, or a request that came too early."""
        return self.status >= 500 or self.status in (408, 425, 429)


class HttpsRequests(Protocol):
    """Requests over HTTPS to hosts that strangers name; see HttpsClient."""

    def get(self, url: str, accept: str, seconds: float) -> HttpsResponse:
        """GET a URL. Raises NotNowError."""
        ...

    def post(self, url: str, body: bytes, content_type: str, *, seconds: float) -> HttpsResponse:
        """POST a body to a URL. Raises NotNowError."""
        ...


class HttpsClient:
    """Makes HTTPS requests, each over a connection of its own unless it keeps them; safe to share among threads."""

    def __init__(
        self,
        resolve: Resolve,
        *,
        port: int = 443,
        allow_private: bool = False,
        ca_file: str | None = None,
        connect_timeout: float = 3.0,
        total_timeout: float = 10.0,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
        max_addresses: int = MAX_ADDRESSES,
        failing: FailingAddresses | None = None,
        locks: AddressLocks | None = None,
        keep_connections: bool = False,
    ) -> None:
        """`allow_private` allows any address, and IP literals as hosts: for a stack on one machine.

        `ca_file` (PEM) replaces the system's certificate authorities. `connect_timeout` and `total_timeout` are
        seconds; the latter is for the whole exchange from the look-up on, however slowly the answer arrives. (`resolve`
        has a time limit of its own: it cannot be interrupted from here.) At most `max_addresses` of a host are tried.
        With `failing`, addresses that failed a moment ago are not tried, and those that fail are recorded there.
        With `locks`, there is one new connection to an address at a time; waiting for it is none of the seconds.
        With `keep_connections`, a connection is used again within a few seconds, and a request is made once more if
        that one turns out to be gone: for requests that only read.
        """
        self._resolve = resolve
        self._port = port
        self._allow_private = allow_private
        self._tls = ssl.create_default_context(cafile=ca_file)
        # httpcore would write it again for each connection, while OpenSSL may read it in other threads.
        self._tls.set_alpn_protocols(["http/1.1"])
        setattr(self._tls, "set_alpn_protocols", lambda _: None)  # noqa: B010 - a type checker minds
        self._connect_timeout = connect_timeout
        self._total_timeout = total_timeout
        self._max_response_bytes = max_response_bytes
        self._max_addresses = max_addresses
        self._failing = failing
        self._locks = locks
        self._keeps_connections = keep_connections
        self._kept = KeptConnections(MAX_KEPT if keep_connections else 0)

    def check(self, url: str) -> None:
        """Check that requests may be made to a URL. Raises UnusableUrlError."""
        split_url(url, self._port, allow_addresses=self._allow_private)

    def get(self, url: str, accept: str, seconds: float = inf) -> HttpsResponse:
        """GET an https URL within `seconds`, or less if `total_timeout` is less.

        Raises NotNowError (OutboundFailed) for every failure; NoSuchHostError, FailedRecentlyError, UnusableUrlError
        and LongResponseError are such.
        """
        return self._exchange("GET", url, [("Accept", accept)], None, seconds)

    def post(
        self,
        url: str,
        body: bytes,
        content_type: str,
        *,
        headers: Mapping[str, str] | None = None,
        seconds: float = inf,
    ) -> HttpsResponse:
        """POST a body to an https URL within `seconds`, with further headers. Raises as `get` does."""
        return self._exchange("POST", url, [("Content-Type", content_type), *(headers or {}).items()], body, seconds)

    def delete(self, url: str, *, headers: Mapping[str, str] | None = None, seconds: float = inf) -> HttpsResponse:
        """DELETE what an https URL names, within `seconds`, with further headers. Raises as `get` does."""
        return self._exchange("DELETE", url, [*(headers or {}).items()], None, seconds)

    def _exchange(
        self, method: str, url: str, headers: list[tuple[str, str]], body: bytes | None, seconds: float
    ) -> HttpsResponse:
        deadline = time.monotonic() + min(self._total_timeout, seconds)
        host, target = split_url(url, self._port, allow_addresses=self._allow_private)
        addresses = self._addresses(host)
        where = httpcore.URL(scheme="https", host=host, port=self._port, target=target)
        headers += [("User-Agent", "postroom"), ("Accept-Encoding", "identity")]
        if not self._keeps_connections:
            headers.append(("Connection", "close"))
        try:
            if kept := self._kept.take(where.origin, addresses):
                with suppress(*GONE):
                    return self._request(kept, method, where, headers, body, deadline)
            new = PinnedConnection(
                where.origin, self._tls, addresses, self._connect_timeout, self._failing, self._locks
            )
            return self._request(new, method, where, headers, body, deadline)
        except httpcore.TimeoutException as error:
            raise _failed(f"{host} did not answer in time") from error
        except httpcore.ProtocolError as error:
            raise _failed(f"{host} does not speak HTTP/1.1 as it should") from error
        except httpcore.NetworkError as error:
            if isinstance(error.__cause__, ssl.SSLCertVerificationError):
                raise _failed(f"the certificate of {host} was not accepted") from error
            raise _failed(f"no connection to {host}, or it broke") from error

    def _request(
        self,
        connection: PinnedConnection,
        method: str,
        where: httpcore.URL,
        headers: Sequence[tuple[str, str]],
        body: bytes | None,
        deadline: float,
    ) -> HttpsResponse:
        try:
            with connection.request(method, where, headers, body, deadline) as answer:
                response = self._read(answer, where.host.decode())
        except BaseException:
            connection.close()
            raise
        self._kept.keep(connection)
        return response

    def _addresses(self, host: str) -> list[IPv4Address | IPv6Address]:
        if self._allow_private and (literal := _as_address(host)):
            return [literal]
        try:
            answers = self._resolve(host)
        except (NotNowError, OSError) as error:
            raise _failed(f"{host} could not be looked up") from error
        if not answers:
            raise NoSuchHostError(OUTBOUND_FAILED, f"there is no host {host}")
        found = [address for address in map(_as_address, answers) if address]
        allowed = found if self._allow_private else [address for address in found if is_public(address)]
        if not allowed:
            raise _failed(f"{host} has no public address")
        if self._failing:
            free = self._failing.without(allowed)
            if not free:
                seconds = self._failing.seconds_left(allowed)
                raise FailedRecentlyError(
                    OUTBOUND_FAILED, f"{host} has only addresses that failed a moment ago", seconds
                )
            allowed = free
        return allowed[: self._max_addresses]

    def _read(self, answer: httpcore.Response, host: str) -> HttpsResponse:
        headers: dict[str, str] = {}
        for raw_name, raw_value in answer.headers:
            name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        if headers.get("content-encoding", "identity") != "identity":
            raise _failed(f"{host} answered in a compressed form that was not asked for")
        body = bytearray()
        for chunk in answer.iter_stream():
            body += chunk
            if len(body) > self._max_response_bytes:
                raise LongResponseError(
                    OUTBOUND_FAILED, f"{host} answered with more than {self._max_response_bytes} bytes"
                )
        return HttpsResponse(answer.status, headers, bytes(body))


def split_url(url: str, only_port: int, *, allow_addresses: bool = False) -> tuple[str, str]:
    """Check a URL (RFC 3986, RFC 9110 §4.2.2); returns the host name, and the path with the query.

    Raises UnusableUrlError unless it is https, without credentials, with a host name, and with that port or
    none.
    """
    if not re.fullmatch(r"[!-~]+", url) or len(url) > MAX_URL_CHARACTERS:
        raise _unusable("the URL has characters that a URL must not have, or too many")
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").removesuffix("."), parts.port
    except ValueError:
        raise _unusable("the URL is malformed") from None
    if parts.scheme != "https" or "@" in parts.netloc:
        raise _unusable("the URL is not of the form https://host/path")
    if port is not None and port != only_port:
        raise _unusable(f"the URL's port is not {only_port}")
    if not can_be_reached(host) and not (allow_addresses and _as_address(host)):
        raise _unusable("the URL's host is not a host name")
    return host, (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether this address is in the public Internet; an IPv4 address inside an IPv6 address is checked itself.

    These forms are unwrapped: IPv4-mapped (RFC 4291 §2.5.5.2), NAT64 (RFC 6052) and 6to4 (RFC 3056) addresses.
    """
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in _NAT64:
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
        if address.is_site_local:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def can_be_reached(host: str) -> bool:
    """Whether `host` is a host name, and not an address in another form.

    Some resolvers read "127.0x1" as an address: no existing top-level domain begins with a digit.
    """
    return is_host_name(host) and not host.rpartition(".")[2][0].isdigit()


def _as_address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None


def _failed(detail: str) -> NotNowError:
    return NotNowError(OUTBOUND_FAILED, detail)


def _unusable(detail: str) -> UnusableUrlError:
    return UnusableUrlError(OUTBOUND_FAILED, detail)
