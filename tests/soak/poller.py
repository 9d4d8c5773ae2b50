"""A replacement of Lambda's event source mapping: it receives messages, calls the handler, and deletes what is done.

It replaces the emulator's, which delivers batches of at most ten. It does what SQS may do: messages arrive in any
order, and sometimes twice, at another worker at the same time, or long after they were processed.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

from botocore.exceptions import BotoCoreError, ClientError

from postroom.local.clients import REGION
from postroom.runtime.batches import BatchResult, SqsEvent, SqsRecord

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import MessageTypeDef

DUPLICATED: Final = 0.01
LATEST_SECONDS: Final = 20
WINDOW_SECONDS: Final = 1.0
"""As in the template (MaximumBatchingWindowInSeconds)."""
_LOOK_SECONDS: Final = 0.1
_RECEIVE: Final = 10
"""The maximum of one ReceiveMessage."""

_log: Final = logging.getLogger(__name__)
Handler = Callable[[SqsEvent], BatchResult]


@dataclass(frozen=True)
class Source:
    """A queue that a function processes, and its maximum batch size."""

    url: str
    batch: int


class Poller:
    """Feeds a handler from a queue. `note`: counts an event by its name."""

    def __init__(
        self, sqs: "SQSClient", source: Source, handler: Handler, rng: Random, note: Callable[[str], None]
    ) -> None:
        self._sqs = sqs
        self._source = source
        self._handler = handler
        self._rng = rng
        self._note = note

    def turn(self, *, patient: bool) -> None:
        """Process one batch, if there are messages. If the function fails, the queue delivers them again.

        `patient`: wait until the batch is full, or the batching window has passed.
        """
        messages = self._receive(patient=patient)
        if not messages:
            return
        for message in messages:
            if int(message["Attributes"]["ApproximateReceiveCount"]) > 1:
                self._note("redelivered")
            if self._rng.random() < DUPLICATED:
                self._hand_out_twice(message)
        self._rng.shuffle(messages)
        try:
            result = self._handler({"Records": [self._record(message) for message in messages]})
        except Exception:
            _log.exception("the function failed")
            self._note("function failed")
            return
        again = {failure["itemIdentifier"] for failure in result["batchItemFailures"]}
        self._delete([message for message in messages if message["MessageId"] not in again])

    def _receive(self, *, patient: bool) -> "list[MessageTypeDef]":
        """A full batch, or the messages that arrived within the batching window."""
        messages: list[MessageTypeDef] = []
        until = time.monotonic() + (WINDOW_SECONDS if patient else 0)
        while True:
            wanted = min(_RECEIVE, self._source.batch - len(messages))
            try:
                found = self._sqs.receive_message(
                    QueueUrl=self._source.url, MaxNumberOfMessages=wanted, MessageSystemAttributeNames=["All"]
                ).get("Messages", [])
            except (BotoCoreError, ClientError):
                # Messages that no function got are delivered again after their visibility time-out.
                found = []
            messages += found
            if len(messages) == self._source.batch or time.monotonic() > until:
                return messages
            if len(found) < wanted:
                time.sleep(_LOOK_SECONDS)

    def _hand_out_twice(self, message: "MessageTypeDef") -> None:
        try:
            self._sqs.send_message(
                QueueUrl=self._source.url,
                MessageBody=message["Body"],
                DelaySeconds=self._rng.choice([0, 0, self._rng.randrange(1, LATEST_SECONDS)]),
            )
        except (BotoCoreError, ClientError):
            return
        self._note("handed out twice by the queue")

    def _record(self, message: "MessageTypeDef") -> SqsRecord:
        account, name = self._source.url.split("/")[-2:]
        return {
            "messageId": message["MessageId"],
            "body": message["Body"],
            "attributes": {str(key): value for key, value in message["Attributes"].items()},
            "eventSourceARN": f"arn:aws:sqs:{REGION}:{account}:{name}",
        }

    def _delete(self, messages: "Sequence[MessageTypeDef]") -> None:
        for first in range(0, len(messages), _RECEIVE):
            entries = [
                {"Id": str(number), "ReceiptHandle": message["ReceiptHandle"]}
                for number, message in enumerate(messages[first : first + _RECEIVE])
            ]
            try:
                self._sqs.delete_message_batch(QueueUrl=self._source.url, Entries=entries)  # type: ignore[arg-type]
            except (BotoCoreError, ClientError):
                # Then they are delivered again after they were processed.
                self._note("not deleted")
