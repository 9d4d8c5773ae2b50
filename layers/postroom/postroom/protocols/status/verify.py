"""The checks of a wrapper by itself: who wrote it, who brought it, what is in it, and in which chat it is.

What depends on other messages is left to the log: the time at which the first copy came, and who was in a group.
"""

from typing import Final, NamedTuple

from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum_keys import has_higher_s
from postroom.protocols.status.author import author_of
from postroom.protocols.status.chats import check_chat, is_group
from postroom.protocols.status.codec import FORMS, read_payload
from postroom.protocols.status.enums import ChatKind
from postroom.protocols.status.ids import MessageId, message_id
from postroom.protocols.status.keys import ChatKey, read_chat_key
from postroom.protocols.status.membership import SignedEvent, check_founder, read_signed_event
from postroom.protocols.status.messages import (
    OF_DEVICES,
    ChatMessage,
    DeleteMessage,
    EditMessage,
    EmojiReaction,
    GroupChatInvitation,
    MembershipUpdateMessage,
    PinMessage,
    StatusMessage,
    SyncClearHistory,
)
from postroom.protocols.status.reasons import (
    AUTHOR_NOT_CARRIER,
    AUTHOR_UNKNOWN,
    CHAT_INVALID,
    MEMBERSHIP_INVALID,
    NOT_FROM_OWN_KEY,
    WRITTEN_TO_ANOTHER,
)
from postroom.protocols.status.wrapper import Wrapper, read_wrapper, type_of

UNSIGNED: Final = "unsigned"
"""A mark: nobody but the carrier says who the author is."""
HIGH_S: Final = "high-s"
"""A mark: the signature has the higher s, with which anybody can give a message a second ID."""
NOT_UNDERSTOOD: Final = "not-understood"
"""A mark: the payload's type is unknown here."""

NO_CHAT_KEY: Final = ChatKey("")
"""As the carrier's key: the sender is known to have none, and is the author of no message."""

OWN_DEVICES: Final = frozenset(type_ for type_, form in FORMS.items() if form.record in OF_DEVICES)
"""Types of messages between the devices of one user."""


class ChatRef(NamedTuple):
    """A chat as its user knows it: the other's key, a channel's name or a group's ID."""

    kind: ChatKind
    id: str

    def as_json(self) -> dict[str, JsonValue]:
        """`{kind, id}`: the kind is `one-to-one`, `public` or `group`."""
        return {"kind": _KINDS[self.kind], "id": self.id}


# An enum looks its members up by a function of Python's, before Python 3.12.
_ONE_TO_ONE: Final = ChatKind.ONE_TO_ONE
_KINDS: Final = {
    _ONE_TO_ONE: "one-to-one",
    ChatKind.PUBLIC_GROUP: "public",
    ChatKind.PRIVATE_GROUP: "group",
}


class VerifiedPayload(NamedTuple):
    """A payload whose author is known. `message` None: its type is unknown here. `chat` None: it is in no chat.

    `events`: those of a group's update that can count; whether one does depends on the others.
    """

    id: MessageId
    author: ChatKey
    type: int
    payload: bytes
    message: StatusMessage | None
    chat: ChatRef | None
    marks: tuple[str, ...] = ()
    events: tuple[SignedEvent, ...] = ()

    @property
    def is_signed(self) -> bool:
        """Whether the author has signed it, or is known by the carrier alone."""
        return UNSIGNED not in self.marks


class RecoveredKeys(NamedTuple):
    """What takes longest to find out about a wrapper: whoever has read one before can keep it.

    `signer` None: it is not signed. `id`: that of the wrapper. `event_authors`: of each event of a group's update, in
    its order; empty: it does not count.
    """

    signer: ChatKey | None
    id: MessageId
    event_authors: tuple[ChatKey, ...] = ()


def recovered_keys(verified: VerifiedPayload) -> RecoveredKeys:
    """What need not be found out again about a wrapper that was verified."""
    update = verified.message
    authors = {event.signed: event.author for event in verified.events}
    return RecoveredKeys(
        verified.author if verified.is_signed else None,
        verified.id,
        tuple(authors.get(signed, NO_CHAT_KEY) for signed in update.events)
        if isinstance(update, MembershipUpdateMessage)
        else (),
    )


def verify(
    data: bytes,
    *,
    own: ChatKey,
    named: int | None = None,
    carrier: ChatKey | None = None,
    recovered: RecoveredKeys | None = None,
) -> VerifiedPayload:
    """Check a wrapper as a receiver does. Raises TheirError with the first reason against it.

    `own`: the receiver's key. `named`: the type that the carrier says, of an untyped wrapper. `carrier`: the key that
    the carrier proves; None: it proves none; NO_CHAT_KEY: it proves that the author is somebody else. `recovered`: of
    the same wrapper, verified before.
    """
    wrapper = read_wrapper(data)
    type_ = type_of(wrapper, named)
    signer = recovered.signer if recovered else signer_of(wrapper)
    author = author_or_carrier(signer, carrier)
    message = read_payload(type_, wrapper.payload)
    check_carrier(author, carrier, message)
    check_own_devices(type_, author, own)
    return VerifiedPayload(
        recovered.id if recovered else message_id(signer, data),
        author,
        type_,
        wrapper.payload,
        message,
        None if message is None else chat_of(message, author, own),
        marks_of(wrapper, message),
        _events_of(message, recovered) if isinstance(message, MembershipUpdateMessage) else (),
    )


