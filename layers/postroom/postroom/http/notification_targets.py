"""Operations on notification targets: owners add them, and a code verifies them.

The code is sent to the target by the courier, and the owner sends it back. Until then nothing else is sent to the
target.
"""

import re
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from hmac import compare_digest
from typing import Final

from msgspec import UNSET

from postroom.api.reasons import (
    CODE_WRONG,
    NOT_A_REQUEST,
    NOTIFICATION_NOT_OFFERED,
    TARGET_EXISTS,
    TARGET_INVALID,
    TARGET_UNKNOWN,
    TOO_MANY_REQUESTS,
    TOO_MANY_TARGETS,
)
from postroom.api.schemas import NewTarget, Notifications, Target
from postroom.api.states import TargetState
from postroom.core.errors import NotNowError, TheirError
from postroom.core.timestamps import write_timestamp
from postroom.outbound.notification_messages import Notification
from postroom.outbound.ports import Clock, NewId, SendQueue
from postroom.storage.directory import notification_targets as stored
from postroom.storage.directory.notification_targets import MAX_TARGETS, NotificationTargets, TargetKind
from postroom.storage.limits.verification_codes import VerificationCodeLimits
from postroom.storage.secrets.webhook_keys import WebhookKeys

MAX_TRIES: Final = 5
"""Attempts at one code, which has 40 bits."""
CODES_A_DAY: Final = 20
"""Codes for a mailbox: each is a request to a host that may not want it."""
NO_TOPICS: Final = "none"
"""Stands for "no topics" in place of a pattern of ARNs."""
_TOPIC: Final = re.compile(r"arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,256}", re.ASCII)
"""Not a FIFO topic: those accept no message without a group."""


