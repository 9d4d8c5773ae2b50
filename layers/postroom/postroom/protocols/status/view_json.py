"""A view of chats as JSON, as `postroom chat fold` prints it."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from postroom.core.ijson import JsonValue
from postroom.core.reason import Reason
from postroom.protocols.status.chat_view import ChatView, ShownChat, ShownChatMessage
from postroom.protocols.status.clock import LATE
from postroom.protocols.status.enums import ChatKind, ReactionKind
from postroom.protocols.status.json_form import number_as_json
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.log import Fact
from postroom.protocols.status.message_media import media_of
from postroom.protocols.status.pseudonym import pseudonym, short_key

HELD = "held"
"""The mark of a message whose group is not known yet."""


def view_as_json(view: ChatView) -> dict[str, JsonValue]:
    """All chats with all messages, the users whose keys are among that and their names, and what does not count.

    `{chats, people, not_shown}`; docs/reference/status.md has all members.
    """
    chats = [(chat, view.messages(chat.ref)) for chat in view.chats()]
    not_shown = view.not_shown()
    return {
        "chats": [chat_as_json(chat, messages) for chat, messages in chats],
        "people": people_as_json(view, chats, (fact.author for fact, _ in not_shown)),
        "not_shown": [not_shown_as_json(view, fact, reason) for fact, reason in not_shown],
    }


def not_shown_as_json(view: ChatView, fact: Fact, reason: Reason) -> dict[str, JsonValue]:
    """What does not count, and why: `{id, author, chat, reason, marks}`."""
    return {
        "id": fact.id,
        "author": fact.author,
        "chat": None if fact.chat is None else fact.chat.as_json(),
        "reason": str(reason),
        "marks": [HELD] if view.is_held(fact) else [],
    }


def people_as_json(
    view: ChatView,
    chats: Iterable[tuple[ShownChat, list[ShownChatMessage]]],
    others: Iterable[ChatKey] = (),
    *,
    name_of: Callable[[ChatKey], str] = lambda _: "",
) -> dict[str, JsonValue]:
    """Everybody in these chats, by key: `{name, pseudonym, short_key, ens_name, display_name}`.

    `name`: the one by which they can be written to (`name_of`); empty: none is known. `ens_name`, `display_name`: what
    the user says.
    """
    names = view.names()
    keys = set(others)
    keys.update(key for chat, messages in chats for key in _keys_in(chat, messages))
    return {
        key: {
            "name": name_of(key),
            "pseudonym": pseudonym(key),
            "short_key": short_key(key),
            "ens_name": names[key].ens_name if key in names else "",
            "display_name": names[key].display_name if key in names else "",
        }
        for key in sorted(keys)
    }


def _keys_in(chat: ShownChat, messages: list[ShownChatMessage]) -> Iterator[ChatKey]:
    """Those that are shown in a chat."""
    if chat.ref.kind is ChatKind.ONE_TO_ONE:
        yield ChatKey(chat.ref.id)
    yield from chat.members
    for message in messages:
        yield message.author
        yield from chain.from_iterable(message.reactions.values())
        if message.deleted_by:
            yield message.deleted_by


def chat_as_json(chat: ShownChat, messages: list[ShownChatMessage]) -> dict[str, JsonValue]:
    """A chat with these messages of it: `{kind, id, name, members, admins, clock, messages}`."""
    return {
        **chat.ref.as_json(),
        "name": chat.name,
        "members": list(chat.members),
        "admins": list(chat.admins),
        "clock": chat.clock,
        "messages": [shown_as_json(message) for message in messages],
    }


def shown_as_json(shown: ShownChatMessage) -> dict[str, JsonValue]:
    """A message as its chat shows it; docs/reference/status.md has its members."""
    message = shown.message
    media = media_of(message) if message else None
    sticker = message.sticker if message else None
    return {
        "id": shown.id,
        "author": shown.author,
        "clock": shown.clock,
        "timestamp": shown.timestamp,
        "content_type": shown.content_type,
        "text": shown.text,
        "response_to": shown.response_to,
        "edited": shown.is_edited,
        "deleted": message is None,
        "deleted_by": shown.deleted_by,
        "pinned": shown.is_pinned,
        "reactions": {
            str(number_as_json(ReactionKind, kind)): list(authors) for kind, authors in shown.reactions.items()
        },
        "late": shown.is_late,
        "marks": [*shown.marks, LATE] if shown.is_late else list(shown.marks),
        "media": None if media is None else media.as_json(),
        "sticker": None if sticker is None else {"hash": sticker.hash, "pack": sticker.pack},
    }
