"""What asks ENS, by the endpoints that are stored now; and what operators are told of these endpoints."""

from collections.abc import Callable, Iterable
from threading import Lock
from typing import TYPE_CHECKING, Final

from postroom.core.errors import NotNowError
from postroom.core.own_faults import FaultKind, OwnFault, OwnFaults
from postroom.protocols.dm3.reasons import PROFILE_LOOKUP_FAILED

if TYPE_CHECKING:
    from postroom.names.ens.endpoints import EndpointVerdict
    from postroom.names.ens.ens import Ens

FAIR_SECONDS: Final = 1.0
"""Of an endpoint that had less time to answer nothing is reported: a stranger's gateway may have used the rest."""


class EndpointFaults:
    """Records endpoints that fail or disagree as faults of the deployment: in a log, only their hosts are shown."""

    def __init__(self, own_faults: OwnFaults) -> None:
        self._own_faults = own_faults

    def note(self, verdicts: "Iterable[EndpointVerdict]") -> None:
        """Record what became of a request to endpoints."""
        for verdict in verdicts:
            if verdict.block is None and verdict.seconds >= FAIR_SECONDS:
                self._note(
                    FaultKind.ENDPOINT_FAILED,
                    f"endpoint {verdict.host} of the chain: {verdict.why}. The next one of the list is used, if there "
                    "is one; if this lasts, look at the status and the limits of its provider, or replace it "
                    "(postroom dm3 chain put)",
                )
            elif verdict.differs:
                self._note(
                    FaultKind.ENDPOINT_DISAGREED,
                    f"endpoint {verdict.host} of the chain: it does not say what others say, and is not believed. If "
                    "it is always this one, it does not follow the chain, or lies: replace it (postroom dm3 chain put)",
                )

    def _note(self, kind: FaultKind, sentence: str) -> None:
        self._own_faults.note(OwnFault(sentence, kind))


class ChainInUse:
    """Makes an `Ens` when one is first needed, and a new one after the endpoints were changed. Safe to share.

    `urls` returns the endpoints' URLs, or raises NotNowError. `make` is not called without any.
    """

    def __init__(self, urls: Callable[[], tuple[str, ...]], make: "Callable[[tuple[str, ...]], Ens]") -> None:
        self._urls = urls
        self._make = make
        self._made: tuple[tuple[str, ...], Ens] | None = None
        self._lock = Lock()

    def __call__(self) -> "Ens | None":
        """The present one; None: no endpoints are stored. Raises NotNowError(PROFILE_LOOKUP_FAILED)."""
        try:
            urls = self._urls()
        except NotNowError as error:
            raise NotNowError(PROFILE_LOOKUP_FAILED, "the endpoints of the chain cannot be read now") from error
        if not urls:
            return None
        with self._lock:
            if self._made is None or self._made[0] != urls:
                self._made = (urls, self._make(urls))
            return self._made[1]
