"""What SQS and Lambda do with queues: hand out batches, delete what is done, hand out again what is not."""

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
    "CourierQueue": "CourierFunction",
}
_HELD_SECONDS = 600
_AT_ONCE = 10


@dataclass
class Queues:
    """The queues of a stack. `copies`: every (queue, body) that was ever handed out."""

    stack: FaultStack
    copies: list[tuple[str, str]] = field(default_factory=list)

    def receive(self, queue: str) -> list[Json]:
        """All messages of a queue, held back from others until they are deleted or released."""
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
        """Their visibility time-out passes."""
        for entries in _entries(messages, VisibilityTimeout=0):
            self._sqs.change_message_visibility_batch(QueueUrl=self._url(queue), Entries=entries)

    def release_received(self) -> None:
        """The visibility time-out of what functions received themselves passes."""
        for url, receipt in self.stack.tap.received():
            # What was deleted since has none: that is said of the entry.
            entry = {"Id": "0", "ReceiptHandle": receipt, "VisibilityTimeout": 0}
            self._sqs.change_message_visibility_batch(QueueUrl=url, Entries=[entry])

    def finish(self, queue: str, messages: list[Json], answer: Json) -> None:
        """Delete what a function is done with, release what it is not (a partial batch response)."""
        failed = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
        done = [message for message in messages if message["MessageId"] not in failed]
        for entries in _entries(done):
            self._sqs.delete_message_batch(QueueUrl=self._url(queue), Entries=entries)
        self.release(queue, [message for message in messages if message["MessageId"] in failed])

    def move(self, queue: str, to: str) -> None:
        """Move all messages of a queue: to the dead letters, or back again. They get new ids there."""
        messages = self.receive(queue)
        for message in messages:
            self._sqs.send_message(QueueUrl=self._url(to), MessageBody=message["Body"])
        self.finish(queue, messages, {"batchItemFailures": []})

    def work_off(self, batch: int = _AT_ONCE) -> bool:
        """Hand out once what lies in each queue that a function works off; whether there was anything."""
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
        """What was handed out before comes again, once more, though it was deleted."""
        for queue, function in WORKED_BY.items():
            bodies = list(dict.fromkeys(body for name, body in self.copies if name == queue))
            for body in bodies:
                self.stack.call(function, event_of(queue, [_copy(body)]))

    def holds(self, queue: str) -> int:
        """How many messages a queue holds, those that are held back included."""
        return len(self.stack.lying()[self._url(queue)])

    def held(self) -> Iterator[tuple[str, int]]:
        """The queues of the template in which something is left, and how much."""
        lying = self.stack.lying()
        for queue, url in self.stack.deployed.queues.items():
            if lying[url]:
                yield queue, len(lying[url])

    def arrived(self) -> Iterator[Json]:
        """What arrived at the operators' queues since somebody looked."""
        for queue in self.stack.outside:
            messages = self.receive(queue)
            self.finish(queue, messages, {"batchItemFailures": []})
            for message in messages:
                said = json.loads(message["Body"])
                yield said.get("detail", said)  # an event bus puts it into an event

    def _url(self, queue: str) -> str:
        return {**self.stack.deployed.queues, **self.stack.outside}[queue]

    @property
    def _sqs(self) -> Any:
        return self.stack.deployed.clients.sqs


def _entries(messages: list[Json], **attributes: int) -> Iterator[list[Json]]:
    """The entries of batch calls about messages."""
    for start in range(0, len(messages), _AT_ONCE):
        part = messages[start : start + _AT_ONCE]
        yield [{"Id": str(n), "ReceiptHandle": each["ReceiptHandle"], **attributes} for n, each in enumerate(part)]


def _copy(body: str) -> Json:
    return {"MessageId": "copy", "ReceiptHandle": "", "Body": body, "Attributes": {"ApproximateReceiveCount": "1"}}


def event_of(queue: str, messages: list[Json]) -> Json:
    """The event that Lambda makes of messages."""
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
