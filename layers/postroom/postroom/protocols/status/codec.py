"""Payloads as protobuf, read strictly as their type (decision "Payloads")."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import fields as members_of
from enum import IntEnum
from functools import cached_property
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

from postroom.core.errors import TheirError
from postroom.protocols.status import messages as types
from postroom.protocols.status.enums import (
    AudioType,
    ChatKind,
    ContentType,
    ImageType,
    InvitationState,
    MembershipEventType,
    PayloadType,
    ProfileImageSource,
    ProfileImageType,
    ReactionKind,
)
from postroom.protocols.status.messages import MembershipUpdateEvent
from postroom.protocols.status.proto import payloads_pb2 as pb
from postroom.protocols.status.reasons import PAYLOAD_INVALID
from postroom.protocols.status.varints import fits_64_bits
from postroom.protocols.status.wire_types import has_unknown, is_strict


@dataclass(frozen=True)
class Form:
    """The type of a message, its protobuf, and its fields by how they are read. `enums`: of fields that are numbers."""

    record: type[Any]
    message: type[Message]
    plain: tuple[str, ...]
    repeated: tuple[str, ...] = ()
    nested: Mapping[str, "Form"] = field(default_factory=dict)
    enums: Mapping[str, type[IntEnum]] = field(default_factory=dict)

    @cached_property
    def places(self) -> Mapping[FieldDescriptor, int]:
        """Where each of its fields stands among the record's members. Fields of later versions are not among them."""
        order = [member.name for member in members_of(self.record)]
        known: Mapping[str, Any] = self.message.DESCRIPTOR.fields_by_name
        return {known[name]: order.index(name) for name in self.fields}

    @cached_property
    def empty(self) -> Sequence[Any]:
        """The record's members where no field is present; the last are the unknown fields."""
        known = self.message.DESCRIPTOR.fields_by_name
        absent = {name: known[name].default_value for name in self.plain}
        absent |= dict.fromkeys(self.repeated, ()) | dict.fromkeys(self.nested) | {"unknown": b""}
        return [absent[member.name] for member in members_of(self.record)]

    @cached_property
    def lists(self) -> Sequence[int]:
        """The places of repeated fields."""
        return [place for known, place in self.places.items() if known.name in self.repeated]

    @cached_property
    def parts(self) -> Sequence[tuple[int, "Form"]]:
        """The places of nested messages, and their forms."""
        return [(place, self.nested[known.name]) for known, place in self.places.items() if known.name in self.nested]

    @property
    def fields(self) -> tuple[str, ...]:
        """All of its fields."""
        return (*self.plain, *self.repeated, *self.nested)


_CHAT_MESSAGE: Final = Form(
    types.ChatMessage,
    pb.ChatMessage,
    ("clock", "timestamp", "text", "response_to", "ens_name", "chat_id", "message_type", "content_type"),
    nested={
        "sticker": Form(types.StickerMessage, pb.StickerMessage, ("hash", "pack")),
        "image": Form(types.ImageMessage, pb.ImageMessage, ("payload", "type"), enums={"type": ImageType}),
        "audio": Form(
            types.AudioMessage, pb.AudioMessage, ("payload", "type", "duration_ms"), enums={"type": AudioType}
        ),
    },
    enums={"message_type": ChatKind, "content_type": ContentType},
)
_REACTION: Final = Form(
    types.EmojiReaction,
    pb.EmojiReaction,
    ("clock", "chat_id", "message_id", "message_type", "type", "retracted"),
    enums={"message_type": ChatKind, "type": ReactionKind},
)
_EVENT: Final = Form(
    MembershipUpdateEvent,
    pb.MembershipUpdateEvent,
    ("clock", "name", "type"),
    ("members",),
    enums={"type": MembershipEventType},
)

