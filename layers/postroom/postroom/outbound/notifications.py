"""Notifications that mail is waiting: their form in the courier's queue, and the body that targets get.

The worker says of a mailbox that something came in (`MailWaiting`); the courier makes of that one `Notification` for
each target, with tries of its own. A target is never told from whom, what, or how much.
"""

import json
from dataclasses import dataclass, replace
from typing import ClassVar

from postroom.core.ijson import JsonValue
from postroom.core.timestamps import write_timestamp
from postroom.core.typed_members import Members
from postroom.outbound.queue_form import write
from postroom.storage.keys import notify_group


@dataclass(frozen=True, slots=True)
class MailWaiting:
    """Something waits in a mailbox. `after_ms`: of a message for the end of an interval, the turn that began it.

    `mark`: of that message alone, however often it is tried: by this it knows the turn that it took.
    """

    mailbox: str
    after_ms: int = 0
    mark: str = ""
    tries: int = 0

    kind: ClassVar = "waiting"

    @classmethod
    def read(cls, members: Members) -> "MailWaiting":
        """The same from the members of a queue message. Raises ValueError."""
        return cls(members.text("waiting"), members.whole("after"), members.text("mark"), members.whole("tries"))

    @property
    def group(self) -> str:
        """Its message group in the courier's queue."""
        return notify_group(self.mailbox)

    def again(self) -> "MailWaiting":
        """The same, after one more try."""
        return replace(self, tries=self.tries + 1)

    def encode(self) -> str:
        """The queue message."""
        return write(self.kind, {"waiting": self.mailbox, "after": self.after_ms, "mark": self.mark}, self.tries)


@dataclass(frozen=True, slots=True)
class Notification:
    """What one target is told, under one `id` however often it is tried. `at_ms`: since when there is reason to.

    `challenge`: it is the code of this number; 0: it is that something waits.
    """

    mailbox: str
    target: str
    id: str
    at_ms: int
    challenge: int = 0
    tries: int = 0

    kind: ClassVar = "notification"

    @classmethod
    def read(cls, members: Members) -> "Notification":
        """The same from the members of a queue message. Raises ValueError."""
        about = members.inner("notification")
        return cls(
            about.text("mailbox"), about.text("target"), about.text("id"), about.whole("at"), about.whole("challenge"),
            members.whole("tries"),
        )  # fmt: skip

    @property
    def group(self) -> str:
        """Its message group in the courier's queue."""
        return notify_group(self.mailbox)

    def again(self) -> "Notification":
        """The same, after one more try."""
        return replace(self, tries=self.tries + 1)

    def encode(self) -> str:
        """The queue message."""
        about: dict[str, JsonValue] = {
            "mailbox": self.mailbox, "target": self.target, "id": self.id, "at": self.at_ms,
            "challenge": self.challenge,
        }  # fmt: skip
        return write(self.kind, {"notification": about}, self.tries)

    def content(self, code: str) -> str:
        """What the target is told, the same at every try. `code`: of a challenge."""
        about = {"mailbox": self.mailbox, "target": self.target, "code": code} if code else {"mailbox": self.mailbox}
        kind = "postroom.verify" if code else "postroom.waiting"
        return json.dumps({"type": kind, "timestamp": write_timestamp(self.at_ms), "data": about}, ensure_ascii=False)
