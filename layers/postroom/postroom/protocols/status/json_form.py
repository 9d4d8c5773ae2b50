"""Messages of Status as JSON: members by the names of the fields, enums by name or number, bytes in base64."""

from collections.abc import Callable, Mapping
from enum import IntEnum
from functools import partial
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from pybase64 import b64decode, b64encode_as_string

from postroom.core.ijson import JsonValue
from postroom.protocols.status.codec import FORMS, Form, type_of_message
from postroom.protocols.status.messages import StatusMessage

_WHOLE: Final[Mapping[int, range]] = {
    FieldDescriptor.TYPE_UINT64: range(1 << 64),
    FieldDescriptor.TYPE_INT32: range(-(1 << 31), 1 << 31),
}


def message_as_json(message: StatusMessage) -> dict[str, JsonValue]:
    """A message as JSON. Numbers of enums are names where they have one; absent parts are left out.

    Fields that we do not know are one member, `unknown`: the base64 of their encoding.
    """
    return _as_json(FORMS[type_of_message(message)], message)


def message_from_json(type_: int, value: JsonValue) -> StatusMessage:
    """A message of a known type from JSON. Members may be left out, as fields may.

    Raises ValueError: not an object, a member that the message does not have, or of another type. Raises TheirError as
    the message's type does.
    """
    message: StatusMessage = _from_json(FORMS[type_], value)
    return message


def _as_json(form: Form, message: Any) -> dict[str, JsonValue]:
    shown: dict[str, JsonValue] = {}
    for name in form.plain:
        value = getattr(message, name)
        if isinstance(value, bytes):
            value = b64encode_as_string(value)
        elif name in form.enums:
            value = number_as_json(form.enums[name], value)
        shown[name] = value
    for name in form.repeated:
        shown[name] = [b64encode_as_string(v) if isinstance(v, bytes) else v for v in getattr(message, name)]
    for name, inner in form.nested.items():
        if (part := getattr(message, name)) is not None:
            shown[name] = _as_json(inner, part)
    if message.unknown:
        shown["unknown"] = b64encode_as_string(message.unknown)
    return shown


def number_as_json(enum: type[IntEnum], number: int) -> str | int:
    """The name of an enum's number; the number itself if it has none."""
    try:
        return enum(number).name
    except ValueError:
        return number


def _from_json(form: Form, value: JsonValue) -> Any:
    what = form.record.__name__
    if not isinstance(value, dict):
        raise ValueError(f"{what} must be a JSON object")  # noqa: TRY004 - one error for whatever it is
    if strange := sorted(value.keys() - {*form.fields, "unknown"}):
        raise ValueError(f"{what} has no member {strange[0]!r}; it has {', '.join(form.fields)}")
    given: dict[str, Any] = {}
    for name in form.plain:
        given[name] = _plain(form, name, value)
    for name in form.repeated:
        given[name] = _repeated(form, name, value.get(name, []))
    for name, inner in form.nested.items():
        if value.get(name) is not None:
            given[name] = _from_json(inner, value[name])
    return form.record(**given, unknown=_bytes(value.get("unknown", ""), f"unknown of {what}"))


def _plain(form: Form, name: str, members: Mapping[str, JsonValue]) -> Any:
    if name not in members:
        return form.message.DESCRIPTOR.fields_by_name[name].default_value
    value, what = members[name], f"{name} of {form.record.__name__}"
    if name in form.enums and isinstance(value, str):
        if value not in form.enums[name].__members__:
            raise ValueError(f"{what} must be a number, or one of {', '.join(form.enums[name].__members__)}")
        return form.enums[name][value]
    return _reader(form, name)(value, what)


def _repeated(form: Form, name: str, value: JsonValue) -> tuple[Any, ...]:
    what = f"{name} of {form.record.__name__}"
    if not isinstance(value, list):
        raise ValueError(f"{what} must be a list")  # noqa: TRY004 - one error for whatever it is
    read = _reader(form, name)
    return tuple(read(each, f"each of {what}") for each in value)


def _reader(form: Form, name: str) -> Callable[[JsonValue, str], Any]:
    kind = form.message.DESCRIPTOR.fields_by_name[name].type
    return _READERS[kind] if kind in _READERS else partial(_whole, _WHOLE[kind])


def _bytes(value: JsonValue, what: str) -> bytes:
    try:
        return b64decode(_text(value, what), None, True)
    except ValueError:
        raise ValueError(f"{what} must be base64") from None


def _text(value: JsonValue, what: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{what} must be a string")  # noqa: TRY004 - one error for whatever it is
    return value


def _flag(value: JsonValue, what: str) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{what} must be true or false")  # noqa: TRY004 - one error for whatever it is
    return value


def _whole(allowed: range, value: JsonValue, what: str) -> int:
    if type(value) is not int or value not in allowed:
        raise ValueError(f"{what} must be an integer from {allowed.start} to {allowed.stop - 1}")
    return value


_READERS: Final[Mapping[int, Callable[[JsonValue, str], Any]]] = {
    FieldDescriptor.TYPE_BYTES: _bytes,
    FieldDescriptor.TYPE_STRING: _text,
    FieldDescriptor.TYPE_BOOL: _flag,
}
