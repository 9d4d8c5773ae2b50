"""Notification targets of mailboxes: rows `notify#<mailbox>` of table `directory`.

A mailbox has so many slots, and each target one of them. Its id begins with the number of the slot, so that it is found
by that, and goes on at random: what is said to a target reaches none that took its place.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from postroom.api.states import TargetState
from postroom.net.aws import RefusedError, conditional, passing_faults

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef, UpdateItemInputTypeDef

PREFIX: Final = "notify#"
MAX_TARGETS: Final = 5
"""Of a mailbox; their slots have one digit."""
_ROW: Final = "target#"


class Kind(StrEnum):
    """How a target is told."""

    WEBHOOK = "webhook"
    TOPIC = "sns"


@dataclass(frozen=True, slots=True)
class Retry:
    """A try that waits in the queue: of which notification, and until when it must have come (epoch seconds)."""

    notification: str
    until: int


@dataclass(frozen=True, slots=True)
class Target:
    """A target of `mailbox`. `to`: an https URL, or the ARN of a topic. Times: epoch milliseconds.

    `generation`: of its secret, rotated at `rotated_at_ms` (0: never). `challenge`: the number of the code that was
    sent last. `failing_since_ms`: 0, if the last try went well; `detail`: what went wrong else, or why it is paused.
    `retry`: what is on its way to it again.
    """

    mailbox: str
    id: str
    kind: Kind
    to: str
    made_at_ms: int
    state: TargetState = TargetState.UNVERIFIED
    generation: int = 1
    rotated_at_ms: int = 0
    challenge: int = 1
    failing_since_ms: int = 0
    detail: str = ""
    retry: Retry | None = None


class Targets:
    """The rows. All of it raises NotNowError(STORE_UNAVAILABLE)."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str) -> None:
        self._dynamodb = dynamodb
        self._table = table

    # --- read -------------------------------------------------------------------------------------------------------
    def of(self, mailbox: str) -> list[Target]:
        """All targets of a mailbox, in the order of their slots; read consistently."""
        return list(self._read(mailbox))

    def find(self, mailbox: str, target_id: str) -> Target | None:
        """A target, read consistently; None: there is none, or another in its place."""
        with passing_faults():
            item = self._dynamodb.get_item(
                TableName=self._table, Key=_key(mailbox, target_id[:1]), ConsistentRead=True
            ).get("Item")
        found = _target(item) if item else None
        return found if found and found.id == target_id else None

    def _read(self, mailbox: str) -> Iterator[Target]:
        pages = self._dynamodb.get_paginator("query").paginate(
            TableName=self._table,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :row)",
            ExpressionAttributeValues={":pk": {"S": PREFIX + mailbox}, ":row": {"S": _ROW}},
            ConsistentRead=True,
        )
        with passing_faults():
            for page in pages:
                yield from map(_target, page["Items"])

    # --- what owners do ---------------------------------------------------------------------------------------------
    def add(self, mailbox: str, kind: Kind, to: str, *, random_id: str, now_ms: int) -> Target | None:
        """Put a target into the first slot that is free; None: none is."""
        for slot in range(MAX_TARGETS):
            target = Target(mailbox, f"{slot}{random_id}", kind, to, now_ms)
            try:
                with conditional():
                    self._dynamodb.put_item(
                        TableName=self._table,
                        Item={
                            **_key(mailbox, str(slot)),
                            "id": {"S": target.id},
                            "kind": {"S": kind},
                            "to": {"S": to},
                            "made": {"N": str(now_ms)},
                            "st": {"S": target.state},
                            "gen": {"N": str(target.generation)},
                            "challenge": {"N": str(target.challenge)},
                            "tries": {"N": "0"},
                        },
                        ConditionExpression="attribute_not_exists(pk) OR id = :id",
                        ExpressionAttributeValues={":id": {"S": target.id}},
                    )
            except RefusedError:
                continue
            return target
        return None

    def remove(self, mailbox: str, target_id: str) -> bool:
        """Forget a target; False: there is none."""
        try:
            with conditional():
                self._dynamodb.delete_item(
                    TableName=self._table,
                    Key=_key(mailbox, target_id[:1]),
                    ConditionExpression="id = :id",
                    ExpressionAttributeValues={":id": {"S": target_id}},
                )
        except RefusedError:
            return False
        return True

    def challenge(self, target: Target) -> bool:
        """Let another code count in place of the one that was sent last; False: another caller did."""
        return self._update(
            target, "SET challenge = :next, tries = :none",
            {":next": {"N": str(target.challenge + 1)}, ":none": {"N": "0"}, **_now(target)}, _AS_IT_WAS,
        )  # fmt: skip

    def take_try(self, target: Target, most: int) -> bool:
        """Count one try of the code that was sent last; False: it had `most` of them, or another counts by now."""
        return self._update(
            target, "ADD tries :one", {":one": {"N": "1"}, ":most": {"N": str(most)}, **_now(target)},
            f"{_AS_IT_WAS} AND tries < :most",
        )  # fmt: skip

    def verify(self, target: Target) -> bool:
        """Let it be told from now on; False: meanwhile another code was sent, or it was verified."""
        return self._update(
            target,
            "SET st = :active REMOVE failing, detail",
            {":active": {"S": TargetState.ACTIVE}, **_now(target)},
            _AS_IT_WAS,
        )

    def rotate(self, target: Target, now_ms: int) -> bool:
        """Begin the next generation of its secret; False: another caller did."""
        return self._update(
            target, "SET gen = :next, rotated = :now",
            {":next": {"N": str(target.generation + 1)}, ":now": {"N": str(now_ms)},
             ":gen": {"N": str(target.generation)}},
            "gen = :gen",
        )  # fmt: skip

    def resume(self, target: Target) -> None:
        """Let a target that was paused be told again."""
        self._update(
            target, "SET st = :active REMOVE failing, detail, again, due",
            {":active": {"S": TargetState.ACTIVE}, ":paused": {"S": TargetState.PAUSED}}, "st = :paused",
        )  # fmt: skip

    # --- what the courier notes -------------------------------------------------------------------------------------
    def failed(self, target: Target, detail: str, since_ms: int, retry: Retry | None) -> None:
        """Note a try that failed, and the next one, which waits in the queue already."""
        retried = ", again = :again, due = :due" if retry else ""
        times: dict[str, AttributeValueTypeDef] = (
            {":again": {"S": retry.notification}, ":due": {"N": str(retry.until)}} if retry else {}
        )
        self._update(
            target, f"SET detail = :detail, failing = :since{retried}",
            {":detail": {"S": detail}, ":since": {"N": str(since_ms)}, ":st": {"S": target.state}, **times}, "st = :st",
        )  # fmt: skip

    def begin_retry(self, target: Target, notification: str) -> None:
        """From now on nothing waits for the try that is made now: what comes in meanwhile needs one of its own."""
        self._update(target, "REMOVE again, due", {":again": {"S": notification}}, "again = :again")

    def went_well(self, target: Target) -> None:
        """Forget that it failed."""
        self._update(target, "REMOVE failing, detail", {":st": {"S": target.state}}, "st = :st")

    def pause(self, target: Target, detail: str) -> None:
        """Tell it nothing any more, until its owner says so."""
        self._update(
            target, "SET st = :paused, detail = :detail REMOVE again, due",
            {":paused": {"S": TargetState.PAUSED}, ":detail": {"S": detail}, ":active": {"S": TargetState.ACTIVE}},
            "st = :active",
        )  # fmt: skip

    def _update(
        self, target: Target, change: str, values: "Mapping[str, AttributeValueTypeDef]", condition: str
    ) -> bool:
        """Change a target, if it is there still and `condition` holds; whether it was."""
        update: UpdateItemInputTypeDef = {
            "TableName": self._table,
            "Key": _key(target.mailbox, target.id[:1]),
            "UpdateExpression": change,
            "ConditionExpression": f"id = :id AND {condition}",
            "ExpressionAttributeValues": {":id": {"S": target.id}, **values},
        }
        with suppress(RefusedError), conditional():
            self._dynamodb.update_item(**update)
            return True
        return False


