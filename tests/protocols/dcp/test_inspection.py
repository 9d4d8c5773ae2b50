"""Every check of a captured message or of a cheque, and that each can fail."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.protocols.dcp.guarded import JACK, LIMITS, NOW, OWNER, US, WES, Bank, Peer
from tests.protocols.dcp.known import AUTH, MESSAGES, ODD_SIGNATURES
from tests.tiers import examples

from postroom.core.explanation import Check, Explanation
from postroom.core.reason import Reason
from postroom.core.reasons import NOT_I_JSON, NOT_JSON, TOO_LARGE
from postroom.crypto import ethereum
from postroom.crypto.ethereum import keccak_256
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp.authorization import authorize
from postroom.protocols.dcp.cheques import write_cheque
from postroom.protocols.dcp.inspection import inspect
from postroom.protocols.dcp.messages import Allowance
from postroom.protocols.dcp.payload import new_payload
from postroom.protocols.dcp.reasons import (
    DCP_BODY_INVALID,
    DCP_EXPIRED,
    DCP_MESSAGE_INVALID,
    DCP_NOT_AUTHORIZED,
    DCP_SIGNATURE_INVALID,
    DCP_TIME_TRAVEL,
    DCP_VALIDITY_INVALID,
    DCP_VERSION_UNSUPPORTED,
)
from postroom.protocols.dcp.receiving import ReceiveLimits

SEED_TIME = 1578683060
"""The messages of the reference are of the seconds before."""
YEAR_10000 = 253_402_300_800
OF_MESSAGE = ["json", "message", "owner", "signature form", "signature", "body", "session", "nonce"]
OF_REQUEST = ["operation", "order", "validity", "time"]
CHEQUE = write_cheque(
    new_payload(
        "messages",
        {"mailbox": "bob.example"},
        allow=[Allowance(OWNER.address, US.address, WES.address)],
        validity={"time": int(NOW), "ttl": 600, "stamp": "s1"},
    ),
    OWNER,
)


def looked_at(value: object, now: float = NOW, limits: ReceiveLimits = LIMITS) -> Explanation:
    """The checks of bytes, or of a value as JSON."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return inspect(data, now=now, limits=limits)


def names(explanation: Explanation) -> list[str]:
    return [check.name for check in explanation.checks]


def check(explanation: Explanation, name: str) -> Check:
    (found,) = (each for each in explanation.checks if each.name == name)
    return found


def failed(explanation: Explanation) -> dict[str, Reason | None]:
    return {each.name: each.reason for each in explanation.checks if not each.ok}


def signed(**changes: Any) -> bytes:
    """A request of OWNER in a session of his, with everything right that the changes leave."""
    peer = Peer.connected(Bank())
    return peer.signed(peer.request(**changes))


def changed(data: bytes, **members: Any) -> Mapping[str, Any]:
    return {**json.loads(data), **members}


# --- signed messages -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", MESSAGES.values(), ids=MESSAGES)
def test_nothing_is_wrong_with_messages_of_the_reference(case: dict[str, Any]) -> None:
    explanation = looked_at(case["wire"].encode(), SEED_TIME)
    assert failed(explanation) == {}
    assert names(explanation)[: len(OF_MESSAGE)] == OF_MESSAGE
    assert check(explanation, "signature").saw == f"signed by {json.loads(case['wire'])['owner']}"


@pytest.mark.parametrize("case", AUTH, ids=lambda case: case["name"])
def test_an_authorized_request_says_who_may_do_what_where(case: dict[str, Any]) -> None:
    explanation = looked_at(case["wire"].encode(), SEED_TIME)
    assert names(explanation) == [*OF_MESSAGE, *OF_REQUEST, "allow[0]"]
    accessor, guardian, resource = (
        f"0x{case[each].removeprefix('0x')}" for each in ("accessor", "guardian", "resource")
    )
    assert check(explanation, "allow[0]").saw == (
        f"{accessor} (the sender) may request transfer of {resource} at {guardian}: signed by {resource}"
    )
    assert check(explanation, "order").saw == ", ".join(json.loads(case["payload_text"]))
    assert explanation.verdict == "accepted"


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"{", NOT_JSON), (b'{"a":1,"a":2}', NOT_I_JSON), (b" " * 2000, TOO_LARGE)],
    ids=["cut off", "one name twice", "too long"],
)
def test_what_is_not_json_is_not_looked_at_further(data: bytes, reason: Reason) -> None:
    assert failed(looked_at(data, limits=ReceiveLimits(max_bytes=1000))) == {"json": reason}


