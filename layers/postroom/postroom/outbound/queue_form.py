"""The common form of the courier's queue messages: JSON with the members `form`, `kind` and `tries`."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Self

from postroom.core.ijson import JsonValue
from postroom.core.typed_members import Members

_FORM: Final = 1
"""A queue may contain messages of the previous release: a new form gets a new number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CourierMessage(ABC):
    """A message in the courier's queue. `tries`: the attempts so far."""

    tries: int = 0

    kind: ClassVar[str]

    @property
    @abstractmethod
    def members(self) -> Mapping[str, JsonValue]:
        """The members of this kind."""

    def encode(self) -> str:
        """The queue message."""
        return json.dumps({"form": _FORM, "kind": self.kind, **self.members, "tries": self.tries})

    def again(self) -> Self:
        """The same message with one more attempt counted."""
        return replace(self, tries=self.tries + 1)


def read(value: object) -> Members:
    """The members of a queue message. Raises ValueError if it is not one of ours."""
    members = Members(value, "a message of the courier's queue")
    members.check_form(_FORM)
    return members
