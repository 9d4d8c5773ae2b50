"""Answers to messages that are not signed: refusals as problem documents (RFC 9457), and failures of API Gateway."""

from typing import Final

import msgspec

from postroom.client.dcp.errors import DcpError, MessageRefusedError, TransportError
from postroom.client.mailbox.answers import check
from postroom.client.mailbox.errors import MailboxError, UnavailableError
from postroom.client.mailbox.exchange import Answer, MailboxResponse

_BAD_GATEWAY: Final = 502


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


def read_unsigned_answer(message: bytes) -> DcpError | None:
    """The error that an unsigned answer is; None: the message is none of these."""
    try:
        answer = msgspec.json.decode(message, type=_UnsignedAnswer)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    is_signed = answer.owner is not msgspec.UNSET or answer.signature is not msgspec.UNSET
    status = answer.status or (_BAD_GATEWAY if answer.message else 0)
    if is_signed or status < 400:
        return None
    try:
        check_answer(MailboxResponse(status, {}, message))
    except DcpError as error:
        return error
    return None
