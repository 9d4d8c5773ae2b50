"""The encoding of arguments and results of contracts (Contract ABI Specification, Solidity documentation).

Types are texts such as `bytes,address` or `(address,string[],bytes)[]`. Their values: an unsigned integer is an `int`,
a truth value a `bool`, an address and bytes of any length are `bytes`, a text is a `str`, an array is a list, and a
tuple is a tuple.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias

WORD: Final = 32
"""Bytes of a word."""
ADDRESS_BYTES: Final = 20

AbiValue: TypeAlias = Any
"""An `int`, a `bool`, `bytes`, a `str`, or a sequence of these: which, its type says."""


class AbiError(ValueError):
    """The data is not an encoding of these types."""


def encode(types: str, values: Sequence[AbiValue]) -> bytes:
    """The encoding of values. Raises AbiError if they are not of these types."""
    return _members(types).encode(values)


def decode(types: str, data: bytes) -> tuple[AbiValue, ...]:
    """The values in an encoding. Bytes behind it are ignored, as Solidity does.

    No byte counts twice: an encoding in which values overlap is refused, so that the result is not larger than the
    data. Raises AbiError: too short; an offset or a length beyond the data; bits where there may be none; not UTF-8.
    """
    values: tuple[AbiValue, ...] = _members(types).decode(_EncodedWords(data), 0)
    return values


class _EncodedWords:
    """Data that is decoded, and how many of its bytes may still be read."""

    def __init__(self, data: bytes) -> None:
        self._data, self._left = data, len(data)

    def take(self, at: int, length: int) -> bytes:
        """The bytes at a place, which count as read. Raises AbiError."""
        end = at + length
        if end > len(self._data):
            raise AbiError(f"ends before byte {end}" if end < 1 << 32 else "an offset or a length is beyond the data")
        if length > self._left:
            raise AbiError("values overlap")
        self._left -= length
        return self._data[at:end]

    def number(self, at: int) -> int:
        """The number in the word at a place. Raises AbiError."""
        return int.from_bytes(self.take(at, WORD))

    def require(self, length: int) -> None:
        """Check that so many bytes may still be read. Raises AbiError."""
        if length > self._left:
            raise AbiError("a length is beyond the data")


@dataclass(frozen=True, slots=True)
class _Word:
    """A type of one word. `read`: its value in the word; `write`: the word of a value."""

    read: Callable[[bytes], AbiValue]
    write: Callable[[AbiValue], bytes]
    is_dynamic: bool = False
    head: int = WORD

    def encode(self, value: AbiValue) -> bytes:
        return self.write(value)

    def decode(self, reader: _EncodedWords, at: int) -> AbiValue:
        return self.read(reader.take(at, WORD))


@dataclass(frozen=True, slots=True)
class _Bytes:
    """Bytes or a text of any length."""

    is_text: bool
    is_dynamic: bool = True
    head: int = WORD

    def encode(self, value: AbiValue) -> bytes:
        raw: bytes = value.encode() if self.is_text else value
        return len(raw).to_bytes(WORD) + raw + bytes(-len(raw) % WORD)

    def decode(self, reader: _EncodedWords, at: int) -> AbiValue:
        raw = reader.take(at + WORD, reader.number(at))
        if not self.is_text:
            return raw
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise AbiError("a string is not UTF-8") from None


@dataclass(frozen=True, slots=True)
class _Array:
    """Any number of values of one type."""

    item: "_Type"
    is_dynamic: bool = True
    head: int = WORD

    def encode(self, value: AbiValue) -> bytes:
        return len(value).to_bytes(WORD) + _encode_each((self.item,) * len(value), value)

    def decode(self, reader: _EncodedWords, at: int) -> AbiValue:
        length = reader.number(at)
        reader.require(length * self.item.head)
        return _decode_each((self.item,) * length, reader, at + WORD)


@dataclass(frozen=True, slots=True)
class _Tuple:
    """Values of several types: a word for each, or the place of what has no fixed length."""

    items: "tuple[_Type, ...]"
    is_dynamic: bool
    head: int

    @classmethod
    def of(cls, items: "tuple[_Type, ...]") -> "_Tuple":
        is_dynamic = any(item.is_dynamic for item in items)
        return cls(items, is_dynamic, WORD if is_dynamic else sum(item.head for item in items))

    def encode(self, value: AbiValue) -> bytes:
        if len(value) != len(self.items):
            raise AbiError(f"{len(self.items)} values are needed, and there are {len(value)}")
        return _encode_each(self.items, value)

    def decode(self, reader: _EncodedWords, at: int) -> AbiValue:
        return tuple(_decode_each(self.items, reader, at))


def _encode_each(items: "Sequence[_Type]", values: Sequence[AbiValue]) -> bytes:
    heads, tails = [], []
    place = sum(item.head for item in items)
    for item, value in zip(items, values, strict=True):
        encoded = item.encode(value)
        if item.is_dynamic:
            heads.append(place.to_bytes(WORD))
            tails.append(encoded)
            place += len(encoded)
        else:
            heads.append(encoded)
    return b"".join(heads + tails)


def _decode_each(items: "Sequence[_Type]", reader: _EncodedWords, at: int) -> list[AbiValue]:
    values, place = [], at
    for item in items:
        values.append(item.decode(reader, at + reader.number(place) if item.is_dynamic else place))
        place += item.head
    return values


_Type: TypeAlias = _Word | _Bytes | _Array | _Tuple


def _number(bits: int) -> _Word:
    def read(word: bytes) -> int:
        number = int.from_bytes(word)
        if number >> bits:
            raise AbiError(f"a number has more than {bits} bits")
        return number

    def write(value: int) -> bytes:
        if not 0 <= value < 1 << bits:
            raise AbiError(f"a number is not one of {bits} bits")
        return value.to_bytes(WORD)

    return _Word(read, write)


def _fixed(length: int) -> _Word:
    """`length` bytes at the start of a word."""

    def read(word: bytes) -> bytes:
        if any(word[length:]):
            raise AbiError(f"there is something behind {length} bytes")
        return word[:length]

    def write(value: bytes) -> bytes:
        if len(value) != length:
            raise AbiError(f"{length} bytes are needed, and there are {len(value)}")
        return value.ljust(WORD, b"\0")

    return _Word(read, write)


def _address() -> _Word:
    def read(word: bytes) -> bytes:
        if any(word[:-ADDRESS_BYTES]):
            raise AbiError(f"an address has more than {ADDRESS_BYTES} bytes")
        return word[-ADDRESS_BYTES:]

    def write(value: bytes) -> bytes:
        if len(value) != ADDRESS_BYTES:
            raise AbiError(f"an address has {ADDRESS_BYTES} bytes, and this one {len(value)}")
        return value.rjust(WORD, b"\0")

    return _Word(read, write)


def _truth() -> _Word:
    number = _number(1)
    return _Word(lambda word: bool(number.read(word)), lambda value: number.write(int(value)))


@lru_cache(16)
def _members(types: str) -> _Tuple:
    """The types in a list."""
    return _Tuple.of(tuple(_type(each) for each in _split(types)))


def _type(text: str) -> _Type:
    if text.endswith("[]"):
        return _Array(_type(text[:-2]))
    if text.startswith("("):
        return _members(text[1:-1])
    if text in ("bytes", "string"):
        return _Bytes(is_text=text == "string")
    if text == "address":
        return _address()
    if text == "bool":
        return _truth()
    if text.startswith("bytes"):
        return _fixed(int(text[len("bytes") :]))
    return _number(int(text.removeprefix("uint")))


def _split(types: str) -> Iterator[str]:
    """The parts between the commas that are not within brackets."""
    depth = start = 0
    for place, character in enumerate(types):
        depth += (character == "(") - (character == ")")
        if character == "," and not depth:
            yield types[start:place]
            start = place + 1
    yield types[start:]
