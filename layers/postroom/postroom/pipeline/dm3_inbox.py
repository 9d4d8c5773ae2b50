"""The dm3 inbox: JSON-RPC in; refusals at once where possible; `accepted` once the claim is queued.

It checks a submitted message in the order of decision "Order of checks": size, shape, delivery information, receiver,
the sender's signature, filter rules.
"""

import logging
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Final

import orjson

from postroom.core.errors import NotNowError, TheirError, TooSlowError
from postroom.core.ijson import JsonValue, parse
from postroom.core.leaky_bucket import LeakyBucket
from postroom.core.reasons import (
    NO_SUCH_ROUTE,
    NOT_QUEUED,
    SENDER_NOT_WANTED,
    SIGNING_KEY_UNAVAILABLE,
    STORE_UNAVAILABLE,
    TOO_LARGE,
    TOO_MANY_LOOK_UPS,
)
from postroom.http.media_type import check_coding
from postroom.http.response import MAX_ANSWER_BYTES, HttpResponse
from postroom.names.profiles import FoundUser
from postroom.names.registry import ADDRESS_KEY, PROFILE_KEY
from postroom.net.aws_errors import our_own_fault
from postroom.net.timebox import TimeBox
from postroom.outbound.ports import Clock
from postroom.pipeline.claim_details import Dm3Details
from postroom.pipeline.intake import Intake
from postroom.pipeline.judges.dm3 import open_for_us
from postroom.pipeline.ports import Accounts, Dm3Directory, ProfileSource, ServiceKeySource
from postroom.pipeline.slow_names import SlowNames
from postroom.protocols.dm3 import jsonrpc
from postroom.protocols.dm3.envelope import Dm3Envelope, check_envelope, message_hash, read_submitted
from postroom.protocols.dm3.extension import FilterRules, Properties, check_sender
from postroom.protocols.dm3.jsonrpc import RpcError, RpcRequest, RpcResult
from postroom.protocols.dm3.names import normalize
from postroom.protocols.dm3.postmark import check_certifiable
from postroom.protocols.dm3.reasons import (
    ENVELOPE_INVALID,
    FILTER_RULE_UNCHECKED,
    RECEIVER_UNKNOWN,
    RPC_BATCH_TOO_LONG,
    RPC_METHOD_NOT_OFFERED,
    RPC_TOO_MANY_UNKNOWN_RECEIVERS,
    RPC_UNKNOWN_METHOD,
    RPC_WRONG_PARAMS,
)
from postroom.storage.directory.domains import Dm3Mailbox
from postroom.storage.layout import seen_key_dm3
from postroom.storage.mail.inbox_log import LedgerEntry

MAX_BODY_BYTES: Final = 6 * 1024 * 1024
"""No request is larger: AWS Lambda accepts no more."""
BODY_SECONDS: Final = 8.0
"""After this time no further call of a batch is begun: the function ends after 29 s, and API Gateway waits for 30 s."""
MAX_UNKNOWN_RECEIVERS: Final = 4
"""After so many receivers without a mailbox, a body reads the directory no more: anyone can make names up."""
READS_PER_SECOND: Final = 40
"""The rate at which one instance reads the directory for receivers that are not in its cache."""
MAX_BESIDE_BYTES: Final = 65_536
"""The largest size of an envelope without its message, which is parsed, hashed and checked before the sender is known.
"""
_NOT_OFFERED_PREFIX: Final = "dm3_billboard_"
"""Methods of the reference's billboard extension."""
_OURS: Final = frozenset({NOT_QUEUED, SIGNING_KEY_UNAVAILABLE, STORE_UNAVAILABLE})
"""Reasons for which the fault is ours, so that an answer may come without the sender changing anything."""
_log: Final = logging.getLogger(__name__)


@dataclass(slots=True)
class _Body:
    """What the calls of one body share. `unknown`: the number of receivers without a mailbox that they named."""

    source: str
    timebox: TimeBox
    unknown: int = 0


