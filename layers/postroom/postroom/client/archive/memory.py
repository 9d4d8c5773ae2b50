"""A home in memory: the containers of an export record while it is read or written."""

from collections.abc import Mapping
from itertools import count

from postroom.client.archive.home import ConflictError, HomeObject


class MemoryHome:
    """Containers in a dict."""

    def __init__(self, containers: Mapping[str, bytes] | None = None) -> None:
        self._etags = map(str, count())
        self._containers = {key: HomeObject(data, next(self._etags)) for key, data in (containers or {}).items()}

    def get(self, key: str) -> HomeObject | None:
        """The container under a key."""
        return self._containers.get(key)

    def put(self, key: str, data: bytes, *, etag: str | None) -> str:
        """Replace the container with this etag; None: there must be none.

        Returns the new etag. Raises ConflictError.
        """
        there = self._containers.get(key)
        if (there.etag if there else None) != etag:
            raise ConflictError
        self._containers[key] = found = HomeObject(data, next(self._etags))
        return found.etag

    def delete(self, key: str) -> None:
        """Delete the container under a key, if there is one."""
        self._containers.pop(key, None)

    def containers(self) -> dict[str, bytes]:
        """All containers, by key."""
        return {key: found.data for key, found in self._containers.items()}
