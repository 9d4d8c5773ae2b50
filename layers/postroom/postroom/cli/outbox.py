"""`postroom send --via`: a message goes out through the outbox of a mailbox, whose post office signs it."""

import json
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from postroom.cli.exits import Exit, NotFoundOut, UsageFault
from postroom.cli.inputs import load_private_key
from postroom.cli.output import print_json, safe
from postroom.errors import NotNowError
from postroom.ijson import JsonValue
from postroom.settings import Settings

if TYPE_CHECKING:
    from postroom.client import Sent
    from postroom.client.outbox import OutboxClient
    from postroom.https import HttpsClient

T = TypeVar("T")

_LOOK_SECONDS: Final = 1.0
_QUEUED: Final = "queued"


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
    dialect: str
    wait: float


def send_via(url: str, parcel: Parcel, https: "HttpsClient", *, as_json: bool) -> Exit:
    """Send it, and print what became of it: so far, or in the end. Raises UsageFault, NotFoundOut."""
    from postroom.client.outbox import OutboxClient

    message = _message(parcel)
    mailbox, key = _needed("--as", parcel.mailbox), _needed("--key", parcel.key)
    outbox = OutboxClient(https, url, mailbox, load_private_key(key))
    try:
        sent = _sent(outbox, message, parcel.wait)
    except NotNowError as error:
        again = f"say it again with --token {message['token']}, and it is sent once"
        raise NotFoundOut(f"{error}; {again}") from None
    said: dict[str, JsonValue] = {"token": message["token"], **(sent.reply if isinstance(sent.reply, dict) else {})}
    if as_json:
        print_json(said)
    else:
        print(safe(str(said.get("state") or f"{sent.fate}: {sent.status} from {url}")))
        for name, value in said.items():
            if name != "state":
                print(safe(f"  {name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"))
    return _exit_of(sent, waited=parcel.wait > 0)


def _sent(outbox: "OutboxClient", message: dict[str, JsonValue], wait: float) -> "Sent":
    """The last answer. Raises NotNowError(OUTBOUND_FAILED)."""
    from postroom.client import Fate

    sent = outbox.sign_in()
    if sent.fate is Fate.TAKEN:
        sent = outbox.send(message)
    until = time.monotonic() + wait
    while _state(sent) == _QUEUED and time.monotonic() < until and isinstance(sent.reply, dict):
        time.sleep(_LOOK_SECONDS)
        sent = outbox.find(str(sent.reply["correlation"]))
    return sent


def _state(sent: "Sent") -> JsonValue:
    return sent.reply.get("state") if isinstance(sent.reply, dict) else None


def _exit_of(sent: "Sent", *, waited: bool) -> Exit:
    from postroom.client import Fate

    match sent.fate, _state(sent):
        case Fate.REFUSED, _:
            return Exit.BAD_MESSAGE
        case Fate.TAKEN, "queued":
            return Exit.NOT_FOUND_OUT if waited else Exit.GOOD
        case Fate.TAKEN, "delivered":
            return Exit.GOOD
        case Fate.TAKEN, "refused":
            return Exit.BAD_MESSAGE
    return Exit.NOT_FOUND_OUT


def _message(parcel: Parcel) -> dict[str, JsonValue]:
    """As POST …/outbox takes it."""
    from postroom.ijson import parse

    message: dict[str, JsonValue] = {
        "token": parcel.token or str(uuid.uuid4()),
        "to": _needed("--to", parcel.to),
        "subject": _needed("--subject", parcel.subject),
        "body": parse(parcel.body, max_bytes=Settings().nlweb_max_body_bytes),
        "dialect": parcel.dialect,
    }
    if parcel.correlation:
        message["correlation"] = parcel.correlation
    return message


def _needed(option: str, value: T | None) -> T:
    if value is None:
        raise UsageFault(f"--via sends in somebody's name, who signs in: say {option}, too")
    return value
