"""Types of payloads by their names and numbers."""

from postroom.protocols.status.enums import PayloadType, type_named


def test_every_type_has_a_name_and_a_number() -> None:
    for type_ in PayloadType:
        assert type_named(type_.name) is type_named(type_.value) is type_
