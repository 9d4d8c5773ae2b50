"""Messages that owners send: table `outbox`. A token's row fixes its message; the message's row has its state.

A message goes queued → delivered, refused or given up, once. The index by time is read a moment late, as any is.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from postroom.api.states import State
from postroom.core.errors import TheirError
from postroom.net.aws import RefusedError, conditional, passing_faults
from postroom.reasons import Reason

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef, QueryInputTypeDef, UpdateItemInputTypeDef

BY_TIME: Final = "by-time"
_LONGER_SECONDS: Final = 86_400
"""A message is remembered for longer than its token: whoever finds the token finds the message."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What every try of a message repeats. `at_ms`: its Timestamp, epoch milliseconds."""

    correlation: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class End:
    """What became of a message. `reason`, `detail`: the receiver's, of a refusal; ours, where we gave up.

    `reply`: JSON that the receiver answered with; empty: none, or too large.
    """

    state: State
    at_ms: int
    reason: str = ""
    detail: str = ""
    reply: str = ""


@dataclass(frozen=True, slots=True)
class Reported:
    """A Feedback: what `receiver` said, at `at_ms`, of a message of `mailbox`."""

    mailbox: str
    correlation: str
    receiver: str
    code: str
    reason: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class Message:
    """A message in the outbox of `mailbox`. `token`: sha256 of its client's. `carrier`: see `Outbox.told`."""

    mailbox: str
    correlation: str
    at_ms: int
    receiver: str
    subject: str
    token: str
    carrier: str = ""
    end: End | None = None
    reported: Reported | None = None

    @property
    def state(self) -> State:
        """What became of it."""
        return self.end.state if self.end else State.QUEUED

    def is_carried_by(self, carrier: str) -> bool:
        """Whether the queue message of this mark still has to bring it to its end."""
        return self.end is None and self.carrier in ("", carrier)

    @property
    def place(self) -> str:
        """Where it stands among the messages of its mailbox, by time."""
        return f"{self.at_ms:013d}#{self.correlation}"


def digest_of_token(token: str) -> str:
    """What stands for a client's token."""
    return sha256(token.encode()).hexdigest()