_AS_IT_WAS: Final = "st = :unverified AND challenge = :challenge"


def _now(target: Target) -> "dict[str, AttributeValueTypeDef]":
    """The values of `_AS_IT_WAS`."""
    return {":unverified": {"S": TargetState.UNVERIFIED}, ":challenge": {"N": str(target.challenge)}}


def is_active(item: "Mapping[str, AttributeValueTypeDef]") -> bool:
    """Whether a row `notify#…` is that of a target that is told when something waits."""
    return item.get("st", {}).get("S") == TargetState.ACTIVE


def _key(mailbox: str, slot: str) -> "dict[str, AttributeValueTypeDef]":
    return {"pk": {"S": PREFIX + mailbox}, "sk": {"S": _ROW + slot}}


def _target(item: "Mapping[str, AttributeValueTypeDef]") -> Target:
    return Target(
        mailbox=item["pk"]["S"].removeprefix(PREFIX),
        id=item["id"]["S"],
        kind=Kind(item["kind"]["S"]),
        to=item["to"]["S"],
        made_at_ms=int(item["made"]["N"]),
        state=TargetState(item["st"]["S"]),
        generation=int(item["gen"]["N"]),
        rotated_at_ms=int(item["rotated"]["N"]) if "rotated" in item else 0,
        challenge=int(item["challenge"]["N"]),
        failing_since_ms=int(item["failing"]["N"]) if "failing" in item else 0,
        detail=item.get("detail", {}).get("S", ""),
        retry=Retry(item["again"]["S"], int(item["due"]["N"])) if "again" in item else None,
    )
