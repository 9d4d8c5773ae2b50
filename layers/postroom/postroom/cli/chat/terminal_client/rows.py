"""The messages of the open chat as rows: texts that are safe to show, in words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from postroom.cli.chat.terminal_client.safe_text import safe_lines, safe_text
from postroom.cli.chat.terminal_client.snapshot import ChatSnapshot, KnownNames, ListedChat
from postroom.client.chat.plain_text import EMOJIS
from postroom.client.chat.undelivered import DeliveryState, UnsentPart
from postroom.protocols.status.chat_view import ShownChatMessage
from postroom.protocols.status.clock import LATE
from postroom.protocols.status.enums import ContentType, ReactionKind
from postroom.protocols.status.ids import MessageId
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.mentions import find_mentions
from postroom.protocols.status.message_media import MessageMedia, media_of
from postroom.protocols.status.verify import ChatRef

_WORDS: Final = {
    ReactionKind.LOVE: "love",
    ReactionKind.THUMBS_UP: "up",
    ReactionKind.THUMBS_DOWN: "down",
    ReactionKind.LAUGH: "laugh",
    ReactionKind.SAD: "sad",
    ReactionKind.ANGRY: "angry",
}
REACTIONS: Final[Mapping[int, str]] = {kind: f"{safe_text(EMOJIS[kind])} {word}" for kind, word in _WORDS.items()}
"""Each reaction as a sign and a word. Its number is the key that reacts."""
SENDING: Final = "sending"
SENT: Final = "sent"
_MOST_REACTORS: Final = 5
_QUOTED: Final = 200
_KB: Final = 1000


@dataclass(frozen=True, slots=True)
class UnreadMessages:
    """The unread messages of a chat. `are_more`: older ones, which are not read in, may be unread, too."""

    count: int = 0
    are_more: bool = False
    mention_user: bool = False


@dataclass(frozen=True, slots=True)
class PendingText:
    """A text that the user sent, until it is one of the chat's messages. `failed`: why it never becomes one."""

    number: int
    chat: ChatRef
    text: str
    reply_to: str = ""
    failed: str = ""

    @property
    def id(self) -> str:
        """The ID of its row."""
        return f"pending:{self.number}"


@dataclass(frozen=True, slots=True)
class PendingChange:
    """A change of a message that is on its way. `kind`, `stands`: of a reaction, which is shown as if it had come."""

    number: int
    message: str
    label: str
    kind: int = 0
    stands: bool = True


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A message as its chat shows it; all texts are safe to show.

    `id` of a text that is pending is none of a message. `at_ms`: None: it is pending. `picture`: what half-blocks are
    made of. `is_new`: the first of those that were unread when the chat was opened.
    """

    id: str
    author: str
    is_own: bool
    at_ms: int | None
    text: tuple[str, ...]
    quote: str = ""
    media: str = ""
    picture: MessageMedia | None = None
    marks: tuple[str, ...] = ()
    reactions: tuple[str, ...] = ()
    state: str = ""
    problem: str = ""
    is_new: bool = False


def rows_of(
    snapshot: ChatSnapshot,
    chat: ListedChat,
    new_from: int,
    texts: Sequence[PendingText],
    changes: Sequence[PendingChange],
) -> list[MessageRow]:
    """The rows of a chat. `new_from`: messages of others that came later are new."""
    by_id = {message.id: message for message in chat.messages}
    rows = [
        _row(snapshot, by_id, message, chat.undelivered.get(message.id, DeliveryState()), changes)
        for message in chat.messages
    ]
    new = unread_in(chat, snapshot.own, new_from)
    if new:
        place = chat.messages.index(new[0])
        rows[place] = replace(rows[place], is_new=True)
    return rows + [_pending(snapshot, by_id, each) for each in texts if each.chat == chat.ref]


def reactions_of(
    message: ShownChatMessage, own: ChatKey, changes: Sequence[PendingChange]
) -> dict[int, tuple[ChatKey, ...]]:
    """The reactions of a message with the user's own that are on their way."""
    reactions = dict(message.reactions)
    for change in changes:
        if change.kind and change.message == message.id:
            others = tuple(author for author in reactions.get(change.kind, ()) if author != own)
            reactions[change.kind] = (*others, own) if change.stands else others
    return {kind: authors for kind, authors in sorted(reactions.items()) if authors}


def unread_in(chat: ListedChat, own: ChatKey, read_to: int) -> list[ShownChatMessage]:
    """The messages of others that came after what was read, of those that are there."""
    return [each for each in chat.messages if each.author != own and chat.came[each.id] > read_to]


def is_mentioned(text: str, key: ChatKey) -> bool:
    """Whether a text mentions a user, or everyone."""
    return any(mention.key in (key, None) for mention in find_mentions(text))


