"""The objects of claims too large for the queue, which are deleted when their claims are decided."""

import logging
from dataclasses import dataclass
from typing import Final

from postroom.net.aws_errors import stack_of
from postroom.pipeline.claims import QueuedClaim
from postroom.pipeline.outcomes import Outcome
from postroom.storage.aws.object_store import ObjectStore
from postroom.storage.mail.register import Register

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClaimObjects:
    """Deletes the objects of decided claims. `retain_seconds`: how long tombstones are kept."""

    register: Register
    objects: ObjectStore
    retain_seconds: int

    def delete(self, queued: QueuedClaim, outcome: Outcome) -> None:
        """Delete the object of a claim that is decided, after the courier was told of a discard.

        Any failure is only logged: the expire job deletes what stays.
        """
        claim, pointer = queued.claim, queued.pointer
        # A message of the previous release cannot be decided without its object.
        if pointer is None or pointer.is_bare or pointer.is_gone or not outcome.is_decided:
            return
        try:
            if outcome.row != claim.row:
                # SQS may deliver the queue message again. Then only a row of the claim's own says that it is decided.
                self.register.mark_duplicate(claim.row, claim.received_at_ms // 1000 + self.retain_seconds)
            self.objects.delete(pointer.name)
        except Exception as error:
            _log.warning("the object of claim %s stays for the expire job", claim.id, exc_info=stack_of(error))
