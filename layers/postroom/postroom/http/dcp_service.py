"""The guardian of the mailboxes: the service of DCP."""

import base64
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from postroom.api.dcp import PING, PONG, GuardianDescription
from postroom.api.http import DCP_PATH, JSON
from postroom.api.reasons import COUNTER_CLOSED
from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import JsonValue
from postroom.http.cors import Cors
from postroom.http.dcp_operations import DcpOperations, Left, PerformedOperation
from postroom.http.private_responses import refuse, respond, respond_json
from postroom.http.rate_limit import Rate
from postroom.http.request import HttpRequest
from postroom.http.request_parts import check_media
from postroom.http.response import HttpResponse
from postroom.http.router import Route, RoutedRequest, Router
from postroom.protocols.dcp.connect import VERSION
from postroom.protocols.dcp.guardian import AnsweredLater, FailedOperation, Guardian, PreparedOperation
from postroom.protocols.dcp.receiving import Admitted, ReceiveLimits, Receiver
from postroom.protocols.dcp.session_names import NamesOfIdentities
from postroom.protocols.dcp.session_store import SessionStore
from postroom.storage.secrets.dcp_identities import DcpIdentities

MAX_MESSAGE_BYTES: Final = 4_500_000
"""Of a message and of its answer: base64 makes a third more of it, and Lambda takes and returns 6 MB."""
MAX_BATCH: Final = 10
SECONDS: Final = 20.0
"""For the requests of a message, with their waits: the last one may take 5 to 10 s more, and a run ends after 29 s."""
_NONCE_BYTES: Final = 24
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DcpService:
    """Answers messages of DCP. `socket_url`: where they come over WebSockets; empty: nowhere. `close_socket`: closes a
    WebSocket by its id, or raises NotNowError. `rate`: of the messages of each peer.

    `clock`: seconds since the epoch; `monotonic`: seconds that are never set back; `random`: makes a number of random
    bytes.
    """

    identities: DcpIdentities
    store: SessionStore
    operations: DcpOperations
    limits: ReceiveLimits
    clock: Callable[[], float]
    monotonic: Callable[[], float]
    random: Callable[[int], bytes]
    close_socket: Callable[[str], None]
    rate: Rate
    socket_url: str = ""

    def answer(self, call: RoutedRequest) -> HttpResponse:
        """The signed answer to a message; a problem document for what cannot be answered under a signature.

        Raises TheirError: WRONG_CONTENT_TYPE, WRONG_CONTENT_ENCODING; NotNowError.
        """
        check_media(call.request, JSON)
        performed: list[PerformedOperation] = []
        begun = self.monotonic()
        most = MAX_MESSAGE_BYTES if call.request.answer_bytes is None else call.request.answer_bytes

        def prepare(admitted: Admitted) -> PreparedOperation:
            left = Left(most - sum(each.size for each in performed), SECONDS - (self.monotonic() - begun))
            prepared = self.operations.prepare(admitted, call.request, left)

            def perform() -> "JsonValue | FailedOperation | AnsweredLater":
                done = prepared.perform()
                performed.append(done)
                return done.result

            return PreparedOperation(prepared.mailbox, perform)

        try:
            answer = self._guardian().answer(call.request.body, self.clock(), prepare)
        except TheirError as error:
            return self._ending_connection(call.request, refuse(error))
        parts = [HttpResponse(200, JSON, about=each.about) for each in performed if each.about]
        response = respond_json(answer.data, parts=(*parts, *map(refuse, answer.refusals)))
        return self._ending_connection(call.request, response) if answer.ends_connection else response

    def _ending_connection(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Close the WebSocket that a message came by, if it did. Its session belongs to no connection, and stays."""
        if request.connection:
            try:
                self.close_socket(request.connection)
            except NotNowError as error:
                _log.warning("a WebSocket was not closed after a bad message: %s", error)
        return replace(response, ends_connection=True)

    def describe(self, _call: RoutedRequest) -> HttpResponse:
        """What a peer must know before it connects. Raises NotNowError(SIGNING_KEY_UNAVAILABLE)."""
        newest, ttl = self.identities.newest_first()[0], self.limits.ttl
        described = GuardianDescription(
            f"0x{newest.key.address}",
            [VERSION],
            {"min": int(ttl.min), "max": int(ttl.max), "default": int(ttl.default or ttl.min)},
            self.limits.slop,
            self.limits.max_messages,
            self.limits.max_bytes,
        )
        if self.socket_url:
            described.socket, described.ping, described.pong = self.socket_url, PING, PONG
            described.session_seconds = int(self.limits.session_seconds)
        return respond(described)

    def _guardian(self) -> Guardian:
        identities = self.identities.newest_first()
        receiver = Receiver(
            frozenset(each.key.address for each in identities),
            NamesOfIdentities([each.names for each in identities]),
            self.store,
            lambda: base64.urlsafe_b64encode(self.random(_NONCE_BYTES)).decode(),
            self.limits,
            self.rate.take,
        )
        keys = {each.key.address: each.key for each in identities}
        return Guardian(receiver, identities[0].names, keys, self.random)


def dcp_router(service: DcpService, cors: Cors) -> Router:
    """The router of the guardian."""
    return Router(
        [Route("POST", DCP_PATH, service.answer), Route("GET", DCP_PATH, service.describe)],
        refuse=refuse,
        failure=COUNTER_CLOSED,
        cors=lambda _path: cors,
        final_slash=True,
    )
