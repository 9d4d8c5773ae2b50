"""A whole table, or a part of it, page by page and never faster than its pace."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from postroom.jobs.patience import Patience
from postroom.store.aws import passing_faults

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef, ScanInputTypeDef, ScanOutputTypeDef

_PAGE_ROWS: Final = 500
"""A page of 1 MB would be more than a second's worth of what one partition of a table can read."""


class Table:
    """A table to be gone through. Raises NotNowError(STORE_UNAVAILABLE)."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str, reads: Patience) -> None:
        self._dynamodb = dynamodb
        self._table = table
        self._reads = reads

    def rows(
        self,
        *,
        segment: int = 0,
        segments: int = 1,
        only: str = "",
        values: "Mapping[str, AttributeValueTypeDef] | None" = None,
    ) -> "Iterator[Mapping[str, AttributeValueTypeDef]]":
        """The rows, read consistently, in no order. `segment`: which of so many parts of the table.

        `only`: those of which this holds, an expression of DynamoDB with these `values`.
        """
        scan: ScanInputTypeDef = {
            "TableName": self._table,
            "ConsistentRead": True,
            "Segment": segment,
            "TotalSegments": segments,
            "Limit": _PAGE_ROWS,
            "ReturnConsumedCapacity": "TOTAL",
        }
        if only:
            scan["FilterExpression"] = only
        if values:
            scan["ExpressionAttributeValues"] = values
        while True:
            page = self._reads.ask(lambda: self._scan(scan))
            self._reads.owe(page.get("ConsumedCapacity", {}).get("CapacityUnits", 1) - 1)
            yield from page["Items"]
            if "LastEvaluatedKey" not in page:
                return
            scan["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def _scan(self, scan: "ScanInputTypeDef") -> "ScanOutputTypeDef":
        with passing_faults():
            return self._dynamodb.scan(**scan)
