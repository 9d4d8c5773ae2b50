"""Containers stored at the mailbox's host (docs/receive/storage.md), as steps. Sans-I/O."""

from typing import Final, NamedTuple
from urllib.parse import quote

import msgspec

from postroom.api import schemas
from postroom.api.reasons import CONTAINER_UNKNOWN, NOT_A_REQUEST
from postroom.api.schemas import MAX_CONTAINER_BYTES, MAX_PART_BYTES
from postroom.client.mailbox.answers import check_part, decode
from postroom.client.mailbox.errors import (
    ChangedMeanwhileError,
    ContainerTooLargeError,
    RefusedError,
    UnavailableError,
    UnexpectedAnswerError,
)
from postroom.client.mailbox.exchange import MailboxRequest, MailboxResponse, Steps
from postroom.client.mailbox.session import Session
from postroom.crypto.encodings import is_hex

DCP_PART_BYTES: Final = 3_000_000
"""Of a container, in one message of DCP: base64 makes 4,000,000 of it, and a message may have 4,500,000."""
ROUNDS: Final = 10
"""How often another device may write in between."""
_BYTES: Final = {"Content-Type": "application/octet-stream"}
_JSON: Final = {"Content-Type": "application/json"}


class FetchedContainer(NamedTuple):
    """A container. `etag` changes with every write."""

    data: bytes
    etag: str


class ContainerSteps:
    """Steps for all operations; all raise MailboxError.

    `part_bytes`: the most that one request may store; None: MAX_PART_BYTES.
    """

    def __init__(self, session: Session, part_bytes: int | None = None) -> None:
        self._session = session
        self._part_bytes = MAX_PART_BYTES if part_bytes is None else part_bytes
        self._base = f"/storage/{quote(session.name, safe='')}"

    def get(self, key: str, most_bytes: int = MAX_CONTAINER_BYTES) -> Steps[FetchedContainer | None]:
        """The container under a key, all of one version; None: none. Raises ContainerTooLargeError."""
        for _ in range(ROUNDS):
            try:
                return (yield from self._get(key, most_bytes))
            except ChangedMeanwhileError:
                continue
            except RefusedError as error:
                if error.reason == str(CONTAINER_UNKNOWN):
                    return None
                raise
        raise UnavailableError(f"The container {key} was written {ROUNDS} times while it was read.")

    def put(self, key: str, data: bytes, etag: str | None) -> Steps[str]:
        """Replace the container with this ETag; None: there must be none. Returns the new ETag.

        Raises ChangedMeanwhileError and StorageFullError.
        """
        condition = {"If-None-Match": "*"} if etag is None else {"If-Match": etag}
        if len(data) <= self._part_bytes:
            request = MailboxRequest("PUT", self._at(key), headers={**_BYTES, **condition}, body=data)
        else:
            parts = yield from self._bring(data)
            body = msgspec.json.encode(schemas.Parts(parts))
            request = MailboxRequest("PUT", f"{self._at(key)}/parts", headers={**_JSON, **condition}, body=body)
        answer = yield from self._session.ask(request)
        return decode(schemas.Container, answer).etag

    def delete(self, key: str) -> Steps[None]:
        """Delete the container under a key, if there is one."""
        for _ in range(ROUNDS):
            try:
                yield from self._session.ask(MailboxRequest("DELETE", self._at(key), headers={"If-Match": "*"}))
            except ChangedMeanwhileError:
                continue
            except RefusedError as error:
                if error.reason != str(CONTAINER_UNKNOWN):
                    raise
            return
        raise UnavailableError(f"The container {key} was written {ROUNDS} times while it was deleted.")

    def all(self) -> Steps[list[schemas.Container]]:
        """All containers, by key."""
        found: list[schemas.Container] = []
        more, after = True, ""
        while more:
            query = {"after": after} if after else {}
            answer = yield from self._session.ask(MailboxRequest("GET", f"{self._base}/containers", query))
            page = decode(schemas.Containers, answer)
            found += page.containers
            more, after = page.more, page.cursor
        return found

    def use(self) -> Steps[schemas.StorageUse]:
        """How much is stored, and may be stored."""
        return decode(schemas.StorageUse, (yield from self._session.ask(MailboxRequest("GET", self._base))))

    def _get(self, key: str, most_bytes: int) -> Steps[FetchedContainer]:
        """One attempt to read a container, part by part."""
        data, etag, whole = bytearray(), "", 1
        while len(data) < whole:
            # If it was written since the first part was read, it is another container.
            same = {"If-Match": etag} if etag else {}
            answer = yield from self._part(key, {"Range": f"bytes={len(data)}-", **same})
            etag, whole = answer.headers.get("etag", ""), check_part(answer, len(data))
            if not etag:
                raise UnexpectedAnswerError("The host returned a container without an ETag.")
            if whole > most_bytes:
                raise ContainerTooLargeError(whole, most_bytes)
            data += answer.body
        return FetchedContainer(bytes(data), etag)

    def _part(self, key: str, headers: dict[str, str]) -> Steps[MailboxResponse]:
        return self._session.ask(MailboxRequest("GET", self._at(key), headers=headers))

    def _bring(self, data: bytes) -> Steps[list[str]]:
        """Upload the parts of a container that is larger than a request; returns the body that names them."""
        parts = []
        for start in range(0, len(data), self._part_bytes):
            body = data[start : start + self._part_bytes]
            answer = yield from self._session.ask(
                MailboxRequest("POST", f"{self._base}/parts", headers=_BYTES, body=body)
            )
            parts.append(decode(schemas.NewPart, answer).part)
        return parts

    def _at(self, key: str) -> str:
        if not is_hex(key, 32):
            # In a URL it might name something else.
            raise RefusedError(f"{key[:100]!r} is not the key of a container.", reason=str(NOT_A_REQUEST))
        return f"{self._base}/containers/{key}"
