"""What is alike in two runs that leave the same."""

import json

from tests.faults.left import lasting
from tests.functions.samples import RECEIVER, SENDER

from postroom.outbound.discard_messages import DiscardSummaryDue
from postroom.protocols.nlweb.schema import NLWEB
from postroom.storage.aws.attributes import primary_key


def feedback_of(hour: int) -> list[str]:
    """What is stored of the Feedback of an hour."""
    row = json.dumps(primary_key(f"feedback#{SENDER}#{hour}"))
    return [lasting(row), lasting(DiscardSummaryDue(RECEIVER, SENDER, hour, NLWEB).encode())]


def test_an_hour_that_ends_between_two_runs_makes_no_difference() -> None:
    row, due = feedback_of(498_680)
    assert [row, due] == feedback_of(498_681)
    assert SENDER in row
    assert SENDER in due
