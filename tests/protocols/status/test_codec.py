"""Payloads are read strictly as their type, and written as they were read (decision "Payloads")."""

from dataclasses import fields as members_of
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fuzz.entry import outcome_of
from tests.protocols.status.known import (
    ALICE,
    BOB,
    GIF,
    GROUP,
    ID,
    NOW,
    SAMPLES,
    STATUS,
    VECTORS,
    Field,
    each_sample,
    each_vector,
    image,
    reaction,
    refused,
    text,
)
from tests.protocols.status.made import EVENTS, MESSAGES
from tests.tiers import examples

from postroom.core.errors import NotNowError, TheirError
from postroom.crypto.ethereum import keccak_256
from postroom.protocols.status import messages as m
from postroom.protocols.status.codec import (
    FORMS,
    Form,
    read_event,
    read_payload,
    type_of_message,
    write_event,
    write_payload,
)
from postroom.protocols.status.enums import ChatKind, ContentType, PayloadType
from postroom.protocols.status.proto import payloads_pb2 as pb
from postroom.protocols.status.reasons import (
    CHAT_INVALID,
    CLOCK_INVALID,
    MEDIA_INVALID,
    MEDIA_TOO_LARGE,
    PAYLOAD_INVALID,
    TEXT_INVALID,
)

REASONS = {PAYLOAD_INVALID, CLOCK_INVALID, TEXT_INVALID, CHAT_INVALID, MEDIA_INVALID, MEDIA_TOO_LARGE}
SHOWN = (m.ChatMessage, m.EditMessage, m.DeleteMessage, m.PinMessage, m.EmojiReaction)
"""What changes what a chat shows."""


def read(message: m.StatusMessage, data: bytes) -> m.StatusMessage | None:
    return read_payload(type_of_message(message), data)


# --- known answers ------------------------------------------------------------------------------------------------


@each_vector
def test_known_payloads_are_written_again_byte_for_byte(vector: dict[str, Any]) -> None:
    payload = bytes.fromhex(vector["payload"])
    type_ = vector["application_metadata_type"]
    assert keccak_256(payload).hex() == vector["keccak"]
    if vector["name"] == "contact update":
        # Its picture is none, which decision "Payloads" refuses: the fields alone are held.
        assert "PNG" in refused(lambda: read_payload(type_, payload), MEDIA_INVALID)
        assert pb.ContactUpdate.FromString(payload).SerializeToString() == payload
        return
    message = read_payload(type_, payload)
    assert message is not None
    assert type_of_message(message) == type_
    assert write_payload(message) == payload


def known(name: str) -> m.StatusMessage | None:
    return read_payload(VECTORS[name]["application_metadata_type"], bytes.fromhex(VECTORS[name]["payload"]))


def test_what_known_payloads_say() -> None:
    in_status = {"chat_id": "status", "message_type": ChatKind.PUBLIC_GROUP}
    sticker = m.StickerMessage("e3010170", 1)
    assert known("text one-to-one") == text("hello")
    assert known("text public") == text("héllo 😀", clock=NOW + 1, **in_status)
    assert known("sticker") == text("s", content_type=ContentType.STICKER, sticker=sticker, **in_status)
    liked = reaction(clock=NOW + 5, chat_id=ALICE.public, message_id=VECTORS["text one-to-one"]["message_id"])
    assert known("emoji reaction") == liked
    assert known("emoji retraction") == replace(liked, clock=NOW + 6, retracted=True)
    assert known("pair installation") == m.PairInstallation(NOW, "inst-1", "desktop", "dev")
    assert known("sync public chat") == m.SyncInstallationPublicChat(NOW, "status")
    tags = (":contact/added",)
    assert known("sync contact") == m.SyncInstallationContact(NOW, BOB.public, last_updated=NOW, system_tags=tags)
    update = known("group create+add")
    assert isinstance(update, m.MembershipUpdateMessage)
    in_group = {"chat_id": STATUS["group_chat_id"], "message_type": ChatKind.PRIVATE_GROUP}
    assert update.message == text("hi", clock=NOW + 2, timestamp=NOW + 2, **in_group)
    assert [read_event(event[65:]) for event in update.events] == [
        m.MembershipUpdateEvent(NOW, 1, name="g"),
        m.MembershipUpdateEvent(NOW + 1, 3, (BOB.public,)),
    ]


