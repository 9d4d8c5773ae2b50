"""The sessions, ids and stamps that the guardian of DCP remembers: table `dcp`, by digests.

A row is over when its own time says so. DynamoDB removes it an hour later at the earliest, because its clock, those of
the functions, and the end of a run differ. Nothing is read before it is written: a refused write brings the row.
"""

from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Final

from postroom.core.errors import NotNowError, TheirError
from postroom.core.reason import Reason
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.core.side_by_side import side_by_side
from postroom.net.aws_errors import ConditionFailedError, our_own_fault
from postroom.protocols.dcp.reasons import DCP_DUPLICATE, DCP_ID_REUSED, DCP_NONCE_INVALID, DCP_SESSION_OVER
from postroom.protocols.dcp.session_store import NonceUse, RequestUse, row_digest, stamp_digests
from postroom.storage.aws.attributes import ABSENT, TTL, Flag, Item, Number, Text, item, primary_key
from postroom.storage.aws.table import DynamoTable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

REMOVED_AFTER_SECONDS: Final = 3600
"""How long after its end a row is removed at the earliest."""

_NONCE, _MARK, _UNTIL, _CLOSED = Text("nonce"), Text("mark"), Number("until"), Flag("closed")
"""`until`: in milliseconds since the epoch."""
_IS_NEXT: Final = f"{_NONCE} = :nonce AND {_UNTIL} >= :now AND attribute_not_exists({_CLOSED})"
_IS_FREE: Final = f"{ABSENT} OR {_UNTIL} < :now OR {_MARK} = :mark"


@dataclass(frozen=True, slots=True)
class _Claimed:
    """A row that a request needs for itself. `taken`: the reason of the refusal if another request has it."""

    pk: str
    taken: Reason


class DcpSessions:
    """A session store (`protocols.dcp.session_store`). `pool`: writes the rows of a request at the same time.

    All methods raise NotNowError(STORE_UNAVAILABLE).
    """

    def __init__(self, dynamodb: "DynamoDBClient", table: str, pool: Executor) -> None:
        self._table = DynamoTable(dynamodb, table)
        self._pool = pool

    def use_nonce(self, use: NonceUse) -> None:
        """Replace a session's nonce by the following one, in one write; see SessionStore."""
        values = {
            ":following": _NONCE.encode(use.following),
            ":until": _UNTIL.encode(_milliseconds(use.until)),
            ":ttl": TTL.encode(_removed_at(use.until)),
        }
        if not use.first:
            values |= {":nonce": _NONCE.encode(use.nonce), ":now": _UNTIL.encode(int(use.now * 1000))}
        change = f"SET {_NONCE} = :following, {_UNTIL} = :until, {TTL} = :ttl"
        if use.closes:
            change += f", {_CLOSED} = :true"
            values[":true"] = _CLOSED.encode(True)
        try:
            self._table.change(
                _session(use.dcpsid),
                change,
                values,
                ABSENT if use.first else _IS_NEXT,
            )
        except ConditionFailedError as refused:
            _check_own_nonce(refused.item, use)

    def use_request(self, use: RequestUse) -> None:
        """Remember the id and the stamps of a request, in one write each; see SessionStore."""
        first, *others = _stamps_of(use)
        self._take(use, [_id_of(use), first], *([stamp] for stamp in others))

    def revoke(self, use: RequestUse) -> None:
        """Remember the stamps of a request that is revoked, in one write each; see SessionStore."""
        self._take(use, *([stamp] for stamp in _stamps_of(use)))

    def give_back(self, use: RequestUse) -> None:
        """Forget the use of an id and its stamps, if it is still this one."""
        self._free(use, [_id_of(use), *_stamps_of(use)])

    def _take(self, use: RequestUse, *groups: Sequence[_Claimed]) -> None:
        """Take rows for a request, each group at the same time, or none of them.

        A stamp stands in the same order among the groups of every request. So of several at once that need the same
        stamps, whoever takes the first one takes all; without an order, each could take one, and none would have all.
        """

        def take(claimed: _Claimed) -> Exception | None:
            row = primary_key(claimed.pk) | item(
                _MARK.of(use.mark), _UNTIL.of(_milliseconds(use.until)), TTL.of(_removed_at(use.until))
            )
            values = {":now": _UNTIL.encode(int(use.now * 1000)), ":mark": _MARK.encode(use.mark)}
            try:
                return None if self._table.put(row, _IS_FREE, values) is None else TheirError(claimed.taken)
            except Exception as error:  # also one that was denied
                return error

        maybe_taken: list[_Claimed] = []
        for group in groups:
            # Their errors are results, because one must not end this while another write is under way.
            errors = side_by_side(self._pool, take, group)
            maybe_taken += [row for row, error in zip(group, errors, strict=True) if not isinstance(error, TheirError)]
            failed = next(filter(None, errors), None)
            if failed:
                # The request had no effect, and must not use up the stamp of one that may. If that is not possible
                # now, the stamp stays used.
                with suppress(Exception):
                    self._free(use, maybe_taken)
                if our_own_fault(failed):
                    # It was noted already. Other requests of the message may have been performed, and are answered.
                    raise NotNowError(STORE_UNAVAILABLE) from failed
                raise failed

    def _free(self, use: RequestUse, rows: Sequence[_Claimed]) -> None:
        def free(claimed: _Claimed) -> None:
            self._table.delete(primary_key(claimed.pk), f"{_MARK} = :mark", {":mark": _MARK.encode(use.mark)})

        side_by_side(self._pool, free, rows)


def _check_own_nonce(row: Item | None, use: NonceUse) -> None:
    """Check that the row was written by this very use, whose answer was lost. Raises TheirError."""
    if not row or _UNTIL.read(row) < use.now * 1000:
        raise TheirError(DCP_SESSION_OVER)
    is_own = _NONCE.read(row) == use.following
    if _CLOSED.is_in(row) and not (use.closes and is_own):
        raise TheirError(DCP_SESSION_OVER)
    if not is_own:
        raise TheirError(DCP_NONCE_INVALID)


def _id_of(use: RequestUse) -> _Claimed:
    return _Claimed(row_digest("id", use.peer, use.id).hex(), DCP_ID_REUSED)


def _stamps_of(use: RequestUse) -> list[_Claimed]:
    return [_Claimed(digest.hex(), DCP_DUPLICATE) for digest in stamp_digests(use)]


def _session(dcpsid: str) -> Item:
    return primary_key(row_digest("session", dcpsid, "").hex())


def _milliseconds(until: float) -> int:
    """Rounded up: nothing is over too early."""
    return ceil(until * 1000)


def _removed_at(until: float) -> int:
    return ceil(until) + REMOVED_AFTER_SECONDS
