"""What Go makes we open, and what we make Go opens: with the same author, ID and fields, for every type of message."""

from base64 import b64decode, b64encode
from typing import Any, Final

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.peers.answering import AnsweringProcess
from tests.peers.status.samples import MESSAGES, events, fields_of, groups, secrets, without_later
from tests.tiers import examples

from postroom.protocols.status import enums
from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.codec import read_payload, write_payload
from postroom.protocols.status.enums import PayloadType
from postroom.protocols.status.ids import message_id
from postroom.protocols.status.membership import read_signed_event, sign_event
from postroom.protocols.status.proto import payloads_pb2
from postroom.protocols.status.verify import signer_of
from postroom.protocols.status.wrapper import read_wrapper, type_of, write_wrapper

UNTYPED_ONLY: Final = PayloadType.CHAT_MESSAGE_IDENTITY
types: Final = pytest.mark.parametrize("kind", PayloadType, ids=lambda kind: kind.name)


@types
def test_we_open_what_go_makes(go: AnsweringProcess, kind: PayloadType) -> None:
    @settings(max_examples=examples(40))
    @given(MESSAGES[kind], st.none() | secrets, st.booleans())
    def exchange(message: Any, secret: bytes | None, typed: bool) -> None:
        typed &= kind != UNTYPED_ONLY
        made = go.call("wrap", kind.name, fields_of(message), secret and secret.hex(), typed)
        wrapper = read_wrapper(b64decode(made["wrapper"]))
        signer = signer_of(wrapper)
        assert (wrapper.is_typed, type_of(wrapper, kind)) == (typed, kind)
        assert (signer or "", message_id(signer, wrapper.data)) == (made["author"], made["id"])
        assert read_payload(kind, wrapper.payload) == message

    exchange()


@types
def test_go_opens_what_we_make(go: AnsweringProcess, kind: PayloadType) -> None:
    @settings(max_examples=examples(40))
    @given(MESSAGES[kind], st.none() | secrets, st.booleans())
    def exchange(message: Any, secret: bytes | None, typed: bool) -> None:
        typed &= kind != UNTYPED_ONLY
        payload, key = write_payload(message), secret and AuthorKey.from_secret(secret)
        data = write_wrapper(payload, key.sign(payload) if key else b"", kind, typed=typed)
        author = key.public if key else None
        assert go.call("open", b64encode(data).decode(), typed, None if typed else kind.name) == {
            "type": kind if typed else 0, "signed": key is not None, "author": author or "",
            "id": message_id(author, data), "payload": b64encode(payload).decode(), "fields": fields_of(message),
            "strays": [], "error": "",
        }  # fmt: skip

    exchange()


def test_we_open_the_events_that_go_signs_and_go_ours(go: AnsweringProcess) -> None:
    @given(groups, events, secrets)
    def exchange(group: str, event: Any, secret: bytes) -> None:
        key = AuthorKey.from_secret(secret)
        theirs = b64decode(go.call("event", group, fields_of(event), secret.hex()))
        read = read_signed_event(group, theirs)
        assert (read.author, read.event) == (key.public, event)
        ours = sign_event(group, event, key)
        opened = go.call("open_event", group, b64encode(ours).decode())
        assert opened == {"author": key.public, "fields": fields_of(event), "stray": False, "error": ""}

    exchange()


