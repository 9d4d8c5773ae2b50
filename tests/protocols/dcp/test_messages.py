"""The grammar of DCP's messages."""

import json
from typing import Any

import pytest
from tests.protocols.dcp.known import AUTH, KEYS, MESSAGES

from postroom.core.errors import TheirError
from postroom.protocols.dcp.authorization import authorize, does_authorize
from postroom.protocols.dcp.messages import (
    MAX_ALLOWANCES,
    Allowance,
    MalformedRequest,
    Request,
    RequestBatch,
    Response,
    ResponseBatch,
    read_body,
    read_request,
)
from postroom.protocols.dcp.reasons import DCP_BODY_INVALID

A, B, C = (KEYS[name].address for name in ("ones", "twos", "threes"))
ENTRY = {"resource": A, "guardian": B, "accessor": C}


def body_of(name: str) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(MESSAGES[name]["body_text"])
    return body


def refusal(body: Any) -> str:
    with pytest.raises(TheirError) as caught:
        read_body(body)
    assert caught.value.reason is DCP_BODY_INVALID
    return caught.value.detail


def test_a_request_of_the_reference_is_read() -> None:
    body = body_of("seed_request")
    request = read_body(body)
    assert isinstance(request, Request)
    assert (request.id, request.payload.operation, request.payload.data) == ("r1", "add", [1, 2, 3, 4, 5])
    assert (request.dcpsid, request.nonce, request.auth) == (body["dcpsid"], body["nonce"], {})
    assert (request.members, request.payload.members) == (body, body["payload"])


def test_a_response_of_the_reference_is_read() -> None:
    response = read_body(body_of("seed_response"))
    assert isinstance(response, Response)
    assert (response.id, response.time, response.success, response.payload, response.nonce) == (
        "r1", 1578683051, True, 15, "n2"
    )  # fmt: skip


def test_batches_of_the_reference_are_read() -> None:
    requests, responses = read_body(body_of("seed_request_batch")), read_body(body_of("seed_response_batch"))
    assert isinstance(requests, RequestBatch)
    assert isinstance(responses, ResponseBatch)
    assert [each.id for each in requests.requests] == ["r2", "r3"]
    assert [(each.id, each.nonce) for each in responses.responses] == [("b1", None), ("r2", None), ("r3", None)]
    assert responses.nonce == "n6"


def test_unknown_members_are_kept_in_received_order() -> None:
    body = {"later": 1, **body_of("seed_request"), "x": None}
    body["payload"] = {"later": [], **body["payload"]}
    request = read_body(body)
    assert isinstance(request, Request)
    assert list(request.members) == list(body)
    assert list(request.payload.members) == list(body["payload"])


@pytest.mark.parametrize("name", ["seed_response", "seed_connect_eversion"])
def test_a_response_may_have_no_session_and_no_new_nonce(name: str) -> None:
    response = read_body({**body_of(name), "dcpsid": None, "nonce": None})
    assert isinstance(response, Response)
    assert (response.dcpsid, response.nonce) == (None, None)


@pytest.mark.parametrize(
    ("name", "member", "value", "sentence"),
    [
        ("seed_request", "type", "Request", "type is none of"),
        ("seed_request", "type", None, "type is none of"),
        ("seed_request", "type", ["request"], "type is none of"),
        ("seed_request", "id", "", "id is missing"),
        ("seed_request", "id", 7, "id is not a string"),
        ("seed_request", "dcpsid", 7, "dcpsid is not a string"),
        ("seed_request", "nonce", 7, "nonce is not a string"),
        ("seed_request", "payload", [], "payload is missing or not an object"),
        ("seed_request", "payload", {}, "payload.operation is missing"),
        ("seed_request", "payload", {"operation": None}, "payload.operation is missing"),
        ("seed_request", "payload", {"operation": "x", "allow": None}, "payload.allow is not a list"),
        ("seed_request", "payload", {"operation": "x", "allow": {}}, "payload.allow is not a list"),
        ("seed_request", "payload", {"operation": "x", "allow": [None]}, r"payload.allow\[0\] is not an object"),
        ("seed_request", "payload", {"operation": "x", "allow": [ENTRY, {}]}, r"allow\[1\].resource is missing"),
        (
            "seed_request",
            "payload",
            {"operation": "x", "allow": [{**ENTRY, "guardian": 1}]},
            "guardian is not a string",
        ),
        ("seed_request", "payload", {"operation": "x", "allow": [{**ENTRY, "accessor": "0xc0ffee"}]}, "40 hex digits"),
        ("seed_request", "payload", {"operation": "x", "allow": [{**ENTRY, "accessor": C.swapcase()}]}, "mistyped"),
        ("seed_request", "payload", {"operation": "x", "allow": [ENTRY] * (MAX_ALLOWANCES + 1)}, "at most 256"),
        ("seed_request", "auth", None, "auth is not an object"),
        ("seed_request", "auth", [], "auth is not an object"),
        ("seed_request", "auth", {"x": 1}, "a name in auth"),
        ("seed_request", "auth", {A: 1, f"0x{A.lower()}": 2}, "two names in auth are the same address"),
        ("seed_response", "time", None, "time is missing"),
        ("seed_response", "time", "1578683050", "not a number"),
        ("seed_response", "time", True, "not a number"),
        ("seed_response", "success", "true", "success is missing or not a boolean"),
        ("seed_response", "success", None, "success is missing or not a boolean"),
        ("seed_request_batch", "payload", [], "one or more"),
        ("seed_request_batch", "payload", {}, "one or more"),
        ("seed_response_batch", "payload", [{"type": "request"}], "a member of the batch is not a response"),
    ],
)
def test_malformed_members_are_refused_with_their_name(name: str, member: str, value: Any, sentence: str) -> None:
    detail = refusal({**body_of(name), member: value})
    with pytest.raises(AssertionError, match=sentence):
        raise AssertionError(detail)


