"""How a wrapper travels in an NLWeb message: Subject Payload@Status, Body {"Status": base64, "Type"?, "Names"?}."""

from base64 import b64encode
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.client.chat.carried_wrapper import MAX_NAMES, CarriedWrapper
from postroom.client.chat.nlweb_carrier import address_of, domain_at, read_body, receiver_named, write_body
from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue
from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.enums import PayloadType
from postroom.protocols.status.keys import ChatKey

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3),
    max_leaves=5,
)
KEYS = st.sampled_from([AuthorKey.from_secret(bytes(31) + bytes([at])).public for at in range(1, 6)])
DOMAINS = st.sampled_from(["nlweb:shop.example", "nlweb:xn--bcher-kva.example"])


def reason_of(body: Any) -> str:
    with pytest.raises(TheirError) as refused:
        read_body(body)
    return f"{refused.value.reason}: {refused.value.detail}"


@given(st.binary(), st.none() | st.sampled_from(PayloadType), st.dictionaries(KEYS, DOMAINS))
def test_what_is_written_is_read_again(wrapper: bytes, type_: PayloadType | None, names: dict[ChatKey, str]) -> None:
    carried = CarriedWrapper(wrapper, type_, names)
    assert read_body(write_body(carried)) == carried


def test_the_body_is_as_the_text_has_it() -> None:
    assert write_body(CarriedWrapper(b"\x01\x02", None)) == {"Status": "AQI="}
    older = write_body(CarriedWrapper(b"\x01\x02", PayloadType.CHAT_MESSAGE_IDENTITY))
    assert older == {"Status": "AQI=", "Type": "CHAT_MESSAGE_IDENTITY"}


def read_or_reason(body: Any) -> CarriedWrapper | str:
    try:
        return read_body(body)
    except TheirError as refused:
        return str(refused.reason)


MEMBERS = dict.fromkeys(("Type", "Names", "Channel", "Text"), JSON)


@given(JSON | st.fixed_dictionaries({"Status": JSON | st.just("AAAA")}, optional=MEMBERS))
def test_any_body_is_read_as_it_would_be_written_or_refused(body: Any) -> None:
    found = read_or_reason(body)
    if isinstance(found, CarriedWrapper):
        others = {"Names": None, "Channel": None}
        assert {**body, **others} == {**write_body(found), **others}
        assert read_body(write_body(found)) == found
    else:
        assert found in ("WrapperInvalid", "PayloadTypeUnknown")


@given(st.text() | st.text("ABab01+/=", max_size=9))
def test_a_wrapper_has_one_text(text: str) -> None:
    found = read_or_reason({"Status": text})
    if isinstance(found, CarriedWrapper):
        assert b64encode(found.wrapper).decode() == text
    else:
        assert found == "WrapperInvalid"


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (None, "the Body has no string Status"),
        ([], "the Body has no string Status"),
        ("AAAA", "the Body has no string Status"),
        ({}, "the Body has no string Status"),
        ({"status": "AAAA"}, "the Body has no string Status"),
        ({"Status": None}, "the Body has no string Status"),
        ({"Status": ["AAAA"]}, "the Body has no string Status"),
        ({"Status": "AAA"}, "Status in the Body is not base64"),
        ({"Status": "AAB="}, "Status in the Body is not base64"),
        ({"Status": "AA AA"}, "Status in the Body is not base64"),
        ({"Status": "__--"}, "Status in the Body is not base64"),
        ({"Status": "AAAA", "Text": "hi"}, "the Body has other members than Status, Type, Names, Channel: 1"),
        ({"Status": "AAAA", "type": "CHAT_MESSAGE"}, "the Body has other members than Status, Type, Names, Channel: 1"),
    ],
)
def test_a_body_that_carries_no_wrapper_says_why(body: Any, detail: str) -> None:
    assert reason_of(body) == f"WrapperInvalid: {detail}"


@pytest.mark.parametrize("type_", [None, 1, "", "chat_message", "UNKNOWN", ["CHAT_MESSAGE"], {}])
def test_a_type_that_is_none_of_payloads_is_refused(type_: Any) -> None:
    assert reason_of({"Status": "AAAA", "Type": type_}) == "PayloadTypeUnknown: Type in the Body is no type of payloads"


# --- what is said of members ---------------------------------------------------------------------------------------
KEY, OTHER = (AuthorKey.from_secret(bytes(31) + bytes([at])).public for at in (1, 2))


def test_domains_of_members_are_beside_the_wrapper() -> None:
    body = write_body(CarriedWrapper(b"\x01\x02", None, {KEY: "nlweb:shop.example"}))
    assert body == {"Status": "AQI=", "Names": {KEY: "nlweb:shop.example"}}


@pytest.mark.parametrize(
    "names",
    [
        None, [], "nlweb:shop.example", 1, {"0x04": "nlweb:shop.example"}, {"": "nlweb:shop.example"}, {KEY: None},
        {KEY: ["nlweb:shop.example"]}, {KEY: "shop.example"}, {KEY: "alice.eth"}, {KEY: "nlweb:"}, {KEY: "nlweb:a_b"},
        {KEY: "nlweb:10.0.0.1"}, {KEY: f"nlweb:{UUID(int=1)}"}, {KEY: "nlweb:nlweb:shop.example"},
    ],
)  # fmt: skip
def test_what_is_malformed_in_it_is_left_out(names: Any) -> None:
    assert read_body({"Status": "AAAA", "Names": names}) == CarriedWrapper(bytes(3), None)
    if isinstance(names, dict):
        more = {**names, OTHER: "nlweb:Bank.example"}
        assert read_body({"Status": "AAAA", "Names": more}).names == {OTHER: "nlweb:bank.example"}


def test_so_many_domains_are_read_and_no_more() -> None:
    keys = [AuthorKey.from_secret(at.to_bytes(32, "big")).public for at in range(1, MAX_NAMES + 2)]
    names: dict[str, JsonValue] = dict.fromkeys(keys, "nlweb:shop.example")
    assert [*read_body({"Status": "AAAA", "Names": names}).names] == keys[:-1]
    assert MAX_NAMES == 100


# --- names --------------------------------------------------------------------------------------------------------
def test_a_domain_is_named_with_a_prefix_that_no_dm3_name_has() -> None:
    assert address_of("shop.example") == "nlweb:shop.example"
    assert domain_at("nlweb:shop.example") == domain_at("nlweb:Shop.Example.") == "shop.example"
    assert domain_at("nlweb:bücher.example") == "xn--bcher-kva.example"
    assert domain_at("shop.example") is None


def test_a_receiver_has_one_form() -> None:
    assert receiver_named("Alice.eth") == "alice.eth"
    assert receiver_named("nlweb:Shop.Example") == "nlweb:shop.example"


@pytest.mark.parametrize("name", ["nlweb:", "nlweb:localhost", "nlweb:10.0.0.1", "nlweb:nlweb:shop.example", "a:b.eth"])
def test_what_is_neither_a_name_nor_a_domain_is_no_receiver(name: str) -> None:
    with pytest.raises(TheirError):
        receiver_named(name)
