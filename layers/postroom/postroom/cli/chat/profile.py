"""`postroom chat profile`: the display name and the picture that others see."""

from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.chat.inputs import read_profile_picture
from postroom.cli.chat.options import SendingOptions
from postroom.cli.chat.sent import print_sent
from postroom.cli.exits import UsageFault
from postroom.cli.inputs import AsJson
from postroom.cli.output import print_json
from postroom.cli.terminal import print_line

if TYPE_CHECKING:
    from postroom.protocols.status.messages import ChatMessageIdentity


def profile(
    options: SendingOptions,
    display_name: Annotated[
        str | None, typer.Option(metavar="NAME", help="What you are called; empty: nothing but your dm3 name.")
    ] = None,
    picture: Annotated[
        str | None, typer.Option(metavar="FILE|-", help="Your picture: a JPEG, PNG, WebP or GIF.")
    ] = None,
    no_picture: Annotated[bool, typer.Option("--no-picture", help="Have no picture any more.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show or change what you say of yourself.

    Contacts get a new picture at once. Other people get name and picture with your next message to them, and nobody
    whom you have not written to. A picture leaves within 240 x 240 pixels, without metadata; this needs the extra
    `chat`.
    """
    if picture is not None and no_picture:
        raise UsageFault("give one of --picture and --no-picture")
    data = b"" if no_picture else None if picture is None else read_profile_picture(picture).cleaned.data
    with options.open() as chats:
        if display_name is None and data is None:
            _print(chats.profile(), as_json=as_json)
        else:
            changed = chats.change_profile(display_name=display_name, picture=data)
            raise typer.Exit(print_sent(changed, as_json=as_json))


def _print(shown: "ChatMessageIdentity", *, as_json: bool) -> None:
    from postroom.protocols.status.checks import picture_of

    size = len(picture_of(shown.profile_image.payload)) if shown.profile_image else None
    if as_json:
        print_json({
            "ens_name": shown.ens_name,
            "display_name": shown.display_name,
            "picture": shown.profile_image.payload if shown.profile_image else None,
        })  # fmt: skip
        return
    print_line(f"name          {shown.ens_name or '-'}")
    print_line(f"display name  {shown.display_name or '-'}")
    print_line(f"picture       {'-' if size is None else f'{size} bytes'}")
