"""`postroom dm3 send`: encrypt and sign a message, and post it to the receiver's delivery service."""

import mimetypes
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.archive.homes import FORMS
from postroom.cli.dm3.archive import open_own_archive
from postroom.cli.dm3.inputs import (
    KeyFile,
    dm3_name,
    load_user_keys,
    message_hash,
    message_type,
)
from postroom.cli.dm3.names import NameOptions
from postroom.cli.dm3.sent import exit_of, print_sent, sending_to
from postroom.cli.exits import UsageFault
from postroom.cli.inputs import AsJson, read_input
from postroom.cli.network import ConnectionOptions, build_https, open_resolvers
from postroom.cli.options import repeatable

if TYPE_CHECKING:
    from postroom.client.dm3 import Dm3Draft
    from postroom.protocols.dm3.keys import UserKeys
    from postroom.protocols.dm3.message import Attachment, MessageType


def send(
    sender: Annotated[str, typer.Argument(metavar="FROM", help="Your name.", parser=dm3_name)],
    to: Annotated[str, typer.Argument(metavar="TO", help="The receiver's name.", parser=dm3_name)],
    key: KeyFile,
    text: Annotated[
        str | None,
        typer.Argument(metavar="[TEXT|-]", help="The text; - is standard input. Some types need none."),
    ] = None,
    attach: Annotated[list[Path] | None, repeatable("Attach a file", metavar="FILE")] = None,
    type_: Annotated[
        str | None,
        typer.Option("--type", metavar="TYPE", help="The type of the message.", show_default="NEW, or REPLY"),
    ] = None,
    ref: Annotated[
        str | None,
        typer.Option(metavar="HASH", help="The hash of the message that this one is about.", parser=message_hash),
    ] = None,
    reply_to: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|-",
            help="The envelope to reply to; sets --ref, and returns its delivery instruction.",
        ),
    ] = None,
    home: Annotated[
        str | None,
        typer.Option(
            envvar="POSTROOM_HOME", metavar="HOME", help=f"The home of your archive, to keep the message in: {FORMS}."
        ),
    ] = None,
    *,
    names: NameOptions,
    connections: ConnectionOptions,
    as_json: AsJson = False,
) -> None:
    """Encrypt, sign and send a message.

    Exit code 0: accepted; 1: refused; 3: not possible now; 5: the receiver has no profile. With --home, an accepted
    message is kept in your archive.
    """
    from postroom.client import SendOutcome
    from postroom.client.archive.sent_messages import keep_sent
    from postroom.client.dm3 import Dm3Sender

    keys = load_user_keys(key)
    message = _message(to, text, attach or [], type_, ref, reply_to, keys)
    network = names.network_with(connections)
    with (
        names.profiles(network) as profiles,
        # Opened first: nothing is sent if the home is not the sender's.
        open_own_archive(home, key, connections, sender) if home else nullcontext() as archive,
    ):
        with open_resolvers(network) as resolvers, sending_to(to):
            sent = Dm3Sender(sender, keys, profiles, build_https(network, resolvers)).send(message)
        print_sent(sent, as_json=as_json)
        if archive and sent.envelope and sent.fate is SendOutcome.TAKEN:
            keep_sent(archive, [(sent.message, sent.envelope)], keys.signing.public)
    raise typer.Exit(exit_of(sent))


def _message(
    to: str,
    text: str | None,
    files: list[Path],
    type_: str | None,
    ref: str | None,
    reply_to: str | None,
    keys: "UserKeys",
) -> "Dm3Draft":
    from postroom.client.dm3 import Dm3Draft
    from postroom.protocols.dm3.message import MessageType

    if text == "-" and reply_to == "-":
        raise UsageFault("the text and --reply-to cannot both be read from standard input")
    attachments = tuple(_attachment(file) for file in files)
    written = _read_text() if text == "-" else text
    chosen = message_type(type_) if type_ else MessageType.REPLY if reply_to else MessageType.NEW
    if reply_to is None:
        return Dm3Draft(to, written, chosen, ref, attachments)
    if ref is not None:
        raise UsageFault("--reply-to sets --ref: leave --ref out")
    return _answer(to, written, chosen, attachments, reply_to, keys)


def _answer(
    to: str,
    text: str | None,
    type_: "MessageType",
    attachments: "tuple[Attachment, ...]",
    reply_to: str,
    keys: "UserKeys",
) -> "Dm3Draft":
    """A reply to the sender of an envelope. Raises TheirError if it cannot be opened."""
    from postroom.client.dm3 import reply
    from postroom.core.ijson import parse
    from postroom.protocols.dm3.envelope import message_hash as hash_of
    from postroom.protocols.dm3.envelope import open_message, read_envelope
    from postroom.protocols.dm3.names import normalize

    data = read_input(reply_to)
    envelope = read_envelope(parse(data, max_bytes=len(data)))
    original = open_message(envelope, [keys.encryption])
    if normalize(original.metadata.sender) != to:
        raise UsageFault(f"{reply_to} is from {original.metadata.sender}, not from {to}: a reply goes to the sender")
    return reply(original, hash_of(envelope), text, type=type_, attachments=attachments)


def _attachment(file: Path) -> "Attachment":
    from postroom.client.dm3 import attach

    return attach(file.read_bytes(), mimetypes.guess_type(file.name)[0] or "application/octet-stream")


def _read_text() -> str:
    try:
        # As the shell does for $(…): the final line break is the terminal's.
        return read_input("-").decode("utf-8").removesuffix("\n")
    except UnicodeDecodeError:
        raise UsageFault("the text on standard input is not UTF-8; attach a file with --attach") from None
