"""The interface of a home, which stores containers: a folder, a bucket, a service. It sees sealed bytes."""

from typing import Final, NamedTuple, Protocol

from postroom.crypto.encodings import is_hex

MAX_CONTAINER_BYTES: Final = 64 * 1024 * 1024
"""More than any container has: a message of 20 MB with its metadata in a chunk of its own (dm3 §2.2.4)."""


class ConflictError(Exception):
    """What is under the key is not what a write supposed to be there: it was not made."""


class HomeObject(NamedTuple):
    """What is under a key. `etag`: another one after each write."""

    data: bytes
    etag: str


class Home(Protocol):
    """Single containers, each written whole, under a condition. All raise NotNowError(STORE_UNAVAILABLE)."""

    def get(self, key: str) -> HomeObject | None:
        """What is there, as the last write left it. Raises ContainerError where it is over MAX_CONTAINER_BYTES."""
        ...

    def put(self, key: str, data: bytes, *, etag: str | None) -> str:
        """Replace what has this etag; None: what is not there yet. The new etag. Raises ConflictError.

        When it returns, what was written survives the machine. A conflict may be with an earlier try of the same call.
        """
        ...

    def delete(self, key: str) -> None:
        """See that nothing is there."""
        ...


def check_key(key: str) -> str:
    """The key, which is fit for a file's name. Raises ValueError."""
    if not is_hex(key, 32):
        raise ValueError(f"{key[:80]!r} is no key of a container: 0x and the lower-case hex of a SHA-256")
    return key
