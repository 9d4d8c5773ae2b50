"""Wrappers in dm3 messages: where they are, and whose key signed the message."""

from base64 import b64encode
from dataclasses import replace

import pytest
from tests.client.chat.network import ALICE, BOB, EDDY, ChatNetwork, Device

from postroom.client.chat.carried_wrapper import CarriedWrapper
from postroom.client.chat.dm3_carrier import carrier_key, dm3_type, encodings, find_wrapper
from postroom.client.dm3 import Dm3Draft
from postroom.protocols.dm3.message import Attachment, Dm3Message, MessageType
from postroom.protocols.dm3.stored import StoredEnvelope
from postroom.protocols.status import sending
from postroom.protocols.status.enums import ChatKind, PayloadType, ReactionKind
from postroom.protocols.status.messages import (
    MembershipUpdateMessage,
)
from postroom.protocols.status.verify import NO_CHAT_KEY, ChatRef

KEY = "0x04" + "11" * 64
CHAT = ChatRef(ChatKind.PUBLIC_GROUP, "tea")
ID = "0x" + "ab" * 32
TEXT = sending.text_message(CHAT, 1, 1, "hello")
REPLY = sending.text_message(CHAT, 1, 1, "yes", ID)
TYPED, UNTYPED = "message=status.ApplicationMetadataMessage", "message=status.StatusProtocolMessage"


def carrying(network: ChatNetwork, *uris: str, named: bool = False) -> Dm3Message:
    """A dm3 message with these attachments. `named`: in the form of the reference, objects."""
    message = network[ALICE].sender().sign(Dm3Draft(BOB, "text"))
    return replace(message, attachments=tuple(Attachment(uri, "name" if named else None, named) for uri in uris))


def uri(parameters: str, data: bytes = b"wrapper") -> str:
    return f"data:application/protobuf{parameters};base64,{b64encode(data).decode()}"


def test_a_typed_wrapper_has_the_media_type_of_iana_and_the_name_of_its_message() -> None:
    assert encodings(CarriedWrapper(b"wrapper", None)) == (uri(f";{TYPED}"),)


def test_an_untyped_wrapper_says_what_its_payload_is() -> None:
    assert encodings(CarriedWrapper(b"wrapper", PayloadType.CHAT_MESSAGE_IDENTITY)) == (
        uri(f";{UNTYPED};payload=CHAT_MESSAGE_IDENTITY"),
    )


def test_a_wrapper_is_found_in_both_forms_and_with_names(network: ChatNetwork) -> None:
    names = {network[BOB].key: BOB}
    typed = encodings(CarriedWrapper(b"wrapper", None, names))
    untyped = encodings(CarriedWrapper(b"wrapper", PayloadType.CHAT_MESSAGE_IDENTITY))
    assert find_wrapper(carrying(network, *typed)) == CarriedWrapper(b"wrapper", None, names)
    assert find_wrapper(carrying(network, *untyped)) == CarriedWrapper(b"wrapper", PayloadType.CHAT_MESSAGE_IDENTITY)
    assert find_wrapper(carrying(network, *typed, named=True)) == CarriedWrapper(b"wrapper", None, names)


FOUND = {
    "capitals": "DATA:Application/Protobuf;Message=status.ApplicationMetadataMessage;BASE64,d3JhcHBlcg==",
    "further parameters": uri(f";{TYPED};encoding=binary"),
}


@pytest.mark.parametrize("form", FOUND)
def test_other_ways_of_writing_it_are_found(network: ChatNetwork, form: str) -> None:
    assert find_wrapper(carrying(network, FOUND[form])) == CarriedWrapper(b"wrapper", None)


NOT_FOUND = {
    "another media type": f"data:text/plain;{TYPED};base64,AAAA",
    "another message": uri(";message=status.ChatMessage"),
    "no message": uri(""),
    "no base64": f"data:application/protobuf;{TYPED},wrapper",
    "broken base64": f"data:application/protobuf;{TYPED};base64,A===A",
    "no data": f"data:application/protobuf;{TYPED};base64",
    "a link": "https://example.com/wrapper",
}


@pytest.mark.parametrize("form", NOT_FOUND)
def test_what_is_no_wrapper_is_not_found_and_does_not_hide_one(network: ChatNetwork, form: str) -> None:
    assert find_wrapper(carrying(network, NOT_FOUND[form])) is None
    assert find_wrapper(carrying(network, NOT_FOUND[form], uri(f";{TYPED}"))) == CarriedWrapper(b"wrapper", None)


