"""The silent zone or domain that a claim waits for."""

from typing import NamedTuple

from postroom.core.errors import NotNowError
from postroom.core.reason import Reason


class Silence(NamedTuple):
    """A zone of senders that does not answer: the name of the key that is needed, and when the zone is asked again.

    `due`: epoch seconds. `above`: the zone itself, or the topmost one above it that is told apart. `is_proven`: `zone`
    is a domain that proved a key, whose claims are tried again each by itself.
    """

    key_name: str
    zone: str
    due: int
    above: str
    is_proven: bool = False


class ZoneSilentError(NotNowError):
    """The key of a sender is not found out now, because its zone does not answer, or its look-ups take long."""

    def __init__(self, reason: Reason, detail: str, silence: Silence) -> None:
        super().__init__(reason, detail)
        self.silence = silence

    def __reduce__(self) -> tuple[type["ZoneSilentError"], tuple[Reason, str, Silence]]:  # type: ignore[override]
        return type(self), (self.reason, self.detail, self.silence)
