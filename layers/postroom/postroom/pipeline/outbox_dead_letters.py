"""The handler of dead letters of the courier's queue, which gives owners' messages a final state.

SQS deletes dead letters silently after 14 days, and the outbox would say `queued` for ever. Messages that the courier
would still try stay in the queue, for an operator to look at and to redrive. So does Feedback, which has no state that
anybody waits for.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from postroom.api.states import State
from postroom.core.errors import NotNowError
from postroom.core.reasons import UNDELIVERABLE
from postroom.net.aws_errors import stack_of
from postroom.outbound.outbox_messages import Outgoing
from postroom.outbound.ports import Clock
from postroom.outbound.queue_messages import read_queue_message
from postroom.pipeline.dead_letters import DeadLetter
from postroom.storage.mail.outbox import DeliveryEnd, Outbox

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DecidedOutboxDeadLetters:
    """The result of a round.

    `decided`: receipt handles that may be deleted. `given_up`: messages given up in this round.
    """

    decided: tuple[str, ...]
    given_up: tuple[Outgoing, ...]


class OutboxDeadLetterHandler:
    """Gives messages up. `give_up_seconds`: how long the courier tries."""

    def __init__(self, *, outbox: Outbox, clock: Clock, give_up_seconds: int) -> None:
        self._outbox = outbox
        self._clock = clock
        self._give_up_ms = give_up_seconds * 1000

    def keep(self, dead_letters: Sequence[DeadLetter]) -> DecidedOutboxDeadLetters:
        """Give up the messages that the courier no longer tries, and keep the others."""
        decided, given_up = [], []
        for dead_letter in dead_letters:
            try:
                carried = read_queue_message(dead_letter.body)
                if not isinstance(carried, Outgoing) or not self._is_over(carried):
                    continue
                if self.give_up(carried):
                    given_up.append(carried)
            except NotNowError:
                continue
            except Exception as error:
                _log.error("a dead letter of the courier's stays undecided", exc_info=stack_of(error))
                continue
            decided.append(dead_letter.receipt_handle)
        return DecidedOutboxDeadLetters(tuple(decided), tuple(given_up))

    def _is_over(self, outgoing: Outgoing) -> bool:
        return self._clock() * 1000 - outgoing.draft.timestamp_ms > self._give_up_ms

    def give_up(self, outgoing: Outgoing) -> bool:
        """Give a message up. True: its state changed. Raises NotNowError(STORE_UNAVAILABLE)."""
        draft = outgoing.draft
        message = self._outbox.find(draft.sender, outgoing.correlation)
        if message is None or not message.is_carried_by(outgoing.carrier):
            return False
        reason = UNDELIVERABLE
        end = DeliveryEnd(State.GIVEN_UP, int(self._clock() * 1000), str(reason), reason.sentence)
        self._outbox.finish(draft.sender, outgoing.correlation, end)
        return True
