"""Dead letters as an operator sees them: since when the message of each kind is on its way."""

import pytest
from tests.functions.samples import MADE_AT, RECEIVER, SENDER, claim, discarded_row

from postroom.core.reasons import TOO_LATE
from postroom.core.timestamps import write_timestamp
from postroom.outbound.discard_messages import DiscardNotification, DiscardSummaryDue
from postroom.outbound.notification_messages import MailWaiting
from postroom.outbound.outbox_messages import Outgoing
from postroom.outbound.queue_messages import QueueMessage
from postroom.pipeline.claims import QueuedClaim
from postroom.pipeline.operators_dead_letters import ReadDeadLetter
from postroom.protocols.nlweb.schema import NLWEB
from postroom.protocols.nlweb.sign import Draft

MADE = write_timestamp(MADE_AT * 1000)
SENT_AT_MS = (MADE_AT + 86_400) * 1000
"""When its queue got it, at its latest try."""
SENT = write_timestamp(SENT_AT_MS)


@pytest.mark.parametrize(
    ("content", "since"),
    [
        (QueuedClaim(claim(1, MADE_AT, "not JSON"), tries=3), MADE),
        (Outgoing(Draft(SENDER, RECEIVER, "Hello@Host", "c", MADE_AT * 1000, None), "mark", tries=3), MADE),
        (DiscardNotification(discarded_row(MADE_AT), TOO_LATE, RECEIVER, SENDER, "c", "", NLWEB, MADE_AT * 1000), MADE),
        (DiscardSummaryDue(RECEIVER, SENDER, 498_681, NLWEB), "2026-11-21T09:00:00.000Z"),
        (MailWaiting(RECEIVER), SENT),
        (None, SENT),
    ],
    ids=["claim", "outgoing", "discard", "summary of an hour", "notification", "unreadable"],
)
def test_a_dead_letter_counts_from_where_its_message_began_its_way_if_it_says_so(
    content: QueuedClaim | QueueMessage | None, since: str
) -> None:
    assert write_timestamp(ReadDeadLetter(content, 2).since_ms(SENT_AT_MS)) == since
