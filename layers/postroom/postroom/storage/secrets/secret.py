"""A secret of Secrets Manager that contains a JSON object."""

import json
from collections.abc import Callable, Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Final

from botocore.exceptions import ClientError

from postroom.core.errors import NotNowError, OurError
from postroom.core.own_faults import OwnFault, OwnFaults
from postroom.core.reasons import SIGNING_KEY_UNAVAILABLE
from postroom.net.aws_errors import transient_as_not_now

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

MAX_SECRET_BYTES: Final = 65_536
"""The largest size of a secret: some 35 RSA-2048 keys, or 300 Ed25519 keys."""
_CACHE_SECONDS: Final = 45
_FRESH_SECONDS: Final = 2
"""Mail from strangers must not make us read secrets all the time."""


class Secret:
    """A JSON object in a secret. It is cached for less than a minute, so that a change takes effect within a minute.

    `form`: what it must contain, and the command that writes that. `own_faults`: where a malformed secret is reported;
    None: nowhere.
    """

    def __init__(
        self,
        secrets: "SecretsManagerClient",
        secret: str,
        clock: Callable[[], float],
        form: str,
        own_faults: OwnFaults | None = None,
    ) -> None:
        self._secrets = secrets
        self._secret = secret
        self._clock = clock
        self._form = form
        self._own_faults = own_faults or OwnFaults()
        self._read_at = float("-inf")
        self._failed_at = float("-inf")
        self._entries: dict[str, Any] = {}
        self._lock = Lock()

    def entries(self, *, fresh: bool = False) -> dict[str, Any]:
        """The content of the secret, possibly cached; `fresh`: cached for at most two seconds.

        Raises NotNowError(SIGNING_KEY_UNAVAILABLE).
        """
        kept_for = _FRESH_SECONDS if fresh else _CACHE_SECONDS
        # The threads of a worker's batch all need it at once, and every request is paid for: one thread reads, the
        # others wait for it, and share its answer or its failure.
        with self._lock:
            if self._clock() >= self._read_at + kept_for:
                # If the clock is set back, a cached failure must not last longer for that.
                if 0 <= self._clock() - self._failed_at < _FRESH_SECONDS:
                    raise NotNowError(SIGNING_KEY_UNAVAILABLE)
                try:
                    self._entries = self.read()
                except NotNowError:
                    self._failed_at = self._clock()
                    raise
                self._read_at = self._clock()
            return self._entries

    def read(self) -> dict[str, Any]:
        """Read the secret. Raises NotNowError(SIGNING_KEY_UNAVAILABLE)."""
        try:
            with transient_as_not_now(SIGNING_KEY_UNAVAILABLE):
                text = self._secrets.get_secret_value(SecretId=self._secret).get("SecretString", "")
        except ClientError as error:
            raise NotNowError(SIGNING_KEY_UNAVAILABLE) from error
        try:
            value = json.loads(text)
        except ValueError:
            raise self.malformed() from None  # the cause contains the secret's text
        if not isinstance(value, dict):
            raise self.malformed()
        return value

    def malformed(self) -> NotNowError:
        """The error to raise, `from None`, if the secret is malformed. It contains nothing of the secret.

        Messages that need the secret wait for a better one: the fault is not theirs.
        """
        self._own_faults.note(
            OwnFault(
                f"secret {self._secret}: it must contain {self._form}. Restore its previous version "
                "(aws secretsmanager update-secret-version-stage), or set it again"
            )
        )
        return NotNowError(SIGNING_KEY_UNAVAILABLE, "a secret here is not of the form that it must have")

    def put(self, entries: Mapping[str, Any]) -> None:
        """Store the content. Raises OurError if it is too large."""
        text = json.dumps(entries, sort_keys=True)
        if len(text.encode()) > MAX_SECRET_BYTES:
            raise OurError(
                f"the secret of signing keys would exceed {MAX_SECRET_BYTES} bytes with {len(entries)} keys; "
                "use Ed25519 keys, or a second deployment"
            )
        self._secrets.put_secret_value(SecretId=self._secret, SecretString=text)
        self._read_at = self._failed_at = float("-inf")


class SecretKeys:
    """Keys in a secret. `form`: as for `Secret`. `own_faults`: where a malformed secret is reported; None: nowhere."""

    form: ClassVar[str]

    def __init__(
        self,
        client: "SecretsManagerClient",
        arn: str,
        clock: Callable[[], float],
        own_faults: OwnFaults | None = None,
    ) -> None:
        self._secret = Secret(client, arn, clock, self.form, own_faults)
        self._clock = clock
