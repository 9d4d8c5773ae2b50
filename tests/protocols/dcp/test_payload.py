"""Payloads that are sent: the order of members, and validity that is only ever completed."""

import json

from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.dcp.known import KEYS

from postroom.protocols.dcp.authorization import does_authorize
from postroom.protocols.dcp.messages import Allowance, read_request
from postroom.protocols.dcp.payload import NewRequest, new_payload, request_body, with_validity

RESOURCE, GUARDIAN, ACCESSOR = KEYS["ones"], KEYS["twos"].address, KEYS["twos"].address
ALLOW = Allowance(RESOURCE.address, GUARDIAN, ACCESSOR)


def test_members_are_in_the_order_of_the_reference() -> None:
    payload = with_validity(new_payload("add", [1, 2]), time=7, ttl=15.5, stamp="s")
    assert json.dumps(payload) == (
        '{"operation": "add", "allow": [], "validity": {"time": 7, "stamp": "s", "ttl": 15.5}, "data": [1, 2]}'
    )


def test_without_data_and_ttl_neither_is_written() -> None:
    payload = with_validity(new_payload("keepalive"), time=7, ttl=None, stamp="s")
    assert payload == {"operation": "keepalive", "allow": [], "validity": {"time": 7, "stamp": "s"}}


@given(known=st.dictionaries(st.sampled_from(["time", "ttl", "stamp", "more"]), st.integers() | st.text() | st.none()))
def test_what_validity_has_is_never_written_over(known: dict[str, int | str | None]) -> None:
    validity = with_validity(new_payload("add", validity=known), time=7, ttl=9, stamp="s")["validity"]
    assert validity == {"time": 7, "stamp": "s", "ttl": 9, **known}
    assert isinstance(validity, dict)
    assert list(validity)[: len(known)] == list(known)


def test_keys_sign_the_payload_as_it_is_sent_once_for_each_resource() -> None:
    payload = with_validity(new_payload("add", allow=[ALLOW]), time=7, ttl=9, stamp="s")
    body = request_body(NewRequest(payload, (RESOURCE, RESOURCE)), payload, "1", hex_prefix=False)
    assert list(body) == ["type", "id", "payload", "auth"]
    assert does_authorize(read_request(body), ALLOW)


def test_an_authorization_of_somebody_else_is_sent_as_it_is() -> None:
    payload = with_validity(new_payload("add", allow=[ALLOW]), time=7, ttl=9, stamp="s")
    auth = request_body(NewRequest(payload, (RESOURCE,)), payload, "1", hex_prefix=True)["auth"]
    assert isinstance(auth, dict)
    presented = request_body(NewRequest(payload, auth=auth), payload, "2", hex_prefix=False)
    assert presented["auth"] == auth
    assert does_authorize(read_request(presented), ALLOW)


def test_without_a_key_there_is_no_auth() -> None:
    assert "auth" not in request_body(NewRequest({}), {}, "1", hex_prefix=False)
