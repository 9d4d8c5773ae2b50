"""`postroom chat watch`: what happens in the chats, as it happens."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.archive.inputs import archive_errors
from postroom.cli.chat.options import ChatOptions
from postroom.cli.chat.people import people_of
from postroom.cli.chat.sent import print_delivery, why_as_json
from postroom.cli.inputs import AsJson
from postroom.cli.output import note, print_json_line
from postroom.cli.owner import WATCHING_ATTEMPTS, At
from postroom.cli.terminal import print_line

if TYPE_CHECKING:
    from postroom.client.chat import ChatChange, Chats, SentTo
    from postroom.client.mailbox import UnavailableError


def watch(
    at: At,
    options: ChatOptions,
    seconds: Annotated[
        float | None, typer.Option(min=0, help="End when nothing came for so many seconds.", show_default="for ever")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Bring messages as they come, and print each change of a chat.

    Beside yours stands who has not got them, or has refused them and why; it is a change when somebody gets one later.
    Whoever has refused something has a line, too: not all that is sent is a message of a chat.

    If your post office does not answer, it is waited for; with --seconds, exit code 3 says so.

    With --json, a line for each: {"change": "added|changed|removed", "chat", "message", "people"}, or
    {"change": "refused", "to", "reason", "detail"}.
    """
    with archive_errors(), options.open() as chats, options.mailbox(at, chats, attempts=WATCHING_ATTEMPTS) as mailbox:
        chats.send_through(lambda: mailbox)
        refused = partial(_print_refused, as_json=as_json)
        unavailable = _note_unavailable if seconds is None else None
        for change in chats.watch(mailbox, True if seconds is None else seconds, refused, unavailable):
            _print(chats, change, as_json=as_json)


def _note_unavailable(error: "UnavailableError") -> None:
    note(f"{error} Still waiting.")


def _print_refused(sent: "SentTo", *, as_json: bool) -> None:
    if as_json:
        print_json_line({"change": str(sent.outcome), "to": sent.to, **why_as_json(sent)})
    else:
        print_delivery(sent)


def _print(chats: "Chats", change: "ChatChange", *, as_json: bool) -> None:
    from postroom.cli.chat.shown import chat_lines
    from postroom.protocols.status.view_json import chat_as_json, shown_as_json

    view = chats.view()
    chat = view.chat(change.chat)
    people = people_of(chats, [(chat, [change.message])])
    message = {**shown_as_json(change.message), **change.delivery.as_json()}
    if as_json:
        print_json_line({
            "change": str(change.kind), "chat": change.chat.as_json(), "message": message, "people": people,
        })  # fmt: skip
        return
    title, *lines = chat_lines({**chat_as_json(chat, []), "messages": [message]}, people)
    print_line(f"{change.kind} in {title}")
    for line in lines:
        print_line(line, flush=True)
