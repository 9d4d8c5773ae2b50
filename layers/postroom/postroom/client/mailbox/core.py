"""The operations on a mailbox, as steps for any driver. Sans-I/O."""

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import quote

import msgspec
from msgspec import UNSET, UnsetType

from postroom.api import schemas
from postroom.api.http import MERGE_PATCH
from postroom.api.reasons import MESSAGE_UNKNOWN, NOT_SENT
from postroom.api.schemas import MAX_ACKNOWLEDGED
from postroom.client.mailbox.answers import check_part, decode, retry_after
from postroom.client.mailbox.errors import MessageGoneError, NotSentError, UnavailableError, UnexpectedAnswerError
from postroom.client.mailbox.exchange import MailboxRequest, MailboxResponse, Steps
from postroom.client.mailbox.session import Session
from postroom.core.ijson import JsonValue
from postroom.protocols.nlweb.names import read_uuid

_ID: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_JSON: Final = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class OwnerSettings:
    """The settings of a mailbox's owner; None: mailboxes of this protocol do not have it. `etag`: of these settings.

    For dm3: `extension`, which senders are told (dm3 §2.3.3), and `unverified`, whether senders that cannot be verified
    are accepted. For NLWeb: `blocks`, the senders that are blocked; `subjects` of a domain, with the mailbox that each
    goes to; `operators_subjects`, the rules of the operator.
    """

    extension: dict[str, Any] | None = None
    unverified: bool | None = None
    etag: str = ""
    blocks: list[str] | None = None
    subjects: dict[str, str] | None = None
    operators_subjects: dict[str, schemas.OperatorsSubject] | None = None


class FetchedPage(NamedTuple):
    """A page. `retry_after`: seconds until the next request, if the host let this one not wait; otherwise 0."""

    page: schemas.Page
    retry_after: float


