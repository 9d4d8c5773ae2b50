"""The people in what a command prints, with their names."""

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
