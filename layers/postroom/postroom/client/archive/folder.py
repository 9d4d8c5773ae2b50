"""A home in a local folder: a file for each container. Several processes may use it at once.

A write holds a lock that the operating system releases when its process dies. The new content replaces the old at once
and completely. Readers need no lock.
"""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from postroom.client.archive.home import MAX_CONTAINER_BYTES, ConflictError, HomeObject, check_key
from postroom.client.files import sync_folder
from postroom.core.errors import NotNowError
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.protocols.dm3.containers import ContainerError

_LOCK: Final = ".lock"
_UNFINISHED: Final = ".unfinished"
"""The file that a write goes to first; under the lock there is only one."""


class FolderHome:
    """Containers in `folder`, which is created if it is missing, readable by its owner only."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, key: str) -> HomeObject | None:
        """The container under a key. Raises NotNowError(STORE_UNAVAILABLE), ContainerError if it is too large."""
        with self._passing():
            try:
                with self._path(key).open("rb") as file:
                    data = file.read(MAX_CONTAINER_BYTES + 1)
            except FileNotFoundError:
                return None
        if len(data) > MAX_CONTAINER_BYTES:
            raise ContainerError(key, f"has more than {MAX_CONTAINER_BYTES} bytes")
        return HomeObject(data, _etag(data))

    def put(self, key: str, data: bytes, *, etag: str | None) -> str:
        """Replace the container with this etag; None: there must be none. Returns the new etag.

        Raises ConflictError, NotNowError(STORE_UNAVAILABLE).
        """
        with self._passing(), self._locked():
            there = self.get(key)
            if (there.etag if there else None) != etag:
                raise ConflictError
            unfinished = self._folder / _UNFINISHED
            # Of a write that died, or a link that somebody planted: it must not be followed.
            unfinished.unlink(missing_ok=True)
            with unfinished.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(self._path(key))
            sync_folder(self._folder)
        return _etag(data)

    def delete(self, key: str) -> None:
        """Delete the container under a key, if there is one. Raises NotNowError(STORE_UNAVAILABLE)."""
        with self._passing(), self._locked():
            self._path(key).unlink(missing_ok=True)
            sync_folder(self._folder)

    def _path(self, key: str) -> Path:
        return self._folder / check_key(key)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self._folder / _LOCK).open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    @contextmanager
    def _passing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise NotNowError(STORE_UNAVAILABLE, f"the archive's folder {self._folder}: {error.strerror}") from error


def _etag(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
