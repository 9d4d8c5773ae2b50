"""A message to an NLWeb domain that the owner's post office has not accepted yet, as the archive holds it."""

from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

import orjson

from postroom.client.chat.carried_wrapper import CarriedWrapper
from postroom.client.chat.channels import ChannelRecord, channel_json, parse_channel
from postroom.client.chat.nlweb_carrier import address_of
from postroom.core.typed_members import Members
from postroom.crypto.encodings import decode_base64
from postroom.protocols.status.keys import ChatKey

_PENDING: Final = "nlweb"
_REFUSED: Final = "nlweb-refused"
STATES: Final = (_PENDING, _REFUSED)
"""How an archive marks such messages among those that are not delivered yet."""


@dataclass(frozen=True, slots=True)
class UnsentToDomain:
    """A wrapper for a domain. `timestamp_ms`: when it was written. `channel`: the record beside it, to oneself.

    `refused`: why it will never be accepted; empty: it is sent again. `earlier`: the IDs of earlier states that are
    still stored. `correlation`: in the outbox, of one that the post office had accepted before it was refused.
    """

    domain: str
    carried: CarriedWrapper
    timestamp_ms: int
    refused: str = ""
    earlier: tuple[str, ...] = ()
    channel: ChannelRecord | None = None
    correlation: str = ""

    @property
    def to(self) -> str:
        """The receiver, as a user names it."""
        return address_of(self.domain)

    @property
    def origin(self) -> str:
        """What all states of one message have in common, and the token with which it is sent: once. The names are not
        in it: which are known may change, and a wrapper goes to a domain once."""
        return sha256(self.domain.encode() + b"\0" + self.carried.wrapper).hexdigest()

    @property
    def state(self) -> str:
        """How an archive marks it."""
        return _REFUSED if self.refused else _PENDING

    @property
    def progress(self) -> tuple[bool, bool, bool]:
        """Larger in a later state."""
        return bool(self.refused), False, False

    @property
    def id(self) -> str:
        """The ID of this state."""
        return f"{self.state}:{self.origin}"

    def encode(self) -> str:
        """The message as JSON text."""
        value = {
            "domain": self.domain,
            "wrapper": b64encode(self.carried.wrapper).decode(),
            "type": self.carried.type,
            "names": {str(key): name for key, name in self.carried.names.items()},
            "at": self.timestamp_ms,
            "channel": channel_json(self.channel) if self.channel else None,
            "refused": self.refused,
            "correlation": self.correlation,
        }
        return orjson.dumps(value).decode()


def read_unsent_to_domain(members: Members) -> UnsentToDomain:
    """The message in the members of its JSON text. Raises ValueError."""
    type_ = None if members.any("type") is None else members.whole("type")
    # Earlier releases had none of these.
    channel = parse_channel(members.any("channel")) if "channel" in members else None
    names = members.mapping("names") if "names" in members else {}
    said = {ChatKey(key): str(name) for key, name in names.items()}
    carried = CarriedWrapper(decode_base64(members.text("wrapper")), type_, said)
    return UnsentToDomain(
        members.text("domain"),
        carried,
        members.whole("at"),
        members.text("refused"),
        channel=channel,
        correlation=members.text("correlation") if "correlation" in members else "",
    )
