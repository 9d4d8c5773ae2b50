"""Notification targets of mailboxes: rows `notify#<mailbox>` of table `directory`.

A mailbox has a fixed number of slots, and each target has one. Its id is the number of the slot and a random part: a
target can be found by its id, and a message for a target never reaches another one that took its slot later.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from postroom.api.states import TargetState
from postroom.core.errors import NotNowError
from postroom.storage.aws.attributes import ABSENT, PK, SK, Item, Number, Text, Value, item, primary_key
from postroom.storage.aws.table import DynamoTable, Values
from postroom.storage.directory.watching_sessions import WatchingSession

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PREFIX: Final = "notify#"
MAX_TARGETS: Final = 5
"""The most targets that an owner adds to a mailbox; a slot's number has one digit."""
MAX_SESSIONS: Final = 5
"""The most sessions of DCP that wait for mail of a mailbox; their slots are behind those of the other targets."""
SESSION_SECONDS: Final = 7200
"""How long a session can wait at most: API Gateway closes its WebSocket by then."""
_TRIES_AT_SLOTS: Final = 5
_ROW, _SESSION_ROW = "target#", "session#"
"""Earlier releases know no sessions, and do not read their rows."""
_ID, _KIND, _TO, _MADE, _STATE = Text("id"), Text("kind"), Text("to"), Number("made"), Text("st")
_GENERATION, _ROTATED, _CHALLENGE, _TRIES = Number("gen"), Number("rotated"), Number("challenge"), Number("tries")
_FAILING, _DETAIL, _AGAIN, _DUE = Number("failing"), Text("detail"), Text("again"), Number("due")
_AS_IT_WAS: Final = f"{_STATE} = :unverified AND {_CHALLENGE} = :challenge"


class TargetKind(StrEnum):
    """The kind of a target: how it is notified."""

    WEBHOOK = "webhook"
    TOPIC = "sns"
    SESSION = "session"
    """A session of DCP: it is told once, and is no target any more."""


@dataclass(frozen=True, slots=True)
class NotificationRetry:
    """A queued attempt: its notification, and the time by which it must be made (epoch seconds)."""

    notification: str
    until: int


@dataclass(frozen=True, slots=True)
class NotificationTarget:
    """A notification target of `mailbox`. `to`: an https URL, the ARN of a topic, or an encoded WatchingSession. Times:
    epoch milliseconds.

    `generation`: of its secret, rotated at `rotated_at_ms` (0: never). `challenge`: the number of the code that was
    sent last. `failing_since_ms`: 0, if the last attempt succeeded; `detail`: why it failed otherwise, or why it is
    paused. `retry`: the attempt that waits in the queue.
    """

    mailbox: str
    id: str
    kind: TargetKind
    to: str
    made_at_ms: int
    state: TargetState = TargetState.UNVERIFIED
    generation: int = 1
    rotated_at_ms: int = 0
    challenge: int = 1
    failing_since_ms: int = 0
    detail: str = ""
    retry: NotificationRetry | None = None


