"""`postroom read --at`: read mail over HTTPS; only messages that were shown can be acknowledged."""

import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Final

from postroom.cli.exits import NotFoundFault, UsageFault
from postroom.cli.messages import MailView, describe, is_shown_whole, print_message, print_proof
from postroom.cli.output import note, print_json_line
from postroom.cli.owner import ATTEMPTS, WATCHING_ATTEMPTS, OwnerOptions, load_owners_key
from postroom.cli.terminal import print_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from postroom.client import Mailbox
    from postroom.client.mailbox import MailboxMessage
    from postroom.protocols.dm3.keys import UserKeys

LIMIT: Final = 20
_ACKNOWLEDGED_AT_ONCE: Final = 100


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to show, and how. `limit`: at most so many; None: LIMIT, or unlimited with --wait.

    `about`: the message that Feedback is about. `acknowledge`: acknowledge what was shown. `wait`: continue until
    Ctrl-C. `keys`: of a dm3 user, to open messages.
    """

    limit: int | None
    about: str | None
    message: str | None
    acknowledge: bool
    wait: bool
    raw: bool
    explain: bool
    as_json: bool
    keys: "UserKeys | None" = None


def read_as_owner(owner: OwnerOptions, name: str, ids: Sequence[str], wanted: Wanted) -> None:
    """Acknowledge `ids`, or else show messages. Raises UsageFault, RefusalFault, UnavailableFault."""
    from postroom.protocols.dm3.keys import UserKeys

    if wanted.wait and (wanted.raw or wanted.message):
        raise UsageFault("--wait cannot be combined with --raw or --id")
    found = load_owners_key(owner.key)
    keys = found if isinstance(found, UserKeys) else None
    with owner.open(name, attempts=WATCHING_ATTEMPTS if wanted.wait else ATTEMPTS) as mailbox:
        if ids:
            _acknowledge(mailbox, name, ids, as_json=wanted.as_json)
        else:
            _pick_up(mailbox, name, replace(wanted, keys=keys))


def _pick_up(mailbox: "Mailbox", name: str, wanted: Wanted) -> None:
    if wanted.message or wanted.raw:
        one = _find(mailbox, wanted)
        if _show(one, name, wanted):
            _acknowledge_shown(mailbox, [one.id], wanted)
    elif wanted.wait:
        with suppress(KeyboardInterrupt):
            _show_all(mailbox, name, wanted, wanted.limit or inf)
    else:
        limit = wanted.limit or LIMIT
        shown = _show_all(mailbox, name, wanted, limit)
        if not shown and not wanted.as_json:
            print_line(f"there are no messages in {name}")
        elif shown == limit and not wanted.as_json:
            print_line("there may be more: --limit shows more at once, --ack-shown acknowledges what was shown")


def _acknowledge(mailbox: "Mailbox", name: str, ids: Sequence[str], *, as_json: bool) -> None:
    """Acknowledge messages of the mailbox."""
    done = mailbox.acknowledge(ids)
    if as_json:
        print_json_line({"acknowledged": list(done.acknowledged)})
    else:
        for each in done.acknowledged:
            print_line(f"acknowledged {each}")
    if done.unknown:
        raise NotFoundFault(f"there is no message {', '.join(done.unknown)} in {name}")


def _find(mailbox: "Mailbox", wanted: Wanted) -> "MailboxMessage":
    """The message that is named, or the only one."""
    if wanted.message:
        return mailbox.message(wanted.message)
    some = list(islice(_unread(mailbox, wanted), 2))
    if len(some) != 1:
        there = "more are" if some else "none is"
        raise UsageFault(f"--raw writes one envelope, and {there} there; name one by --id")
    return some[0]


def _unread(mailbox: "Mailbox", wanted: Wanted) -> "Iterator[MailboxMessage]":
    from postroom.protocols.nlweb.feedback import conversation_about

    return mailbox.unread(wait=wanted.wait, conversation=conversation_about(wanted.about) if wanted.about else "")


def _show_all(mailbox: "Mailbox", name: str, wanted: Wanted, limit: float) -> int:
    """Show messages; returns how many. With --wait, an unavailable post office is waited for, too."""
    from postroom.client.mailbox import UnavailableError

    unread = _unread(mailbox, wanted)
    at_once = 1 if wanted.wait else _ACKNOWLEDGED_AT_ONCE
    shown: list[str] = []
    held: MailboxMessage | None = None
    count = 0
    while True:
        try:
            if len(shown) >= at_once:
                _acknowledge_shown(mailbox, shown, wanted)
            held = held or (next(unread, None) if count < limit else None)
            if held is None:
                _acknowledge_shown(mailbox, shown, wanted)
                return count
            whole = _show(held, name, wanted)
        except UnavailableError as error:
            if not wanted.wait:
                raise
            note(f"{error} Still waiting.")
            continue
        if whole:
            shown.append(held.id)
        held, count = None, count + 1


def _acknowledge_shown(mailbox: "Mailbox", shown: list[str], wanted: Wanted) -> None:
    if wanted.acknowledge and shown:
        mailbox.acknowledge(shown)
        if not (wanted.as_json or wanted.raw):
            print_line(f"acknowledged {len(shown)}", flush=True)
    shown.clear()


def _show(message: "MailboxMessage", name: str, wanted: Wanted) -> bool:
    """Show a message. True: all of it was shown, so that it may be acknowledged: this was the last copy."""
    from postroom.core.timestamps import write_timestamp

    if wanted.raw:
        sys.stdout.buffer.write(message.envelope.encode())
        sys.stdout.buffer.flush()
        return True
    received_at = write_timestamp(round(message.received_at.timestamp() * 1000))
    mail = MailView(message.id, name, message.partner, received_at, message.receipt, message.envelope)
    described = describe(mail, wanted.keys)
    if wanted.as_json:
        print_json_line(described)
        return True
    print_message(described)
    if wanted.explain:
        print_proof(mail.receipt)
    whole = is_shown_whole(described)
    if wanted.acknowledge and not whole:
        print_line("  not acknowledged: this is not the whole message; --json and --raw write it")
    sys.stdout.flush()
    return whole
