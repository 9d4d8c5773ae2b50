"""What is read once and kept for a while: never again with the next message."""

from collections import Counter

import pytest
from tests.cost.counting import counted_stack

from postroom.cost import counted


@pytest.mark.stack
def test_a_cold_start_reads_what_it_needs_once() -> None:
    with counted_stack() as stack:
        inbox, claims = stack.take_in("nlweb", [stack.nlweb(number) for number in range(3)])
        # The inbox also asks how many claims wait for silent zones, for another attempt, for
        # look-ups, and to be judged.
        assert inbox.requests == Counter({"dynamodb Query": 2, "sqs GetQueueAttributes": 4, "sqs SendMessage": 3})
        # Beside what it writes, the worker asks whom the owner blocks, whether anybody is told, and what is known of
        # the sender's domain and its zone; that the domain is proven is one more write.
        assert stack.work(claims).of("dynamodb") == 3 * counted.FILE_WRITES + 5
        inbox, claims = stack.take_in("dm3", [stack.message("dm3", number) for number in range(3)])
        reads = {"dynamodb Query": 2, "secrets-manager GetSecretValue": 1, "s3 GetObject": 1}
        assert inbox.requests == Counter({"sqs SendMessage": 3, **reads})
        worker = stack.work(claims)
        assert (worker.of("dynamodb"), worker.of("secrets-manager"), worker.of("s3")) == (7, 1, 1)
