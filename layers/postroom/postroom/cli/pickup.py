"""`postroom read --at`: an owner picks mail up over HTTPS; what was shown, and nothing else, may be acknowledged."""

import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from postroom.cli.exits import UsageFault
from postroom.cli.messages import Mail, describe, print_message, print_proof
from postroom.cli.output import print_json_line, safe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from postroom.client import Mailbox
    from postroom.client.mailbox import Message
    from postroom.dm3.keys import UserKeys
    from postroom.nlweb.keys import PrivateKey

_ACKNOWLEDGED_AT_ONCE: Final = 100


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be shown, and how. `limit`: at most so many. `about`: the message that Feedback is about.

    `acknowledge`: what was shown. `wait`: go on until Ctrl-C. `keys`: the owner's; those of a user of dm3 open
    letters.
    """

    limit: float
    about: str | None = None
    message: str | None = None
    acknowledge: bool = False
    wait: bool = False
    raw: bool = False
    explain: bool = False
    as_json: bool = False
    keys: "PrivateKey | UserKeys | None" = None


def pick_up(mailbox: "Mailbox", name: str, wanted: Wanted) -> None:
    """Show what waits. Raises MailboxError, UsageFault."""
    if wanted.message or wanted.raw:
        one = _find(mailbox, wanted)
        _show(one, name, wanted)
        _acknowledge_shown(mailbox, [one.id], wanted)
    elif wanted.wait:
        with suppress(KeyboardInterrupt):
            _show_all(mailbox, name, wanted)
    else:
        shown = _show_all(mailbox, name, wanted)
        if not shown and not wanted.as_json:
            print(f"nothing waits in {safe(name)}")
        elif shown == wanted.limit and not wanted.as_json:
            print("there may be more: --limit shows more at once, --ack-shown takes out what was shown")


def acknowledge(mailbox: "Mailbox", name: str, ids: Sequence[str], *, as_json: bool) -> None:
    """Take messages out of the mailbox. Raises MailboxError, UsageFault."""
    done = mailbox.acknowledge(ids)
    if as_json:
        print_json_line({"acknowledged": list(done.acknowledged)})
    else:
        for each in done.acknowledged:
            print(f"acknowledged {each}")
    if done.unknown:
        raise UsageFault(f"there is no message {', '.join(map(safe, done.unknown))} in {name}")


def _find(mailbox: "Mailbox", wanted: Wanted) -> "Message":
    """The one that is named, or the only one that waits."""
    if wanted.message:
        return mailbox.message(wanted.message)
    some = list(islice(_unread(mailbox, wanted), 2))
    if len(some) != 1:
        there = "more are" if some else "none is"
        raise UsageFault(f"--raw writes one envelope, and {there} there; name one by --id")
    return some[0]


def _unread(mailbox: "Mailbox", wanted: Wanted) -> "Iterator[Message]":
    from postroom.nlweb.feedback import conversation_about

    return mailbox.unread(wait=wanted.wait, conversation=conversation_about(wanted.about) if wanted.about else "")


def _show_all(mailbox: "Mailbox", name: str, wanted: Wanted) -> int:
    """How many were shown. Who waits, waits too for a post office that is away."""
    from postroom.client.mailbox import UnavailableError

    unread = _unread(mailbox, wanted)
    at_once = 1 if wanted.wait else _ACKNOWLEDGED_AT_ONCE
    shown: list[str] = []
    held: Message | None = None
    count = 0
    while True:
        try:
            if len(shown) >= at_once:
                _acknowledge_shown(mailbox, shown, wanted)
            held = held or (next(unread, None) if count < wanted.limit else None)
            if held is None:
                _acknowledge_shown(mailbox, shown, wanted)
                return count
            _show(held, name, wanted)
        except UnavailableError as error:
            if not wanted.wait:
                raise
            print(f"postroom: {error} Waiting on.", file=sys.stderr)
            continue
        shown.append(held.id)
        held, count = None, count + 1


def _acknowledge_shown(mailbox: "Mailbox", shown: list[str], wanted: Wanted) -> None:
    if wanted.acknowledge and shown:
        mailbox.acknowledge(shown)
        if not (wanted.as_json or wanted.raw):
            print(f"acknowledged {len(shown)}", flush=True)
    shown.clear()


def _show(message: "Message", name: str, wanted: Wanted) -> None:
    """Write a message out: only what is out of our hands may be acknowledged."""
    if wanted.raw:
        sys.stdout.buffer.write(message.envelope.encode())
        sys.stdout.buffer.flush()
        return
    from postroom.dm3.keys import UserKeys
    from postroom.nlweb.timestamp import write_timestamp

    received_at = write_timestamp(round(message.received_at.timestamp() * 1000))
    mail = Mail(message.id, name, message.partner, received_at, message.receipt, message.envelope)
    described = describe(mail, wanted.keys if isinstance(wanted.keys, UserKeys) else None)
    if wanted.as_json:
        print_json_line(described)
        return
    print_message(described)
    if wanted.explain:
        print_proof(mail.receipt)
    sys.stdout.flush()
