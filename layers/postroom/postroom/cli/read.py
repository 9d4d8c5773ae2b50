"""`postroom read`: what is filed in a mailbox: who, what, when, how verified."""

import json
import sys
import time
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.descriptor import Local
from postroom.cli.exits import UsageFault
from postroom.cli.inputs import AsJson, wallet_uuid
from postroom.cli.office import DeploymentName, Office, StackName, open_office
from postroom.cli.output import print_json, safe
from postroom.cli.proof import proof_lines
from postroom.ijson import JsonValue
from postroom.settings import RETAIN_CEILING_SECONDS

if TYPE_CHECKING:
    from postroom.store.keys import RowKey
    from postroom.store.reader import Filed

_LONGEST_BODY = 400


def read(
    mailbox: Annotated[str, typer.Argument(help="The mailbox; a domain's own is named as the domain.")],
    about: Annotated[
        str | None,
        typer.Option(
            metavar="CORRELATION", help="Only the Feedback about this message of the mailbox's.", parser=wallet_uuid
        ),
    ] = None,
    message: Annotated[str | None, typer.Option("--id", metavar="ID", help="Only this message.")] = None,
    cursor: Annotated[str | None, typer.Option(metavar="ID", help="Only what came in after this message.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many messages.")] = 20,
    ack: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Acknowledge this message instead; repeat it for more.")
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Write one envelope as it is filed: NLWeb's bit for bit as it came in.")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show what DNS proof each message was verified by, zone by zone.")
    ] = False,
    stack_name: StackName = None,
    local: Local = None,
    deployment: DeploymentName = None,
    as_json: AsJson = False,
) -> None:
    """List what is filed in a mailbox, oldest first; with --ack, take messages out of it."""
    from postroom.store.ids import id_of

    office = open_office(stack_name, local, deployment)
    if ack:
        _acknowledge(office, mailbox, ack, as_json=as_json)
        return
    filed = _fetch(office, mailbox, about, message, cursor, limit)
    if raw:
        _print_raw(filed)
        return
    last = id_of(filed[-1].row.key) if filed else cursor
    if as_json:
        print_json({"messages": [_describe(each) for each in filed], "cursor": last})
        return
    for each in filed:
        _print(_describe(each))
        if explain:
            _print_proof(each.line.receipt)
    if not filed:
        print(f"nothing is filed in {safe(mailbox)}{' after ' + safe(cursor) if cursor else ''}")
    elif len(filed) == limit:
        print(f"there may be more: --cursor {last}")


def _row(text: str, mailbox: str, option: str) -> "RowKey":
    from postroom.store.ids import row_of

    row = row_of(text, mailbox)
    if row is None:
        raise UsageFault(f"{option} is {text!r}; it must be the id of a message as `postroom read` prints it")
    return row


def _fetch(
    office: Office, mailbox: str, about: str | None, message: str | None, cursor: str | None, limit: int
) -> "list[Filed]":
    from postroom.nlweb.feedback import conversation_about

    reader = office.reader()
    if message:
        row = office.register().find(_row(message, mailbox, "--id"))
        found = reader.fetch_all([row] if row else [])
        if not found:
            raise UsageFault(f"there is no message {message} in {mailbox}")
        return list(found)
    filed: list[Filed] = []
    rows = reader.list(
        mailbox,
        office.directory().shards(mailbox),
        now=int(time.time()),
        cursor=_row(cursor, mailbox, "--cursor").sk if cursor else "",
        conversations=frozenset({conversation_about(about)} if about else ()),
        wanted=limit,
    )
    while len(filed) < limit and (page := list(islice(rows, limit - len(filed)))):
        filed += reader.fetch_all(page)
    return filed


def _acknowledge(office: Office, mailbox: str, ids: list[str], *, as_json: bool) -> None:
    keys = [_row(each, mailbox, "--ack") for each in ids]
    register = office.register()
    # The longest any deployment may be set to remember: a tombstone that stays longer does no harm.
    forget_at = int(time.time()) + RETAIN_CEILING_SECONDS
    freed: list[int] = []
    try:
        for each, key in zip(ids, keys, strict=True):
            size = register.acknowledge(key, forget_at)
            if size is None:
                raise UsageFault(f"there is no message {each} in {mailbox}")
            freed += [size] if size else []
    finally:
        office.counting().gone(mailbox, freed)
    if as_json:
        print_json({"acknowledged": list(ids)})
    else:
        for each in ids:
            print(f"acknowledged {each}")


