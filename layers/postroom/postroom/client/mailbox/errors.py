"""The errors of a mailbox, and what to do about them. Messages that were not acknowledged are still in the mailbox."""

from postroom.core.errors import PostroomError


class MailboxError(PostroomError):
    """The base class. `reason`: the code that the mailbox gave (docs/reference/reasons.md), empty if it gave none."""

    def __init__(self, detail: str, *, reason: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if reason else detail)
        self.detail = detail
        self.reason = reason


class UnavailableError(MailboxError):
    """The request failed for now, after all retries. Try again later; continue with the same iterator if there is one.

    `retry_after`: the seconds to wait that the mailbox asked for; 0: it did not say.
    """

    def __init__(self, detail: str, *, reason: str = "", retry_after: float = 0.0) -> None:
        super().__init__(detail, reason=reason)
        self.retry_after = retry_after


class RefusedError(MailboxError):
    """The mailbox refused the request, and would refuse it again."""


class NotTheOwnerError(RefusedError):
    """The key is not one of this mailbox. Sign in with another key, or ask the operator to add this one."""


class MessageGoneError(RefusedError):
    """The message is not in the mailbox any more: it was acknowledged, perhaps by another device, or it expired."""


class MessageUnreadableError(RefusedError):
    """The message cannot be read until the operators of the post office have repaired it; they were told."""


class ChangedMeanwhileError(RefusedError):
    """The settings, or a container, were changed by somebody else. Read them again, and change those."""


class StorageFullError(RefusedError):
    """The mailbox's host stores no more for its owner. Delete containers, or ask the operator to allow more."""


class ContainerTooLargeError(MailboxError):
    """The container has more bytes than `most_bytes`."""

    def __init__(self, size: int, most_bytes: int) -> None:
        super().__init__(f"The container has {size} bytes, over {most_bytes}.")
        self.size = size


class TokenReusedError(RefusedError):
    """Another message was sent with this token. The new message was not sent."""


class NotSentError(RefusedError):
    """No message was sent with this Correlation, or it has been forgotten."""


class NotOpenedError(MailboxError):
    """The message cannot be opened: it is no dm3 message, is encrypted for another key, or has invalid content."""


class UntrustedHostError(MailboxError):
    """The host is not the expected one, or asks for a signature for another host: nothing was signed."""


class ClosedError(MailboxError):
    """The client was closed before. Make another one."""


class UnexpectedAnswerError(MailboxError):
    """The host is not a postroom mailbox, or has another version. Check the address."""


class UnreadableMessageWarning(UserWarning):
    """The post office cannot read a message of the mailbox; its operators were told.

    The message is not lost: listings show it once it is repaired. Other messages are not affected.
    """
