"""`postroom chat explain`: every check of a message of Status, in order."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.chat.inputs import chat_key, payload_type, time_in_ms
from postroom.cli.explanation import exit_of, print_explanation
from postroom.cli.inputs import AsJson, read_input
from postroom.cli.output import print_json
from postroom.cli.terminal import print_line

if TYPE_CHECKING:
    from postroom.protocols.status.explain import ExplainedWrapper

_LONGEST_SHOWN = 100


def explain(
    file: Annotated[str, typer.Argument(help="The wrapper; - is standard input.", metavar="FILE|-")],
    named: Annotated[
        str | None, typer.Option("--type", metavar="NAME", help="The type of an untyped wrapper, as CHAT_MESSAGE.")
    ] = None,
    came_at: Annotated[
        int | None,
        typer.Option("--at", metavar="MS", help="When it came, in milliseconds since 1970.", show_default="--now"),
    ] = None,
    now: Annotated[
        int | None, typer.Option(metavar="MS", help="Your clock, in milliseconds since 1970.", show_default="now")
    ] = None,
    carrier: Annotated[
        str | None, typer.Option(metavar="KEY", help="The chat key of the sender that the carrier proves.")
    ] = None,
    own: Annotated[str | None, typer.Option(metavar="KEY", help="Your own chat key: 0x04… or zQ3sh….")] = None,
    as_json: AsJson = False,
) -> None:
    """Check a message as its receiver would, and show each check.

    Exit code 0: accepted; 1: discarded. Of one message alone: whether you are in its group or channel is not checked,
    nor anything that needs a key you do not give.
    """
    from postroom.protocols.status.explain import explain as explain_wrapper

    explained = explain_wrapper(
        read_input(file),
        at_ms=time_in_ms("--now", now) if came_at is None else time_in_ms("--at", came_at),
        named=payload_type(named) if named else None,
        carrier=chat_key("--carrier", carrier) if carrier else None,
        own=chat_key("--own", own) if own else None,
    )
    if as_json:
        print_json(explained.as_json())
    else:
        _print(explained)
    raise typer.Exit(exit_of(explained))


def _print(explained: "ExplainedWrapper") -> None:
    shown = explained.as_json()
    for name in ("type", "author", "id", "chat", "marks", "media"):
        if value := shown[name]:
            print_line(f"{name:<8} {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")
    if isinstance(message := shown["message"], dict):
        for name, value in message.items():
            text = json.dumps(value, ensure_ascii=False)
            print_line(f"  {name:<13} {text if len(text) <= _LONGEST_SHOWN else f'{text[:_LONGEST_SHOWN]}…'}")
    print_line()
    print_explanation(explained)
