"""The Python client: sending messages, and reading a mailbox.

https = HttpsClient(lambda host: addresses(host, resolvers.asking()))
sent = Sender(key, "sender.example", "pk1", NLWEB, https).send("receiver.example", "Hello@Host", {"Say": "hi"})
sent.fate, sent.correlation

with Mailbox("https://nlweb.receiver.example", "receiver.example", "receiver.example.pem") as mailbox:
    for message in mailbox.unread():
        print(message.partner, message.json)
        message.acknowledge()
"""

from typing import TYPE_CHECKING

from postroom.client.sending import Sender, SendOutcome, Sent, deliver

if TYPE_CHECKING:
    from postroom.client.mailbox import (
        AsyncMailbox,
        ChangedMeanwhileError,
        ClosedError,
        ContainerTooLargeError,
        Mailbox,
        MailboxError,
        MessageGoneError,
        MessageUnreadableError,
        NotOpenedError,
        NotSentError,
        NotTheOwnerError,
        RefusedError,
        Retries,
        StorageFullError,
        TokenReusedError,
        UnavailableError,
        UnexpectedAnswerError,
        UnreadableMessageWarning,
        UntrustedHostError,
    )

__all__ = [
    "AsyncMailbox",
    "ChangedMeanwhileError",
    "ClosedError",
    "ContainerTooLargeError",
    "Mailbox",
    "MailboxError",
    "MessageGoneError",
    "MessageUnreadableError",
    "NotOpenedError",
    "NotSentError",
    "NotTheOwnerError",
    "RefusedError",
    "Retries",
    "SendOutcome",
    "Sender",
    "Sent",
    "StorageFullError",
    "TokenReusedError",
    "UnavailableError",
    "UnexpectedAnswerError",
    "UnreadableMessageWarning",
    "UntrustedHostError",
    "deliver",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Only a mailbox needs httpx, which is not in the layer of the Lambda functions.
    from postroom.client import mailbox

    return getattr(mailbox, name)
