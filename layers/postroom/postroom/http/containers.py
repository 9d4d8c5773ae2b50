"""Operations on containers of archives, stored for owners (dm3 chapter 3; decision "Containers").

Containers arrive encrypted. A response of Lambda has at most 6 MB, and base64 needs four thirds of the content's size.
So larger containers are read by Range, and uploaded in parts that are joined.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, TypeVar

from postroom.api.http import BYTES
from postroom.api.reasons import (
    CHANGED_MEANWHILE,
    CONTAINER_TOO_LARGE,
    CONTAINER_UNKNOWN,
    CONTENT_UNAVAILABLE,
    CURSOR_INVALID,
    MATCH_NEEDED,
    NOT_A_REQUEST,
    PART_UNKNOWN,
    STORAGE_FULL,
)
from postroom.api.schemas import (
    MAX_CONTAINER_BYTES,
    MAX_PART_BYTES,
    Container,
    Containers,
    NewPart,
    Parts,
    StorageUse,
)
from postroom.core.errors import NotNowError, TheirError
from postroom.crypto.encodings import is_hex
from postroom.http.conditions import check_match, check_write
from postroom.http.fetching import reading_contents
from postroom.http.private_responses import not_modified, respond_bytes
from postroom.http.ranges import whole_or_part
from postroom.http.request import HttpRequest
from postroom.http.request_parts import check_media, is_known
from postroom.http.response import HttpResponse
from postroom.storage.containers.rows import Part as StoredPart
from postroom.storage.containers.rows import StoredContainer
from postroom.storage.containers.store import Storage

PART_SECONDS: Final = 3600
"""How long a part may wait to be joined."""
_READ_TRIES: Final = 5
"""Each time a container is gone while it is read, somebody has written it again."""

T = TypeVar("T")


class ContainerService:
    """Handles requests. `clock`: epoch seconds. All methods raise NotNowError(STORE_UNAVAILABLE)."""

    def __init__(self, storage: Storage, clock: Callable[[], float]) -> None:
        self._storage = storage
        self._clock = clock

    def use(self, mailbox: str) -> StorageUse:
        """How much a mailbox stores, and may store."""
        use, most = self._storage.use(mailbox), self._storage.quota
        return StorageUse(use.containers, use.bytes, most.containers, most.bytes)

    def page(self, mailbox: str, after: str, limit: int) -> Containers:
        """Containers by key. Raises TheirError(CURSOR_INVALID)."""
        # A cursor is the key of the last container shown.
        if after and not is_hex(after, 32):
            raise TheirError(CURSOR_INVALID)
        found, more = self._storage.page(mailbox, after, limit)
        return Containers([_as_schema(each) for each in found], found[-1].key if found else after, more)

    def container(self, mailbox: str, key: str, request: HttpRequest) -> HttpResponse:
        """A container, or a part of it, all of one version.

        Raises TheirError: CONTAINER_UNKNOWN, CHANGED_MEANWHILE, RANGE_UNSATISFIABLE, NOT_A_REQUEST;
        NotNowError(CONTENT_UNAVAILABLE), too: it is there.
        """
        for _ in range(_READ_TRIES):
            found = self._find(mailbox, key)
            etag = _etag(found)
            check_match(request.headers, etag)
            if is_known(request.headers.get("if-none-match", ""), etag):
                return not_modified(etag)
            headers = {"ETag": etag, "Accept-Ranges": "bytes"}
            if request.method == "HEAD":
                # API Gateway sends the length of a body, and not the body: S3 need not be read for it.
                return _whole_or_part(found, "", headers, lambda first, end: bytes(end - first))
            with reading_contents(), suppress(KeyError):
                return _whole_or_part(
                    found, request.headers.get("range", ""), headers, partial(self._storage.read, found)
                )
        raise NotNowError(CONTENT_UNAVAILABLE)

    def put(self, mailbox: str, key: str, request: HttpRequest) -> tuple[Container, str]:
        """Store the body of a request under a key, and return the container with its ETag.

        Raises TheirError: MATCH_NEEDED, CHANGED_MEANWHILE, STORAGE_FULL, CONTAINER_TOO_LARGE, NOT_A_REQUEST,
        WRONG_CONTENT_TYPE, WRONG_CONTENT_ENCODING.
        """
        old, data = self._writable(mailbox, key, request.headers), _sealed(request)
        new = self._within_quota(mailbox, lambda: self._storage.put(mailbox, key, old, data))
        return _as_schema(new), _etag(new)

    def join(self, mailbox: str, key: str, headers: Mapping[str, str], wanted: Parts) -> tuple[Container, str]:
        """Join parts into a container under a key. If the condition does not hold, the parts are deleted.

        Raises TheirError: MATCH_NEEDED, CHANGED_MEANWHILE, PART_UNKNOWN, CONTAINER_TOO_LARGE, NOT_A_REQUEST.
        """
        if len(set(wanted.parts)) < len(wanted.parts):
            raise TheirError(NOT_A_REQUEST, "body: a part is named twice")
        parts = self._storage.find_parts(mailbox, wanted.parts)
        try:
            old = self._writable(mailbox, key, headers)
            self._check_parts(wanted, parts)
            new = self._storage.join(mailbox, key, old, parts)
        except TheirError as error:
            if error.reason == CHANGED_MEANWHILE:
                self._storage.drop(parts)
            raise
        return _as_schema(new), _etag(new)

    def add_part(self, mailbox: str, request: HttpRequest) -> NewPart:
        """Store the body of a request as a part.

        Raises TheirError: STORAGE_FULL, CONTAINER_TOO_LARGE, WRONG_CONTENT_TYPE, WRONG_CONTENT_ENCODING.
        """
        data = _sealed(request)
        now = int(self._clock())
        part = self._within_quota(mailbox, lambda: self._storage.add_part(mailbox, data, now))
        return NewPart(part.id, part.piece.size)

    def delete(self, mailbox: str, key: str, headers: Mapping[str, str]) -> None:
        """Delete a container.

        Raises TheirError: CONTAINER_UNKNOWN, MATCH_NEEDED, CHANGED_MEANWHILE, NOT_A_REQUEST.
        """
        found = self._find(mailbox, key)
        if "if-match" not in headers:
            raise TheirError(MATCH_NEEDED)
        check_match(headers, _etag(found))
        self._storage.delete(found)

    def _find(self, mailbox: str, key: str) -> StoredContainer:
        found = self._storage.find(mailbox, _check_key(key))
        if found is None:
            raise TheirError(CONTAINER_UNKNOWN)
        return found

    def _writable(self, mailbox: str, key: str, headers: Mapping[str, str]) -> StoredContainer | None:
        """The container under a key, if the request's condition allows to overwrite it."""
        old = self._storage.find(mailbox, _check_key(key))
        check_write(headers, _etag(old) if old else None)
        return old

    def _check_parts(self, wanted: Parts, found: Sequence[StoredPart]) -> None:
        if len(found) < len(wanted.parts) or any(part.at < self._stale() for part in found):
            raise TheirError(PART_UNKNOWN)
        if sum(part.piece.size for part in found) > MAX_CONTAINER_BYTES:
            raise TheirError(CONTAINER_TOO_LARGE, f"a container has at most {MAX_CONTAINER_BYTES} bytes")

    def _within_quota(self, mailbox: str, keep: Callable[[], T]) -> T:
        """Call `keep`; if there is no room, delete parts that can no longer be joined, and call it again."""
        try:
            return keep()
        except TheirError as error:
            if error.reason != STORAGE_FULL or not self._storage.drop_stale(mailbox, self._stale()):
                raise
        return keep()

    def _stale(self) -> int:
        return int(self._clock()) - PART_SECONDS


def _whole_or_part(
    found: StoredContainer, range_header: str, headers: Mapping[str, str], read: Callable[[int, int], bytes]
) -> HttpResponse:
    def part(first: int, end: int, more: Mapping[str, str], status: int) -> HttpResponse:
        return respond_bytes(read(first, end), {**headers, **more}, status=status)

    return whole_or_part(range_header, found.size, MAX_PART_BYTES, part)


def _check_key(key: str) -> str:
    if not is_hex(key, 32):
        raise TheirError(NOT_A_REQUEST, "the key of a container must be 0x and the lower-case hex of a SHA-256")
    return key


def _sealed(request: HttpRequest) -> bytes:
    """The body of a request, which must be bytes."""
    check_media(request, BYTES)
    if len(request.body) > MAX_PART_BYTES:
        raise TheirError(
            CONTAINER_TOO_LARGE, f"a request has at most {MAX_PART_BYTES} bytes; larger containers come in parts"
        )
    return request.body


def _etag(container: StoredContainer) -> str:
    return f'"{container.version}"'


def _as_schema(container: StoredContainer) -> Container:
    return Container(container.key, container.size, _etag(container))
