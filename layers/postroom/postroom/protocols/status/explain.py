"""Every check of a wrapper by itself, for people; a failed check does not stop the others.

A group or a channel that is not known is not the message's fault: only a log knows who is in one.
"""

from dataclasses import dataclass
from typing import Final

from postroom.core.errors import TheirError
from postroom.core.explanation import Check, Explanation
from postroom.core.ijson import JsonValue
from postroom.core.reason import Reason
from postroom.core.shown_text import shown
from postroom.protocols.status.clock import CLOCK_LIMIT, LATE, MOST_AHEAD_MS, check_not_ahead, is_late
from postroom.protocols.status.codec import read_payload
from postroom.protocols.status.enums import ChatKind, PayloadType
from postroom.protocols.status.ids import MessageId, message_id
from postroom.protocols.status.json_form import message_as_json, number_as_json
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.membership import check_founder, read_signed_event
from postroom.protocols.status.message_media import MessageMedia, media_of
from postroom.protocols.status.messages import (
    ChatMessage,
    MembershipUpdateMessage,
    StatusMessage,
    clock_of,
)
from postroom.protocols.status.reasons import MEMBERSHIP_INVALID
from postroom.protocols.status.verify import (
    NO_CHAT_KEY,
    OWN_DEVICES,
    ChatRef,
    author_or_carrier,
    chat_of,
    check_carrier,
    check_own_devices,
    marks_of,
    signer_of,
)
from postroom.protocols.status.wrapper import MAX_WRAPPER_BYTES, Wrapper, read_wrapper, type_of

MEDIA: Final = "media"
"""The check of a picture or a sound. If it fails, the message counts all the same, without it."""


@dataclass(slots=True)
class ExplainedWrapper(Explanation):
    """The checks that could be made, and what was found on the way; None and empty: it could not be found."""

    wrapper: Wrapper | None = None
    type: int | None = None
    signer: ChatKey | None = None
    author: ChatKey | None = None
    id: MessageId | None = None
    chat: ChatRef | None = None
    marks: tuple[str, ...] = ()
    media: MessageMedia | None = None
    message: StatusMessage | None = None

    @property
    def reason(self) -> Reason | None:
        """The reason of the first failed check but that of media."""
        return next((check.reason for check in self.checks if not check.ok and check.name != MEDIA), None)

    def as_json(self) -> dict[str, JsonValue]:
        """The checks, and `{wrapper, type, signed, author, id, chat, marks, media, message}`."""
        wrapper, chat, media = self.wrapper, self.chat, self.media
        return {
            **Explanation.as_json(self),
            "wrapper": None if wrapper is None else "typed" if wrapper.is_typed else "untyped",
            "type": None if self.type is None else number_as_json(PayloadType, self.type),
            "signed": None if wrapper is None else bool(wrapper.signature),
            "author": self.author,
            "id": self.id,
            "chat": None if chat is None else chat.as_json(),
            "marks": list(self.marks),
            "media": None if media is None else media.as_json(),
            "message": None if self.message is None else message_as_json(self.message),
        }


def explain(
    data: bytes,
    *,
    at_ms: int,
    named: int | None = None,
    carrier: ChatKey | None = None,
    own: ChatKey | None = None,
) -> ExplainedWrapper:
    """Check a wrapper as its receiver would, as far as that can be done without other messages.

    `at_ms`: when it came, in milliseconds since 1970. `named`: the type of an untyped wrapper. `carrier`: the key that
    the carrier proves. `own`: the receiver's key. What needs a key that is not given is not checked.
    """
    found = ExplainedWrapper()
    found.wrapper = wrapper = found.look(
        "wrapper", "Status 6/PAYLOADS: Payload wrapper",
        f"at most {MAX_WRAPPER_BYTES} bytes of protobuf, with a payload",
        f"{len(data)} bytes", lambda: read_wrapper(data),
    )  # fmt: skip
    if wrapper is None:
        return found
    found.type = found.look(
        "type", 'decision "Wrappers"', "a type in the wrapper, or beside an untyped one",
        _type_shown(wrapper, named), lambda: type_of(wrapper, named),
    )  # fmt: skip
    _look_at_author(found, wrapper, data, carrier)
    is_read = found.type is not None and _look_at_payload(found, wrapper, found.type)
    if found.author is not None and found.type is not None:
        # What cannot be read may be in a channel, and be passed on.
        _look_at_way(found, found.author, found.type, carrier if is_read else None, own)
    if found.message is not None:
        _look_at_chat(found, found.message, own)
        _look_at_message(found, found.message, at_ms)
    return found


def _type_shown(wrapper: Wrapper, named: int | None) -> str:
    if wrapper.is_typed:
        return f"typed: {number_as_json(PayloadType, wrapper.type)}"
    return "untyped" if named is None else f"untyped, said to be {number_as_json(PayloadType, named)}"