@dataclass(frozen=True, slots=True)
class _Submitted:
    """An envelope, its text as it is filed, and its message hash."""

    envelope: Dm3Envelope
    text: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dm3Inbox:
    """The handler of POST /dm3, POST /rpc and POST /.

    `new_timebox`: the time limit for the look-ups of one body. `reads`: the rate of reads of the directory.
    """

    properties: Properties
    directory: Dm3Directory
    keys: ServiceKeySource
    profiles: ProfileSource
    accounts: Accounts
    slow_names: SlowNames
    new_timebox: Callable[[], TimeBox]
    reads: LeakyBucket
    intake: Intake
    clock: Clock

    def post(self, body: bytes, source: str, content_encoding: str = "") -> HttpResponse:
        """The answer to a body of one or more calls.

        `parts`: the outcome of each call. `source`: the sender's IP address. `content_encoding`: the header.
        """
        try:
            check_coding(content_encoding)
        except TheirError as error:
            return self._respond(jsonrpc.Calls((RpcError(None, error.reason),), is_batch=False), source)
        return self._respond(jsonrpc.read_calls(body, max_bytes=MAX_BODY_BYTES), source)

    def post_calls(self, body: bytes, source: str, content_encoding: str = "") -> HttpResponse:
        """The same for a body that need not be meant for dm3.

        Raises TheirError: NO_SUCH_ROUTE if there is no call in it, WRONG_CONTENT_ENCODING.
        """
        check_coding(content_encoding)
        calls = jsonrpc.read_calls(body, max_bytes=MAX_BODY_BYTES)
        if not any(isinstance(item, RpcRequest) for item in calls.items):
            raise TheirError(NO_SUCH_ROUTE)
        return self._respond(calls, source)

    def _respond(self, calls: jsonrpc.Calls, source: str) -> HttpResponse:
        begun = self.clock()
        body = _Body(source, self.new_timebox())
        answers: list[RpcResult | RpcError] = []
        parts: list[HttpResponse] = []
        for item in calls.items:
            if isinstance(item, RpcError):
                answers.append(item)
                parts.append(HttpResponse(200, "", reason=item.reason))
            else:
                in_time = self.clock() - begun <= BODY_SECONDS
                answer, part = self._answer(item, body) if in_time else _too_late(item)
                answers.append(answer)
                parts.append(part)
        written = jsonrpc.write_answers(calls, answers)
        # If we failed in every call, the HTTP status says so, too. Calls that succeeded are not executed twice if
        # everything is sent again.
        failed = all(part.status == 503 for part in parts)
        if len(written) > MAX_ANSWER_BYTES:
            written = _too_long(len(written))
        return HttpResponse(503 if failed else 200, "application/json", written, parts=tuple(parts))

    def _answer(self, call: RpcRequest, body: _Body) -> tuple[RpcResult | RpcError, HttpResponse]:
        done = HttpResponse(200, "")
        about: dict[str, str | int] = {}
        try:
            if call.method == "dm3_submitMessage":
                submitted = self._read(jsonrpc.first_param(call))
                # Whom a dm3 message is from is encrypted to us, and in no log.
                about["correlation"] = submitted.digest
                about |= self._submit(submitted, body).as_log()
                return RpcResult(call.id, "accepted"), replace(done, about=about)
            return RpcResult(call.id, self._describe(call, body)), done
        except (TheirError, NotNowError) as error:
            status = error.reason.status if error.reason in _OURS else done.status
            return jsonrpc.error(call, error), replace(done, status=status, reason=error.reason, about=about)
        except Exception as error:
            # One call must not fail the others of its batch; stack traces are never shown.
            if not our_own_fault(error):
                _log.exception("a call failed")
            return RpcError(call.id, None), replace(done, status=503, reason=NOT_QUEUED, about=about)

    def _describe(self, call: RpcRequest, body: _Body) -> JsonValue:
        if call.method == "dm3_getDeliveryServiceProperties":
            return self.properties.as_json()
        if call.method == "dm3_getProfileExtension":
            name = jsonrpc.first_param(call)
            if not isinstance(name, str):
                raise TheirError(RPC_WRONG_PARAMS, "params[0] must be the name of a receiver")
            return self._mailbox(normalize(name), body).extension.as_json()
        if call.method.startswith(_NOT_OFFERED_PREFIX):
            raise TheirError(RPC_METHOD_NOT_OFFERED)
        raise TheirError(RPC_UNKNOWN_METHOD)

    def _submit(self, submitted: _Submitted, body: _Body) -> LedgerEntry:
        received_at_ms = int(self.clock() * 1000)
        envelope = submitted.envelope
        delivery = open_for_us(envelope, self.keys)
        check_certifiable(delivery)
        receiver, sender = normalize(delivery.to), normalize(delivery.sender)
        mailbox = self._mailbox(receiver, body)
        receiver_key, found = self._look_up(receiver, sender, body.timebox)
        proven = self._verify(envelope, found, mailbox, sender, body.timebox)
        is_verified = proven is not None
        self._check_sender(mailbox.extension.rules, sender, body.timebox, verified=is_verified)
        details = Dm3Details(receiver_key)
        if proven:
            details = Dm3Details(receiver_key, proven.profile.signing_key.fingerprint, proven.evidence)
        claim = self.intake.take(
            receiver,
            submitted.text,
            received_at_ms=received_at_ms,
            sender=sender,
            source=body.source,
            details=details,
        )
        return claim.accepted(seen_key_dm3(receiver, sender, submitted.digest, verified=is_verified))

    def _read(self, param: JsonValue) -> _Submitted:
        """The envelope, given as an object or as JSON text."""
        if isinstance(param, str):
            text, size = param, len(param.encode())
        elif isinstance(param, dict):
            data = orjson.dumps(param)
            text, size = data.decode(), len(data)
        else:
            raise TheirError(ENVELOPE_INVALID, "params[0] must be an envelope, as an object or as JSON text")
        limit = self.properties.size_limit_bytes
        if size > limit:
            raise TheirError(TOO_LARGE, f"the envelope has {size} bytes; at most {limit} are accepted")
        value = param if isinstance(param, dict) else _parse_envelope(text)
        envelope = read_submitted(value)
        beside = size - len(envelope.message)
        if beside > MAX_BESIDE_BYTES:
            raise TheirError(
                ENVELOPE_INVALID,
                f"beside the message the envelope has {beside} bytes; at most {MAX_BESIDE_BYTES} are accepted",
            )
        return _Submitted(envelope, text, message_hash(envelope))

    def _mailbox(self, name: str, body: _Body) -> Dm3Mailbox:
        mailbox = self.directory.dm3_mailbox(name, before_read=lambda: self._count_read(body))
        if mailbox is None:
            body.unknown += 1
            raise TheirError(RECEIVER_UNKNOWN)
        return mailbox

    def _count_read(self, body: _Body) -> None:
        if body.unknown >= MAX_UNKNOWN_RECEIVERS:
            raise TheirError(RPC_TOO_MANY_UNKNOWN_RECEIVERS)
        if not self.reads.take():
            raise NotNowError(TOO_MANY_LOOK_UPS)

    def _verify(
        self,
        envelope: Dm3Envelope,
        found: FoundUser | TheirError | NotNowError,
        mailbox: Dm3Mailbox,
        sender: str,
        timebox: TimeBox,
    ) -> FoundUser | None:
        """The profile whose key verifies the sender's signature; None: unverified, but admitted.

        If a key fails, it is looked up once more: it may have been changed a moment ago.
        """
        if not isinstance(found, TheirError | NotNowError):
            try:
                check_envelope(envelope, found.profile.signing_key)
            except TheirError:
                now = timebox.call(lambda: self.profiles.find_sender(sender, fresh=True))
                if now.profile.signing_key == found.profile.signing_key:
                    raise
                check_envelope(envelope, now.profile.signing_key)
                return now
            return found
        # If only certain senders are admitted, the sender must be known: it is asked to try again later.
        waits = isinstance(found, NotNowError) and mailbox.extension.rules.want_verified
        if mailbox.takes_unverified and not waits:
            return None
        raise found

    def _check_sender(self, rules: FilterRules, sender: str, timebox: TimeBox, *, verified: bool) -> None:
        check_sender(rules, sender, verified=verified)
        if not rules.asks_a_chain:
            return
        try:
            reaches = timebox.call(lambda: self.accounts.reach(sender, rules))
        except TooSlowError as error:
            self.slow_names.request(sender, ADDRESS_KEY)
            raise NotNowError(FILTER_RULE_UNCHECKED, error.detail) from error
        if not reaches:
            raise TheirError(SENDER_NOT_WANTED, "the sender's account does not have what the receiver's rules demand")

    def _look_up(
        self, receiver: str, sender: str, timebox: TimeBox
    ) -> tuple[bytes, FoundUser | TheirError | NotNowError]:
        """The key that the postmark is encrypted to, and the sender's profile, or why that is unavailable.

        Both are looked up at the same time.
        """
        receivers = timebox.begin(lambda: self.profiles.find_receiver(receiver))
        senders = timebox.begin(lambda: self.profiles.find_sender(sender))
        try:
            receiver_key = self._receiver_key(receivers, receiver, timebox)
        except (TheirError, NotNowError):
            senders.cancel()  # nobody waits for it any more
            raise
        try:
            return receiver_key, self._result(senders, sender, timebox)
        except (TheirError, NotNowError) as error:
            return receiver_key, error

    def _receiver_key(self, look_up: Future[FoundUser], receiver: str, timebox: TimeBox) -> bytes:
        try:
            return self._result(look_up, receiver, timebox).profile.encryption_key
        except TheirError as error:
            raise TheirError(error.reason, f"the receiver's profile: {error.detail}") from error

    def _result(self, look_up: Future[FoundUser], name: str, timebox: TimeBox) -> FoundUser:
        try:
            return timebox.result(look_up)
        except TooSlowError:
            self.slow_names.request(name, PROFILE_KEY)
            raise


def _too_late(call: RpcRequest) -> tuple[RpcError, HttpResponse]:
    error = NotNowError(NOT_QUEUED, "there was no time left for this call of the batch")
    return jsonrpc.error(call, error), HttpResponse(503, "", reason=error.reason)


def _too_long(size: int) -> bytes:
    """The answer instead of one that is too long to be delivered. Repeating the request does not execute it twice."""
    detail = f"the answer would have {size} bytes; at most {MAX_ANSWER_BYTES} are sent, the ids included"
    return orjson.dumps(RpcError(None, RPC_BATCH_TOO_LONG, detail).as_json())


def _parse_envelope(text: str) -> JsonValue:
    data = text.encode()
    try:
        return parse(data, max_bytes=len(data))
    except TheirError as error:
        raise TheirError(ENVELOPE_INVALID, f"params[0] is a text that is not JSON: {error.detail}") from error
