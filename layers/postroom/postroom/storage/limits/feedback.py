"""Hourly limits of Feedback for each domain and buffer, and the number withheld."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from postroom.net.aws import RefusedError, conditional, passing_faults

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef, UpdateItemInputTypeDef

HOUR_SECONDS: Final = 3600
_KEPT_SECONDS: Final = 3 * 24 * HOUR_SECONDS
_WITHHELD: Final = "w#"
_BUFFER: Final = "buffer:"
"""Before the name of a buffer, where a sender's stands: no host name has a colon."""


@dataclass(frozen=True, slots=True)
class SummaryIdentity:
    """What every try of one summary repeats. `receiver`: our domain, in whose name it is sent."""

    receiver: str
    buffer: str
    correlation: str
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class Summary:
    """What was withheld from one domain in one hour: machine code → how many. `sent`: nothing is left to do."""

    codes: Mapping[str, int]
    identity: SummaryIdentity
    sent: bool


class FeedbackLimits:
    """Table `limits`. An hour is counted from the epoch: `now // 3600`."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str) -> None:
        self._dynamodb = dynamodb
        self._table = table

    def take(self, sender: str, hour: int, limit: int) -> bool:
        """Count one Feedback about messages of `sender`; False: the hour's limit is reached, nothing was counted."""
        if limit < 1:
            return False
        try:
            self._update(
                sender, hour, "ADD n :one SET #ttl = :ttl",
                {":one": {"N": "1"}, ":limit": {"N": str(limit)}, ":ttl": _ttl(hour)},
                condition="attribute_not_exists(n) OR n < :limit", names={"#ttl": "ttl"},
            )  # fmt: skip
        except RefusedError:
            return False
        return True

    def take_room(self, buffer: str, hour: int, limit: int) -> bool:
        """Count one Feedback to `buffer`, whosever it is about; False: the hour's limit is reached."""
        return self.take(_BUFFER + buffer, hour, limit)

    def withhold(self, sender: str, hour: int, code: str) -> bool:
        """Count one withheld Feedback; True: no summary of this hour has been asked for yet."""
        item = self._update(
            sender, hour, "ADD #w :one SET #ttl = :ttl", {":one": {"N": "1"}, ":ttl": _ttl(hour)},
            names={"#ttl": "ttl", "#w": _WITHHELD + code},
        )  # fmt: skip
        return "asked" not in item

    def asked(self, sender: str, hour: int) -> None:
        """Note that a summary of the hour was asked for."""
        self._update(sender, hour, "SET asked = :yes", {":yes": {"BOOL": True}})

    def summary(self, sender: str, hour: int, identity: SummaryIdentity) -> Summary:
        """The summary of a past hour. The first call fixes its content and identity; later ones repeat them."""
        item = self._find(sender, hour)
        if "told" not in item:
            codes = {name.removeprefix(_WITHHELD): item[name] for name in item if name.startswith(_WITHHELD)}
            fresh: AttributeValueTypeDef = {
                "M": {
                    "r": {"S": identity.receiver},
                    "b": {"S": identity.buffer},
                    "c": {"S": identity.correlation},
                    "t": {"N": str(identity.timestamp_ms)},
                    "codes": {"M": codes},
                }
            }
            try:
                item = self._update(
                    sender, hour, "SET told = :told", {":told": fresh}, condition="attribute_not_exists(told)"
                )
            except RefusedError:
                item = self._find(sender, hour)
        told = item["told"]["M"]
        codes_told = {code: int(value["N"]) for code, value in told["codes"]["M"].items()}
        fixed = SummaryIdentity(told["r"]["S"], told["b"]["S"], told["c"]["S"], int(told["t"]["N"]))
        return Summary(codes_told, fixed, "sent" in item)

    def sent(self, sender: str, hour: int, outcome: str) -> None:
        """Note that the summary of the hour needs nothing more."""
        self._update(sender, hour, "SET sent = :outcome", {":outcome": {"S": outcome}})

    def _find(self, sender: str, hour: int) -> "dict[str, AttributeValueTypeDef]":
        with passing_faults():
            return self._dynamodb.get_item(
                TableName=self._table, Key={"pk": {"S": _pk(sender, hour)}}, ConsistentRead=True
            ).get("Item", {})

    def _update(
        self,
        sender: str,
        hour: int,
        update: str,
        values: "dict[str, AttributeValueTypeDef]",
        condition: str | None = None,
        names: dict[str, str] | None = None,
    ) -> "dict[str, AttributeValueTypeDef]":
        request: UpdateItemInputTypeDef = {
            "TableName": self._table,
            "Key": {"pk": {"S": _pk(sender, hour)}},
            "UpdateExpression": update,
            "ExpressionAttributeValues": values,
            "ReturnValues": "ALL_NEW",
        }
        if condition:
            request["ConditionExpression"] = condition
        if names:
            request["ExpressionAttributeNames"] = names
        with conditional():
            return self._dynamodb.update_item(**request)["Attributes"]


def _pk(sender: str, hour: int) -> str:
    return f"feedback#{sender}#{hour}"


def _ttl(hour: int) -> "AttributeValueTypeDef":
    return {"N": str(hour * HOUR_SECONDS + _KEPT_SECONDS)}
