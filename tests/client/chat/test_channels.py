"""Records of channels in messages to oneself, over dm3 and NLWeb."""

import json
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256

import pytest
from tests.client.chat.network import ALICE, BOB, CAROL, ChatNetwork
from tests.protocols.status.known import Field

from postroom.client.chat.carried_wrapper import CarriedWrapper
from postroom.client.chat.channels import (
    MAX_RECEIVERS,
    ChannelRecord,
    belongs_to,
    channel_message,
    find_channel,
    find_channel_in_body,
    write_channel,
    write_channel_body,
)
from postroom.client.dm3 import Dm3Draft
from postroom.core.ijson import JsonValue
from postroom.protocols.dm3.message import Attachment, Dm3Message
from postroom.protocols.status.codec import read_payload, write_payload
from postroom.protocols.status.enums import PayloadType

RECORD = ChannelRecord("tea", 7, True, (BOB, CAROL), True)
HEAD = "data:application/vnd.postroom.chat-channel+json;base64,"
WRITTEN = {"channel": "tea", "clock": 7, "joined": True, "to": [BOB], "relay": False}


def carrying(network: ChatNetwork, *uris: str) -> Dm3Message:
    message = network[ALICE].sender().sign(Dm3Draft(ALICE, "text"))
    return replace(message, attachments=tuple(map(Attachment, uris)))


@pytest.mark.parametrize("record", [RECORD, ChannelRecord("tea", 8, False)])
def test_a_record_is_found_as_it_was_written(network: ChatNetwork, record: ChannelRecord) -> None:
    assert find_channel(carrying(network, "data:text/plain,x", write_channel(record))) == record
    assert find_channel(carrying(network)) is None
    body = write_channel_body(CarriedWrapper(b"\x01", None), record)
    assert (body["Status"], find_channel_in_body(body)) == ("AQ==", record)
    assert write_channel_body(CarriedWrapper(b"\x01", None), None) == {"Status": "AQ=="}


def test_the_message_beside_a_record_has_its_digest() -> None:
    text = b'{"channel":"tea","clock":7,"joined":true,"relay":true,"to":["bob.eth","carol.eth"]}'
    message = channel_message(RECORD)
    assert (message.id, message.clock, message.unknown) == ("tea", 7, bytes(Field(2000, sha256(text).digest())))
    read = read_payload(PayloadType.SYNC_INSTALLATION_PUBLIC_CHAT, write_payload(message))
    assert belongs_to(RECORD, read)
    for other in (replace(RECORD, receivers=(BOB,)), replace(RECORD, relays=False), replace(RECORD, is_joined=False)):
        assert not belongs_to(other, read)


@pytest.mark.parametrize(
    "changed",
    [
        {"channel": "Tea"}, {"clock": "7"}, {"joined": 1}, {"to": "bob.eth"}, {"to": ["a..b"]}, {"relay": None},
        {"to": [f"n{number}.eth" for number in range(MAX_RECEIVERS + 1)]},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_record_is_not_found(network: ChatNetwork, changed: dict[str, JsonValue]) -> None:
    assert find_channel_in_body({"Channel": {**WRITTEN, **changed}}) is None
    data = json.dumps({**WRITTEN, **changed}).encode()
    assert find_channel(carrying(network, HEAD + b64encode(data).decode())) is None
    good = json.dumps(WRITTEN).encode()
    assert find_channel(carrying(network, HEAD + b64encode(good).decode())) is not None


@pytest.mark.parametrize("body", [None, [], {}, {"Channel": None}, {"Channel": []}, {"Channel": "tea"}])
def test_another_body_has_no_record(body: JsonValue) -> None:
    assert find_channel_in_body(body) is None


def test_the_record_that_was_said_last_is_larger() -> None:
    assert replace(RECORD, clock=8, is_joined=False, receivers=()) > RECORD
    assert replace(RECORD, is_joined=False) != RECORD
