"""Filing of accepted messages: duplicates found, one segment stored for a batch, rows written (steps 2 to 4).

Each function is one step, and any worker may repeat it. If a step fails temporarily for a claim, that claim becomes a
retry, and the others continue.
"""

import logging
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Final

from postroom.core.side_by_side import side_by_side
from postroom.net.aws_errors import stack_of
from postroom.outbound.discard_messages import FeedbackRequest
from postroom.outbound.ports import Clock, NewId
from postroom.pipeline.claims import Claim
from postroom.pipeline.discarding import Discarding
from postroom.pipeline.outcomes import ClaimOutcome, Outcome, attempt, failed, listed_in
from postroom.pipeline.ports import Forwarding
from postroom.pipeline.retention_periods import RetentionPeriods
from postroom.pipeline.verdicts import Accepted, Discarded
from postroom.protocols.nlweb.reasons import CORRELATION_REUSED
from postroom.storage.aws.object_store import ObjectStore, Place
from postroom.storage.layout import RowKey, segment_name
from postroom.storage.limits.quotas import Usages
from postroom.storage.mail.head import Heads
from postroom.storage.mail.outbox import Outbox
from postroom.storage.mail.register import Register, Row
from postroom.storage.mail.seen import Seen
from postroom.storage.mail.segments import Line, lay_out

_ANOTHER_TEXT: Final = "a message of this sender with the same Correlation and another Hash came before"
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Homed:
    """An accepted claim and the register row that is its message's home."""

    claim: Claim
    verdict: Accepted
    home: RowKey


