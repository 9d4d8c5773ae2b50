"""The operations of DCP at a mailbox: those of the mailbox API for its owner, and `revoke`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import Final

import msgspec
import pybase64

from postroom.api.dcp import OWNER_OPERATIONS, REVOKE, WATCH, OperationData, OperationResult
from postroom.api.http import BYTES, ID, KEY, NAME
from postroom.api.mailbox_names import read_mailbox_name
from postroom.api.operations import Operation
from postroom.api.reasons import COUNTER_CLOSED, NOT_A_REQUEST
from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import JsonValue
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.http.rate_limit import NewcomerRate, Rate
from postroom.http.request import HttpRequest
from postroom.http.response import HttpResponse
from postroom.http.router import Handler, RoutedRequest, unexpected_as
from postroom.http.sign_in import SignIn
from postroom.http.watches import Watches
from postroom.protocols.dcp.guardian import AnsweredLater, FailedOperation
from postroom.protocols.dcp.reasons import ANSWER_TOO_LARGE, DCP_OPERATION_UNKNOWN
from postroom.protocols.dcp.receiving import Admitted, ReceiveLimits
from postroom.protocols.dcp.session_store import RequestUse, SessionStore
from postroom.protocols.dcp.validity import read_validity

_READ: Final = "GET"
_SAY_NOTHING: Final = frozenset({STORE_UNAVAILABLE, COUNTER_CLOSED})
"""With these, a read or a watch is refused before anything is known of the mailbox. Only then, its stamp is given back:
a cheque for one read must be no gauge of the mailbox, so that whatever was said of the mailbox counts."""
_MEMBERS: Final = ", ".join(field.name for field in msgspec.structs.fields(OperationData))


@dataclass(frozen=True, slots=True)
class PerformedOperation:
    """An operation that was performed, or failed, or is answered later. `size`: of its result, in bytes; `about`: as in
    HttpResponse."""

    result: "JsonValue | FailedOperation | AnsweredLater"
    size: int = 0
    about: Mapping[str, str | int | list[str]] | None = None


@dataclass(frozen=True, slots=True)
class OwnersOperation:
    """What the owner of a mailbox authorized. `perform`: does it, or raises TheirError, NotNowError."""

    mailbox: str
    perform: Callable[[], PerformedOperation]


@dataclass(frozen=True, slots=True)
class Left:
    """What is left for the requests of a message: bytes of its answer, and seconds."""

    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DcpOperations:
    """Performs operations. `handlers`: of the mailbox API, by operation id; `limits`: for how long a stamp is taken."""

    handlers: Mapping[str, Handler]
    sign_in: SignIn
    rate: Rate
    newcomers: NewcomerRate
    store: SessionStore
    limits: ReceiveLimits
    watches: Watches

    def prepare(self, admitted: Admitted, message: HttpRequest, left: Left) -> OwnersOperation:
        """Check what a request says, and that its mailbox's owner authorized it. `message`: that it came in.

        Nothing is written: what strangers send costs reads only. Raises TheirError: DCP_OPERATION_UNKNOWN,
        NOT_A_REQUEST, NO_MAILBOX_NAME, NOT_THE_OWNER, DCP_AUTHORIZATION_REVOKED, DCP_VALIDITY_INVALID, DCP_TIME_TRAVEL;
        NotNowError: COUNTER_CLOSED, TOO_MANY_REQUESTS, and as reading the directory does.
        """
        if left.seconds <= 0:
            raise NotNowError(COUNTER_CLOSED, "its batch took too long")
        operation = OWNER_OPERATIONS.get(admitted.operation)
        if operation is None and admitted.operation not in (REVOKE, WATCH):
            raise TheirError(DCP_OPERATION_UNKNOWN)
        given = _read_data(admitted.data)
        mailbox = read_mailbox_name(given.mailbox)
        if operation:
            call = _call(operation, given, mailbox, message.host, left.seconds)
            perform = partial(self._perform, operation, call, left.bytes)
        elif admitted.operation == WATCH:
            perform = partial(self._watch, mailbox, admitted, message.connection)
        else:
            perform = partial(self._revoke, self._revocation(mailbox, admitted, given))
        with unexpected_as(COUNTER_CLOSED):
            peer, take = admitted.peer, self.newcomers.once(admitted.peer)
            before_read = None if self.newcomers.is_known(peer, mailbox) else take
            self.sign_in.check_resources(
                mailbox, admitted.resources, admitted.validity.time, before_read=before_read, before_second_look=take
            )
            self.newcomers.note_known(peer, mailbox)
            self.rate.take(mailbox)
        return OwnersOperation(mailbox, perform)

    def _perform(self, operation: Operation, call: RoutedRequest, most_bytes: int) -> PerformedOperation:
        """Raises TheirError as the handler does; NotNowError, too, if it may have changed something."""
        try:
            with unexpected_as(COUNTER_CLOSED):
                response = self.handlers[operation.id](call)
        except NotNowError as error:
            if operation.method != _READ:
                raise
            return _without_effect(error)
        if response.reason is not None:
            raise TheirError(response.reason, response.headers.get("Content-Range", ""))
        encoded = _result(operation, response)
        size = len(encoded)
        if operation.method == _READ and size > most_bytes:
            # The size is not told, either.
            raise TheirError(ANSWER_TOO_LARGE)
        result: JsonValue = msgspec.json.decode(encoded)
        return PerformedOperation(result, size, response.about)

    def _watch(self, mailbox: str, admitted: Admitted, connection: str) -> PerformedOperation:
        try:
            with unexpected_as(COUNTER_CLOSED):
                self.watches.add(mailbox, admitted, connection)
        except NotNowError as error:
            return _without_effect(error)
        return PerformedOperation(AnsweredLater())

    def _revocation(self, mailbox: str, admitted: Admitted, given: OperationData) -> RequestUse:
        """The use of the stamp of a request to a mailbox, for as long as that could count."""
        validity = read_validity(None if given.body is msgspec.UNSET else msgspec.json.decode(given.body))
        until, use = self.limits.revoked_until(validity, admitted.now), admitted.use(mailbox)
        return replace(use, stamp=validity.stamp, mark=f"{use.mark} revokes", until=until, dated=validity.time)

    def _revoke(self, use: RequestUse) -> PerformedOperation:
        try:
            self.store.revoke(use)
        except TheirError as error:
            raise TheirError(error.reason, "it was used or revoked before") from None
        return PerformedOperation(None)


def _without_effect(error: NotNowError) -> PerformedOperation:
    """What failed and changed nothing; the error counts if it says something of the mailbox."""
    return PerformedOperation(FailedOperation(error, without_effect=error.reason in _SAY_NOTHING))


def _call(operation: Operation, given: OperationData, mailbox: str, host: str, most_wait: float) -> RoutedRequest:
    """The request of the mailbox API with this data. `most_wait`: seconds. Raises TheirError(NOT_A_REQUEST)."""
    headers = {
        "content-type": operation.body_type,
        "if-match": given.match,
        "if-none-match": given.none_match,
        "range": given.range,
    }
    query = {name: _text(value) for name, value in given.query.items()}
    if operation.waits and _seconds(query.get("wait", "")) > most_wait:
        query["wait"] = _text(most_wait)
    request = HttpRequest(
        operation.method,
        operation.path,
        host,
        query,
        {name: value for name, value in headers.items() if value},
        _body(operation, given),
    )
    segments = {NAME: mailbox}
    if (name := KEY if KEY in operation.path else ID if ID in operation.path else "") and not given.id:
        raise TheirError(NOT_A_REQUEST, f"data: {operation.id} needs id")
    return RoutedRequest(request, {**segments, name: given.id} if name else segments)


def _read_data(data: JsonValue) -> OperationData:
    """Raises TheirError(NOT_A_REQUEST)."""
    try:
        # Halves of surrogate pairs are refused here.
        return msgspec.json.decode(msgspec.json.encode(data), type=OperationData)
    except (msgspec.MsgspecError, UnicodeError) as error:
        # The name of an unknown member is the sender's text.
        unknown = "unknown field" in str(error)
        raise TheirError(NOT_A_REQUEST, f"data: {f'its members are {_MEMBERS}' if unknown else error}") from None


def _text(value: str | float) -> str:
    """A query parameter as in a URL."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _seconds(text: str) -> float:
    """A number of seconds; 0: the text is none, which is told by whoever reads the query."""
    try:
        return float(text)
    except ValueError:
        return 0.0


def _body(operation: Operation, given: OperationData) -> bytes:
    if isinstance(given.body, msgspec.UnsetType):
        return b""
    if operation.body is not bytes:
        return bytes(given.body)
    try:
        return pybase64.b64decode(msgspec.json.decode(given.body, type=str), validate=True)
    except (msgspec.MsgspecError, ValueError):
        raise TheirError(NOT_A_REQUEST, f"data: the body of {operation.id} is not base64") from None


def _result(operation: Operation, response: HttpResponse) -> bytes:
    """The JSON of an OperationResult."""
    retry_after = response.headers.get("Retry-After", "")
    body: msgspec.Raw | str | msgspec.UnsetType = msgspec.UNSET
    if response.body:
        as_bytes = operation.ranged or response.content_type == BYTES
        body = pybase64.b64encode(response.body).decode() if as_bytes else msgspec.Raw(response.body)
    result = OperationResult(
        body,
        response.headers.get("ETag", ""),
        response.headers.get("Content-Range", ""),
        response.status == HTTPStatus.NOT_MODIFIED,
        int(retry_after) if retry_after else 0,
    )
    return msgspec.json.encode(result)
