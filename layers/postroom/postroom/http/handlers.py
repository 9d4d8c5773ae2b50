"""The handlers of the mailbox API, in groups: what each operation does, and its response."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, NamedTuple, Protocol

from msgspec.structs import replace

from postroom.api.http import JSON, MERGE_PATCH, NAME, Authentication
from postroom.api.mailbox_names import read_mailbox_name, read_partner
from postroom.api.openapi import document
from postroom.api.operations import OPERATIONS
from postroom.api.reasons import COUNTER_CLOSED, TOKEN_INVALID
from postroom.api.schemas import (
    Acknowledged,
    Acknowledgements,
    ChallengeQuery,
    Code,
    ContainersQuery,
    NewMessage,
    NewTarget,
    PageQuery,
    Parts,
    ReferenceAcknowledgements,
    SentQuery,
    SettingsChange,
    SignedChallenge,
    SignedOut,
    SignedProfile,
)
from postroom.core.errors import NotNowError, TheirError
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.core.side_by_side import side_by_side
from postroom.core.timestamps import write_timestamp
from postroom.http import dm3_reference
from postroom.http.containers import ContainerService
from postroom.http.cors import Cors
from postroom.http.message_listing import (
    ANOTHER_PASS,
    MAX_MESSAGE_BYTES,
    NOTHING_WAITS,
    ListedPage,
    MessageListing,
    encoded,
)
from postroom.http.notification_targets import NotificationTargetSettings
from postroom.http.outbox import OutboxService
from postroom.http.preferences import Preferences
from postroom.http.private_responses import not_modified, refuse, respond, respond_acknowledged, respond_json
from postroom.http.ranges import whole_or_part
from postroom.http.rate_limit import Rate
from postroom.http.registration import SelfRegistration
from postroom.http.request_parts import is_known, read_body, read_query
from postroom.http.response import RETRY_AFTER_SECONDS, HttpResponse
from postroom.http.router import Handler, Route, RoutedRequest, Router
from postroom.http.sign_in import SignIn
from postroom.http.usage import UsageTracker
from postroom.storage.directory.mailboxes import Mailboxes
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


class HandlerGroup(Protocol):
    """Handlers with the same dependencies."""

    def handlers(self) -> Mapping[str, Handler]:
        """The handlers by operation id."""
        ...


def handlers_of(groups: Iterable[HandlerGroup]) -> dict[str, Handler]:
    """The handlers of all groups by operation id."""
    return {name: handler for group in groups for name, handler in group.handlers().items()}


def mailbox_router(
    handlers: Mapping[str, Handler], tokens: "BearerTokens", cors: Cors, others: Iterable[Route] = ()
) -> Router:
    """The router of the mailbox API. `others`: routes that are not operations of it.

    Raises ValueError if an operation has no handler, or a handler no operation.
    """
    if unlike := handlers.keys() ^ {operation.id for operation in OPERATIONS}:
        raise ValueError(f"no operation, or no handler: {', '.join(sorted(unlike))}")
    return Router(
        [
            *(Route(each.method, each.path, handlers[each.id], each.authentication) for each in OPERATIONS),
            *others,
        ],
        refuse=refuse,
        failure=COUNTER_CLOSED,
        cors=lambda _path: cors,
        authenticators={Authentication.BEARER: tokens.check},
        read_segments=_read_segments,
        final_slash=True,
    )


def _read_segments(segments: dict[str, str]) -> dict[str, str]:
    return {**segments, NAME: read_mailbox_name(segments[NAME])} if NAME in segments else segments


class BearerTokens:
    """Authentication by the mailbox's token, and the mailbox's rate limit."""

    def __init__(self, sign_in: SignIn, rate: Rate) -> None:
        self._sign_in = sign_in
        self._rate = rate

    def check(self, call: RoutedRequest) -> None:
        """Check the token and the rate limit.

        Raises TheirError (TOKEN_INVALID, ANOTHERS_MAILBOX, TOO_MANY_REQUESTS), NotNowError.
        """
        if not call.request.bearer:
            raise TheirError(TOKEN_INVALID)
        self._sign_in.check(call.request.bearer, call.mailbox, call.request.host)
        self._rate.take(call.mailbox)


class SignInHandlers:
    """Sign-in, sign-out and self-registration. `clock`: epoch seconds."""

    def __init__(
        self, *, sign_in: SignIn, opening: SelfRegistration, mailboxes: Mailboxes, clock: Callable[[], float]
    ) -> None:
        self._sign_in = sign_in
        self._opening = opening
        self._mailboxes = mailboxes
        self._clock = clock

    def handlers(self) -> Mapping[str, Handler]:
        """The handlers by operation id."""
        return {
            "challenge": self.challenge,
            "token": self.token,
            "open": self.open,
            "submit_profile": self.submit_profile,
            "sign_out": self.sign_out,
        }

    def challenge(self, call: RoutedRequest) -> HttpResponse:
        """A challenge, as a JSON string like in dm3's reference."""
        purpose = read_query(call.request.query, ChallengeQuery).purpose
        return respond(self._sign_in.challenge(call.mailbox, call.request.host, purpose))

    def token(self, call: RoutedRequest) -> HttpResponse:
        """A token, as a JSON string like in dm3's reference."""
        signed = read_body(call.request, "application/json", SignedChallenge)
        return respond(self._sign_in.token(call.mailbox, call.request.host, signed.challenge, signed.signature))

    def open(self, call: RoutedRequest) -> HttpResponse:
        """A token of a mailbox that is opened, as a JSON string."""
        signed = read_body(call.request, "application/json", SignedChallenge)
        return respond(self._opening.open(call.mailbox, call.request.host, signed.challenge, signed.signature))

    def submit_profile(self, call: RoutedRequest) -> HttpResponse:
        """An empty JSON string, instead of the token of dm3's reference: its clients sign in once that token is
        refused."""
        self._opening.open_published(call.mailbox, read_body(call.request, "application/json", SignedProfile).profile)
        return respond("")

    def sign_out(self, call: RoutedRequest) -> HttpResponse:
        """Sign out on all devices."""
        now = self._clock()
        self._mailboxes.revoke_tokens(call.mailbox, int(now))
        return respond(SignedOut(write_timestamp(int(now * 1000))))


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
        if not page.messages:
            nothing = whole and not page.more
            status = b',"status":' + respond(NOTHING_WAITS if nothing else self.listing.status(mailbox)).body
        cursor, more = respond(page.cursor).body, b"true" if page.more else b"false"
        unreadable = b',"unreadable":' + respond(page.unreadable).body if page.unreadable else b""
        body = b",".join(page.messages) + b'],"cursor":' + cursor + b',"more":' + more + unreadable + status
        again = {} if waited else {"Retry-After": str(RETRY_AFTER_SECONDS)}
        return respond_json(
            b'{"messages":[' + body + b"}", again, unreadable=len(page.unreadable), wait_refused=not waited
        )


