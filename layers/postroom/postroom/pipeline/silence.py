"""The silent zone that a claim waits for."""

from typing import NamedTuple

from postroom.core.errors import NotNowError
from postroom.core.reason import Reason


class Silence(NamedTuple):
    """A zone of senders that does not answer: the name of the key that is needed, and when the zone is asked again.

    `due`: epoch seconds. `above`: the zone itself, or the topmost one above it that is told apart.
    """

    key_name: str
    zone: str
    due: int
    above: str


class ZoneSilentError(NotNowError):
    """The zone of a sender whose domain was never proven does not answer."""

    def __init__(self, reason: Reason, detail: str, silence: Silence) -> None:
        super().__init__(reason, detail)
        self.silence = silence

    def __reduce__(self) -> tuple[type["ZoneSilentError"], tuple[Reason, str, Silence]]:  # type: ignore[override]
        return type(self), (self.reason, self.detail, self.silence)
