"""A scan of a table, or a part of it, page by page within a rate limit."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from postroom.jobs.paced_requests import PacedRequests
from postroom.net.aws_errors import transient_as_not_now
from postroom.storage.aws.attributes import PK, Item
from postroom.storage.aws.table import DynamoTable, Values, names_in

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import (
        QueryInputTypeDef,
        QueryOutputTypeDef,
        ScanInputTypeDef,
        ScanOutputTypeDef,
    )

_PAGE_ROWS: Final = 500
"""A page of 1 MB would take more read units than a partition of a table has in a second."""


class TableScanner:
    """A table to be scanned. Raises NotNowError(STORE_UNAVAILABLE)."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str, reads: PacedRequests) -> None:
        self._dynamodb = dynamodb
        self._table = DynamoTable(dynamodb, table)
        self._reads = reads

    def rows(
        self,
        *,
        segment: int = 0,
        segments: int = 1,
        only: str = "",
        values: Values | None = None,
    ) -> Iterator[Item]:
        """The rows of one of `segments` segments of the table, read consistently, in no order. `segment`: from 0.

        `only`: a filter expression of DynamoDB with these `values`.
        """
        scan: ScanInputTypeDef = {
            "TableName": self._table.name,
            "ConsistentRead": True,
            "Segment": segment,
            "TotalSegments": segments,
            "Limit": _PAGE_ROWS,
            "ReturnConsumedCapacity": "TOTAL",
        }
        if only:
            scan["FilterExpression"] = only
        if names := names_in(only):
            scan["ExpressionAttributeNames"] = names
        if values:
            scan["ExpressionAttributeValues"] = values
        return self._pages(scan, lambda: self._dynamodb.scan(**scan))

    def partition(self, pk: str) -> Iterator[Item]:
        """The rows of one partition, read consistently, by their sort keys."""
        query = self._table.to_query(f"{PK} = :pk", {":pk": PK.encode(pk)}, _PAGE_ROWS)
        query["ReturnConsumedCapacity"] = "TOTAL"
        return self._pages(query, lambda: self._dynamodb.query(**query))

    def _pages(
        self,
        request: "ScanInputTypeDef | QueryInputTypeDef",
        ask: "Callable[[], ScanOutputTypeDef | QueryOutputTypeDef]",
    ) -> Iterator[Item]:
        while True:
            page = self._reads.ask(transient_as_not_now()(ask))
            self._reads.charge(page.get("ConsumedCapacity", {}).get("CapacityUnits", 1) - 1)
            yield from page["Items"]
            if "LastEvaluatedKey" not in page:
                return
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]
