"""The shape of SQS batches in Lambda, and of their result; the courier's way through a batch."""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final, TypedDict

from postroom.core.side_by_side import side_by_side
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

    def process_group(group: list[SqsRecord]) -> list[tuple[str, Callable[[], None]]]:
        return [(record["messageId"], _report_of(record["body"], process)) for record in group]

    failed: list[str] = []
    for message_id, report in chain.from_iterable(side_by_side(threads, process_group, list(groups.values()))):
        try:
            report()
        except Exception as error:
            # A failure of one must not make dead letters of the others in the batch.
            logger.exception("to be delivered again", queue_message=message_id, exc_info=stack_of(error))
            failed.append(message_id)
    return failed


def _report_of(body: str, process: Callable[[str], Callable[[], None]]) -> Callable[[], None]:
    try:
        return process(body)
    except Exception as error:
        return partial(_raise, error)


def _raise(error: Exception) -> None:
    raise error
