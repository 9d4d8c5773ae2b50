"""Sessions of DCP whose peers wait for mail, as notification targets name them."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from postroom.core.typed_members import Members

if TYPE_CHECKING:
    from postroom.crypto.ethereum import Address


@dataclass(frozen=True, slots=True)
class WatchingSession:
    """A session that is told of mail by the response to a request.

    `connection`: the id of its WebSocket; `request`: the id of the request; `identity`: the address of ours that the
    session was opened at.
    """

    connection: str
    dcpsid: str
    request: str
    identity: "Address"

    @classmethod
    def decode(cls, text: str) -> "WatchingSession":
        """Read what `encode` wrote. Raises ValueError."""
        members = Members(json.loads(text), "a watching session")
        return cls(
            members.text("connection"),
            members.text("dcpsid"),
            members.text("request"),
            cast("Address", members.text("identity")),
        )

    def encode(self) -> str:
        """As a target's `to`."""
        return json.dumps(
            {
                "connection": self.connection,
                "dcpsid": self.dcpsid,
                "request": self.request,
                "identity": self.identity,
            }
        )