@pytest.mark.parametrize("value", [1, [], {}, {"owner": 1}, {"owner": "a", "signature": {}, "body": []}], ids=str)
def test_what_is_no_signed_message_is_not_looked_at_further(value: object) -> None:
    assert failed(looked_at(value)) == {"message": DCP_MESSAGE_INVALID}


def test_a_mistyped_owner_is_found() -> None:
    mistyped = OWNER.address.swapcase()
    explanation = looked_at(changed(signed(), owner=mistyped))
    assert failed(explanation) == {"owner": DCP_MESSAGE_INVALID}
    assert "mistyped?" in check(explanation, "owner").saw


@pytest.mark.parametrize("case", ODD_SIGNATURES["cases"], ids=lambda case: case["name"])
def test_the_form_of_a_signature_is_told(case: dict[str, Any]) -> None:
    message = {"owner": ODD_SIGNATURES["owner"], "signature": case["signature"], "body": {"a": 1}}
    explanation = looked_at(message)
    form = check(explanation, "signature form")
    if form.ok:
        kind = "a text of JSON" if case["name"] == "json_string" else "an object"
        assert form.saw.startswith(f"{kind}, the {'higher' if case['name'] == 'high_s' else 'lower'} s, v 2")
        good = case["name"] in ("normal", "json_string")
        assert failed(explanation).get("signature") == (None if good else DCP_SIGNATURE_INVALID)
    else:
        assert failed(explanation)["signature form"] is DCP_MESSAGE_INVALID
        assert "signature" not in names(explanation)


def test_the_higher_s_is_named() -> None:
    (case,) = (case for case in ODD_SIGNATURES["cases"] if case["name"] == "high_s")
    explanation = looked_at({"owner": ODD_SIGNATURES["owner"], "signature": case["signature"], "body": {"a": 1}})
    assert check(explanation, "signature").saw == "signed by nobody: the higher s is refused"


def test_a_message_that_somebody_else_signed_names_no_owner_of_the_signature_as_its_sender() -> None:
    explanation = looked_at(changed(signed(), owner=WES.address))
    assert failed(explanation) == {"signature": DCP_SIGNATURE_INVALID}
    assert check(explanation, "signature").saw == f"signed by 0x{OWNER.address}"


def test_a_malformed_body_is_found_and_its_members_are_not_looked_at() -> None:
    explanation = looked_at(signed(payload={"operation": 1}))
    assert failed(explanation) == {"body": DCP_BODY_INVALID}
    assert names(explanation) == OF_MESSAGE[:6]


# --- sessions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("initiators", "targets", "told"),
    [
        ("a" * 21, "b" * 21, f"{'a' * 21} of the initiator, {'b' * 21} of the target"),
        ("a" * 21 + "-", "b" * 21, f"{'a' * 21}--{'b' * 21}; only its ends know where the halves meet"),
        (
            "a" * 256,
            "b" * 256,
            f"{'a' * 120}… (256 characters) of the initiator, {'b' * 120}… (256 characters) of the target",
        ),
        ("a", "b", "a-b; only its ends know where the halves meet"),
        ("a" * 300, "b" * 300, f"{'a' * 120}… (601 characters)"),
    ],
    ids=["one place", "two places", "longest", "too short", "too long"],
)
def test_the_halves_of_a_session_are_told_if_they_can_be_told_apart(initiators: str, targets: str, told: str) -> None:
    explanation = looked_at(signed(dcpsid=f"{initiators}-{targets}"))
    assert check(explanation, "session").saw == told


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({}, None),
        ({"version": "5.0.0"}, DCP_VERSION_UNSUPPORTED),
        ({"sid": "x" * 20}, DCP_BODY_INVALID),
    ],
    ids=str,
)
def test_a_connect_opens_a_session(data: dict[str, str], reason: Reason | None) -> None:
    peer = Peer(Bank(), OWNER)
    explanation = looked_at(peer.signed(peer.connect(**data)))
    assert failed(explanation) == ({"session": reason} if reason else {})
    assert names(explanation) == [*OF_MESSAGE, "operation", "order"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("seed_connect_request", "of the target's first request"),
        ("seed_request", "the last one that the receiver gave"),
        ("seed_request_batch", "the last one that the receiver gave"),
        ("seed_response", "of the receiver's next message, or none"),
        ("seed_response_batch", "of the receiver's next message, or none"),
    ],
)
def test_whose_nonce_a_message_has_is_told(name: str, expected: str) -> None:
    assert check(looked_at(MESSAGES[name]["wire"].encode()), "nonce").expected == expected