class OutboxHandlers:
    """Sending messages."""

    def __init__(self, sending: OutboxService) -> None:
        self._sending = sending

    def handlers(self) -> Mapping[str, Handler]:
        """The handlers by operation id."""
        return {
            "send": self.send,
            "sent": self.sent,
            "sent_one": self.sent_one,
        }

    def send(self, call: RoutedRequest) -> HttpResponse:
        """Accept a message, once it is in the courier's queue."""
        return respond(self._sending.send(call.mailbox, read_body(call.request, "application/json", NewMessage)))

    def sent(self, call: RoutedRequest) -> HttpResponse:
        """A page of sent messages."""
        wanted = read_query(call.request.query, SentQuery)
        return respond(self._sending.page(call.mailbox, wanted.after, wanted.limit))

    def sent_one(self, call: RoutedRequest) -> HttpResponse:
        """One sent message, by its Correlation."""
        return respond(self._sending.one(call.mailbox, call.id))


class NotificationHandlers:
    """Notification targets."""

    def __init__(self, targets: NotificationTargetSettings) -> None:
        self._targets = targets

    def handlers(self) -> Mapping[str, Handler]:
        """The handlers by operation id."""
        return {
            "targets": self.targets,
            "add_target": self.add_target,
            "remove_target": self.remove_target,
            "verify_target": self.verify_target,
            "rotate_target": self.rotate_target,
            "resume_target": self.resume_target,
        }

    def targets(self, call: RoutedRequest) -> HttpResponse:
        """All targets."""
        return respond(self._targets.all(call.mailbox))

    def add_target(self, call: RoutedRequest) -> HttpResponse:
        """Add a target; the response has its secret."""
        return respond(self._targets.add(call.mailbox, read_body(call.request, "application/json", NewTarget)))

    def remove_target(self, call: RoutedRequest) -> HttpResponse:
        """Remove a target; the response is empty."""
        self._targets.remove(call.mailbox, call.id)
        return respond(None)

    def verify_target(self, call: RoutedRequest) -> HttpResponse:
        """Verify a target, and return it."""
        code = read_body(call.request, "application/json", Code).code
        return respond(self._targets.verify(call.mailbox, call.id, code))

    def rotate_target(self, call: RoutedRequest) -> HttpResponse:
        """Give a target a new secret, and return it."""
        return respond(self._targets.rotate(call.mailbox, call.id))

    def resume_target(self, call: RoutedRequest) -> HttpResponse:
        """Resume a target, and return it."""
        return respond(self._targets.resume(call.mailbox, call.id))


