"""DCP's reference implementation (npm), and the ends of connections that it makes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.peers.node import Reference, packages
from tests.protocols.dcp.guarded import NOW

from postroom.crypto.ethereum_keys import EthereumKey

HERE: Final = Path(__file__).parent
PACKAGES: Final = packages("peers-dcp", HERE, "absent/package.json")
PROGRAM: Final = HERE / "peer.js"


@dataclass(frozen=True)
class TheirEnd:
    """One end of a connection. What it begins has a number, by which `outcome` waits for what comes of it."""

    reference: Reference
    number: int

    @classmethod
    def initiator(cls, reference: Reference, key: EthereumKey, url: str) -> "TheirEnd":
        """An initiator. It remembers the address of the target that it meets first at a URL, and accepts no other."""
        reference.call("clock.set", NOW)
        return cls(reference, reference.call("initiator.new", key.secret.hex(), url))

    @classmethod
    def target(cls, reference: Reference, key: EthereumKey) -> "TheirEnd":
        reference.call("clock.set", NOW)
        return cls(reference, reference.call("target.new", key.secret.hex()))

    def begin(self, what: str, *args: Any) -> Any:
        """Call a function of `connection` in peer.js."""
        return self.reference.call(f"connection.{what}", self.number, *args)

    def sent(self) -> bytes:
        """The next message that it sends; waits for it."""
        return str(self.begin("sent")).encode()

    def receive(self, data: bytes) -> None:
        self.begin("receive", data.decode())

    def outcome(self, number: int) -> dict[str, Any]:
        """{"result"} or {"error": {name, message, code, type}}, without what is undefined; waits for it."""
        outcome: dict[str, Any] = self.reference.call("outcome", number)
        return outcome
