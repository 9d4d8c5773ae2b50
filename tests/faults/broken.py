"""Variants of the code with one bug each, which the fault tests must find."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import patch

from tests.faults import left
from tests.faults.clock import CLOCK
from tests.faults.harness import EachCall, EachDropped
from tests.faults.kinds import an_hour_on, answer_lost, entry_refused, overtaken, throttled
from tests.faults.suites import (
    ABOUT_KNOWN,
    ANOTHER_COURIER,
    BIG,
    CHEQUE,
    CLOSED,
    DARK_ONE,
    INBOX,
    LARGE_ONES,
    MAIL,
    NO_KEY,
    ONE,
    OWNED,
    RACED,
    READS,
    REFUSED,
    SENDS,
    SHARE,
    SMALL_SHARE,
    TOLD,
    WATCH,
    WATCHED,
)

from postroom.core.errors import NotNowError, TheirError
from postroom.core.reasons import NOT_QUEUED
from postroom.http.watches import Watches
from postroom.outbound.feedback_sender import FeedbackSender
from postroom.pipeline.worker import Worker
from postroom.protocols.dcp.guardian import Guardian
from postroom.protocols.dcp.session_store import NonceUse, RequestUse
from postroom.runtime.adapters import AwsForwarding
from postroom.storage.aws.attributes import TTL, item, primary_key
from postroom.storage.aws.queue import Queue
from postroom.storage.aws.table import DynamoTable
from postroom.storage.directory.notification_targets import NotificationTarget, NotificationTargets
from postroom.storage.limits import dcp_sessions
from postroom.storage.limits.dcp_sessions import DcpSessions
from postroom.storage.mail.feedback_log import FeedbackLog, FeedbackRecord
from postroom.storage.mail.outbox import Outbox, OutboxMessage
from postroom.storage.mail.register import GONE, STATE, WHY, Register
from postroom.storage.mail.replies import Replies
from postroom.storage.mail.seen import Known, Seen


def registers_without_a_condition() -> None:
    """A row is put without the condition that there is none."""

    def put(self: Any, key: Any, *attributes: Any) -> None:
        self._table.put(primary_key(key.pk, key.sk) | item(*attributes))

    _replace(Register, "_put_if_absent", put)


def identities_that_end_it() -> None:
    """A message whose identity is known is assumed to be filed."""
    really = Seen.claim_home

    def claim_home(self: Seen, key: str, digest: str | None, home: Any, **times: int) -> Known:
        if self.find(key, now=times["now"]):
            return Known(digest, None)
        return really(self, key, digest, home, **times)

    _replace(Seen, "claim_home", claim_home)


def feedback_without_a_note() -> None:
    """The identity of a Feedback message is not stored before it is sent."""

    def note(self: FeedbackLog, _row: Any, buffer: str, correlation: str, timestamp_ms: int) -> FeedbackRecord:
        return FeedbackRecord(buffer, correlation, timestamp_ms, sent=False)

    _replace(FeedbackLog, "note", note)


def tells_of_what_was_accepted() -> None:
    """The courier does not check whether the message is live, so a stranger's discarded copy is reported."""
    _replace(FeedbackSender, "_lives_elsewhere", lambda _self, _discard: False)


def withholds_and_does_not_count() -> None:
    """Withheld Feedback is not counted."""
    really = DynamoTable.change

    def change(self: DynamoTable, key: Any, change: str, values: Any, *terms: Any, **how: Any) -> Any:
        nothing = {":one": {"N": "0"}} if "#w" in change else {}
        return really(self, key, change, {**values, **nothing}, *terms, **how)

    _replace(DynamoTable, "change", change)


def discards_over_what_is_there() -> None:
    """A claim is discarded without the condition that it is not filed."""

    def bury(self: Any, key: Any, why: str, forget_at: int) -> None:
        gone = item(STATE.of(GONE), WHY.of(why), TTL.of(forget_at))
        self._table.put(primary_key(key.pk, key.sk) | gone)

    _replace(Register, "_bury_if_absent", bury)


def feedback_of_now() -> None:
    """A Feedback message that is sent again has another Timestamp."""
    really = FeedbackLog.find

    def find(self: FeedbackLog, row: Any) -> FeedbackRecord | None:
        told = really(self, row)
        return told and replace(told, timestamp_ms=told.timestamp_ms + 1)

    _replace(FeedbackLog, "find", find)


def copies_without_a_row() -> None:
    """A large claim whose message is in another row gets no row of its own before its object is deleted."""
    _replace(Register, "mark_duplicate", lambda _self, _key, _forget_at: None)