class ContainerHandlers:
    """Containers of archives."""

    def __init__(self, storing: ContainerService) -> None:
        self._storing = storing

    def handlers(self) -> Mapping[str, Handler]:
        """The handlers by operation id."""
        return {
            "storage": self.storage,
            "containers": self.containers,
            "container": self.container,
            "put_container": self.put_container,
            "join_parts": self.join_parts,
            "delete_container": self.delete_container,
            "add_part": self.add_part,
        }

    def storage(self, call: RoutedRequest) -> HttpResponse:
        """The usage of the storage."""
        return respond(self._storing.use(call.mailbox))

    def containers(self, call: RoutedRequest) -> HttpResponse:
        """A page of containers."""
        wanted = read_query(call.request.query, ContainersQuery)
        return respond(self._storing.page(call.mailbox, wanted.after, wanted.limit))

    def container(self, call: RoutedRequest) -> HttpResponse:
        """One container, by its key, or a part of it."""
        return self._storing.container(call.mailbox, call.id, call.request)

    def put_container(self, call: RoutedRequest) -> HttpResponse:
        """Store the body as a container."""
        kept, etag = self._storing.put(call.mailbox, call.id, call.request)
        return respond(kept, {"ETag": etag})

    def join_parts(self, call: RoutedRequest) -> HttpResponse:
        """Join the parts that the body names."""
        wanted = read_body(call.request, JSON, Parts)
        kept, etag = self._storing.join(call.mailbox, call.id, call.request.headers, wanted)
        return respond(kept, {"ETag": etag})

    def delete_container(self, call: RoutedRequest) -> HttpResponse:
        """Delete a container, if nobody has changed it meanwhile."""
        self._storing.delete(call.mailbox, call.id, call.request.headers)
        return respond(None)

    def add_part(self, call: RoutedRequest) -> HttpResponse:
        """Store a part of a future container."""
        return respond(self._storing.add_part(call.mailbox, call.request))


class SettingsHandlers:
    """The settings of owners."""

    def __init__(self, preferences: Preferences) -> None:
        self._preferences = preferences

    def handlers(self) -> Mapping[str, Handler]:
        """The handlers by operation id."""
        return {
            "settings": self.settings,
            "change_settings": self.change_settings,
        }

    def settings(self, call: RoutedRequest) -> HttpResponse:
        """The owner's settings and their ETag."""
        settings, etag = self._preferences.get(call.mailbox)
        return respond(settings, {"ETag": etag})

    def change_settings(self, call: RoutedRequest) -> HttpResponse:
        """Change some settings, if nobody has changed them meanwhile."""
        change = read_body(call.request, MERGE_PATCH, SettingsChange)
        settings, etag = self._preferences.change(call.mailbox, change, call.request.headers.get("if-match", ""))
        return respond(settings, {"ETag": etag})


class AboutHandlers:
    """The API's own description."""

    def handlers(self) -> Mapping[str, Handler]:
        """The handlers by operation id."""
        return {"openapi": self.openapi}

    def openapi(self, call: RoutedRequest) -> HttpResponse:
        """The OpenAPI document."""
        data = document()
        etag = f'"{sha256(data).hexdigest()[:32]}"'
        if is_known(call.request.headers.get("if-none-match", ""), etag):
            return not_modified(etag)
        return respond_json(data, {"ETag": etag, "Cache-Control": "max-age=300"})
