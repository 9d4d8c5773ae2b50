"""The common form of the courier's queue messages: JSON with the members `form`, `kind` and `tries`."""

import json
from collections.abc import Mapping
from typing import Final

from postroom.core.ijson import JsonValue
from postroom.core.typed_members import Members

_FORM: Final = 1
"""A queue may contain messages of the previous release: a new form gets a new number."""


def write(kind: str, members: Mapping[str, JsonValue], tries: int) -> str:
    """A queue message."""
    return json.dumps({"form": _FORM, "kind": kind, **members, "tries": tries})


def read(value: object) -> Members:
    """The members of a queue message. Raises ValueError if it is not one of ours."""
    members = Members(value, "a message of the courier's queue")
    members.check_form(_FORM)
    return members
