"""Records of the channels that an owner has joined, and of whom messages in them go to.

A record is an attachment of a dm3 message to oneself, beside Status's own message between devices: that one has neither
receivers, nor does it say that a channel was left. The newest record of a channel counts.
"""

from base64 import b64encode
from dataclasses import dataclass
from typing import Final

import orjson

from postroom.client.chat.nlweb_carrier import receiver_named
from postroom.core.errors import TheirError
from postroom.core.ijson import parse
from postroom.core.typed_members import Members
from postroom.crypto.encodings import decode_base64
from postroom.protocols.dm3.message import Dm3Message
from postroom.protocols.status.chats import is_channel

MAX_RECEIVERS: Final = 1000
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


def write_channel(record: ChannelRecord) -> str:
    """The attachment that holds a record: a `data:` URI."""
    value = {
        "channel": record.channel,
        "clock": record.clock,
        "joined": record.is_joined,
        "to": list(record.receivers),
        "relay": record.relays,
    }
    return _URI + b64encode(orjson.dumps(value)).decode()


def find_channel(message: Dm3Message) -> ChannelRecord | None:
    """The record that a dm3 message to oneself holds; None: it holds none."""
    return next((read_channel(each.data) for each in message.attachments or () if each.data.startswith(_URI)), None)


def read_channel(uri: str) -> ChannelRecord | None:
    """The record in an attachment; None: it is none."""
    try:
        return _read(decode_base64(uri.removeprefix(_URI)))
    except (TheirError, ValueError):
        return None


def _read(data: bytes) -> ChannelRecord:
    members = Members(parse(data, max_bytes=len(data)), "a channel's record")
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