@pytest.mark.parametrize("event", STATUS["status_go_membership"], ids=["name", "members"])
def test_known_events_are_written_again_byte_for_byte(event: dict[str, str]) -> None:
    raw = bytes.fromhex(event["raw"])
    assert write_event(read_event(raw)) == raw


# --- every type ---------------------------------------------------------------------------------------------------


def test_there_is_a_sample_of_every_type() -> None:
    assert {type_of_message(sample) for sample in SAMPLES.values()} == set(FORMS) == set(PayloadType)


@pytest.mark.parametrize("form", FORMS.values(), ids=lambda form: form.record.__name__)
def test_a_record_has_the_fields_of_its_form_and_at_the_end_the_unknown_ones(form: Form) -> None:
    for each in (form, *form.nested.values()):
        *members, last = [member.name for member in members_of(each.record)]
        assert last == "unknown"
        assert sorted(members) == sorted(each.fields)


@each_sample
def test_what_is_written_is_read(sample: m.StatusMessage) -> None:
    assert read(sample, write_payload(sample)) == sample


@given(MESSAGES)
@settings(max_examples=examples(400))
def test_what_is_written_is_read_of_any_message(message: m.StatusMessage) -> None:
    assert read(message, write_payload(message)) == message


@given(EVENTS)
@settings(max_examples=examples(100))
def test_what_is_written_is_read_of_any_event(event: m.MembershipUpdateEvent) -> None:
    assert read_event(write_event(event)) == event


@given(st.sampled_from(sorted(FORMS)), st.binary(max_size=200))
@settings(max_examples=examples(400))
def test_any_bytes_are_a_message_or_are_refused(type_: int, data: bytes) -> None:
    message = outcome_of(lambda: read_payload(type_, data), *REASONS)
    if not isinstance(message, TheirError | NotNowError):
        assert message is not None
        assert read_payload(type_, write_payload(message)) == message


@each_sample
def test_a_payload_cut_at_any_byte_is_another_message_or_is_refused(sample: m.StatusMessage) -> None:
    payload = write_payload(sample)
    for length in range(len(payload)):
        assert outcome_of(lambda length=length: read(sample, payload[:length]), *REASONS) != sample


@each_sample
def test_a_payload_under_another_label_changes_nothing_that_a_chat_shows(sample: m.StatusMessage) -> None:
    assert not shown_under_other_labels(sample)


@given(MESSAGES)
@settings(max_examples=examples(500))
def test_no_payload_under_another_label_changes_what_a_chat_shows(message: m.StatusMessage) -> None:
    assert not shown_under_other_labels(message)


def shown_under_other_labels(message: m.StatusMessage) -> list[m.StatusMessage]:
    """What a valid payload becomes, whoever passes it on with another type, of what changes what a chat shows."""
    payload, found = write_payload(message), []
    for label in FORMS:
        if label != type_of_message(message):
            other = outcome_of(lambda label=label: read_payload(label, payload), *REASONS)
            if isinstance(other, SHOWN) or (
                isinstance(other, m.MembershipUpdateMessage) and (other.message or other.emoji_reaction)
            ):
                found.append(other)
    return found


def test_a_payload_of_an_unknown_type_is_not_looked_at() -> None:
    for type_ in (99, -1, 5, 24, (1 << 31) - 1):
        assert read_payload(type_, b"\xff") is None


# --- what later versions add --------------------------------------------------------------------------------------


def joined(*fields: Field) -> bytes:
    return b"".join(map(bytes, fields))


def with_unknown(message: Any, data: bytes) -> Any:
    return replace(message, unknown=data)


@each_sample
def test_fields_of_later_versions_survive(sample: Any) -> None:
    later = b"".join(map(bytes, (Field(150, 1 << 63), Field(151, b"\xff\0"))))
    payload = write_payload(sample) + later
    message: Any = read(sample, payload)
    assert message == replace(sample, unknown=later)
    assert write_payload(message) == payload


