"""Keys that are unlocked by a passphrase, for some time (DCP: unlockTimeout, Connection.Request.authorize)."""

import os
import time
from collections.abc import Callable
from threading import Lock

from postroom.client.dcp.keys import load_ethereum_key
from postroom.client.mailbox.keys import passphrase_of_environment
from postroom.core.errors import OurError
from postroom.crypto.ethereum import Address
from postroom.crypto.ethereum_keys import EthereumKey


class Keystore:
    """The key in a file, which is unlocked while it is used often enough. It may be shared among threads.

    account = Keystore("account.json", ask, seconds=300)
    connection.request("pay", {"amount": 7}).send(account)

    Python cannot erase a key from memory: what is locked asks for its passphrase again, and no more.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        passphrase: Callable[[], str] = passphrase_of_environment,
        *,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`path`, `passphrase`: as for `load_ethereum_key`. `seconds`: how long the key stays unlocked after each use;
        `clock`: seconds, which only go on. Raises ValueError.
        """
        if not seconds >= 0:
            raise ValueError(f"seconds is {seconds}; it must be 0 or more")
        self._path, self._passphrase, self._seconds, self._clock = path, passphrase, seconds, clock
        self._key: EthereumKey | None = None
        self._address: Address | None = None
        self._locks_at = 0.0
        self._alone = Lock()
        """So that several threads ask once."""

    def __repr__(self) -> str:
        return f"<Keystore of {self._path}>"

    def unlock(self) -> EthereumKey:
        """The key; if it is locked, the passphrase is asked for.

        Raises what `load_ethereum_key` and the passphrase's function raise, and OurError if the file has the key of
        another address than before.
        """
        with self._alone:
            if self._key is None or self._clock() >= self._locks_at:
                self._key = None
                self._key = self._load()
            self._locks_at = self._clock() + self._seconds
            return self._key

    def lock(self) -> None:
        """Ask for the passphrase when the key is next used."""
        with self._alone:
            self._key = None

    def _load(self) -> EthereumKey:
        key = load_ethereum_key(self._path, self._passphrase)
        if self._address not in (None, key.address):
            raise OurError(f"{self._path}: it has the key of another address than {self._address}, as before")
        self._address = key.address
        return key


AnyKey = EthereumKey | Keystore
"""What authorizes requests."""


def unlocked(key: AnyKey) -> EthereumKey:
    """The key itself. Raises as `Keystore.unlock` does."""
    return key.unlock() if isinstance(key, Keystore) else key
