"""Webhooks by the specification Standard Webhooks, signed with the target's secrets."""

from datetime import UTC, datetime
from typing import Final

from standardwebhooks import Webhook

from postroom.core.errors import NotNowError
from postroom.core.reasons import OUTBOUND_FAILED
from postroom.net.https import HttpsClient
from postroom.outbound.ports import Clock
from postroom.storage.directory.notification_targets import NotificationTarget
from postroom.storage.secrets.webhook_keys import WebhookKeys

_GONE: Final = 410


class Webhooks:
    """Posts notifications to targets."""

    def __init__(self, https: HttpsClient, keys: WebhookKeys, clock: Clock) -> None:
        self._https = https
        self._keys = keys
        self._clock = clock

    def carry(self, target: NotificationTarget, notification: str, content: str) -> bool:
        """Post a notification; False: the receiver says that it is gone (Standard Webhooks, "Deliverability").

        Raises NotNowError: OUTBOUND_FAILED, SIGNING_KEY_UNAVAILABLE.
        """
        now = datetime.fromtimestamp(int(self._clock()), UTC)
        secrets = self._keys.signing(target, int(self._clock() * 1000))
        headers = {
            "webhook-id": notification,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": " ".join(Webhook(each).sign(notification, now, content) for each in secrets),
        }
        answer = self._https.post(target.to, content.encode(), "application/json", headers=headers)
        if answer.status == _GONE:
            return False
        if not 200 <= answer.status < 300:
            raise NotNowError(OUTBOUND_FAILED, f"it answered {answer.status}")
        return True
