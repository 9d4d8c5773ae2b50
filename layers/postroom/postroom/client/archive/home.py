"""The interface of a home, which stores containers: a folder, a bucket, a service. It sees encrypted bytes only."""

from typing import Final, NamedTuple, Protocol

from postroom.crypto.encodings import is_hex

MAX_CONTAINER_BYTES: Final = 64 * 1024 * 1024
"""More than any container has: a message of 20 MB with its metadata in a chunk of its own (dm3 §2.2.4)."""


class ConflictError(Exception):
    """The container is not the one that the write expected: nothing was written."""


class HomeObject(NamedTuple):
    """A stored container. `etag` changes with every write."""

    data: bytes
    etag: str


class Home(Protocol):
    """Single containers, each written as a whole, on a condition. All methods raise NotNowError(STORE_UNAVAILABLE)."""

    def get(self, key: str) -> HomeObject | None:
        """The container under a key, as the last write left it.

        Raises ContainerError if it is over MAX_CONTAINER_BYTES.
        """
        ...

    def put(self, key: str, data: bytes, *, etag: str | None) -> str:
        """Replace the container with this etag; None: there must be none. Returns the new etag. Raises ConflictError.

        When it returns, the data survives a crash of the machine. A conflict may be with an earlier attempt of the same
        call.
        """
        ...

    def delete(self, key: str) -> None:
        """Delete the container under a key, if there is one."""
        ...


def check_key(key: str) -> str:
    """The key, which can be a file's name. Raises ValueError."""
    if not is_hex(key, 32):
        raise ValueError(f"{key[:80]!r} is not the key of a container, which is 0x and the lower-case hex of a SHA-256")
    return key
