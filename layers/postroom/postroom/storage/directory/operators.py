"""Changes to the directory, as `postroom domain|subject|wallet|mailbox|dm3 …` makes them."""

import base64
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from postroom.net.aws import RefusedError, conditional
from postroom.protocols.nlweb.subjects import SubjectRule
from postroom.storage.directory.domains import Dm3Mailbox, Domain, read_dm3_mailbox
from postroom.storage.directory.mailboxes import PREFIX as MAILBOX
from postroom.storage.directory.mailboxes import Mailbox, read_mailbox

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef


class Operators:
    """Table `directory`, written. Functions have no right to this."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str) -> None:
        self._dynamodb = dynamodb
        self._table = table

    def put_domain(self, domain: Domain) -> None:
        """Add a domain or change its settings; its subjects stay as they are."""
        self._put(
            f"domain#{domain.name}",
            "!",
            {
                "inbox": {"BOOL": domain.inbox},
                "buffer": {"BOOL": domain.buffer},
                **({"feedback": {"S": domain.feedback}} if domain.feedback else {}),
                **({"signs": {"BOOL": True}} if domain.signs else {}),
            },
        )

    def remove_domain(self, name: str) -> bool:
        """Remove a domain and its subjects; mail that is filed stays. False: there was none."""
        keys = [(item["pk"]["S"], item["sk"]["S"]) for item in self._scan() if item["pk"]["S"] == f"domain#{name}"]
        # The domain's own row first: nothing is taken in for it while its subjects go.
        for pk, sk in sorted(keys, key=lambda key: key[1] != "!"):
            self._dynamodb.delete_item(TableName=self._table, Key={"pk": {"S": pk}, "sk": {"S": sk}})
        return bool(keys)

    def domains(self) -> list[str]:
        """The names of all domains."""
        return sorted(item["pk"]["S"].removeprefix("domain#") for item in self._scan() if _is(item, "domain#"))

    def put_subject(self, domain: str, rule: SubjectRule) -> None:
        """Add or replace the rule for a pattern."""
        self._put(
            f"domain#{domain}",
            f"subject#{rule.pattern}",
            {"treatment": {"S": str(rule.treatment)}, "target": {"S": rule.target}},
        )

    def remove_subject(self, domain: str, pattern: str) -> None:
        """Remove the rule for a pattern."""
        self._dynamodb.delete_item(
            TableName=self._table, Key={"pk": {"S": f"domain#{domain}"}, "sk": {"S": f"subject#{pattern}"}}
        )

    def put_wallet(self, uuid: str, spki: bytes) -> None:
        """Register a wallet's public key, or replace it."""
        self._put(f"wallet#{uuid}", "!", {"spki": {"S": base64.b64encode(spki).decode("ascii")}})

    def remove_wallet(self, uuid: str) -> bool:
        """Forget a wallet's public key. False: there was none."""
        return self._delete(f"wallet#{uuid}")

    def wallets(self) -> list[str]:
        """The UUIDs of all wallets."""
        return sorted(item["pk"]["S"].removeprefix("wallet#") for item in self._scan() if _is(item, "wallet#"))

    def put_dm3_mailbox(self, mailbox: Dm3Mailbox) -> None:
        """Open a mailbox of the delivery service, or change its settings."""
        self._put(
            f"dm3#{mailbox.name}",
            "!",
            {
                "extension": {"S": json.dumps(mailbox.extension.as_json())},
                "unverified": {"BOOL": mailbox.takes_unverified},
            },
        )

    def remove_dm3_mailbox(self, name: str) -> bool:
        """Close a mailbox of the delivery service; mail that is filed stays. False: there was none.

        What is left of the row says that an operator did: its owner does not open it again.
        """
        try:
            with conditional():
                self._dynamodb.update_item(
                    TableName=self._table,
                    Key={"pk": {"S": f"dm3#{name}"}, "sk": {"S": "!"}},
                    UpdateExpression="SET removed = :true REMOVE extension, unverified, by_owner",
                    ConditionExpression="attribute_exists(extension)",
                    ExpressionAttributeValues={":true": {"BOOL": True}},
                )
        except RefusedError:
            return False
        return True

    def dm3_mailboxes(self) -> list[Dm3Mailbox]:
        """All mailboxes of the delivery service, by name."""
        found = [read_dm3_mailbox(item) for item in self._scan() if _is(item, "dm3#")]
        return sorted(filter(None, found), key=lambda mailbox: mailbox.name)

    def mailboxes(self) -> list[Mailbox]:
        """All mailboxes of which anything was ever set, by name."""
        names = {item["pk"]["S"].removeprefix(MAILBOX): item for item in self._scan() if _is(item, MAILBOX)}
        return [read_mailbox(name, item) for name, item in sorted(names.items())]

    def _delete(self, pk: str) -> bool:
        gone = self._dynamodb.delete_item(
            TableName=self._table, Key={"pk": {"S": pk}, "sk": {"S": "!"}}, ReturnValues="ALL_OLD"
        )
        return bool(gone.get("Attributes"))

    def _put(self, pk: str, sk: str, attributes: "dict[str, AttributeValueTypeDef]") -> None:
        self._dynamodb.put_item(TableName=self._table, Item={"pk": {"S": pk}, "sk": {"S": sk}, **attributes})

    def _scan(self) -> "Iterator[dict[str, AttributeValueTypeDef]]":
        for page in self._dynamodb.get_paginator("scan").paginate(TableName=self._table, ConsistentRead=True):
            yield from page["Items"]


def _is(item: "dict[str, AttributeValueTypeDef]", prefix: str) -> bool:
    return item["pk"]["S"].startswith(prefix) and item["sk"]["S"] == "!"
