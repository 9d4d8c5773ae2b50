"""Sessions and stamps in the memory of a process, which forgets them when it ends."""

from collections import Counter
from dataclasses import dataclass, replace
from heapq import nlargest
from typing import Final, Generic, TypeVar

from postroom.core.errors import NotNowError, TheirError
from postroom.protocols.dcp.reasons import (
    DCP_DUPLICATE,
    DCP_ID_REUSED,
    DCP_NONCE_INVALID,
    DCP_SESSION_OVER,
    DCP_STORE_FULL,
)
from postroom.protocols.dcp.session_store import NonceUse, RequestUse, row_digest, stamp_digests
from postroom.protocols.dcp.validity import TtlLimits

MAX_ROWS: Final = 100_000
"""Of each kind, some 300 bytes each."""
_PART: Final = 8
"""When there are too many, so many that one part in this number is free again are forgotten at once."""
_SWEEP_SECONDS: Final = 10
_KEPT_SECONDS: Final = 60
"""How long what is over is kept, so that a clock that is set back by less revives nothing."""
_ALL: Final = ""


@dataclass(frozen=True, slots=True)
class _Row:
    """What is remembered until a time. `of`: the peer whose it is, or _ALL.

    `since`: when a session was opened, or the date of a request; the same whenever it is used again.
    """

    of: str
    since: float
    until: float


@dataclass(frozen=True, slots=True)
class _Session(_Row):
    nonce: str
    closed: bool = False


@dataclass(frozen=True, slots=True)
class _Used(_Row):
    mark: str


R = TypeVar("R", bound=_Row)


