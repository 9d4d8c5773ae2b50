"""The errors of a DCP connection, and what is known about a request that ends with one."""

from postroom.core.errors import PostroomError
from postroom.crypto.ethereum import Address
from postroom.protocols.dcp.error_payload import ErrorPayload


class DcpError(PostroomError):
    """The base class."""


class RequestFailedError(DcpError):
    """The peer answered a request with an error: it says that it did not do what was requested.

    `error`: as the peer sent it.
    """

    def __init__(self, error: ErrorPayload) -> None:
        super().__init__(f"{error.code}: {error.message}" if error.code else error.message or error.name)
        self.error = error

    @property
    def code(self) -> str | None:
        """The code of the error, such as EDUP or NotTheOwner."""
        return self.error.code

    @property
    def origin(self) -> Address | str | None:
        """The address of the identity that the error happened at."""
        return self.error.origin


class OutcomeUnknownError(DcpError):
    """A request was sent, and its session ended without a credible answer: it may have taken effect, or not.

    Find out before it is sent again. A request that somebody authorized counts once, so that it may be sent again.
    """


class RequestNotSentError(DcpError):
    """The session ended before a request was sent: it had no effect, and may be sent again."""


class NotConnectedError(DcpError):
    """There is no session with the target. `code`: such as EVERSION or EADDRCHANGE; None: it cannot be reached.

    `detail`: the sentence without the code, and without a hint for programs.
    """

    def __init__(self, detail: str, *, code: str | None = None, hint: str = "") -> None:
        super().__init__(f"{code}: {detail}{f'; {hint}' if hint else ''}" if code else detail)
        self.detail = detail
        self.code = code


class ConnectionClosedError(DcpError):
    """The connection was closed before. Make another one."""


class MessageRefusedError(DcpError):
    """The target's host refused a message as a whole, which was sent to it once: it did nothing of it.

    `reason`: the code that it gave, if any.
    """

    def __init__(self, detail: str, *, reason: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if reason else detail)
        self.reason = reason


class TransportError(DcpError):
    """A message may not have arrived, or no more messages arrive.

    `repeats`: the same message may be sent once more by this transport, after `retry_after` seconds or later.
    """

    def __init__(self, detail: str, *, repeats: bool = False, retry_after: float = 0.0) -> None:
        super().__init__(detail)
        self.repeats = repeats
        self.retry_after = retry_after
