"""Watches: sessions of DCP whose peers are told, by the response to a request, that a mailbox has mail."""

import logging
from dataclasses import dataclass
from typing import Final

from postroom.api.reasons import NOT_A_REQUEST
from postroom.core.errors import NotNowError, TheirError
from postroom.outbound.notification_messages import WatchReplaced
from postroom.outbound.ports import Clock, NewId, SendQueue
from postroom.protocols.dcp.receiving import Admitted
from postroom.storage.directory.notification_targets import NotificationTargets
from postroom.storage.directory.watching_sessions import WatchingSession

MAX_ID_CHARACTERS: Final = 256
"""Of the request's id, which is stored, and read for each notification."""
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Watches:
    """Adds watches; the courier answers them, once. `courier`: its queue."""

    targets: NotificationTargets
    courier: SendQueue
    clock: Clock
    new_id: NewId

    def add(self, mailbox: str, admitted: Admitted, connection: str) -> None:
        """Answer a request later, by the WebSocket `connection`, when the mailbox has mail.

        Raises TheirError(NOT_A_REQUEST); NotNowError: STORE_UNAVAILABLE, WATCH_REPLACED.
        """
        if not connection:
            raise TheirError(NOT_A_REQUEST, "watch is answered over a WebSocket: send it over one")
        if len(admitted.request.id) > MAX_ID_CHARACTERS:
            raise TheirError(NOT_A_REQUEST, f"the id of a watch has at most {MAX_ID_CHARACTERS} characters")
        if not admitted.is_in_batch:
            raise TheirError(NOT_A_REQUEST, "watch must be in a batch, whose acknowledgement brings the next nonce")
        session = WatchingSession(connection, admitted.dcpsid, admitted.request.id, admitted.identity)
        now_ms = int(self.clock() * 1000)
        replaced = self.targets.watch(mailbox, session, random_id=self.new_id(), now_ms=now_ms)
        if replaced:
            self._answer(WatchReplaced(mailbox, replaced.to, now_ms))

    def _answer(self, replaced: WatchReplaced) -> None:
        """Let the courier answer a watch that was replaced. If that fails, its owner lists messages later, and sees."""
        try:
            self.courier.send(replaced.encode(), group=replaced.group)
        except NotNowError as error:
            _log.warning("a session that waits for mail of %s no more is not told: %s", replaced.mailbox, error)