class Core:
    """Steps for all operations; all raise MailboxError."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._base = f"/mailboxes/{quote(session.name, safe='')}"

    def page(self, after: str, wait: float, conversation: str, pause: float = 0.0) -> Steps[FetchedPage]:
        """The messages after a cursor; if there are none, the first that comes within `wait` seconds.

        `pause`: seconds before the request.
        """
        # Rounded up: a request that comes too early has to be repeated.
        milliseconds = math.ceil(wait * 1000)
        query = {"after": after, "conversation": conversation, "wait": str(milliseconds / 1000) if wait else ""}
        given = {name: value for name, value in query.items() if value}
        answer = yield from self._get("/messages", query=given, wait=wait, pause=pause)
        return FetchedPage(decode(schemas.Page, answer), retry_after(answer))

    def message(self, message_id: str) -> Steps[schemas.Message]:
        """One message by its id."""
        return decode(schemas.Message, (yield from self._get(_path_of(message_id))))

    def envelope(self, message_id: str) -> Steps[str]:
        """The envelope of a message as received, part by part."""
        data = bytearray()
        whole = 1
        while len(data) < whole:
            headers = {"Range": f"bytes={len(data)}-"}
            answer = yield from self._get(f"{_path_of(message_id)}/envelope", headers=headers)
            whole = check_part(answer, len(data))
            data += answer.body
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise UnexpectedAnswerError(f"The parts of the envelope of {message_id} do not fit together.") from None

    def acknowledge(self, message_ids: Iterable[str]) -> Steps[schemas.Acknowledged]:
        """Acknowledge messages; the answer has those that could not be acknowledged."""
        ids = list(dict.fromkeys(message_ids))
        done = schemas.Acknowledged([], [], [])
        for start in range(0, len(ids), MAX_ACKNOWLEDGED):
            left = ids[start : start + MAX_ACKNOWLEDGED]
            yield from self._session.retried(partial(self._acknowledge, left, done))
        return done

    def conversations(self) -> Steps[schemas.Conversations]:
        """The conversations with messages in the mailbox."""
        return decode(schemas.Conversations, (yield from self._get("/conversations")))

    def status(self) -> Steps[schemas.Status]:
        """How many messages are in the mailbox."""
        return decode(schemas.Status, (yield from self._get("/status")))

    def settings(self) -> Steps[OwnerSettings]:
        """The owner's settings."""
        return _settings((yield from self._get("/settings")))

    def change_settings(self, settings: OwnerSettings, change: schemas.SettingsChange) -> Steps[OwnerSettings]:
        """Apply `change` (RFC 7396), if `settings` are still the current ones."""
        headers = {"Content-Type": MERGE_PATCH, "If-Match": settings.etag}
        request = MailboxRequest("PATCH", f"{self._base}/settings", headers=headers, body=msgspec.json.encode(change))
        return _settings((yield from self._session.ask(request)))

    def open(self) -> Steps[None]:
        """Open the mailbox, if there is none yet."""
        return self._session.open()

    def send(
        self,
        to: str,
        subject: str,
        body: "JsonValue | UnsetType",
        token: str,
        correlation: str,
        dialect: Literal["nlweb", "pollyweb"],
    ) -> Steps[schemas.Queued]:
        """Put a message into the outbox. Raises ValueError, TypeError if the body is not JSON."""
        message: dict[str, JsonValue] = {"token": token, "to": to, "subject": subject, "dialect": dialect}
        if body is not UNSET:
            message["body"] = body
        if correlation:
            message["correlation"] = correlation
        data = json.dumps(message, allow_nan=False).encode()
        request = MailboxRequest("POST", f"{self._base}/outbox", headers=_JSON, body=data)
        return decode(schemas.Queued, (yield from self._session.ask(request)))

    def sent(self, after: str) -> Steps[schemas.SentMessages]:
        """The messages that were sent, after a cursor."""
        return decode(schemas.SentMessages, (yield from self._get("/outbox", query={"after": after} if after else {})))

    def sent_one(self, correlation: str) -> Steps[schemas.SentMessage]:
        """One message of the outbox."""
        if not read_uuid(correlation):
            # In a URL it might name something else.
            raise NotSentError(f"{correlation[:100]!r} is not a UUID.", reason=str(NOT_SENT))
        return decode(schemas.SentMessage, (yield from self._get(f"/outbox/{correlation}")))

    def sign_out(self) -> Steps[None]:
        """Revoke all tokens that were issued, on all devices."""
        yield from self._session.ask(MailboxRequest("POST", f"{self._base}/sign-out"))
        self._session.forget()

    def _get(
        self,
        path: str,
        *,
        query: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
        wait: float = 0.0,
        pause: float = 0.0,
    ) -> Steps[MailboxResponse]:
        request = MailboxRequest("GET", self._base + path, query or {}, headers or {}, pause=pause, wait=wait)
        return self._session.ask(request)

    def _acknowledge(self, left: list[str], done: schemas.Acknowledged, pause: float) -> Steps[None]:
        """Acknowledge the messages in `left`, and leave those that failed for now. Raises UnavailableError then."""
        request = MailboxRequest(
            "POST",
            f"{self._base}/acknowledgements",
            headers=_JSON,
            body=msgspec.json.encode(schemas.Acknowledgements(left)),
        )
        became = decode(schemas.Acknowledged, (yield from self._session.attempt(request, pause)))
        done.acknowledged.extend(became.acknowledged)
        done.unknown.extend(became.unknown)
        left[:] = became.again
        if left:
            raise UnavailableError(f"{len(left)} messages could not be acknowledged now; try again later.")


def _path_of(message_id: str) -> str:
    if not _ID.fullmatch(message_id):
        # In a URL it might name something else.
        raise MessageGoneError(f"{message_id[:100]!r} is not the id of a message.", reason=str(MESSAGE_UNKNOWN))
    return f"/messages/{message_id}"


def change_of(**members: Any) -> schemas.SettingsChange:
    """The members that are not None, as a change."""
    return schemas.SettingsChange(**{name: value for name, value in members.items() if value is not None})


def _settings(answer: MailboxResponse) -> OwnerSettings:
    settings = msgspec.structs.asdict(decode(schemas.Settings, answer))
    given = {name: value for name, value in settings.items() if value is not UNSET}
    return OwnerSettings(**given, etag=answer.headers.get("etag", ""))
