"""The NLWeb inbox: reads bytes, checks what needs no look-up, queues a claim, and only then answers 200."""

import json
from dataclasses import dataclass, replace
from typing import Final

from postroom.api.http import JSON
from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import parse
from postroom.core.reasons import SENDER_NOT_WANTED, TOO_LARGE, WRONG_CONTENT_TYPE
from postroom.http.media_type import check_coding, check_media_type
from postroom.http.response import HttpResponse, json_response, problem, text_response
from postroom.outbound.discard_messages import feedback_request_of
from postroom.outbound.ports import Clock
from postroom.pipeline.claim_details import NlwebDetails
from postroom.pipeline.intake import Intake
from postroom.pipeline.ports import DeploymentRules
from postroom.pipeline.silent_zones import SilentSenders
from postroom.pipeline.synchronous import Sync
from postroom.protocols.nlweb.envelope import NlwebEnvelope, read_envelope
from postroom.protocols.nlweb.feedback import read_feedback
from postroom.protocols.nlweb.manifest import CONTENT_TYPE, domain_of_host, manifest_of
from postroom.protocols.nlweb.reasons import NOT_OURS, UNEXPECTED_SUBJECT
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment, find_rule_of_both
from postroom.protocols.nlweb.timestamp import TimestampWindow
from postroom.protocols.nlweb.verify import check_before_lookup
from postroom.storage.directory.domains import Domain
from postroom.storage.layout import seen_key_nlweb

MAX_FORWARDED_BYTES: Final = 200_000
"""Bytes of ASCII JSON.

An event bus accepts 256 kB an entry; a larger message could be accepted, but never forwarded.
"""

WELCOME = "postroom: a post office for domains. POST signed NLWeb messages here as application/json.\n"


@dataclass(frozen=True, slots=True)
class Posted:
    """A POST to the inbox.

    `content_type`, `content_encoding`: the headers, empty if absent. `source`: an IP address.
    """

    body: bytes
    content_type: str
    content_encoding: str
    source: str


@dataclass(frozen=True, slots=True)
class InboxRules:
    """The rules by which the inbox checks a message."""

    window: TimestampWindow
    max_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NlwebInbox:
    """The handler of POST /inbox, GET /inbox and GET /manifest."""

    rules: InboxRules
    directory: DeploymentRules
    intake: Intake
    sync: Sync
    silent_senders: SilentSenders
    clock: Clock

    def welcome(self) -> HttpResponse:
        """GET /inbox (decision "Answers")."""
        return text_response(WELCOME)

    def manifest(self, host: str) -> HttpResponse:
        """GET /manifest: the manifest of the domain whose host is `host` (decision "Buffer")."""
        try:
            domain = self.directory.domain(domain_of_host(host))
        except (TheirError, NotNowError) as error:
            return problem(error)
        if domain is None:
            return problem(TheirError(NOT_OURS))
        return text_response(manifest_of(domain.name, domain.feedback), CONTENT_TYPE)

    def post(self, posted: Posted) -> HttpResponse:
        """POST /inbox: 200 once the message is queued (or answered at once); otherwise a refusal, and nothing is
        stored."""
        received_at_ms = int(self.clock() * 1000)
        try:
            check_media_type(posted.content_type, JSON)
            check_coding(posted.content_encoding)
            envelope = read_envelope(parse(posted.body, max_bytes=self.rules.max_bytes))
        except TheirError as error:
            return problem(error, {"Accept": JSON} if error.reason == WRONG_CONTENT_TYPE else None)
        try:
            return self._take_in(envelope, posted, received_at_ms)
        except (TheirError, NotNowError) as error:
            # Only our own log says so: a blocked sender must not learn that it is blocked.
            hidden = error.reason == SENDER_NOT_WANTED
            response = problem(TheirError(UNEXPECTED_SUBJECT) if hidden else error)
            return replace(response, reason=error.reason, about=_about(envelope))

    def _take_in(self, envelope: NlwebEnvelope, posted: Posted, received_at_ms: int) -> HttpResponse:
        check_before_lookup(envelope, is_ours=self._is_ours, received_at_ms=received_at_ms, window=self.rules.window)
        domain = self.directory.domain(envelope.receiver)
        own = self.directory.mailbox(envelope.receiver).subjects
        rule = find_rule_of_both(envelope.subject, domain.subjects if domain else (), own)
        if rule is not None and rule.treatment is Treatment.SYNC:
            return json_response(self.sync.answer(envelope, rule.target, received_at_ms), _about(envelope))
        if rule is not None and rule.treatment is Treatment.FORWARD:
            _check_forwardable(posted)
        if envelope.key_name:
            self.silent_senders.admit(envelope.key_name)
        claim = self.intake.take(
            mailbox_of(envelope, rule),
            posted.body.decode(),
            received_at_ms=received_at_ms,
            sender=envelope.sender,
            source=posted.source,
            details=NlwebDetails(rule),
            feedback_request=feedback_request_of(envelope),
        )
        key = seen_key_nlweb(envelope.receiver, envelope.sender, envelope.correlation)
        line = claim.accepted(key, envelope.claimed_hash).as_log()
        about = _about(envelope) | line
        return json_response({"Correlation": envelope.correlation, "Status": "Queued"}, about)

    def _is_ours(self, receiver: str) -> bool:
        domain: Domain | None = self.directory.domain(receiver)
        return domain is not None and domain.inbox


def _about(envelope: NlwebEnvelope) -> dict[str, str | int]:
    """Whose message it is, for the log."""
    return {"mailbox": envelope.receiver, "from": envelope.sender, "correlation": envelope.correlation}


def mailbox_of(envelope: NlwebEnvelope, rule: SubjectRule | None) -> str:
    """The mailbox that a message is for.

    It is known before the message is judged, because a discard needs its row, too.
    """
    if rule is None:
        return envelope.receiver
    if rule.treatment is Treatment.FEEDBACK:
        return read_feedback(envelope.body).sender or envelope.receiver
    return rule.target if rule.treatment is Treatment.MAILBOX else envelope.receiver


def _check_forwardable(posted: Posted) -> None:
    # As it will be in the forwarded message: a JSON string in ASCII.
    if len(json.dumps(posted.body.decode())) > MAX_FORWARDED_BYTES:
        raise TheirError(TOO_LARGE, f"messages of this Subject are accepted up to {MAX_FORWARDED_BYTES} bytes")
