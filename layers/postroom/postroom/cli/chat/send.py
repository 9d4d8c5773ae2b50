"""`postroom chat send|react|edit|delete|pin|clear|join|part`: what a user does in a chat."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.chat.inputs import read_picture, read_sound, sticker_named
from postroom.cli.chat.options import SendingOptions
from postroom.cli.chat.sent import print_sent
from postroom.cli.exits import UsageFault
from postroom.cli.inputs import AsJson, read_input
from postroom.cli.options import repeatable

if TYPE_CHECKING:
    from postroom.client.chat import Chats, SentChatMessage

To = Annotated[str, typer.Argument(metavar="TO", help="A dm3 name, nlweb:DOMAIN, '#channel', or a group.")]
MessageArgument = Annotated[
    str, typer.Argument(metavar="ID", help="The message's ID, or its beginning, as `chat show` prints it.")
]


def send(
    to: To,
    options: SendingOptions,
    text: Annotated[str | None, typer.Argument(metavar="TEXT|-", help="The text; - is standard input.")] = None,
    picture: Annotated[
        str | None, typer.Option(metavar="FILE|-", help="A JPEG, PNG, WebP or GIF; a text may stand beside it.")
    ] = None,
    sound: Annotated[str | None, typer.Option(metavar="FILE|-", help="A sound: AAC (ADTS) or AMR.")] = None,
    sticker: Annotated[
        str | None, typer.Option(metavar="HASH:PACK", help="A sticker: its hash, and the number of its pack.")
    ] = None,
    reply_to: Annotated[str, typer.Option(metavar="ID", help="The message that it answers.", show_default="none")] = "",
    as_json: AsJson = False,
) -> None:
    """Send a text, a picture, a sound or a sticker.

    "@" and the name of somebody in the chat is a mention. A picture leaves upright, in sRGB, within 2000 x 2000 pixels
    and 350,000 bytes, and without metadata such as the place where it was taken: `pip install 'postroom[chat]'`
    installs what that needs. A sound leaves without metadata. To an NLWeb domain it goes through your post office
    (--at), unencrypted. Exit code 0: everybody has it; 1: it cannot be sent, or somebody's delivery service refused it;
    3: `chat pull` sends it again.
    """
    written = read_input("-").decode("utf-8", "replace").removesuffix("\n") if text == "-" else text
    send_it = _sending(to, written, picture, sound, sticker, reply_to)
    with options.open() as chats:
        raise typer.Exit(print_sent(send_it(chats), as_json=as_json))


def _sending(
    to: str, text: str | None, picture: str | None, sound: str | None, sticker: str | None, reply_to: str
) -> "Callable[[Chats], SentChatMessage]":
    """What is to be sent, read and made ready before anything is opened. Raises UsageFault: nothing, or several."""
    from postroom.cli.chat.mentions import with_mentions_of_chat

    given = [each for each in (picture, sound, sticker) if each is not None]
    if len(given) + (text is not None and picture is None) != 1:
        raise UsageFault("give one of TEXT, --picture, --sound and --sticker; TEXT may stand beside --picture")
    if picture is not None:
        image = read_picture(picture)
        return lambda chats: chats.send_picture(
            to, image.cleaned, image.type, with_mentions_of_chat(chats, to, text or ""), reply_to=reply_to
        )
    if sound is not None:
        audio = read_sound(sound)
        return lambda chats: chats.send_sound(to, audio.cleaned, audio.type, reply_to=reply_to)
    if sticker is not None:
        named = sticker_named(sticker)
        return lambda chats: chats.send_sticker(to, named, reply_to=reply_to)
    return lambda chats: chats.send(to, with_mentions_of_chat(chats, to, text or ""), reply_to=reply_to)


def react(
    to: To,
    message: MessageArgument,
    options: SendingOptions,
    kind: Annotated[
        str, typer.Option(metavar="KIND", help="LOVE, THUMBS_UP, THUMBS_DOWN, LAUGH, SAD or ANGRY.")
    ] = "LOVE",
    take_back: Annotated[bool, typer.Option("--take-back", help="Take the reaction back.")] = False,
    as_json: AsJson = False,
) -> None:
    """React to a message, or take the reaction back."""
    from postroom.protocols.status.enums import ReactionKind

    kinds = {member.name: member for member in ReactionKind if member}
    found = kinds.get(kind.upper())
    if found is None:
        raise UsageFault(f"--kind is {kind!r}; it must be one of {', '.join(kinds)}")
    with options.open() as chats:
        raise typer.Exit(print_sent(chats.react(to, message, found, take_back=take_back), as_json=as_json))


def edit(
    to: To,
    message: MessageArgument,
    options: SendingOptions,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The new text.")],
    as_json: AsJson = False,
) -> None:
    """Change the text of your message."""
    from postroom.cli.chat.mentions import with_mentions_of_chat

    with options.open() as chats:
        raise typer.Exit(print_sent(chats.edit(to, message, with_mentions_of_chat(chats, to, text)), as_json=as_json))


def delete(
    to: To,
    message: MessageArgument,
    options: SendingOptions,
    for_me: Annotated[bool, typer.Option("--for-me", help="Hide it on your devices only.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete your message for everybody; admins delete any."""
    with options.open() as chats:
        sent = chats.hide(to, message) if for_me else chats.delete(to, message)
        raise typer.Exit(print_sent(sent, as_json=as_json))


def pin(
    to: To,
    message: MessageArgument,
    options: SendingOptions,
    unpin: Annotated[bool, typer.Option("--unpin", help="Unpin it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Pin a message in its chat."""
    with options.open() as chats:
        raise typer.Exit(print_sent(chats.pin(to, message, pinned=not unpin), as_json=as_json))


def clear(to: To, options: SendingOptions, as_json: AsJson = False) -> None:
    """Hide the messages of a chat so far, on all of your devices."""
    with options.open() as chats:
        raise typer.Exit(print_sent(chats.clear(to), as_json=as_json))


def join(
    channel: Annotated[str, typer.Argument(metavar="CHANNEL", help="The channel, with or without #.")],
    options: SendingOptions,
    to: Annotated[
        list[str] | None, repeatable("A name, or nlweb:DOMAIN, that your messages in it go to", metavar="NAME")
    ] = None,
    relay: Annotated[bool, typer.Option("--relay", help="Pass signed messages of others on to them, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Join a channel, or change whom your messages in it go to."""
    with options.open() as chats:
        joined = chats.join(channel.removeprefix("#"), to or (), relays=relay)
        raise typer.Exit(print_sent(joined, as_json=as_json))


def part(
    channel: Annotated[str, typer.Argument(metavar="CHANNEL", help="The channel, with or without #.")],
    options: SendingOptions,
    as_json: AsJson = False,
) -> None:
    """Leave a channel."""
    with options.open() as chats:
        raise typer.Exit(print_sent(chats.part(channel.removeprefix("#")), as_json=as_json))
