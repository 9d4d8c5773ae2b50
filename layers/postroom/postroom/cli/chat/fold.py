"""`postroom chat fold`: the chats that a history makes, whatever came first."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.chat.inputs import chat_key
from postroom.cli.exits import UsageFault
from postroom.cli.inputs import AsJson, open_input, shown_input
from postroom.cli.options import repeatable
from postroom.cli.output import print_json
from postroom.cli.terminal import print_line

if TYPE_CHECKING:
    from postroom.core.ijson import JsonValue
    from postroom.protocols.status.fold import DiscardedLine, HistoryLine


def fold(
    file: Annotated[
        str,
        typer.Argument(
            help='The history, as JSON Lines: {"wrapper": base64, "at": ms, "type"?, "carrier"?}; - is standard input.',
            metavar="FILE|-",
        ),
    ],
    own: Annotated[str, typer.Option(metavar="KEY", help="Your chat key: 0x04… or zQ3sh….")],
    joined: Annotated[list[str] | None, repeatable("A channel that you are in", metavar="CHANNEL")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the chats that a history makes, in whatever order it came.

    Wrappers that are discarded do not change the exit code.
    """
    from postroom.protocols.status.chat_view import ChatView
    from postroom.protocols.status.chats import is_channel
    from postroom.protocols.status.fold import fold as fold_lines
    from postroom.protocols.status.view_json import view_as_json

    for channel in joined or ():
        if not is_channel(channel):
            raise UsageFault(f"--joined is {channel!r}; a channel has lower-case letters, digits and hyphens")
    folded = fold_lines(_lines(file), chat_key("--own", own))
    shown = view_as_json(ChatView(folded.log, joined or ()))
    shown["discarded"] = [_as_json(line) for line in folded.discarded]
    if as_json:
        print_json(shown)
    else:
        _print(shown, folded.discarded)


def _lines(file: str) -> "Iterator[HistoryLine]":
    from postroom.protocols.status.fold import read_line

    with open_input(file) as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield read_line(line)
            except ValueError as error:
                raise UsageFault(f"{shown_input(file)}, line {number}: {error}") from None


def _print(shown: "dict[str, JsonValue]", discarded: "list[DiscardedLine]") -> None:
    from postroom.cli.chat.shown import lines_of

    for line in lines_of(shown):
        print_line(line)
    for refused in discarded:
        print_line(f"line {refused.number} discarded: {refused.error}")


def _as_json(line: "DiscardedLine") -> "dict[str, JsonValue]":
    return {"line": line.number, "reason": str(line.error.reason), "detail": line.error.detail}
