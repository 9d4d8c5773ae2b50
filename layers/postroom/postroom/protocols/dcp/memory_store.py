"""Sessions and stamps in the memory of a process, which forgets them when it ends."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from postroom.core.errors import NotNowError, TheirError
from postroom.crypto.ethereum import Address
from postroom.protocols.dcp.reasons import (
    DCP_DUPLICATE,
    DCP_ID_REUSED,
    DCP_NONCE_INVALID,
    DCP_SESSION_OVER,
    DCP_STORE_FULL,
)
from postroom.protocols.dcp.session_store import NonceUse, RequestUse, row_digest

MAX_ROWS: Final = 100_000
"""Sessions, ids and stamps together, some 300 bytes each."""
_SHARE: Final = 8
"""A peer may hold one part in this number of the free rows."""
_SWEEP_SECONDS: Final = 10
_KEPT_SECONDS: Final = 60
"""How long what is over is kept, so that a clock that is set back by less revives nothing."""

_Key = bytes
"""A digest of the kind of what is remembered, whose it is, and its text."""


@dataclass(frozen=True, slots=True)
class _Session:
    peer: Address
    nonce: str
    until: float
    closed: bool = False


@dataclass(frozen=True, slots=True)
class _Used:
    peer: Address
    mark: str
    until: float


class MemoryStore:
    """A session store in memory. `max_rows`: what it remembers at most.

    A peer may hold an eighth of the rows that are free: one alone holds a ninth of all, and each further one less. A
    stranger with many keys leaves little to others all the same.
    """

    def __init__(self, *, max_rows: int = MAX_ROWS) -> None:
        self._max_rows = max_rows
        self._sessions: dict[_Key, _Session] = {}
        self._used: dict[_Key, _Used] = {}
        self._rows: Counter[Address] = Counter()
        """How many of them each peer holds."""
        self._next_sweep = 0.0

    def __len__(self) -> int:
        """How many sessions, ids and stamps are remembered."""
        return len(self._sessions) + len(self._used)

    def use_nonce(self, use: NonceUse) -> None:
        """Replace a session's nonce by the following one; see SessionStore."""
        self._sweep(use.now)
        key = _session(use.dcpsid)
        session = self._sessions.get(key)
        if session is None and use.first:
            self._check_space(use.peer)
            self._sessions[key] = _Session(use.peer, use.following, use.until)
            self._rows[use.peer] += 1
        elif session is None or session.closed or session.until < use.now:
            raise TheirError(DCP_SESSION_OVER)
        elif session.nonce == use.nonce:
            self._sessions[key] = replace(session, nonce=use.following, until=use.until)
        elif session.nonce != use.following:
            raise TheirError(DCP_NONCE_INVALID)

    def use_request(self, use: RequestUse) -> None:
        """Remember the id and the stamp of a request; see SessionStore."""
        self._sweep(use.now)
        name, *stamps = _keys(use)
        if self._is_taken(name, use):
            raise TheirError(DCP_ID_REUSED)
        self._take_stamps(stamps, use)
        self._take(name, use)

    def revoke(self, use: RequestUse) -> None:
        """Remember the stamp of a request that is revoked, and no id; see SessionStore."""
        self._sweep(use.now)
        _, *stamps = _keys(use)
        self._take_stamps(stamps, use)

    def give_back(self, use: RequestUse) -> None:
        """Forget the use of an id and a stamp, if it is still this one."""
        for key in _keys(use):
            if key in self._used and self._used[key].mark == use.mark:
                self._rows[self._used.pop(key).peer] -= 1

    def close(self, dcpsid: str) -> None:
        """Close a session for good."""
        key = _session(dcpsid)
        if key in self._sessions:
            self._sessions[key] = replace(self._sessions[key], closed=True)

    def _take_stamps(self, stamps: Sequence[_Key], use: RequestUse) -> None:
        if any(self._is_taken(stamp, use) for stamp in stamps):
            raise TheirError(DCP_DUPLICATE)
        self._check_space(use.peer)
        for stamp in stamps:
            self._take(stamp, use)

    def _take(self, key: _Key, use: RequestUse) -> None:
        if key in self._used:
            self._rows[self._used[key].peer] -= 1
        self._used[key] = _Used(use.peer, use.mark, use.until)
        self._rows[use.peer] += 1

    def _is_taken(self, key: _Key, use: RequestUse) -> bool:
        used = self._used.get(key)
        return used is not None and used.until >= use.now and used.mark != use.mark

    def _check_space(self, peer: Address) -> None:
        if self._rows[peer] * _SHARE >= self._max_rows - len(self):
            raise NotNowError(DCP_STORE_FULL)

    def _sweep(self, now: float) -> None:
        if now < self._next_sweep:
            return
        self._next_sweep = now + _SWEEP_SECONDS
        over = now - _KEPT_SECONDS
        self._sessions = {key: each for key, each in self._sessions.items() if each.until >= over}
        self._used = {key: each for key, each in self._used.items() if each.until >= over}
        self._rows = Counter(each.peer for rows in (self._sessions, self._used) for each in rows.values())


def _session(dcpsid: str) -> _Key:
    return row_digest("session", dcpsid, "")


def _keys(use: RequestUse) -> Iterator[_Key]:
    yield row_digest("id", use.peer, use.id)
    if use.payload:
        yield row_digest("payload", "", use.payload)
    for owner in use.owners or ("",):
        yield row_digest("stamp", owner, use.stamp)
