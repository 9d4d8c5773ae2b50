"""A connection to one of the addresses judged for a host, and connections that are kept for the next requests."""

import ssl
import time
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from ipaddress import IPv4Address, IPv6Address, ip_address
from threading import Lock
from typing import Final

import httpcore

from postroom.core.reasons import OUTBOUND_FAILED
from postroom.net.address_locks import AddressLocks
from postroom.net.failing_addresses import HELD_SECONDS, FailedRecentlyError, FailingAddresses
from postroom.net.reuse import close_all, close_with, is_reusable
from postroom.net.timed import TimedStream, seconds_left

KEPT_SECONDS: Final = 5.0
"""How long a connection that nobody uses may be used again."""
MAX_KEPT: Final = 8
"""Connections that are kept, to all hosts together."""


class PinnedConnection:
    """A connection to the first of these addresses that takes one, whatever the host's name resolves to by now.

    One request at a time uses it. `connect_timeout`: seconds for TCP, and for TLS. With `failing`, addresses that fail
    are recorded there. With `locks`, its first request locks the address that it is connected to.
    """

    def __init__(
        self,
        origin: httpcore.Origin,
        tls: ssl.SSLContext,
        addresses: Sequence[IPv4Address | IPv6Address],
        connect_timeout: float,
        failing: FailingAddresses | None,
        locks: AddressLocks | None,
    ) -> None:
        self._origin = origin
        self._backend = _PinnedBackend(addresses, connect_timeout, failing, locks)
        self._http = httpcore.HTTPConnection(origin, tls, network_backend=self._backend, keepalive_expiry=KEPT_SECONDS)

    @contextmanager
    def request(
        self, method: str, url: httpcore.URL, headers: Sequence[tuple[str, str]], body: bytes | None, deadline: float
    ) -> Iterator[httpcore.Response]:
        """The answer to a request, to be read before `deadline`, of time.monotonic, or later by a wait for a lock.

        Raises what httpcore raises, or FailedRecentlyError.
        """
        self._backend.begin(deadline)
        try:
            with self._http.stream(method, url, headers=headers, content=body) as answer:
                yield answer
        except httpcore.TimeoutException:
            self._backend.note_held()
            raise
        finally:
            self._backend.unlock()

    @property
    def is_reusable(self) -> bool:
        """Whether it can take another request, a moment after the last one."""
        return is_reusable(self._http)

    def leads_to(self, origin: httpcore.Origin, addresses: Collection[IPv4Address | IPv6Address]) -> bool:
        """Whether it was made for this host and port, to one of these addresses."""
        return self._origin == origin and self._backend.address in addresses

    def close(self) -> None:
        """Close it."""
        self._http.close()


class KeptConnections:
    """Connections that wait for another request, at most so many; safe to share among threads.

    They are closed with it: when nothing refers to it any more.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: deque[PinnedConnection] = deque()
        self._lock = Lock()
        close_with(self, self._kept)

    def take(
        self, origin: httpcore.Origin, addresses: Collection[IPv4Address | IPv6Address]
    ) -> PinnedConnection | None:
        """The one used last of those to this host, if it leads to one of these addresses; it is kept no longer."""
        with self._lock:
            unusable = [each for each in self._kept if not each.is_reusable]
            for each in unusable:
                self._kept.remove(each)
            close_all(unusable)
            for connection in reversed(self._kept):
                if connection.leads_to(origin, addresses):
                    self._kept.remove(connection)
                    return connection
        return None

    def keep(self, connection: PinnedConnection) -> None:
        """Keep one whose answer was read to its end, instead of the one that was used longest ago."""
        with self._lock:
            self._kept.append(connection)
            if len(self._kept) > self._most:
                self._kept.popleft().close()


class _PinnedBackend(httpcore.NetworkBackend):
    """Connects to the addresses it was given, in their order. `address`: the last one that it connected to."""

    def __init__(
        self,
        addresses: Sequence[IPv4Address | IPv6Address],
        connect_timeout: float,
        failing: FailingAddresses | None,
        locks: AddressLocks | None,
    ) -> None:
        self.address: IPv4Address | IPv6Address | None = None
        self._addresses = addresses
        self._connect_timeout = connect_timeout
        self._failing = failing
        self._locks = locks
        self._locked: IPv4Address | IPv6Address | None = None
        self._deadline = self._held_since = 0.0

    def begin(self, deadline: float) -> None:
        """Begin a request."""
        self._deadline, self._held_since = deadline, time.monotonic()

    def note_held(self) -> None:
        """Record the address that was connected to last as failing, if it has held us for long enough."""
        if self._failing and self.address and time.monotonic() - self._held_since >= HELD_SECONDS:
            self._failing.note(self.address)

    def connect_tcp(
        self,
        host: str,  # noqa: ARG002 - the point of this class
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the deadline rules
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        failure: Exception | None = None
        for address in self._addresses:
            try:
                self._lock(address)
            except FailedRecentlyError as error:
                # An address that was tried, and failed, says more.
                failure = failure or error
                continue
            seconds = min(self._connect_timeout, seconds_left(self._deadline))
            self.address, self._held_since = address, time.monotonic()
            try:
                stream = httpcore.SyncBackend().connect_tcp(str(address), port, seconds, local_address, socket_options)
            except httpcore.NetworkError as error:
                if self._failing:
                    self._failing.note(address)
                failure = error
                continue
            except httpcore.TimeoutException as error:
                self.note_held()
                failure = error
                continue
            if _peer(stream) != address:
                stream.close()
                raise httpcore.ConnectError("the connection leads to another address")
            return TimedStream(stream, lambda: seconds_left(self._deadline), self._connect_timeout)
        raise failure or httpcore.ConnectError("no address")

    def unlock(self) -> None:
        """Let other threads connect to the address that is locked, if one is."""
        if self._locks and self._locked:
            self._locks.release(self._locked)
        self._locked = None

    def _lock(self, address: IPv4Address | IPv6Address) -> None:
        """Lock an address. Raises FailedRecentlyError if it failed for another thread in the meantime."""
        self.unlock()
        if not self._locks:
            return
        began = time.monotonic()
        self._locks.acquire(address)
        self._deadline += time.monotonic() - began
        self._locked = address
        if self._failing and (left := self._failing.seconds_left([address])):
            raise FailedRecentlyError(OUTBOUND_FAILED, f"{address} failed a moment ago", left)


def _peer(stream: httpcore.NetworkStream) -> IPv4Address | IPv6Address | None:
    """The address at the other end; None: the connection was ended already."""
    try:
        return ip_address(stream.get_extra_info("server_addr")[0])
    except OSError:
        return None
