"""One place that tells a passing AWS fault from a refusal and from our own mistake."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, cast

from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, IncompleteReadError
from botocore.exceptions import ConnectionError as NoConnectionError

from postroom.errors import NotNowError
from postroom.reasons import Reason

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

_PASSING: Final = frozenset(
    {
        "InternalServerError", "InternalError", "InternalFailure", "LimitExceededException", "RequestThrottled",
        "ProvisionedThroughputExceededException", "RequestLimitExceeded", "RequestTimeout", "ServiceUnavailable",
        "SlowDown", "Throttling", "ThrottlingException", "TransactionInProgressException",
        # If-None-Match under a name that is our own: an earlier try of the same call got through, or still runs.
        "ConditionalRequestConflict", "PreconditionFailed",
    }
)  # fmt: skip
_TOO_MANY_REQUESTS: Final = 429


class RefusedError(Exception):
    """The condition of a write did not hold. `item`: what stands there, if that was asked for and there is any."""

    def __init__(self, item: "Mapping[str, AttributeValueTypeDef]") -> None:
        super().__init__("ConditionalCheckFailedException")
        self.item = item


class CancelledError(Exception):
    """A transaction was not made. `codes`: what was wrong with each of its writes; "None": nothing."""

    def __init__(self, codes: tuple[str, ...]) -> None:
        super().__init__(f"TransactionCanceledException: {', '.join(codes)}")
        self.codes = codes


def error_code(error: ClientError) -> str:
    """The service's own code for what it refused."""
    return str(error.response.get("Error", {}).get("Code", ""))


def is_passing(error: BotoCoreError | ClientError) -> bool:
    """Whether the same call may succeed later: throttling, time-outs, no connection, their 5xx."""
    if isinstance(error, ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return error_code(error) in _PASSING or status == _TOO_MANY_REQUESTS or status >= 500
    return isinstance(error, (NoConnectionError, HTTPClientError, IncompleteReadError))


@contextmanager
def transacting() -> Iterator[None]:
    """A transaction of DynamoDB: CancelledError where it was certainly not made, else as `passing_faults`."""
    with passing_faults():
        try:
            yield
        except ClientError as error:
            if error_code(error) == "TransactionCanceledException":
                reasons = cast("Iterable[Mapping[str, str]]", error.response.get("CancellationReasons", ()))
                raise CancelledError(tuple(reason.get("Code", "None") for reason in reasons)) from None
            raise


@contextmanager
def passing_faults(reason: Reason = Reason.STORE_UNAVAILABLE) -> Iterator[None]:
    """Turn a passing fault of AWS into NotNowError(`reason`); let every other error through."""
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        if is_passing(error):
            raise NotNowError(reason) from error
        raise


@contextmanager
def conditional() -> Iterator[None]:
    """A conditional write of DynamoDB: RefusedError where its condition did not hold, else as `passing_faults`."""
    with passing_faults():
        try:
            yield
        except ClientError as error:
            if error_code(error) == "ConditionalCheckFailedException":
                raise RefusedError(
                    cast("Mapping[str, AttributeValueTypeDef]", error.response.get("Item", {}))
                ) from None
            raise
