"""The registry of dm3 names in DNS: texts at `_dm3.<name>`, proven by DNSSEC (decision "Registries")."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from postroom.core.errors import NotNowError, TheirError
from postroom.core.reason import Reason
from postroom.crypto.reasons import KEY_RECORD_INVALID
from postroom.names.dm3_records import owner_name, read_texts
from postroom.names.dns import Ask
from postroom.names.dnssec import Evidence, Policy, TrustAnchors
from postroom.names.keys import KeepTimes, KeyDirectory
from postroom.names.registry import ABSENT_SECONDS, MAX_TEXT_SECONDS, MIN_TEXT_SECONDS, RegistryText
from postroom.protocols.dm3.reasons import PROFILE_INVALID, PROFILE_LOOKUP_FAILED, PROFILE_NOT_PROVEN
from postroom.protocols.nlweb.reasons import DNSSEC_BOGUS, KEY_NOT_FOUND, SENDER_NOT_SIGNED

MAX_NAMES: Final = 4096
_NOT_HERE: Final = {KEY_NOT_FOUND: "absent", SENDER_NOT_SIGNED: "insecure"}
"""The verdicts that say that the next registry may be used."""
_WRONG: Final[Mapping[Reason, tuple[Reason, str]]] = {
    DNSSEC_BOGUS: (PROFILE_NOT_PROVEN, "what DNS says of the name is not signed as it must be"),
    KEY_RECORD_INVALID: (PROFILE_INVALID, "the record of the name in DNS is an alias that leads back to itself"),
}
"""By verdict: no sentence here names a sender, whose name is in no log."""


class DnsRegistry:
    """Finds texts in DNS. Safe to share. `asking`, `anchors`, `clock`, `policy`: as for `KeyDirectory`."""

    def __init__(
        self,
        asking: Callable[[], Ask],
        anchors: TrustAnchors,
        clock: Callable[[], float],
        policy: Policy | None = None,
    ) -> None:
        self._clock = clock
        self._records: KeyDirectory[Mapping[str, str]] = KeyDirectory(
            asking,
            anchors,
            _read,
            clock=clock,
            policy=policy,
            times=KeepTimes(
                min_key_seconds=MIN_TEXT_SECONDS,
                max_key_seconds=MAX_TEXT_SECONDS,
                max_negative_seconds=ABSENT_SECONDS,
                max_names=MAX_NAMES,
            ),
            weigh=lambda texts: sum(map(len, texts.values())),
        )

    def text(self, name: str, key: str, *, fresh: bool = False) -> RegistryText:
        """The text; a name is in this registry if there is a record of dm3, of any key, at it.

        Raises TheirError (PROFILE_NOT_PROVEN, PROFILE_INVALID) or NotNowError(PROFILE_LOOKUP_FAILED).
        """
        owner = owner_name(name)
        if owner is None:
            return _text(None, ABSENT_SECONDS, "not looked up")
        try:
            found = self._records.find(owner.removesuffix("."), fresh=fresh)
        except TheirError as error:
            if error.reason in _NOT_HERE:
                return _text(None, ABSENT_SECONDS, _NOT_HERE[error.reason])
            raise TheirError(*_WRONG.get(error.reason, (error.reason, error.detail))) from error
        except NotNowError as error:
            raise NotNowError(PROFILE_LOOKUP_FAILED, "what DNS says of a name could not be found out") from error
        seconds = max(0.0, found.expires_at - self._clock())
        return _text(found.key.get(key, ""), seconds, "secure")

    def evidence(self, name: str) -> Evidence | None:
        """The proof of the records that were found at a normalised name; None: none were, or it is not kept."""
        owner = owner_name(name)
        try:
            found = self._records.remembered(owner.removesuffix(".")) if owner else None
        except TheirError:
            return None
        return found.evidence if found else None


def _read(records: Sequence[bytes]) -> Mapping[str, str]:
    texts = read_texts(records)
    if not texts:
        raise TheirError(KEY_NOT_FOUND, "no record there is one of dm3")
    return texts


def _text(value: str | None, seconds: float, verdict: str) -> RegistryText:
    return RegistryText(value, seconds, {"registry": "dns", "dnssec": verdict})
