"""The shape of SQS batches in Lambda, and of their result."""

from collections.abc import Iterable
from typing import TypedDict


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
