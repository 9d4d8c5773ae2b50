"""A number has 64 bits at most, wherever it is; texts and pictures that look like a longer one are none."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from postroom.core.errors import TheirError
from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.codec import read_payload
from postroom.protocols.status.enums import PayloadType
from postroom.protocols.status.membership import read_signed_event
from postroom.protocols.status.proto.payloads_pb2 import (
    ApplicationMetadataMessage,
    ChatMessage,
    ImageMessage,
    StatusProtocolMessage,
)
from postroom.protocols.status.reasons import PAYLOAD_INVALID, WRAPPER_INVALID
from postroom.protocols.status.varints import fits_64_bits
from postroom.protocols.status.wrapper import read_wrapper, write_wrapper

NINE = b"\x80" * 9
LONGEST = NINE + b"\x01"
TOO_LONG = NINE + b"\x02"
LIKE_ONE = NINE + b"a"


def is_fit(data: bytes) -> bool:
    return fits_64_bits(data, ChatMessage.FromString(data))


def within(field: int, data: bytes) -> bytes:
    return bytes([field << 3 | 2, len(data)]) + data


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        (b"\x08", b""),
        (b"\x38", b"\x08\x01"),
        (b"\x1a\x01a\xb8\x3e", b""),
        (b"\xb9\x3e" + bytes(8) + b"\xbd\x3e" + bytes(4) + b"\x08", b""),
        (b"\xbb\x3e\x08", b"\xbc\x3e"),
        (b"\xbb\x3e\xbb\x3e\xbc\x3e\x08", b"\xbc\x3e"),
        (b"\xbb\x3e\xbc\x3e\x52\x0b\x10", b""),
        (b"\x52\x0b\x10", b""),
        (b"\x7a\x0b\x08", b""),
        (b"\x1a\x90\x4e" + b"a" * 10_000 + b"\x08", b""),
    ],
    ids=[
        "a number", "an enum", "an unknown number", "behind fixed lengths", "in a group", "behind a group in a group",
        "in a message behind a group", "in a message", "in a message of later versions", "in a long message",
    ],
)  # fmt: skip
def test_a_number_of_more_bits_is_found(before: bytes, behind: bytes) -> None:
    assert is_fit(before + LONGEST + behind)
    assert not is_fit(before + TOO_LONG + behind)


@pytest.mark.parametrize("data", [within(10, within(1, LIKE_ONE)), within(14, LIKE_ONE), b"\xc2\x3e\x0a" + LIKE_ONE])
def test_bytes_are_no_number(data: bytes) -> None:
    assert is_fit(data)


def test_an_unknown_message_in_a_group_is_no_message_of_ours() -> None:
    assert is_fit(b"\xbb\x3e\x52\x0b\x10" + TOO_LONG + b"\xbc\x3e")


@given(st.text(min_size=1), st.integers(1, 2**64 - 1), st.binary(max_size=20_000))
def test_what_is_written_fits(text: str, clock: int, picture: bytes) -> None:
    assert is_fit(ChatMessage(clock=clock, text=text, image=ImageMessage(payload=picture)).SerializeToString())


def test_a_payload_an_event_and_a_wrapper_with_one_are_refused() -> None:
    with pytest.raises(TheirError) as payload:
        read_payload(PayloadType.CHAT_MESSAGE, b"\x08" + TOO_LONG)
    data, key = b"\x08" + TOO_LONG, AuthorKey.from_secret(b"\1" * 32)
    with pytest.raises(TheirError) as event:
        read_signed_event("group", key.sign(b"group" + data) + data)
    with pytest.raises(TheirError) as wrapper:
        read_wrapper(write_wrapper(b"a", b"", 1) + b"\x20" + TOO_LONG)
    assert [refused.value.reason for refused in (payload, event, wrapper)] == [
        PAYLOAD_INVALID, PAYLOAD_INVALID, WRAPPER_INVALID,
    ]  # fmt: skip


PARTS = st.sampled_from(
    [
        within(2, b"a"), within(2, LIKE_ONE), within(1, b""), within(1, b"s" * 65), b"\x92\xfa\x01\x01a",
        b"\x8a\xfa\x01\x41" + b"s" * 65, b"\x18\x01", b"\x20\x01",
        *(number + each for number in (b"\x18", b"\x20", b"\xb8\x3e") for each in (LONGEST, TOO_LONG)),
    ]
)  # fmt: skip
"""Payloads, signatures, types and unknown numbers of both wrappers."""


@given(st.lists(PARTS, max_size=6).map(b"".join))
@example(within(2, b"a") + b"\x18" + TOO_LONG)
@example(within(2, b"") + within(2, b"a") + b"\x18" + TOO_LONG)
def test_a_wrapper_is_read_unless_a_number_in_it_has_more_bits(data: bytes) -> None:
    typed = ApplicationMetadataMessage.FromString(data)
    wrapper = typed if typed.payload else StatusProtocolMessage.FromString(data)
    if not wrapper.payload:
        return
    try:
        read = read_wrapper(data)
    except TheirError:
        assert not fits_64_bits(data, wrapper)
    else:
        assert fits_64_bits(data, wrapper)
        assert read.payload == wrapper.payload
