"""The Feedback that senders' buffers received, held against what was discarded."""

import json
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field

from tests.faults.messages import FeedbackDue, Message


@dataclass
class ReceivedFeedback:
    """The Feedback that came in at buffers: its texts, by the Correlation or the hour (a summary) that it is about."""

    of_messages: dict[str, set[str]] = field(default_factory=dict)
    of_hours: dict[str, set[str]] = field(default_factory=dict)
    withheld: dict[str, int] = field(default_factory=dict)
    """By hour: how many discards its summary counts."""

    @staticmethod
    def read(posted: Sequence[bytes]) -> "ReceivedFeedback":
        """What came in."""
        feedback = ReceivedFeedback()
        for envelope in map(json.loads, posted):
            header, body = envelope["Header"], envelope["Body"]
            # Repeated it is the same to the bit, or the buffer takes it for another.
            text = json.dumps([header, body], sort_keys=True)
            if "Correlation" in body:
                feedback.of_messages.setdefault(body["Correlation"], set()).add(text)
            else:
                feedback.of_hours.setdefault(f"{header['To']} {body['Since']}", set()).add(text)
                feedback.withheld[f"{header['To']} {body['Since']}"] = body["Count"]
        return feedback

    def faults(self, sent: Sequence[Message], discarded: Set[str]) -> Iterator[str]:
        """At most one Feedback about a message, and none about one that is kept; those withheld are counted."""
        for about, texts in [*self.of_messages.items(), *self.of_hours.items()]:
            if len(texts) > 1:
                yield f"{len(texts)} Feedback messages tell of {about}"
        gone = [message for message in sent if message.who in discarded]
        for about in self.of_messages:
            due = {message.feedback for message in gone if message.correlation == about}
            if not due:
                yield f"a Feedback tells of {about}, which was not discarded"
            elif due == {FeedbackDue.NEVER}:
                yield f"a Feedback tells of {about}, which was accepted: a stranger's copy was discarded"
        silent = [
            each for each in gone if each.feedback is FeedbackDue.DUE and each.correlation not in self.of_messages
        ]
        # A death may have counted one twice.
        if len(silent) > sum(self.withheld.values()):
            who = ", ".join(message.who for message in silent)
            yield f"{who}: discarded, told of to nobody, and the summaries count {sum(self.withheld.values())}"
