"""The handlers of messages: listing them, with a wait if the client wants that, and acknowledging them."""

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Final, NamedTuple

from msgspec.structs import replace

from postroom.api.mailbox_names import read_partner
from postroom.api.schemas import Acknowledged, Acknowledgements, PageQuery, ReferenceAcknowledgements
from postroom.core.errors import NotNowError
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.core.side_by_side import side_by_side
from postroom.http import dm3_reference
from postroom.http.message_listing import (
    ANOTHER_PASS,
    MAX_MESSAGE_BYTES,
    NOTHING_WAITS,
    ListedPage,
    MessageListing,
    encoded,
)
from postroom.http.private_responses import not_modified, respond, respond_acknowledged, respond_json
from postroom.http.ranges import whole_or_part
from postroom.http.request_parts import is_known, read_body, read_query
from postroom.http.response import RETRY_AFTER_SECONDS, HttpResponse
from postroom.http.router import Handler, RoutedRequest
from postroom.http.usage import UsageTracker
from postroom.storage.layout import RowKey
from postroom.storage.limits.held_runs import HeldRuns
from postroom.storage.mail.ids import claim_of, row_of
from postroom.storage.mail.register import Register

POLL_SECONDS: Final = 1.0
"""The time between two looks into a mailbox while a request waits: each look is paid for."""
FETCH_SECONDS: Final = 10.0
"""How long a page's messages are fetched; then the page ends. API Gateway waits for 30 s, and then answers 503."""
FETCH_AFTER_WAIT_SECONDS: Final = 5.0
"""The least time for fetching, if the first message came when the wait was almost over."""