@pytest.mark.parametrize(
    ("type_", "later"),
    [
        (PayloadType.CHAT_MESSAGE, joined(*(Field(n, b"\xff" * (n < 15)) for n in (12, 13, 14, 15, 16, 16, 17, 18)))),
        (PayloadType.CHAT_MESSAGE, joined(Field(19, 7), Field(99, b""), Field(100, b""))),
        (PayloadType.CONTACT_UPDATE,
         joined(Field(4, b"\xff"), Field(5, 1), Field(6, b""), Field(7, b"x"), Field(8, 2))),
        (PayloadType.EMOJI_REACTION, bytes(Field(7, b"\xff"))),
        (PayloadType.PAIR_INSTALLATION, joined(Field(5, 3), Field(6, b"\xff"))),
        (PayloadType.EDIT_MESSAGE, joined(Field(8, b""), Field(9, b""))),
    ],
)  # fmt: skip
def test_known_fields_of_later_versions_survive_whatever_is_in_them(type_: int, later: bytes) -> None:
    sample = next(sample for sample in SAMPLES.values() if type_of_message(sample) == type_)
    payload = write_payload(sample) + later
    message: Any = read_payload(type_, payload)
    assert message.unknown == later
    assert write_payload(message) == payload


def test_fields_of_later_versions_survive_in_what_is_nested() -> None:
    later = bytes(Field(3, b"\xff")) + bytes(Field(4, 640)) + bytes(Field(33, 1))
    with_image = image(GIF)
    assert with_image.image is not None
    message = replace(with_image, image=replace(with_image.image, unknown=later), unknown=bytes(Field(200, 1)))
    assert read(message, write_payload(message)) == message
    update = m.MembershipUpdateMessage(GROUP, message=text(chat_id=GROUP, message_type=3, unknown=bytes(Field(200, 1))))
    assert read(update, write_payload(update)) == update
    event = m.MembershipUpdateEvent(NOW, 9, unknown=bytes(Field(5, b"#ff0000")) + bytes(Field(6, b"\xff")))
    assert read_event(write_event(event)) == event


@pytest.mark.parametrize("number", [9, -1, 99, (1 << 31) - 1, -(1 << 31)])
def test_unknown_numbers_of_enums_survive(number: int) -> None:
    for message in (
        text(content_type=number), text(message_type=number), reaction(type=number), reaction(message_type=number),
        image(type_=number), m.GroupChatInvitation(NOW, GROUP, state=number),
        m.ChatMessageIdentity(NOW, profile_image=m.ProfileImage("x", number, number)),
        m.EditMessage(NOW, "x", "c", ID, 1, content_type=number),
    ):  # fmt: skip
        assert read(message, write_payload(message)) == message
    event = m.MembershipUpdateEvent(NOW, number)
    assert read_event(write_event(event)) == event


# --- strictness ---------------------------------------------------------------------------------------------------


def fields(form: Form) -> dict[int, bool]:
    """The numbers of a form's fields; whether they are whole numbers."""
    return {field.number: field.type in {4, 5, 8, 13} for field in form.message.DESCRIPTOR.fields}


@each_sample
def test_a_known_number_in_another_wire_type_is_refused(sample: m.StatusMessage) -> None:
    form = FORMS[type_of_message(sample)]
    for number, is_whole in fields(form).items():
        other = bytes(Field(number, b"")) if is_whole else bytes(Field(number, 1))
        for payload in (write_payload(sample) + other, other + write_payload(sample)):
            assert "wire type" in refused(lambda payload=payload: read(sample, payload), PAYLOAD_INVALID)


@pytest.mark.parametrize(
    ("sample", "outer"),
    [("sticker", 9), ("image", 10), ("audio", 11), ("identity", 4), ("update with a text", 3),
     ("update with a reaction", 4)],
)  # fmt: skip
def test_so_it_is_in_what_is_nested(sample: str, outer: int) -> None:
    message = SAMPLES[sample]
    form = next(
        inner
        for name, inner in FORMS[type_of_message(message)].nested.items()
        if FORMS[type_of_message(message)].message.DESCRIPTOR.fields_by_name[name].number == outer
    )
    for number, is_whole in fields(form).items():
        inner = bytes(Field(number, b"")) if is_whole else bytes(Field(number, 1))
        # Parts of one message are merged.
        payload = write_payload(message) + bytes(Field(outer, inner))
        assert "wire type" in refused(lambda payload=payload: read(message, payload), PAYLOAD_INVALID)


def test_so_it_is_two_levels_down() -> None:
    inner = bytes(Field(10, bytes(Field(2, b"JPEG"))))
    payload = write_payload(SAMPLES["update with a text"]) + bytes(Field(3, inner))
    assert "ImageMessage" in refused(
        lambda: read_payload(PayloadType.MEMBERSHIP_UPDATE_MESSAGE, payload), PAYLOAD_INVALID
    )


