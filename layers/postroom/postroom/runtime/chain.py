"""What asks ENS, by the endpoints that are stored now."""

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING

from postroom.core.errors import NotNowError
from postroom.protocols.dm3.reasons import PROFILE_LOOKUP_FAILED

if TYPE_CHECKING:
    from postroom.names.ens.ens import Ens


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
