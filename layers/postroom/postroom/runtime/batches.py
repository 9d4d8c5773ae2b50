"""The shape of SQS batches in Lambda, and of their result; the courier's way through a batch."""

from collections.abc import Callable, Iterable
from concurrent.futures import wait
from typing import TYPE_CHECKING, Final, TypedDict

from postroom.net.aws_errors import stack_of

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from aws_lambda_powertools import Logger

MESSAGES_AT_ONCE: Final = 5
"""Message groups of a batch that the courier processes at the same time: all of them."""


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


def process_at_once(
    event: SqsEvent, process: Callable[[str], Callable[[], None]], threads: "Executor", logger: "Logger"
) -> list[str]:
    """Process the message groups of a batch at the same time, and the messages of a group one after the other.

    Strangers choose the hosts that messages wait for: no group waits for the hosts of another one. `process` takes a
    body, and returns what reports the result, which is called in this thread. Returns the ids of the messages that
    failed, and are to be delivered again.
    """
    groups: dict[str, list[SqsRecord]] = {}
    for record in event["Records"]:
        groups.setdefault(record["attributes"].get("MessageGroupId", record["messageId"]), []).append(record)
    running = [threads.submit(_process_group, group, process) for group in groups.values()]
    failed: list[str] = []
    try:
        for processed in running:
            for message_id, result in processed.result():
                error = result if isinstance(result, Exception) else _error_of(result)
                if error:
                    # A failure of one must not make dead letters of the others in the batch.
                    logger.error("to be delivered again", queue_message=message_id, exc_info=stack_of(error))
                    failed.append(message_id)
    finally:
        # Lambda would freeze those that go on.
        wait(running)
    return failed


def _process_group(
    group: list[SqsRecord], process: Callable[[str], Callable[[], None]]
) -> list[tuple[str, Callable[[], None] | Exception]]:
    results: list[tuple[str, Callable[[], None] | Exception]] = []
    for record in group:
        try:
            results.append((record["messageId"], process(record["body"])))
        except Exception as error:
            results.append((record["messageId"], error))
    return results


def _error_of(report: Callable[[], None]) -> Exception | None:
    try:
        report()
    except Exception as error:
        return error
    return None
