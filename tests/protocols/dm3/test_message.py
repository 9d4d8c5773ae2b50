"""Messages: dm3 §2.2.2 - §2.2.4; decisions "Signatures" and "Message types"."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.dm3.known import changed, each_build, public_signing_key, refused

from postroom.core.canonical import stringify
from postroom.core.errors import TheirError
from postroom.protocols.dm3.keys import PrivateSigningKey
from postroom.protocols.dm3.message import (
    MAX_MESSAGE_BYTES,
    Attachment,
    Dm3Message,
    MessageMetadata,
    MessageType,
    read_message,
)
from postroom.protocols.dm3.reasons import MESSAGE_INVALID, SENDER_SIGNATURE_INVALID
from postroom.protocols.dm3.sign import sign_message
from postroom.protocols.dm3.verify import check_message

SECP = PrivateSigningKey.generate("secp256k1")
ED = PrivateSigningKey.generate("ed25519")
BOTH = pytest.mark.parametrize("key", [SECP, ED], ids=["text", "reference"])
ABSENT = object()
METADATA: dict[str, Any] = {"to": "bob.eth", "from": "alice.eth", "timestamp": 1700000000000, "type": "NEW"}
WHOLE: dict[str, Any] = {
    "message": "Grüße *Bob* 👋",
    "metadata": {
        **METADATA,
        "type": "REPLY",
        "referenceMessageHash": "0xab",
        "replyDeliveryInstruction": "topic 7",
        "app.example": {"b": [1.5, None], "a": True},
    },
    "attachments": ["data:text/html;base64,PGI+", {"name": "a.txt", "data": "data:,x", "size": 1}],
    "app.example": ["kept"],
    "signature": "AAAA",
}
NO_TEXT = {MessageType.READ_RECEIPT, MessageType.DELETE_REQUEST, MessageType.RESEND_REQUEST}
ALONE = {MessageType.NEW, MessageType.READ_RECEIPT}


def message(metadata: dict[str, Any] | None = None, **members: Any) -> Any:
    """A message of good shape, with some metadata and members changed or taken away (ABSENT)."""
    whole = {"message": "Hello", "metadata": {**METADATA, **(metadata or {})}, "signature": "AAAA", **members}
    whole["metadata"] = {name: value for name, value in whole["metadata"].items() if value is not ABSENT}
    return {name: value for name, value in whole.items() if value is not ABSENT}


def refusal(value: Any) -> str:
    with pytest.raises(TheirError) as caught:
        read_message(value)
    return refused(caught, MESSAGE_INVALID)


def test_a_message_is_read() -> None:
    read = read_message(WHOLE)
    assert read.message == "Grüße *Bob* 👋"
    assert read.metadata == MessageMetadata(
        "bob.eth",
        "alice.eth",
        1700000000000,
        "REPLY",
        "0xab",
        "topic 7",
        {"app.example": {"b": [1.5, None], "a": True}},
    )
    assert read.metadata.type is MessageType.REPLY
    assert read.attachments == (
        Attachment("data:text/html;base64,PGI+"),
        Attachment("data:,x", "a.txt", True, {"size": 1}),
    )
    assert read.extra == {"app.example": ["kept"]}
    assert read.signature == "AAAA"


def test_every_member_is_kept() -> None:
    read = read_message(WHOLE)
    assert read.as_json() == WHOLE
    assert read.encode() == stringify(WHOLE)
    assert read_message(read.as_json()) == read


def test_reading_leaves_the_value_as_it_was() -> None:
    value = copy.deepcopy(WHOLE)
    read_message(value)
    assert value == WHOLE


def test_the_signature_covers_everything_but_itself() -> None:
    assert read_message(WHOLE).unsigned() == {name: value for name, value in WHOLE.items() if name != "signature"}


@pytest.mark.parametrize("value", [None, [], "x", 5, {}, {"message": "x"}])
def test_an_invalid_message_is_refused(value: Any) -> None:
    assert "JSON object" in refusal(value)


@pytest.mark.parametrize("member", ["to", "from", "timestamp", "type"])
@pytest.mark.parametrize("value", [ABSENT, None, [], {}, True, "", 1.5, -1, 2**53, "\ud800"])
def test_required_metadata(member: str, value: Any) -> None:
    assert member in refusal(message({member: value}))


@pytest.mark.parametrize("timestamp", [0, 2**53 - 1])
def test_a_timestamp_is_an_integer_that_is_exact_in_javascript(timestamp: int) -> None:
    assert read_message(message({"timestamp": timestamp})).metadata.timestamp_ms == timestamp


@pytest.mark.parametrize("member", ["referenceMessageHash", "replyDeliveryInstruction"])
@pytest.mark.parametrize("value", [None, 5, [], {}, True, "\udfff"])
def test_optional_metadata_are_strings(member: str, value: Any) -> None:
    assert member in refusal(message({member: value}))


@pytest.mark.parametrize("value", [ABSENT, None, 5, "", [], "\ud800"])
def test_a_signature_must_be_there(value: Any) -> None:
    assert "signature" in refusal(message(signature=value))


# --- types ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["new", "NEWS", "READ", "GROUP_INVITE"])
@pytest.mark.parametrize("text", [ABSENT, "", "hello"])
def test_a_type_the_text_does_not_have_is_kept_and_handled_as_a_new_message(name: str, text: Any) -> None:
    """dm3 §2.2.3: handle not interpreted types meaningfully."""
    value = message({"type": name}, message=text)
    found = read_message(value)
    assert (found.metadata.type_name, found.metadata.type) == (name, MessageType.NEW)
    assert found.as_json() == value


@pytest.mark.parametrize("kind", list(MessageType))
@pytest.mark.parametrize("reference", [ABSENT, ""])
def test_a_type_that_needs_a_reference_and_has_none_is_invalid(kind: MessageType, reference: Any) -> None:
    value = message({"type": str(kind), "referenceMessageHash": reference})
    if kind in ALONE:
        assert read_message(value).metadata.type is kind
    else:
        assert f"{kind} needs metadata.referenceMessageHash" in refusal(value)


@pytest.mark.parametrize("kind", list(MessageType))
def test_a_text_is_required_except_for_service_messages(kind: MessageType) -> None:
    value = message({"type": str(kind), "referenceMessageHash": "0xab"}, message=ABSENT)
    if kind in NO_TEXT:
        assert read_message(value).as_json() == value
    else:
        assert refusal(value) == "message is missing"


@pytest.mark.parametrize("kind", list(MessageType))
def test_the_text_may_be_empty(kind: MessageType) -> None:
    assert read_message(message({"type": str(kind), "referenceMessageHash": "0xab"}, message="")).message == ""


@pytest.mark.parametrize("value", [None, 5, [], {}, "\ud800"])
@pytest.mark.parametrize("kind", [MessageType.NEW, MessageType.READ_RECEIPT])
def test_the_text_is_a_string(kind: MessageType, value: Any) -> None:
    assert "message" in refusal(message({"type": str(kind)}, message=value))


@BOTH
@pytest.mark.parametrize("alias", ["READ_OPENED", "READ_RECEIVED"])
def test_the_references_type_for_read_receipts_is_accepted_and_kept(alias: str, key: PrivateSigningKey) -> None:
    metadata = MessageMetadata("bob.eth", "alice.eth", 1, alias, "0xab")
    signed = sign_message("READ", metadata, key, attachments=[])
    read = read_message(json.loads(signed.encode()))
    assert read.metadata.type is MessageType.READ_RECEIPT
    assert read.as_json()["metadata"]["type"] == alias  # type: ignore[call-overload, index]
    check_message(read, key.public)


# --- attachments ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "attachment",
    [
        "data:,",
        "DATA:text/plain,x y",
        "https://service.example/x",
        "ipfs://AmE6mn1n64Q",
        {"data": "anything"},
        {"data": "x", "name": ""},
        {"data": "x", "name": "a.txt", "type": "text/plain"},
    ],
)
def test_an_attachment_is_a_uri_or_the_references_object(attachment: Any) -> None:
    read = read_message(message(attachments=[attachment]))
    assert read.as_json()["attachments"] == [attachment]


@pytest.mark.parametrize(
    "attachment",
    [
        "",
        "a.txt",
        "http://service.example/x",
        "file:///etc/passwd",
        " data:,",
        "\ud800",
        "data:,\ud800",
        None,
        5,
        [],
        {},
        {"name": "a.txt"},
        {"data": ""},
        {"data": 5},
        {"data": None},
        {"data": "x", "name": 5},
        {"data": "x", "name": None},
    ],
)
def test_any_other_attachment_is_refused(attachment: Any) -> None:
    assert refusal(message(attachments=["data:,", attachment]))


@pytest.mark.parametrize("attachments", [None, {}, "data:,", 5])
def test_attachments_are_an_array(attachments: Any) -> None:
    assert "attachments" in refusal(message(attachments=attachments))


def test_no_attachments_and_an_empty_array_are_not_the_same() -> None:
    assert "attachments" not in read_message(message()).as_json()
    assert read_message(message(attachments=[])).as_json()["attachments"] == []


def test_a_message_is_smaller_than_20_mb() -> None:
    rest = len(read_message(message(message="")).encode())
    most = read_message(message(message="x" * (MAX_MESSAGE_BYTES - rest)))
    assert len(most.encode()) == 19_999_999
    assert "takes 20000000 bytes" in refusal(message(message="x" * (MAX_MESSAGE_BYTES - rest + 1)))


# --- made by hand ---------------------------------------------------------------------------------------------


GOOD = MessageMetadata("bob.eth", "alice.eth", 1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: MessageMetadata("", "alice.eth", 1),
        lambda: MessageMetadata("bob.eth", 5, 1),  # type: ignore[arg-type]
        lambda: MessageMetadata("bob.eth", "alice.eth", 2**53),
        lambda: MessageMetadata("bob.eth", "alice.eth", 1.0),  # type: ignore[arg-type]
        lambda: MessageMetadata("bob.eth", "alice.eth", 1, "EDIT"),
        lambda: Dm3Message(None, GOOD, "AAAA"),
        lambda: Dm3Message("\ud800", GOOD, "AAAA"),
        lambda: Dm3Message("x", GOOD, ""),
        lambda: Dm3Message("x", METADATA, "AAAA"),  # type: ignore[arg-type]
        lambda: Dm3Message("x", GOOD, "AAAA", ["data:,"]),  # type: ignore[arg-type]
        lambda: Dm3Message("x", GOOD, "AAAA", ("data:,",)),  # type: ignore[arg-type]
        lambda: Dm3Message("x", GOOD, "AAAA", extra={"a": float("inf")}),
        lambda: Dm3Message("x", GOOD, "AAAA", extra={"a": "\ud800"}),
        lambda: Dm3Message("x", MessageMetadata("b", "a", 1, extra={"a": 2**53}), "AAAA"),
        lambda: Attachment("a.txt"),
        lambda: Attachment("data:,", "a.txt"),
        lambda: Attachment("data:,", extra={"a": 1}),
        lambda: sign_message("x", GOOD, SECP, extra={"a": float("nan")}),
        lambda: sign_message(None, GOOD, SECP),
    ],
)
def test_constructed_values_are_checked_too(make: Any) -> None:
    with pytest.raises(TheirError) as caught:
        make()
    assert refused(caught, MESSAGE_INVALID)


def test_a_message_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        sign_message("x", GOOD, SECP).message = "y"  # type: ignore[misc]


# --- signatures -----------------------------------------------------------------------------------------------


@each_build
def test_the_references_message_is_read_and_its_signature_checked(build: dict[str, Any]) -> None:
    known = build["message"]
    read = read_message(known["message"])
    assert stringify(read.unsigned()).decode() == known["signedString"]
    check_message(read, public_signing_key(build["profiles"]["alice"]["signingKeyPair"]))
    assert read.attachments == (Attachment("data:text/plain;base64,aGk=", "a.txt", is_object=True),)


def leaves(value: Any, *path: Any) -> Any:
    """The path to each member of a value, and the members of its members."""
    yield path
    if isinstance(value, dict | list):
        for name, member in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(member, *path, name)


def tampered(value: Any, path: tuple[Any, ...]) -> Any:
    if not path:
        return changed(value)
    copied = copy.copy(value)
    copied[path[0]] = tampered(value[path[0]], path[1:])
    return copied


def must_not_pass(value: Any, key: PrivateSigningKey) -> None:
    """It is refused: because it is no message any more, or because of its signature."""
    with pytest.raises(TheirError) as caught:
        check_message(read_message(value), key.public)
    assert caught.value.reason in (MESSAGE_INVALID, SENDER_SIGNATURE_INVALID)


def signed_whole(key: PrivateSigningKey) -> Any:
    draft = read_message(WHOLE)
    signed = sign_message(draft.message, draft.metadata, key, attachments=draft.attachments, extra=draft.extra)
    return json.loads(signed.encode())


@BOTH
@pytest.mark.parametrize("path", list(leaves(WHOLE)), ids=str)
def test_no_member_can_be_changed(key: PrivateSigningKey, path: tuple[Any, ...]) -> None:
    value = signed_whole(key)
    check_message(read_message(value), key.public)
    must_not_pass(tampered(value, path), key)


@BOTH
@pytest.mark.parametrize("path", [path for path in leaves(WHOLE) if path and path != ("signature",)], ids=str)
def test_no_member_can_be_removed(key: PrivateSigningKey, path: tuple[Any, ...]) -> None:
    value = signed_whole(key)
    holder = value
    for name in path[:-1]:
        holder = holder[name]
    del holder[path[-1]]
    must_not_pass(value, key)


def test_another_keys_signature_is_refused() -> None:
    signed = sign_message("x", GOOD, SECP)
    for other in (PrivateSigningKey.generate("secp256k1"), ED):
        with pytest.raises(TheirError) as caught:
            check_message(signed, other.public)
        assert "sender's key" in refused(caught, SENDER_SIGNATURE_INVALID)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.dictionaries(st.sampled_from(["message", "metadata", "attachments", "signature", "x"]), JSON),
    st.dictionaries(
        st.sampled_from(["to", "from", "timestamp", "type", "referenceMessageHash", "replyDeliveryInstruction", "x"]),
        JSON,
    ),
)
def test_arbitrary_members_are_kept_or_refused_and_nothing_else_happens(members: Any, metadata: Any) -> None:
    value = message(metadata, **members) if "metadata" not in members else {**message(), **members}
    try:
        read = read_message(value)
    except TheirError as error:
        if error.reason is not MESSAGE_INVALID:
            raise
    else:
        assert read.as_json() == value