@dataclass(frozen=True, slots=True)
class Offer:
    """The targets that this deployment allows: webhooks at `port`, SNS topics whose ARN fits the pattern `topics`."""

    port: int
    topics: str

    def check(self, wanted: NewTarget) -> TargetKind:
        """The kind of a target. Raises TheirError: NOTIFICATION_NOT_OFFERED, TARGET_INVALID."""
        match wanted.kind:
            case "webhook":
                self._check_url(wanted.to)
                return TargetKind.WEBHOOK
            case "sns":
                if self.topics == NO_TOPICS:
                    raise TheirError(NOTIFICATION_NOT_OFFERED, "this deployment does not publish to SNS topics")
                if not _TOPIC.fullmatch(wanted.to):
                    raise TheirError(TARGET_INVALID, "it is not the ARN of a standard SNS topic")
                if not fnmatchcase(wanted.to, self.topics):
                    raise TheirError(NOTIFICATION_NOT_OFFERED, "this deployment may not publish to this topic")
                return TargetKind.TOPIC
            case "email":
                raise TheirError(NOTIFICATION_NOT_OFFERED, "this deployment sends no e-mail")

    def _check_url(self, url: str) -> None:
        # Owners seldom add a webhook, and this imports everything for HTTPS: only when one does.
        from postroom.net.https import split_url

        try:
            split_url(url, self.port)
        except NotNowError as error:
            raise TheirError(TARGET_INVALID, error.detail) from None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NotificationTargetSettings:
    """Adds, verifies and shows targets.

    All methods raise NotNowError: STORE_UNAVAILABLE, SIGNING_KEY_UNAVAILABLE; methods for one target,
    TheirError(TARGET_UNKNOWN).
    """

    targets: NotificationTargets
    codes: VerificationCodeLimits
    keys: WebhookKeys
    courier: SendQueue
    offer: Offer
    clock: Clock
    new_id: NewId

    def all(self, mailbox: str) -> Notifications:
        """The targets of a mailbox, without their secrets."""
        return Notifications([_as_schema(target) for target in self._added(mailbox)])

    def add(self, mailbox: str, wanted: NewTarget) -> Target:
        """Add a target, and send it a code. Only this answer shows its secret, if it is a webhook.

        Raises TheirError: NOTIFICATION_NOT_OFFERED, TARGET_INVALID, TARGET_EXISTS, TOO_MANY_TARGETS; NotNowError:
        TOO_MANY_REQUESTS.
        """
        kind = self.offer.check(wanted)
        standing = self._added(mailbox)
        if any((target.kind, target.to) == (kind, wanted.to) for target in standing):
            raise TheirError(TARGET_EXISTS)
        if len(standing) >= MAX_TARGETS:
            raise TheirError(TOO_MANY_TARGETS)
        self.keys.require()
        self._take_code(mailbox)
        target = self.targets.add(mailbox, kind, wanted.to, random_id=self.new_id(), now_ms=self._now_ms())
        if target is None:
            raise TheirError(TOO_MANY_TARGETS)
        notification = _as_schema(target, self._secret(target))
        self._send_code(target)
        return notification

    def remove(self, mailbox: str, target_id: str) -> None:
        """Remove a target."""
        self._find(mailbox, target_id)
        self.targets.remove(mailbox, target_id)

    def verify(self, mailbox: str, target_id: str, code: str) -> Target:
        """Verify a target with the code that was sent to it; without a code, send it another one.

        Raises TheirError(CODE_WRONG), NotNowError(TOO_MANY_REQUESTS).
        """
        target = self._find(mailbox, target_id)
        if target.state is not TargetState.UNVERIFIED:
            return _as_schema(target)
        if code:
            self._check_code(target, code)
            self.targets.verify(target)
        else:
            self._take_code(mailbox)
            if self.targets.challenge(target):
                self._send_code(replace(target, challenge=target.challenge + 1))
        return _as_schema(self._find(mailbox, target_id))

    def rotate(self, mailbox: str, target_id: str) -> Target:
        """Give a webhook a new secret, which only this answer shows. Raises TheirError(NOT_A_REQUEST) for a topic."""
        target = self._find(mailbox, target_id)
        if target.kind is not TargetKind.WEBHOOK:
            raise TheirError(NOT_A_REQUEST, "SNS signs what it delivers: a topic has no secret of ours")
        self.keys.require()
        self.targets.rotate(target, self._now_ms())
        # If two callers do this at the same time, both get the same secret.
        rotated = self._find(mailbox, target_id)
        return _as_schema(rotated, self._secret(rotated))

    def resume(self, mailbox: str, target_id: str) -> Target:
        """Resume a paused target; one that is not paused is not changed."""
        self.targets.resume(self._find(mailbox, target_id))
        return _as_schema(self._find(mailbox, target_id))

    def _added(self, mailbox: str) -> list[stored.NotificationTarget]:
        """The targets that the owner added; sessions that wait for mail are none of these."""
        return [each for each in self.targets.of(mailbox) if each.kind is not TargetKind.SESSION]

    def _find(self, mailbox: str, target_id: str) -> stored.NotificationTarget:
        target = self.targets.find(mailbox, target_id)
        if target is None or target.kind is TargetKind.SESSION:
            raise TheirError(TARGET_UNKNOWN)
        return target

    def _secret(self, target: stored.NotificationTarget) -> str:
        return self.keys.secret(target) if target.kind is TargetKind.WEBHOOK else ""

    def _check_code(self, target: stored.NotificationTarget, code: str) -> None:
        # Counted first: concurrent requests must not get more attempts.
        tried = self.targets.take_try(target, MAX_TRIES)
        if not (tried and compare_digest(code.strip().upper().encode(), self.keys.code(target).encode())):
            raise TheirError(CODE_WRONG)

    def _take_code(self, mailbox: str) -> None:
        if not self.codes.take(mailbox, int(self.clock()), CODES_A_DAY):
            raise NotNowError(TOO_MANY_REQUESTS, f"{CODES_A_DAY} codes are sent for a mailbox in a day (UTC)")

    def _send_code(self, target: stored.NotificationTarget) -> None:
        notification = Notification(target.mailbox, target.id, self.new_id(), self._now_ms(), target.challenge)
        self.courier.send(notification.encode(), group=notification.group)

    def _now_ms(self) -> int:
        return int(self.clock() * 1000)


def _as_schema(target: stored.NotificationTarget, secret: str = "") -> Target:
    return Target(
        id=target.id,
        kind=target.kind.value,
        to=target.to,
        state=target.state,
        made_at=write_timestamp(target.made_at_ms),
        failing_since=write_timestamp(target.failing_since_ms) if target.failing_since_ms else UNSET,
        detail=target.detail,
        secret=secret,
    )
