"""The messages of the courier's queue: a discard, a summary of withheld ones, an owner's message, a notification."""

import json
from dataclasses import dataclass, replace
from typing import Final

import orjson

from postroom.outbound.notifications import (
    NOTIFICATION,
    WAITING,
    Notification,
    Waiting,
    read_notification,
    read_waiting,
)
from postroom.outbound.outgoing import OUTGOING, Outgoing, read_outgoing
from postroom.protocols.nlweb.envelope import Envelope
from postroom.protocols.nlweb.feedback import is_due
from postroom.protocols.nlweb.schema import NLWEB, POLLYWEB, Dialect
from postroom.reasons import Reason, reason_of
from postroom.storage.keys import RowKey, told_group

_FORM: Final = 1
_DIALECTS: Final = {dialect.authority: dialect for dialect in (NLWEB, POLLYWEB)}


@dataclass(frozen=True, slots=True)
class Notice:
    """A discard. `since_ms`: when the courier was first asked. `receiver`: our domain, in whose name it tells."""

    row: RowKey
    reason: Reason
    receiver: str
    sender: str
    correlation: str
    digest: str
    dialect: Dialect
    since_ms: int
    tries: int = 0

    @property
    def group(self) -> str:
        """Its message group in the courier's queue."""
        return told_group(self.sender)

    def again(self) -> "Notice":
        """The same, after one more try."""
        return replace(self, tries=self.tries + 1)

    def encode(self) -> str:
        """The queue message."""
        return json.dumps(
            {
                "form": _FORM,
                "pk": self.row.pk,
                "sk": self.row.sk,
                "reason": str(self.reason),
                "receiver": self.receiver,
                "sender": self.sender,
                "correlation": self.correlation,
                "hash": self.digest,
                "dialect": self.dialect.authority,
                "since": self.since_ms,
                "tries": self.tries,
            }
        )


@dataclass(frozen=True, slots=True)
class SummaryDue:
    """The summary of what was withheld from `sender` in `hour` (hours since the epoch)."""

    receiver: str
    sender: str
    hour: int
    dialect: Dialect
    tries: int = 0

    @property
    def group(self) -> str:
        """Its message group in the courier's queue."""
        return told_group(self.sender)

    def again(self) -> "SummaryDue":
        """The same, after one more try."""
        return replace(self, tries=self.tries + 1)

    def encode(self) -> str:
        """The queue message."""
        return json.dumps(
            {
                "form": _FORM,
                "hour": self.hour,
                "receiver": self.receiver,
                "sender": self.sender,
                "dialect": self.dialect.authority,
                "tries": self.tries,
            }
        )


@dataclass(frozen=True, slots=True)
class Telling:
    """What of a message its sender's buffer is told by, should it be discarded (NLWeb; dm3 has no Feedback)."""

    receiver: str
    sender: str
    correlation: str
    digest: str
    dialect: Dialect


def telling_of(envelope: Envelope) -> Telling | None:
    """By what a discard of the envelope is told; None: nobody is."""
    if not is_due(envelope.subject, envelope.sender):
        return None
    return Telling(envelope.receiver, envelope.sender, envelope.correlation, envelope.claimed_hash, envelope.dialect)


def notice_of(row: RowKey, reason: Reason, telling: Telling, since_ms: int) -> Notice:
    """What the courier is to tell."""
    return Notice(
        row, reason, telling.receiver, telling.sender, telling.correlation, telling.digest, telling.dialect, since_ms
    )


def read_notice(body: str) -> Notice | SummaryDue | Outgoing | Waiting | Notification:
    """What a message of the courier's queue carries. Raises ValueError, KeyError or TypeError: it is none of ours."""
    value = orjson.loads(body)
    if OUTGOING in value:
        return read_outgoing(value)
    if WAITING in value:
        return read_waiting(value)
    if NOTIFICATION in value:
        return read_notification(value)
    if value["form"] != _FORM:
        raise ValueError(f"a notice of form {value['form']}; this release reads form {_FORM}")
    dialect = _DIALECTS[value["dialect"]]
    if any(type(value[name]) is not int for name in ("tries", "hour" if "hour" in value else "since")):
        raise TypeError("a notice in which something else stands where a whole number should")
    if "hour" in value:
        return SummaryDue(value["receiver"], value["sender"], value["hour"], dialect, value["tries"])
    return Notice(
        RowKey(value["pk"], value["sk"]), reason_of(value["reason"]), value["receiver"], value["sender"],
        value["correlation"], value["hash"], dialect, value["since"], value["tries"],
    )  # fmt: skip
