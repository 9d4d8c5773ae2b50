"""The behaviour of SQS and Lambda: they deliver batches, delete what is processed, and deliver the rest again."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.faults.stack import FaultStack, Json
from tests.functions.stack import ACCOUNT, MOTO_REGION

WORKED_BY = {
    "ClaimsQueue": "WorkerFunction",
    "RetryQueue": "WorkerFunction",
    "SuspectsQueue": "WorkerFunction",
    "LookUpsQueue": "WorkerFunction",
    "WaitingQueue": "WaitingFunction",
    "CourierQueue": "CourierFunction",
    "FeedbackQueue": "FeedbackFunction",
}
_HELD_SECONDS = 600
_AT_ONCE = 10


@dataclass
class Queues:
    """The queues of a stack. `copies`: every (queue, body) that was ever delivered."""

    stack: FaultStack
    copies: list[tuple[str, str]] = field(default_factory=list)

    def receive(self, queue: str) -> list[Json]:
        """Receive all messages of a queue; they are invisible until they are deleted or released."""
        taken: list[Json] = []
        while len(taken) % _AT_ONCE == 0:
            messages: Any = self._sqs.receive_message(
                QueueUrl=self._url(queue), MaxNumberOfMessages=_AT_ONCE,
                VisibilityTimeout=_HELD_SECONDS, AttributeNames=["All"],
            ).get("Messages")  # fmt: skip
            if not messages:
                break
            taken += messages
        self.copies += [(queue, message["Body"]) for message in taken]
        return taken

    def release(self, queue: str, messages: list[Json]) -> None:
        """End the visibility time-out of messages."""
        for entries in _entries(messages, VisibilityTimeout=0):
            self._sqs.change_message_visibility_batch(QueueUrl=self._url(queue), Entries=entries)

    def release_received(self) -> None:
        """End the visibility time-out of messages that functions received themselves."""
        for url, receipt in self.stack.tap.received():
            # Messages that have been deleted fail in their entry, which is ignored.
            entry = {"Id": "0", "ReceiptHandle": receipt, "VisibilityTimeout": 0}
            self._sqs.change_message_visibility_batch(QueueUrl=url, Entries=[entry])

    def finish(self, queue: str, messages: list[Json], answer: Json) -> None:
        """Delete processed messages, and release the others (a partial batch response)."""
        failed = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
        done = [message for message in messages if message["MessageId"] not in failed]
        for entries in _entries(done):
            self._sqs.delete_message_batch(QueueUrl=self._url(queue), Entries=entries)
        self.release(queue, [message for message in messages if message["MessageId"] in failed])

    def move(self, queue: str, to: str) -> None:
        """Move all messages of a queue to the dead letters, or back. They get new ids."""
        messages = self.receive(queue)
        for message in messages:
            self._sqs.send_message(QueueUrl=self._url(to), MessageBody=message["Body"])
        self.finish(queue, messages, {"batchItemFailures": []})

    def work_off(self, batch: int = _AT_ONCE) -> bool:
        """Deliver all messages of the functions' queues once; returns whether there were any."""
        busy, lying = False, self.stack.lying()
        for queue, function in WORKED_BY.items():
            if not any(message["IsVisible"] for message in lying[self._url(queue)]):
                continue
            messages = self.receive(queue)
            size = 1 if queue == "SuspectsQueue" else batch
            for start in range(0, len(messages), size):
                part = messages[start : start + size]
                self.finish(queue, part, self.stack.call(function, event_of(queue, part)))
            busy, lying = True, self.stack.lying()
        return busy

    def hand_out_copies(self) -> None:
        """Deliver a copy of every message that was delivered before, although it was deleted."""
        for queue, function in WORKED_BY.items():
            bodies = list(dict.fromkeys(body for name, body in self.copies if name == queue))
            for body in bodies:
                self.stack.call(function, event_of(queue, [_copy(body)]))

    def holds(self, queue: str) -> int:
        """The number of messages in a queue, including invisible ones."""
        return len(self.stack.lying()[self._url(queue)])

    def held(self) -> Iterator[tuple[str, int]]:
        """The template's queues that are not empty, with their numbers of messages."""
        lying = self.stack.lying()
        for queue, url in self.stack.deployed.queues.items():
            if lying[url]:
                yield queue, len(lying[url])

    def arrived(self) -> Iterator[Json]:
        """The messages that arrived at the operators' queues since the last call."""
        for queue in self.stack.outside:
            messages = self.receive(queue)
            self.finish(queue, messages, {"batchItemFailures": []})
            for message in messages:
                said = json.loads(message["Body"])
                yield said.get("detail", said)  # an event bus wraps it in an event

    def _url(self, queue: str) -> str:
        return {**self.stack.deployed.queues, **self.stack.outside}[queue]

    @property
    def _sqs(self) -> Any:
        return self.stack.deployed.clients.sqs


def _entries(messages: list[Json], **attributes: int) -> Iterator[list[Json]]:
    """The entries of a batch call for messages."""
    for start in range(0, len(messages), _AT_ONCE):
        part = messages[start : start + _AT_ONCE]
        yield [{"Id": str(n), "ReceiptHandle": each["ReceiptHandle"], **attributes} for n, each in enumerate(part)]


def _copy(body: str) -> Json:
    return {"MessageId": "copy", "ReceiptHandle": "", "Body": body, "Attributes": {"ApproximateReceiveCount": "1"}}


def event_of(queue: str, messages: list[Json]) -> Json:
    """The Lambda event with messages."""
    return {
        "Records": [
            {
                "messageId": message["MessageId"],
                "receiptHandle": message["ReceiptHandle"],
                "body": message["Body"],
                "attributes": message["Attributes"],
                "eventSource": "aws:sqs",
                "eventSourceARN": f"arn:aws:sqs:{MOTO_REGION}:{ACCOUNT}:{queue}",
                "awsRegion": MOTO_REGION,
            }
            for message in messages
        ]
    }