def _describe(filed: "Filed") -> dict[str, JsonValue]:
    from postroom.nlweb.timestamp import write_timestamp
    from postroom.store.ids import id_of

    return {
        "id": id_of(filed.row.key),
        "received_at": write_timestamp(filed.row.key.received_at_ms),
        **(_sealed(filed) if filed.line.receipt["protocol"] == "dm3" else _told(filed)),
        "conversation": filed.row.conversation,
        "receipt": json.loads(json.dumps(dict(filed.line.receipt))),
        "envelope": filed.line.envelope,
    }


def _sealed(filed: "Filed") -> dict[str, JsonValue]:
    """What anybody may see of a dm3 message: `postroom dm3 open` shows its receiver the rest."""
    return {
        "from": filed.row.conversation,
        "to": filed.row.key.mailbox,
        "message_hash": str(filed.line.receipt["message_hash"]),
    }


def _told(filed: "Filed") -> dict[str, JsonValue]:
    """What an NLWeb message says."""
    from postroom.ijson import parse
    from postroom.nlweb.envelope import read_envelope
    from postroom.nlweb.timestamp import write_timestamp

    data = filed.line.envelope.encode()
    envelope = read_envelope(parse(data, max_bytes=len(data)))
    return {
        "from": envelope.sender,
        "to": envelope.receiver,
        "subject": envelope.subject,
        "correlation": envelope.correlation,
        "timestamp": write_timestamp(envelope.timestamp_ms),
        "body": envelope.body,
    }


def _print(message: dict[str, JsonValue]) -> None:
    receipt = message["receipt"] if isinstance(message["receipt"], dict) else {}
    lines = {"from": message["from"], "to": message["to"]}
    if "message_hash" in message:
        lines |= {
            "received": message["received_at"],
            "verified": _verified_sender(receipt),
            "sealed": f"{message['message_hash']}; --raw writes it for `postroom dm3 open`",
        }
    else:
        body = json.dumps(message["body"], ensure_ascii=False)
        lines |= {
            "subject": message["subject"],
            "correlation": message["correlation"],
            "sent": message["timestamp"],
            "received": message["received_at"],
            "verified": _verified(receipt),
            "body": body
            if len(body) <= _LONGEST_BODY
            else f"{body[:_LONGEST_BODY]}… ({len(body)} characters; see --raw)",
        }
    print(message["id"])
    for name, value in lines.items():
        print(f"  {name:<12} {safe(str(value))}")


def _verified_sender(receipt: Mapping[str, JsonValue]) -> str:
    """How the sender of a dm3 message was verified."""
    if receipt.get("unverified"):
        return f"NOT: {receipt['unverified']}"
    return f"by {receipt.get('key_fingerprint')} of the sender's profile"


def _verified(receipt: Mapping[str, JsonValue]) -> str:
    """How a message was verified, in one line: the key, and what vouches for it."""
    from postroom.nlweb.timestamp import write_timestamp

    at = receipt.get("verified_at_ms")
    when = f" at {write_timestamp(at)}" if isinstance(at, int) else ""
    key = f"{receipt.get('key_algorithm')} {receipt.get('key_fingerprint')}"
    evidence = receipt.get("evidence")
    if not isinstance(evidence, dict):
        return f"{key}, {evidence}{when}"
    chain = evidence.get("chain")
    zones = [str(link.get("zone")) for link in chain if isinstance(link, dict)] if isinstance(chain, list) else []
    return f"{key} of {receipt.get('key_name')}, DNSSEC {' → '.join(zones)}{when}"


def _print_proof(receipt: Mapping[str, object]) -> None:
    """The evidence that was filed with a message; one that DNS had no part in has none."""
    from postroom.names.dnssec import Evidence

    evidence = receipt.get("evidence")
    if not isinstance(evidence, Mapping):
        print("    no DNS was asked")
        return
    try:
        lines = list(proof_lines(Evidence.from_json(evidence)))
    except ValueError as error:
        lines = [f"its receipt holds {error}; --json shows it"]
    for line in lines:
        print(f"    {safe(line)}")


def _print_raw(filed: "list[Filed]") -> None:
    if len(filed) != 1:
        raise UsageFault(f"--raw writes one envelope, and {len(filed)} are there; name one by --id")
    sys.stdout.buffer.write(filed[0].line.envelope.encode())
    sys.stdout.buffer.flush()
