"""A message of the archive as text: time, sender, content."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from postroom.protocols.dm3.stored import Entry, Received, StoredEnvelope

_LONGEST: Final = 400


def lines_of(entry: "Entry") -> Iterator[str]:
    """The lines of a message; its content comes from strangers."""
    from postroom.protocols.dm3.explain import shown_time
    from postroom.protocols.dm3.stored import Received, StoredEnvelope

    match entry:
        case StoredEnvelope():
            head, body = _opened(entry)
        case Received():
            head, body = _received(entry)
        case _:
            head, body = [entry.author, f"removed by its author: {entry.cause}"], ""
    yield "  ".join((shown_time(entry.timestamp_ms), *head))
    for line in body.split("\n") if body else ():
        yield f"    {line}"


def shortened(text: str) -> str:
    """The beginning of a text, for a list."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters; see --json)"


def _opened(entry: "StoredEnvelope") -> tuple[list[str], str]:
    message = entry.message
    head = [entry.author]
    if entry.unverified:
        head.append(f"NOT verified: {entry.unverified}")
    if message.metadata.type_name != "NEW":
        head.append(str(message.metadata.type_name))
    if message.attachments:
        head.append(f"{len(message.attachments)} attachments")
    return head, shortened(message.message or "")


def _received(entry: "Received") -> tuple[list[str], str]:
    from postroom.client.archive.nlweb_messages import read_content

    if entry.set_aside:
        return [entry.author, f"set aside: {entry.set_aside}", entry.id], ""
    content = read_content(entry)
    head = [content.sender, *([f"to {content.receiver}"] if content.is_sent else []), content.subject]
    return head, shortened(json.dumps(content.body, ensure_ascii=False))