class NotificationTargets:
    """The rows of targets. All methods raise NotNowError(STORE_UNAVAILABLE)."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str) -> None:
        self._table = DynamoTable(dynamodb, table)

    # --- read -------------------------------------------------------------------------------------------------------
    def of(self, mailbox: str) -> list[NotificationTarget]:
        """All targets of a mailbox, in the order of their slots; read consistently."""
        rows = list(self._table.rows(PREFIX + mailbox))
        found = [_target(row) for row in rows if SK.read(row).startswith((_ROW, _SESSION_ROW))]
        return sorted(found, key=lambda target: target.id[:1])

    def find(self, mailbox: str, target_id: str) -> NotificationTarget | None:
        """A target, read consistently; None: there is none, or another one in its slot."""
        row = self._table.get(_key(mailbox, target_id[:1]))
        found = _target(row) if row else None
        return found if found and found.id == target_id else None

    # --- what owners do ---------------------------------------------------------------------------------------------
    def add(self, mailbox: str, kind: TargetKind, to: str, *, random_id: str, now_ms: int) -> NotificationTarget | None:
        """Put a target into the first free slot; None: none is free."""
        for slot in range(MAX_TARGETS):
            target = NotificationTarget(mailbox, f"{slot}{random_id}", kind, to, now_ms)
            if self._put(target):
                return target
        return None

    def watch(
        self, mailbox: str, session: WatchingSession, *, random_id: str, now_ms: int
    ) -> NotificationTarget | None:
        """Make a session a target, without a code: in place of itself, in a free slot, or in place of the session that
        began to wait first.

        Returns what it took the place of, also an earlier watch of its own, which is to be told, unless it is being
        told of mail: a second response would end it. A notification that failed is not sent again, because its target
        is gone. If the table neither takes the row nor can be read, what it may have taken the place of is not known.
        Raises NotNowError(WATCH_REPLACED), too: others take all places meanwhile.
        """
        for _ in range(_TRIES_AT_SLOTS):
            slot, old = _slot_for(session, [each for each in self.of(mailbox) if each.kind is TargetKind.SESSION])
            target = NotificationTarget(
                mailbox, f"{slot}{random_id}", TargetKind.SESSION, session.encode(), now_ms, TargetState.ACTIVE,
                challenge=0,
            )  # fmt: skip
            try:
                is_put = self._put(target, instead_of=old)
            except NotNowError:
                if not self._is_put(target):
                    raise
                is_put = True
            if is_put:
                is_notified_now = old is not None and old.retry and not old.failing_since_ms
                return None if is_notified_now else old
        # Most functions that know targets know nothing of DCP.
        from postroom.protocols.dcp.reasons import WATCH_REPLACED

        raise NotNowError(WATCH_REPLACED, "too many sessions begin to wait for mail of this mailbox at once")

    def remove(self, mailbox: str, target_id: str) -> bool:
        """Remove a target; False: there is none."""
        return self._table.delete(_key(mailbox, target_id[:1]), f"{_ID} = :id", {":id": _ID.encode(target_id)})

    def challenge(self, target: NotificationTarget) -> bool:
        """Replace the code that was sent last by a new one; False: another caller did."""
        return self._update(
            target, f"SET {_CHALLENGE} = :next, {_TRIES} = :none",
            {":next": _CHALLENGE.encode(target.challenge + 1), ":none": _TRIES.encode(0), **_as_it_was(target)},
            _AS_IT_WAS,
        )  # fmt: skip

    def take_try(self, target: NotificationTarget, most: int) -> bool:
        """Count one attempt at the code that was sent last; False: it had `most` of them, or has been replaced."""
        return self._update(
            target, f"ADD {_TRIES} :one",
            {":one": _TRIES.encode(1), ":most": _TRIES.encode(most), **_as_it_was(target)},
            f"{_AS_IT_WAS} AND {_TRIES} < :most",
        )  # fmt: skip

    def verify(self, target: NotificationTarget) -> bool:
        """Mark the target as verified; False: meanwhile another code was sent, or it was verified."""
        return self._update(
            target, f"SET {_STATE} = :active REMOVE {_FAILING}, {_DETAIL}",
            {":active": _STATE.encode(TargetState.ACTIVE), **_as_it_was(target)}, _AS_IT_WAS,
        )  # fmt: skip

    def rotate(self, target: NotificationTarget, now_ms: int) -> bool:
        """Begin the next generation of the target's secret; False: another caller did."""
        return self._update(
            target, f"SET {_GENERATION} = :next, {_ROTATED} = :now",
            {
                ":next": _GENERATION.encode(target.generation + 1),
                ":now": _ROTATED.encode(now_ms),
                ":gen": _GENERATION.encode(target.generation),
            },
            f"{_GENERATION} = :gen",
        )  # fmt: skip

    def resume(self, target: NotificationTarget) -> None:
        """Resume a paused target."""
        self._update(
            target, f"SET {_STATE} = :active REMOVE {_FAILING}, {_DETAIL}, {_AGAIN}, {_DUE}",
            {":active": _STATE.encode(TargetState.ACTIVE), ":paused": _STATE.encode(TargetState.PAUSED)},
            f"{_STATE} = :paused",
        )  # fmt: skip

    # --- what the courier notes -------------------------------------------------------------------------------------
    def failed(self, target: NotificationTarget, detail: str, since_ms: int, retry: NotificationRetry | None) -> None:
        """Record a failed attempt, and the next one, which is already in the queue."""
        change = f"SET {_DETAIL} = :detail, {_FAILING} = :since"
        values = {
            ":detail": _DETAIL.encode(detail), ":since": _FAILING.encode(since_ms), ":st": _STATE.encode(target.state),
        }  # fmt: skip
        if retry:
            change += f", {_AGAIN} = :again, {_DUE} = :due"
            values |= {":again": _AGAIN.encode(retry.notification), ":due": _DUE.encode(retry.until)}
        self._update(target, change, values, f"{_STATE} = :st")

    def begin_notifying(self, target: NotificationTarget, notification: str, *, now: int, until: int) -> bool:
        """Record that a session is being told by a notification; False: another one does so, until its time is over."""
        return self._update(
            target, f"SET {_AGAIN} = :again, {_DUE} = :until",
            {
                ":again": _AGAIN.encode(notification), ":until": _DUE.encode(until), ":now": _DUE.encode(now),
            },
            f"(attribute_not_exists({_AGAIN}) OR {_AGAIN} = :again OR {_DUE} < :now)",
        )  # fmt: skip

    def begin_retry(self, target: NotificationTarget, notification: str) -> None:
        """Record that the queued attempt is being made: from now on, new messages need an attempt of their own."""
        values = {":again": _AGAIN.encode(notification)}
        self._update(target, f"REMOVE {_AGAIN}, {_DUE}", values, f"{_AGAIN} = :again")

    def went_well(self, target: NotificationTarget) -> None:
        """Record that an attempt succeeded."""
        values = {":st": _STATE.encode(target.state)}
        self._update(target, f"REMOVE {_FAILING}, {_DETAIL}", values, f"{_STATE} = :st")

    def pause(self, target: NotificationTarget, detail: str) -> None:
        """Pause the target until its owner resumes it."""
        self._update(
            target, f"SET {_STATE} = :paused, {_DETAIL} = :detail REMOVE {_AGAIN}, {_DUE}",
            {
                ":paused": _STATE.encode(TargetState.PAUSED),
                ":detail": _DETAIL.encode(detail),
                ":active": _STATE.encode(TargetState.ACTIVE),
            },
            f"{_STATE} = :active",
        )  # fmt: skip

    def _put(self, target: NotificationTarget, *, instead_of: NotificationTarget | None = None) -> bool:
        """Put a new target into its slot; False: what is in it is not `instead_of`, as it was read: another target, or
        none, or the courier has begun to notify it.
        """
        row = _key(target.mailbox, target.id[:1]) | item(
            _ID.of(target.id),
            _KIND.of(target.kind),
            _TO.of(target.to),
            _MADE.of(target.made_at_ms),
            _STATE.of(target.state),
            _GENERATION.of(target.generation),
            _CHALLENGE.of(target.challenge),
            _TRIES.of(0),
        )
        as_read, values = ABSENT, {":id": _ID.encode(target.id)}
        if instead_of is not None:
            as_read = f"({_ID} = :old AND attribute_not_exists({_AGAIN}))"
            values[":old"] = _ID.encode(instead_of.id)
            if instead_of.retry:
                as_read = f"({_ID} = :old AND {_AGAIN} = :again)"
                values[":again"] = _AGAIN.encode(instead_of.retry.notification)
        return self._table.put(row, f"{_ID} = :id OR {as_read}", values) is None

    def _is_put(self, target: NotificationTarget) -> bool:
        """Whether a target is there whose put failed; if that cannot be found out, it is taken out."""
        try:
            return self.find(target.mailbox, target.id) is not None
        except NotNowError:
            # The owner is told that it was not put.
            with suppress(NotNowError):
                self.remove(target.mailbox, target.id)
            return False

    def _update(self, target: NotificationTarget, change: str, values: Values, condition: str) -> bool:
        """Change a target, if it still exists and `condition` holds; True: it was changed."""
        same = {":id": _ID.encode(target.id), **values}
        return self._table.update(_key(target.mailbox, target.id[:1]), change, same, f"{_ID} = :id AND {condition}")


