"""The keys that sign webhooks, and the codes that verify targets: derived from one secret, not stored.

A secret of Secrets Manager for each target would cost $0.40 a month; in a row of the directory, the worker and the
inbox could read it, which do not need it. From one secret, the mailbox API can derive it to show it once, the courier
can derive it to sign, and a rotation only changes a number.
"""

from base64 import b32encode, b64encode
from typing import Final

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from postroom.storage.directory.notification_targets import NotificationTarget
from postroom.storage.secrets.secret import SecretKeys

OVERLAP_SECONDS: Final = 86_400
"""After a rotation, the previous secret signs for this long beside the new one."""
_ROOT: Final = "0"
_SECRET, _CODE = "postroom webhook secret", "postroom target code"
_SECRET_BYTES: Final = 32
_CODE_BYTES: Final = 5


class WebhookKeys(SecretKeys):
    """The secret `{"0": "<random text>"}`, and what is derived from it.

    All methods raise NotNowError(SIGNING_KEY_UNAVAILABLE).
    """

    form = '{"0": "<random text>"}; a different text changes the secret of every webhook'

    def require(self) -> None:
        """Check that the secret can be read, before anything is stored that needs it later."""
        self._text()

    def secret(self, target: NotificationTarget) -> str:
        """The newest secret of a webhook, in the form of Standard Webhooks: `whsec_` and base64."""
        return self._generation(target, target.generation)

    def signing(self, target: NotificationTarget, now_ms: int) -> list[str]:
        """The secrets that sign now, the newest first: two of them for a while after a rotation."""
        overlaps = now_ms - target.rotated_at_ms < OVERLAP_SECONDS * 1000
        generations = [target.generation, target.generation - 1] if overlaps else [target.generation]
        return [self._generation(target, number) for number in generations]

    def code(self, target: NotificationTarget) -> str:
        """The code that verifies a target: 40 bits as 8 letters and digits."""
        return b32encode(self._derive(_CODE, target, target.challenge, _CODE_BYTES)).decode()

    def _generation(self, target: NotificationTarget, number: int) -> str:
        return f"whsec_{b64encode(self._derive(_SECRET, target, number, _SECRET_BYTES)).decode()}"

    def _derive(self, purpose: str, target: NotificationTarget, number: int, length: int) -> bytes:
        # HKDF (RFC 5869): the text is random, and longer than a key. An id is random, and never used again.
        info = f"{purpose} {target.id} {number}".encode()
        return HKDF(SHA256(), length, salt=None, info=info).derive(self._text().encode())

    def _text(self) -> str:
        text = self._secret.entries().get(_ROOT)
        if not isinstance(text, str):
            raise self._secret.malformed()
        return text