def test_nothing_but_connect_is_without_a_session() -> None:
    assert failed(looked_at(signed(dcpsid=None))) == {"session": DCP_BODY_INVALID}


def test_a_connect_is_alone_in_its_batch() -> None:
    peer = Peer(Bank(), OWNER)
    batch = peer.batch(peer.connect(), peer.request(dcpsid=None), dcpsid=None)
    assert failed(looked_at(peer.signed(batch))) == {"session": DCP_BODY_INVALID}


# --- requests and responses ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("validity", "reason"),
    [({"time": "1700000000"}, DCP_VALIDITY_INVALID), ({"stamp": ""}, DCP_VALIDITY_INVALID)],
    ids=str,
)
def test_a_validity_of_another_form_has_no_times(validity: dict[str, Any], reason: Reason) -> None:
    explanation = looked_at(signed(validity=validity))
    assert failed(explanation) == {"validity": reason}
    assert "time" not in names(explanation)


@pytest.mark.parametrize(
    ("now", "reason"),
    [(-10, None), (-11, DCP_TIME_TRAVEL), (70, None), (71, DCP_EXPIRED)],
    ids=["first second", "too early", "last second", "too late"],
)
def test_a_request_counts_from_its_time_until_its_ttl_is_over(now: int, reason: Reason | None) -> None:
    explanation = looked_at(signed(), int(NOW) + now)
    assert failed(explanation) == ({"time": reason} if reason else {})
    assert check(explanation, "time").expected == (
        "from 2023-11-14T22:13:10.000Z to 2023-11-14T22:14:30.000Z: its ttl of 60 s, and clocks that differ by 10 s"
    )


@pytest.mark.parametrize(
    ("validity", "told"),
    [
        ({"ttl": 15.5}, "its ttl of 15.5 s"),
        ({"ttl": 2_592_000}, "3600 s instead of its ttl of 2592000 s"),
        ({"ttl": 1}, "15 s instead of its ttl of 1 s"),
        ({"time": 1e308}, "from 1e+308 s to 1e+308 s: its ttl of 60 s"),
        ({"time": -1}, "from -11 s to 1970-01-01T00:01:09.000Z: its ttl of 60 s"),
        ({"time": YEAR_10000 - 80}, "from 9999-12-31T23:58:30.000Z to 9999-12-31T23:59:50.000Z: its ttl of 60 s"),
        ({"time": YEAR_10000 - 70}, f"from 9999-12-31T23:58:40.000Z to {YEAR_10000} s: its ttl of 60 s"),
    ],
    ids=str,
)
def test_the_ttl_that_this_receiver_grants_is_told(validity: dict[str, Any], told: str) -> None:
    assert told in check(looked_at(signed(validity=validity)), "time").expected


def test_without_a_ttl_the_receivers_default_is_told() -> None:
    peer = Peer.connected(Bank())
    request = peer.request()
    del request["payload"]["validity"]["ttl"]
    assert "the default ttl of 120 s" in check(looked_at(peer.signed(request)), "time").expected


def test_the_order_is_that_of_what_is_signed_with_array_indices_first() -> None:
    payload = {"b": 1, "operation": "add", "10": 1, "9": 1, "validity": {"time": NOW, "stamp": "s"}}
    explanation = looked_at(signed(payload=payload))
    assert check(explanation, "order").saw == "9, 10, b, operation, validity"


def test_each_request_of_a_batch_is_looked_at() -> None:
    peer = Peer.connected(Bank())
    batch = peer.batch(peer.request(), peer.request(validity={"stamp": 1}), peer.request(keys=(WES,)))
    explanation = looked_at(peer.signed(batch))
    assert failed(explanation) == {"[1] validity": DCP_VALIDITY_INVALID}
    of_two = [f"[1] {name}" for name in OF_REQUEST[:3]]
    of_three = [f"[2] {name}" for name in [*OF_REQUEST, "allow[0]"]]
    assert names(explanation) == [*OF_MESSAGE, "batch", *(f"[0] {name}" for name in OF_REQUEST), *of_two, *of_three]


