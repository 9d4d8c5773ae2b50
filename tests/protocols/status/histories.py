"""Users, messages and copies of them as carriers bring them, from which tests make histories."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import permutations
from random import Random
from typing import Any, Final

from coincurve.utils import GROUP_ORDER_INT

from postroom.protocols.status import messages as m
from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.chat_view import ChatView
from postroom.protocols.status.chats import group_id
from postroom.protocols.status.codec import type_of_message, write_payload
from postroom.protocols.status.enums import ChatKind, ContentType, PayloadType, ReactionKind
from postroom.protocols.status.enums import MembershipEventType as Kind
from postroom.protocols.status.fold import HistoryLine
from postroom.protocols.status.ids import MessageId
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.log import ChatLog
from postroom.protocols.status.membership import sign_event
from postroom.protocols.status.proto.payloads_pb2 import ApplicationMetadataMessage
from postroom.protocols.status.verify import ChatRef, VerifiedPayload, verify
from postroom.protocols.status.wrapper import read_wrapper, write_wrapper


def author(name: str) -> AuthorKey:
    """The key of a user with this name."""
    return AuthorKey.from_secret(hashlib.sha256(name.encode()).digest())


ALICE: Final = author("alice")
BOB: Final = author("bob")
CAROL: Final = author("carol")
DAVE: Final = author("dave")
MALLORY: Final = author("mallory")

NOW: Final = 1_700_000_000_000
AHEAD: Final = 120_000
"""As far as a clock may be ahead, and as far as it may be behind without being late."""

GROUP: Final = group_id("6f9619ff-8b86-4d01-b42d-00cf4fc964ff", ALICE.public)
Chat = dict[str, Any]
IN_GROUP: Final[Chat] = {"chat_id": GROUP, "message_type": ChatKind.PRIVATE_GROUP}
IN_CHANNEL: Final[Chat] = {"chat_id": "news", "message_type": ChatKind.PUBLIC_GROUP}
THE_GROUP: Final = ChatRef(ChatKind.PRIVATE_GROUP, GROUP)
THE_CHANNEL: Final = ChatRef(ChatKind.PUBLIC_GROUP, "news")


def to(key: AuthorKey) -> Chat:
    """The chat of two, of a message to this user."""
    return {"chat_id": key.public, "message_type": ChatKind.ONE_TO_ONE}


def chat_with(key: AuthorKey) -> ChatRef:
    """The chat of two with this user."""
    return ChatRef(ChatKind.ONE_TO_ONE, key.public)


def text(clock: int = NOW, words: str = "hello", chat: Chat | None = None, **members: Any) -> m.ChatMessage:
    """A text, to Bob unless another chat is given."""
    return m.ChatMessage(clock, NOW, words, content_type=ContentType.TEXT_PLAIN, **(chat or to(BOB)), **members)


def edit(message: str, clock: int = NOW, words: str = "edited", chat: Chat | None = None) -> m.EditMessage:
    return m.EditMessage(clock, words, message_id=message, **(chat or to(BOB)))


def deletion(message: str, clock: int = NOW, chat: Chat | None = None, **members: Any) -> m.DeleteMessage:
    return m.DeleteMessage(clock, message_id=message, **(chat or to(BOB)), **members)


def pin(message: str, clock: int = NOW, chat: Chat | None = None, *, pinned: bool = True) -> m.PinMessage:
    return m.PinMessage(clock, message, **(chat or to(BOB)), pinned=pinned)


def reaction(
    message: str, clock: int = NOW, chat: Chat | None = None, kind: int = ReactionKind.LOVE, *, retracted: bool = False
) -> m.EmojiReaction:
    return m.EmojiReaction(clock, message_id=message, type=kind, retracted=retracted, **(chat or to(BOB)))


def event(
    kind: int, clock: int, members: Sequence[AuthorKey] = (), name: str = "", by: AuthorKey = ALICE, group: str = GROUP
) -> bytes:
    """A signed event of the group."""
    return sign_event(group, m.MembershipUpdateEvent(clock, kind, tuple(key.public for key in members), name), by)


def founding(clock: int = NOW, members: Sequence[AuthorKey] = (BOB, CAROL)) -> tuple[bytes, ...]:
    """The events with which Alice's group begins, and its members."""
    return event(Kind.CHAT_CREATED, clock, name="Choir"), event(Kind.MEMBERS_ADDED, clock, members)