def _slot_for(
    session: WatchingSession, watching: Sequence[NotificationTarget]
) -> tuple[int, NotificationTarget | None]:
    """The slot for a session, and what is in it."""
    for each in watching:
        if _is_of(each, session):
            return int(each.id[0]), each
    taken = {int(each.id[0]) for each in watching}
    free = next((slot for slot in range(MAX_TARGETS, MAX_TARGETS + MAX_SESSIONS) if slot not in taken), None)
    if free is not None:
        return free, None
    longest = min(watching, key=lambda each: each.made_at_ms)
    return int(longest.id[0]), longest


def _is_of(target: NotificationTarget, session: WatchingSession) -> bool:
    return WatchingSession.decode(target.to).dcpsid == session.dcpsid


def is_active(row: Item) -> bool:
    """Whether a row `notify#…` is that of a target that is notified."""
    return _STATE.find(row) == TargetState.ACTIVE


def _as_it_was(target: NotificationTarget) -> Values:
    """The values of `_AS_IT_WAS`."""
    return {
        ":unverified": _STATE.encode(TargetState.UNVERIFIED),
        ":challenge": _CHALLENGE.encode(target.challenge),
    }


def _key(mailbox: str, slot: str) -> dict[str, Value]:
    is_session = slot.isdecimal() and int(slot) >= MAX_TARGETS
    return primary_key(PREFIX + mailbox, (_SESSION_ROW if is_session else _ROW) + slot)


def _target(row: Item) -> NotificationTarget:
    again = _AGAIN.find(row)
    return NotificationTarget(
        mailbox=PK.read(row).removeprefix(PREFIX),
        id=_ID.read(row),
        kind=TargetKind(_KIND.read(row)),
        to=_TO.read(row),
        made_at_ms=_MADE.read(row),
        state=TargetState(_STATE.read(row)),
        generation=_GENERATION.read(row),
        rotated_at_ms=_ROTATED.find(row) or 0,
        challenge=_CHALLENGE.read(row),
        failing_since_ms=_FAILING.find(row) or 0,
        detail=_DETAIL.find(row) or "",
        retry=None if again is None else NotificationRetry(again, _DUE.read(row)),
    )
