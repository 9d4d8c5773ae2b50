"""The target's clock, as an initiator knows it (DCP: Connection.validityTime)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PeerClock:
    """The time of the last response, and when it was received, by a clock that only goes on. Both in seconds."""

    time: float
    received: float

    def at(self, monotonic: float) -> int:
        """The target's time now, in whole seconds since the epoch; truncated, as all of DCP's whole seconds."""
        return int(self.time + (monotonic - self.received))


def validity_time(peer: PeerClock | None, monotonic: float, wall: float) -> int:
    """The time for the validity of a request: the target's, or ours (`wall`) if there was no response yet."""
    return int(wall) if peer is None else peer.at(monotonic)