FORMS: Final[Mapping[int, Form]] = {
    PayloadType.CHAT_MESSAGE: _CHAT_MESSAGE,
    PayloadType.CONTACT_UPDATE: Form(types.ContactUpdate, pb.ContactUpdate, ("clock", "ens_name", "profile_image")),
    PayloadType.MEMBERSHIP_UPDATE_MESSAGE: Form(
        types.MembershipUpdateMessage,
        pb.MembershipUpdateMessage,
        ("chat_id",),
        ("events",),
        {"message": _CHAT_MESSAGE, "emoji_reaction": _REACTION},
    ),
    PayloadType.PAIR_INSTALLATION: Form(
        types.PairInstallation, pb.PairInstallation, ("clock", "installation_id", "device_type", "name")
    ),
    PayloadType.SYNC_INSTALLATION_CONTACT: Form(
        types.SyncInstallationContact,
        pb.SyncInstallationContact,
        ("clock", "id", "profile_image", "ens_name", "last_updated", "local_nickname"),
        ("system_tags",),
    ),
    PayloadType.SYNC_INSTALLATION_PUBLIC_CHAT: Form(
        types.SyncInstallationPublicChat, pb.SyncInstallationPublicChat, ("clock", "id")
    ),
    PayloadType.EMOJI_REACTION: _REACTION,
    PayloadType.GROUP_CHAT_INVITATION: Form(
        types.GroupChatInvitation,
        pb.GroupChatInvitation,
        ("clock", "chat_id", "introduction_message", "state"),
        enums={"state": InvitationState},
    ),
    PayloadType.PIN_MESSAGE: Form(
        types.PinMessage,
        pb.PinMessage,
        ("clock", "message_id", "chat_id", "pinned", "message_type"),
        enums={"message_type": ChatKind},
    ),
    PayloadType.EDIT_MESSAGE: Form(
        types.EditMessage,
        pb.EditMessage,
        ("clock", "text", "chat_id", "message_id", "grant", "message_type", "content_type"),
        enums={"message_type": ChatKind, "content_type": ContentType},
    ),
    PayloadType.DELETE_MESSAGE: Form(
        types.DeleteMessage,
        pb.DeleteMessage,
        ("clock", "chat_id", "message_id", "grant", "message_type", "deleted_by"),
        enums={"message_type": ChatKind},
    ),
    PayloadType.SYNC_CLEAR_HISTORY: Form(types.SyncClearHistory, pb.SyncClearHistory, ("chat_id", "cleared_at")),
    PayloadType.SYNC_DELETE_FOR_ME_MESSAGE: Form(
        types.SyncDeleteForMeMessage, pb.SyncDeleteForMeMessage, ("clock", "message_id")
    ),
    PayloadType.CHAT_MESSAGE_IDENTITY: Form(
        types.ChatMessageIdentity,
        pb.ChatMessageIdentity,
        ("clock", "ens_name", "display_name"),
        nested={
            "profile_image": Form(
                types.ProfileImage,
                pb.ProfileImage,
                ("payload", "source_type", "image_type"),
                enums={"source_type": ProfileImageSource, "image_type": ProfileImageType},
            )
        },
    ),
}
_TYPES: Final[Mapping[type[Any], PayloadType]] = {form.record: PayloadType(number) for number, form in FORMS.items()}


def type_of_message(message: types.StatusMessage) -> PayloadType:
    """The type under which a message is wrapped."""
    return _TYPES[type(message)]


def read_payload(type_: int, payload: bytes) -> types.StatusMessage | None:
    """Read a payload as its type; None: the type is unknown here. Raises TheirError, as the message's type does."""
    form = FORMS.get(type_)
    if form is None:
        return None
    message: types.StatusMessage = _read_bytes(form, payload)
    return message


def write_payload(message: types.StatusMessage) -> bytes:
    """Write a message, with its unknown fields at the end.

    Raises TheirError(PAYLOAD_INVALID): a number that does not fit, a text that is not Unicode, unknown fields that are
    none.
    """
    return _write(FORMS[_TYPES[type(message)]], message).SerializeToString()


def read_event(data: bytes) -> MembershipUpdateEvent:
    """Read an event of a group, without its signature. Raises TheirError."""
    event: MembershipUpdateEvent = _read_bytes(_EVENT, data)
    return event


def write_event(event: MembershipUpdateEvent) -> bytes:
    """Write an event of a group. Raises TheirError(PAYLOAD_INVALID)."""
    return _write(_EVENT, event).SerializeToString()


def _read_bytes(form: Form, data: bytes) -> Any:
    try:
        message = form.message.FromString(data)
    except DecodeError:
        raise TheirError(PAYLOAD_INVALID, f"the payload is not protobuf of {form.record.__name__}") from None
    if not fits_64_bits(data, message):
        raise TheirError(PAYLOAD_INVALID, f"a field of {form.record.__name__} has more than 64 bits")
    return _read(form, message)


def _read(form: Form, message: Message) -> Any:
    has_more = has_unknown(message)
    if has_more and not is_strict(message):
        raise TheirError(PAYLOAD_INVALID, f"a field of {form.record.__name__} has another wire type")
    values, place_of = [*form.empty], form.places.get
    for known, value in message.ListFields():
        place = place_of(known)
        if place is None:
            has_more = True
        else:
            values[place] = value
    for place in form.lists:
        values[place] = tuple(values[place])
    for place, inner in form.parts:
        if values[place] is not None:
            values[place] = _read(inner, values[place])
    if has_more:
        for name in form.fields:
            message.ClearField(name)
        values[-1] = message.SerializeToString()
    # By place: with names, it takes half as long again.
    return form.record(*values)


def _write(form: Form, value: Any) -> Message:
    given = {name: getattr(value, name) for name in (*form.plain, *form.repeated)}
    for name, inner in form.nested.items():
        if (part := getattr(value, name)) is not None:
            given[name] = _write(inner, part)
    try:
        message = form.message(**given)
        if value.unknown:
            _add_unknown(form, message, value.unknown)
    except (ValueError, TypeError, DecodeError) as error:
        # Numbers that do not fit into their fields, halves of surrogate pairs, and what is no field at all.
        raise TheirError(PAYLOAD_INVALID, f"{form.record.__name__} cannot be written: {error}") from None
    return message


def _add_unknown(form: Form, message: Message, unknown: bytes) -> None:
    later = form.message.FromString(unknown)
    # Otherwise they would be read as other values than those that were checked.
    if not is_strict(later) or any(known in form.places for known, _ in later.ListFields()):
        raise TheirError(PAYLOAD_INVALID, f"among the unknown fields of {form.record.__name__} is a known one")
    message.MergeFrom(later)
