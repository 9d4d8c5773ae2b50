"""The handlers of the mailbox API: authentication, permission, and the answer of every operation."""

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from hashlib import sha256
from typing import Final, NamedTuple

from msgspec.structs import replace

from postroom.api.mailbox_names import read_mailbox_name, read_partner
from postroom.api.openapi import document
from postroom.api.operations import ID, JSON, KEY, MERGE_PATCH, NAME, Operation, find_operations
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
from postroom.core.side_by_side import side_by_side
from postroom.core.timestamps import write_timestamp
from postroom.http import by_hash
from postroom.http.containers import Storing
from postroom.http.message_listing import ANOTHER_PASS, MAX_MESSAGE_BYTES, NOTHING_WAITS, Shelves, Shown, encoded
from postroom.http.notifications import TargetDesk
from postroom.http.outbox import Sending
from postroom.http.preferences import Preferences
from postroom.http.ranges import whole_or_part
from postroom.http.rate_limit import Rate
from postroom.http.registration import Opening
from postroom.http.reply import Reply, not_modified, refused, said, said_as_json
from postroom.http.request import Asked, is_known, read_body, read_query
from postroom.http.sign_in import SignIn
from postroom.http.usage import Counting
from postroom.net.aws import our_own_fault
from postroom.reasons import Reason
from postroom.storage.directory.mailboxes import Mailboxes
from postroom.storage.keys import RowKey
from postroom.storage.mail.ids import row_of
from postroom.storage.mail.register import Register

POLL_SECONDS: Final = 1.0
"""Between two looks into a mailbox that somebody waits at: each is paid for."""
FETCH_SECONDS: Final = 10.0
"""What a page shows is fetched for so long; then it ends where it is. API Gateway waits for 30 s, and then says 503."""
FETCH_AFTER_WAIT_SECONDS: Final = 5.0
"""So long at least, where the first message came when the wait was almost over."""

_log: Final = logging.getLogger(__name__)


class _Call(NamedTuple):
    """A request that was led to its operation. `id`: of a message or a target, or the key of a container; empty: the
    address has none."""

    asked: Asked
    mailbox: str
    id: str


class _End(NamedTuple):
    """What became of a row. `gone`: it is; False: there is none; None: it could not be done now. `freed`: bytes."""

    gone: bool | None
    freed: int = 0


