"""Sessions and stamps in the memory of a process, which forgets them when it ends."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from postroom.core.errors import NotNowError, TheirError
from postroom.protocols.dcp.reasons import (
    DCP_DUPLICATE,
    DCP_ID_REUSED,
    DCP_NONCE_INVALID,
    DCP_SESSION_OVER,
    DCP_STORE_FULL,
)
from postroom.protocols.dcp.session_store import NonceUse, RequestUse

MAX_ROWS: Final = 100_000
"""Sessions, ids and stamps together, some 300 bytes each."""
_SWEEP_SECONDS: Final = 10
_KEPT_SECONDS: Final = 60
"""How long what is over is kept, so that a clock that is set back by less revives nothing."""

_Key = tuple[str, str, str]
"""The kind of what is remembered, whose it is, and its text."""


@dataclass(frozen=True, slots=True)
class _Session:
    nonce: str
    until: float
    closed: bool = False


@dataclass(frozen=True, slots=True)
class _Used:
    mark: str
    until: float


class MemoryStore:
    """A session store in memory. `max_rows`: what it remembers at most."""

    def __init__(self, *, max_rows: int = MAX_ROWS) -> None:
        self._max_rows = max_rows
        self._sessions: dict[str, _Session] = {}
        self._used: dict[_Key, _Used] = {}
        self._next_sweep = 0.0

    def __len__(self) -> int:
        """How many sessions, ids and stamps are remembered."""
        return len(self._sessions) + len(self._used)

    def use_nonce(self, use: NonceUse) -> None:
        """Replace a session's nonce by the following one; see SessionStore."""
        self._free_space(use.now)
        session = self._sessions.get(use.dcpsid)
        if session is None and use.first:
            self._sessions[use.dcpsid] = _Session(use.following, use.until)
        elif session is None or session.closed or session.until < use.now:
            raise TheirError(DCP_SESSION_OVER)
        elif session.nonce == use.nonce:
            self._sessions[use.dcpsid] = _Session(use.following, use.until)
        elif session.nonce != use.following:
            raise TheirError(DCP_NONCE_INVALID)

    def use_request(self, use: RequestUse) -> None:
        """Remember the id and the stamp of a request; see SessionStore."""
        self._free_space(use.now)
        name, *stamps = _keys(use)
        if self._is_taken(name, use):
            raise TheirError(DCP_ID_REUSED)
        self._take_stamps(stamps, use)
        self._used[name] = _Used(use.mark, use.until)

    def revoke(self, use: RequestUse) -> None:
        """Remember the stamp of a request that is revoked, and no id; see SessionStore."""
        self._free_space(use.now)
        _, *stamps = _keys(use)
        self._take_stamps(stamps, use)

    def give_back(self, use: RequestUse) -> None:
        """Forget the use of an id and a stamp, if it is still this one."""
        for key in _keys(use):
            if key in self._used and self._used[key].mark == use.mark:
                del self._used[key]

    def close(self, dcpsid: str) -> None:
        """Close a session for good."""
        if dcpsid in self._sessions:
            self._sessions[dcpsid] = replace(self._sessions[dcpsid], closed=True)

    def _take_stamps(self, stamps: Sequence[_Key], use: RequestUse) -> None:
        if any(self._is_taken(stamp, use) for stamp in stamps):
            raise TheirError(DCP_DUPLICATE)
        self._used |= dict.fromkeys(stamps, _Used(use.mark, use.until))

    def _is_taken(self, key: _Key, use: RequestUse) -> bool:
        used = self._used.get(key)
        return used is not None and used.until >= use.now and used.mark != use.mark

    def _free_space(self, now: float) -> None:
        if now >= self._next_sweep:
            self._next_sweep = now + _SWEEP_SECONDS
            over = now - _KEPT_SECONDS
            self._sessions = {dcpsid: each for dcpsid, each in self._sessions.items() if each.until >= over}
            self._used = {key: each for key, each in self._used.items() if each.until >= over}
        if len(self) >= self._max_rows:
            raise NotNowError(DCP_STORE_FULL)


def _keys(use: RequestUse) -> Iterator[_Key]:
    yield "id", use.dcpsid, use.id
    if not use.resources:
        yield "stamp", "", use.stamp
    for resource in use.resources:
        yield "stamp", resource, use.stamp
