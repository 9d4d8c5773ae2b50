"""`postroom chat save`: the picture or the sound of a message, as a file."""

from postroom.cli.chat.clean import MediaFile, write_cleaned
from postroom.cli.chat.options import ChatOptions
from postroom.cli.chat.send import MessageArgument, To
from postroom.cli.inputs import AsJson


def save(
    to: To,
    message: MessageArgument,
    options: ChatOptions,
    out: MediaFile,
    as_json: AsJson = False,
) -> None:
    """Save the picture or the sound of a message, without metadata.

    Nothing is decoded. Exit code 1: it is not what its type says, damaged or too large, and nothing is written.
    """
    with options.open() as chats:
        media = chats.media(to, message)
    write_cleaned(out, len(media.data), media.clean(), as_json=as_json)
