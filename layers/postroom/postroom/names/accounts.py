"""The accounts of senders, which a chain is asked about: whether they reach what is demanded; kept for a while."""

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Final

from postroom.core.errors import NotNowError, TooSlowError
from postroom.core.expiring_cache import Cache, CacheEntry
from postroom.crypto.encodings import read_hex
from postroom.names.ens.accounts import AccountDemands
from postroom.names.ens_registry import LookUpRate
from postroom.names.registry import ADDRESS_KEY, Registry
from postroom.protocols.dm3.reasons import FILTER_RULE_UNCHECKED

if TYPE_CHECKING:
    from postroom.names.ens.ens import Ens

MAX_VERDICTS: Final = 4096
REACHED_SECONDS: Final = 300
NONCE_REACHED_SECONDS: Final = 86_400
"""A nonce never becomes smaller."""
MISSED_SECONDS: Final = 30
"""Whoever is refused may change that at once."""


class SenderAccounts:
    """Finds out whether senders' accounts reach what is demanded. Safe to share.

    The account of a name is the address that it has in ENS: `addresses` is the registry there. `ens` returns what the
    chain is asked by; None: no endpoints are set. `rate`: of look-ups; `clock`: epoch seconds.
    """

    def __init__(
        self, addresses: Registry, ens: "Callable[[], Ens | None]", rate: LookUpRate, clock: Callable[[], float]
    ) -> None:
        self._addresses = addresses
        self._ens = ens
        self._rate = rate
        self._clock = clock
        self._verdicts: Cache[bool] = Cache(MAX_VERDICTS)
        self._lock = Lock()

    def reach(self, name: str, demands: AccountDemands) -> bool:
        """Whether the account of a normalised name reaches all demands; a name without an address reaches none.

        Raises NotNowError(FILTER_RULE_UNCHECKED): it could not be found out; TooSlowError: within the time.
        """
        known = {part: self._known(name, part) for part in demands.parts}
        if False in known.values():
            return False
        open_parts = [part for part, verdict in known.items() if verdict is None]
        if not open_parts:
            return True
        verdicts = self._look_up(name, open_parts)
        with self._lock:
            now = self._clock()
            for part, verdict in zip(open_parts, verdicts, strict=True):
                self._verdicts.put((name, part), CacheEntry(verdict, now, now + _seconds(part, reached=verdict)))
        return all(verdicts)

    def _known(self, name: str, part: AccountDemands) -> bool | None:
        with self._lock:
            kept = self._verdicts.get((name, part), self._clock())
        return kept.value if kept else None

    def _look_up(self, name: str, parts: list[AccountDemands]) -> tuple[bool, ...]:
        try:
            return self._ask(name, parts)
        except NotNowError as error:
            kind = TooSlowError if isinstance(error, TooSlowError) else NotNowError
            raise kind(FILTER_RULE_UNCHECKED, error.detail) from error

    def _ask(self, name: str, parts: list[AccountDemands]) -> tuple[bool, ...]:
        ens = self._ens()
        if ens is None:
            raise NotNowError(FILTER_RULE_UNCHECKED, "no endpoints of a chain are set here")
        account = read_hex(self._addresses.text(name, ADDRESS_KEY).value)
        if account is None:
            return (False,) * len(parts)
        if not self._rate.take():
            raise NotNowError(FILTER_RULE_UNCHECKED, "too many accounts are looked up at the moment")
        return ens.reach(account, parts)


def _seconds(part: AccountDemands, *, reached: bool) -> float:
    if not reached:
        return MISSED_SECONDS
    return NONCE_REACHED_SECONDS if part.nonce else REACHED_SECONDS
