"""The shape of SQS batches in Lambda, and of their result; the courier's way through a batch."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypedDict

from postroom.net.aws_errors import stack_of

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger


class SqsRecord(TypedDict):
    """One message of a batch."""

    messageId: str
    receiptHandle: str
    body: str
    attributes: dict[str, str]
    eventSourceARN: str


class SqsEvent(TypedDict):
    """A batch, all of one queue."""

    Records: list[SqsRecord]


class Failure(TypedDict):
    """A message to deliver again."""

    itemIdentifier: str


class BatchResult(TypedDict):
    """A partial batch response: messages not named in it are done, and leave the queue."""

    batchItemFailures: list[Failure]


def batch_item_failures(message_ids: Iterable[str]) -> BatchResult:
    """The response that keeps exactly these messages in the queue."""
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in message_ids]}


def process_each(event: SqsEvent, process: Callable[[str], None], logger: "Logger") -> list[str]:
    """Process the body of each message; returns the ids of those that failed, and are to be delivered again."""
    failed: list[str] = []
    for record in event["Records"]:
        try:
            process(record["body"])
        except Exception as error:
            # A failure of one must not make dead letters of the others in the batch.
            logger.exception("to be delivered again", queue_message=record["messageId"], exc_info=stack_of(error))
            failed.append(record["messageId"])
    return failed
