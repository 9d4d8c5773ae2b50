"""The sending of owners' messages: signed, posted, and retried until there is a final answer.

Each attempt may be made twice, if the queue message is delivered again: receivers deduplicate by the Hash, which is the
same.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from postroom.api.states import State
from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import JsonValue, parse
from postroom.outbound.backoff import backoff
from postroom.outbound.delivery import Delivery
from postroom.outbound.envelope_sender import EnvelopeSender
from postroom.outbound.outbox_messages import Outgoing
from postroom.outbound.ports import Clock, SendQueue
from postroom.protocols.nlweb.feedback import read_refusal
from postroom.storage.mail.outbox import DeliveryEnd, Outbox

MAX_REPLY_BYTES: Final = 8192
"""The largest answer that is kept for the owner: each change of a row is paid by its length."""
_log: Final = logging.getLogger(__name__)
_BECAME: Final = {
    State.DELIVERED: Delivery.DELIVERED,
    State.REFUSED: Delivery.REFUSED,
    State.GIVEN_UP: Delivery.GIVEN_UP,
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OutboxSender:
    """Sends messages of owners. `give_up_seconds`: how long one is tried. `jitter` returns 0 ≤ x < 1."""

    outbox: Outbox
    envelope_sender: EnvelopeSender
    queue: SendQueue
    give_up_seconds: int
    clock: Clock
    jitter: Callable[[], float]

    def send(self, outgoing: Outgoing) -> Delivery:
        """Try once, or requeue the message. Raises NotNowError if that failed, too."""
        try:
            return self._send(outgoing)
        except NotNowError as error:
            _log.warning("a message from %s to %s waits: %s", outgoing.draft.sender, outgoing.draft.receiver, error)
            self.queue.send(outgoing.again().encode(), backoff(outgoing.tries, self.jitter()), group=outgoing.group)
            return Delivery.WAITING

    def _send(self, outgoing: Outgoing) -> Delivery:
        draft = outgoing.draft
        message = self.outbox.find(draft.sender, outgoing.correlation)
        if message is None or not message.is_carried_by(outgoing.carrier):
            return Delivery.SILENT
        try:
            end = self._posted(outgoing)
        except NotNowError as error:
            if self.clock() * 1000 - draft.timestamp_ms <= self.give_up_seconds * 1000:
                raise
            end = DeliveryEnd(State.GIVEN_UP, self._now_ms(), str(error.reason), error.detail)
        self.outbox.finish(draft.sender, outgoing.correlation, end)
        return _BECAME[end.state]

    def _posted(self, outgoing: Outgoing) -> DeliveryEnd:
        answer = self.envelope_sender.post(outgoing.draft)
        said = _read(answer.body)
        if answer.taken:
            return DeliveryEnd(State.DELIVERED, self._now_ms(), reply="" if said is None else answer.body.decode())
        reason, detail = read_refusal(said)
        detail = detail or f"{outgoing.draft.receiver} answered {answer.status}"
        return DeliveryEnd(State.REFUSED, self._now_ms(), reason, detail)

    def _now_ms(self) -> int:
        return int(self.clock() * 1000)


def _read(body: bytes) -> JsonValue:
    """The JSON of an answer; None: it is not JSON, or too large."""
    try:
        return parse(body, max_bytes=MAX_REPLY_BYTES)
    except TheirError:
        return None