class Outbox:
    """Table `outbox`. All of it raises NotNowError(STORE_UNAVAILABLE), and may be repeated."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str) -> None:
        self._dynamodb = dynamodb
        self._table = table

    def identify(self, mailbox: str, token: str, asked: str, fresh: Identity, *, now: int, forget_at: int) -> Identity:
        """Who the message of a token is: `fresh`, unless the token was used before, for the same.

        `token`: its digest. `asked`: a digest of what the client wants sent; `now`, `forget_at`: epoch seconds. Raises
        TheirError(TOKEN_REUSED) where the token was used for something else.
        """
        item: Mapping[str, AttributeValueTypeDef] = {
            **_key(mailbox, f"token#{token}"),
            "c": {"S": fresh.correlation},
            "t": {"N": str(fresh.at_ms)},
            "asked": {"S": asked},
            "ttl": {"N": str(forget_at)},
        }
        standing = self._put(item, now)
        if standing is None:
            return fresh
        if standing["asked"]["S"] != asked:
            raise TheirError(Reason.TOKEN_REUSED)
        return Identity(standing["c"]["S"], int(standing["t"]["N"]))

    def put(self, message: Message, *, now: int, forget_at: int) -> Message:
        """The message, as it stands there now. `now`, `forget_at` (of its token): epoch seconds.

        Raises TheirError(CORRELATION_REUSED) where another stands there under its Correlation.
        """
        standing = self._put(
            {
                **_key(message.mailbox, _sk(message.correlation)),
                "at": {"S": message.place},
                "st": {"S": State.QUEUED},
                "to": {"S": message.receiver},
                "subject": {"S": message.subject},
                "token": {"S": message.token},
                "ttl": {"N": str(forget_at + _LONGER_SECONDS)},
            },
            now,
        )
        found = message if standing is None else _read(standing)
        if found.token != message.token:
            raise TheirError(Reason.CORRELATION_REUSED)
        return found

    def told(self, message: Message, carrier: str) -> None:
        """Note by which message of the courier's queue (`carrier`: its mark) it is carried; who was first, stays.

        So it is carried by one, however often its client asks: the others stop when they see that.
        """
        self._update(
            message.mailbox, message.correlation, "SET carrier = :carrier",
            {":carrier": {"S": carrier}}, "attribute_exists(pk) AND attribute_not_exists(carrier)",
        )  # fmt: skip

    def finish(self, mailbox: str, correlation: str, end: End) -> None:
        """Note what became of a message; once something did, it stays."""
        said = {"reason": end.reason, "detail": end.detail, "reply": end.reply}
        self._update(
            mailbox, correlation, "SET st = :state, ended = :ended",
            {
                ":state": {"S": end.state},
                ":ended": {"M": {"t": {"N": str(end.at_ms)}, **{name: {"S": text} for name, text in said.items()}}},
                ":queued": {"S": State.QUEUED},
            },
            "st = :queued",
        )  # fmt: skip

    def report(self, reported: Reported) -> None:
        """Note a Feedback with the message that it is about. What anybody but its receiver says of it is passed over:
        else a stranger who knows a Correlation could say that the message was discarded."""
        feedback: AttributeValueTypeDef = {
            "M": {
                "t": {"N": str(reported.at_ms)},
                "code": {"S": reported.code},
                "reason": {"S": reported.reason},
            }
        }
        self._update(
            reported.mailbox, reported.correlation, "SET feedback = :feedback",
            {":feedback": feedback, ":receiver": {"S": reported.receiver}}, "#to = :receiver", {"#to": "to"},
        )  # fmt: skip

    def find(self, mailbox: str, correlation: str) -> Message | None:
        """A message, read consistently."""
        with passing_faults():
            item = self._dynamodb.get_item(
                TableName=self._table, Key=_key(mailbox, _sk(correlation)), ConsistentRead=True
            ).get("Item")
        return _read(item) if item else None

    def newest(self, mailbox: str, before: str, limit: int) -> tuple[Sequence[Message], bool]:
        """Messages from the newest back, after the `place` of one (empty: from the first), and whether there may be
        more."""
        query: QueryInputTypeDef = {
            "TableName": self._table,
            "IndexName": BY_TIME,
            "KeyConditionExpression": "pk = :pk AND #at < :before",
            "ExpressionAttributeNames": {"#at": "at"},
            "ExpressionAttributeValues": {":pk": {"S": mailbox}, ":before": {"S": before or "~"}},
            "ScanIndexForward": False,
            "Limit": limit,
        }
        with passing_faults():
            page = self._dynamodb.query(**query)
        return [_read(item) for item in page["Items"]], "LastEvaluatedKey" in page

    def _put(
        self, item: "Mapping[str, AttributeValueTypeDef]", now: int
    ) -> "Mapping[str, AttributeValueTypeDef] | None":
        """Put a row where there is none whose time is not over; None: done, else the row that stands there."""
        try:
            with conditional():
                self._dynamodb.put_item(
                    TableName=self._table,
                    Item=item,
                    ConditionExpression="attribute_not_exists(pk) OR #ttl < :now",
                    ExpressionAttributeNames={"#ttl": "ttl"},
                    ExpressionAttributeValues={":now": {"N": str(now)}},
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
        except RefusedError as refused:
            return refused.item
        return None

    def _update(
        self,
        mailbox: str,
        correlation: str,
        change: str,
        values: "Mapping[str, AttributeValueTypeDef]",
        condition: str,
        names: Mapping[str, str] | None = None,
    ) -> None:
        """Change a message if `condition` holds."""
        update: UpdateItemInputTypeDef = {
            "TableName": self._table,
            "Key": _key(mailbox, _sk(correlation)),
            "UpdateExpression": change,
            "ConditionExpression": condition,
            "ExpressionAttributeValues": values,
        }
        if names:
            update["ExpressionAttributeNames"] = names
        with suppress(RefusedError), conditional():
            self._dynamodb.update_item(**update)


def _sk(correlation: str) -> str:
    return f"out#{correlation}"


def _key(mailbox: str, sk: str) -> "dict[str, AttributeValueTypeDef]":
    return {"pk": {"S": mailbox}, "sk": {"S": sk}}


def _read(item: "Mapping[str, AttributeValueTypeDef]") -> Message:
    mailbox, correlation, receiver = item["pk"]["S"], item["sk"]["S"].removeprefix("out#"), item["to"]["S"]
    end = reported = None
    if "ended" in item:
        said = item["ended"]["M"]
        end = End(
            State(item["st"]["S"]), int(said["t"]["N"]), said["reason"]["S"], said["detail"]["S"], said["reply"]["S"]
        )
    if "feedback" in item:
        said = item["feedback"]["M"]
        reported = Reported(mailbox, correlation, receiver, said["code"]["S"], said["reason"]["S"], int(said["t"]["N"]))
    return Message(
        mailbox, correlation, int(item["at"]["S"][:13]), receiver, item["subject"]["S"], item["token"]["S"],
        item.get("carrier", {}).get("S", ""), end, reported,
    )  # fmt: skip
