"""Unsigned answers of a target: problem documents (RFC 9457), and failures of API Gateway."""

import msgspec

from postroom.client.dcp.errors import MessageRefusedError, TransportError
from postroom.client.mailbox.answers import check
from postroom.client.mailbox.errors import MailboxError, UnavailableError
from postroom.client.mailbox.exchange import Answer, MailboxResponse

_BAD_REQUEST, _BAD_GATEWAY = 400, 502


class _UnsignedAnswer(msgspec.Struct):
    """The members by which such an answer is told from a signed message. `message`: of a failure of API Gateway."""

    owner: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    signature: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    status: int = 0
    message: str = ""


def check_answer(answer: Answer) -> bytes:
    """The message that is the answer to one. Raises TransportError, MessageRefusedError."""
    try:
        return check(answer).body
    except UnavailableError as error:
        raise TransportError(str(error), repeats=True, retry_after=error.retry_after) from None
    except MailboxError as error:
        raise MessageRefusedError(error.detail, reason=error.reason) from None


def check_signed(message: bytes) -> None:
    """Check that a message is none of these. Raises TransportError, MessageRefusedError."""
    try:
        answer = msgspec.json.decode(message, type=_UnsignedAnswer)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return
    is_signed = answer.owner is not msgspec.UNSET or answer.signature is not msgspec.UNSET
    status = answer.status or (_BAD_GATEWAY if answer.message else 0)
    if not is_signed and status >= _BAD_REQUEST:
        check_answer(MailboxResponse(status, {}, message))
