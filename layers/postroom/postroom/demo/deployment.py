"""A deployment of the demo, with its stored and queued messages as its operator sees them."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from postroom.core.errors import OurError
from postroom.core.settings import read_outputs
from postroom.local.stack import LocalDeployment
from postroom.net.failing_addresses import FAILING_SECONDS
from postroom.runtime.deployment import Deployment
from postroom.runtime.storage_parts import StorageParts
from postroom.storage.aws.object_store import ObjectStore
from postroom.storage.directory.mailboxes import Mailboxes
from postroom.storage.directory.operators import Operators
from postroom.storage.mail.head import is_head
from postroom.storage.mail.reader import Filed
from postroom.storage.mail.register import Row, read_row
from postroom.storage.secrets.signing_keys import SigningKeys

if TYPE_CHECKING:
    from mypy_boto3_sqs.literals import QueueAttributeFilterType

T = TypeVar("T")

PATIENCE_SECONDS = 2.5 * FAILING_SECONDS
"""Far more than any step takes, because the machine may be busy: an address that was too slow once is left alone for
FAILING_SECONDS, and all hosts have the same one here."""
_POLL_SECONDS = 0.1
_WORK_QUEUES = (
    "ClaimsQueueUrl",
    "RetryQueueUrl",
    "SuspectsQueueUrl",
    "LookUpsQueueUrl",
    "WaitingQueueUrl",
    "CourierQueueUrl",
    "FeedbackQueueUrl",
)


@dataclass(frozen=True)
class DemoDeployment:
    """A deployment and its domain."""

    domain: str
    deployment: LocalDeployment

    @cached_property
    def storage(self) -> StorageParts:
        """Its storage: tables, bucket and secrets."""
        return Deployment(read_outputs(self.deployment.outputs), self.deployment.client).storage

    @property
    def operators(self) -> Operators:
        """The operator's part of its directory, writable."""
        return self.storage.operators

    @property
    def mailboxes(self) -> Mailboxes:
        """Its mailboxes and their owner keys, writable."""
        return self.storage.mailboxes

    @property
    def objects(self) -> ObjectStore:
        """Its bucket."""
        return self.storage.objects

    @property
    def signing_keys(self) -> SigningKeys:
        """The signing keys of its domains."""
        return self.storage.signing_keys

    def rows(self) -> list[Row]:
        """All registers, in the order of arrival."""
        pages = (
            self.deployment.client("dynamodb")
            .get_paginator("scan")
            .paginate(TableName=self.deployment.outputs["PostTable"], ConsistentRead=True)
        )
        return sorted(
            (read_row(item) for page in pages for item in page["Items"] if not is_head(item)),
            key=lambda row: row.key.sk,
        )

    def filed(self, mailbox: str, conversation: str = "") -> Sequence[Filed]:
        """The messages of a mailbox, with their receipts."""
        reader = self.storage.reader
        conversations = frozenset({conversation} if conversation else ())
        return reader.fetch_all(list(reader.list(mailbox, 1, now=int(time.time()), conversations=conversations)))

    def waiting(self, *queues: str) -> int:
        """The number of messages in queues. `queues`: names of outputs; none: all queues but those of dead letters."""
        sqs = self.deployment.client("sqs")
        names: list[QueueAttributeFilterType] = [
            "ApproximateNumberOfMessages",
            "ApproximateNumberOfMessagesNotVisible",
            "ApproximateNumberOfMessagesDelayed",
        ]
        total = 0
        for queue in queues or _WORK_QUEUES:
            attributes = sqs.get_queue_attributes(
                QueueUrl=self.deployment.outputs[queue],
                AttributeNames=names,
            )["Attributes"]
            total += sum(int(value) for value in attributes.values())
        return total

    def end_instances(self, function: str) -> None:
        """End the instances of a function (the name of its output), as its deployment does; none must be at work."""
        client, name = self.deployment.client("lambda"), self.deployment.outputs[function]
        variables = client.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
        client.update_function_configuration(FunctionName=name, Environment={"Variables": variables})

    def settle(self) -> None:
        """Wait until all queues are empty."""
        until("all queues are empty", lambda: True if self.waiting() == 0 else None)


def until(what: str, look: Callable[[], T | None], seconds: float = PATIENCE_SECONDS) -> T:
    """Poll until `look` returns something other than None. Raises OurError(`what`) after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        found = look()
        if found is not None:
            return found
        if time.monotonic() > end:
            raise OurError(f"waited {seconds:.0f} s without success until {what}")
        time.sleep(_POLL_SECONDS)


def envelope_of(message: Filed) -> dict[str, dict[str, str]]:
    """The envelope of a filed message."""
    value: dict[str, dict[str, str]] = json.loads(message.line.envelope)
    return value