def test_members_of_a_batch_have_its_dcpsid_or_none() -> None:
    body = body_of("seed_request_batch")
    body["payload"][1]["dcpsid"] = body["dcpsid"]
    assert isinstance(read_body(body), RequestBatch)
    body["payload"][1]["dcpsid"] = "another"
    read = read_body(body)
    assert isinstance(read, RequestBatch)
    assert [isinstance(each, MalformedRequest) for each in read.requests] == [
        index == 1 for index in range(len(read.requests))
    ]
    body = body_of("seed_response_batch")
    body["payload"][0]["dcpsid"] = "another"
    assert "another dcpsid" in refusal(body)


# --- authorization ---------------------------------------------------------------------------------------------------


def presented(case: dict[str, Any]) -> Request:
    request = read_body(json.loads(case["wire"])["body"])
    assert isinstance(request, Request)
    return request


@pytest.mark.parametrize("case", AUTH, ids=lambda case: case["name"])
def test_authorized_requests_of_the_reference_authorize(case: dict[str, Any]) -> None:
    request = presented(case)
    [allowance] = request.payload.allow
    assert f"0x{allowance.resource}" == case["resource"]
    assert does_authorize(request, allowance)


@pytest.mark.parametrize("case", AUTH, ids=lambda case: case["name"])
def test_payloads_are_signed_as_by_the_reference(case: dict[str, Any]) -> None:
    payload = json.loads(case["payload_text"])
    auth = authorize(payload, [KEYS["threes"], KEYS["threes"]], hex_prefix=case["name"] == "with 0x")
    assert auth == json.loads(case["wire"])["body"]["auth"]


def authorized(allow: list[Allowance], *keys: str, **payload: Any) -> Request:
    members = {"operation": "x", "allow": [each.as_json() for each in allow], **payload}
    return read_request({"id": "1", "payload": members, "auth": authorize(members, [KEYS[key] for key in keys])})


OURS = Allowance(A, B, C)


def test_all_three_addresses_stand_in_one_entry() -> None:
    assert does_authorize(authorized([OURS], "ones"), OURS)
    mixed = authorized([Allowance(A, B, B), Allowance(A, A, C), Allowance(C, B, C)], "ones", "threes")
    assert not does_authorize(mixed, OURS)
    for other in (Allowance(B, B, C), Allowance(A, C, C), Allowance(A, B, A)):
        assert not does_authorize(authorized([OURS], "ones", "twos"), other)


def test_the_signature_is_the_resources() -> None:
    assert not does_authorize(authorized([OURS], "twos"), OURS)
    assert not does_authorize(authorized([OURS]), OURS)
    assert does_authorize(authorized([OURS]), OURS, verify=False)


def test_several_resources_have_one_signature_each_and_a_forged_one_changes_no_other() -> None:
    other = Allowance(B, B, C)
    request = authorized([OURS, other], "ones", "twos")
    assert does_authorize(request, OURS)
    assert does_authorize(request, other)
    forged = read_request({**request.members, "auth": {A: request.auth[A], B: request.auth[A]}})
    assert does_authorize(forged, OURS)
    assert not does_authorize(forged, other)


@pytest.mark.parametrize("signature", [None, True, "", "0x", [], {}, {"r": 1}])
def test_what_is_no_signature_authorizes_nothing(signature: Any) -> None:
    request = authorized([OURS], "ones")
    assert not does_authorize(read_request({**request.members, "auth": {A: signature}}), OURS)


def test_a_payload_in_another_order_or_with_another_member_is_not_authorized() -> None:
    request = authorized([OURS], "ones", data={"limit": 1})
    payload = dict(request.payload.members)
    for other in (dict(reversed(payload.items())), {**payload, "data": {"limit": 2}}, {**payload, "more": 1}):
        assert not does_authorize(read_request({**request.members, "payload": other}), OURS)
