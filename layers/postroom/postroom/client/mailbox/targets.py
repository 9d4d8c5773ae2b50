"""Notification targets of a mailbox (docs/receive/notifications.md), as steps. Sans-I/O."""

import re
from typing import Final
from urllib.parse import quote

import msgspec

from postroom.api import schemas
from postroom.api.reasons import TARGET_UNKNOWN
from postroom.client.mailbox.answers import decode
from postroom.client.mailbox.errors import RefusedError
from postroom.client.mailbox.exchange import MailboxRequest, MailboxResponse, Steps
from postroom.client.mailbox.session import Session

_ID: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_JSON: Final = {"Content-Type": "application/json"}


class NotificationTargetSteps:
    """Steps for all operations; all raise MailboxError."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._base = f"/mailboxes/{quote(session.name, safe='')}/notifications"

    def all(self) -> Steps[list[schemas.Target]]:
        """All targets."""
        return decode(schemas.Notifications, (yield from self._ask("GET", ""))).targets

    def add(self, target: schemas.NewTarget) -> Steps[schemas.Target]:
        """Add a target; a code is sent to it."""
        return decode(schemas.Target, (yield from self._ask("POST", "", msgspec.json.encode(target))))

    def verify(self, target_id: str, code: str) -> Steps[schemas.Target]:
        """Verify a target with its code; empty: have another code sent."""
        body = msgspec.json.encode(schemas.Code(code))
        return decode(schemas.Target, (yield from self._ask("POST", f"{_path_of(target_id)}/verify", body)))

    def rotate(self, target_id: str) -> Steps[schemas.Target]:
        """Give a target a new secret."""
        # Not retried: if an answer got lost, a second rotation would end the secret that the receiver has.
        request = MailboxRequest("POST", f"{self._base}{_path_of(target_id)}/rotate")
        return decode(schemas.Target, (yield from self._session.attempt(request, 0.0)))

    def resume(self, target_id: str) -> Steps[schemas.Target]:
        """Resume a paused target."""
        return decode(schemas.Target, (yield from self._ask("POST", f"{_path_of(target_id)}/resume")))

    def remove(self, target_id: str) -> Steps[None]:
        """Remove a target."""
        yield from self._ask("DELETE", _path_of(target_id))

    def _ask(self, method: str, path: str, body: bytes = b"") -> Steps[MailboxResponse]:
        return self._session.ask(MailboxRequest(method, self._base + path, headers=_JSON if body else {}, body=body))


def _path_of(target_id: str) -> str:
    if not _ID.fullmatch(target_id):
        # In a URL it might name something else.
        raise RefusedError(f"{target_id[:100]!r} is not the id of a target.", reason=str(TARGET_UNKNOWN))
    return f"/{target_id}"
