"""The client of a mailbox, for its owner's programs: reading and acknowledging mail, settings, sending.

with Mailbox("https://nlweb.receiver.example", "receiver.example", "receiver.example.pem") as mailbox:
    for message in mailbox.unread():
        print(message.partner, message.json)
        message.acknowledge()

The rules are in `session`, `core` and `passes`, which send no requests; `sync` and `aio` send them, with httpx.
"""

try:
    import httpx  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "the mailbox client needs httpx, which is not in the Lambda layer: pip install httpx"
    ) from error

from postroom.client.mailbox.aio import AsyncMailbox, AsyncMailboxMessage
from postroom.client.mailbox.containers import FetchedContainer
from postroom.client.mailbox.core import OwnerSettings
from postroom.client.mailbox.errors import (
    ChangedMeanwhileError,
    ClosedError,
    ContainerTooLargeError,
    MailboxError,
    MessageGoneError,
    MessageUnreadableError,
    NotOpenedError,
    NotSentError,
    NotTheOwnerError,
    RefusedError,
    StorageFullError,
    TokenReusedError,
    UnavailableError,
    UnexpectedAnswerError,
    UnreadableMessageWarning,
    UntrustedHostError,
)
from postroom.client.mailbox.session import Retries
from postroom.client.mailbox.sync import Mailbox, MailboxMessage

__all__ = [
    "AsyncMailbox",
    "AsyncMailboxMessage",
    "ChangedMeanwhileError",
    "ClosedError",
    "ContainerTooLargeError",
    "FetchedContainer",
    "Mailbox",
    "MailboxError",
    "MailboxMessage",
    "MessageGoneError",
    "MessageUnreadableError",
    "NotOpenedError",
    "NotSentError",
    "NotTheOwnerError",
    "OwnerSettings",
    "RefusedError",
    "Retries",
    "StorageFullError",
    "TokenReusedError",
    "UnavailableError",
    "UnexpectedAnswerError",
    "UnreadableMessageWarning",
    "UntrustedHostError",
]