def _look_at_author(found: ExplainedWrapper, wrapper: Wrapper, data: bytes, carrier: ChatKey | None) -> None:
    section = "Status 6/PAYLOADS: Payload wrapper"
    signed = found.look(
        "signature", section, "none, or 65 bytes from which a key can be recovered",
        f"{len(wrapper.signature)} bytes", lambda: (signer_of(wrapper),),
    )  # fmt: skip
    if signed is None:
        return
    found.signer = signed[0]
    found.id = message_id(found.signer, data)
    found.author = found.look(
        "author", section, "who signed, otherwise who sent the carrier",
        found.signer or carrier or "", lambda: author_or_carrier(found.signer, carrier),
    )  # fmt: skip


def _look_at_payload(found: ExplainedWrapper, wrapper: Wrapper, type_: int) -> bool:
    read = found.look(
        "payload", 'Status 6/PAYLOADS: Types of messages; decision "Payloads"', "protobuf of its type, and its rules",
        f"{len(wrapper.payload)} bytes of {number_as_json(PayloadType, type_)}",
        lambda: (read_payload(type_, wrapper.payload),),
    )  # fmt: skip
    if read is None:
        return False
    found.message = read[0]
    found.marks = marks_of(wrapper, found.message)
    return True


def _look_at_way(
    found: ExplainedWrapper, author: ChatKey, type_: int, carrier: ChatKey | None, own: ChatKey | None
) -> None:
    """Who may bring the message, and who may have written it."""
    if carrier is not None:
        found.look(
            "carrier", 'decision "Authors"', "sent by its author, unless it is signed and in a channel",
            f"sent by {carrier}", lambda: check_carrier(author, carrier, found.message),
        )  # fmt: skip
    if own is not None and type_ in OWN_DEVICES:
        found.look(
            "own devices", 'Status 6/PAYLOADS: SyncInstallationContact; decision "Authors"', f"written by {own}",
            f"written by {author}", lambda: check_own_devices(type_, author, own),
        )  # fmt: skip


def _look_at_chat(found: ExplainedWrapper, message: StatusMessage, own: ChatKey | None) -> None:
    # A chat of two is its author's, whoever that is.
    if found.author is None and getattr(message, "message_type", None) == ChatKind.ONE_TO_ONE:
        return
    said = getattr(message, "chat_id", None)
    found.chat = found.look(
        "chat", "Status 6/PAYLOADS: Chats", "an ID of its kind of chat; of two, written to you",
        shown(said) if said else "none", lambda: chat_of(message, found.author or NO_CHAT_KEY, own),
    )  # fmt: skip


def _look_at_message(found: ExplainedWrapper, message: StatusMessage, at_ms: int) -> None:
    clock = clock_of(message)
    if clock is not None:
        found.look(
            "clock", "Status 6/PAYLOADS: Clock vs Timestamp and message ordering",
            f"at most {MOST_AHEAD_MS} ms ahead of when it came, and below {CLOCK_LIMIT}",
            f"{clock - at_ms:+} ms", lambda: check_not_ahead(clock, at_ms),
        )  # fmt: skip
        if is_late(clock, at_ms):
            found.marks = (*found.marks, LATE)
    if isinstance(message, MembershipUpdateMessage) and message.events:
        _look_at_events(found, message, at_ms)
    chat_message = message.message if isinstance(message, MembershipUpdateMessage) else message
    media = media_of(chat_message) if isinstance(chat_message, ChatMessage) else None
    if media is not None:
        _look_at_media(found, media)


def _look_at_events(found: ExplainedWrapper, update: MembershipUpdateMessage, at_ms: int) -> None:
    faults = [fault for fault in (_fault_of(update.chat_id, signed, at_ms) for signed in update.events) if fault]
    is_empty = len(faults) == len(update.events) and update.carried is None
    found.checks.append(
        Check(
            "events",
            not is_empty,
            f"{len(update.events)} events" + (f", of which {len(faults)} do not count: {faults[0]}" if faults else ""),
            "one that can count by itself, or a message",
            'Status 7/GROUP-CHAT; decision "Groups"',
            MEMBERSHIP_INVALID if is_empty else None,
        )
    )


def _fault_of(group: str, signed: bytes, at_ms: int) -> str:
    try:
        event = read_signed_event(group, signed)
        check_founder(group, event)
        check_not_ahead(event.event.clock, at_ms)
    except TheirError as error:
        return f"{error.reason}: {error.detail}"
    return ""


def _look_at_media(found: ExplainedWrapper, media: MessageMedia) -> None:
    found.look(
        MEDIA, 'decision "Media"', "a picture or a sound of its type, within the limits",
        f"{len(media.data)} bytes of {media.type or 'an unknown type'}", media.clean,
    )  # fmt: skip
    found.media = media