class _End(NamedTuple):
    """The result of an acknowledgement.

    `gone`: True: done; False: no such message; None: not possible now. `freed`: bytes.
    """

    gone: bool | None
    freed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MailHandlers:
    """Reading and acknowledging messages. `clock`: epoch seconds; `sleep`: waits for a number of seconds.

    `retain_seconds`: how long tombstones are kept.
    """

    listing: MessageListing
    register: Register
    usage_tracker: UsageTracker
    waits: HeldRuns
    pool: Executor
    retain_seconds: int
    clock: Callable[[], float]
    sleep: Callable[[float], None]

    def handlers(self) -> Mapping[str, Handler]:
        """The handlers by operation id."""
        return {
            "messages": self.messages,
            "message": self.message,
            "envelope": self.envelope,
            "conversations": self.conversations,
            "status": self.status,
            "incoming": self.incoming,
            "acknowledge": self.acknowledge,
            "acknowledge_by_hash": self.acknowledge_by_hash,
        }

    def messages(self, call: RoutedRequest) -> HttpResponse:
        """A page; if it is empty and the client wants to wait, the first message that arrives within some seconds.

        If too many requests wait, the empty page is returned at once, with Retry-After.
        """
        wanted = read_query(call.request.query, PageQuery)
        whole = not (wanted.after or wanted.conversation)
        begun = self.usage_tracker.begin(call.mailbox) if whole else None
        page, waited = self._awaited(call.mailbox, wanted, 0.0 if call.request.method == "HEAD" else wanted.wait)
        if page.empty:
            self.usage_tracker.end(call.mailbox, begun, 0, 0)
        return self._page(call.mailbox, page, whole=whole, waited=waited)

    def _awaited(self, mailbox: str, wanted: PageQuery, wait: float) -> tuple[ListedPage, bool]:
        """The page, or the first one that is not empty within `wait` seconds; False: the request must not wait now.

        A cursor belongs to one pass, and a client that waits at its end also waits for the next pass: a message that is
        filed behind the cursor ends the wait as well, and the next page is the first of that pass (store protocol,
        Reader).
        """
        begun, partner = self.clock(), read_partner(wanted.conversation)
        fetched_by = begun + max(FETCH_SECONDS, wait + FETCH_AFTER_WAIT_SECONDS)
        stays = self.listing.behind(mailbox, wanted.after, partner) if wait else None

        def look() -> ListedPage:
            return self.listing.page(mailbox, wanted.after, wanted.limit, wanted.bytes, partner, fetched_by)

        page = look()
        if not wait or not page.empty:
            return page, True
        with self.waits.hold(mailbox) as held:
            while held and page.empty and (left := begun + wait - self.clock()) > 0:
                self.sleep(min(POLL_SECONDS, left))
                if stays is not None and self.listing.came_behind(mailbox, wanted.after, partner, stays):
                    return ANOTHER_PASS, True
                page = look()
        return page, held

    def message(self, call: RoutedRequest) -> HttpResponse:
        """One message, by its id."""
        filed = self.listing.filed(call.mailbox, call.id)
        # The message of an id never changes.
        etag = f'"{call.id}"'
        if is_known(call.request.headers.get("if-none-match", ""), etag):
            return not_modified(etag)
        return respond_json(encoded(filed), {"ETag": etag})

    def envelope(self, call: RoutedRequest) -> HttpResponse:
        """The envelope, unchanged; one larger than a response in parts."""
        data = self.listing.filed(call.mailbox, call.id).line.envelope.encode()
        # Ranges apply to GET only (RFC 9110 §14.2).
        wanted = "" if call.request.method == "HEAD" else call.request.headers.get("range", "")

        def part(first: int, end: int, more: Mapping[str, str], status: int) -> HttpResponse:
            return respond_json(data[first:end], {"Accept-Ranges": "bytes", **more}, status=status)

        return whole_or_part(wanted, len(data), MAX_MESSAGE_BYTES, part)

    def conversations(self, call: RoutedRequest) -> HttpResponse:
        """The conversations of the mailbox."""
        return respond(self.listing.conversations(call.mailbox))

    def status(self, call: RoutedRequest) -> HttpResponse:
        """The number and size of the messages."""
        begun = self.usage_tracker.begin(call.mailbox)
        status = self.listing.status(call.mailbox)
        if not status.more:
            self.usage_tracker.end(call.mailbox, begun, status.waiting, status.bytes)
        quota = self.usage_tracker.quota(call.mailbox)
        return respond(replace(status, max_messages=quota.messages or None, max_bytes=quota.bytes or None))

    def incoming(self, call: RoutedRequest) -> HttpResponse:
        """The messages in the form of dm3's reference: as many as fit into a response."""
        waiting = self.listing.all_filed(call.mailbox, self.clock() + FETCH_SECONDS)
        return respond_json(dm3_reference.joined(waiting, MAX_MESSAGE_BYTES))

    def acknowledge(self, call: RoutedRequest) -> HttpResponse:
        """Acknowledge messages, each by itself: one failure does not undo the others."""
        ids = list(dict.fromkeys(read_body(call.request, "application/json", Acknowledgements).ids))
        done = side_by_side(self.pool, lambda it: self._acknowledged(row_of(it, call.mailbox)), ids)
        self.usage_tracker.gone(call.mailbox, [it.freed for it in done if it.freed])
        became = list(zip(ids, done, strict=True))
        gone = [it for it, end in became if end.gone is True]
        acknowledged = Acknowledged(
            gone,
            [it for it, end in became if end.gone is False],
            [it for it, end in became if end.gone is None],
        )
        return respond_acknowledged(acknowledged, call.mailbox, [claim_of(it) for it in gone])

    def acknowledge_by_hash(self, call: RoutedRequest) -> HttpResponse:
        """Acknowledge messages in the form of dm3's reference; after a failure, the client asks again."""
        body = read_body(call.request, "application/json", ReferenceAcknowledgements)
        wanted = dm3_reference.by_partner(body.acknowledgements)
        until = self.clock() + FETCH_SECONDS
        rows, whole = dm3_reference.named(self.listing.all_filed(call.mailbox, until, wanted), wanted)
        # The messages that were found are acknowledged in any case, so that the next attempt has fewer to find.
        done = side_by_side(self.pool, self._acknowledged, rows)
        self.usage_tracker.gone(call.mailbox, [it.freed for it in done if it.freed])
        if any(it.gone is None for it in done) or not whole:
            raise NotNowError(STORE_UNAVAILABLE)
        gone = [row.claim_id for row, end in zip(rows, done, strict=True) if end.gone]
        return respond_acknowledged(None, call.mailbox, gone)

    def _acknowledged(self, row: RowKey | None) -> _End:
        if row is None:
            return _End(gone=False)
        try:
            freed = self.register.acknowledge(row, int(self.clock()) + self.retain_seconds)
        except NotNowError:
            return _End(gone=None)
        return _End(gone=False) if freed is None else _End(gone=True, freed=freed)

    def _page(self, mailbox: str, page: ListedPage, *, whole: bool, waited: bool) -> HttpResponse:
        status = b""
        if not page.messages and not page.more:
            status = b',"status":' + respond(NOTHING_WAITS if whole else self.listing.status(mailbox)).body
        cursor, more = respond(page.cursor).body, b"true" if page.more else b"false"
        unreadable = b',"unreadable":' + respond(page.unreadable).body if page.unreadable else b""
        body = b",".join(page.messages) + b'],"cursor":' + cursor + b',"more":' + more + unreadable + status
        again = {} if waited else {"Retry-After": str(RETRY_AFTER_SECONDS)}
        return respond_json(
            b'{"messages":[' + body + b"}", again, unreadable=len(page.unreadable), wait_refused=not waited
        )
