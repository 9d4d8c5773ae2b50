"""A table of DynamoDB: reads and conditional writes.

Conditions, changes and filters are DynamoDB expressions. An attribute's name in an expression is its `str()`, and a
value's is `:name` (storage/aws/attributes.py). A condition that does not hold gives a result, not an error.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypedDict

from postroom.net.aws_errors import ConditionFailedError, conditional, transient_as_not_now
from postroom.storage.aws.attributes import PK, SK, Item, Value

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import (
        DeleteTypeDef,
        PutTypeDef,
        QueryInputTypeDef,
        QueryOutputTypeDef,
        ScanInputPaginateTypeDef,
        UpdateTypeDef,
    )

Values: TypeAlias = Mapping[str, Value]
"""The values of an expression by their names in it, such as `:now`."""
_RESERVED: Final = re.compile(r"#(\w+)")
_MOST_EXPRESSIONS: Final = 512
"""The most expressions whose names are cached. Nearly all are constants; those that list conversations vary."""


class DynamoTable:
    """A table.

    Every request raises NotNowError(STORE_UNAVAILABLE). Reads are consistent, except queries that say otherwise.
    """

    def __init__(self, dynamodb: "DynamoDBClient", name: str) -> None:
        self._dynamodb = dynamodb
        self.name = name

    # --- reads ------------------------------------------------------------------------------------------------------
    def get(self, key: Item) -> Item | None:
        """The row of a key."""
        with transient_as_not_now():
            return self._dynamodb.get_item(TableName=self.name, Key=key, ConsistentRead=True).get("Item")

    def rows(self, pk: str, begin: str = "") -> Iterator[Item]:
        """The rows of a partition whose `sk` has this prefix, in order."""
        condition, values = f"{PK} = :pk", {":pk": PK.encode(pk)}
        if begin:
            condition += f" AND begins_with({SK}, :begin)"
            values[":begin"] = SK.encode(begin)
        pages = self._dynamodb.get_paginator("query").paginate(
            TableName=self.name,
            KeyConditionExpression=condition,
            ExpressionAttributeValues=values,
            ConsistentRead=True,
        )
        with transient_as_not_now():
            for page in pages:
                yield from page["Items"]

    def scan(self, only: str = "", values: Values | None = None) -> Iterator[Item]:
        """All rows, in no particular order. `only`: a filter; the rows that it leaves out are paid for, too."""
        request: ScanInputPaginateTypeDef = {"TableName": self.name, "ConsistentRead": True}
        if only:
            request["FilterExpression"] = only
        if names := names_in(only):
            request["ExpressionAttributeNames"] = names
        if values:
            request["ExpressionAttributeValues"] = values
        pages = self._dynamodb.get_paginator("scan").paginate(**request)
        with transient_as_not_now():
            for page in pages:
                yield from page["Items"]

    def page(self, query: "QueryInputTypeDef") -> "QueryOutputTypeDef":
        """One page of a query made by `to_query`."""
        with transient_as_not_now():
            return self._dynamodb.query(**query)

    # --- writes -----------------------------------------------------------------------------------------------------
    def put(self, row: Item, condition: str = "", values: Values | None = None) -> Item | None:
        """Put a row if `condition` holds. None: done; otherwise the existing row."""
        request = self.to_put(row, condition, values)
        if condition:
            request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        try:
            with conditional():
                self._dynamodb.put_item(**request)
        except ConditionFailedError as refused:
            return refused.item
        return None

    def update(self, key: Item, change: str, values: Values | None = None, condition: str = "") -> bool:
        """Change a row if `condition` holds; True: it did. An absent row is created, if the condition allows that."""
        try:
            with conditional():
                self._dynamodb.update_item(**self.to_update(key, change, values, condition))
        except ConditionFailedError:
            return False
        return True

    def change(
        self,
        key: Item,
        change: str,
        values: Values,
        condition: str = "",
        *,
        returned: Literal["ALL_NEW", "NONE", "UPDATED_OLD"] = "NONE",
        names: Mapping[str, str] | None = None,
    ) -> Item:
        """As `update`, but returns the attributes that `returned` selects.

        `names`: further attribute names, by their placeholders. Raises ConditionFailedError, with the existing row, if
        `condition` does not hold.
        """
        request = self.to_update(key, change, values, condition)
        if condition:
            request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        if names:
            request["ExpressionAttributeNames"] = {**request.get("ExpressionAttributeNames", {}), **names}
        with conditional():
            return self._dynamodb.update_item(**request, ReturnValues=returned).get("Attributes", {})

    def delete(self, key: Item, condition: str = "", values: Values | None = None) -> bool:
        """Delete a row if `condition` holds; True: it did."""
        try:
            with conditional():
                self._dynamodb.delete_item(**self.to_delete(key, condition, values))
        except ConditionFailedError:
            return False
        return True

    # --- requests ---------------------------------------------------------------------------------------------------
    def to_query(
        self, condition: str, values: Values, limit: int, *, only: str = "", consistent: bool = True
    ) -> "QueryInputTypeDef":
        """A query whose pages have at most `limit` rows. `only`: a filter."""
        request: QueryInputTypeDef = {
            "TableName": self.name,
            "KeyConditionExpression": condition,
            "ExpressionAttributeValues": values,
            "ConsistentRead": consistent,
            "Limit": limit,
        }
        if only:
            request["FilterExpression"] = only
        if names := names_in(condition, only):
            request["ExpressionAttributeNames"] = names
        return request

    def to_put(self, row: Item, condition: str = "", values: Values | None = None) -> "PutTypeDef":
        """A put, for a request of its own or in a transaction."""
        request: PutTypeDef = {"TableName": self.name, "Item": row, **_terms(condition)}
        if values:
            request["ExpressionAttributeValues"] = values
        return request

    def to_update(self, key: Item, change: str, values: Values | None = None, condition: str = "") -> "UpdateTypeDef":
        """An update, for a request of its own or in a transaction."""
        request: UpdateTypeDef = {
            "TableName": self.name,
            "Key": key,
            "UpdateExpression": change,
            **_terms(condition, change),
        }
        if values:
            request["ExpressionAttributeValues"] = values
        return request

    def to_delete(self, key: Item, condition: str = "", values: Values | None = None) -> "DeleteTypeDef":
        """A delete, for a request of its own or in a transaction."""
        request: DeleteTypeDef = {"TableName": self.name, "Key": key, **_terms(condition)}
        if values:
            request["ExpressionAttributeValues"] = values
        return request


@lru_cache(_MOST_EXPRESSIONS)
def names_in(*expressions: str) -> Mapping[str, str]:
    """The names of attributes that are in expressions as `#name`."""
    return {f"#{name}": name for expression in expressions for name in _RESERVED.findall(expression)}


class _Terms(TypedDict, total=False):
    ConditionExpression: str
    ExpressionAttributeNames: Mapping[str, str]
    ExpressionAttributeValues: Values
    ReturnValuesOnConditionCheckFailure: Literal["ALL_OLD", "NONE"]


@lru_cache(_MOST_EXPRESSIONS)
def _terms(condition: str, change: str = "") -> _Terms:
    """The request members for a condition and the names in its expressions. DynamoDB accepts no empty ones."""
    terms: _Terms = {}
    if condition:
        terms["ConditionExpression"] = condition
    if names := names_in(change, condition):
        terms["ExpressionAttributeNames"] = names
    return terms
