"""`postroom send --via`: send a message through the outbox of a mailbox, whose post office signs it."""

import json
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar

from postroom.cli.exits import Exit, NotFoundOut, UsageFault
from postroom.cli.output import print_json, safe
from postroom.cli.owner import Way, load_owners_key, open_mailbox
from postroom.core.ijson import JsonValue
from postroom.core.settings import Settings

if TYPE_CHECKING:
    from postroom.api.schemas import SentMessage
    from postroom.api.states import State
    from postroom.client import Mailbox

T = TypeVar("T")
DialectName: TypeAlias = Literal["nlweb", "pollyweb"]

_LOOK_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Parcel:
    """A message as its options say it. `key`: of the mailbox's owner. `body`: JSON. `wait`: for its end, in seconds."""

    mailbox: str | None
    key: Path | None
    to: str | None
    subject: str | None
    body: bytes
    correlation: str | None
    token: str | None
    dialect: DialectName
    wait: float


def send_via(url: str, parcel: Parcel, way: Way, *, as_json: bool) -> Exit:
    """Send it, and print what became of it: so far, or in the end. Raises UsageFault, Refusal, NotFoundOut."""
    from msgspec import to_builtins

    to, subject = _needed("--to", parcel.to), _needed("--subject", parcel.subject)
    name, key = _needed("--as", parcel.mailbox), load_owners_key(_needed("--key", parcel.key))
    token = parcel.token or str(uuid.uuid4())
    try:
        with open_mailbox(url, name, key, way) as mailbox:
            sent = mailbox.send(
                to, subject, _read_body(parcel.body), token=token, correlation=parcel.correlation or "",
                dialect=parcel.dialect,
            )  # fmt: skip
            became = _wait(mailbox, sent.correlation, parcel.wait)
    except NotFoundOut as error:
        raise NotFoundOut(f"{error} Say it again with --token {token}, and it is sent once.") from None
    told: dict[str, JsonValue] = {"token": token, **to_builtins(became or sent)}
    if as_json:
        print_json(told)
    else:
        print(told.pop("state"))
        for member, value in told.items():
            print(safe(f"  {member}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"))
    return _exit_of((became or sent).state, waited=parcel.wait > 0)


def _wait(mailbox: "Mailbox", correlation: str, seconds: float) -> "SentMessage | None":
    """What became of a message, at the latest after so many seconds. Raises MailboxError."""
    from postroom.api.states import State

    if not seconds:
        return None
    until = time.monotonic() + seconds
    while True:
        time.sleep(_LOOK_SECONDS)
        found = mailbox.sent_one(correlation)
        if found.state is not State.QUEUED or time.monotonic() > until:
            return found


def _exit_of(state: "State", *, waited: bool) -> Exit:
    from postroom.api.states import State

    match state:
        case State.DELIVERED:
            return Exit.GOOD
        case State.REFUSED:
            return Exit.BAD_MESSAGE
        case State.QUEUED if not waited:
            return Exit.GOOD
    return Exit.NOT_FOUND_OUT


def _read_body(data: bytes) -> JsonValue:
    from postroom.core.ijson import parse

    return parse(data, max_bytes=Settings().nlweb_max_body_bytes)


def _needed(option: str, value: T | None) -> T:
    if value is None:
        raise UsageFault(f"--via sends in somebody's name, who signs in: say {option}, too")
    return value
