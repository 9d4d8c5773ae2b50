"""Bad Bodies of NLWeb messages with the Subject Payload@Status, for docs/reference/bad-input.md."""

from collections.abc import Iterator
from typing import NamedTuple

from tests.client.chat.domain_network import BANK, SHOP, DomainNetwork
from tests.client.chat.network import MALLORY, wrapped

from postroom.client.chat.carried_wrapper import CarriedWrapper
from postroom.client.chat.nlweb_carrier import write_body
from postroom.core.ijson import JsonValue
from postroom.core.reason import Reason
from postroom.core.reasons import TOO_LARGE
from postroom.protocols.status import sending
from postroom.protocols.status.enums import ChatKind
from postroom.protocols.status.messages import SyncClearHistory
from postroom.protocols.status.reasons import (
    AUTHOR_NOT_CARRIER,
    AUTHOR_SIGNATURE_INVALID,
    AUTHOR_UNKNOWN,
    NOT_FROM_OWN_KEY,
    PAYLOAD_INVALID,
    PAYLOAD_TYPE_UNKNOWN,
    WRAPPER_INVALID,
    WRITTEN_TO_ANOTHER,
)
from postroom.protocols.status.verify import ChatRef
from postroom.protocols.status.wrapper import MAX_WRAPPER_BYTES, write_wrapper


class BodyRow(NamedTuple):
    """A row: what the Body is, and the reason of the discard."""

    what: str
    body: JsonValue
    reason: Reason


def rows(network: DomainNetwork) -> Iterator[BodyRow]:
    """Bodies of messages from shop.example to bank.example."""
    shop, bank, at_ms = network[SHOP], network[BANK], network.now_ms
    text = sending.text_message(ChatRef(ChatKind.ONE_TO_ONE, bank.key), at_ms, at_ms, "hello")
    signed = wrapped(text, shop.author)
    good = write_body(CarriedWrapper(signed, None))
    to_mallory = sending.text_message(ChatRef(ChatKind.ONE_TO_ONE, network[MALLORY].key), at_ms, at_ms, "hello")
    elsewhere = wrapped(to_mallory, shop.author)
    clear = SyncClearHistory(bank.key, at_ms)
    mine = wrapped(clear, bank.author)
    for what, body in (
        ("null", None),
        ("a list", [good["Status"]]),
        ("without Status", {"Type": "CHAT_MESSAGE"}),
        ("Status as a number", {"Status": 1}),
        ("Status without the padding of base64", {"Status": "AAA"}),
        ("Status in base64url", {"Status": "__--"}),
        ("Status with a line break", {"Status": f"{good['Status']}\n"}),
        ("another member", {**good, "Text": "hello"}),
        ("an empty wrapper", {"Status": ""}),
        ("bytes that are not protobuf", {"Status": "/////w=="}),
    ):
        yield BodyRow(what, body, WRAPPER_INVALID)
    yield BodyRow("a Type that is none of payloads", {**good, "Type": "NEWS"}, PAYLOAD_TYPE_UNKNOWN)
    yield BodyRow("a Type as a number", {**good, "Type": 1}, PAYLOAD_TYPE_UNKNOWN)
    untyped = write_body(CarriedWrapper(wrapped(text, shop.author, typed=False), None))
    yield BodyRow("an older wrapper without Type", untyped, PAYLOAD_TYPE_UNKNOWN)
    yield BodyRow("a wrapper without a signature", _body(wrapped(text, shop.author, signed=False)), AUTHOR_UNKNOWN)
    cut = write_wrapper(b"\x08", shop.author.sign(b"\x08"), 1)
    yield BodyRow("a signed payload that is cut", _body(cut), PAYLOAD_INVALID)
    forged = write_wrapper(b"\x08\x01", bytes(65), 1)
    yield BodyRow("a signature that is none", _body(forged), AUTHOR_SIGNATURE_INVALID)
    yield BodyRow("a wrapper that is too large", _body(bytes(MAX_WRAPPER_BYTES + 1)), TOO_LARGE)
    yield BodyRow("a message that was written to somebody else", _body(elsewhere), WRITTEN_TO_ANOTHER)
    yield BodyRow("the receiver's own message, passed on", _body(wrapped(text, bank.author)), AUTHOR_NOT_CARRIER)
    yield BodyRow("the receiver's own cleared history, passed on", _body(mine), AUTHOR_NOT_CARRIER)
    yield BodyRow("a cleared history of the sender", _body(wrapped(clear, shop.author)), NOT_FROM_OWN_KEY)


def _body(wrapper: bytes) -> JsonValue:
    return write_body(CarriedWrapper(wrapper, None))