def test_of_a_batch_that_is_too_large_as_many_are_looked_at_as_are_accepted() -> None:
    peer = Peer.connected(Bank())
    explanation = looked_at(
        peer.signed(peer.batch(*(peer.request() for _ in range(3)))), limits=ReceiveLimits(max_messages=2)
    )
    assert failed(explanation) == {"batch": DCP_BODY_INVALID}
    assert names(explanation)[-1] == "[1] time"


@pytest.mark.parametrize("name", ["seed_error_response", "seed_response", "seed_response_batch"])
def test_a_response_tells_what_it_answers(name: str) -> None:
    told = [each.saw for each in looked_at(MESSAGES[name]["wire"].encode()).checks if "response" in each.name]
    assert (
        told
        == {
            "seed_error_response": ["to r1 at 2020-01-10T19:04:11.000Z: error ERANGE: too big"],
            "seed_response": ["to r1 at 2020-01-10T19:04:11.000Z: success 15"],
            "seed_response_batch": [
                "to b1 at 2020-01-10T19:04:14.000Z: success",
                "to r2 at 2020-01-10T19:04:14.000Z: success 1",
                "to r3 at 2020-01-10T19:04:14.000Z: success 2",
            ],
        }[name]
    )


# --- authorizations and cheques --------------------------------------------------------------------------------------


def test_a_cheque_says_who_may_do_what_where() -> None:
    explanation = looked_at(CHEQUE)
    assert names(explanation) == ["json", "cheque", *OF_REQUEST, "allow[0]"]
    assert (explanation.verdict, check(explanation, "operation").saw) == (
        "accepted",
        'messages {"mailbox": "bob.example"}',
    )
    assert check(explanation, "allow[0]").saw == (
        f"0x{WES.address} may request messages of 0x{OWNER.address} at 0x{US.address}: signed by 0x{OWNER.address}"
    )


@pytest.mark.parametrize(
    "change",
    [{"operation": "sign_out"}, {"data": {"mailbox": "eve.example"}}, {"validity": {"time": NOW, "stamp": "s2"}}],
    ids=str,
)
def test_a_cheque_that_was_changed_is_not_signed_by_its_resource(change: dict[str, Any]) -> None:
    payload = CHEQUE["payload"]
    assert isinstance(payload, dict)
    assert failed(looked_at({**CHEQUE, "payload": {**payload, **change}})) == {"allow[0]": DCP_NOT_AUTHORIZED}


@pytest.mark.parametrize(
    ("auth", "told"),
    [
        ({}, "auth has none of it"),
        ({OWNER.address: "junk"}, '"junk"'),
        ({OWNER.address: write_cheque({"operation": "messages"}, WES)["auth"]}, '{"'),
        ({WES.address: 1}, "auth has none of it"),
    ],
    ids=["none", "another form", "another form again", "of another resource"],
)
def test_an_authorization_that_is_missing_or_malformed_is_told(auth: dict[str, Any], told: str) -> None:
    explanation = looked_at({**CHEQUE, "auth": auth})
    assert failed(explanation) == {"allow[0]": DCP_NOT_AUTHORIZED}
    assert f": {told}" in check(explanation, "allow[0]").saw


def test_a_payload_that_another_key_signed_names_that() -> None:
    payload, forged = CHEQUE["payload"], CHEQUE["auth"]
    assert isinstance(payload, dict)
    assert isinstance(forged, dict)
    (signature,) = write_cheque(payload, JACK)["auth"].values()  # type: ignore[union-attr]
    explanation = looked_at({**CHEQUE, "auth": {OWNER.address: signature}})
    assert failed(explanation) == {"allow[0]": DCP_NOT_AUTHORIZED}
    assert check(explanation, "allow[0]").saw.endswith(f"signed by 0x{JACK.address}")


