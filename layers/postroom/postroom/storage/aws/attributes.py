"""The table codec: each attribute of a row is declared once, as a typed field, and so encoded, decoded and named.

    STATE, LENGTH, TTL = Text("st"), Number("len"), Number("ttl")

    item(PK.of("alice#0"), STATE.of("L"), LENGTH.of(2_500))     # {"pk": {"S": "alice#0"}, "st": {"S": "L"}, …}
    LENGTH.read(row), TTL.find(row)                             # 2500, None
    f"{STATE} = :live AND {TTL} < :now"                         # "st = :live AND #ttl < :now"

A row is read by the attributes that are asked for; what a newer release may have put beside them is passed over.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar

from postroom.core.errors import OurError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

T = TypeVar("T")
Value: TypeAlias = "AttributeValueTypeDef"
"""What an attribute has on the wire: its type, and a value of that, such as `{"S": "text"}`."""
Item: TypeAlias = Mapping[str, "AttributeValueTypeDef"]
"""A row, its key, or a map within a row."""

RESERVED: Final = frozenset({"at", "hash", "object", "size", "to", "token", "ttl"})
"""Of the names of our attributes those that no expression may hold as they are (DynamoDB's "Reserved words")."""


class MalformedRowError(OurError):
    """An attribute of a row is missing, or of another type than this release gives it."""


class Attribute(ABC, Generic[T]):
    """An attribute with values of type `T`. Its text is how an expression names it."""

    __slots__ = ("_in_expressions", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._in_expressions = f"#{name}" if name in RESERVED else name

    def __str__(self) -> str:
        return self._in_expressions

    @abstractmethod
    def encode(self, value: T) -> Value:
        """A value as it stands in a row or among the values of an expression."""

    @abstractmethod
    def read(self, row: Item) -> T:
        """The value in a row. Raises MalformedRowError."""

    def of(self, value: T) -> tuple[str, Value]:
        """The attribute with a value, for `item`."""
        return self.name, self.encode(value)

    def find(self, row: Item) -> T | None:
        """The value in a row; None: the row has no such attribute. Raises MalformedRowError."""
        return self.read(row) if self.name in row else None

    def is_in(self, row: Item) -> bool:
        """Whether a row has the attribute, of whatever type."""
        return self.name in row

    def _malformed(self, row: Item, wanted: str) -> MalformedRowError:
        found = ", ".join(row[self.name]) if self.name in row else "missing"
        return MalformedRowError(f"attribute {self.name} of a row must be {wanted}, and is {found}")


class Text(Attribute[str]):
    """A string (S)."""

    __slots__ = ()

    def encode(self, value: str) -> Value:
        """A value on the wire."""
        return {"S": value}

    def read(self, row: Item) -> str:
        """The value in a row. Raises MalformedRowError."""
        try:
            return row[self.name]["S"]
        except KeyError:
            raise self._malformed(row, "a string (S)") from None


class Number(Attribute[int]):
    """An integer (N)."""

    __slots__ = ()

    def encode(self, value: int) -> Value:
        """A value on the wire."""
        return {"N": str(value)}

    def read(self, row: Item) -> int:
        """The value in a row. Raises MalformedRowError."""
        try:
            return int(row[self.name]["N"])
        except (KeyError, ValueError):
            raise self._malformed(row, "an integer (N)") from None


class Flag(Attribute[bool]):
    """True or false (BOOL)."""

    __slots__ = ()

    def encode(self, value: bool) -> Value:
        """A value on the wire."""
        return {"BOOL": value}

    def read(self, row: Item) -> bool:
        """The value in a row. Raises MalformedRowError."""
        try:
            return row[self.name]["BOOL"]
        except KeyError:
            raise self._malformed(row, "true or false (BOOL)") from None


class Map(Attribute[Item]):
    """Attributes of its own (M)."""

    __slots__ = ()

    def encode(self, value: Item) -> Value:
        """A value on the wire."""
        return {"M": value}

    def read(self, row: Item) -> Item:
        """The value in a row. Raises MalformedRowError."""
        try:
            return row[self.name]["M"]
        except KeyError:
            raise self._malformed(row, "a map (M)") from None


class Maps(Attribute[Iterable[Item]]):
    """A list of maps (L of M)."""

    __slots__ = ()

    def encode(self, value: Iterable[Item]) -> Value:
        """A value on the wire."""
        return {"L": [{"M": each} for each in value]}

    def read(self, row: Item) -> Sequence[Item]:
        """The value in a row. Raises MalformedRowError."""
        try:
            return [each["M"] for each in row[self.name]["L"]]
        except KeyError:
            raise self._malformed(row, "a list of maps (L of M)") from None


PK, SK = Text("pk"), Text("sk")
"""The key of every table; those whose partitions have one row each have no `sk`."""
TTL: Final = Number("ttl")
"""When a row's time is over, epoch seconds. DynamoDB sweeps it some time later."""
ABSENT, PRESENT = f"attribute_not_exists({PK})", f"attribute_exists({PK})"
"""Conditions: there is no row of this key; there is one."""


def item(*attributes: tuple[str, Value]) -> dict[str, Value]:
    """A row, or a map within one, of attributes with their values."""
    return dict(attributes)


def primary_key(pk: str, sk: str | None = None) -> dict[str, Value]:
    """The key of a row; `sk`: None in tables that have none."""
    return item(PK.of(pk)) if sk is None else item(PK.of(pk), SK.of(sk))
