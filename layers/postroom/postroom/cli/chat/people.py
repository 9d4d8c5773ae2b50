"""The people whom a command names: in what it prints, and in a text that a user wrote."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from postroom.client.chat import Chats
    from postroom.core.ijson import JsonValue
    from postroom.protocols.status.chat_view import ShownChat, ShownChatMessage
    from postroom.protocols.status.keys import ChatKey


def name_of(chats: "Chats", key: "ChatKey") -> str:
    """The name by which somebody can be written to; empty: none is known. The user's own is known from the start."""
    return chats.name if key == chats.own else chats.memory.name_of(key)


def people_of(
    chats: "Chats", found: "Iterable[tuple[ShownChat, list[ShownChatMessage]]]", others: "Iterable[ChatKey]" = ()
) -> "dict[str, JsonValue]":
    """Everybody in these chats, as `people_as_json`, and whom the messages mention."""
    from postroom.protocols.status.mentions import find_mentions
    from postroom.protocols.status.view_json import people_as_json

    found = list(found)
    mentions = [each for _, messages in found for message in messages for each in find_mentions(message.text)]
    mentioned = [mention.key for mention in mentions if mention.key is not None]
    return people_as_json(chats.view(), found, [*others, *mentioned], name_of=partial(name_of, chats))


def mentions_as_keys(chats: "Chats", to: str, text: str) -> str:
    """A text to send to a chat: "@" and the key where the user wrote "@" and the name of somebody in the chat.

    Raises ChatError, as `Chats.find` does.
    """
    from postroom.cli.chat.shown import shown_name
    from postroom.cli.chat.terminal_client.composing import with_mentions
    from postroom.protocols.status.enums import ChatKind
    from postroom.protocols.status.keys import ChatKey

    if "@" not in text:
        return text
    target, view = chats.find(to), chats.view()
    people = people_of(chats, [(view.chat(target.ref), view.messages(target.ref))], [chats.own])
    names = {ChatKey(key): shown_name(key, people) for key in people} | dict(target.names)
    if target.ref.kind is ChatKind.ONE_TO_ONE:
        names[ChatKey(target.ref.id)] = target.receivers[0]
    return with_mentions(text, names)