def size_in_words(count: int) -> str:
    """A number of bytes for people."""
    return f"{count} bytes" if count < _KB else f"{count / _KB:.0f} kB"


def waiting_in_words(state: DeliveryState) -> str:
    """Whom a message, and what the user said about it, waits for; empty: for nobody."""
    receivers: dict[str, list[str]] = {}
    for each in state.unsent:
        if not each.reason:
            receivers.setdefault(_what(each), []).append(safe_text(each.to))
    return ", ".join(f"{what}waits for {', '.join(names)}" for what, names in receivers.items())


def problems_in_words(state: DeliveryState, names: KnownNames) -> str:
    """Who never gets a message: who refused it and why, and whose name nobody knew; empty: nobody."""
    refused = [
        f"{_what(each)}refused by {safe_text(each.to)}: {safe_text(each.reason)}"
        for each in state.unsent
        if each.reason
    ]
    unreached = ", ".join(map(names.title, state.unreached))
    return "; ".join([*refused, *([f"not reached, as no name to write to is known: {unreached}"] if unreached else [])])


def _what(part: UnsentPart) -> str:
    return "" if part.what == "message" else f"{part.what} "


def _row(
    snapshot: ChatSnapshot,
    by_id: Mapping[MessageId, ShownChatMessage],
    message: ShownChatMessage,
    state: DeliveryState,
    changes: Sequence[PendingChange],
) -> MessageRow:
    names, own = snapshot.names, message.author == snapshot.own
    media = media_of(message.message) if message.message else None
    waits, problems = waiting_in_words(state), problems_in_words(state, names)
    pending = [change.label for change in changes if change.message == message.id and change.label]
    return MessageRow(
        message.id,
        names.title(message.author),
        own,
        message.clock,
        _text_lines(names, message),
        _quote(names, by_id, message.response_to),
        _media(media, message),
        media if media and media.kind is ContentType.IMAGE else None,
        tuple(_marks(snapshot, message)),
        tuple(_reactions(names, snapshot.own, reactions_of(message, snapshot.own, changes))),
        ", ".join([*pending, waits or (SENT if own and not problems else "")]).strip(", "),
        problems,
    )


def _pending(snapshot: ChatSnapshot, by_id: Mapping[MessageId, ShownChatMessage], pending: PendingText) -> MessageRow:
    return MessageRow(
        pending.id,
        snapshot.names.title(snapshot.own),
        True,
        None,
        safe_lines(snapshot.names.text(pending.text)),
        _quote(snapshot.names, by_id, pending.reply_to),
        state="" if pending.failed else SENDING,
        problem=f"not sent: {safe_text(pending.failed)}" if pending.failed else "",
    )


def _text_lines(names: KnownNames, message: ShownChatMessage) -> tuple[str, ...]:
    if message.message is None:
        by = "" if message.deleted_by == message.author else f" by {names.title(message.deleted_by or message.author)}"
        return (f"(deleted{by})",)
    return safe_lines(names.text(message.text)) if message.text else ()


def _quote(names: KnownNames, by_id: Mapping[MessageId, ShownChatMessage], response_to: str) -> str:
    if not response_to:
        return ""
    answered = by_id.get(MessageId(response_to))
    if answered is None:
        return "an earlier message"
    text = " ".join(_text_lines(names, answered)) or _media(None, answered)
    return f"{names.title(answered.author)}: {text[:_QUOTED]}"


def _media(media: MessageMedia | None, message: ShownChatMessage) -> str:
    if message.message is None:
        return ""
    found = media or media_of(message.message)
    if found is not None:
        what = "picture" if found.kind is ContentType.IMAGE else "sound"
        return f"({what}, {size_in_words(len(found.data))})"
    if sticker := message.message.sticker:
        return f"(sticker {safe_text(sticker.hash[:16])})"
    return "" if message.text else "(empty)"


def _marks(snapshot: ChatSnapshot, message: ShownChatMessage) -> Iterator[str]:
    if is_mentioned(message.text, snapshot.own):
        yield "@you"
    if message.is_edited:
        yield "edited"
    if message.is_pinned:
        yield "pinned"
    yield from map(safe_text, message.marks)
    if message.is_late:
        yield LATE


def _reactions(names: KnownNames, own: ChatKey, reactions: Mapping[int, tuple[ChatKey, ...]]) -> Iterator[str]:
    unknown = 0
    for kind, authors in reactions.items():
        label = REACTIONS.get(kind)
        if label is None:
            unknown += len(authors)
            continue
        others = [names.title(author) for author in authors if author != own]
        shown = [*(["you"] if own in authors else []), *others][:_MOST_REACTORS]
        more = len(authors) - len(shown)
        yield f"{label}: {', '.join(shown)}{f' and {more} more' if more else ''}"
    if unknown:
        yield f"{unknown} of unknown kinds"
