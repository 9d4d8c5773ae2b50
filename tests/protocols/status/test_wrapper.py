"""Wrappers: 6/PAYLOADS, Payload wrapper; decision "Wrappers"."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz.entry import outcome_of
from tests.protocols.status.known import (
    ALICE,
    GO_ROWS,
    Field,
    each_sample,
    each_vector,
    is_typed,
    refused,
    text,
    wrapper_of,
)

from postroom.core.errors import TheirError
from postroom.core.reasons import TOO_LARGE
from postroom.protocols.status.codec import type_of_message, write_payload
from postroom.protocols.status.enums import PayloadType
from postroom.protocols.status.messages import StatusMessage
from postroom.protocols.status.reasons import PAYLOAD_TYPE_UNKNOWN, WRAPPER_INVALID
from postroom.protocols.status.wrapper import MAX_WRAPPER_BYTES, Wrapper, read_wrapper, type_of, write_wrapper

SIGNATURE = Field(1, b"s" * 65)
PAYLOAD = Field(2, b"payload")
TYPE = Field(3, 1)
OLD_SIGNATURE = Field(4001, b"s" * 65)
OLD_PAYLOAD = Field(4002, b"payload")


def joined(*fields: Field) -> bytes:
    return b"".join(map(bytes, fields))


@each_vector
def test_known_wrappers_are_read_and_written_byte_for_byte(vector: dict[str, Any]) -> None:
    signature, payload = bytes.fromhex(vector["signature"]), bytes.fromhex(vector["payload"])
    type_ = vector["application_metadata_type"]
    untyped = bytes.fromhex(vector["status_protocol_message"])
    typed = bytes.fromhex(vector["application_metadata_message"])
    assert read_wrapper(untyped) == Wrapper(untyped, False, 0, signature, payload)
    assert read_wrapper(typed) == Wrapper(typed, True, type_, signature, payload)
    assert write_wrapper(payload, signature, type_, typed=False) == untyped
    assert write_wrapper(payload, signature, type_) == typed


def test_the_tags_of_the_older_wrapper() -> None:
    assert write_wrapper(b"p", b"s", 1, typed=False) == bytes.fromhex("8afa010173 92fa010170")


@each_sample
def test_what_is_written_is_read_in_both_forms(sample: StatusMessage) -> None:
    payload, type_ = write_payload(sample), type_of_message(sample)
    signature = ALICE.sign(payload)
    untyped = read_wrapper(write_wrapper(payload, signature, type_, typed=False))
    assert (untyped.payload, untyped.signature, type_of(untyped, type_)) == (payload, signature, type_)
    if is_typed(type_):
        typed = read_wrapper(write_wrapper(payload, signature, type_))
        assert (typed.payload, typed.signature, type_of(typed)) == (payload, signature, type_)


def test_no_typed_wrapper_can_carry_an_identity() -> None:
    with pytest.raises(ValueError, match="no number for CHAT_MESSAGE_IDENTITY"):
        write_wrapper(b"payload", b"", PayloadType.CHAT_MESSAGE_IDENTITY)


def test_an_unsigned_wrapper() -> None:
    for data in (joined(PAYLOAD, TYPE), joined(Field(1, b""), PAYLOAD, TYPE)):
        assert read_wrapper(data) == Wrapper(data, True, 1, b"", b"payload")
    assert write_wrapper(b"payload", b"", 1) == joined(PAYLOAD, TYPE)
    assert read_wrapper(joined(OLD_PAYLOAD)).signature == b""


@pytest.mark.parametrize(
    "data",
    [b"", joined(SIGNATURE), joined(SIGNATURE, TYPE), joined(SIGNATURE, Field(2, b""), TYPE), joined(OLD_SIGNATURE),
     joined(OLD_SIGNATURE, Field(4002, b"")), joined(TYPE, OLD_SIGNATURE), write_payload(text())[:7],
     joined(Field(5, b"x"))],
)  # fmt: skip
def test_a_wrapper_without_a_payload_is_refused(data: bytes) -> None:
    assert "no payload" in refused(lambda: read_wrapper(data), WRAPPER_INVALID)


@pytest.mark.parametrize(
    "data",
    [b"\0\0", b"\xff", joined(PAYLOAD)[:-1], b"\x12\x7fx", b"\x18" + b"\xff" * 10 + b"\1" + joined(PAYLOAD),
     b"\x0c" + joined(PAYLOAD), joined(PAYLOAD) + b"\x2b" * 100_000, joined(PAYLOAD) + b"\x92\xfa\1\x05x",
     bytes(100), b"not protobuf at all"],
    ids=["field 0", "a tag that ends early", "a length beyond the end", "a length far beyond the end",
         "a varint of 11 bytes", "the end of a group", "100,000 groups in each other", "the older payload cut",
         "zeros", "text"],
)  # fmt: skip
def test_what_is_not_protobuf_is_refused(data: bytes) -> None:
    assert "not protobuf" in refused(lambda: read_wrapper(data), WRAPPER_INVALID)


@pytest.mark.parametrize("field", [Field(1, 5), Field(2, 5), Field(3, b"\1")])
def test_a_known_number_in_another_wire_type_is_refused(field: Field) -> None:
    data = joined(SIGNATURE, PAYLOAD, TYPE)
    assert "wire type" in refused(lambda: read_wrapper(bytes(field) + data), WRAPPER_INVALID)
    assert "wire type" in refused(lambda: read_wrapper(data + bytes(field)), WRAPPER_INVALID)


@pytest.mark.parametrize("field", [Field(4001, 5), Field(4002, 5)])
def test_so_it_is_in_the_older_wrapper(field: Field) -> None:
    assert "wire type" in refused(lambda: read_wrapper(joined(OLD_SIGNATURE, OLD_PAYLOAD, field)), WRAPPER_INVALID)


def test_the_last_of_a_field_that_stands_twice_counts() -> None:
    twice = joined(SIGNATURE, Field(2, b"first"), TYPE, Field(1, b"t" * 65), PAYLOAD, Field(3, 22))
    assert read_wrapper(twice) == Wrapper(twice, True, 22, b"t" * 65, b"payload")


def test_further_fields_are_ignored_and_kept_in_the_bytes() -> None:
    data = joined(TYPE, PAYLOAD, Field(4, b"grant"), SIGNATURE, OLD_PAYLOAD, Field(4001, 5))
    assert read_wrapper(data) == Wrapper(data, True, 1, b"s" * 65, b"payload")


@pytest.mark.parametrize(("number", "read"), [(99, 99), ((1 << 64) - 1, -1), ((1 << 32) + 1, 1), (1 << 32, 0)])
def test_a_type_has_32_bits(number: int, read: int) -> None:
    # So no number in a wrapper is that of an identity, which has none.
    assert read_wrapper(joined(PAYLOAD, Field(3, number))).type == read


def test_a_typed_wrapper_says_its_type() -> None:
    wrapper = read_wrapper(joined(PAYLOAD, TYPE))
    assert type_of(wrapper) == type_of(wrapper, PayloadType.PIN_MESSAGE) == PayloadType.CHAT_MESSAGE
    for data in (joined(PAYLOAD), joined(PAYLOAD, Field(3, 0))):
        untold = read_wrapper(data)
        assert "type is 0" in refused(lambda untold=untold: type_of(untold, 1), PAYLOAD_TYPE_UNKNOWN)


def test_of_an_untyped_one_the_carrier_does() -> None:
    wrapper = read_wrapper(joined(OLD_PAYLOAD, TYPE))
    assert type_of(wrapper, PayloadType.CHAT_MESSAGE_IDENTITY) == PayloadType.CHAT_MESSAGE_IDENTITY
    assert "beside it" in refused(lambda: type_of(wrapper), PAYLOAD_TYPE_UNKNOWN)


def test_a_wrapper_has_at_most_1_100_000_bytes() -> None:
    longest = joined(Field(2, b"x" * (MAX_WRAPPER_BYTES - 4)))
    assert len(longest) == MAX_WRAPPER_BYTES == 1_100_000
    assert read_wrapper(longest).payload == b"x" * (MAX_WRAPPER_BYTES - 4)
    assert "1100001" in refused(lambda: read_wrapper(longest + b"x"), TOO_LARGE)


def test_no_longer_one_is_written() -> None:
    for typed in (True, False):
        most = MAX_WRAPPER_BYTES - 6
        assert len(write_wrapper(b"x" * most, b"", 1, typed=typed)) == MAX_WRAPPER_BYTES
        refused(lambda typed=typed, most=most: write_wrapper(b"x" * (most + 1), b"", 1, typed=typed), TOO_LARGE)


@each_sample
def test_a_wrapper_cut_at_any_byte_is_refused_or_is_another(sample: StatusMessage) -> None:
    data = wrapper_of(sample)
    whole = read_wrapper(data)
    for length in range(len(data)):
        cut = outcome_of(lambda length=length: read_wrapper(data[:length]), WRAPPER_INVALID)
        if isinstance(cut, Wrapper):
            assert (cut.type, cut.signature, cut.payload) != (whole.type, whole.signature, whole.payload)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_wrapper_or_are_refused(data: bytes) -> None:
    found = outcome_of(lambda: read_wrapper(data), WRAPPER_INVALID)
    if not isinstance(found, TheirError):
        assert isinstance(found, Wrapper)
        assert found.payload
        assert found.data == data


@given(st.binary(min_size=1, max_size=99), st.binary(max_size=66), st.integers(-(1 << 31), (1 << 31) - 1))
def test_any_payload_and_signature_are_read_as_written(payload: bytes, signature: bytes, type_: int) -> None:
    for typed in (True, False):
        read = read_wrapper(write_wrapper(payload, signature, type_, typed=typed))
        assert (read.payload, read.signature, read.type) == (payload, signature, type_ if typed else 0)


def test_a_bare_payload_is_no_wrapper() -> None:
    assert refused(lambda: read_wrapper(write_payload(text())), WRAPPER_INVALID)
    assert refused(lambda: read_wrapper(bytes.fromhex(GO_ROWS["empty payload"]["wrapper"])), WRAPPER_INVALID)
