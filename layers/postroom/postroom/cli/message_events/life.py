"""The life of a message: its events, and what tables and bucket have of it.

`docs/operate/logs.md` describes the JSON; `VERSION` changes when a member goes or gets another meaning.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from postroom.cli.message_events.event import MessageEvent
from postroom.core.ijson import JsonValue
from postroom.core.reason import Kind
from postroom.core.timestamps import write_timestamp
from postroom.reasons import REASONS

if TYPE_CHECKING:
    from postroom.storage.mail.feedback_log import FeedbackRecord
    from postroom.storage.mail.outbox import OutboxMessage
    from postroom.storage.mail.register import Row

VERSION: Final = 1
_DM3: Final = "dm3"
_NLWEB: Final = "nlweb"
_INBOX: Final = "inbox"
_INBOXES: Final = frozenset({_INBOX, _DM3})
_ACCEPTED: Final = "accepted"
_DISCARDED: Final = "discarded"
_REFUSED: Final = "refused"
_ANSWERED: Final = "answered"
_GOOD: Final = frozenset({_ACCEPTED, "duplicate", "forwarded", _ANSWERED})
_NOT_NOW: Final = frozenset(str(reason) for reason in REASONS if reason.kind is Kind.RETRY)
_IN_TIME: Final = "judged in time"
_KEY: Final = "the sender's key, proven by DNSSEC"
_NLWEB_CHECKS: Final[Mapping[str, frozenset[str]]] = {
    "shape, receiver, Timestamp, Hash and quota": frozenset(),
    _IN_TIME: frozenset({"TooLate", "Undeliverable"}),
    _KEY: frozenset({
        "DnssecBogus", "KeyNotFound", "KeyRecordInvalid", "KeyRevoked", "KeyUnusable", "SenderNotSigned",
        "WalletUnknown",
    }),
    "signature": frozenset({"SignatureInvalid"}),
    "sender not blocked": frozenset({"SenderNotWanted"}),
    "Subject": frozenset({"UnexpectedSubject", "FeedbackNotKept"}),
    "Correlation not used before": frozenset({"CorrelationReused"}),
}  # fmt: skip
"""Each check in its order, with the reasons of a message that fails it. The first is the inbox's: a message that is
refused for another reason failed it."""
_REASONS_OF_NLWEB: Final = frozenset[str]().union(
    *(reasons for name, reasons in _NLWEB_CHECKS.items() if name != _IN_TIME)
)
_DM3_CHECKS: Final[Mapping[str, frozenset[str]]] = {
    "size, shape, receiver, signature, filter rules and quota": frozenset(),
    _IN_TIME: frozenset({"TooLate", "Undeliverable"}),
}


class _Verdict(NamedTuple):
    """How a message was judged last, as an event or its row has it."""

    outcome: str
    reason: str = ""
    detail: str = ""

    @property
    def is_good(self) -> bool:
        return self.outcome in _GOOD

    @property
    def is_decided(self) -> bool:
        return self.is_good or self.outcome in (_DISCARDED, _REFUSED)


@dataclass(frozen=True, slots=True)
class LifeCheck:
    """A check. `result`: passed, failed, waits, or not reached."""

    name: str
    result: str
    reason: str = ""
    detail: str = ""

    def as_json(self) -> dict[str, JsonValue]:
        """The check as programs read it."""
        return {
            "name": self.name, "result": self.result, "reason": self.reason or None, "detail": self.detail or None
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class MessageLife:
    """The life of one claim: a message that came; `claim` is empty if it was not queued.

    `id`: as `postroom read` prints it; empty: the row is not known. `row`: None: there is none, or none any more.
    `receipt`: how it was verified; None: its line cannot be read. `notifications`: of the owner, after it was accepted.
    """

    claim: str
    events: Sequence[MessageEvent]
    id: str = ""
    row: "Row | None" = None
    receipt: Mapping[str, object] | None = None
    feedback: "FeedbackRecord | None" = None
    notifications: Sequence[MessageEvent] = ()

    @property
    def about(self) -> MessageEvent | None:
        """The last event of the claim, which says whose message it is."""
        return next((event for event in reversed(self.events) if event.claim == self.claim), None)

    @property
    def mailbox(self) -> str:
        """The mailbox that the message is for."""
        return self.row.key.mailbox if self.row else self.about.mailbox if self.about else ""

    @property
    def correlation(self) -> str:
        """The Correlation, or of a dm3 message its hash; empty if no event has it."""
        return self.about.correlation if self.about else ""

    @property
    def state(self) -> str:
        """Where the message is now: queued, waiting, filed, or why it is gone."""
        if self.row is not None:
            return "filed" if self.row.live else _ENDS.get(self.row.why, self.row.why.partition(":")[0])
        last = self._verdict
        if last is None:
            return "queued" if self.events else "unknown"
        return last.outcome if last.is_decided else "waiting"

    @property
    def checks(self) -> Sequence[LifeCheck]:
        """Each check of the message in its order; empty: nothing tells any more by which protocol it came."""
        verdict = self._verdict
        made: list[LifeCheck] = []
        for number, name in enumerate(self._named_checks):
            if number > 0 and (verdict is None or made[-1].result != "passed"):
                made.append(LifeCheck(name, "not reached"))
            elif verdict is not None and name == self._stopped_at(verdict):
                waits = not verdict.is_decided or verdict.reason in _NOT_NOW
                result = "waits" if waits else "failed"
                made.append(LifeCheck(name, result, verdict.reason or verdict.outcome, verdict.detail))
            else:
                made.append(LifeCheck(name, "passed"))
        return made

    def as_json(self) -> dict[str, JsonValue]:
        """The life as programs read it."""
        about = self.about
        return {
            "claim": self.claim or None,
            "id": self.id or None,
            "mailbox": self.mailbox or None,
            "from": (about and about.sender) or None,
            "correlation": self.correlation or None,
            "state": self.state,
            "checks": [check.as_json() for check in self.checks],
            "row": _row_as_json(self.row),
            "receipt": None if self.receipt is None else _plain(self.receipt),
            "feedback": None if self.feedback is None else {
                "buffer": self.feedback.buffer or None,
                "correlation": self.feedback.correlation or None,
                "finished": self.feedback.sent,
            },
            "events": [event.as_json() for event in self.events],
            "notifications": [event.as_json() for event in self.notifications],
        }  # fmt: skip

    @property
    def _named_checks(self) -> Mapping[str, frozenset[str]]:
        functions = {event.function for event in self.events}
        protocol = self.receipt.get("protocol") if self.receipt else None
        reason = self._verdict.reason if self._verdict else ""
        if _DM3 in functions or protocol == _DM3:
            return _DM3_CHECKS
        # Other reasons are of both protocols.
        if _INBOX in functions or protocol == _NLWEB or reason in _REASONS_OF_NLWEB:
            return _NLWEB_CHECKS
        return {}

    def _stopped_at(self, verdict: _Verdict) -> str:
        """The name of the check that did not pass; empty: all did."""
        checks = self._named_checks
        if verdict.is_good:
            return ""
        if not verdict.is_decided:
            return _IN_TIME if checks is _DM3_CHECKS else _KEY
        first = next(iter(checks)) if verdict.outcome == _REFUSED else ""
        return next((name for name, reasons in checks.items() if verdict.reason in reasons), first)

    @property
    def _verdict(self) -> _Verdict | None:
        """As the last event of a judgement says; if logs do not have the decision, as the row says."""
        judged = (*_GOOD, _DISCARDED, _REFUSED, "retried", "stuck")
        own = (event for event in reversed(self.events) if event.claim == self.claim)
        event = next((event for event in own if event.event in judged), None)
        last = _Verdict(event.event, event.reason, event.detail) if event else None
        if self.row is None or (last is not None and last.is_decided):
            return last
        reason = self.row.discarded
        return _Verdict(_ACCEPTED) if reason is None else _Verdict(_DISCARDED, str(reason))


def not_queued(events: Sequence[MessageEvent], lives: Sequence[MessageLife]) -> Iterator[MessageLife]:
    """The lives of messages of which no copy was queued: the inbox refused or answered them. One for each sender.

    `lives`: of those that were queued.
    """
    shown = [event for life in lives for event in life.events]
    rest = [event for event in events if event.function in _INBOXES and not event.claim and event not in shown]
    for sender in dict.fromkeys(event.sender for event in rest):
        yield MessageLife("", [event for event in rest if event.sender == sender])


_ENDS: Final = {"acked": "acknowledged", "closed": "mailbox closed"}
"""Why a row is gone, where the register has a shorter word."""


@dataclass(frozen=True, slots=True)
class SentLife:
    """The life of a message that an owner sent: its row of the outbox, and its events."""

    message: "OutboxMessage"
    events: Sequence[MessageEvent]

    def as_json(self) -> dict[str, JsonValue]:
        """The life as programs read it."""
        message, end, reported = self.message, self.message.end, self.message.reported
        return {
            "mailbox": message.mailbox,
            "to": message.receiver,
            "subject": message.subject,
            "correlation": message.correlation,
            "state": str(message.state),
            "at": write_timestamp(message.at_ms),
            "ended_at": write_timestamp(end.at_ms) if end else None,
            "reason": (end and end.reason) or None,
            "detail": (end and end.detail) or None,
            "feedback": None if reported is None else {"code": reported.code, "reason": reported.reason},
            "events": [event.as_json() for event in self.events],
        }


@dataclass(frozen=True, slots=True)
class MessageTrace:
    """All that is known of a message. `unread`: what could not be read, and why."""

    query: str
    messages: Sequence[MessageLife]
    sent: Sequence[SentLife]
    unread: Sequence[str]

    def as_json(self) -> dict[str, JsonValue]:
        """The trace as programs read it."""
        return {
            "version": VERSION,
            "query": self.query,
            "messages": [life.as_json() for life in self.messages],
            "sent": [life.as_json() for life in self.sent],
            "unread": list(self.unread),
        }


def _row_as_json(row: "Row | None") -> JsonValue:
    if row is None:
        return None
    place = row.place
    return {
        "partition": row.key.pk,
        "sort": row.key.sk,
        "state": "live" if row.live else "gone",
        "why": row.why or None,
        "expires_at": write_timestamp(row.ttl * 1000) if row.ttl is not None else None,
        "object": None if place is None else {
            "name": place.object, "offset": place.offset, "length": place.length
        },
    }  # fmt: skip


def _plain(value: object) -> JsonValue:
    if isinstance(value, Mapping):
        return {str(name): _plain(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)