def _events_of(update: MembershipUpdateMessage, recovered: RecoveredKeys | None) -> tuple[SignedEvent, ...]:
    if recovered:
        known = zip(update.events, recovered.event_authors, strict=True)
        return tuple(read_signed_event(update.chat_id, signed, author) for signed, author in known if author)
    found, faults = [], []
    for signed in update.events:
        try:
            event = read_signed_event(update.chat_id, signed)
            check_founder(update.chat_id, event)
        except TheirError as error:
            faults.append(error)
        else:
            found.append(event)
    if faults and not found and update.carried is None:
        raise TheirError(MEMBERSHIP_INVALID, f"no event can count: {faults[0]}")
    return tuple(found)


def signer_of(wrapper: Wrapper) -> ChatKey | None:
    """The key that signed a wrapper's payload; None: nobody did. Raises TheirError(AUTHOR_SIGNATURE_INVALID)."""
    return author_of(wrapper.signature, wrapper.payload) if wrapper.signature else None


def author_or_carrier(signer: ChatKey | None, carrier: ChatKey | None) -> ChatKey:
    """The author: who signed, otherwise who sent the carrier. Raises TheirError(AUTHOR_UNKNOWN)."""
    author = signer or carrier
    if not author:
        raise TheirError(AUTHOR_UNKNOWN)
    return author


def check_carrier(author: ChatKey, carrier: ChatKey | None, message: StatusMessage | None) -> None:
    """Check that the author sent the carrier. Only what is in a channel may be passed on.

    An unsigned message has the carrier's sender as its author. Raises TheirError(AUTHOR_NOT_CARRIER).
    """
    if carrier in (None, author) or getattr(message, "message_type", None) == ChatKind.PUBLIC_GROUP:
        return
    raise TheirError(AUTHOR_NOT_CARRIER, f"the author is {author}, the sender of the carrier {carrier}")


def check_own_devices(type_: int, author: ChatKey, own: ChatKey) -> None:
    """Check that messages between devices are one's own. Raises TheirError(NOT_FROM_OWN_KEY)."""
    if type_ in OWN_DEVICES and author != own:
        raise TheirError(NOT_FROM_OWN_KEY, f"the author is {author}")


def chat_of(message: StatusMessage, author: ChatKey, own: ChatKey | None) -> ChatRef | None:
    """The chat of a message; None: it is in none. Raises TheirError(CHAT_INVALID or WRITTEN_TO_ANOTHER).

    `own`: the receiver's key; None: it is not known, and a chat of two is not checked.
    """
    match message:
        case ChatMessage() | EmojiReaction() | PinMessage() | EditMessage() | DeleteMessage():
            check_chat(message.message_type, message.chat_id)
            if message.message_type == _ONE_TO_ONE:
                return ChatRef(_ONE_TO_ONE, _other_of_two(message.chat_id, author, own))
            return ChatRef(ChatKind(message.message_type), message.chat_id)
        case MembershipUpdateMessage() | GroupChatInvitation():
            return ChatRef(ChatKind.PRIVATE_GROUP, message.chat_id)
        case SyncClearHistory():
            return _any_chat(message.chat_id)
    return None


def _other_of_two(chat_id: str, author: ChatKey, own: ChatKey | None) -> ChatKey:
    """The key of the other in a chat of two: the author, unless that is oneself on another device."""
    if author == own:
        receiver = read_chat_key(chat_id)
        if receiver is None:
            raise TheirError(CHAT_INVALID, "one's own message in a chat of two has no chat key as its chat_id")
        return receiver
    # What is no key is not used: other clients need not set it.
    if own is not None and chat_id != own and read_chat_key(chat_id):
        raise TheirError(WRITTEN_TO_ANOTHER, f"chat_id is {chat_id}")
    return author


def _any_chat(chat_id: str) -> ChatRef:
    if read_chat_key(chat_id):
        return ChatRef(ChatKind.ONE_TO_ONE, chat_id)
    # Groups first: their IDs are letters, digits and hyphens, too.
    if is_group(chat_id):
        return ChatRef(ChatKind.PRIVATE_GROUP, chat_id)
    check_chat(ChatKind.PUBLIC_GROUP, chat_id)
    return ChatRef(ChatKind.PUBLIC_GROUP, chat_id)


def marks_of(wrapper: Wrapper, message: StatusMessage | None) -> tuple[str, ...]:
    """What is to be noted of a message that is accepted."""
    marks = () if message is not None else (NOT_UNDERSTOOD,)
    if not wrapper.signature:
        return (UNSIGNED, *marks)
    return (HIGH_S, *marks) if has_higher_s(wrapper.signature) else marks
