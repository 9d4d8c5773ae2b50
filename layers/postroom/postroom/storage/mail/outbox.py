"""Messages that owners send: table `outbox`. A token's row names its message; the message's row has its state.

A message goes queued → delivered, refused or given up, once. The indexes may be a moment late.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from postroom.api.reasons import TOKEN_REUSED
from postroom.api.states import State
from postroom.core.errors import TheirError
from postroom.protocols.nlweb.reasons import CORRELATION_REUSED
from postroom.storage.aws.attributes import (
    ABSENT,
    PK,
    PRESENT,
    SK,
    TTL,
    Item,
    Map,
    Number,
    Text,
    Value,
    item,
    primary_key,
)
from postroom.storage.aws.table import DynamoTable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

BY_TIME: Final = "by-time"
_MOST_SENDERS: Final = 10
BY_CORRELATION: Final = "by-correlation"
"""Only messages are in it: the row of a token has no receiver."""
_CORRELATION, _TIME, _REQUESTED = Text("c"), Number("t"), Text("asked")
"""Attributes of a token's row."""
_PLACE, _STATE, _RECEIVER, _SUBJECT, _TOKEN = Text("at"), Text("st"), Text("to"), Text("subject"), Text("token")
_CARRIER, _ENDED, _FEEDBACK = Text("carrier"), Map("ended"), Map("feedback")
"""Attributes of a message's row."""
_REASON, _DETAIL, _REPLY, _CODE = Text("reason"), Text("detail"), Text("reply"), Text("code")
"""Attributes of a message's end, and of Feedback about it; both have a time, too."""
_MESSAGE: Final = "out#"
_LONGER_SECONDS: Final = 86_400
"""A message is remembered for longer than its token: if the token exists, so does the message."""


@dataclass(frozen=True, slots=True)
class OutgoingIdentity:
    """The identity of a message, the same at every attempt. `at_ms`: its Timestamp, epoch milliseconds."""

    correlation: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class DeliveryEnd:
    """The end of a message. `reason`, `detail`: the receiver's, if it was refused; ours, if it was given up.

    `reply`: JSON that the receiver answered with; empty: none, or too large.
    """

    state: State
    at_ms: int
    reason: str = ""
    detail: str = ""
    reply: str = ""


@dataclass(frozen=True, slots=True)
class Reported:
    """A Feedback by `receiver`, at `at_ms`, about a message of `mailbox`."""

    mailbox: str
    correlation: str
    receiver: str
    code: str
    reason: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class OutboxMessage:
    """A message in the outbox of `mailbox`. `token`: sha256 of its client's. `carrier`: see `Outbox.note_carrier`."""

    mailbox: str
    correlation: str
    at_ms: int
    receiver: str
    subject: str
    token: str
    carrier: str = ""
    end: DeliveryEnd | None = None
    reported: Reported | None = None

    @property
    def state(self) -> State:
        """The state of the message."""
        return self.end.state if self.end else State.QUEUED

    def is_carried_by(self, carrier: str) -> bool:
        """Whether the queue message with this mark is the one that delivers it, and is not finished."""
        return self.end is None and self.carrier in ("", carrier)

    @property
    def place(self) -> str:
        """Its position among the messages of its mailbox, by time."""
        return f"{self.at_ms:013d}#{self.correlation}"


def digest_of_token(token: str) -> str:
    """The digest of a client's token."""
    return sha256(token.encode()).hexdigest()


