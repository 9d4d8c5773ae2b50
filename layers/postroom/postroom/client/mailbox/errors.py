"""The errors of a mailbox, and what to do about them. What was not acknowledged is still there."""

from postroom.core.errors import PostroomError


class MailboxError(PostroomError):
    """The root. `reason`: the code that the mailbox gave (docs/reference/reasons.md), empty where it gave none."""

    def __init__(self, detail: str, *, reason: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if reason else detail)
        self.detail = detail
        self.reason = reason


class UnavailableError(MailboxError):
    """It could not be done now, though it was tried some times. Ask again later, with the same iterator if it was one.

    `retry_after`: not before so many seconds, as the mailbox wished; 0: it did not say.
    """

    def __init__(self, detail: str, *, reason: str = "", retry_after: float = 0.0) -> None:
        super().__init__(detail, reason=reason)
        self.retry_after = retry_after


class RefusedError(MailboxError):
    """The mailbox says no, and will say so again."""


class NotTheOwnerError(RefusedError):
    """The key is none of this mailbox's. Sign in with another, or have the operator set this one."""


class MessageGoneError(RefusedError):
    """The message does not wait any more: it was acknowledged, perhaps by another device, or its time is over."""


class MessageUnreadableError(RefusedError):
    """The message waits, and cannot be read until the post office has mended it: its operators were told."""


class ChangedMeanwhileError(RefusedError):
    """The settings, or a container, are not what they were. Read them again, and change those."""


class StorageFullError(RefusedError):
    """The mailbox's host keeps no more for its owner. Delete containers, or have the operator allow more."""


class ContainerTooLargeError(MailboxError):
    """What is kept under a key has more bytes than it was asked for with."""

    def __init__(self, size: int, most_bytes: int) -> None:
        super().__init__(f"The container has {size} bytes, over {most_bytes}.")
        self.size = size


class TokenReusedError(RefusedError):
    """Another message was sent under this token. The one that was to be sent now was not."""


class NotSentError(RefusedError):
    """No message was sent under this Correlation, or it is forgotten by now."""


class UntrustedHostError(MailboxError):
    """Who answers is not who was asked, or wants a signature for another: nothing was signed."""


class UnexpectedAnswerError(MailboxError):
    """What answers is no postroom mailbox, or one of another version. Is the address right?"""


class UnreadableMessageWarning(UserWarning):
    """A message waits in the mailbox, and its post office cannot read it: its operators were told. It is not lost from
    the list: whoever asks for it later is shown it when it is mended. Nothing else is held up."""
