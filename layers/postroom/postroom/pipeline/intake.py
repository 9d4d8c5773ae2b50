"""The inbox's last step, for every protocol: make the claim, store it if it is large, queue it."""

from postroom.core.errors import NotNowError
from postroom.core.reasons import NOT_QUEUED
from postroom.outbound.ports import NewId, SendQueue
from postroom.pipeline.claim_details import Details
from postroom.pipeline.claims import Claim, pack
from postroom.pipeline.ports import DeploymentRules
from postroom.pipeline.quota import QuotaCheck
from postroom.storage.layout import row_key, sender_group
from postroom.storage.mail.segments import Objects


class Intake:
    """Accepts messages into the queue."""

    def __init__(
        self, *, directory: DeploymentRules, claims: SendQueue, objects: Objects, quota_check: QuotaCheck, new_id: NewId
    ) -> None:
        self._directory = directory
        self._quota_check = quota_check
        self._claims = claims
        self._objects = objects
        self._new_id = new_id

    def take(
        self,
        mailbox: str,
        envelope: str,
        *,
        received_at_ms: int,
        sender: str,
        source: str,
        details: Details,
    ) -> Claim:
        """The claim, once it is queued; only then may the sender get an answer.

        `sender`: who the message says wrote it, not verified yet; `source`: the IP address that it came from. Raises
        TheirError(MAILBOX_FULL), NotNowError(NOT_QUEUED, STORE_UNAVAILABLE).
        """
        known = self._directory.mailbox(mailbox)
        counted = details.is_filed and self._quota_check.take(known, envelope)
        claim_id = self._new_id()
        row = row_key(mailbox, known.shards, received_at_ms, claim_id)
        claim = Claim(claim_id, received_at_ms, mailbox, row, source, envelope, details, counted)
        try:
            body = pack(claim, self._objects.put)
        except NotNowError as error:
            raise NotNowError(NOT_QUEUED) from error
        self._claims.send(body, reason=NOT_QUEUED, group=sender_group(sender, source))
        return claim
