"""Mentions in a text that a user wrote: "@" and somebody's name, which are sent as "@" and the key."""

from collections import Counter
from collections.abc import Collection

from postroom.cli.chat.people import people_of
from postroom.cli.chat.shown import shown_name
from postroom.client.chat import Chats
from postroom.protocols.status.enums import ChatKind
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.mentions import write_mentions
from postroom.protocols.status.pseudonym import pseudonym


def with_mentions(text: str, people: Collection[tuple[ChatKey, str]]) -> str:
    """The text to send: keys in place of these people's names and pseudonyms. What two are called names nobody.

    `people`: keys and names; a key may have several.
    """
    named = [(name, key) for key, known in people for name in (known, pseudonym(key))]
    counts = Counter(name for name, _ in {(name.casefold(), key) for name, key in named})
    return write_mentions(text, {name: key for name, key in named if counts[name.casefold()] == 1})


def with_mentions_of_chat(chats: Chats, to: str, text: str) -> str:
    """The same, of the people in the chat that the text goes to, by the names that are shown and those in use.

    Raises ChatError, as `Chats.find` does.
    """
    if "@" not in text:
        return text
    target, view = chats.find(to), chats.view()
    people = people_of(chats, [(view.chat(target.ref), view.messages(target.ref))], [chats.own])
    names = [(ChatKey(key), shown_name(key, people)) for key in people]
    names += target.names.items()
    if target.ref.kind is ChatKind.ONE_TO_ONE:
        names += [(ChatKey(target.ref.id), name) for name in target.receivers]
    return with_mentions(text, names)
