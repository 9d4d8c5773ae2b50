"""The table codec: each attribute of a row is declared once, as a typed field that encodes, decodes and names it.

    STATE, LENGTH, TTL = Text("st"), Number("len"), Number("ttl")

    item(PK.of("alice#0"), STATE.of("L"), LENGTH.of(2_500))     # {"pk": {"S": "alice#0"}, "st": {"S": "L"}, …}
    LENGTH.read(row), TTL.find(row)                             # 2500, None
    f"{STATE} = :live AND {TTL} < :now"                         # "st = :live AND #ttl < :now"

Only the attributes that are asked for are read; others, which a newer release may have added, are ignored.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar

from postroom.core.errors import OurError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

T = TypeVar("T")
Value: TypeAlias = "AttributeValueTypeDef"
"""The wire form of a value: its type and the value, such as `{"S": "text"}`."""
Item: TypeAlias = Mapping[str, "AttributeValueTypeDef"]
"""A row, its key, or a map within a row."""

RESERVED: Final = frozenset({"at", "hash", "object", "size", "to", "token", "ttl", "until"})
"""Attribute names that expressions cannot contain as they are (DynamoDB's "Reserved words")."""


class MalformedRowError(OurError):
    """An attribute of a row is missing, or has another type than this release writes."""


class Attribute(ABC, Generic[T]):
    """An attribute with values of type `T`. Its `str()` is its name in expressions."""

    __slots__ = ("_in_expressions", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._in_expressions = f"#{name}" if name in RESERVED else name

    def __str__(self) -> str:
        return self._in_expressions

    @abstractmethod
    def encode(self, value: T) -> Value:
        """The wire form of a value, for rows and for the values of expressions."""

    @abstractmethod
    def read(self, row: Item) -> T:
        """The value in a row. Raises MalformedRowError."""

    def of(self, value: T) -> tuple[str, Value]:
        """The attribute with a value, for `item`."""
        return self.name, self.encode(value)

    def find(self, row: Item) -> T | None:
        """The value in a row; None: the row does not have the attribute. Raises MalformedRowError."""
        return self.read(row) if self.name in row else None

    def is_in(self, row: Item) -> bool:
        """Whether a row has the attribute, of any type."""
        return self.name in row

    def _malformed(self, row: Item, wanted: str) -> MalformedRowError:
        found = ", ".join(row[self.name]) if self.name in row else "missing"
        return MalformedRowError(f"attribute {self.name} of a row must be {wanted}, and is {found}")


class Text(Attribute[str]):
    """A string (S)."""

    __slots__ = ()

    def encode(self, value: str) -> Value:
        """The wire form of a value."""
        return {"S": value}

    def read(self, row: Item) -> str:
        """The value of the wire form. Raises MalformedRowError."""
        try:
            return row[self.name]["S"]
        except KeyError:
            raise self._malformed(row, "a string (S)") from None


class Number(Attribute[int]):
    """An integer (N)."""

    __slots__ = ()

    def encode(self, value: int) -> Value:
        """The wire form of a value."""
        return {"N": str(value)}

    def read(self, row: Item) -> int:
        """The value of the wire form. Raises MalformedRowError."""
        try:
            return int(row[self.name]["N"])
        except (KeyError, ValueError):
            raise self._malformed(row, "an integer (N)") from None


class Flag(Attribute[bool]):
    """True or false (BOOL)."""

    __slots__ = ()

    def encode(self, value: bool) -> Value:
        """The wire form of a value."""
        return {"BOOL": value}

    def read(self, row: Item) -> bool:
        """The value of the wire form. Raises MalformedRowError."""
        try:
            return row[self.name]["BOOL"]
        except KeyError:
            raise self._malformed(row, "true or false (BOOL)") from None


class Map(Attribute[Item]):
    """A map of attributes (M)."""

    __slots__ = ()

    def encode(self, value: Item) -> Value:
        """The wire form of a value."""
        return {"M": value}

    def read(self, row: Item) -> Item:
        """The value of the wire form. Raises MalformedRowError."""
        try:
            return row[self.name]["M"]
        except KeyError:
            raise self._malformed(row, "a map (M)") from None


class Maps(Attribute[Iterable[Item]]):
    """A list of maps (L of M)."""

    __slots__ = ()

    def encode(self, value: Iterable[Item]) -> Value:
        """The wire form of a value."""
        return {"L": [{"M": each} for each in value]}

    def read(self, row: Item) -> Sequence[Item]:
        """The value of the wire form. Raises MalformedRowError."""
        try:
            return [each["M"] for each in row[self.name]["L"]]
        except KeyError:
            raise self._malformed(row, "a list of maps (L of M)") from None


PK, SK = Text("pk"), Text("sk")
"""The key of every table. Tables whose partitions have a single row have no `sk`."""
TTL: Final = Number("ttl")
"""When a row expires, in epoch seconds. DynamoDB deletes it some time later."""
ABSENT, PRESENT = f"attribute_not_exists({PK})", f"attribute_exists({PK})"
"""Conditions: the row does not exist; it exists."""


def item(*attributes: tuple[str, Value]) -> dict[str, Value]:
    """A row, or a map within one, from attributes with values."""
    return dict(attributes)


def primary_key(pk: str, sk: str | None = None) -> dict[str, Value]:
    """The key of a row; `sk`: None in tables without one."""
    return {PK.name: PK.encode(pk)} if sk is None else {PK.name: PK.encode(pk), SK.name: SK.encode(sk)}
