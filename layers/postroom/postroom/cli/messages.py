"""A message as text: sender, subject, time, verification; the same for operators and owners."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from postroom.cli.proof import proof_lines
from postroom.cli.terminal import print_line
from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue

if TYPE_CHECKING:
    from postroom.protocols.dm3.keys import UserKeys

_LONGEST_BODY = 400
_UNASSIGNED = "this Feedback does not name the sender of the message, and no outbox of this post office has it"


@dataclass(frozen=True, slots=True)
class MailView:
    """A message of a mailbox. `received_at`: RFC 3339; `envelope`: as received, unchanged."""

    id: str
    mailbox: str
    conversation: str
    received_at: str
    receipt: Mapping[str, object]
    envelope: str


def describe(mail: MailView, keys: "UserKeys | None" = None) -> dict[str, JsonValue]:
    """The whole message, for programs. `keys`: of its receiver, which open a dm3 message."""
    return {
        "id": mail.id,
        "received_at": mail.received_at,
        **(_sealed(mail, keys) if mail.receipt["protocol"] == "dm3" else _nlweb(mail)),
        "conversation": mail.conversation,
        "receipt": json.loads(json.dumps(dict(mail.receipt))),
        "envelope": mail.envelope,
    }


def _sealed(mail: MailView, keys: "UserKeys | None") -> dict[str, JsonValue]:
    """The public part of a dm3 message, and with the keys its content."""
    from postroom.protocols.dm3.envelope import open_text

    outside: dict[str, JsonValue] = {
        "from": mail.conversation,
        "to": mail.mailbox,
        "message_hash": str(mail.receipt["message_hash"]),
    }
    if keys is None:
        return outside
    try:
        return {**outside, "message": open_text(mail.envelope, [keys.encryption]).as_json()}
    except TheirError as error:
        return {**outside, "not_opened": str(error)}


def _nlweb(mail: MailView) -> dict[str, JsonValue]:
    """The content of an NLWeb message."""
    from postroom.core.ijson import parse
    from postroom.core.timestamps import write_timestamp
    from postroom.protocols.nlweb.envelope import read_envelope

    data = mail.envelope.encode()
    envelope = read_envelope(parse(data, max_bytes=len(data)))
    return {
        "from": envelope.sender,
        "to": envelope.receiver,
        "subject": envelope.subject,
        "correlation": envelope.correlation,
        "timestamp": write_timestamp(envelope.timestamp_ms),
        "body": envelope.body,
    }


def print_message(described: Mapping[str, JsonValue]) -> None:
    """The message for people; all of it if `is_shown_whole`."""
    lines = {"from": described["from"], "to": described["to"]}
    lines |= _lines_of_dm3(described) if "message_hash" in described else _lines_of_nlweb(described)
    print_line(str(described["id"]))
    for name, value in lines.items():
        if value is not None:
            print_line(f"  {name:<12} {value!s}")


def is_shown_whole(described: Mapping[str, JsonValue]) -> bool:
    """Whether `print_message` prints everything: the message is opened, short, and has no attachments."""
    if "message_hash" not in described:
        return not _is_cut(json.dumps(described["body"], ensure_ascii=False))
    message = described.get("message")
    return isinstance(message, dict) and not message.get("attachments") and not _is_cut(str(message.get("message")))


def _lines_of_nlweb(described: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {
        "subject": described["subject"],
        "correlation": described["correlation"],
        "sent": described["timestamp"],
        "received": described["received_at"],
        "verified": _verified(_receipt(described)),
        "unassigned": _UNASSIGNED if _receipt(described).get("unassigned") else None,
        "body": _cut(json.dumps(described["body"], ensure_ascii=False)),
    }


def _lines_of_dm3(described: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    lines: dict[str, JsonValue] = {
        "received": described["received_at"],
        "verified": _verified_sender(_receipt(described)),
    }
    message = described.get("message")
    if not isinstance(message, dict):
        why = described.get("not_opened")
        return lines | {
            "sealed": f"{described['message_hash']}; --raw writes it for `postroom dm3 open`",
            "not opened": why and f"{why}",
        }
    metadata, attachments = message["metadata"], message.get("attachments") or []
    assert isinstance(metadata, dict) and isinstance(attachments, list)  # noqa: S101, PT018 - of a Message
    text = message.get("message")
    return lines | {
        # Only the signer of the envelope was verified; the encrypted content may say anything.
        "says it is": None if _names(metadata.get("from"), described["from"]) else f"from {metadata.get('from')}",
        "type": metadata.get("type"),
        "about": metadata.get("referenceMessageHash"),
        "hash": described["message_hash"],
        "attachments": f"{len(attachments)}; `postroom dm3 open` shows them" if attachments else None,
        "text": None if text is None else _cut(str(text)),
    }


def _names(name: JsonValue, partner: JsonValue) -> bool:
    """Whether the sender in a dm3 message is the one that it is stored under."""
    from postroom.protocols.dm3.names import normalize

    try:
        return normalize(str(name)) == partner
    except TheirError:
        return False


def _receipt(described: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    receipt = described["receipt"]
    return receipt if isinstance(receipt, dict) else {}


def _is_cut(text: str) -> bool:
    return len(text) > _LONGEST_BODY


def _cut(text: str) -> str:
    return f"{text[:_LONGEST_BODY]}… ({len(text)} characters; see --raw)" if _is_cut(text) else text


def _verified_sender(receipt: Mapping[str, JsonValue]) -> str:
    """How the sender of a dm3 message was verified."""
    if receipt.get("unverified"):
        return f"NOT: {receipt['unverified']}"
    origin = _profile_origin(receipt)
    return f"by {receipt.get('key_fingerprint')} of the sender's profile{f': {origin}' if origin else ''}"


def _profile_origin(receipt: Mapping[str, object]) -> str:
    """How the profile of a dm3 sender was found, in one line; empty: the receipt does not say."""
    evidence = receipt.get("evidence")
    if not isinstance(evidence, Mapping):
        return ""
    forms = {
        "registry": "registry {}",
        "dnssec": "DNSSEC {}",
        "block": "block {}",
        "agreed": "endpoints that agreed: {}",
        "uri": "published under {}:",
    }
    return ", ".join(form.format(evidence[name]) for name, form in forms.items() if name in evidence)


def _verified(receipt: Mapping[str, JsonValue]) -> str:
    """How a message was verified, in one line: the key, and its proof."""
    from postroom.core.timestamps import write_timestamp

    at = receipt.get("verified_at_ms")
    when = f" at {write_timestamp(at)}" if isinstance(at, int) else ""
    key = f"{receipt.get('key_algorithm')} {receipt.get('key_fingerprint')}"
    evidence = receipt.get("evidence")
    if not isinstance(evidence, dict):
        return f"{key}, {evidence}{when}"
    chain = evidence.get("chain")
    zones = [str(link.get("zone")) for link in chain if isinstance(link, dict)] if isinstance(chain, list) else []
    return f"{key} of {receipt.get('key_name')}, DNSSEC {' → '.join(zones)}{when}"


def print_proof(receipt: Mapping[str, object]) -> None:
    """The evidence that was filed with a message; there is none of NLWeb if DNS was not used."""
    from postroom.names.dnssec import Evidence

    if receipt.get("protocol") == "dm3":
        origin = _profile_origin(receipt) or "the receipt does not say how it was found"
        print_line(f"    the sender's profile: {origin}")
        return
    evidence = receipt.get("evidence")
    if not isinstance(evidence, Mapping):
        print_line("    DNS was not used")
        return
    try:
        lines = list(proof_lines(Evidence.from_json(evidence)))
    except ValueError as error:
        lines = [f"its receipt contains {error}; --json shows it"]
    for line in lines:
        print_line(f"    {line}")
