"""The texts of the terminal client's screens: help, a message in full, the people of a chat; all are safe to show."""

from collections.abc import Iterator
from typing import Final

from postroom.cli.chat.terminal_client.composing import FORMS
from postroom.cli.chat.terminal_client.layout import shown_minute
from postroom.cli.chat.terminal_client.model import ClientModel
from postroom.cli.chat.terminal_client.rows import REACTIONS, MessageRow
from postroom.cli.chat.terminal_client.safe_text import safe_text
from postroom.protocols.status.chat_view import ShownChatMessage
from postroom.protocols.status.enums import ChatKind
from postroom.protocols.status.keys import multibase
from postroom.protocols.status.pseudonym import pseudonym

_MARKS: Final = {
    "@you": "the message mentions you, or everyone",
    "late": "it came more than two minutes after its own time: it may have been inserted in the history",
    "unsigned": "it has no signature of its own; the carrier says whose it is",
    "high-s": "its signature has another form than usual",
    "text-differs": "plain dm3 clients show another text than this one",
    "other-key": "its author is not the chat key of the domain that it came from",
    "plain": "it was written as a dm3 message, not in a chat",
}
_KEYS: Final = (
    ("Everywhere", "Tab next part · ^N next chat with new messages · ^R look for mail"),
    ("", "F1 help · ^Q quit"),
    ("Chats", "↑ ↓ choose · Enter open · w who is in the open chat · / command"),
    ("Messages", "↑ ↓ choose · Enter all about it · r reply · e change your own"),
    ("", "d delete · p pin or unpin · w who is in the chat · Esc back"),
    ("Reactions", "  ".join(f"{kind} {label}" for kind, label in REACTIONS.items())),
    ("", "to the chosen message; the same key takes the reaction back"),
    ("Writing", "Enter send · ^J new line · Esc to the messages"),
    ("", "@ and Tab complete a name · Tab again takes the next one"),
)


def help_lines() -> list[str]:
    """Keys, commands and marks."""
    lines = [f"{title:<10} {text}" for title, text in _KEYS]
    lines += ["", "Commands, instead of a text:"]
    lines += [f"  {form.usage:<22} {form.does}" for form in FORMS.values()]
    lines += ["", "Marks of messages:"]
    lines += [f"  {mark:<14} {meaning}" for mark, meaning in _MARKS.items()]
    lines += [
        "",
        "Characters that are not seen, or change how others look, are written out: \\u200b.",
    ]
    return lines


def details(model: ClientModel, row: MessageRow, message: ShownChatMessage | None) -> list[str]:
    """All about a message."""
    lines = list(row.text)
    if row.quote:
        lines = [f"↪ {row.quote}", *lines]
    lines += [row.media] if row.media else []
    lines += ["", f"from      {row.author}"]
    if message is not None:
        lines += list(_origin(model, message))
    lines += [f"{mark:<9} {_MARKS[mark]}" if mark in _MARKS else mark for mark in row.marks]
    lines += list(row.reactions)
    lines += [f"delivery  {row.state}"] if row.state else []
    lines += [f"problem   {row.problem}"] if row.problem else []
    return lines


def people_lines(model: ClientModel) -> list[str]:
    """The people of the open chat."""
    chat, lines = model.chat, []
    for key, name in model.people().items():
        what = "you" if key == model.snapshot.own else ""
        if chat is not None and chat.ref.kind is ChatKind.PRIVATE_GROUP:
            role = "admin" if key in chat.admins else "member" if key in chat.members else "no member any more"
            what = ", ".join(filter(None, (what, role)))
        lines += [f"{name}{f'  ({what})' if what else ''}"]
        lines += [f"    {'proven name' if key in model.snapshot.names.proven else 'name not proven'}; {pseudonym(key)}"]
        lines += [f"    {multibase(key)}"]
    return lines


def _origin(model: ClientModel, message: ShownChatMessage) -> Iterator[str]:
    chat = model.chat
    yield f"key       {multibase(message.author)}"
    yield f"written   {shown_minute(message.clock)}"
    if chat is not None and message.id in chat.came:
        yield f"came      {shown_minute(chat.came[message.id])}"
    yield f"id        {safe_text(message.id)}"
