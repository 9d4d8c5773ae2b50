"""The silent zone that a claim waits for."""

from typing import NamedTuple


class Silence(NamedTuple):
    """A zone of senders that does not answer: the name of the key that is needed, and when the zone is asked again.

    `due`: epoch seconds. `above`: the zone itself, or the topmost one above it that is told apart.
    """

    key_name: str
    zone: str
    due: int
    above: str
