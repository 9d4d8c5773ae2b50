"""`postroom read`: the messages of a mailbox: sender, subject, time, verification. For its operator or owner."""

import sys
import time
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.exits import NotFoundFault, UsageFault
from postroom.cli.inputs import AsJson, wallet_uuid
from postroom.cli.messages import MailView, describe, print_message, print_proof
from postroom.cli.open_deployment import OpenDeployment
from postroom.cli.options import repeatable
from postroom.cli.output import print_json
from postroom.cli.owner import OptionalOwnerOptions
from postroom.cli.read_as_owner import LIMIT, Wanted, read_as_owner
from postroom.cli.terminal import print_line
from postroom.core.settings import RETAIN_CEILING_SECONDS

if TYPE_CHECKING:
    from postroom.storage.layout import RowKey
    from postroom.storage.mail.reader import Filed


def read(
    mailbox: Annotated[str, typer.Argument(help="The mailbox; a domain's own is named as the domain.")],
    about: Annotated[
        str | None,
        typer.Option(
            metavar="CORRELATION", help="Only Feedback about this message of the mailbox.", parser=wallet_uuid
        ),
    ] = None,
    message: Annotated[str | None, typer.Option("--id", metavar="ID", help="Only this message.")] = None,
    cursor: Annotated[str | None, typer.Option(metavar="ID", help="Only messages that arrived after this one.")] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Show at most this many messages.", show_default=f"{LIMIT}")
    ] = None,
    ack: Annotated[list[str] | None, repeatable("Acknowledge this message instead", metavar="ID")] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Write one envelope as it is stored; an NLWeb envelope is unchanged.")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the DNS proof of each message's key, zone by zone.")
    ] = False,
    *,
    owner: OptionalOwnerOptions,
    ack_shown: Annotated[
        bool, typer.Option("--ack-shown", help="With --at: acknowledge each message that was written completely.")
    ] = False,
    wait: Annotated[bool, typer.Option("--wait", help="With --at: wait for more messages, until Ctrl-C.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the messages of a mailbox, or acknowledge them.

    The oldest comes first. The operator reads through AWS; the owner over HTTPS, with --at and --key, where --json
    writes one object a line.
    """
    from postroom.storage.mail.ids import id_of

    if options := owner.owner():
        if cursor:
            raise UsageFault("--cursor is for the operator: as the owner, acknowledge messages instead")
        wanted = Wanted(
            limit, about, message, acknowledge=ack_shown, wait=wait, raw=raw, explain=explain, as_json=as_json
        )
        read_as_owner(options, mailbox, ack or (), wanted)
        return
    if ack_shown or wait:
        raise UsageFault("--ack-shown and --wait are for the owner: add --at URL")
    opened = owner.deployment.open()
    if ack:
        _acknowledge(opened, mailbox, ack, as_json=as_json)
        return
    filed = _fetch(opened, mailbox, about, message, cursor, limit or LIMIT)
    if raw:
        _print_raw(filed)
    elif as_json:
        last = id_of(filed[-1].row.key) if filed else cursor
        print_json({"messages": [describe(_mail(each)) for each in filed], "cursor": last})
    else:
        _print_all(filed, mailbox, cursor, limit or LIMIT, explain=explain)


def _print_all(filed: "list[Filed]", mailbox: str, cursor: str | None, limit: int, *, explain: bool) -> None:
    from postroom.storage.mail.ids import id_of

    for each in filed:
        print_message(describe(_mail(each)))
        if explain:
            print_proof(each.line.receipt)
    if not filed:
        print_line(f"there are no messages in {mailbox}{' after ' + cursor if cursor else ''}")
    elif len(filed) == limit:
        print_line(f"there may be more: --cursor {id_of(filed[-1].row.key)}")


def _row(text: str, mailbox: str, option: str) -> "RowKey":
    from postroom.storage.mail.ids import row_of

    row = row_of(text, mailbox)
    if row is None:
        raise UsageFault(f"{option} is {text!r}; it must be the id of a message as `postroom read` prints it")
    return row


def _fetch(
    opened: OpenDeployment, mailbox: str, about: str | None, message: str | None, cursor: str | None, limit: int
) -> "list[Filed]":
    from postroom.protocols.nlweb.feedback import conversation_about

    reader = opened.storage.reader
    if message:
        row = opened.storage.register.find(_row(message, mailbox, "--id"))
        found = reader.fetch_all([row] if row else [])
        if not found:
            raise NotFoundFault(f"there is no message {message} in {mailbox}")
        return list(found)
    filed: list[Filed] = []
    rows = reader.list(
        mailbox,
        opened.storage.directory.shards(mailbox),
        now=int(time.time()),
        cursor=_row(cursor, mailbox, "--cursor").sk if cursor else "",
        conversations=frozenset({conversation_about(about)} if about else ()),
        wanted=limit,
    )
    while len(filed) < limit and (page := list(islice(rows, limit - len(filed)))):
        filed += reader.fetch_all(page)
    return filed


def _acknowledge(opened: OpenDeployment, mailbox: str, ids: list[str], *, as_json: bool) -> None:
    keys = [_row(each, mailbox, "--ack") for each in ids]
    register = opened.storage.register
    # The longest that any deployment can remember: a tombstone that stays longer does no harm.
    forget_at = int(time.time()) + RETAIN_CEILING_SECONDS
    freed: list[int] = []
    try:
        for each, key in zip(ids, keys, strict=True):
            size = register.acknowledge(key, forget_at)
            if size is None:
                raise NotFoundFault(f"there is no message {each} in {mailbox}")
            freed += [size] if size else []
    finally:
        opened.deployment.mailbox_api.usage_tracker.gone(mailbox, freed)
    if as_json:
        print_json({"acknowledged": list(ids)})
    else:
        for each in ids:
            print_line(f"acknowledged {each}")


def _mail(filed: "Filed") -> MailView:
    from postroom.core.timestamps import write_timestamp
    from postroom.storage.mail.ids import id_of

    row, line = filed.row, filed.line
    return MailView(
        id_of(row.key),
        row.key.mailbox,
        row.conversation,
        write_timestamp(row.key.received_at_ms),
        line.receipt,
        line.envelope,
    )


def _print_raw(filed: "list[Filed]") -> None:
    if len(filed) != 1:
        raise UsageFault(f"--raw writes one envelope, and {len(filed)} are there; name one by --id")
    sys.stdout.buffer.write(filed[0].line.envelope.encode())
    sys.stdout.buffer.flush()