def done_whatever_happened() -> None:
    """Claims are deleted from the queue although their retry could not be sent."""

    really = Worker._retry

    def retry(self: Worker, message: Any, outcome: Any) -> bool:
        really(self, message, outcome)
        return True

    _replace(Worker, "_retry", retry)


def answered_though_not_queued() -> None:
    """The inbox answers 200 although the queue message could not be sent."""
    really = Queue.send

    def send(self: Queue, *what: Any, **how: Any) -> None:
        with suppress(NotNowError) if how.get("reason") is NOT_QUEUED else nullcontext():
            really(self, *what, **how)

    _replace(Queue, "send", send)


def leases_of_what_was_refused() -> None:
    """The lease of a refused request is not released."""
    _replace(Replies, "release", lambda _self, _lease: None)


def handed_on_whatever_the_bus_says() -> None:
    """An entry that the event bus refused is ignored."""
    really = AwsForwarding._hand_on

    def hand_on(self: AwsForwarding, target: str, message: Any) -> None:
        with suppress(NotNowError):
            really(self, target, message)

    _replace(AwsForwarding, "_hand_on", hand_on)


def tokens_that_nobody_remembers() -> None:
    """Each request with the same token creates a new message."""
    _replace(Outbox, "identify", lambda _self, _mailbox, _token, _asked, fresh, **_times: fresh)


def queued_by_whoever_was_first() -> None:
    """A message in the outbox is assumed to be queued."""
    really = Outbox.put

    def put(self: Outbox, message: OutboxMessage, **times: int) -> OutboxMessage:
        stood = self.find(message.mailbox, message.correlation)
        return replace(stood, carrier="another") if stood else really(self, message, **times)

    _replace(Outbox, "put", put)


def stamps_after_the_operation() -> None:
    """The id and the stamp of a request of DCP are free before it is performed, and are taken afterwards."""
    use_request, result = DcpSessions.use_request, Guardian._result
    to_take: list[Callable[[], None]] = []

    def look(self: DcpSessions, use: RequestUse) -> None:
        use_request(self, use)
        self.give_back(use)
        to_take.append(lambda: use_request(self, use))

    def result_and_take(self: Guardian, *what: Any) -> Any:
        done = result(self, *what)
        try:
            while to_take:
                to_take.pop()()
        except (TheirError, NotNowError) as error:
            return error
        return done

    _replace(DcpSessions, "use_request", look)
    _replace(Guardian, "_result", result_and_take)


def knows_no_mark_of_its_own() -> None:
    """A stamp of DCP whose write met itself, because its answer was lost, is taken for another's."""
    # AND binds its last alternative, which is that for the own mark, and no more.
    _replace(dcp_sessions, "_IS_FREE", f"{dcp_sessions._IS_FREE} AND attribute_not_exists(mark)")


def keeps_the_stamp_of_a_failed_read() -> None:
    """The stamp of a request of DCP that was not performed stays used."""
    _replace(DcpSessions, "give_back", lambda _self, _use: None)


def closes_by_deleting() -> None:
    """The row of a closed session of DCP is deleted."""
    really = DcpSessions.use_nonce

    def use_nonce(self: DcpSessions, use: NonceUse) -> None:
        really(self, use)
        if use.closes:
            self._table.delete(dcp_sessions._session(use.dcpsid))

    _replace(DcpSessions, "use_nonce", use_nonce)


def reads_the_clock_twice() -> None:
    """The clock is read again for the stamp of a request of DCP."""
    really = DcpSessions.use_request

    def use_request(self: DcpSessions, use: RequestUse) -> None:
        really(self, replace(use, now=CLOCK()))

    _replace(DcpSessions, "use_request", use_request)


def acknowledges_a_watch_that_nobody_stores() -> None:
    """A watch is acknowledged, and not stored."""
    _replace(Watches, "add", lambda *_: None)


def watches_behind_the_look() -> None:
    """A watch is stored after the other requests of its batch."""
    really, sign = Watches.add, Guardian._sign
    added: list[Callable[[], None]] = []

    def add(self: Watches, *what: Any) -> None:
        added.append(lambda: really(self, *what))

    def add_and_sign(self: Guardian, *what: Any) -> bytes:
        while added:
            added.pop()()
        return sign(self, *what)

    _replace(Watches, "add", add)
    _replace(Guardian, "_sign", add_and_sign)


def sessions_removed_before_they_are_told() -> None:
    """The courier removes a session that waits for mail before it answers."""
    really = NotificationTargets.begin_notifying

    def begin_notifying(self: NotificationTargets, target: NotificationTarget, *what: Any, **times: int) -> bool:
        begun = really(self, target, *what, **times)
        if begun:
            self.remove(target.mailbox, target.id)
        return begun

    _replace(NotificationTargets, "begin_notifying", begin_notifying)