def test_the_first_wrapper_counts(network: ChatNetwork) -> None:
    assert find_wrapper(carrying(network, uri(f";{TYPED}"), uri(f";{TYPED}", b"second"))) == CarriedWrapper(
        b"wrapper", None
    )


def test_an_untyped_wrapper_of_an_unknown_payload_has_no_type(network: ChatNetwork) -> None:
    for parameters in (f";{UNTYPED}", f";{UNTYPED};payload=NONE_SUCH"):
        assert find_wrapper(carrying(network, uri(parameters))) == CarriedWrapper(b"wrapper", None)


@pytest.mark.parametrize("names", ["{", "[]", '{"0x04": "bob.eth"}', '{"KEY": 1}', '{"KEY": "a..b"}'])
def test_names_that_are_none_are_left_out(network: ChatNetwork, names: str) -> None:
    data = b64encode(names.replace("KEY", network[BOB].key).encode()).decode()
    attachment = f"data:application/vnd.postroom.chat-names+json;base64,{data}"
    assert find_wrapper(carrying(network, uri(f";{TYPED}"), attachment)) == CarriedWrapper(b"wrapper", None)


def test_the_dm3_type_is_that_of_the_payload_where_a_reference_is_known() -> None:
    types = {
        TEXT: MessageType.NEW,
        REPLY: MessageType.REPLY,
        sending.reaction(CHAT, 1, ID, ReactionKind.LOVE): MessageType.REACTION,
        sending.reaction(CHAT, 1, ID, ReactionKind.LOVE, retracted=True): MessageType.NEW,
        sending.edit(CHAT, 1, ID, "x"): MessageType.EDIT,
        sending.deletion(CHAT, 1, ID): MessageType.DELETE_REQUEST,
        sending.pin(CHAT, 1, ID, pinned=True): MessageType.NEW,
    }
    for message, type_ in types.items():
        assert dm3_type(message, has_reference=True) is type_
        assert dm3_type(message, has_reference=False) is MessageType.NEW


def test_the_type_of_a_group_message_is_that_of_what_is_in_it(network: ChatNetwork) -> None:
    group = f"3f1d6b5e-6d3a-4c7b-9f0a-2b1c3d4e5f60-{network[ALICE].key}"
    inner = sending.text_message(ChatRef(ChatKind.PRIVATE_GROUP, group), 1, 1, "yes", ID)
    update = MembershipUpdateMessage(group, (), inner)
    assert dm3_type(update, has_reference=True) is MessageType.REPLY


def test_the_senders_key_is_stored_and_otherwise_found_in_both_signatures(network: ChatNetwork, bob: Device) -> None:
    for text in map(str, range(8)):  # both recovery IDs
        network[ALICE].post(Dm3Draft(BOB, text))
    network[EDDY].post(Dm3Draft(BOB, "hello"))
    bob.pull()
    of_alice = [entry for entry in bob.archive.open(ALICE) if isinstance(entry, StoredEnvelope)]
    [of_eddy] = [entry for entry in bob.archive.open(EDDY) if isinstance(entry, StoredEnvelope)]
    assert {entry.signing_key for entry in of_alice} == {network[ALICE].keys.signing.public.encode()}
    assert {carrier_key(entry) for entry in of_alice} == {network[ALICE].key}
    assert carrier_key(of_eddy) == NO_CHAT_KEY
    assert carrier_key(replace(of_alice[0], unverified="ProfileUnknown")) == NO_CHAT_KEY
    assert carrier_key(replace(of_alice[0], signing_key="AAAA")) == NO_CHAT_KEY
    # As archives of earlier releases have them: both signatures say which key it was.
    of_alice, of_eddy = [replace(entry, signing_key="") for entry in of_alice], replace(of_eddy, signing_key="")
    for likely in (NO_CHAT_KEY, network[ALICE].key, network[BOB].key):
        assert {carrier_key(entry, likely) for entry in of_alice} == {network[ALICE].key}
    assert carrier_key(of_eddy) == NO_CHAT_KEY
    assert carrier_key(replace(of_alice[0], metadata=of_eddy.metadata)) == NO_CHAT_KEY
