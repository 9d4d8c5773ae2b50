"""Notifications of new mail, and of watches that were replaced: their form in the courier's queue, and the body that
targets receive.

The worker says that a mailbox has mail (`MailWaiting`). From that, the courier makes one `Notification` for each
target, which is retried by itself. The mailbox API says that a watch was replaced (`WatchReplaced`), and its session is
answered that. A notification never says from whom the mail is, what it is, or how much there is.
"""

import json
from abc import ABC
from dataclasses import dataclass
from typing import ClassVar

from postroom.core.ijson import JsonValue
from postroom.core.timestamps import write_timestamp
from postroom.core.typed_members import Members
from postroom.outbound.queue_form import CourierMessage
from postroom.storage.layout import notify_group


@dataclass(frozen=True, slots=True)
class NotifyTask(CourierMessage, ABC):
    """A message about the notifications of a mailbox."""

    mailbox: str

    @property
    def group(self) -> str:
        """Its message group in the courier's queue."""
        return notify_group(self.mailbox)


@dataclass(frozen=True, slots=True)
class MailWaiting(NotifyTask):
    """A mailbox has mail. `after_ms`: for a message for the end of an interval, when the interval began.

    `mark`: of this message alone, the same at every attempt: by it, the message recognises the interval that it began.
    """

    after_ms: int = 0
    mark: str = ""

    kind: ClassVar = "waiting"

    @classmethod
    def read(cls, members: Members) -> "MailWaiting":
        """Read it from the members of a queue message. Raises ValueError."""
        return cls(members.text("waiting"), members.whole("after"), members.text("mark"), tries=members.whole("tries"))

    @property
    def members(self) -> dict[str, JsonValue]:
        """The members of this kind."""
        return {"waiting": self.mailbox, "after": self.after_ms, "mark": self.mark}


@dataclass(frozen=True, slots=True)
class Notification(NotifyTask):
    """A notification to one target, with one `id` at every attempt. `at_ms`: when the first reason for it arose.

    `challenge`: it has the code of this number; 0: it says that there is mail.
    """

    target: str
    id: str
    at_ms: int
    challenge: int = 0

    kind: ClassVar = "notification"

    @classmethod
    def read(cls, members: Members) -> "Notification":
        """Read it from the members of a queue message. Raises ValueError."""
        about = members.inner("notification")
        return cls(
            about.text("mailbox"), about.text("target"), about.text("id"), about.whole("at"), about.whole("challenge"),
            tries=members.whole("tries"),
        )  # fmt: skip

    @property
    def members(self) -> dict[str, JsonValue]:
        """The members of this kind."""
        about: dict[str, JsonValue] = {
            "mailbox": self.mailbox, "target": self.target, "id": self.id, "at": self.at_ms,
            "challenge": self.challenge,
        }  # fmt: skip
        return {"notification": about}

    def content(self, code: str) -> str:
        """The body for the target, the same at every attempt. `code`: of a challenge."""
        about = {"mailbox": self.mailbox, "target": self.target, "code": code} if code else {"mailbox": self.mailbox}
        kind = "postroom.verify" if code else "postroom.waiting"
        return json.dumps({"type": kind, "timestamp": write_timestamp(self.at_ms), "data": about}, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class WatchReplaced(NotifyTask):
    """Another session took the place of one that waited for mail of a mailbox. `session`: that one, encoded; `at_ms`:
    when.
    """

    session: str
    at_ms: int

    kind: ClassVar = "replaced"

    @classmethod
    def read(cls, members: Members) -> "WatchReplaced":
        """Read it from the members of a queue message. Raises ValueError."""
        about = members.inner("replaced")
        return cls(about.text("mailbox"), about.text("session"), about.whole("at"), tries=members.whole("tries"))

    @property
    def members(self) -> dict[str, JsonValue]:
        """The members of this kind."""
        return {"replaced": {"mailbox": self.mailbox, "session": self.session, "at": self.at_ms}}
