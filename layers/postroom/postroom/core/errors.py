"""The errors raised on purpose, by whose fault they are.

    PostroomError                 base class; `status_hint` is the HTTP status if nothing better is known
     ├─ TheirError                the fault of the message, or of its sender's configuration: a refusal or a discard
     ├─ NotNowError               not known yet: try again later; never turned into a discard
     │   └─ TooSlowError          it took more time than there was
     └─ OurError                  our fault
         └─ SettingsError         a setting is missing or wrong: the start is refused

`TheirError` and `NotNowError` have a `Reason` and a detail that may be shown to anybody.
"""

from typing import Final

from postroom.core.reason import Kind, Reason
from postroom.core.shown_text import shown

MAX_ERROR_CHARACTERS: Final = 2000
"""Of what an error says."""


class PostroomError(Exception):
    """The base class of every error that is raised on purpose here.

    What it says may repeat what a stranger wrote, and is shown by whatever prints or logs it, and by Python itself if
    nobody handles it: so nothing in it controls a terminal, and it is not too long. `args` has the whole text.
    """

    status_hint: int = 500

    def __str__(self) -> str:
        return shown(super().__str__(), MAX_ERROR_CHARACTERS)


class _ReasonedError(PostroomError):
    def __init__(self, reason: Reason, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail or reason.sentence}")
        self.reason = reason
        self.detail = detail
        self.status_hint = reason.status

    def __reduce__(self) -> tuple[type["_ReasonedError"], tuple[Reason, str]]:
        return type(self), (self.reason, self.detail)


class TheirError(_ReasonedError):
    """The message or its sender's configuration is at fault; `reason.kind` is refusal or discard."""

    def __init__(self, reason: Reason, detail: str = "") -> None:
        if reason.kind is Kind.RETRY:
            raise ValueError(f"{reason} is nobody's fault")
        super().__init__(reason, detail)


class NotNowError(_ReasonedError):
    """It could not be found out or done now; `reason.kind` is retry."""

    def __init__(self, reason: Reason, detail: str = "") -> None:
        if reason.kind is not Kind.RETRY:
            raise ValueError(f"{reason} is final")
        super().__init__(reason, detail)


class TooSlowError(NotNowError):
    """It took more time than there was."""


class OurError(PostroomError):
    """The fault is ours."""


class SettingsError(OurError):
    """A setting is missing or wrong; the sentence names it."""


def detail_with_causes(error: TheirError | NotNowError) -> str:
    """The detail of an error, and those of its causes that have one, each once."""
    details: dict[str, None] = {}
    cause: BaseException | None = error
    while isinstance(cause, TheirError | NotNowError):
        details[cause.detail] = None
        cause = cause.__cause__
    return ": ".join(filter(None, details))
