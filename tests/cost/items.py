"""The size of an item in DynamoDB, by its documentation, and the write units of an item.

An attribute has the size of its name and its value: a text that of its UTF-8 bytes, a number half a byte for each digit
and one more, a map three bytes and one for each member.
"""

import math
from collections.abc import Mapping
from typing import Any

Item = Mapping[str, Mapping[str, Any]]

UNIT_BYTES = 1024


def item_bytes(item: Item) -> int:
    """The size of an item."""
    return sum(len(name.encode()) + _value_bytes(value) for name, value in item.items())


def write_units(size: int) -> int:
    """The write units of an item of `size` bytes."""
    return max(1, math.ceil(size / UNIT_BYTES))


def _value_bytes(value: Mapping[str, Any]) -> int:
    [(kind, held)] = value.items()
    match kind:
        case "S":
            return len(held.encode())
        case "N":
            return math.ceil(len(held) / 2) + 1
        case "M":
            return 3 + sum(1 + len(name.encode()) + _value_bytes(member) for name, member in held.items())
    raise ValueError(f"no row of ours holds a value of type {kind}")
