"""The registry of the courier's queue messages: each kind with its reader."""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import orjson

from postroom.core.typed_members import Members
from postroom.outbound.discard_messages import DiscardNotification, DiscardSummaryDue
from postroom.outbound.notification_messages import MailWaiting, Notification, WatchReplaced
from postroom.outbound.outbox_messages import Outgoing
from postroom.outbound.queue_form import read

QueueMessage: TypeAlias = (
    DiscardNotification | DiscardSummaryDue | Outgoing | MailWaiting | Notification | WatchReplaced
)

READERS: Final[Mapping[str, Callable[[Members], QueueMessage]]] = {
    DiscardNotification.kind: DiscardNotification.read,
    DiscardSummaryDue.kind: DiscardSummaryDue.read,
    Outgoing.kind: Outgoing.read,
    MailWaiting.kind: MailWaiting.read,
    Notification.kind: Notification.read,
    WatchReplaced.kind: WatchReplaced.read,
}
_KINDS_BY_MEMBER: Final = {
    "outgoing": Outgoing.kind,
    "waiting": MailWaiting.kind,
    "notification": Notification.kind,
    "hour": DiscardSummaryDue.kind,
    "pk": DiscardNotification.kind,
}
"""Messages of the previous release do not name their kind: it is known by a member."""


def read_queue_message(body: str) -> QueueMessage:
    """The content of a message of the courier's queue. Raises ValueError if it is not one of ours."""
    members = read(orjson.loads(body))
    kind = members.text("kind") if "kind" in members else _kind_before(members)
    if kind not in READERS:
        raise ValueError(f"a message of kind {kind[:80]!r}; this release reads {', '.join(READERS)}")
    return READERS[kind](members)


def _kind_before(members: Members) -> str:
    for member, kind in _KINDS_BY_MEMBER.items():
        if member in members:
            return kind
    raise ValueError("a message of no known kind")
