"""Messages as JSON: members by the names of the fields, enums by name or number, bytes in base64."""

import json
from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given, settings
from tests.protocols.status.known import GIF, GROUP, ID, NOW, Field, each_sample, founding, image, refused, text
from tests.protocols.status.made import MESSAGES
from tests.tiers import examples

from postroom.protocols.status import messages as m
from postroom.protocols.status.codec import FORMS, type_of_message
from postroom.protocols.status.enums import ImageType, PayloadType
from postroom.protocols.status.json_form import message_as_json, message_from_json, number_as_json
from postroom.protocols.status.reasons import CHAT_INVALID, CLOCK_INVALID, PAYLOAD_INVALID, TEXT_INVALID

CHAT = PayloadType.CHAT_MESSAGE


def given_(**members: Any) -> Any:
    """A text as JSON, with some members changed."""
    whole = {"clock": NOW, "timestamp": NOW, "text": "Hello", "chat_id": "status", "message_type": "PUBLIC_GROUP",
             "content_type": "TEXT_PLAIN"}  # fmt: skip
    return {**whole, **members}


def fault(value: Any, type_: int = CHAT) -> str:
    with pytest.raises(ValueError) as caught:
        message_from_json(type_, value)
    return str(caught.value)


@each_sample
def test_a_message_is_the_same_from_json(sample: m.StatusMessage) -> None:
    shown = message_as_json(sample)
    assert message_from_json(type_of_message(sample), json.loads(json.dumps(shown))) == sample


@given(MESSAGES)
@settings(max_examples=examples(200))
def test_any_message_is_the_same_from_json(message: m.StatusMessage) -> None:
    shown = json.dumps(message_as_json(message))
    assert message_from_json(type_of_message(message), json.loads(shown)) == message


def test_members_are_the_fields_in_their_order() -> None:
    assert message_as_json(image(unknown=bytes(Field(200, 1)))) == {
        "clock": NOW,
        "timestamp": NOW,
        "text": "",
        "response_to": "",
        "ens_name": "",
        "chat_id": text().chat_id,
        "message_type": "ONE_TO_ONE",
        "content_type": "IMAGE",
        "image": {"payload": b64encode(GIF).decode(), "type": "GIF"},
        "unknown": b64encode(bytes(Field(200, 1))).decode(),
    }
    assert message_as_json(m.MembershipUpdateMessage(GROUP, (founding(),))) == {
        "chat_id": GROUP,
        "events": [b64encode(founding()).decode()],
    }


def test_the_names_are_those_of_the_proto() -> None:
    for form in FORMS.values():
        assert set(form.fields) <= set(form.message.DESCRIPTOR.fields_by_name)
        later = set(form.message.DESCRIPTOR.fields_by_name) - set(form.fields)
        assert all(name.startswith("later_") for name in later)


def test_enums_are_names_or_numbers() -> None:
    assert number_as_json(ImageType, 2) == "JPEG"
    assert number_as_json(ImageType, 9) == 9
    assert number_as_json(PayloadType, -1) == -1
    by_number = message_from_json(CHAT, given_(message_type=2, content_type=1))
    assert by_number == message_from_json(CHAT, given_())
    assert message_from_json(CHAT, given_(content_type=99)).content_type == 99  # type: ignore[union-attr]
    for bad in ("PUBLIC", "public_group", "", "2"):
        assert "PRIVATE_GROUP" in fault(given_(message_type=bad))


def test_members_may_be_left_out() -> None:
    value = given_()
    message = message_from_json(CHAT, value)
    assert message == text(chat_id="status", message_type=2)
    assert message_from_json(CHAT, {**value, "sticker": None}) == message
    # What is left out has the field's empty value, which rules may refuse.
    for name, reason in (("clock", CLOCK_INVALID), ("timestamp", PAYLOAD_INVALID), ("text", TEXT_INVALID),
                         ("chat_id", CHAT_INVALID), ("message_type", PAYLOAD_INVALID)):  # fmt: skip
        less = {key: each for key, each in value.items() if key != name}
        refused(lambda less=less: message_from_json(CHAT, less), reason)


def test_a_member_that_is_not_the_messages_is_refused() -> None:
    assert "'color'" in fault(given_(color="red"))
    assert "'later_12'" in fault(given_(later_12=""))
    assert "'name'" in fault(given_(sticker={"hash": "x", "name": 5}))
    assert "StickerMessage has no member" in fault(given_(sticker={"hash": "x", "Pack": 5}))
    assert "MembershipUpdateMessage has no member 'clock'" in fault(
        {"chat_id": GROUP, "clock": 1}, PayloadType.MEMBERSHIP_UPDATE_MESSAGE
    )


@pytest.mark.parametrize("value", [None, [], "x", 5, True, 1.5])
def test_a_message_is_an_object(value: Any) -> None:
    for type_ in FORMS:
        assert "JSON object" in fault(value, type_)
    if value is not None:
        assert "StickerMessage must be a JSON object" in fault(given_(sticker=value))


WRONG = {
    "clock": [None, "1", 1.0, True, [], {}, -1, 1 << 64],
    "text": [None, 5, True, [], {}],
    "message_type": [None, 1.0, True, [], {}, 1 << 31, -(1 << 31) - 1],
    "unknown": [None, 5, "*", "é", "YQ", []],
    "image": ["x", 5, [], {"payload": "*", "type": 1}, {"payload": b"x".hex() + "é"}, {"payload": None}],
    "audio": [{"payload": "YWI=", "type": 1, "duration_ms": 1.5}, {"payload": "YWI=", "type": 1, "duration_ms": -1}],
    "sticker": [{"hash": "x", "pack": 1 << 31}, {"hash": 5}],
}


@pytest.mark.parametrize("name", WRONG)
def test_a_member_has_its_type(name: str) -> None:
    for value in WRONG[name]:
        assert "must be" in fault(given_(**{name: value}))


def test_so_has_each_of_a_list() -> None:
    update = PayloadType.MEMBERSHIP_UPDATE_MESSAGE
    for events in (None, "x", {}, 5):
        assert "must be a list" in fault({"chat_id": GROUP, "events": events}, update)
    for event in (None, 5, "*"):
        assert "each of events" in fault({"chat_id": GROUP, "events": [event]}, update)
    contact = {"clock": 1, "id": text().chat_id, "system_tags": ["a", 5]}
    assert "each of system_tags" in fault(contact, PayloadType.SYNC_INSTALLATION_CONTACT)


def test_a_flag_is_true_or_false() -> None:
    value = {"clock": 1, "message_id": ID, "chat_id": "status", "message_type": 2}
    for pinned in (0, 1, "true", None):
        assert "true or false" in fault({**value, "pinned": pinned}, PayloadType.PIN_MESSAGE)
    assert message_from_json(PayloadType.PIN_MESSAGE, {**value, "pinned": True}).pinned  # type: ignore[union-attr]


def test_numbers_of_64_bits_are_exact() -> None:
    message = text(clock=(1 << 63) - 1, timestamp=(1 << 64) - 1)
    shown = json.dumps(message_as_json(message))
    assert str((1 << 64) - 1) in shown
    assert message_from_json(CHAT, json.loads(shown)) == message
