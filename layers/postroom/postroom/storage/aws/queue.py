"""SQS queues: sending, hiding, and how many messages are in one.

Bodies are ASCII-escaped JSON: SQS refuses some characters that JSON allows.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from postroom.core.reason import Reason
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.net.aws_errors import transient_as_not_now

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.literals import QueueAttributeFilterType
    from mypy_boto3_sqs.type_defs import ChangeMessageVisibilityBatchRequestEntryTypeDef, SendMessageRequestTypeDef

LONGEST_DELAY_SECONDS: Final = 900
"""The longest DelaySeconds of SQS."""
MAX_BODY_BYTES: Final = 1_000_000
"""SQS accepts 1 MiB (1,048,576 bytes) with attributes; the rest is left for those."""
_LENGTHS: "Final[Sequence[QueueAttributeFilterType]]" = (
    "ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed",
)  # fmt: skip


class Queue:
    """One queue."""

    def __init__(self, sqs: "SQSClient", url: str) -> None:
        self._sqs = sqs
        self._url = url

    def send(self, body: str, delay_seconds: int = 0, reason: Reason = STORE_UNAVAILABLE, group: str = "") -> None:
        """Send one message. Raises NotNowError(`reason`) if SQS did not accept it.

        `group`: the message group, in which many messages do not delay other groups (SQS fair queues); empty: none.
        """
        request: SendMessageRequestTypeDef = {
            "QueueUrl": self._url,
            "MessageBody": body,
            "DelaySeconds": min(delay_seconds, LONGEST_DELAY_SECONDS),
        }
        if group:
            request["MessageGroupId"] = group
        with transient_as_not_now(reason):
            self._sqs.send_message(**request)

    def hide(self, seconds: Mapping[str, int]) -> None:
        """Deliver received messages again after `seconds`, by the receipt of each delivery. At most 10, in one request.

        A message that SQS refuses to hide comes after the queue's visibility time-out. Raises
        NotNowError(STORE_UNAVAILABLE).
        """
        entries: list[ChangeMessageVisibilityBatchRequestEntryTypeDef] = [
            {"Id": str(number), "ReceiptHandle": receipt, "VisibilityTimeout": hidden}
            for number, (receipt, hidden) in enumerate(seconds.items())
        ]
        with transient_as_not_now():
            self._sqs.change_message_visibility_batch(QueueUrl=self._url, Entries=entries)

    def length(self) -> int:
        """The messages in the queue: visible, hidden and delayed. Raises NotNowError(STORE_UNAVAILABLE).

        SQS says it approximately, and may be a minute late. A fault of our own is not recorded: nothing is lost by it.
        """
        with transient_as_not_now(of_others=True):
            found = self._sqs.get_queue_attributes(QueueUrl=self._url, AttributeNames=_LENGTHS)["Attributes"]
        return sum(map(int, found.values()))
