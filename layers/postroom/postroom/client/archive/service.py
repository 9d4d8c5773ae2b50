"""A home at the owner's post office: service storage (docs/receive/storage.md), by the mailbox client."""

from collections.abc import Iterator
from contextlib import contextmanager

from postroom.client.archive.home import MAX_CONTAINER_BYTES, ConflictError, HomeObject, check_key
from postroom.client.mailbox import ChangedMeanwhileError, ContainerTooLargeError, Mailbox, UnavailableError
from postroom.core.errors import NotNowError
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.protocols.dm3.containers import ContainerError


class ServiceHome:
    """Containers at the mailbox's host. The caller, who opened the mailbox, closes it.

    Errors of the mailbox client that a retry cannot help (another key, no room) are passed on: MailboxError.
    """

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox

    def get(self, key: str) -> HomeObject | None:
        """The container under a key. Raises NotNowError(STORE_UNAVAILABLE), ContainerError if it is too large."""
        with _passing():
            try:
                kept = self._mailbox.get_container(check_key(key), MAX_CONTAINER_BYTES)
            except ContainerTooLargeError as error:
                raise ContainerError(key, f"has {error.size} bytes, over {MAX_CONTAINER_BYTES}") from error
        return HomeObject(kept.data, kept.etag) if kept else None

    def put(self, key: str, data: bytes, *, etag: str | None) -> str:
        """Replace the container with this etag; None: there must be none. Returns the new etag.

        Raises ConflictError, NotNowError(STORE_UNAVAILABLE), StorageFullError.
        """
        with _passing():
            try:
                return self._mailbox.put_container(check_key(key), data, etag=etag)
            except ChangedMeanwhileError as error:
                raise ConflictError from error

    def delete(self, key: str) -> None:
        """Delete the container under a key, if there is one. Raises NotNowError(STORE_UNAVAILABLE)."""
        with _passing():
            self._mailbox.delete_container(check_key(key))


@contextmanager
def _passing() -> Iterator[None]:
    try:
        yield
    except UnavailableError as error:
        raise NotNowError(STORE_UNAVAILABLE, error.detail) from error