def test_a_request_that_the_carrier_of_a_cheque_sends_is_for_another_than_its_sender() -> None:
    peer = Peer.connected(Bank(), JACK)
    explanation = looked_at(peer.signed(peer.request(payload=CHEQUE["payload"], auth=CHEQUE["auth"])))
    assert failed(explanation) == {}
    assert check(explanation, "allow[0]").saw.startswith(f"0x{WES.address} (not the sender) may request messages of")


@pytest.mark.parametrize(
    "value",
    [{"payload": 1}, {"payload": {}}, {**CHEQUE, "auth": []}, {"payload": {"operation": "a", "allow": [1]}}],
    ids=["no object", "no operation", "auth is a list", "malformed entry"],
)
def test_what_is_no_cheque_is_not_looked_at_further(value: object) -> None:
    assert failed(looked_at(value)) == {"cheque": DCP_BODY_INVALID}


def test_a_cheque_without_entries_authorizes_nothing() -> None:
    payload = new_payload("messages", validity={"time": int(NOW), "stamp": "s"})
    assert failed(looked_at(write_cheque(payload, OWNER))) == {"allow": DCP_NOT_AUTHORIZED}


def test_a_payload_is_hashed_once_for_all_its_resources(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger chooses how many there are, and how long the payload is."""
    hashed: list[int] = []

    def counted(data: bytes) -> bytes:
        hashed.append(len(data))
        return keccak_256(data)

    monkeypatch.setattr(ethereum, "keccak_256", counted)
    keys = [EthereumKey.from_secret(bytes([number]) * 32) for number in range(1, 9)]
    allow = [Allowance(key.address, US.address, WES.address) for key in keys]
    payload = new_payload("pay", "a" * 10_000, allow=allow, validity={"time": int(NOW), "stamp": "s"})
    cheque = {"payload": payload, "auth": authorize(payload, keys)}
    hashed.clear()
    explanation = looked_at(cheque)
    assert sum(name.startswith("allow[") for name in names(explanation)) == len(keys)
    assert explanation.verdict != "refused"
    assert sum(length > 10_000 for length in hashed) == 1


def test_texts_of_strangers_are_shortened_and_control_no_terminal() -> None:
    explanation = looked_at(signed(operation="\x1b[2J\ud800" + "x" * 500))
    assert check(explanation, "operation").saw == f"\\x1b[2J\\ud800{'x' * 115}… (505 characters)"
    json.dumps(explanation.as_json(), ensure_ascii=False).encode()


# --- whatever is captured --------------------------------------------------------------------------------------------

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**21), 10**21) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
CAPTURED = [json.loads(case["wire"]) for case in [*MESSAGES.values(), *AUTH]] + [CHEQUE]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value within a value."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(each for name, member in members for each in places(member, (*path, name)))]


def replaced(value: Any, path: tuple[Any, ...], other: Any) -> Any:
    if not path:
        return other
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[path[0]] = replaced(copied[path[0]], path[1:], other)
    return copied


@settings(max_examples=examples(400))
@given(data=st.data(), captured=st.sampled_from(CAPTURED), other=VALUES)
def test_whatever_is_captured_is_looked_at_to_the_end(data: st.DataObject, captured: Any, other: Any) -> None:
    changed_one = replaced(captured, data.draw(st.sampled_from(places(captured))), other)
    explanation = looked_at(changed_one, SEED_TIME)
    json.dumps(explanation.as_json(), ensure_ascii=False).encode()
    assert explanation.checks


@settings(max_examples=examples(200))
@given(
    time=st.integers(int(NOW) - 200, int(NOW) + 20),
    ttl=st.sampled_from([None, 1, 15, 60.5, 5000, "60"]),
    keys=st.sampled_from([(), (OWNER,), (WES, JACK)]),
    operation=st.sampled_from(["add", ""]),
)
def test_a_request_has_a_failed_check_if_and_only_if_the_guardian_refuses_it(
    time: int, ttl: Any, keys: tuple[EthereumKey, ...], operation: str
) -> None:
    bank = Bank()
    peer = Peer.connected(bank)
    request = peer.request(operation, keys=keys, validity={"time": time, "ttl": ttl})
    if ttl is None:
        del request["payload"]["validity"]["ttl"]
        request["auth"] = authorize(request["payload"], keys)
    data = peer.signed(request)
    refused = not bank.answer(data)["success"]
    assert (looked_at(data).verdict == "refused") == refused