class Outbox:
    """Table `outbox`. All methods raise NotNowError(STORE_UNAVAILABLE), and may be repeated."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str) -> None:
        self._table = DynamoTable(dynamodb, table)

    def identify(
        self, mailbox: str, token: str, requested: str, fresh: OutgoingIdentity, *, now: int, forget_at: int
    ) -> OutgoingIdentity:
        """The identity of a token's message: `fresh`, unless the token was used before, for the same message.

        `token`: its digest. `requested`: a digest of what the client wants sent; `now`, `forget_at`: epoch seconds.
        Raises TheirError(TOKEN_REUSED) if the token was used for something else.
        """
        standing = self._put(
            primary_key(mailbox, f"token#{token}")
            | item(
                _CORRELATION.of(fresh.correlation), _TIME.of(fresh.at_ms), _REQUESTED.of(requested), TTL.of(forget_at)
            ),
            now,
        )
        if standing is None:
            return fresh
        if _REQUESTED.read(standing) != requested:
            raise TheirError(TOKEN_REUSED)
        return OutgoingIdentity(_CORRELATION.read(standing), _TIME.read(standing))

    def put(self, message: OutboxMessage, *, now: int, forget_at: int) -> OutboxMessage:
        """Store a message unless it exists, and return the stored one. `now`, `forget_at` (of its token): epoch
        seconds.

        Raises TheirError(CORRELATION_REUSED) if another message has its Correlation.
        """
        standing = self._put(
            _key(message.mailbox, message.correlation)
            | item(
                _PLACE.of(message.place),
                _STATE.of(State.QUEUED),
                _RECEIVER.of(message.receiver),
                _SUBJECT.of(message.subject),
                _TOKEN.of(message.token),
                TTL.of(forget_at + _LONGER_SECONDS),
            ),
            now,
        )
        found = message if standing is None else _read(standing)
        if found.token != message.token:
            raise TheirError(CORRELATION_REUSED)
        return found

    def note_carrier(self, message: OutboxMessage, carrier: str) -> None:
        """Record which message of the courier's queue (`carrier`: its mark) delivers this one; the first one stays.

        So a single queue message delivers it, however often its client asks: the others stop when they see that.
        """
        self._table.update(
            _key(message.mailbox, message.correlation),
            f"SET {_CARRIER} = :carrier",
            {":carrier": _CARRIER.encode(carrier)},
            f"{PRESENT} AND attribute_not_exists({_CARRIER})",
        )

    def finish(self, mailbox: str, correlation: str, end: DeliveryEnd) -> None:
        """Record the end of a message; the first end stays."""
        ended = item(_TIME.of(end.at_ms), _REASON.of(end.reason), _DETAIL.of(end.detail), _REPLY.of(end.reply))
        self._table.update(
            _key(mailbox, correlation),
            f"SET {_STATE} = :state, {_ENDED} = :ended",
            {
                ":state": _STATE.encode(end.state),
                ":ended": _ENDED.encode(ended),
                ":queued": _STATE.encode(State.QUEUED),
            },
            f"{_STATE} = :queued",
        )

    def report(self, reported: Reported) -> None:
        """Record a Feedback with the message that it is about.

        It is ignored unless it comes from the message's receiver: otherwise a stranger who knows a Correlation could
        say that the message was discarded.
        """
        feedback = item(_TIME.of(reported.at_ms), _CODE.of(reported.code), _REASON.of(reported.reason))
        self._table.update(
            _key(reported.mailbox, reported.correlation),
            f"SET {_FEEDBACK} = :feedback",
            {":feedback": _FEEDBACK.encode(feedback), ":receiver": _RECEIVER.encode(reported.receiver)},
            f"{_RECEIVER} = :receiver",
        )

    def find(self, mailbox: str, correlation: str) -> OutboxMessage | None:
        """A message, read consistently."""
        row = self._table.get(_key(mailbox, correlation))
        return _read(row) if row else None

    def newest(self, mailbox: str, before: str, limit: int) -> tuple[Sequence[OutboxMessage], bool]:
        """Messages from the newest back, after the `place` of one (empty: from the newest), and whether there may be
        more."""
        query = self._table.to_query(
            f"{PK} = :pk AND {_PLACE} < :before",
            {":pk": PK.encode(mailbox), ":before": _PLACE.encode(before or "~")},
            limit,
            consistent=False,  # an index cannot be read otherwise
        )
        query["IndexName"] = BY_TIME
        query["ScanIndexForward"] = False
        page = self._table.page(query)
        return [_read(row) for row in page["Items"]], "LastEvaluatedKey" in page

    def mailbox_of(self, correlation: str, receiver: str) -> str | None:
        """The mailbox that sent `receiver` a message with this Correlation; None: no mailbox, or more than one."""
        query = self._table.to_query(
            f"{SK} = :message AND {_RECEIVER} = :receiver",
            {":message": SK.encode(_MESSAGE + correlation), ":receiver": _RECEIVER.encode(receiver)},
            2,
            consistent=False,  # an index cannot be read otherwise
        )
        query["IndexName"] = BY_CORRELATION
        found = self._table.page(query)["Items"]
        return PK.read(found[0]) if len(found) == 1 else None

    def mailboxes_of(self, correlation: str) -> list[str]:
        """The mailboxes that sent a message with this Correlation: one, unless two owners chose the same."""
        query = self._table.to_query(
            f"{SK} = :message", {":message": SK.encode(_MESSAGE + correlation)}, _MOST_SENDERS, consistent=False
        )
        query["IndexName"] = BY_CORRELATION
        return sorted({PK.read(row) for row in self._table.page(query)["Items"]})

    def _put(self, row: Item, now: int) -> Item | None:
        """Put a row unless there is one that has not expired. None: done, otherwise the existing row."""
        return self._table.put(row, f"{ABSENT} OR {TTL} < :now", {":now": TTL.encode(now)})


def _key(mailbox: str, correlation: str) -> dict[str, Value]:
    return primary_key(mailbox, _MESSAGE + correlation)


def _read(row: Item) -> OutboxMessage:
    mailbox, correlation = PK.read(row), SK.read(row).removeprefix(_MESSAGE)
    receiver, ended, feedback = _RECEIVER.read(row), _ENDED.find(row), _FEEDBACK.find(row)
    end = reported = None
    if ended is not None:
        end = DeliveryEnd(
            State(_STATE.read(row)), _TIME.read(ended), _REASON.read(ended), _DETAIL.read(ended), _REPLY.read(ended)
        )
    if feedback is not None:
        reported = Reported(
            mailbox, correlation, receiver, _CODE.read(feedback), _REASON.read(feedback), _TIME.read(feedback)
        )
    return OutboxMessage(
        mailbox, correlation, int(_PLACE.read(row)[:13]), receiver, _SUBJECT.read(row), _TOKEN.read(row),
        _CARRIER.find(row) or "", end, reported,
    )  # fmt: skip
