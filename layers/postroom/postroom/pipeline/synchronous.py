"""Synchronous requests: verified, executed once, and answered at once (decision "Answers")."""

import json
import logging
from dataclasses import dataclass
from typing import Final

from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import JsonValue
from postroom.outbound.ports import Clock, NewId
from postroom.pipeline.ports import DeploymentRules, Handlers
from postroom.pipeline.sender_check import SenderCheck
from postroom.protocols.nlweb.envelope import NlwebEnvelope
from postroom.protocols.nlweb.manifest import identity_reply, read_identity_request
from postroom.protocols.nlweb.reasons import NOT_OURS
from postroom.storage.layout import seen_key_nlweb
from postroom.storage.mail.replies import Replies

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sync:
    """Answers requests whose subject is registered as synchronous."""

    senders: SenderCheck
    replies: Replies
    handlers: Handlers
    clock: Clock
    new_id: NewId
    lease_seconds: int
    memory_seconds: int

    def answer(self, envelope: NlwebEnvelope, handler: str, received_at_ms: int) -> JsonValue:
        """The bare reply. If the same request comes again, it gets the same reply, and is not executed again.

        Raises TheirError (bad signature, unusable key, SENDER_NOT_WANTED, CORRELATION_REUSED, a bad request) or
        NotNowError.
        """
        self.senders.prove(envelope)
        self.senders.admit(envelope, envelope.receiver)
        now = int(self.clock())
        lease = self.replies.begin(
            seen_key_nlweb(envelope.receiver, envelope.sender, envelope.correlation),
            envelope.claimed_hash,
            now=now,
            until=now + self.lease_seconds,
            forget_at=received_at_ms // 1000 + self.memory_seconds,
        )
        if lease.reply is not None:
            remembered: JsonValue = json.loads(lease.reply)
            return remembered
        try:
            reply = self.handlers.call(handler, envelope.body)
        except TheirError:
            # Nothing was executed. A handler that failed may have done half its work: then the lease stays until it
            # expires, and the next attempt starts again (operators' handlers are called at least once).
            self.replies.release(lease)
            raise
        try:
            self.replies.finish(
                lease, json.dumps(reply, separators=(",", ":")), at_ms=received_at_ms, random_id=self.new_id()
            )
        except NotNowError:
            # The request was executed: a reply that cannot be stored is still sent. If it gets lost, and the sender
            # asks again after the lease has expired, the request is executed again.
            _log.warning("reply given and not remembered: %s", lease.key)
        return reply


class BuiltInHandlers:
    """The built-in handlers; calls by any other name go to `further`."""

    def __init__(self, directory: DeploymentRules, further: Handlers) -> None:
        self._directory = directory
        self._further = further

    def call(self, handler: str, request: JsonValue) -> JsonValue:
        """The reply of `identity`, or of another handler."""
        if handler != "identity":
            return self._further.call(handler, request)
        domain = self._directory.domain(read_identity_request(request))
        if domain is None:
            raise TheirError(NOT_OURS, "Body.Domain is not a domain that is served here")
        return identity_reply(domain.name, domain.feedback)
