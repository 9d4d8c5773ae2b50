"""Records of the channels that an owner has joined, and of whom messages in them go to.

A record is in a message to oneself, beside Status's own message between devices: that one has neither receivers, nor
does it say that a channel was left. In a dm3 message it is an attachment; in an NLWeb message, of an owner who is only
a domain, it is the member `Channel` of the Body. Others may write for a domain, so Status's message, which the owner's
key has signed, has the record's digest in a field of our own. The newest record of a channel counts.
"""

from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

import orjson

from postroom.client.chat.carried_wrapper import CarriedWrapper
from postroom.client.chat.nlweb_carrier import CHANNEL, receiver_named, write_body
from postroom.core.canonical import stringify
from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue, parse
from postroom.core.typed_members import Members
from postroom.crypto.encodings import decode_base64
from postroom.protocols.dm3.message import Dm3Message
from postroom.protocols.status.chats import is_channel
from postroom.protocols.status.messages import StatusMessage, SyncInstallationPublicChat

MAX_RECEIVERS: Final = 1000
_DIGEST: Final = b"\x82\x7d\x20"
"""Field 2000, of 32 bytes, as protobuf writes it."""
_URI: Final = "data:application/vnd.postroom.chat-channel+json;base64,"


@dataclass(frozen=True, slots=True, order=True)
class ChannelRecord:
    """A channel. Of two records of one channel the larger counts.

    `clock`: when this was said. `receivers`: the names and domains that messages in it are sent to, as `receiver_named`
    has them. `relays`: signed messages of others are passed on to them.
    """

    channel: str
    clock: int
    is_joined: bool
    receivers: tuple[str, ...] = ()
    relays: bool = False


def channel_json(record: ChannelRecord) -> dict[str, JsonValue]:
    """A record as JSON."""
    return {
        "channel": record.channel,
        "clock": record.clock,
        "joined": record.is_joined,
        "to": list(record.receivers),
        "relay": record.relays,
    }


def parse_channel(value: object) -> ChannelRecord | None:
    """The record in a JSON value; None: it is none."""
    try:
        return _read(value)
    except (TheirError, ValueError):
        return None


def write_channel(record: ChannelRecord) -> str:
    """The attachment that holds a record: a `data:` URI."""
    return _URI + b64encode(orjson.dumps(channel_json(record))).decode()


def find_channel(message: Dm3Message) -> ChannelRecord | None:
    """The record that a dm3 message to oneself holds; None: it holds none."""
    return next((read_channel(each.data) for each in message.attachments or () if each.data.startswith(_URI)), None)


def read_channel(uri: str) -> ChannelRecord | None:
    """The record in an attachment; None: it is none."""
    try:
        data = decode_base64(uri.removeprefix(_URI))
        return _read(parse(data, max_bytes=len(data)))
    except (TheirError, ValueError):
        return None


def write_channel_body(carried: CarriedWrapper, record: ChannelRecord | None) -> dict[str, JsonValue]:
    """The Body of an NLWeb message that carries a wrapper, and a record if there is one."""
    body = write_body(carried)
    return body if record is None else {**body, CHANNEL: channel_json(record)}


def find_channel_in_body(body: JsonValue) -> ChannelRecord | None:
    """The record in the Body of an NLWeb message to oneself; None: it has none."""
    return parse_channel(body.get(CHANNEL)) if isinstance(body, dict) else None


def channel_message(record: ChannelRecord) -> SyncInstallationPublicChat:
    """The message between one's own devices that a record stands beside."""
    digest = sha256(stringify(channel_json(record))).digest()
    return SyncInstallationPublicChat(record.clock, record.channel, _DIGEST + digest)


def belongs_to(record: ChannelRecord, message: StatusMessage | None) -> bool:
    """Whether a message between one's own devices is the one that a record stands beside."""
    return message == channel_message(record)


def _read(value: object) -> ChannelRecord:
    members = Members(value, "a channel's record")
    receivers = members.any("to")
    channel = members.text("channel")
    if not isinstance(receivers, list) or len(receivers) > MAX_RECEIVERS or not is_channel(channel):
        raise ValueError("it is no channel's record")
    return ChannelRecord(
        channel,
        members.whole("clock"),
        members.flag("joined"),
        tuple(receiver_named(str(name)) for name in receivers),
        members.flag("relay"),
    )
