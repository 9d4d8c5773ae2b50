"""Locks of the addresses of other hosts: the threads of a process have one connection to an address at a time."""

from ipaddress import IPv4Address, IPv6Address
from threading import Condition

from postroom.net.failing_addresses import key_of


class AddressLocks:
    """The addresses to which a thread is connected; safe to share among threads.

    Addresses of one IPv6 network of 64 bits count as one, as in `FailingAddresses`.
    """

    def __init__(self) -> None:
        self._held: set[tuple[int, int]] = set()
        self._changed = Condition()

    def acquire(self, address: IPv4Address | IPv6Address) -> None:
        """Wait until no other thread is connected to an address.

        Every exchange has a deadline, and a batch has few messages, so each wait ends.
        """
        key = key_of(address)
        with self._changed:
            self._changed.wait_for(lambda: key not in self._held)
            self._held.add(key)

    def release(self, address: IPv4Address | IPv6Address) -> None:
        """Let the next thread connect to an address."""
        with self._changed:
            self._held.discard(key_of(address))
            self._changed.notify_all()