def tells_sessions_at_the_same_time() -> None:
    """A session is told by each notification, although another one is telling it."""
    _replace(NotificationTargets, "begin_notifying", lambda *_, **__: True)


def sessions_that_wait_for_ever() -> None:
    """A session that waits for mail is told, and not removed."""
    _replace(NotificationTargets, "remove", lambda *_: True)


def blind_to_what_goes_outside() -> None:
    """A bug of the harness: deaths count as the same although something was sent or logged between them."""
    _replace(left, "outside", lambda _stack: "")


_replaced = ExitStack()


def _replace(owner: object, name: str, by: Callable[..., Any] | str) -> None:
    _replaced.enter_context(patch.object(owner, name, by))


@dataclass(frozen=True)
class Variant:
    """A bug, the smallest `play` that finds it, and the problem that it `finds`. `settings`: as of a suite.

    `by_fault`: it is found where a call is struck, and not without.
    """

    breaks: Callable[[], None]
    play: EachCall | EachDropped
    finds: str
    settings: Mapping[str, str] = field(default_factory=dict)
    by_fault: bool = False

    @property
    def name(self) -> str:
        return self.breaks.__name__

    @contextmanager
    def broken(self) -> Iterator[None]:
        """Break the code until the end of the context."""
        with _replaced:
            self.breaks()
            yield


VARIANTS = {
    variant.name: variant
    for variant in (
        Variant(
            registers_without_a_condition,
            EachCall(ONE, [], [(overtaken, OWNED)], dies=False),
            "was acknowledged, and is shown again",
        ),
        Variant(identities_that_end_it, EachCall(ONE), "has no end"),
        Variant(feedback_without_a_note, EachCall(TOLD), "2 Feedback messages tell of"),
        Variant(discards_over_what_is_there, EachCall(NO_KEY, [], [(overtaken, OWNED)], dies=False), "has 2 ends"),
        Variant(feedback_of_now, EachCall(TOLD), "2 Feedback messages tell of"),
        Variant(tells_of_what_was_accepted, EachCall(ABOUT_KNOWN, dies=False), "a stranger's copy was discarded"),
        Variant(withholds_and_does_not_count, EachCall(SHARE, dies=False), "the summaries count 0", SMALL_SHARE),
        Variant(answered_though_not_queued, EachCall(INBOX, [throttled], dies=False), "has no end"),
        Variant(leases_of_what_was_refused, EachCall(REFUSED, dies=False), "is remembered"),
        Variant(handed_on_whatever_the_bus_says, EachCall(BIG, [entry_refused], dies=False), "arrived nowhere"),
        Variant(tokens_that_nobody_remembers, EachCall(SENDS, [throttled], dies=False), "the messages came to"),
        Variant(queued_by_whoever_was_first, EachCall(SENDS, [throttled], dies=False), "'queued'"),
        Variant(done_whatever_happened, EachCall(DARK_ONE, [throttled], dies=False), "has no end"),
        Variant(copies_without_a_row, EachCall(LARGE_ONES), "messages are left in"),
        Variant(
            stamps_after_the_operation,
            EachCall(CHEQUE, [throttled], dies=False),
            "they took effect 2 times",
            by_fault=True,
        ),
        Variant(
            knows_no_mark_of_its_own, EachCall(READS, [answer_lost], dies=False), "nobody had used it", by_fault=True
        ),
        Variant(
            keeps_the_stamp_of_a_failed_read,
            EachCall(READS, [throttled], dies=False),
            "may not be requested again",
            by_fault=True,
        ),
        Variant(closes_by_deleting, EachCall(CLOSED, dies=False), "was performed in a session that was closed"),
        Variant(
            reads_the_clock_twice, EachCall(CHEQUE, [an_hour_on], dies=False), "they took effect 2 times", by_fault=True
        ),
        Variant(
            acknowledges_a_watch_that_nobody_stores, EachCall(WATCH, dies=False), "an owner who waits was not told"
        ),
        Variant(watches_behind_the_look, EachCall(WATCH, [], [(overtaken, MAIL)], dies=False), "neither listed behind"),
        Variant(sessions_removed_before_they_are_told, EachCall(WATCHED), "an owner who waits was not told"),
        Variant(
            tells_sessions_at_the_same_time,
            EachCall(RACED, [], [(overtaken, ANOTHER_COURIER)], dies=False),
            "two notifications made 2 responses",
        ),
        Variant(sessions_that_wait_for_ever, EachCall(WATCHED, dies=False), "it still waits"),
        Variant(blind_to_what_goes_outside, EachDropped(TOLD), "it leaves something else"),
    )
}
