"""Authorizations: what a resource's signature allows, and nothing else (DCP: Request Authentication Algorithm)."""

from itertools import product
from typing import Any, Final

from hypothesis import assume, given
from hypothesis import strategies as st

from postroom.core.canonical import json_stringify
from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum import Address
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp.authorization import authorize, does_authorize
from postroom.protocols.dcp.messages import Allowance, Request, read_request

KEYS: Final = {key.address: key for key in (EthereumKey.from_secret(bytes([number] * 32)) for number in range(1, 7))}
ADDRESSES: Final = st.sampled_from(list(KEYS))
ALLOWANCES: Final = st.builds(Allowance, ADDRESSES, ADDRESSES, ADDRESSES)
VALUES: Final[st.SearchStrategy[JsonValue]] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
VALIDITIES: Final = st.fixed_dictionaries({"time": st.integers(0, 2**32), "stamp": st.text(min_size=1, max_size=5)})


def payload_of(operation: str, data: JsonValue, validity: JsonValue, allow: list[Allowance]) -> dict[str, JsonValue]:
    written = [each.as_json() for each in allow]
    return {"operation": operation, "data": data, "validity": validity, "allow": written}


PAYLOADS: Final = st.builds(
    payload_of, st.text(min_size=1, max_size=5), VALUES, VALIDITIES, st.lists(ALLOWANCES, min_size=1, max_size=3)
)


def request_of(payload: dict[str, JsonValue], auth: dict[str, JsonValue]) -> Request:
    return read_request({"type": "request", "id": "r1", "payload": payload, "auth": auth})


def allowances(payload: dict[str, JsonValue]) -> tuple[Allowance, ...]:
    return request_of(payload, {}).payload.allow


@given(payload=PAYLOADS, hex_prefix=st.booleans())
def test_what_every_resource_signed_is_authorized(payload: dict[str, JsonValue], hex_prefix: bool) -> None:
    allowed = allowances(payload)
    signed = request_of(payload, authorize(payload, [KEYS[each.resource] for each in allowed], hex_prefix=hex_prefix))
    assert all(does_authorize(signed, each) for each in allowed)


def test_the_resource_of_a_signature_is_written_with_0x_only_if_that_is_asked_for() -> None:
    [address, key], *_ = KEYS.items()
    assert list(authorize({"operation": "add"}, [key])) == [address]
    assert list(authorize({"operation": "add"}, [key], hex_prefix=True)) == [f"0x{address}"]


@given(payload=PAYLOADS)
def test_the_addresses_of_an_authorization_are_those_of_one_entry(payload: dict[str, JsonValue]) -> None:
    allowed = allowances(payload)
    signed = request_of(payload, authorize(payload, KEYS.values()))
    for resource, guardian, accessor in product(KEYS, KEYS, KEYS):
        asked = Allowance(resource, guardian, accessor)
        assert does_authorize(signed, asked) == (asked in allowed)
        assert does_authorize(signed, asked, verify=False) == (asked in allowed)


@given(payload=PAYLOADS, name=st.sampled_from(["operation", "data", "validity", "allow", "more"]), data=st.data())
def test_a_changed_payload_is_not_authorized(payload: dict[str, Any], name: str, data: st.DataObject) -> None:
    allowed = allowances(payload)
    auth = authorize(payload, KEYS.values())
    others: dict[str, st.SearchStrategy[Any]] = {
        "operation": st.text(min_size=1, max_size=5),
        "allow": st.lists(ALLOWANCES, min_size=1, max_size=3).map(lambda several: [each.as_json() for each in several]),
    }
    changed = {**payload, name: data.draw(others.get(name, VALUES))}
    assume(json_stringify(changed) != json_stringify(payload))
    request = request_of(changed, auth)
    assert not any(does_authorize(request, each) for each in {*allowed, *request.payload.allow})


@given(payload=PAYLOADS, signer=ADDRESSES)
def test_the_signature_of_another_key_authorizes_nothing(payload: dict[str, JsonValue], signer: Address) -> None:
    [signature] = authorize(payload, [KEYS[signer]]).values()
    request = request_of(payload, dict.fromkeys(KEYS, signature))
    for allowed in allowances(payload):
        assert does_authorize(request, allowed) == (allowed.resource == signer)


@given(payload=PAYLOADS)
def test_without_a_signature_nothing_is_authorized(payload: dict[str, JsonValue]) -> None:
    request = request_of(payload, {})
    for allowed in allowances(payload):
        assert does_authorize(request, allowed, verify=False)
        assert not does_authorize(request, allowed)
