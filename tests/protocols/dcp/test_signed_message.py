"""Signed messages: what is signed, which forms of signatures are read, and the messages of the reference."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.dcp.known import KEYS, MESSAGES, ODD_SIGNATURES

from postroom.core.canonical import json_stringify
from postroom.core.errors import TheirError
from postroom.core.reason import Reason
from postroom.core.reasons import NOT_I_JSON, NOT_JSON, TOO_LARGE
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp.reasons import DCP_BODY_INVALID, DCP_MESSAGE_INVALID, DCP_SIGNATURE_INVALID
from postroom.protocols.dcp.signature import read_signature, write_signature
from postroom.protocols.dcp.signed_message import read_signed_message, sign_body

KEY = KEYS["ones"]
BODY: dict[str, Any] = {"type": "request", "id": "1", "n": [0.1, 1, -2], "é": "☀"}
DATA = sign_body(BODY, KEY)


def refusal(data: bytes) -> Reason:
    with pytest.raises(TheirError) as caught:
        read_signed_message(data, max_bytes=100_000)
    return caught.value.reason


def changed(**members: Any) -> bytes:
    return json.dumps({**json.loads(DATA), **members}).encode()


@pytest.mark.parametrize("case", MESSAGES.values(), ids=MESSAGES)
def test_messages_of_the_reference_are_read_and_written_byte_for_byte(case: dict[str, Any]) -> None:
    message = read_signed_message(case["wire"].encode())
    assert (message.owner, message.body) == (KEYS[case["key"]].address, json.loads(case["body_text"]))
    assert sign_body(message.body, KEYS[case["key"]], hex_prefix=True).decode() == case["wire"]


@pytest.mark.parametrize("case", ODD_SIGNATURES["cases"], ids=lambda case: case["name"])
def test_forms_of_signatures_are_read_as_by_the_reference_but_for_the_higher_s(case: dict[str, Any]) -> None:
    data = f'{{"owner":"{ODD_SIGNATURES["owner"]}","signature":{json.dumps(case["signature"])},"body":{{"a":1}}}}'
    if case["reference_result"] is True and case["name"] != "high_s":
        assert read_signed_message(data.encode()).body == {"a": 1}
    else:
        assert refusal(data.encode()) in (DCP_MESSAGE_INVALID, DCP_SIGNATURE_INVALID)


@pytest.mark.parametrize("v", [0, 1, 26, 29, 27.0, "27", True, None, [27]])
def test_v_is_27_or_28(v: Any) -> None:
    assert refusal(changed(signature={**json.loads(DATA)["signature"], "v": v})) is DCP_MESSAGE_INVALID


@pytest.mark.parametrize(
    "data", [[], [1] * 31, [1] * 33, [256] * 32, [-1] * 32, [True] * 32, ["7"] * 32, [1.0] * 32, {}, "1", 1]
)
@pytest.mark.parametrize("half", ["r", "s"])
def test_r_and_s_are_32_bytes_each(half: str, data: Any) -> None:
    signature = json.loads(DATA)["signature"]
    assert refusal(changed(signature={**signature, half: {"type": "Buffer", "data": data}})) is DCP_MESSAGE_INVALID


@pytest.mark.parametrize("kind", ["buffer", "", None, 7, ["Buffer"]])
@pytest.mark.parametrize("half", ["r", "s"])
def test_r_and_s_are_buffers(half: str, kind: Any) -> None:
    signature = json.loads(DATA)["signature"]
    of_another_kind = {**signature[half], "type": kind}
    assert refusal(changed(signature={**signature, half: of_another_kind})) is DCP_MESSAGE_INVALID
    without = {"data": signature[half]["data"]}
    assert refusal(changed(signature={**signature, half: without})) is DCP_MESSAGE_INVALID


@pytest.mark.parametrize("signature", [None, "", "x", "\ud800", "{}", "[" * 5000, '"' * 9, 7, [], {}])
def test_what_is_no_signature_is_refused(signature: Any) -> None:
    assert refusal(changed(signature=signature)) is DCP_MESSAGE_INVALID


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", NOT_JSON), (b"{", NOT_JSON), (b"null", DCP_MESSAGE_INVALID), (b"[]", DCP_MESSAGE_INVALID),
        (b'{"a":1,"a":2}', NOT_I_JSON), (DATA.replace(b"0.1", b"1e400"), NOT_I_JSON), (b" " * 100_001, TOO_LARGE),
        (changed(body=None), DCP_MESSAGE_INVALID), (changed(body=[]), DCP_MESSAGE_INVALID),
        (changed(owner=None), DCP_MESSAGE_INVALID), (changed(owner="0x12"), DCP_MESSAGE_INVALID),
        (changed(owner=f"0X{KEY.address}"), DCP_MESSAGE_INVALID),
        (changed(owner=KEY.address.swapcase()), DCP_MESSAGE_INVALID),
        (changed(owner=KEYS["twos"].address), DCP_SIGNATURE_INVALID),
        (changed(body={**BODY, "id": "2"}), DCP_SIGNATURE_INVALID),
        (changed(body=dict(reversed(BODY.items()))), DCP_SIGNATURE_INVALID),
    ],
)  # fmt: skip
def test_what_is_no_signed_message_of_its_owner_is_refused(data: bytes, reason: Reason) -> None:
    assert refusal(data) is reason


@pytest.mark.parametrize(
    "owner", [KEY.address.lower(), KEY.address.upper(), f"0x{KEY.address}", f"0x{KEY.address.lower()}"]
)
def test_the_owner_is_normalized(owner: str) -> None:
    assert read_signed_message(changed(owner=owner)).owner == KEY.address


def test_numbers_and_white_space_of_another_writer_are_those_that_were_signed() -> None:
    text = DATA.decode().replace("0.1", "1.0e-1").replace("[", "[ ").replace("-2", "-2.0")
    assert read_signed_message(text.encode()).body["n"] == [0.1, 1, -2.0]


def test_array_indices_come_first_in_what_is_signed() -> None:
    data = sign_body({"b": 1, "10": 2, "9": 3}, KEY)
    assert b'{"9":3,"10":2,"b":1}' in data
    assert read_signed_message(data.replace(b'{"9":3,"10":2,"b":1}', b'{"b":1,"9":3,"10":2}')).owner == KEY.address


def test_halves_of_surrogate_pairs_are_signed_and_verified() -> None:
    data = sign_body({"text": "\ud83d"}, KEY)
    assert rb'"\ud83d"' in data
    assert read_signed_message(data).body == {"text": "\ud83d"}


@pytest.mark.parametrize("value", [float("nan"), 2**53 + 1, {1: 2}, object()])
def test_what_javascript_would_write_as_something_else_is_not_signed(value: Any) -> None:
    with pytest.raises(TheirError) as caught:
        sign_body({"value": value}, KEY)
    assert caught.value.reason is DCP_BODY_INVALID


NAMES = st.text(st.characters(), max_size=9)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(st.characters())
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(body=st.dictionaries(NAMES, VALUES, max_size=5))
def test_every_body_is_verified_as_it_was_signed(body: dict[str, Any]) -> None:
    data = sign_body(body, KEY)
    message = read_signed_message(data)
    assert message.owner == KEY.address
    assert sign_body(message.body, KEY) == data


PAYLOADS = st.dictionaries(NAMES, VALUES, max_size=3) | st.builds(
    lambda members, allow: {**members, "allow": allow}, st.dictionaries(NAMES, VALUES, max_size=3), VALUES
)
REQUESTS = st.builds(lambda members, payload: {**members, "payload": payload}, st.dictionaries(NAMES, VALUES), PAYLOADS)


@given(requests=st.lists(REQUESTS | VALUES, max_size=4), is_batch=st.booleans(), members=st.dictionaries(NAMES, VALUES))
def test_the_text_of_each_payload_with_resources_is_part_of_what_is_signed(
    requests: list[Any], is_batch: bool, members: dict[str, Any]
) -> None:
    if is_batch:
        body = {**members, "type": "request-batch", "payload": requests}
    else:
        body = requests[0] if requests and isinstance(requests[0], dict) else members
        body, requests = {**body, "type": "request"}, [{**body, "type": "request"}]
    message = read_signed_message(sign_body(body, KEY))
    payloads = [each.get("payload") if isinstance(each, dict) else None for each in requests]
    assert message.payload_texts == tuple(
        json_stringify(each) if isinstance(each, dict) and each.get("allow") else b"" for each in payloads
    )
    assert message.body == body


def test_a_batch_that_is_too_long_has_no_texts_of_payloads() -> None:
    body = {"type": "request-batch", "payload": 3 * [{"payload": {"allow": [1]}}]}
    data = sign_body(body, KEY)
    assert read_signed_message(data, max_messages=3).payload_texts == (b'{"allow":[1]}',) * 3
    assert read_signed_message(data, max_messages=2).payload_texts == ()


@given(bit=st.integers(0, 8 * len(DATA) - 1))
def test_one_other_bit_is_refused(bit: int) -> None:
    data = bytearray(DATA)
    data[bit // 8] ^= 1 << bit % 8
    try:
        message = read_signed_message(bytes(data))
    except TheirError:
        return
    # A letter of the owner in the other case that is a valid form, or an index of no weight: the same message.
    assert (message.owner, message.body) == (KEY.address, BODY)


@given(signature=st.binary(min_size=64, max_size=64), recovery=st.integers(0, 1))
def test_signatures_are_read_as_they_are_written(signature: bytes, recovery: int) -> None:
    whole = signature + bytes([recovery])
    written = write_signature(whole)
    assert read_signature(written) == read_signature(json.dumps(written)) == whole


def test_a_signature_as_text_has_at_most_4096_bytes() -> None:
    text = json.dumps(json.loads(DATA)["signature"])
    assert refusal(changed(signature=text.ljust(4097))) is DCP_MESSAGE_INVALID
    assert read_signed_message(changed(signature=text.ljust(4096))).owner == KEY.address


def test_a_key_never_stands_in_an_error() -> None:
    key = EthereumKey.generate()
    with pytest.raises(TheirError) as caught:
        sign_body({"value": object()}, key)
    assert key.secret.hex() not in str(caught.value)