def test_so_it_is_in_an_event() -> None:
    event = write_event(m.MembershipUpdateEvent(NOW, 1))
    for number, is_whole in {1: True, 2: False, 3: False, 4: True, 5: False, 6: False}.items():
        other = bytes(Field(number, b"")) if is_whole else bytes(Field(number, 1))
        assert "wire type" in refused(lambda other=other: read_event(event + other), PAYLOAD_INVALID)


BAD_PROTOBUF = {
    "field 0": b"\0\0",
    "a varint of 11 bytes": b"\x08" + b"\xff" * 10 + b"\1",
    "a length beyond the end": b"\x1a\x7fx",
    "a group that does not end": b"\xfb\x07",
    "100,000 groups in each other": b"\xfb\x07" * 100_000,
    "the end of a group": b"\x0c",
    "no UTF-8": bytes(Field(3, b"\xff")),
    "half of a surrogate pair": bytes(Field(3, b"\xed\xa0\xbd")),
    "a number of 64 bits that ends early": b"\xf9\x07\0",
}


@pytest.mark.parametrize("data", BAD_PROTOBUF.values(), ids=BAD_PROTOBUF)
def test_what_is_not_protobuf_is_refused(data: bytes) -> None:
    payload = write_payload(SAMPLES["text"]) + data
    assert "not protobuf" in refused(lambda: read_payload(PayloadType.CHAT_MESSAGE, payload), PAYLOAD_INVALID)
    event = write_event(m.MembershipUpdateEvent(NOW, 1)) + data
    assert "not protobuf" in refused(lambda: read_event(event), PAYLOAD_INVALID)


def test_the_last_of_a_field_that_stands_twice_counts() -> None:
    payload = write_payload(text("first")) + bytes(Field(3, b"second"))
    assert read_payload(PayloadType.CHAT_MESSAGE, payload) == text("second")
    both = bytes(Field(9, bytes(Field(1, b"hash")))) + write_payload(image())
    assert read_payload(PayloadType.CHAT_MESSAGE, both) == image()


def test_a_varint_of_ten_bytes_is_a_number() -> None:
    payload = write_payload(text()) + b"\x08\x80\x80\xba\xbb\xc8\xae\x80\x80\x80\0"
    assert read_payload(PayloadType.CHAT_MESSAGE, payload) == text()
    too_large = write_payload(text()) + b"\x08" + b"\xff" * 9 + b"\1"
    refused(lambda: read_payload(PayloadType.CHAT_MESSAGE, too_large), CLOCK_INVALID)


# --- writing ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message",
    [
        text("\ud800"), text(chat_id="\udfff"), text(timestamp=1 << 64), text(timestamp=-1),
        reaction(type=1 << 31), reaction(message_type=-(1 << 31) - 1),
        text(audio=m.AudioMessage(b"x", 1, duration_ms=1 << 64)),
        text(sticker=m.StickerMessage("\ud800")), m.PairInstallation(NOW, "a", "b", "\udc00"),
    ],
)  # fmt: skip
def test_what_protobuf_cannot_have_is_not_written(message: m.StatusMessage) -> None:
    assert "cannot be written" in refused(lambda: write_payload(message), PAYLOAD_INVALID)


@pytest.mark.parametrize("data", [b"\xff", b"\0\0", b"\x08", bytes(Field(200, b"x"))[:-1]])
def test_what_is_no_field_is_not_written(data: bytes) -> None:
    refused(lambda: write_payload(with_unknown(SAMPLES["text"], data)), PAYLOAD_INVALID)


@each_sample
def test_unknown_fields_hide_no_known_ones(sample: m.StatusMessage) -> None:
    form = FORMS[type_of_message(sample)]
    known = {form.message.DESCRIPTOR.fields_by_name[name].number for name in form.fields}
    for number, is_whole in fields(form).items():
        if number in known:
            for field in (Field(number, 1 if is_whole else b"x"), Field(number, b"x" if is_whole else 1)):
                hidden = with_unknown(sample, bytes(Field(200, b"x")) + bytes(field))
                refused(lambda hidden=hidden: write_payload(hidden), PAYLOAD_INVALID)
