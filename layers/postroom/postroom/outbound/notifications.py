"""Notifications that mail is waiting: their form in the courier's queue, and the body that targets get.

The worker says of a mailbox that something came in (`Waiting`); the courier makes of that one `Notification` for each
target, with tries of its own. A target is never told from whom, what, or how much.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from postroom.core.timestamps import write_timestamp
from postroom.storage.keys import notify_group

WAITING, NOTIFICATION = "waiting", "notification"
"""The members by which they are told from what else is in the same queue."""
_FORM: Final = 1


@dataclass(frozen=True, slots=True)
class Waiting:
    """Something waits in a mailbox. `after_ms`: of a message for the end of an interval, the turn that began it.

    `mark`: of that message alone, however often it is tried: by this it knows the turn that it took.
    """

    mailbox: str
    after_ms: int = 0
    mark: str = ""
    tries: int = 0

    @property
    def group(self) -> str:
        """Its message group in the courier's queue."""
        return notify_group(self.mailbox)

    def again(self) -> "Waiting":
        """The same, after one more try."""
        return replace(self, tries=self.tries + 1)

    def encode(self) -> str:
        """The queue message."""
        about = {WAITING: self.mailbox, "after": self.after_ms, "mark": self.mark, "tries": self.tries}
        return json.dumps({"form": _FORM, **about})


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

    @property
    def group(self) -> str:
        """Its message group in the courier's queue."""
        return notify_group(self.mailbox)

    def again(self) -> "Notification":
        """The same, after one more try."""
        return replace(self, tries=self.tries + 1)

    def encode(self) -> str:
        """The queue message."""
        about = {
            "mailbox": self.mailbox, "target": self.target, "id": self.id, "at": self.at_ms,
            "challenge": self.challenge,
        }  # fmt: skip
        return json.dumps({"form": _FORM, NOTIFICATION: about, "tries": self.tries})

    def content(self, code: str) -> str:
        """What the target is told, the same at every try. `code`: of a challenge."""
        about = {"mailbox": self.mailbox, "target": self.target, "code": code} if code else {"mailbox": self.mailbox}
        kind = "postroom.verify" if code else "postroom.waiting"
        return json.dumps({"type": kind, "timestamp": write_timestamp(self.at_ms), "data": about}, ensure_ascii=False)


def read_waiting(value: Mapping[str, Any]) -> Waiting:
    """The same from the queue message's JSON. Raises ValueError, KeyError or TypeError: it is none of ours."""
    _check(value, [value[WAITING], value["mark"]], [value["after"], value["tries"]])
    return Waiting(value[WAITING], value["after"], value["mark"], value["tries"])


def read_notification(value: Mapping[str, Any]) -> Notification:
    """The same from the queue message's JSON. Raises ValueError, KeyError or TypeError: it is none of ours."""
    about = value[NOTIFICATION]
    told = Notification(about["mailbox"], about["target"], about["id"], about["at"], about["challenge"], value["tries"])
    _check(value, [told.mailbox, told.target, told.id], [told.at_ms, told.challenge, told.tries])
    return told


def _check(value: Mapping[str, Any], texts: Sequence[object], numbers: Sequence[object]) -> None:
    if value["form"] != _FORM:
        raise ValueError(f"a notification of form {value['form']}; this release reads form {_FORM}")
    if not all(isinstance(text, str) for text in texts) or any(type(number) is not int for number in numbers):
        raise TypeError("a notification in which something else stands where a text or a whole number should")