class Desk:
    """Answers. `clock`: epoch seconds; `sleep`: waits for so many; `retain_seconds`: how long tombstones stay."""

    def __init__(
        self,
        *,
        sign_in: SignIn,
        opening: Opening,
        shelves: Shelves,
        register: Register,
        mailboxes: Mailboxes,
        preferences: Preferences,
        sending: Sending,
        counting: Counting,
        targets: TargetDesk,
        storing: Storing,
        rate: Rate,
        pool: Executor,
        retain_seconds: int,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        self._sign_in = sign_in
        self._opening = opening
        self._shelves = shelves
        self._register = register
        self._mailboxes = mailboxes
        self._preferences = preferences
        self._sending = sending
        self._counting = counting
        self._targets = targets
        self._storing = storing
        self._rate = rate
        self._pool = pool
        self._retain_seconds = retain_seconds
        self._clock = clock
        self._sleep = sleep

    def answer(self, asked: Asked) -> Reply:
        """The answer to a request; whatever goes wrong is one, too."""
        try:
            return self._lead(asked)
        except (TheirError, NotNowError) as error:
            return refused(error)
        except Exception as error:
            # Nothing was given away that could not be asked for again. Nobody is shown a stack.
            if not our_own_fault(error):
                _log.exception("the counter failed")
            return refused(NotNowError(Reason.COUNTER_CLOSED))

    def _lead(self, asked: Asked) -> Reply:
        found = find_operations(asked.path)
        if not found:
            raise TheirError(Reason.NO_SUCH_ROUTE)
        # What may be read may be asked for without its body (RFC 9110 §9.3.2).
        method = "GET" if asked.method == "HEAD" else asked.method
        for operation, parts in found:
            if operation.method == method:
                return self._do(operation, asked, parts)
        methods = {it.method for it, _ in found}
        allowed = ", ".join(sorted(methods | {"OPTIONS"} | ({"HEAD"} if "GET" in methods else set())))
        return refused(TheirError(Reason.METHOD_NOT_ALLOWED), {"Allow": allowed})

    def _do(self, operation: Operation, asked: Asked, parts: Mapping[str, str]) -> Reply:
        mailbox = read_mailbox_name(parts[NAME]) if NAME in parts else ""
        if operation.signed_in:
            if not asked.bearer:
                raise TheirError(Reason.TOKEN_INVALID)
            self._sign_in.check(asked.bearer, mailbox, asked.host)
            self._rate.take(mailbox)
        does: Callable[[_Call], Reply] = getattr(self, operation.does)
        return does(_Call(asked, mailbox, parts.get(ID) or parts.get(KEY, "")))

    # --- signing in ---------------------------------------------------------------------------------------------
    def challenge(self, call: _Call) -> Reply:
        """A JSON string, as dm3's reference has it."""
        purpose = read_query(call.asked.query, ChallengeQuery).purpose
        return said(self._sign_in.challenge(call.mailbox, call.asked.host, purpose))

    def token(self, call: _Call) -> Reply:
        """The same."""
        signed = read_body(call.asked, "application/json", SignedChallenge)
        return said(self._sign_in.token(call.mailbox, call.asked.host, signed.challenge, signed.signature))

    def open(self, call: _Call) -> Reply:
        """The same, where there was none before."""
        signed = read_body(call.asked, "application/json", SignedChallenge)
        return said(self._opening.open(call.mailbox, call.asked.host, signed.challenge, signed.signature))

    def submit_profile(self, call: _Call) -> Reply:
        """A JSON string where dm3's reference has a token: its clients sign in once that is refused."""
        self._opening.open_published(call.mailbox, read_body(call.asked, "application/json", SignedProfile).profile)
        return said("")

    def sign_out(self, call: _Call) -> Reply:
        """Of all devices."""
        self._mailboxes.revoke_tokens(call.mailbox)
        return said(SignedOut(write_timestamp(int(self._clock() * 1000))))

    # --- reading ------------------------------------------------------------------------------------------------
    def messages(self, call: _Call) -> Reply:
        """A page; where there is none, and it is wished for, the first that comes within some seconds."""
        wanted = read_query(call.asked.query, PageQuery)
        whole = not (wanted.after or wanted.conversation)
        begun = self._counting.begin(call.mailbox) if whole else None
        page = self._awaited(call.mailbox, wanted, 0.0 if call.asked.method == "HEAD" else wanted.wait)
        if page.empty:
            self._counting.end(call.mailbox, begun, 0, 0)
        return self._page(call.mailbox, page, whole=whole)

    def _awaited(self, mailbox: str, wanted: PageQuery, wait: float) -> Shown:
        """The page, or the first that is not empty within `wait` seconds.

        A cursor belongs to one pass, and who waits at its end waits for the next: what is filed behind it ends the wait
        as well, and the next page is the first of that pass (store protocol, Reader).
        """
        begun, partner = self._clock(), read_partner(wanted.conversation)
        fetched_by = begun + max(FETCH_SECONDS, wait + FETCH_AFTER_WAIT_SECONDS)
        stays = self._shelves.behind(mailbox, wanted.after, partner) if wait else None
        while True:
            page = self._shelves.page(mailbox, wanted.after, wanted.limit, wanted.bytes, partner, fetched_by)
            left = begun + wait - self._clock()
            if left <= 0 or not page.empty:
                return page
            self._sleep(min(POLL_SECONDS, left))
            if stays is not None and self._shelves.came_behind(mailbox, wanted.after, partner, stays):
                return ANOTHER_PASS

    def message(self, call: _Call) -> Reply:
        """One, by its id."""
        filed = self._shelves.filed(call.mailbox, call.id)
        # What an id names never changes.
        etag = f'"{call.id}"'
        if is_known(call.asked.headers.get("if-none-match", ""), etag):
            return not_modified(etag)
        return said_as_json(encoded(filed), {"ETag": etag})

    def envelope(self, call: _Call) -> Reply:
        """Bit for bit; where it is larger than an answer may be, part by part."""
        data = self._shelves.filed(call.mailbox, call.id).line.envelope.encode()
        headers, wanted = {"Accept-Ranges": "bytes"}, call.asked.headers.get("range", "")
        # Ranges are of GET alone (RFC 9110 §14.2), and without its body an answer is never too large.
        if call.asked.method == "HEAD":
            return said_as_json(data, headers)

        def part(first: int, end: int, more: Mapping[str, str], status: int) -> Reply:
            return said_as_json(data[first:end], {**headers, **more}, status=status)

        return whole_or_part(wanted, len(data), MAX_MESSAGE_BYTES, part)

    def conversations(self, call: _Call) -> Reply:
        """Whom they are exchanged with."""
        return said(self._shelves.conversations(call.mailbox))

    def status(self, call: _Call) -> Reply:
        """How much there is."""
        begun = self._counting.begin(call.mailbox)
        status = self._shelves.status(call.mailbox)
        if not status.more:
            self._counting.end(call.mailbox, begun, status.waiting, status.bytes)
        quota = self._counting.quota(call.mailbox)
        return said(replace(status, max_messages=quota.messages or None, max_bytes=quota.bytes or None))

    def incoming(self, call: _Call) -> Reply:
        """As dm3's reference asks for it: as many as an answer holds."""
        waiting = self._shelves.all_filed(call.mailbox, self._clock() + FETCH_SECONDS)
        return said_as_json(by_hash.joined(waiting, MAX_MESSAGE_BYTES))

    # --- acknowledging ------------------------------------------------------------------------------------------
    def acknowledge(self, call: _Call) -> Reply:
        """Each by itself: what could be done is done."""
        ids = list(dict.fromkeys(read_body(call.asked, "application/json", Acknowledgements).ids))
        done = side_by_side(self._pool, lambda it: self._acknowledged(row_of(it, call.mailbox)), ids)
        self._counting.gone(call.mailbox, [it.freed for it in done if it.freed])
        became = list(zip(ids, done, strict=True))
        return said(
            Acknowledged(
                [it for it, end in became if end.gone is True],
                [it for it, end in became if end.gone is False],
                [it for it, end in became if end.gone is None],
            )
        )

    def acknowledge_by_hash(self, call: _Call) -> Reply:
        """As dm3's reference does; a failure makes it ask again."""
        body = read_body(call.asked, "application/json", ReferenceAcknowledgements)
        wanted = by_hash.by_partner(body.acknowledgements)
        until = self._clock() + FETCH_SECONDS
        rows, whole = by_hash.named(self._shelves.all_filed(call.mailbox, until, wanted), wanted)
        # What was found is done in any case: there is less to look for, then.
        done = side_by_side(self._pool, self._acknowledged, rows)
        self._counting.gone(call.mailbox, [it.freed for it in done if it.freed])
        if any(it.gone is None for it in done) or not whole:
            raise NotNowError(Reason.STORE_UNAVAILABLE)
        return said(None)

    def _acknowledged(self, row: RowKey | None) -> _End:
        if row is None:
            return _End(gone=False)
        try:
            freed = self._register.acknowledge(row, int(self._clock()) + self._retain_seconds)
        except NotNowError:
            return _End(gone=None)
        return _End(gone=False) if freed is None else _End(gone=True, freed=freed)

    # --- sending ------------------------------------------------------------------------------------------------
    def send(self, call: _Call) -> Reply:
        """Taken in once it is in the courier's queue."""
        return said(self._sending.send(call.mailbox, read_body(call.asked, "application/json", NewMessage)))

    def sent(self, call: _Call) -> Reply:
        """A page."""
        wanted = read_query(call.asked.query, SentQuery)
        return said(self._sending.page(call.mailbox, wanted.after, wanted.limit))

    def sent_one(self, call: _Call) -> Reply:
        """One, by its Correlation."""
        return said(self._sending.one(call.mailbox, call.id))

    # --- being told ---------------------------------------------------------------------------------------------
    def targets(self, call: _Call) -> Reply:
        """All of them."""
        return said(self._targets.all(call.mailbox))

    def add_target(self, call: _Call) -> Reply:
        """With its secret."""
        return said(self._targets.add(call.mailbox, read_body(call.asked, "application/json", NewTarget)))

    def remove_target(self, call: _Call) -> Reply:
        """Nothing is left to say of it."""
        self._targets.remove(call.mailbox, call.id)
        return said(None)

    def verify_target(self, call: _Call) -> Reply:
        """As it stands then."""
        code = read_body(call.asked, "application/json", Code).code
        return said(self._targets.verify(call.mailbox, call.id, code))

    def rotate_target(self, call: _Call) -> Reply:
        """With its new secret."""
        return said(self._targets.rotate(call.mailbox, call.id))

    def resume_target(self, call: _Call) -> Reply:
        """As it stands then."""
        return said(self._targets.resume(call.mailbox, call.id))

    # --- keeping --------------------------------------------------------------------------------------------------
    def storage(self, call: _Call) -> Reply:
        """How much of it is used."""
        return said(self._storing.use(call.mailbox))

    def containers(self, call: _Call) -> Reply:
        """A page."""
        wanted = read_query(call.asked.query, ContainersQuery)
        return said(self._storing.page(call.mailbox, wanted.after, wanted.limit))

    def container(self, call: _Call) -> Reply:
        """One, by its key, or a part of it."""
        return self._storing.container(call.mailbox, call.id, call.asked)

    def put_container(self, call: _Call) -> Reply:
        """As it stands in the body."""
        kept, etag = self._storing.put(call.mailbox, call.id, call.asked)
        return said(kept, {"ETag": etag})

    def join_parts(self, call: _Call) -> Reply:
        """The body names them."""
        wanted = read_body(call.asked, JSON, Parts)
        kept, etag = self._storing.join(call.mailbox, call.id, call.asked.headers, wanted)
        return said(kept, {"ETag": etag})

    def delete_container(self, call: _Call) -> Reply:
        """If nobody changed it meanwhile."""
        self._storing.delete(call.mailbox, call.id, call.asked.headers)
        return said(None)

    def add_part(self, call: _Call) -> Reply:
        """Of a container to come."""
        return said(self._storing.add_part(call.mailbox, call.asked))

    # --- settings, and about this ---------------------------------------------------------------------------------
    def settings(self, call: _Call) -> Reply:
        """What the owner set, and its ETag."""
        settings, etag = self._preferences.get(call.mailbox)
        return said(settings, {"ETag": etag})

    def change_settings(self, call: _Call) -> Reply:
        """Some of them, if nobody changed them meanwhile."""
        change = read_body(call.asked, MERGE_PATCH, SettingsChange)
        settings, etag = self._preferences.change(call.mailbox, change, call.asked.headers.get("if-match", ""))
        return said(settings, {"ETag": etag})

    def openapi(self, call: _Call) -> Reply:
        """What all of this looks like."""
        data = document()
        etag = f'"{sha256(data).hexdigest()[:32]}"'
        if is_known(call.asked.headers.get("if-none-match", ""), etag):
            return not_modified(etag)
        return said_as_json(data, {"ETag": etag, "Cache-Control": "max-age=300"})

    def _page(self, mailbox: str, page: Shown, *, whole: bool) -> Reply:
        status = b""
        if not page.messages:
            nothing = whole and not page.more
            status = b',"status":' + said(NOTHING_WAITS if nothing else self._shelves.status(mailbox)).body
        cursor, more = said(page.cursor).body, b"true" if page.more else b"false"
        unreadable = b',"unreadable":' + said(page.unreadable).body if page.unreadable else b""
        body = b",".join(page.messages) + b'],"cursor":' + cursor + b',"more":' + more + unreadable + status
        return said_as_json(b'{"messages":[' + body + b"}", unreadable=len(page.unreadable))