class RowsOfOneKind(Generic[R]):
    """Rows by their digests, the one that was used longest ago first; at most `most`.

    Beyond that, those who have most rows lose them, the first ones first. From then on, whatever is of them and no
    later than what they lost may have been lost, and is never taken for new.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.rows: dict[bytes, R] = {}
        self._lost: dict[str, _Row] = {}

    def put(self, key: bytes, row: R) -> None:
        """Remember a row, the last one."""
        self.rows.pop(key, None)
        self.rows[key] = row
        if len(self.rows) > self._most:
            self._lose()

    def may_be_lost(self, of: str, since: float) -> bool:
        """Whether there may have been such a row."""
        return any(each in self._lost and since <= self._lost[each].since for each in (of, _ALL))

    def sweep(self, over: float) -> None:
        """Forget what was remembered until a time before `over`."""
        self.rows = {key: row for key, row in self.rows.items() if row.until >= over}
        self._lost = {of: row for of, row in self._lost.items() if row.until >= over}

    def _lose(self) -> None:
        later: Counter[str] = Counter()
        ranked = []
        for place, (key, row) in enumerate(reversed(self.rows.items())):
            ranked.append((later[row.of], place, key))
            later[row.of] += 1
        free = len(self.rows) - self._most + self._most // _PART
        for *_, key in nlargest(free, ranked):
            row = self.rows.pop(key)
            self._note_lost(row.of, row)
        if len(self._lost) > self._most // _PART:
            # Of too many peers; then everybody counts as one of them.
            lost, self._lost = self._lost, {}
            for each in lost.values():
                self._note_lost(_ALL, each)

    def _note_lost(self, of: str, row: _Row) -> None:
        known = self._lost.get(of, row)
        self._lost[of] = _Row(of, max(row.since, known.since), max(row.until, known.until))


class MemoryStore:
    """A session store in memory. `max_rows`: of each kind that it remembers at most.

    What it forgets before the time is refused from then on, with all that is no later: so nothing counts twice, and
    whoever comes afterwards is served, however many keys strangers have.

    - Sessions: the peers with most lose those that they used longest ago (DCP_SESSION_OVER).
    - Ids, and stamps of requests that nobody authorized: the peers with most lose the first ones. Requests of these
      peers that are dated no later than the lost ones are refused (DCP_STORE_FULL).
    - Stamps of owners, and authorized payloads: the peers who presented most lose the first ones. Authorized requests
      that one of these peers may present, and that are dated no later, are refused (DCP_STORE_FULL), whoever presents
      them. An owner who gives one stamp to two payloads, for different peers, must not rely on it here: it may count
      for each of them, once the first one has presented so many others.

    Of more peers than an eighth of the rows, all count as one. So strangers with as many keys, who date requests ahead,
    keep out newcomers while they go on, and for as long afterwards as the clocks may differ.
    """

    def __init__(self, *, max_rows: int = MAX_ROWS) -> None:
        self._sessions: RowsOfOneKind[_Session] = RowsOfOneKind(max_rows)
        self._own: RowsOfOneKind[_Used] = RowsOfOneKind(max_rows)
        self._authorized: RowsOfOneKind[_Used] = RowsOfOneKind(max_rows)
        self._next_sweep = 0.0
        self._remembers_by: tuple[TtlLimits, float] | None = None

    def remember_by(self, ttl: TtlLimits, slop: float) -> None:
        """State the ttl and the slop by which stamps are remembered. Raises ValueError: they were others before.

        Otherwise a request would count again at an end that grants it more time than the one that received it.
        """
        if self._remembers_by not in (None, (ttl, slop)):
            raise ValueError(
                "connections that share a store must remember stamps equally long: give them the same ttl and slop,"
                " or the same widest_ttl and widest_slop"
            )
        self._remembers_by = ttl, slop

    def __len__(self) -> int:
        """How many sessions, ids and stamps are remembered."""
        return sum(len(kind.rows) for kind in (self._sessions, self._own, self._authorized))

    def use_nonce(self, use: NonceUse) -> None:
        """Replace a session's nonce by the following one; see SessionStore."""
        self._sweep(use.now)
        key = row_digest("session", use.dcpsid, "")
        session = self._sessions.rows.get(key)
        if session is None:
            if not use.first or self._sessions.may_be_lost(use.peer, use.opened):
                raise TheirError(DCP_SESSION_OVER)
        elif session.until < use.now or (session.closed and not (use.closes and session.nonce == use.following)):
            raise TheirError(DCP_SESSION_OVER)
        elif session.nonce not in (use.nonce, use.following):
            raise TheirError(DCP_NONCE_INVALID)
        self._sessions.put(key, _Session(use.peer, use.opened, use.until, use.following, use.closes))

    def use_request(self, use: RequestUse) -> None:
        """Remember the id and the stamp of a request; see SessionStore. Raises NotNowError(DCP_STORE_FULL), too."""
        self._sweep(use.now)
        name = row_digest("id", use.peer, use.id)
        if self._is_taken(self._own, name, use):
            raise TheirError(DCP_ID_REUSED)
        self._check_stamps(use)
        if self._own.may_be_lost(use.peer, use.dated):
            raise NotNowError(DCP_STORE_FULL)
        self._own.put(name, _used(use, use.peer))
        self._take_stamps(use, use.peer)

    def revoke(self, use: RequestUse) -> None:
        """Remember the stamp of a request that is revoked, and no id; see SessionStore."""
        self._sweep(use.now)
        self._check_stamps(use)
        # Its bearers are not known: if it is lost, whoever presents an authorization may present this one.
        self._take_stamps(use, _ALL)

    def give_back(self, use: RequestUse) -> None:
        """Forget the use of an id and a stamp, if it is still this one."""
        kind = self._stamps_of(use)
        for of, key in ((self._own, row_digest("id", use.peer, use.id)), *((kind, key) for key in stamp_digests(use))):
            if key in of.rows and of.rows[key].mark == use.mark:
                del of.rows[key]

    def close(self, dcpsid: str) -> None:
        """Close a session for good."""
        key, rows = row_digest("session", dcpsid, ""), self._sessions.rows
        if key in rows:
            rows[key] = replace(rows[key], closed=True)

    def _check_stamps(self, use: RequestUse) -> None:
        kind = self._stamps_of(use)
        if any(self._is_taken(kind, key, use) for key in stamp_digests(use)):
            raise TheirError(DCP_DUPLICATE)
        if any(kind.may_be_lost(bearer, use.dated) for bearer in (use.peer, *use.bearers)):
            raise NotNowError(DCP_STORE_FULL)

    def _take_stamps(self, use: RequestUse, of: str) -> None:
        kind = self._stamps_of(use)
        for key in stamp_digests(use):
            kind.put(key, _used(use, of))

    def _stamps_of(self, use: RequestUse) -> RowsOfOneKind[_Used]:
        return self._authorized if use.owners else self._own

    @staticmethod
    def _is_taken(kind: RowsOfOneKind[_Used], key: bytes, use: RequestUse) -> bool:
        used = kind.rows.get(key)
        return used is not None and used.until >= use.now and used.mark != use.mark

    def _sweep(self, now: float) -> None:
        if now < self._next_sweep:
            return
        self._next_sweep = now + _SWEEP_SECONDS
        for kind in (self._sessions, self._own, self._authorized):
            kind.sweep(now - _KEPT_SECONDS)


def _used(use: RequestUse, of: str) -> _Used:
    return _Used(of, use.dated, use.until, use.mark)
