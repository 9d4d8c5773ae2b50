"""The shape of SQS batches in Lambda, and of their answer."""

from collections.abc import Iterable
from typing import TypedDict


class SqsRecord(TypedDict):
    """One message of a batch."""

    messageId: str
    body: str
    attributes: dict[str, str]
    eventSourceARN: str


class SqsEvent(TypedDict):
    """A batch, all of one queue."""

    Records: list[SqsRecord]


class Failure(TypedDict):
    """A message to hand out again."""

    itemIdentifier: str


class BatchResult(TypedDict):
    """A partial batch response: what is not named in it is done, and leaves the queue."""

    batchItemFailures: list[Failure]


def hand_out_again(message_ids: Iterable[str]) -> BatchResult:
    """The response that keeps these messages, and no other, in the queue."""
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in message_ids]}
