"""Checks of the members of dm3's objects, made when an object is created."""

from typing import Any

from postroom.core.errors import TheirError
from postroom.core.ijson import MAX_EXACT_INTEGER, JsonValue
from postroom.core.reason import Reason


def members_of(value: JsonValue, what: str, reason: Reason) -> dict[str, JsonValue]:
    """The members of a JSON object, to take from; those left at the end are unknown. Raises TheirError."""
    if not isinstance(value, dict):
        raise TheirError(reason, f"{what} is missing or not a JSON object")
    return dict(value)


def take(members: dict[str, JsonValue], name: str, reason: Reason) -> Any:
    """Remove and return a member, None if it is absent. Its type is checked by the object that is made of it.

    Raises TheirError if it is null: a signature distinguishes null from absent.
    """
    if name not in members:
        return None
    value = members.pop(name)
    if value is None:
        raise TheirError(reason, f"{name} is null; leave it out or give it a value")
    return value


def check_text(value: object, what: str, reason: Reason, *, empty: bool = False) -> None:
    """Raises TheirError if this is not a string, is empty, or contains characters that cannot be encoded and signed."""
    if not isinstance(value, str):
        raise TheirError(reason, f"{what} is {'missing' if value is None else 'not a string'}")
    if not value and not empty:
        raise TheirError(reason, f"{what} is empty")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise TheirError(reason, f"{what} holds half a surrogate pair; it must be valid Unicode") from None


def check_optional_text(value: object, what: str, reason: Reason) -> None:
    """The same for a text that may be absent (None) or empty."""
    if value is not None:
        check_text(value, what, reason, empty=True)


def check_timestamp(value: object, what: str, reason: Reason) -> None:
    """Raises TheirError if this is not an integer from 0 to 2^53-1: epoch milliseconds as in JavaScript."""
    if type(value) is not int:  # bool is a subclass of int
        raise TheirError(reason, f"{what} is {'missing' if value is None else 'not an integer'}")
    if not 0 <= value <= MAX_EXACT_INTEGER:
        raise TheirError(reason, f"{what} is not from 0 to 2^53-1 (epoch milliseconds)")
