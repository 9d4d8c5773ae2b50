"""Checks of the members of dm3's objects, used by every type when it is made."""

from typing import Any

from postroom.core.errors import TheirError
from postroom.core.ijson import MAX_EXACT_INTEGER, JsonValue
from postroom.core.reason import Reason


def members_of(value: JsonValue, what: str, reason: Reason) -> dict[str, JsonValue]:
    """The members of a JSON object, to take from: what is left at the end nobody knows. Raises TheirError."""
    if not isinstance(value, dict):
        raise TheirError(reason, f"{what} is missing or not a JSON object")
    return dict(value)


def take(members: dict[str, JsonValue], name: str, reason: Reason) -> Any:
    """Take a member out, None where it is absent; of which type it is the object checks that is made of it.

    Raises TheirError where it is null: a signature covers the difference between null and absent.
    """
    if name not in members:
        return None
    value = members.pop(name)
    if value is None:
        raise TheirError(reason, f"{name} is null; leave it out or give it a value")
    return value


def check_text(value: object, what: str, reason: Reason, *, empty: bool = False) -> None:
    """Raises TheirError where this is no string, is empty, or holds what has no UTF-8 and cannot be signed."""
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
    """The same for what may be absent (None), or empty."""
    if value is not None:
        check_text(value, what, reason, empty=True)


def check_timestamp(value: object, what: str, reason: Reason) -> None:
    """Raises TheirError where this is no integer from 0 to 2^53-1: epoch milliseconds as JavaScript has them."""
    if type(value) is not int:  # a bool is an int, too
        raise TheirError(reason, f"{what} is {'missing' if value is None else 'not an integer'}")
    if not 0 <= value <= MAX_EXACT_INTEGER:
        raise TheirError(reason, f"{what} is not from 0 to 2^53-1 (epoch milliseconds)")
