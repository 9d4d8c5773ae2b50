"""The comparison of the Feedback in senders' buffers with the discarded messages."""

import json
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field

from tests.faults.messages import FeedbackDue, Message


@dataclass
class ReceivedFeedback:
    """The Feedback that buffers received: its texts, by Correlation, or by hour for a summary."""

    of_messages: dict[str, set[str]] = field(default_factory=dict)
    of_hours: dict[str, set[str]] = field(default_factory=dict)
    withheld: dict[str, int] = field(default_factory=dict)
    """The discards in each summary, by hour."""

    @staticmethod
    def read(posted: Sequence[bytes]) -> "ReceivedFeedback":
        """Read the received messages."""
        feedback = ReceivedFeedback()
        for envelope in map(json.loads, posted):
            header, body = envelope["Header"], envelope["Body"]
            # A repeated message must have the same bytes, or the buffer takes it for another one.
            text = json.dumps([header, body], sort_keys=True)
            if "Correlation" in body:
                feedback.of_messages.setdefault(body["Correlation"], set()).add(text)
            else:
                feedback.of_hours.setdefault(f"{header['To']} {body['Since']}", set()).add(text)
                feedback.withheld[f"{header['To']} {body['Since']}"] = body["Count"]
        return feedback

    def faults(self, sent: Sequence[Message], discarded: Set[str]) -> Iterator[str]:
        """The problems: there may be one Feedback about a discarded message, none about others; withheld ones count."""
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
        # After a death, one may have been counted twice.
        if len(silent) > sum(self.withheld.values()):
            who = ", ".join(message.who for message in silent)
            yield f"{who}: discarded, told of to nobody, and the summaries count {sum(self.withheld.values())}"
