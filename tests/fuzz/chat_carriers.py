"""Fuzzing of what carries chats: Bodies of NLWeb messages, and the NLWeb messages of an archive."""

from base64 import b64encode
from typing import Final

import orjson
from tests.fuzz.entry import Entry, fuzzed, text_of
from tests.fuzz.status_payloads import OF_WRAPPERS, WRAPPERS
from tests.protocols.status.known import BOB

from postroom.client.archive.nlweb_messages import read_content
from postroom.client.chat.channels import find_channel_in_body, write_channel_body
from postroom.client.chat.entries import ChatEntry, read_nlweb_message
from postroom.client.chat.entry_json import parse_read_entry, write_read_entry
from postroom.client.chat.nlweb_carrier import SUBJECT, read_body, write_body
from postroom.core.errors import TheirError
from postroom.protocols.dm3.stored import Received

DOMAIN: Final = "shop.example"
AT: Final = 1_795_253_400_000


CHANNEL: Final = {"channel": "tea", "clock": 1, "joined": True, "to": ["bob.eth", "nlweb:shop.example"], "relay": True}


def _sent(body: object) -> bytes:
    return orjson.dumps({"Header": {"From": DOMAIN, "To": DOMAIN, "Subject": SUBJECT}, "Body": body})


BODIES: Final = (
    *({"Status": b64encode(each).decode()} for each in (*WRAPPERS[:3], *WRAPPERS[9:11], b"")),
    {"Status": b64encode(WRAPPERS[0]).decode(), "Type": "CHAT_MESSAGE_IDENTITY"},
    {"Status": b64encode(WRAPPERS[0]).decode(), "Names": {BOB.public: "nlweb:bank.example", "0x04": "bob.eth"}},
    {"Status": b64encode(WRAPPERS[0]).decode(), "Channel": CHANNEL},
    {"Status": "AAA"},
    {"Status": "AAAA", "Text": "hi"},
    None,
)


@fuzzed("client.chat.nlweb_carrier", "client.archive.nlweb_messages", seeds=tuple(map(_sent, BODIES)), is_json=True)
def nlweb_chats(data: bytes) -> None:
    """A message of an archive carries no chat, or is one that reads the same from an index, or is discarded."""
    text = text_of(data)
    if not text:
        return
    entry = Received("id", AT, DOMAIN, '{"sent": true}', text)
    found = read_nlweb_message(entry, BOB.public)
    if found is None:
        return
    again = parse_read_entry(write_read_entry(found), BOB.public)
    assert isinstance(again, ChatEntry)
    assert (again.payload, str(again.error)) == (found.payload, str(found.error))
    if found.error is not None:
        assert isinstance(found.error, TheirError)
        assert found.error.reason in OF_WRAPPERS
        assert found.payload is None
    if found.carried is not None:
        body = read_content(entry).body
        assert isinstance(body, dict)
        # What is malformed in the names and in the record of a channel is left out.
        others = {"Names": None, "Channel": None}
        assert {**body, **others} == {**write_body(found.carried), **others}
        assert find_channel_in_body(write_channel_body(found.carried, found.channel)) == found.channel == again.channel
        assert read_body(write_body(found.carried)) == found.carried


ENTRIES: Final[tuple[Entry, ...]] = (nlweb_chats,)