@dataclass(frozen=True, slots=True)
class FilingStorage:
    """The tables and the bucket that accepted messages are written to."""

    seen: Seen
    register: Register
    heads: Heads
    objects: ObjectStore
    usages: Usages
    outbox: Outbox


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Filing:
    """Files accepted messages."""

    storage: FilingStorage
    discarding: Discarding
    forwarding: Forwarding
    times: RetentionPeriods
    clock: Clock
    new_id: NewId
    pool: Executor

    def file(self, accepted: Sequence[tuple[Claim, Accepted]]) -> list[Outcome]:
        """Steps 2 to 4 for the accepted claims of a batch. A temporary fault is an outcome, not an error."""
        found = side_by_side(
            self.pool, lambda it: attempt(it[0], lambda: self._find_home(*it), it[1].correlation), accepted
        )
        homed: list[_Homed] = []
        outcomes: list[Outcome] = []
        for each in found:
            if isinstance(each, _Homed):
                homed.append(each)
            else:
                outcomes.append(each)
        lines = {
            item.home: Line(
                item.home,
                item.verdict.conversation_alias or item.verdict.conversation,
                item.verdict.text,
                item.verdict.receipt,
            )
            for item in homed
            if not item.verdict.forward_to
        }
        try:
            places = self._put_segment(list(lines.values()))
        except Exception as error:
            return outcomes + [failed(item.claim, error, item.verdict.correlation) for item in homed]
        settled = side_by_side(
            self.pool,
            lambda item: attempt(
                item.claim, lambda: self._settle(item, places.get(item.home)), item.verdict.correlation
            ),
            homed,
        )
        self._count(
            [
                (item.home.mailbox, places[item.home].length)
                for item, outcome in zip(homed, settled, strict=True)
                if item.claim.counted and outcome.fate is ClaimOutcome.ACCEPTED
            ]
        )
        return outcomes + settled

    def decide_by_row(self, claim: Claim, feedback_request: FeedbackRequest | None) -> Outcome | None:
        """The outcome of a claim without its envelope, as its own row says; None: it has no row."""
        stands = self.storage.register.find(claim.row)
        correlation = feedback_request.correlation if feedback_request else ""
        return self._met(claim, stands, correlation, feedback_request) if stands else None

    def _find_home(self, claim: Claim, verdict: Accepted) -> "_Homed | Outcome":
        """Step 2: make the claim's own row the message's home, or adopt the home that it already has."""
        identity = verdict.identity
        known = self.storage.seen.claim_home(
            identity.seen_key, identity.digest, claim.row, now=int(self.clock()), forget_at=identity.forget_at
        )
        if known.hash != identity.digest:
            return self.discarding.discard(
                claim, Discarded(CORRELATION_REUSED, _ANOTHER_TEXT, verdict.correlation, verdict.feedback_request)
            )
        home = known.home
        # A synchronous request was answered and has no home. A message past the horizon must not be finished.
        if home is None or (home != claim.row and self.times.is_past_horizon(home.received_at_ms, self.clock())):
            return Outcome(claim, ClaimOutcome.DUPLICATE, correlation=verdict.correlation)
        # This is checked first: most second copies come after the first was filed, and need no line. It also checks the
        # own row of a message to be forwarded, because a message that was forwarded cannot be recalled.
        if home != claim.row or verdict.forward_to:
            stands = self.storage.register.find(home)
            if stands is not None:
                return self._met(claim, stands, verdict.correlation, verdict.feedback_request)
        return _Homed(claim, verdict, home)

    def _put_segment(self, lines: Sequence[Line]) -> dict[RowKey, Place]:
        """Step 3: one new object with all lines to file."""
        if not lines:
            return {}
        name = segment_name(int(self.clock() * 1000), self.new_id())
        data, places = lay_out(lines, name)
        self.storage.objects.put(name, data)
        return {line.row: place for line, place in zip(lines, places, strict=True)}

    def _count(self, filed: Sequence[tuple[str, int]]) -> None:
        """Add the messages filed (mailbox, bytes) to the usage of each mailbox, once."""
        sizes: dict[str, list[int]] = {}
        for mailbox, size in filed:
            sizes.setdefault(mailbox, []).append(size)
        side_by_side(self.pool, lambda it: self._add(it[0], len(it[1]), sum(it[1])), list(sizes.items()))

    def _add(self, mailbox: str, messages: int, size: int) -> None:
        try:
            self.storage.usages.add(mailbox, messages, size)
        except Exception as error:
            # The messages are filed. The next count of the mailbox corrects its usage.
            _log.error("%s messages were not added to the usage of %s", messages, mailbox, exc_info=stack_of(error))

    def _settle(self, item: _Homed, place: Place | None) -> Outcome:
        """Step 4: the home row becomes live, if it is absent. For a forwarded message, the row becomes a tombstone."""
        if place is None:
            return self._forward(item)
        if item.verdict.reported:
            # This comes first: once Feedback is live, nothing checks again whether it was recorded.
            self.storage.outbox.report(item.verdict.reported)
        stands = self.storage.register.file(item.home, place, item.verdict.conversation)
        if stands is not None:
            return self._met(item.claim, stands, item.verdict.correlation, item.verdict.feedback_request)
        self.storage.heads.show(item.home, int(self.clock() * 1000))
        return Outcome(
            item.claim,
            ClaimOutcome.ACCEPTED,
            correlation=item.verdict.correlation,
            row=item.home,
            listed_in=item.home.mailbox,
        )

    def _forward(self, item: _Homed) -> Outcome:
        """Forward the message, at least once; then mark its row.

        The id is the home's, by which the receiver deduplicates.
        """
        self.forwarding.forward(
            item.verdict.forward_to,
            {
                "id": item.home.claim_id,
                "mailbox": item.home.mailbox,
                "envelope": item.claim.envelope,
                "receipt": dict(item.verdict.receipt),
            },
        )
        stands = self.storage.register.forwarded(
            item.home, item.home.received_at_ms // 1000 + self.times.retain_seconds
        )
        if stands is not None:
            return self._met(item.claim, stands, item.verdict.correlation, item.verdict.feedback_request)
        return Outcome(item.claim, ClaimOutcome.FORWARDED, correlation=item.verdict.correlation, row=item.home)

    def _met(self, claim: Claim, stands: Row, correlation: str, feedback_request: FeedbackRequest | None) -> Outcome:
        """The outcome if the home row exists. Filed or acknowledged: done. Discarded: the courier is told again."""
        if stands.discarded is None:
            if stands.live:
                now_ms, heads = int(self.clock() * 1000), self.storage.heads
                (heads.show if stands.key == claim.row else heads.show_again)(stands.key, now_ms)
            return Outcome(
                claim,
                ClaimOutcome.DUPLICATE,
                correlation=correlation,
                row=stands.key,
                listed_in=listed_in(stands),
            )
        self.discarding.request_feedback(stands.key, stands.discarded, feedback_request)
        return Outcome(claim, ClaimOutcome.DISCARDED, stands.discarded, correlation=correlation, row=stands.key)
