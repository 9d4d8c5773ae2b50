"""A dead-letter queue, as an operator reads it: a message leaves it only after it was sent elsewhere, or decided."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from postroom.net.aws_errors import transient_as_not_now

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import MessageTypeDef

HIDDEN_SECONDS: Final = 120
"""How long a message that was read is invisible to others, unless it is released before."""
_AT_ONCE: Final = 10
_WAIT_SECONDS = 1
"""Long polling: a short poll asks only some of the servers, and can miss messages."""


@dataclass(frozen=True, slots=True)
class HeldDeadLetter:
    """A message of a dead-letter queue. `id`: SQS's, the same until it leaves the queue.

    `source`: the name of the queue that it came from; empty: SQS does not say. `group`: its message group; empty: none.
    `sent_at_ms`: when it was sent to that queue.
    """

    id: str
    receipt_handle: str
    body: str
    source: str
    group: str
    sent_at_ms: int


@dataclass(frozen=True, slots=True)
class DeadLetterCount:
    """The approximate number of messages. `hidden`: those that somebody reads at the moment."""

    visible: int
    hidden: int


class DeadLetterQueue:
    """One dead-letter queue."""

    def __init__(self, sqs: "SQSClient", url: str) -> None:
        self._sqs = sqs
        self._url = url

    def count(self) -> DeadLetterCount:
        """How many there are. Raises NotNowError(STORE_UNAVAILABLE)."""
        with transient_as_not_now():
            found = self._sqs.get_queue_attributes(
                QueueUrl=self._url,
                AttributeNames=["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"],
            )["Attributes"]
        return DeadLetterCount(
            int(found["ApproximateNumberOfMessages"]), int(found["ApproximateNumberOfMessagesNotVisible"])
        )

    def read(self) -> Iterator[HeldDeadLetter]:
        """Each message that is visible, once; it is hidden from others until it is released, or for two minutes.

        Raises NotNowError(STORE_UNAVAILABLE).
        """
        seen: set[str] = set()
        while fresh := [each for each in self._receive() if each.id not in seen]:
            seen.update(each.id for each in fresh)
            yield from fresh

    def release(self, dead_letters: Sequence[HeldDeadLetter]) -> None:
        """Show messages to others again. One that SQS does not release is visible after two minutes.

        Raises NotNowError(STORE_UNAVAILABLE).
        """
        for begin in range(0, len(dead_letters), _AT_ONCE):
            with transient_as_not_now():
                self._sqs.change_message_visibility_batch(
                    QueueUrl=self._url,
                    Entries=[
                        {"Id": str(number), "ReceiptHandle": dead_letter.receipt_handle, "VisibilityTimeout": 0}
                        for number, dead_letter in enumerate(dead_letters[begin : begin + _AT_ONCE])
                    ],
                )

    def delete(self, dead_letter: HeldDeadLetter) -> None:
        """Delete a message. Raises NotNowError(STORE_UNAVAILABLE)."""
        with transient_as_not_now():
            self._sqs.delete_message(QueueUrl=self._url, ReceiptHandle=dead_letter.receipt_handle)

    def _receive(self) -> list[HeldDeadLetter]:
        with transient_as_not_now():
            messages = self._sqs.receive_message(
                QueueUrl=self._url,
                MaxNumberOfMessages=_AT_ONCE,
                VisibilityTimeout=HIDDEN_SECONDS,
                WaitTimeSeconds=_WAIT_SECONDS,
                MessageSystemAttributeNames=["All"],
            ).get("Messages", [])
        return list(map(_held, messages))


def _held(message: "MessageTypeDef") -> HeldDeadLetter:
    found = message.get("Attributes", {})
    return HeldDeadLetter(
        message["MessageId"],
        message["ReceiptHandle"],
        message["Body"],
        found.get("DeadLetterQueueSourceArn", "").rpartition(":")[2],
        found.get("MessageGroupId", ""),
        int(found.get("SentTimestamp", "0")),
    )
