"""The mutation of an input: a change somewhere in its JSON, or in its bytes.

libFuzzer changes bytes, after which most JSON is none any more; and the inbox's parser, written in C and Rust, gives
it no hint of what is missing. So JSON is also changed as a value.
"""

import json
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Final

CHANGES: Final = 60
REPETITIONS: Final = 10
"""So many of each, of every entry, are tried in `make test-all`."""
ODD: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 1, 2, 2**53 - 1, 2**53, 2**64, 10**40, 0.5, -0.0, 1e21, 5e-324, float("inf"),
    float("nan"), "", " ", "a", "\0", "\n", "\u2028", "\x1b[31m", "é", "e\u0301", "ß", "K", "\U0001f91d", "\ud800",
    "a" * 300, "1", "0x", "*", "@",
    "a.example", "a.eth", "127.0.0.1", "QQ==", "2026-11-21T09:30:00Z", "5f0d8f9e-0000-4000-8000-00000000000A",
    [], {}, [[]], [None], {"": None}, {"a": {"a": 1}},
)  # fmt: skip
"""Values that make a difference somewhere."""

_NESTED: Final = 70
_LARGE: Final = 1e30


def changed(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """`data` with one to three changes; `others`: good inputs, of which parts are taken over."""
    for _ in range(random.randint(1, 3)):
        data = _changed_json(data, random, others) if random.random() < 0.7 else _changed_bytes(data, random, others)
    return data


def pumped(data: bytes, random: Random, most: int) -> bytes:
    """`data` with some part of it repeated up to `most` bytes: where time grows with the square, this takes long."""
    start = random.randint(0, len(data))
    part = data[start : start + random.choice((1, 1, 2, 3, 8, 40))] or random.randbytes(1)
    return (data[:start] + part * (max(0, most - len(data)) // len(part)) + data[start:])[:most]


def _changed_json(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    try:
        root = [json.loads(data)]
        _change(root, random, others)
        separators = random.choice(((",", ":"), (", ", ": ")))
        text = json.dumps(root[0], ensure_ascii=random.random() < 0.3, separators=separators)
    except (ValueError, RecursionError):  # it is no JSON, or too much for Python's
        return _changed_bytes(data, random, others)
    return text.encode(errors="replace")


def _change(root: list[Any], random: Random, others: Sequence[bytes]) -> None:
    places = list(_places(root))
    holder, key = random.choice(places)
    match random.randrange(8):
        case 0 | 1:
            holder[key] = random.choice(ODD)
        case 2:
            from_holder, from_key = random.choice(places)
            holder[key] = json.loads(json.dumps(from_holder[from_key]))
        case 3 if holder is not root:
            del holder[key]
        case 4 if isinstance(holder, dict):
            holder[random.choice([*holder, *(name for name in ODD if isinstance(name, str))])] = holder.pop(key)
        case 5 if isinstance(holder[key], str):
            holder[key] = _changed_bytes(holder[key].encode(errors="replace"), random, others).decode(errors="replace")
        case 6:
            for _ in range(random.choice((1, 1, _NESTED))):
                holder[key] = random.choice(([holder[key]], {"a": holder[key]}))
        case _:
            holder[key] = _numbered(holder[key], random)


def _places(root: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Every value of a JSON value, as its holder and its name or number there."""
    waiting: list[Any] = [root]
    for holder in waiting:  # grows as it goes
        for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
            yield holder, key
            if isinstance(holder[key], dict | list) and holder[key]:
                waiting.append(holder[key])


def _numbered(value: Any, random: Random) -> Any:
    if isinstance(value, int | float) and abs(value) < _LARGE:
        return random.choice((-value, value + 1, value * 1000, value / 7))
    return random.choice(ODD)


def _changed_bytes(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    start = random.randint(0, len(data))
    end = min(len(data), start + random.choice((1, 1, 2, 4, 16, 256)))
    other = random.choice(others) if others else data
    cut = random.randint(0, len(other))
    match random.randrange(6):
        case 0:
            return data[:start] + data[end:]
        case 1:
            return data[:start] + random.randbytes(random.randint(1, 4)) + data[end:]
        case 2:
            return data[:end] + data[start:end] * random.choice((1, 1, 50)) + data[end:]
        case 3:
            return data[:start] + other[cut : cut + 32] + data[end:]
        case 4:
            return data[:start] + bytes(byte ^ 1 << random.randrange(8) for byte in data[start:end]) + data[end:]
        case _:
            return data[:start] + other[cut:]
