"""Fields of a protobuf message that its type does not have, and those whose wire types are others.

Parsers take a field of a known number and another wire type for an unknown one. A payload of another type is full of
such fields (decision "Payloads").
"""

from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet


def has_unknown(message: Message) -> bool:
    """Whether a message has fields with unknown numbers, or with other wire types."""
    return len(UnknownFieldSet(message)) > 0


def is_strict(message: Message) -> bool:
    """Whether every known number in a message has its wire type; messages within it are not looked at."""
    unknown = UnknownFieldSet(message)
    if not len(unknown):
        return True
    known = message.DESCRIPTOR.fields_by_number
    return not any(unknown[place].field_number in known for place in range(len(unknown)))