def test_fields_of_later_versions_survive_our_reading_and_writing(go: AnsweringProcess) -> None:
    data = b64encode("é".encode()[:1]).decode()  # also what is no UTF-8
    later = {
        "CHAT_MESSAGE": {
            **{f"later_{number}": data for number in (12, 13, 14)},
            **{f"later_{number}": {} for number in (15, 17, 18, 99, 100)},
            "later_16": [{}, {}], "later_19": 7, "clock": "1", "timestamp": "1", "text": "a", "chat_id": "a",
            "message_type": 2, "content_type": 7,
            "image": {"payload": data, "type": 1, "later_3": data, "later_4": 1, "later_5": 2, "later_6": 3},
        },
        "CONTACT_UPDATE": {
            "clock": "1", "later_4": data, "later_5": str(2**64 - 1), "later_6": {}, "later_7": data, "later_8": 1,
        },
        "EMOJI_REACTION": {
            "clock": "1", "chat_id": "a", "message_id": f"0x{'0' * 64}", "message_type": 2, "type": 1, "later_7": data,
        },
        "PAIR_INSTALLATION": {
            "clock": "1", "installation_id": "a", "device_type": "ios", "name": "a", "later_5": 1, "later_6": data,
        },
        "EDIT_MESSAGE": {
            "clock": "1", "text": "a", "chat_id": "a", "message_id": f"0x{'0' * 64}", "message_type": 2,
            "later_8": {}, "later_9": {},
        },
    }  # fmt: skip
    for name, fields in later.items():
        kind = PayloadType[name]
        wrapper = read_wrapper(b64decode(go.call("wrap", name, fields, None, True)["wrapper"]))
        message = read_payload(kind, wrapper.payload)
        assert fields_of(message) == without_later(fields)
        assert message is not None
        again = write_wrapper(write_payload(message), b"", kind)
        assert go.call("open", b64encode(again).decode(), True, None)["fields"] == fields


def table(file: FileDescriptorProto) -> dict[str, tuple[int, str, str, bool, bool]]:
    """The fields of all messages. An enum is a number: which ones it has, Python's enums say."""
    return {
        f"{message.name}.{field.name}": (
            field.number,
            FieldDescriptorProto.Type.Name(_NUMBERS.get(field.type, field.type)),
            "" if field.type in _NUMBERS else field.type_name.rpartition(".")[2],
            field.label == FieldDescriptorProto.LABEL_REPEATED,
            field.HasField("oneof_index"),
        )
        for message in file.message_type
        for field in message.field
    }


_NUMBERS: Final = {FieldDescriptorProto.TYPE_ENUM: FieldDescriptorProto.TYPE_INT32}
ENUMS: Final = {
    "ApplicationMetadataMessage.Type": PayloadType,
    "AudioMessage.AudioType": enums.AudioType,
    "ChatMessage.ContentType": enums.ContentType,
    "EmojiReaction.Type": enums.ReactionKind,
    "GroupChatInvitation.State": enums.InvitationState,
    "ImageMessage.ImageType": enums.ImageType,
    "MembershipUpdateEvent.EventType": enums.MembershipEventType,
    "MessageType": enums.ChatKind,
    "ProfileImage.ImageType": enums.ProfileImageType,
    "ProfileImage.SourceType": enums.ProfileImageSource,
}


@pytest.fixture(scope="module")
def theirs(go: AnsweringProcess) -> FileDescriptorProto:
    return FileDescriptorProto.FromString(b64decode(go.call("table")))


def test_both_tables_of_fields_are_the_same(theirs: FileDescriptorProto) -> None:
    ours = FileDescriptorProto()
    payloads_pb2.DESCRIPTOR.CopyToProto(ours)
    assert table(ours) == table(theirs)


def test_both_tables_of_numbers_are_the_same(theirs: FileDescriptorProto) -> None:
    inner = {f"{message.name}.{enum.name}": enum for message in theirs.message_type for enum in message.enum_type}
    values = {name: {value.name: value.number for value in enum.value} for name, enum in inner.items()}
    values |= {enum.name: {value.name: value.number for value in enum.value} for enum in theirs.enum_type}
    ours = {name: {member.name: member.value for member in enum} for name, enum in ENUMS.items()}
    ours["ApplicationMetadataMessage.Type"].pop("CHAT_MESSAGE_IDENTITY")
    values["ApplicationMetadataMessage.Type"].pop("UNKNOWN")
    assert ours == values
