"""The registry of dm3 names in ENS: texts and addresses on which endpoints agree (decision "Registries")."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from postroom.core.errors import NotNowError, TooSlowError
from postroom.core.loading_cache import LoadingCache
from postroom.crypto.encodings import write_hex
from postroom.names.registry import (
    ABSENT_SECONDS,
    ADDRESS_KEY,
    MAX_TEXT_SECONDS,
    MIN_TEXT_SECONDS,
    RegistryText,
)
from postroom.protocols.dm3.reasons import PROFILE_LOOKUP_FAILED

if TYPE_CHECKING:
    from postroom.names.ens.ens import Ens, EnsAnswer

LOOK_UPS_PER_SECOND: Final = 5
"""Look-ups that an instance begins at endpoints, which an operator pays for, and strangers cause."""
BURST_SECONDS: Final = 10
"""For so long, look-ups that were not begun are saved up."""
ASK_SECONDS: Final = 30
"""A name is asked about once in so long: blocks come every 12 s, and forged mail must not cost more."""
FAILING_SECONDS: Final = 5
"""A name whose look-up failed is left alone for so long."""
DEFAULT_SECONDS: Final = 300
"""A text may be kept for so long if the registry on the chain does not say, as for almost all names."""
MAX_TEXTS: Final = 4096
MAX_TEXT_CHARACTERS: Final = 4 << 20
"""Of all texts that are kept."""


_NOT_LOOKED_UP: Final = RegistryText(None, ABSENT_SECONDS, {"registry": "ens"})


class LookUpRate(Protocol):
    """How many look-ups may begin."""

    def take(self) -> bool:
        """Count one; False: there were too many."""
        ...


class _FailedError(NotNowError):
    """A look-up failed; not that it was not begun."""


class _SlowError(_FailedError):
    """A look-up took more time than there was."""


class _DatedText(NamedTuple):
    """A text, and when it was found, epoch seconds."""

    text: RegistryText
    at: float


class EnsRegistry:
    """Finds texts in ENS, and as the text of ADDRESS_KEY an address. Safe to share.

    `ens` returns what the chain is asked by; None: no endpoints are set, and no name is in this registry. It may raise
    NotNowError. `rate`: of look-ups; `clock`: epoch seconds.
    """

    def __init__(self, ens: "Callable[[], Ens | None]", rate: LookUpRate, clock: Callable[[], float]) -> None:
        self._ens = ens
        self._rate = rate
        self._clock = clock
        self._texts: LoadingCache[_DatedText] = LoadingCache(
            clock,
            ASK_SECONDS,
            most=MAX_TEXTS,
            weigh=lambda dated: len(dated.text.value or ""),
            most_weight=MAX_TEXT_CHARACTERS,
            errors={_FailedError: FAILING_SECONDS},
        )

    def text(self, name: str, key: str, *, fresh: bool = False) -> RegistryText:  # noqa: ARG002 - ASK_SECONDS is fresh
        """The text; an empty one on the chain is none. Raises NotNowError(PROFILE_LOOKUP_FAILED), or TooSlowError."""
        if "." not in name:
            return _NOT_LOOKED_UP
        try:
            dated = self._texts.get(f"{key} {name}", lambda: self._look_up(name, key))
        except _FailedError as error:
            kind = TooSlowError if isinstance(error, _SlowError) else NotNowError
            raise kind(error.reason, error.detail) from error
        text = dated.text
        return RegistryText(text.value, max(0.0, dated.at + text.seconds - self._clock()), text.evidence)

    def _look_up(self, name: str, key: str) -> _DatedText:
        at, ens = self._clock(), self._ens()
        if ens is None:
            return _DatedText(_NOT_LOOKED_UP, at)
        if not self._rate.take():
            raise NotNowError(PROFILE_LOOKUP_FAILED, "too many names are looked up at the moment")
        try:
            return _DatedText(_read(ens.address(name) if key == ADDRESS_KEY else ens.text(name, key)), at)
        except NotNowError as error:
            kind = _SlowError if isinstance(error, TooSlowError) else _FailedError
            raise kind(error.reason, error.detail) from error


def _read(answer: "EnsAnswer") -> RegistryText:
    found, last = answer.found, answer.agreed[-1]
    value = write_hex(found.value) if isinstance(found.value, bytes) else found.value
    seconds = min(max(found.ttl or DEFAULT_SECONDS, MIN_TEXT_SECONDS), MAX_TEXT_SECONDS)
    return RegistryText(
        value,
        seconds if value else ABSENT_SECONDS,
        {"registry": "ens", "block": last.block.number, "agreed": min(each.alike for each in answer.agreed)},
    )
