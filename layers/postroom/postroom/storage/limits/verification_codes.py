"""The number of codes sent for a mailbox in a day: rows `codes#<mailbox>#<day>` of table `limits`.

Anyone who may add a notification target can make us post to any host, once for each code.
"""

from typing import TYPE_CHECKING, Final

from postroom.storage.aws.attributes import TTL, Number, primary_key
from postroom.storage.aws.table import DynamoTable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_SENT: Final = Number("n")
_DAY_SECONDS: Final = 86_400


class VerificationCodeLimits:
    """Table `limits`."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str) -> None:
        self._table = DynamoTable(dynamodb, table)

    def take(self, mailbox: str, now: int, most: int) -> bool:
        """Count one code of this day; False: the limit `most` is reached. `now`: epoch seconds.

        Raises NotNowError(STORE_UNAVAILABLE).
        """
        day = now // _DAY_SECONDS
        return self._table.update(
            primary_key(f"codes#{mailbox}#{day}"),
            f"ADD {_SENT} :one SET {TTL} = :ttl",
            {":one": _SENT.encode(1), ":most": _SENT.encode(most), ":ttl": TTL.encode((day + 2) * _DAY_SECONDS)},
            f"attribute_not_exists({_SENT}) OR {_SENT} < :most",
        )