def update(*events: bytes, message: m.ChatMessage | None = None, **members: Any) -> m.MembershipUpdateMessage:
    return m.MembershipUpdateMessage(GROUP, events, message, **members)


def sent(
    by: AuthorKey, message: m.StatusMessage, at: int = NOW, *, signed: bool = True, carrier: AuthorKey | None = None
) -> HistoryLine:
    """A copy of a message as its author sends it. An unsigned one needs a carrier, which is the author's own."""
    payload, type_ = write_payload(message), type_of_message(message)
    typed = type_ != PayloadType.CHAT_MESSAGE_IDENTITY
    wrapper = write_wrapper(payload, by.sign(payload) if signed else b"", type_, typed=typed)
    proven = carrier or (None if signed else by)
    return HistoryLine(wrapper, at, None if typed else type_, None if proven is None else proven.public)


def changed(
    line: HistoryLine,
    *,
    type_: int | None = None,
    at: int | None = None,
    carrier: AuthorKey | None = None,
    note: bytes = b"",
    high_s: bool = False,
) -> HistoryLine:
    """The same signed payload in another wrapper, as anybody can make it. `note`: in a field that nobody knows."""
    wrapper = read_wrapper(line.wrapper)
    signature = with_higher_s(wrapper.signature) if high_s else wrapper.signature
    again = ApplicationMetadataMessage(signature=signature, payload=wrapper.payload, type=type_ or wrapper.type)
    further = bytes([15 << 3 | 2, len(note)]) + note if note else b""
    proven = line.carrier if carrier is None else carrier.public
    return HistoryLine(again.SerializeToString() + further, line.at_ms if at is None else at, line.type, proven)


def with_higher_s(signature: bytes) -> bytes:
    """The second signature that everybody can make of one."""
    s = GROUP_ORDER_INT - int.from_bytes(signature[32:64])
    return signature[:32] + s.to_bytes(32) + bytes([signature[64] ^ 1])


def with_smaller_id(line: HistoryLine, own: ChatKey = BOB.public) -> HistoryLine:
    """The same message in a wrapper that gives it a smaller ID."""
    copies = (changed(line, note=f"{number}".encode()) for number in range(1000))
    return next(copy for copy in copies if verified(copy, own).id < verified(line, own).id)


@cache
def verified(line: HistoryLine, own: ChatKey) -> VerifiedPayload:
    return verify(line.wrapper, own=own, named=line.type, carrier=line.carrier)


def id_of(line: HistoryLine, own: AuthorKey = BOB) -> MessageId:
    return verified(line, own.public).id


def log_of(lines: Iterable[HistoryLine], own: AuthorKey = BOB, *, members_may_change: bool = False) -> ChatLog:
    """The log of a user, of copies that count by themselves."""
    log = ChatLog(own.public, members_may_change=members_may_change)
    for line in lines:
        log.add(verified(line, own.public), line.at_ms)
    return log


def orders(lines: Sequence[HistoryLine]) -> Iterator[Sequence[HistoryLine]]:
    """Orders in which copies may come: all of a few, some of many, and each copy twice."""
    if len(lines) <= 4:
        yield from permutations(lines)
    else:
        for seed in range(20):
            yield Random(seed).sample(lines, len(lines))
    yield (*lines, *lines)


def view(lines: Sequence[HistoryLine], own: AuthorKey = BOB, channels: Iterable[str] = ("news",)) -> ChatView:
    """What a user sees, whatever came first. Reading in between changes nothing."""
    views = []
    for order in orders(lines):
        log = ChatLog(own.public)
        for line in order:
            log.add(verified(line, own.public), line.at_ms)
            everything(ChatView(log, channels))
        views.append(ChatView(log, channels))
    first, *others = views
    expected = everything(first)
    for other in others:
        assert everything(other) == expected
    return first


def everything(found: ChatView) -> object:
    """All that a view says."""
    chats = found.chats()
    reasons = [(fact.id, fact.author, fact.marks, reason) for fact, reason in found.not_shown()]
    return chats, [found.messages(chat.ref) for chat in chats], found.names(), reasons
