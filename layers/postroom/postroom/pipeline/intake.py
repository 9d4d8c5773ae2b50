"""The inbox's last step, for every protocol: make the claim, store it if it is large, queue it."""

from dataclasses import dataclass

from postroom.core.errors import NotNowError
from postroom.core.reasons import NOT_QUEUED
from postroom.outbound.discard_messages import FeedbackRequest
from postroom.outbound.ports import NewId, SendQueue
from postroom.pipeline.claim_details import Details
from postroom.pipeline.claims import Claim, pack
from postroom.pipeline.ports import DeploymentRules
from postroom.pipeline.quota import QuotaCheck
from postroom.storage.aws.object_store import ObjectStore
from postroom.storage.layout import row_key, sender_group


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Intake:
    """Accepts messages into the queue."""

    directory: DeploymentRules
    claims: SendQueue
    objects: ObjectStore
    quota_check: QuotaCheck
    new_id: NewId

    def take(
        self,
        mailbox: str,
        envelope: str,
        *,
        received_at_ms: int,
        sender: str,
        source: str,
        details: Details,
        feedback_request: FeedbackRequest | None = None,
    ) -> Claim:
        """The claim, once it is queued; only then may the sender get an answer.

        `sender`: who the message says wrote it, not verified yet; `source`: the IP address that it came from.
        `feedback_request`: whom to send Feedback to, if it is discarded. Raises TheirError(MAILBOX_FULL),
        NotNowError(NOT_QUEUED, STORE_UNAVAILABLE).
        """
        known = self.directory.mailbox(mailbox)
        counted = details.is_filed and self.quota_check.take(known, envelope)
        claim_id = self.new_id()
        row = row_key(mailbox, known.shards, received_at_ms, claim_id)
        claim = Claim(claim_id, received_at_ms, mailbox, row, source, envelope, details, counted)
        try:
            body = pack(claim, self.objects.put, feedback_request)
        except NotNowError as error:
            raise NotNowError(NOT_QUEUED) from error
        self.claims.send(body, reason=NOT_QUEUED, group=sender_group(sender, source))
        return claim
