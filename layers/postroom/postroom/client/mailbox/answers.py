"""The meaning of an answer: a result, or an error that says what to do."""

import re
from typing import Final, TypeVar

import msgspec

from postroom.api.reasons import (
    CHALLENGE_INVALID,
    CHANGED_MEANWHILE,
    MESSAGE_UNKNOWN,
    MESSAGE_UNREADABLE,
    NOT_A_SENDER,
    NOT_SENT,
    NOT_THE_OWNER,
    STORAGE_FULL,
    TOKEN_REUSED,
)
from postroom.api.schemas import Problem
from postroom.client.mailbox.errors import (
    ChangedMeanwhileError,
    MailboxError,
    MessageGoneError,
    MessageUnreadableError,
    NotSentError,
    NotTheOwnerError,
    RefusedError,
    StorageFullError,
    TokenReusedError,
    UnavailableError,
    UnexpectedAnswerError,
    UntrustedHostError,
)
from postroom.client.mailbox.exchange import Answer, MailboxResponse, NoAnswer

T = TypeVar("T")

MOST_RETRY_AFTER_SECONDS: Final = 60.0
"""The longest pause that the host can ask for: its mistake must not make a program sleep for a day."""

_PART: Final = re.compile(r"bytes ([0-9]{1,18})-[0-9]{1,18}/([0-9]{1,18})", re.ASCII)
_PASSING: Final = frozenset({408, 425, 429})
"""4xx statuses that say nothing about the request (RFC 9110 §15.5.9, RFC 8470 §5.2, RFC 6585 §4)."""
_REFUSALS: Final[dict[str, tuple[type[RefusedError], str]]] = {
    str(NOT_THE_OWNER): (
        NotTheOwnerError,
        "Sign in with a key of the mailbox: one that `postroom mailbox set` named, or that of the name's dm3 profile.",
    ),
    str(MESSAGE_UNKNOWN): (
        MessageGoneError, "It was acknowledged, perhaps by another device, or it expired.",
    ),
    str(MESSAGE_UNREADABLE): (MessageUnreadableError, "Ask its operators, or try again in some days."),
    str(CHANGED_MEANWHILE): (
        ChangedMeanwhileError, "The change may be an earlier one of your own, whose answer was lost.",
    ),
    str(STORAGE_FULL): (StorageFullError, "Delete containers, or ask the operator for more room."),
    str(TOKEN_REUSED): (TokenReusedError, "Each message needs a token of its own."),
    str(NOT_SENT): (NotSentError, ""),
    str(NOT_A_SENDER): (
        RefusedError, "Its operator can allow it: `postroom domain add NAME --key FILE --selector NAME`.",
    ),
    str(CHALLENGE_INVALID): (RefusedError, "Try again; a challenge is valid for two minutes."),
}  # fmt: skip


def check(answer: Answer) -> MailboxResponse:
    """The answer, if it is a success. Raises MailboxError: one of those in `errors`."""
    if isinstance(answer, NoAnswer):
        raise UntrustedHostError(answer.detail) if answer.untrusted else UnavailableError(answer.detail)
    if 200 <= answer.status < 300:
        return answer
    raise _error(answer)


def decode(shape: type[T], response: MailboxResponse) -> T:
    """The body as a shape. Raises UnexpectedAnswerError."""
    try:
        return msgspec.json.decode(response.body, type=shape)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise UnexpectedAnswerError(f"The host's answer is not that of a mailbox: {error}") from None


def check_part(answer: MailboxResponse, first: int) -> int:
    """The length of the whole body of which this is a part, from `first` on. Raises UnexpectedAnswerError."""
    if answer.status == 200 and not first:
        return len(answer.body)
    found = _PART.fullmatch(answer.headers.get("content-range", ""))
    if answer.status != 206 or not found or int(found[1]) != first or not answer.body:
        raise UnexpectedAnswerError("The host returned another part than the requested one.")
    return int(found[2])


def retry_after(response: MailboxResponse) -> float:
    """The seconds of Retry-After (RFC 9110 §10.2.3); a date is ignored."""
    text = response.headers.get("retry-after", "")
    return min(float(text), MOST_RETRY_AFTER_SECONDS) if text.isascii() and text.isdigit() else 0.0


def _error(response: MailboxResponse) -> MailboxError:
    status = response.status
    try:
        problem = msgspec.json.decode(response.body, type=Problem)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        problem = Problem("", status, "", "")
    if (status >= 500 or status in _PASSING) and problem.reason not in _REFUSALS:
        detail = problem.detail or f"The host answers with HTTP {status}."
        return UnavailableError(detail, reason=problem.reason, retry_after=retry_after(response))
    if status < 400 or not problem.reason:
        return UnexpectedAnswerError(f"The host answers with HTTP {status}, which no mailbox does. Check its address.")
    kind, advice = _REFUSALS.get(problem.reason, (RefusedError, ""))
    return kind(f"{problem.detail} {advice}".strip(), reason=problem.reason)
