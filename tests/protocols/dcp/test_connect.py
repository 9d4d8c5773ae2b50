"""The operation connect, and errors in responses."""

from typing import Any

import pytest
from tests.protocols.dcp.known import KEYS, MESSAGES
from tests.protocols.dcp.test_messages import body_of

from postroom.core.errors import TheirError
from postroom.core.reason import Reason
from postroom.protocols.dcp.connect import ACCEPTED, is_accepted, is_session_id, read_connect, session_id
from postroom.protocols.dcp.error_payload import ErrorCode, ErrorPayload, error_of, read_error
from postroom.protocols.dcp.messages import Payload, Request, read_body
from postroom.protocols.dcp.reasons import (
    DCP_BODY_INVALID,
    DCP_EXPIRED,
    DCP_SIGNATURE_INVALID,
    DCP_TIME_TRAVEL,
    DCP_VALIDITY_INVALID,
    DCP_VERSION_UNSUPPORTED,
)

TARGET = KEYS["twos"].address
HALF = "x" * 21


def payload_of(data: Any) -> Payload:
    return Payload("connect", data, None, (), {})


@pytest.mark.parametrize("version", ["4.0.0", "4.0.1", "4.12.0"])
def test_later_versions_of_4_are_accepted(version: str) -> None:
    assert is_accepted(version)


@pytest.mark.parametrize(
    "version",
    ["4", "4.0", "4.0.0.0", "v4.0.0", "4.0.0-rc", "4.00.0", "4.0.0\n", " 4.0.0", "3.9.9", "5.0.0", "٤.0.0", "", None, 4,
     ["4.0.0"], {}],
)  # fmt: skip
def test_other_versions_are_refused_with_those_that_are_accepted(version: Any) -> None:
    with pytest.raises(TheirError) as caught:
        read_connect(payload_of({"version": version, "sid": HALF}))
    assert caught.value.reason is DCP_VERSION_UNSUPPORTED
    error = error_of(caught.value, TARGET)
    assert error.as_json() == body_of("seed_connect_eversion")["payload"] | {"message": ACCEPTED}


@pytest.mark.parametrize("data", [None, [], "4.0.0", {}])
def test_a_connect_without_data_has_no_version(data: Any) -> None:
    with pytest.raises(TheirError, match="DcpVersionUnsupported"):
        read_connect(payload_of(data))


def test_the_initiators_half_is_read() -> None:
    request = read_body(body_of("seed_connect_request"))
    assert isinstance(request, Request)
    assert read_connect(request.payload) == "INITIATOR_STRING//0001"


@pytest.mark.parametrize(
    "half", [None, 7, "", "x" * 20, "x" * 257, "x" * 1_000_000, "x" * 21 + "\n", "é" * 21, "x y" * 9]
)
def test_a_half_is_21_to_256_url_safe_characters(half: Any) -> None:
    with pytest.raises(TheirError) as caught:
        read_connect(payload_of({"version": "4.0.0", "sid": half}))
    assert caught.value.reason is DCP_BODY_INVALID


def test_a_session_begins_with_the_initiators_half_and_is_never_split() -> None:
    assert is_session_id(session_id("a-" * 11, "-b" * 11), "a-" * 11)
    for dcpsid in ("a-" * 11, "b-" * 11 + "-" + HALF, "a-" * 11 + "-" + "x" * 20, ""):
        assert not is_session_id(dcpsid, "a-" * 11)


# --- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["seed_connect_eversion", "seed_error_response"])
def test_errors_of_the_reference_are_read_and_written(name: str) -> None:
    payload = body_of(name)["payload"]
    error = read_error(payload)
    assert error.as_json() == payload
    assert error.is_protocol == (payload.get("type") == "protocol")
    assert MESSAGES[name]["verifies"]


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        (DCP_BODY_INVALID, ErrorCode.EINVAL), (DCP_VALIDITY_INVALID, ErrorCode.EINVAL),
        (DCP_EXPIRED, ErrorCode.EEXPIRED), (DCP_TIME_TRAVEL, ErrorCode.ETIMETRAVEL),
    ],
)  # fmt: skip
def test_refusals_of_the_protocol_have_its_codes(reason: Reason, code: ErrorCode) -> None:
    error = error_of(TheirError(reason, "detail"), TARGET)
    assert error == ErrorPayload("Error", f"{reason.sentence} (detail)", code, TARGET, is_protocol=True)


def test_other_refusals_have_our_reason_and_are_no_error_of_the_protocol() -> None:
    error = error_of(TheirError(DCP_SIGNATURE_INVALID, "detail"), TARGET)
    assert (error.code, error.is_protocol) == ("DcpSignatureInvalid", False)
    assert "type" not in error.as_json()


def test_a_stack_is_not_kept_and_other_members_of_errors_are() -> None:
    sent = {
        "name": "E",
        "message": "m",
        "stack": "at …",
        "fileName": "f",
        "lineNumber": 7,
        "columnNumber": True,
        "x": 1,
    }
    assert read_error(sent).as_json() == {"name": "E", "message": "m", "fileName": "f", "lineNumber": 7}


@pytest.mark.parametrize("payload", [None, [], "text", 7, {}, {"name": 1, "message": None, "code": []}])
def test_whatever_stands_in_a_response_without_success_is_an_error(payload: Any) -> None:
    assert read_error(payload) == ErrorPayload("Error", "")
