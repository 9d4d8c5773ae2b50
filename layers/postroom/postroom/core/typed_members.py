"""The members of a decoded JSON object, each read as the type that it must have."""

from collections.abc import Mapping
from typing import Any


class Members:
    """The members.

    `what`: the name of the object, for error messages. Every method raises ValueError for another type.
    """

    def __init__(self, value: object, what: str) -> None:
        if not isinstance(value, dict):
            raise ValueError(f"{what} must be a JSON object")  # noqa: TRY004 - one error for whatever it is
        self._members: Mapping[str, Any] = value
        self._what = what

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def any(self, name: str) -> Any:
        """A member of any type."""
        if name not in self._members:
            raise self._missing(name)
        return self._members[name]

    def text(self, name: str) -> str:
        """A string."""
        value = self._members.get(name)
        if isinstance(value, str):
            return value
        raise self._wrong(name, "a string")

    def whole(self, name: str) -> int:
        """An integer; true and false are not."""
        value = self._members.get(name)
        if type(value) is int:
            return value
        raise self._wrong(name, "an integer")

    def flag(self, name: str) -> bool:
        """A boolean; false if it is absent."""
        value = self._members.get(name, False)
        if isinstance(value, bool):
            return value
        raise self._wrong(name, "true or false")

    def texts(self, name: str, count: int) -> list[str]:
        """A list of strings, with a length within these limits."""
        value = self._members.get(name)
        if isinstance(value, list) and [*map(type, value)] == [str] * count:
            return value
        raise self._wrong(name, f"a list of {count} strings")

    def mapping(self, name: str) -> dict[str, Any]:
        """An object, as it is."""
        value = self._members.get(name)
        if isinstance(value, dict):
            return value
        raise self._wrong(name, "an object")

    def inner(self, name: str) -> "Members":
        """An object."""
        return Members(self.any(name), f"{name} of {self._what}")

    def check_form(self, form: int) -> None:
        """Check that the object has this form, by its member `form`."""
        if self.whole("form") != form:
            raise ValueError(f"{self._what} has form {self.whole('form')}; this release reads form {form}")

    def _missing(self, name: str) -> ValueError:
        return ValueError(f"{self._what} has no member {name}")

    def _wrong(self, name: str, expected: str) -> ValueError:
        if name not in self._members:
            return self._missing(name)
        return ValueError(f"{name} of {self._what} must be {expected}")
