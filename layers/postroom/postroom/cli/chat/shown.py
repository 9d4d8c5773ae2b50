"""Chats as lines for people."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from postroom.protocols.dm3.explain import shown_time
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.mentions import show_mentions
from postroom.protocols.status.pseudonym import pseudonym, short_key

if TYPE_CHECKING:
    from postroom.core.ijson import JsonValue

_TITLES: Final = {"one-to-one": "with", "public": "channel", "group": "group"}


def lines_of(view: "dict[str, JsonValue]") -> Iterator[str]:
    """The lines of a view (`view_as_json`): a title for each chat, its messages, and what is not shown."""
    shown: Any = view
    for chat in shown["chats"]:
        yield from chat_lines(chat, shown["people"])
        yield ""
    yield from not_shown_lines(shown["not_shown"], shown["people"])


def not_shown_lines(not_shown: Any, people: Any) -> Iterator[str]:
    """A line for each message that does not count."""
    for fact in not_shown:
        yield f"not shown: {fact['id']} by {shown_name(fact['author'], people)}: {fact['reason']}"


def chat_lines(chat: Any, people: Any) -> Iterator[str]:
    """A title, and the messages of one chat."""
    yield _title(chat, people)
    for message in chat["messages"]:
        yield from _message(message, chat["messages"], people)


def chat_line(chat: Any, people: Any) -> str:
    """One line of a chat, with the newest of its messages."""
    newest = [
        " ".join([
            shown_time(each["clock"]), _content(each, people), *(f"[{state}]" for state in _delivery(each, people)),
        ])
        for each in chat["messages"][-1:]
    ]  # fmt: skip
    return ": ".join([_title(chat, people), *newest])


def _title(chat: Any, people: Any) -> str:
    kind = _TITLES[chat["kind"]]
    if chat["kind"] == "one-to-one":
        return f"{kind} {shown_name(chat['id'], people)}"
    if chat["kind"] == "public":
        return f"{kind} #{chat['id']}"
    members = ", ".join(shown_name(member, people) for member in chat["members"])
    return f"{kind} {chat['name']!r}: {members or 'no members'}"


def _message(message: Any, others: Any, people: Any) -> Iterator[str]:
    words = [
        message["id"][:10],
        shown_time(message["clock"]),
        f"{shown_name(message['author'], people)}:",
        _content(message, people),
    ]
    words += [f"[{mark}]" for mark in (*(["edited"] if message["edited"] else []), *message["marks"])]
    if message["pinned"]:
        words.append("[pinned]")
    words += [f"[{state}]" for state in _delivery(message, people)]
    yield "  " + " ".join(words)
    if message["response_to"]:
        answered = next((each for each in others if each["id"] == message["response_to"]), None)
        yield f"    in reply to: {_content(answered, people) if answered else message['response_to']}"
    for kind, authors in message["reactions"].items():
        yield f"    {kind}: {', '.join(shown_name(author, people) for author in authors)}"


def _delivery(message: Any, people: Any) -> Iterator[str]:
    """Who has not got what, if that is known of the message (`find_undelivered`)."""
    for each in message.get("unsent", ()):
        what = "" if each["what"] == "message" else f"{each['what']} "
        yield f"{what}refused by {each['to']}: {each['reason']}" if each["reason"] else f"{what}waits for {each['to']}"
    if unreached := message.get("unreached"):
        yield f"not reached: {', '.join(shown_name(key, people) for key in unreached)}"


def _content(message: Any, people: Any) -> str:
    if message["deleted"]:
        return "(deleted)"
    text = show_mentions(message["text"], partial(_mentioned, people))
    parts = [text.replace("\n", " ⏎ ")] if text else []
    if media := message["media"]:
        parts.append(f"({media['kind']}, {media['reason'] or '{} bytes'.format(media['bytes'])})")
    if sticker := message["sticker"]:
        parts.append(f"(sticker {sticker['hash'][:16]})")
    return " ".join(parts) or "(empty)"


def _mentioned(people: Any, key: ChatKey) -> str:
    return shown_name(key, people) if key in people else f"{pseudonym(key)} ({short_key(key)})"


def shown_name(key: str, people: Any) -> str:
    """A name that is proven; otherwise what its user says, or the pseudonym, beside what nobody can choose."""
    person = people[key]
    return (
        person["name"]
        or f"{person['ens_name'] or person['display_name'] or person['pseudonym']} ({person['short_key']})"
    )
