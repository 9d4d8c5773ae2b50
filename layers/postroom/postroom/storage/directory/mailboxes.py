"""The keys and settings of mailboxes: row `mailbox#<name>` of table `directory`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING

from postroom.net.aws import RefusedError, conditional, passing_faults
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import (
        AttributeValueTypeDef,
        TransactWriteItemTypeDef,
        UpdateItemInputTypeDef,
    )

PREFIX, DM3 = "mailbox#", "dm3#"
HELD = "held"
"""Of the rows that list the mailboxes under legal hold."""


@dataclass(frozen=True, slots=True)
class Mailbox:
    """A mailbox, whether its owner is known or not.

    `keys`: the owner's, as `counter.owner_keys` reads them. `shards`: of its registers. `sign_outs`: how often all
    devices were signed out. `closed_at`: since when nobody picks anything up, epoch seconds; 0: since a time that is
    not known, None: it is open. `max_messages`, `max_bytes`: how much it may hold (`store.quotas`); 0: as much as
    comes, None: as the deployment has it. `ttl_days`: how long it keeps a message (`store.expiry`); 0: without end,
    None: as the deployment has it. `held`: under legal hold, nothing of it expires. The rest is the owner's, of NLWeb.
    `blocks`: who is not let in, as `nlweb.blocks` reads them. `subjects`: what of the domain's messages goes into which
    mailbox.
    """

    name: str
    keys: tuple[str, ...] = ()
    shards: int = 1
    sign_outs: int = 0
    closed_at: int | None = None
    max_messages: int | None = None
    max_bytes: int | None = None
    ttl_days: int | None = None
    held: bool = False
    blocks: frozenset[str] = frozenset()
    subjects: tuple[SubjectRule, ...] = ()

    @property
    def closed(self) -> bool:
        """Whether nobody picks anything up."""
        return self.closed_at is not None


@dataclass(frozen=True, slots=True)
class OwnSettings:
    """What the owner of a mailbox of NLWeb set. `subjects`: pattern → mailbox; of other treatments there are none."""

    blocks: tuple[str, ...] = ()
    subjects: Mapping[str, str] = field(default_factory=dict)

    def encode(self) -> str:
        """The same as it is stored."""
        return json.dumps({"blocks": self.blocks, "subjects": self.subjects})


def read_own_settings(text: str) -> OwnSettings:
    """What `encode` wrote; an empty text: nothing was set yet."""
    value = json.loads(text or "{}")
    return OwnSettings(tuple(value.get("blocks", ())), value.get("subjects", {}))


def read_mailbox(name: str, item: "Mapping[str, AttributeValueTypeDef] | None") -> Mailbox:
    """The mailbox of this name, from its row if it has one."""
    if item is None:
        return Mailbox(name)
    own = read_own_settings(_own_of(item))
    return Mailbox(
        name,
        tuple(json.loads(item["owner_keys"]["S"])) if "owner_keys" in item else (),
        int(item["shards"]["N"]) if "shards" in item else 1,
        int(item["sign_outs"]["N"]) if "sign_outs" in item else 0,
        _closed_at(item),
        _whole_of(item, "max_messages"),
        _whole_of(item, "max_bytes"),
        _whole_of(item, "ttl_days"),
        "held" in item,
        blocks=frozenset(own.blocks),
        subjects=tuple(SubjectRule(pattern, Treatment.MAILBOX, target) for pattern, target in own.subjects.items()),
    )


@dataclass(frozen=True, slots=True)
class StoredSettings:
    """What row `dm3#<name>` says, word for word: so it is known whether somebody changed it meanwhile."""

    extension: str
    unverified: bool

    @property
    def mark(self) -> str:
        """Another for each other setting."""
        return sha256(f"{self.unverified}{self.extension}".encode()).hexdigest()[:32]


class Mailboxes:
    """The same rows, written; each attribute by itself, so that no writer undoes another's change."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str) -> None:
        self._dynamodb = dynamodb
        self._table = table

    def set_keys(self, name: str, keys: Sequence[str]) -> None:
        """Say which keys are the owner's; the mailbox is open from now on."""
        self._update(name, "SET owner_keys = :keys REMOVE closed", {":keys": {"S": json.dumps(list(keys))}})

    def close(self, name: str, now: int) -> None:
        """Let nobody in any more, from `now` (epoch seconds) on; what is filed stays, until its time is over.

        Of one that was closed before, the time stays as it was.
        """
        self._update(name, "SET closed = if_not_exists(closed, :now)", {":now": {"N": str(now)}})

    def revoke_tokens(self, name: str) -> None:
        """Let no token count that was given before. Counted, not timed: the clocks of who gives tokens differ."""
        self._update(name, "ADD sign_outs :one", {":one": {"N": "1"}})

    def sign_outs(self, name: str) -> int:
        """How often all devices were signed out, as it is now. Raises NotNowError(STORE_UNAVAILABLE)."""
        return self.find(name).sign_outs

    def settings(self, name: str) -> StoredSettings | None:
        """The settings of a mailbox of the dm3 delivery service, as they are now; None: it is none of that."""
        item = self._item(DM3 + name)
        # Of one that the operator removed a row stays, which has neither.
        if not item or "extension" not in item:
            return None
        return StoredSettings(item["extension"]["S"], item["unverified"]["BOOL"])

    def change_settings(self, name: str, old: StoredSettings, new: StoredSettings) -> bool:
        """Set new settings in place of the old; False: these are not there any more."""
        try:
            with conditional():
                self._dynamodb.update_item(
                    TableName=self._table,
                    Key=_key(DM3 + name),
                    UpdateExpression="SET extension = :extension, unverified = :unverified",
                    ConditionExpression="extension = :old_extension AND unverified = :old_unverified",
                    ExpressionAttributeValues={
                        ":extension": {"S": new.extension}, ":unverified": {"BOOL": new.unverified},
                        ":old_extension": {"S": old.extension}, ":old_unverified": {"BOOL": old.unverified},
                    },
                )  # fmt: skip
        except RefusedError:
            return False
        return True

    def open_letters(self, name: str) -> bool:
        """Open a mailbox of the dm3 delivery service for its owner, unless there is one; False: an operator removed it.

        Raises NotNowError(STORE_UNAVAILABLE).
        """
        # Jobs read mailboxes, too, and have not all that dm3 needs.
        from postroom.protocols.dm3.extension import ProfileExtension

        try:
            with conditional():
                self._dynamodb.put_item(
                    TableName=self._table,
                    Item={
                        **_key(DM3 + name),
                        "extension": {"S": json.dumps(ProfileExtension().as_json())},
                        "unverified": {"BOOL": False},
                        "by_owner": {"BOOL": True},
                    },
                    ConditionExpression="attribute_not_exists(pk)",
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
        except RefusedError as stands:
            return "removed" not in stands.item
        return True

    def is_of_dm3(self, name: str) -> bool:
        """Whether a mailbox is, or was, one of the dm3 delivery service. Raises NotNowError(STORE_UNAVAILABLE)."""
        return self._item(DM3 + name) is not None

    def find(self, name: str) -> Mailbox:
        """A mailbox as it is now. Raises NotNowError(STORE_UNAVAILABLE)."""
        return read_mailbox(name, self._item(PREFIX + name))

    def own_settings(self, name: str) -> str:
        """What the owner of a mailbox of NLWeb set, as it is stored now; empty: nothing yet."""
        return _own_of(self._item(PREFIX + name) or {})

    def change_own_settings(self, name: str, old: str, new: OwnSettings) -> bool:
        """Set new settings in place of the old, as they were stored; False: these are not there any more."""
        values: dict[str, AttributeValueTypeDef] = {":new": {"S": new.encode()}}
        if old:
            values[":old"] = {"S": old}
        condition = "own_settings = :old" if old else "attribute_not_exists(own_settings)"
        try:
            with conditional():
                self._update(name, "SET own_settings = :new", values, condition=condition)
        except RefusedError:
            return False
        return True

    def raise_shards(self, name: str, shards: int) -> bool:
        """Spread a mailbox over more shards; False: it has as many or more already (the count never falls)."""
        try:
            with conditional():
                self._update(
                    name, "SET shards = :shards", {":shards": {"N": str(shards)}},
                    condition="attribute_not_exists(shards) OR shards < :shards",
                )  # fmt: skip
        except RefusedError:
            return False
        return True

    def set_quota(self, name: str, *, messages: int | None = None, size: int | None = None) -> None:
        """Say how many messages, and bytes, a mailbox may hold (0: as much as comes); None leaves it as it is."""
        bounds = {"max_messages": messages, "max_bytes": size}
        given: dict[str, AttributeValueTypeDef] = {
            f":{bound}": {"N": str(most)} for bound, most in bounds.items() if most is not None
        }
        if given:
            self._update(name, "SET " + ", ".join(f"{value[1:]} = {value}" for value in given), given)

    def set_ttl(self, name: str, days: int) -> None:
        """Say how long a mailbox keeps a message (0: without end)."""
        self._update(name, "SET ttl_days = :days", {":days": {"N": str(days)}})

    def hold(self, name: str) -> None:
        """Let nothing of a mailbox expire, nor its bytes go."""
        self._transact(
            {
                "Update": {
                    "TableName": self._table,
                    "Key": _key(PREFIX + name),
                    "UpdateExpression": "SET held = :true",
                    "ExpressionAttributeValues": {":true": {"BOOL": True}},
                }
            },
            {"Put": {"TableName": self._table, "Item": _held(name)}},
        )

    def release(self, name: str) -> None:
        """Hold a mailbox no longer."""
        self._transact(
            {
                "Update": {
                    "TableName": self._table,
                    "Key": _key(PREFIX + name),
                    "UpdateExpression": "REMOVE held",
                }
            },
            {"Delete": {"TableName": self._table, "Key": _held(name)}},
        )

    def _transact(self, *writes: "TransactWriteItemTypeDef") -> None:
        """In its own row, for who asks for a mailbox; and in the list, for who asks which are held."""
        self._dynamodb.transact_write_items(TransactItems=writes)

    def _item(self, pk: str) -> "Mapping[str, AttributeValueTypeDef] | None":
        with passing_faults():
            return self._dynamodb.get_item(TableName=self._table, Key=_key(pk), ConsistentRead=True).get("Item")

    def _update(
        self, name: str, change: str, values: "Mapping[str, AttributeValueTypeDef]", *, condition: str = ""
    ) -> None:
        update: UpdateItemInputTypeDef = {
            "TableName": self._table,
            "Key": _key(PREFIX + name),
            "UpdateExpression": change,
        }
        if values:
            update["ExpressionAttributeValues"] = values
        if condition:
            update["ConditionExpression"] = condition
        self._dynamodb.update_item(**update)


def _whole_of(item: "Mapping[str, AttributeValueTypeDef]", name: str) -> int | None:
    return int(item[name]["N"]) if name in item else None


def _closed_at(item: "Mapping[str, AttributeValueTypeDef]") -> int | None:
    """Whatever stands there, it is closed; what is no time tells no time."""
    if "closed" not in item:
        return None
    try:
        return max(0, int(item["closed"]["N"]))
    except (KeyError, ValueError):
        return 0


def _own_of(item: "Mapping[str, AttributeValueTypeDef]") -> str:
    return item["own_settings"]["S"] if "own_settings" in item else ""


def _key(pk: str) -> "dict[str, AttributeValueTypeDef]":
    return {"pk": {"S": pk}, "sk": {"S": "!"}}


def _held(name: str) -> "dict[str, AttributeValueTypeDef]":
    return {"pk": {"S": HELD}, "sk": {"S": name}}
