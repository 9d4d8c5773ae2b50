"""Errors of AWS: which are transient, which are refusals, and which are faults of the deployment."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar, cast

from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, IncompleteReadError
from botocore.exceptions import ConnectionError as NoConnectionError

from postroom.core.errors import NotNowError
from postroom.core.own_faults import FaultKind, OwnFault, OwnFaults, explain
from postroom.core.reason import Reason
from postroom.core.reasons import STORE_UNAVAILABLE

if TYPE_CHECKING:
    from botocore.client import BaseClient
    from botocore.model import OperationModel
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

C = TypeVar("C", bound="BaseClient")

_PASSING: Final = frozenset(
    {
        "InternalServerError", "InternalError", "InternalFailure", "RequestTimeout", "ServiceUnavailable",
        "TransactionInProgressException",
        # If-None-Match with a unique name: an earlier attempt of the same call succeeded, or is still running.
        "ConditionalRequestConflict", "PreconditionFailed",
    }
)  # fmt: skip
_TOO_MANY_REQUESTS: Final = 429
_RESOURCES: Final = {
    "TableName": "table", "Bucket": "bucket", "QueueUrl": "queue", "QueueName": "queue", "SecretId": "secret",
    "FunctionName": "function", "TopicArn": "topic", "EventBusName": "event bus",
}  # fmt: skip
"""The arguments of our calls that name a resource, and what kind it is."""
_ARGUMENTS, _ACTION, _KIND, _NAME = "postroom_arguments", "PostroomAction", "PostroomKind", "PostroomName"
_OWN_FAULTS: Final = "PostroomOwnFaults"


class ConditionFailedError(Exception):
    """The condition of a write did not hold. `item`: the existing row, if it was requested and there is one."""

    def __init__(self, item: "Mapping[str, AttributeValueTypeDef]") -> None:
        super().__init__("ConditionalCheckFailedException")
        self.item = item


CONDITION_FAILED: Final = "ConditionalCheckFailed"
"""The code of a write in a transaction whose condition did not hold."""


class CancelledError(Exception):
    """A transaction was cancelled. `codes`: the fault of each of its writes; "None": none."""

    def __init__(self, codes: tuple[str, ...]) -> None:
        super().__init__(f"TransactionCanceledException: {', '.join(codes)}")
        self.codes = codes


def error_code(error: ClientError) -> str:
    """The service's error code."""
    return str(error.response.get("Error", {}).get("Code", ""))


def is_transient(error: BotoCoreError | ClientError) -> bool:
    """Whether the same call may succeed later: throttling, time-outs, no connection, 5xx of the service."""
    if isinstance(error, ClientError):
        fault = our_own_fault(error)
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return (
            error_code(error) in _PASSING
            or status == _TOO_MANY_REQUESTS
            or status >= 500
            or (fault is not None and fault.kind is FaultKind.QUOTA)
        )
    return isinstance(error, (NoConnectionError, HTTPClientError, IncompleteReadError))


def with_error_context(client: C, own_faults: OwnFaults) -> C:
    """The same client, whose errors name the resource: AWS often says no more than `not found`.

    They also carry `own_faults`: if an error is a fault of our own, it is recorded there.
    """
    client.meta.events.register("provide-client-params", _keep_arguments)
    client.meta.events.register("after-call", partial(_name_resource, own_faults))
    return client


def _keep_arguments(params: Mapping[str, object], context: dict[str, object], **_: object) -> None:
    context[_ARGUMENTS] = params


def _name_resource(
    own_faults: OwnFaults,
    parsed: dict[str, dict[str, object]],
    model: "OperationModel",
    context: Mapping[str, object],
    **_: object,
) -> None:
    if "Error" in parsed:
        kind, name = _resource(cast("Mapping[str, object]", context.get(_ARGUMENTS, {})))
        action = f"{model.service_model.service_name}:{model.name}"
        parsed["Error"] |= {_ACTION: action, _KIND: kind, _NAME: name, _OWN_FAULTS: own_faults}


def _resource(arguments: Mapping[str, object]) -> tuple[str, str]:
    """The resource of a call; never a key, which may contain the name of a mailbox."""
    for argument, kind in _RESOURCES.items():
        if argument in arguments:
            name = str(arguments[argument])
            return kind, name.rpartition("/")[2] if argument == "QueueUrl" else name
    for within in ("TransactItems", "Entries"):
        for entry in cast("Iterable[Mapping[str, object]]", arguments.get(within, ())):
            # A write of a transaction is under its verb.
            write = next(iter(entry.values())) if within == "TransactItems" else entry
            return _resource(cast("Mapping[str, object]", write))
    return "AWS", "account"


def our_own_fault(error: BaseException | None) -> OwnFault | None:
    """The fault of our own because of which AWS refused a call, here or in the error's cause; None: there is none."""
    while error is not None:
        if isinstance(error, ClientError):
            said = cast("Mapping[str, str]", error.response.get("Error", {}))
            action = said.get(_ACTION, error.operation_name)
            reasons = cast("Iterable[Mapping[str, str]]", error.response.get("CancellationReasons", ()))
            for code in (error_code(error), *(reason.get("Code", "") for reason in reasons)):
                fault = explain(code, action, said.get(_KIND, "AWS"), said.get(_NAME, "account"))
                if fault:
                    return fault
        error = error.__cause__
    return None


def stack_of(error: BaseException) -> BaseException | None:
    """The exception whose stack a log shows; None if a sentence says everything."""
    return None if our_own_fault(error) else error


def _note(error: BaseException) -> None:
    """Record an error for the end of the run, if it is a fault of our own and a run collects them."""
    fault, cause = our_own_fault(error), cast("BaseException | None", error)
    while fault and cause is not None:
        said = cast("Mapping[str, object]", cause.response.get("Error", {})) if isinstance(cause, ClientError) else {}
        own_faults = said.get(_OWN_FAULTS)
        if isinstance(own_faults, OwnFaults):
            own_faults.note(fault)
            return
        cause = cause.__cause__


@contextmanager
def transacting() -> Iterator[None]:
    """A transaction of DynamoDB. Raises CancelledError if it was certainly cancelled, otherwise as
    `transient_as_not_now`.
    """
    with transient_as_not_now():
        try:
            yield
        except ClientError as error:
            if error_code(error) == "TransactionCanceledException":
                _note(error)
                reasons = cast("Iterable[Mapping[str, str]]", error.response.get("CancellationReasons", ()))
                raise CancelledError(tuple(reason.get("Code", "None") for reason in reasons)) from error
            raise


@contextmanager
def transient_as_not_now(reason: Reason = STORE_UNAVAILABLE, *, of_others: bool = False) -> Iterator[None]:
    """Turn a temporary fault of AWS into NotNowError(`reason`); other errors are not changed.

    `of_others`: the resource is not ours; if it is missing or denied, that is not our own fault.
    """
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        if not of_others:
            _note(error)
        if is_transient(error):
            raise NotNowError(reason) from error
        raise


@contextmanager
def conditional() -> Iterator[None]:
    """A conditional write of DynamoDB.

    Raises ConditionFailedError if the condition failed, otherwise as `transient_as_not_now`.
    """
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        if isinstance(error, ClientError) and error_code(error) == "ConditionalCheckFailedException":
            standing = cast("Mapping[str, AttributeValueTypeDef]", error.response.get("Item", {}))
            raise ConditionFailedError(standing) from None
        with transient_as_not_now():  # not around everything: nearly every write succeeds, and would pay for both
            raise
