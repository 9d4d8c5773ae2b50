"""A guardian: the order of its checks, and every attack on its sessions and on authorized requests."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.protocols.dcp.guarded import JACK, LIMITS, NOW, OWNER, US, WES, Bank, Json, Peer, at_once, code, says

from postroom.core.canonical import json_stringify
from postroom.core.errors import TheirError
from postroom.core.ijson import MAX_DEPTH
from postroom.core.reason import Reason
from postroom.core.reasons import NOT_I_JSON, NOT_JSON, TOO_LARGE
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp import messages
from postroom.protocols.dcp.error_payload import ErrorPayload
from postroom.protocols.dcp.guardian import FailedOperation
from postroom.protocols.dcp.memory_store import MemoryStore
from postroom.protocols.dcp.messages import Allowance
from postroom.protocols.dcp.payload import NewRequest, new_payload, request_body
from postroom.protocols.dcp.reasons import (
    DCP_BODY_INVALID,
    DCP_DUPLICATE,
    DCP_EXPIRED,
    DCP_ID_MISSING,
    DCP_ID_REUSED,
    DCP_MESSAGE_INVALID,
    DCP_NONCE_INVALID,
    DCP_OPERATION_UNKNOWN,
    DCP_RESPONSE_INVALID,
    DCP_RESPONSE_UNEXPECTED,
    DCP_SESSION_FOREIGN,
    DCP_SESSION_OVER,
    DCP_SIGNATURE_INVALID,
    DCP_STORE_FULL,
    DCP_TARGET_STARTING,
    DCP_TIME_TRAVEL,
    DCP_VALIDITY_INVALID,
)
from postroom.protocols.dcp.session_names import CONNECT_SECONDS
from postroom.protocols.dcp.signature import write_signature
from postroom.protocols.dcp.signed_message import read_signed_message
from postroom.protocols.dcp.validity import TtlLimits


@pytest.fixture
def bank() -> Bank:
    return Bank()


@pytest.fixture
def owner(bank: Bank) -> Peer:
    return Peer.connected(bank)


def refused(answer: Json, reason: Reason) -> bool:
    """Whether an answer is the refusal with this reason."""
    return not answer["success"] and answer["payload"]["message"].startswith(reason.sentence)


def unanswered(bank: Bank, data: bytes) -> Reason:
    with pytest.raises(TheirError) as caught:
        bank.answer(data)
    return caught.value.reason


def cheque(
    by: EthereumKey = OWNER, to: EthereumKey = WES, guardian: EthereumKey = US, *others: EthereumKey, **validity: Any
) -> Json:
    """A payload and its authorization, written by an owner for somebody else."""
    allow = [Allowance(by.address, guardian.address, bearer.address) for bearer in (to, *others)]
    known = {"time": int(NOW), "stamp": "cheque 7", "ttl": 60, **validity}
    payload = new_payload("withdraw", 1_000_000, allow=allow, validity=known)
    body = request_body(NewRequest(payload, (by,)), payload, "unused", hex_prefix=False)
    return {"payload": body["payload"], "auth": body["auth"]}


# --- sessions --------------------------------------------------------------------------------------------------------


def test_a_session_is_opened_used_and_closed(bank: Bank, owner: Peer) -> None:
    assert owner.send(owner.request("add", [1, 2]))["payload"] == {"resources": []}
    assert owner.send(owner.request("keepalive")).items() >= {"success": True, "dcpsid": owner.dcpsid}.items()
    assert code(owner.send(owner.request("close"))) == ""
    assert refused(owner.send(owner.request("add")), DCP_SESSION_OVER)
    assert bank.done == [("add", [1, 2])]


def test_the_answer_is_signed_by_the_guardian_for_the_request(bank: Bank, owner: Peer) -> None:
    request = owner.request("add", 1)
    answer = read_signed_message(
        bank.guardian.answer(owner.signed(request), NOW, at_once(lambda admitted: admitted.data)).data
    )
    assert answer.owner == US.address
    assert list(answer.body) == ["type", "id", "time", "success", "payload", "dcpsid", "nonce"]
    assert answer.body["id"] == request["id"]
    assert answer.body["time"] == int(NOW)


def test_without_a_result_there_is_no_payload(bank: Bank, owner: Peer) -> None:
    bank.perform_with = lambda _: None
    assert "payload" not in owner.send(owner.request())


def test_a_batch_is_acknowledged_and_answered_in_order(bank: Bank, owner: Peer) -> None:
    requests = [owner.request("add", number) for number in range(3)]
    batch = owner.batch(*requests)
    answer = owner.send(batch)
    assert answer["type"] == "response-batch"
    assert [each["id"] for each in answer["payload"]] == [batch["id"], *(each["id"] for each in requests)]
    assert all(each["success"] and each["dcpsid"] == owner.dcpsid for each in answer["payload"])
    assert all("nonce" not in each for each in answer["payload"])
    assert [data for _, data in bank.done] == [0, 1, 2]
    assert code(owner.send(owner.request())) == ""


def test_a_connect_in_a_batch_is_answered_by_a_batch(bank: Bank) -> None:
    peer = Peer(bank, OWNER)
    answer = bank.answer(peer.signed({"type": "request-batch", "id": "b", "payload": [peer.connect()], "nonce": "n"}))
    assert [each["id"] for each in answer["payload"]] == ["b", "c"]
    peer.dcpsid, peer.nonce = answer["payload"][1]["dcpsid"], answer["nonce"]
    assert answer["dcpsid"] == peer.dcpsid
    assert code(peer.send(peer.request())) == ""


def test_a_flood_of_connects_writes_nothing(bank: Bank) -> None:
    for number in range(50):
        Peer.connected(bank, half=f"{number:021}")
    assert isinstance(bank.store, MemoryStore)
    assert len(bank.store) == 0


@pytest.mark.parametrize("version", ["4", "4.0.0.0", "4.0.0-rc", "4.0.0\n", "5.0.0", ["4.0.0"], None])
def test_other_versions_are_told_what_is_accepted(bank: Bank, version: Any) -> None:
    peer = Peer(bank, OWNER)
    answer = bank.answer(peer.signed(peer.connect(version=version)))
    assert (code(answer), says(answer), answer["nonce"]) == ("EVERSION", "^4.0.0", None)
    assert answer["payload"]["type"] == "protocol"


@pytest.mark.parametrize("sid", [None, "x" * 20, "x" * 1_000_000, "x" * 21 + "\n", 7])
def test_a_connect_without_a_good_half_is_refused(bank: Bank, sid: Any) -> None:
    peer = Peer(bank, OWNER)
    assert refused(bank.answer(peer.signed(peer.connect(sid=sid))), DCP_BODY_INVALID)


def test_connect_is_alone_in_its_batch(bank: Bank) -> None:
    peer = Peer(bank, OWNER)
    batch = {"type": "request-batch", "id": "b", "payload": [peer.connect(), peer.connect()], "nonce": "n"}
    assert refused(bank.answer(peer.signed(batch)), DCP_BODY_INVALID)


def test_a_session_is_connected_once(owner: Peer) -> None:
    request = owner.request("connect", {"version": "4.0.0", "sid": "x" * 21})
    assert refused(owner.send(request), DCP_OPERATION_UNKNOWN)


def test_without_a_session_only_connect_is_received(bank: Bank, owner: Peer) -> None:
    request = owner.request()
    del request["dcpsid"]
    assert refused(owner.send(request), DCP_BODY_INVALID)
    assert bank.done == []


def test_an_unused_session_is_over_after_its_connect(bank: Bank, owner: Peer) -> None:
    assert refused(owner.send(owner.request(), now=NOW + CONNECT_SECONDS + 0.5), DCP_SESSION_OVER)
    late = Peer.connected(bank, half="y" * 21)
    late.now = int(NOW) + CONNECT_SECONDS
    assert code(late.send(late.request())) == ""


def test_a_session_ends_when_it_was_not_used(owner: Peer) -> None:
    owner.send(owner.request())
    owner.now += LIMITS.session_seconds
    assert code(owner.send(owner.request())) == ""
    owner.now += LIMITS.session_seconds + 0.5
    assert refused(owner.send(owner.request()), DCP_SESSION_OVER)


def test_a_session_is_remembered_for_as_long_as_its_first_nonce_can_be_used(bank: Bank) -> None:
    """Also where sessions are kept for less: otherwise that nonce would open it once more."""
    peer = Peer.connected(bank.restarted(limits=replace(LIMITS, session_seconds=1)))
    first = peer.nonce
    peer.send(peer.request("add", 1))
    peer.now += CONNECT_SECONDS - 10
    assert refused(peer.send(peer.request("add", 2, nonce=first)), DCP_NONCE_INVALID)


def test_a_close_ends_a_batch(bank: Bank, owner: Peer) -> None:
    batch = owner.batch(owner.request("add", 1), owner.request("close"), owner.request("add", 2))
    answer = owner.send(batch)
    assert [each["success"] for each in answer["payload"]] == [True, True, True, False]
    assert answer["payload"][3]["payload"]["code"] == "EINVAL"
    assert bank.done == [("add", 1)]


def test_a_refused_close_closes_nothing(bank: Bank, owner: Peer) -> None:
    batch = owner.batch(owner.request("close", validity={"time": "now"}), owner.request("add", 2))
    assert [each["success"] for each in owner.send(batch)["payload"]] == [True, False, True]
    assert bank.done == [("add", 2)]


def test_sessions_of_earlier_identities_go_on(bank: Bank, owner: Peer) -> None:
    owner.send(owner.request())
    rotated = bank.restarted(identities=(WES, US))
    answer = read_signed_message(
        rotated.guardian.answer(
            owner.signed(owner.request("add", 2)), NOW, at_once(lambda admitted: admitted.data)
        ).data
    )
    assert (answer.owner, answer.body["payload"]) == (US.address, 2)
    owner.nonce = str(answer.body["nonce"])
    gone = bank.restarted(identities=(WES,))
    assert refused(owner.send(owner.request(), gone), DCP_SESSION_FOREIGN)


# --- what cannot be answered under a signature -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", NOT_JSON),
        (b"[" * 5000, NOT_I_JSON),
        (b"{}", DCP_MESSAGE_INVALID),
        (b'{"owner":"a","owner":"b"}', NOT_I_JSON),
        (b"x" * 200_000, TOO_LARGE),
    ],
)
def test_what_is_no_signed_message_has_no_signed_answer(bank: Bank, data: bytes, reason: Reason) -> None:
    small = bank.restarted(limits=replace(LIMITS, max_bytes=100_000))
    assert unanswered(small, data) is reason


def frame(body: str, owner: str = OWNER.address, signature: str = "{}") -> str:
    """The text of a message."""
    return f'{{"owner":"{owner}","signature":{signature},"body":{body}}}'


OPENED, CLOSED = "[" * 5000, "]" * 5000
DIGITS = "9" * 1_000_000
BOMBS: dict[str, tuple[str, Reason]] = {
    "lists in lists": (frame(OPENED), NOT_I_JSON),
    "closed lists in lists": (frame(OPENED + CLOSED), NOT_I_JSON),
    "lists in lists beside half of a pair": (frame(OPENED + CLOSED, r"\ud800"), NOT_I_JSON),
    "one level more than is read": (frame("[" * (MAX_DEPTH - 1) + "[]" + "]" * (MAX_DEPTH - 1)), NOT_I_JSON),
    "objects in objects": (frame('{"a":' * 5000 + "1" + "}" * 5000), NOT_I_JSON),
    "lists in lists as the text of a signature": (frame("{}", signature=f'"{OPENED}{CLOSED}"'), DCP_MESSAGE_INVALID),
    "a number without a double": (frame('{"a":1e400}'), NOT_I_JSON),
    "a negative number without a double": (frame('{"a":-1e400}'), NOT_I_JSON),
    "an integer of a million digits": (frame(f'{{"a":{DIGITS}}}'), NOT_I_JSON),
    "an integer of a million digits beside half of a pair": (frame(f'{{"a":{DIGITS}}}', r"\ud800"), NOT_I_JSON),
    "a fraction of a million digits": (frame(f'{{"a":0.{DIGITS}}}'), DCP_MESSAGE_INVALID),
    "a million empty lists": (frame(f"[{'[],' * 1_000_000}[]]"), NOT_I_JSON),
    "more names than are read": (frame(json.dumps(dict.fromkeys(range(100_001), 0))), NOT_I_JSON),
    "a million quotation marks": ('{"owner":"' + '\\"' * 1_000_000, NOT_JSON),
}


@pytest.mark.parametrize(("text", "reason"), BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_refused(bank: Bank, text: str, reason: Reason) -> None:
    """A quick test is stopped after some seconds of work."""
    assert unanswered(bank, text.encode()) is reason


@pytest.mark.parametrize(
    "data",
    [[0.1] * 99_000, [1e22] * 99_000, [5e-324] * 99_000, [[]] * 49_000, ["\ud800"] * 99_000,
     {f"{number}": number for number in range(99_000)}, {f"{number}é": {} for number in range(49_000)}],
    ids=["fractions", "exponents", "least doubles", "empty lists", "halves of pairs", "indices", "names"],
)  # fmt: skip
def test_a_message_with_almost_as_many_values_as_are_read_counts(bank: Bank, owner: Peer, data: Any) -> None:
    """Also where only the slow writer can write what was signed. A quick test is stopped after some seconds of work."""
    message = owner.signed(owner.request("add", data))
    assert code(bank.answer(message)) == ""
    assert bank.done == [("add", data)]


def test_a_changed_body_has_no_signed_answer(bank: Bank, owner: Peer) -> None:
    message = json.loads(owner.signed(owner.request()))
    message["body"]["payload"]["operation"] = "withdraw"
    assert unanswered(bank, json.dumps(message).encode()) is DCP_SIGNATURE_INVALID


@pytest.mark.parametrize("name", [None, "", 7, []])
def test_without_an_id_there_is_no_answer(bank: Bank, owner: Peer, name: Any) -> None:
    assert unanswered(bank, owner.signed(owner.request(id=name))) is DCP_ID_MISSING


@pytest.mark.parametrize("batched", [False, True])
def test_a_response_that_nobody_asked_for_is_refused(bank: Bank, owner: Peer, batched: bool) -> None:
    response: Json = {"type": "response", "id": "1", "time": 1, "success": True, "nonce": None, "dcpsid": owner.dcpsid}
    if batched:
        response = {"type": "response-batch", "id": "1", "payload": [response], "nonce": None, "dcpsid": owner.dcpsid}
    assert unanswered(bank, owner.signed(response)) is DCP_RESPONSE_UNEXPECTED
    assert code(owner.send(owner.request())) == ""


def test_our_own_answer_sent_back_is_nobodys(bank: Bank, owner: Peer) -> None:
    data = bank.guardian.answer(owner.signed(owner.request()), NOW, at_once(lambda _: None)).data
    assert unanswered(bank, data) is DCP_RESPONSE_UNEXPECTED


@pytest.mark.parametrize("change", [{"success": "true"}, {"success": None}, {"time": None}, {"nonce": 7}, {"id": ""}])
def test_a_malformed_response_is_not_answered(bank: Bank, owner: Peer, change: Json) -> None:
    response = {"type": "response", "id": "1", "time": 1, "success": True, "dcpsid": owner.dcpsid, **change}
    assert unanswered(bank, owner.signed(response)) is (DCP_ID_MISSING if "id" in change else DCP_RESPONSE_INVALID)


def test_a_response_in_a_strangers_session_is_not_answered(bank: Bank, owner: Peer) -> None:
    response = {"type": "response", "id": "1", "time": 1, "success": True, "dcpsid": owner.dcpsid, "nonce": None}
    assert unanswered(bank, Peer.connected(bank, JACK).signed(response)) is DCP_RESPONSE_UNEXPECTED


# --- forged, stolen, replayed ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda dcpsid: dcpsid[:-1],
        lambda dcpsid: dcpsid + "A",
        lambda dcpsid: "y" + dcpsid[1:],
        lambda dcpsid: dcpsid[22:] + "-" + dcpsid[:21],
        lambda dcpsid: [dcpsid],
        lambda dcpsid: 7,
        lambda dcpsid: "",
        lambda dcpsid: "\ud800" * 65,
    ],
)
def test_a_forged_or_cut_dcpsid_is_nobodys_session(bank: Bank, owner: Peer, change: Callable[[str], Any]) -> None:
    assert refused(owner.send(owner.request(dcpsid=change(owner.dcpsid))), DCP_SESSION_FOREIGN)
    assert bank.done == []
    assert code(owner.send(owner.request())) == ""


def test_a_stolen_session_is_of_no_use_and_goes_on(bank: Bank, owner: Peer) -> None:
    thief = Peer(bank, JACK, dcpsid=owner.dcpsid, nonce=owner.nonce)
    for operation in ("add", "close"):
        assert refused(thief.send(thief.request(operation)), DCP_SESSION_FOREIGN)
    assert code(owner.send(owner.request())) == ""


def test_a_refusal_has_the_dcpsid_of_a_session_for_its_peer_only(bank: Bank, owner: Peer) -> None:
    """Whoever else got one with a dcpsid could inject it as the answer to a request of that session."""
    thief = Peer(bank, JACK)
    for change in ({"payload": None}, {"nonce": "other"}, {"type": "message"}, {"nonce": 7}):
        request = {**owner.request(), **change}
        assert bank.answer(owner.signed(request))["dcpsid"] == owner.dcpsid
        for dcpsid in (owner.dcpsid, None, "x", 7):
            assert "dcpsid" not in bank.answer(thief.signed({**request, "dcpsid": dcpsid}))
        assert "dcpsid" not in bank.answer(owner.signed({**request, "dcpsid": None}))


def test_the_names_of_another_bank_are_nobodys_here(owner: Peer) -> None:
    assert refused(owner.send(owner.request(), Bank(identities=(WES,))), DCP_SESSION_FOREIGN)


@pytest.mark.parametrize("nonce", [None, "", 7, "other", "n"])
def test_another_nonce_is_refused_and_changes_nothing(bank: Bank, owner: Peer, nonce: Any) -> None:
    owner.send(owner.request("add", 1))
    answer = owner.send(owner.request("add", 2, nonce=nonce))
    assert (code(answer), answer["nonce"]) == ("EINVAL", None)
    assert bank.done == [("add", 1)]
    assert code(owner.send(owner.request())) == ""


def test_the_nonce_of_another_session_is_refused(bank: Bank, owner: Peer) -> None:
    other = Peer.connected(bank, half="y" * 21)
    owner.send(owner.request())
    assert refused(owner.send(owner.request(nonce=other.nonce)), DCP_NONCE_INVALID)


@pytest.mark.parametrize("after", [0, 75, 600, 10_000])
def test_a_replayed_message_counts_once_whenever_it_is_sent(bank: Bank, owner: Peer, after: float) -> None:
    first = owner.request("add", 1)
    owner.send(first)
    second = owner.request("add", 2)
    owner.send(second)
    for store in (bank, bank.restarted()):
        for message in (first, second):
            assert code(store.answer(owner.signed(message), NOW + after)) == "EINVAL"
    assert bank.done == [("add", 1), ("add", 2)]


@pytest.mark.parametrize("keys", [(), (OWNER,)], ids=["authorized by nobody", "by its owner"])
@pytest.mark.parametrize("after", [0, 60, 65, 69.5])
def test_what_was_used_is_refused_by_its_stamp_until_its_ttl_and_the_slop_are_over(
    bank: Bank, owner: Peer, after: float, keys: tuple[EthereumKey, ...]
) -> None:
    """On another session, whose nonces and ids are new: only the stamp can refuse it."""
    used, unused = owner.request("add", 1, keys=keys), owner.request("add", 2, keys=keys)
    assert code(owner.send(used)) == ""
    other = Peer.connected(bank, half="y" * 21, now=NOW + after)
    session = {"dcpsid": other.dcpsid, "id": "another"}
    assert refused(other.send({**used, **session, "nonce": other.nonce}), DCP_DUPLICATE)
    assert code(other.send({**unused, **session, "nonce": other.nonce})) == ""
    assert bank.done == [("add", 1), ("add", 2)]


def test_what_was_used_has_expired_after_its_ttl_and_the_slop(bank: Bank, owner: Peer) -> None:
    used = owner.request("add", 1)
    owner.send(used)
    other = Peer.connected(bank, half="y" * 21, now=NOW + 70)
    assert refused(other.send({**used, "dcpsid": other.dcpsid, "nonce": other.nonce}), DCP_EXPIRED)
    assert bank.done == [("add", 1)]


def test_the_first_message_replayed_after_the_close_opens_nothing(bank: Bank, owner: Peer) -> None:
    first = owner.request("add", 1)
    owner.send(first)
    owner.send(owner.request("close"))
    assert refused(bank.answer(owner.signed(first)), DCP_SESSION_OVER)
    assert bank.done == [("add", 1)]


@pytest.mark.parametrize(
    "change",
    [
        {"payload": None}, {"payload": []}, {"auth": 7}, {"auth": {"": 1}}, {"type": "message"}, {"type": None},
        {"nonce": 7}, {"payload": {"operation": ""}}, {"payload": {"operation": "x", "allow": [None]}},
        {"payload": {"operation": "x", "allow": [{}] * 10_000}},
    ],
)  # fmt: skip
def test_a_malformed_body_is_refused_as_a_whole_and_uses_no_nonce(bank: Bank, owner: Peer, change: Json) -> None:
    answer = owner.send({**owner.request(), **change})
    assert (code(answer), answer["nonce"]) == ("EINVAL", None)
    assert refused(answer, DCP_BODY_INVALID)
    assert code(owner.send(owner.request())) == ""


@pytest.mark.parametrize("members", [[], "text", {}, None])
def test_a_batch_has_messages(owner: Peer, members: Any) -> None:
    assert refused(owner.send(owner.batch() | {"payload": members}), DCP_BODY_INVALID)


def test_a_batch_has_a_limit(bank: Bank, owner: Peer) -> None:
    small = bank.restarted(limits=replace(LIMITS, max_messages=2))
    assert refused(owner.send(owner.batch(*[owner.request()] * 3), small), DCP_BODY_INVALID)
    assert code(owner.send(owner.request())) == ""


def test_the_number_of_messages_is_judged_before_any_of_them_is_read(
    bank: Bank, owner: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "read_request", lambda _: pytest.fail("a member was read"))
    answer = owner.send(owner.batch(*[owner.request()] * (LIMITS.max_messages + 1)))
    assert "at most" in says(answer)


@pytest.mark.parametrize(
    "change",
    [
        {"payload": {"operation": "add", "allow": None}}, {"payload": None}, {"auth": 7}, {"type": "request-batch"},
        {"nonce": 7}, {"dcpsid": "other"},
    ],
)  # fmt: skip
def test_each_message_of_a_batch_is_processed_by_itself_message_receipt(bank: Bank, owner: Peer, change: Json) -> None:
    malformed = {**owner.request("add", 2), "id": "malformed", **change}
    answer = owner.send(owner.batch(owner.request("add", 1), malformed, owner.request("add", 3)))
    by_id = {each["id"]: each for each in answer["payload"]}
    assert refused(by_id["malformed"], DCP_BODY_INVALID)
    assert [each["success"] for each in answer["payload"]] == [True, True, False, True]
    assert bank.done == [("add", 1), ("add", 3)]


@pytest.mark.parametrize("member", [None, 7, [], {}, {"type": "request", "id": ""}, {"type": "request", "id": 7}])
def test_a_member_without_an_id_has_no_response_and_the_others_have(bank: Bank, owner: Peer, member: Any) -> None:
    guardians = bank.guardian.answer(
        owner.signed(owner.batch() | {"payload": [member, owner.request("add", 1)]}), NOW, at_once(bank.record)
    )
    answer = json.loads(guardians.data)["body"]
    assert [each["success"] for each in answer["payload"]] == [True, True]
    assert [each.reason for each in guardians.refusals] == [DCP_BODY_INVALID]
    assert bank.done == [("add", 1)]


def test_no_member_has_the_id_of_its_batch(bank: Bank, owner: Peer) -> None:
    """One response would answer both."""
    answer = owner.send(owner.batch(owner.request(id="b"), id="b"))
    assert refused(answer, DCP_BODY_INVALID)
    assert bank.done == []


# --- validity, ids, stamps -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("validity", "reason"),
    [
        ({"time": "1700000000"}, DCP_VALIDITY_INVALID), ({"time": True}, DCP_VALIDITY_INVALID),
        ({"time": None}, DCP_VALIDITY_INVALID), ({"ttl": "60"}, DCP_VALIDITY_INVALID),
        ({"stamp": ""}, DCP_VALIDITY_INVALID), ({"stamp": 7}, DCP_VALIDITY_INVALID), ({"time": 1e308}, DCP_TIME_TRAVEL),
        ({"time": int(NOW) * 1000}, DCP_TIME_TRAVEL), ({"time": NOW + 10.5}, DCP_TIME_TRAVEL),
        ({"time": NOW - 70.5}, DCP_EXPIRED), ({"time": NOW - 26, "ttl": -5}, DCP_EXPIRED), ({"time": 0}, DCP_EXPIRED),
        ({"time": NOW - 3611, "ttl": 1e308}, DCP_EXPIRED),
    ],
)  # fmt: skip
def test_a_request_that_does_not_count_now_is_refused_and_its_nonce_is_used(
    bank: Bank, owner: Peer, validity: Json, reason: Reason
) -> None:
    answer = owner.send(owner.request(validity=validity))
    assert refused(answer, reason)
    assert answer["nonce"]
    assert bank.done == []
    assert code(owner.send(owner.request())) == ""


@pytest.mark.parametrize(
    "validity",
    [{"time": NOW + 10}, {"time": NOW - 70}, {"time": NOW - 25, "ttl": -5}, {"time": NOW - 3610, "ttl": 1e308}],
)
def test_at_the_ends_a_request_counts(owner: Peer, validity: Json) -> None:
    assert code(owner.send(owner.request(validity=validity))) == ""


def test_without_validity_a_request_is_refused(owner: Peer) -> None:
    request = owner.request()
    del request["payload"]["validity"]
    assert refused(owner.send(request), DCP_VALIDITY_INVALID)


def test_an_id_is_used_once_by_a_peer_connection_request(bank: Bank, owner: Peer) -> None:
    """In all its sessions: "a given entity will never process two messages with the same id"."""
    owner.send(owner.request("add", 1, id="7"))
    assert refused(owner.send(owner.request("add", 2, id="7")), DCP_ID_REUSED)
    again = Peer.connected(bank, half="y" * 21)
    assert refused(again.send(again.request("add", 3, id="7")), DCP_ID_REUSED)
    other = Peer.connected(bank, WES)
    assert code(other.send(other.request("add", 4, id="7"))) == ""


def test_a_batch_may_have_the_id_of_an_earlier_one_for_it_counts_once_by_its_nonce(bank: Bank, owner: Peer) -> None:
    batch = owner.batch(owner.request("add", 1))
    owner.send(batch)
    assert code(owner.bank.answer(owner.signed(batch))) == "EINVAL"
    answer = owner.send(owner.batch(owner.request("add", 2), id=batch["id"]))
    assert [each["success"] for each in answer["payload"]] == [True, True]
    assert bank.done == [("add", 1), ("add", 2)]


@pytest.mark.parametrize("stamp", ["s", "__proto__", "\ud800", "é" * 1000])
def test_a_stamp_is_used_once_in_all_sessions(bank: Bank, owner: Peer, stamp: str) -> None:
    owner.send(owner.request("add", 1, validity={"stamp": stamp}))
    other = Peer.connected(bank, WES)
    answer = other.send(other.request("add", 2, validity={"stamp": stamp}))
    assert (code(answer), bank.done) == ("EDUP", [("add", 1)])
    assert refused(answer, DCP_DUPLICATE)


def test_twice_in_a_batch_counts_once(bank: Bank, owner: Peer) -> None:
    request = owner.request("add", 1)
    answer = owner.send(owner.batch(request, request, {**request, "id": "other"}))
    assert [each["success"] for each in answer["payload"]] == [True, True, False, False]
    assert bank.done == [("add", 1)]


def test_a_target_that_forgot_receives_nothing_until_what_it_forgot_is_over(bank: Bank, owner: Peer) -> None:
    owner.send(owner.request("add", 1))
    restarted = bank.restarted(store=MemoryStore(), limits=replace(LIMITS, not_before=NOW + 140))
    later = Peer.connected(restarted, half="y" * 21)
    answer = later.send(later.request())
    assert (code(answer), later.bank.done) == (str(DCP_TARGET_STARTING), [("add", 1)])
    later.now = NOW + 140
    assert code(later.send(later.request())) == ""


def test_a_malformed_request_is_not_asked_for_again_when_the_target_has_started(bank: Bank) -> None:
    owner = Peer.connected(bank.restarted(limits=replace(LIMITS, not_before=NOW + 140)))
    malformed = {**owner.request(), "auth": 7}
    answer = owner.send(owner.batch(malformed, owner.request()))
    assert [code(each) for each in answer["payload"]] == ["", "EINVAL", str(DCP_TARGET_STARTING)]


def test_a_request_that_a_store_may_have_forgotten_is_not_performed_and_a_later_one_is(bank: Bank) -> None:
    full = bank.restarted(store=MemoryStore(max_rows=1))
    peer = Peer.connected(full)
    assert [code(peer.send(peer.request())) for _ in range(2)] == ["", str(DCP_STORE_FULL)]
    assert len(full.done) == 1
    peer.now += 1
    assert code(peer.send(peer.request())) == ""


def test_a_cheque_that_one_bearer_may_have_presented_is_refused_to_the_other_and_no_other_cheque_is(bank: Bank) -> None:
    small = bank.restarted(store=MemoryStore(max_rows=40))
    wes, jack = Peer.connected(small, WES), Peer.connected(small, JACK)
    assert code(wes.send(wes.request(**cheque(OWNER, WES, US, JACK)))) == ""
    for _ in range(20):
        wes.send(wes.request(keys=(WES,)))
    assert code(jack.send(jack.request(**cheque(OWNER, WES, US, JACK)))) == str(DCP_STORE_FULL)
    assert code(jack.send(jack.request(**cheque(OWNER, JACK, stamp="cheque 8")))) == ""


# --- authorization ---------------------------------------------------------------------------------------------------


def test_an_owner_authorizes_its_own_request(owner: Peer) -> None:
    answer = owner.send(owner.request("withdraw", keys=(OWNER,)))
    assert answer["payload"] == {"resources": [OWNER.address]}


def test_identity_alone_authorizes_nothing(owner: Peer) -> None:
    assert owner.send(owner.request("withdraw"))["payload"] == {"resources": []}


def test_a_cheque_counts_once_for_its_holder(bank: Bank) -> None:
    wes, again = Peer.connected(bank, WES), Peer.connected(bank, WES, half="y" * 21)
    assert wes.send(wes.request(**cheque()))["payload"] == {"resources": [OWNER.address]}
    for peer, where in ((wes, bank), (again, bank), (again, bank.restarted())):
        assert code(peer.send(peer.request(**cheque()), where)) == "EDUP"
    assert bank.done == [("withdraw", 1_000_000)]


def test_who_carries_a_cheque_neither_presents_it_nor_uses_it_up(bank: Bank) -> None:
    jack, wes = Peer.connected(bank, JACK), Peer.connected(bank, WES)
    assert jack.send(jack.request(**cheque()))["payload"] == {"resources": []}
    assert code(jack.send(jack.request("add", validity={"stamp": "cheque 7"}))) == "EDUP"
    assert wes.send(wes.request(**cheque()))["payload"] == {"resources": [OWNER.address]}


def test_who_wrote_a_cheque_does_not_present_it(bank: Bank, owner: Peer) -> None:
    assert owner.send(owner.request(**cheque()))["payload"] == {"resources": []}


def test_a_cheque_thrice_in_a_batch_counts_once(bank: Bank) -> None:
    wes = Peer.connected(bank, WES)
    answer = wes.send(wes.batch(*(wes.request(**cheque()) for _ in range(3))))
    assert [each["success"] for each in answer["payload"]] == [True, True, False, False]


def test_a_forged_cheque_in_a_batch_takes_nothing_from_the_others(bank: Bank) -> None:
    wes = Peer.connected(bank, WES)
    written = [cheque(stamp=f"cheque {number}") for number in range(3)]
    written[1]["auth"] = {OWNER.address: cheque(by=JACK)["auth"][JACK.address]}
    answer = wes.send(wes.batch(*(wes.request(**each) for each in written)))
    resources = [each["payload"]["resources"] for each in answer["payload"][1:]]
    assert resources == [[OWNER.address], [], [OWNER.address]]


def test_two_owners_may_use_one_stamp(bank: Bank) -> None:
    wes = Peer.connected(bank, WES)
    for by in (OWNER, JACK):
        assert wes.send(wes.request(**cheque(by)))["payload"] == {"resources": [by.address]}


@pytest.mark.parametrize(
    "change",
    [
        {"operation": "deposit"}, {"data": 1_000_001}, {"data": None}, {"validity": {"time": int(NOW), "stamp": "8"}},
        {"validity": {"time": int(NOW), "stamp": "cheque 7", "ttl": 61}}, {"more": 1},
    ],
)  # fmt: skip
def test_a_cheque_that_is_changed_authorizes_nothing(bank: Bank, change: Json) -> None:
    written, wes = cheque(), Peer.connected(bank, WES)
    written["payload"] |= change
    assert wes.send(wes.request(**written))["payload"] == {"resources": []}


@pytest.mark.parametrize("name", ["resource", "guardian", "accessor"])
def test_other_addresses_authorize_nothing(bank: Bank, name: str) -> None:
    written, wes = cheque(), Peer.connected(bank, WES)
    written["payload"]["allow"][0][name] = JACK.address
    assert wes.send(wes.request(**written))["payload"] == {"resources": []}


def test_a_cheque_for_another_guardian_authorizes_nothing(bank: Bank) -> None:
    wes = Peer.connected(bank, WES)
    assert wes.send(wes.request(**cheque(guardian=JACK)))["payload"] == {"resources": []}


def test_addresses_of_two_entries_are_never_combined(bank: Bank) -> None:
    wes = Peer.connected(bank, WES)
    allow = [
        Allowance(OWNER.address, JACK.address, WES.address),
        Allowance(JACK.address, US.address, WES.address),
        Allowance(OWNER.address, US.address, JACK.address),
    ]
    payload = new_payload("withdraw", allow=allow, validity={"time": NOW, "stamp": "s"})
    body = request_body(NewRequest(payload, (OWNER,)), payload, "1", hex_prefix=False)
    assert wes.send({**wes.request(), **body})["payload"] == {"resources": []}


def test_an_authorization_of_another_order_of_members_is_none(bank: Bank) -> None:
    written, wes = cheque(), Peer.connected(bank, WES)
    written["payload"] = dict(reversed(written["payload"].items()))
    assert wes.send(wes.request(**written))["payload"] == {"resources": []}


def test_an_authorization_is_of_the_text_that_javascript_writes_not_of_the_one_that_was_sent(bank: Bank) -> None:
    """7.50 is 7.5, and names that are array indices come first: a signature of another text authorizes nothing."""
    sent = b'"data":{"b":7.50,"10":1,"9":2}'
    texts = {
        b'"data":{"9":2,"10":1,"b":7.5}': [OWNER.address],
        b'"data":{"9":2,"10":1,"b":7.50}': [],
        b'"data":{"b":7.5,"10":1,"9":2}': [],
        sent: [],
    }
    for number, (text, resources) in enumerate(texts.items()):
        wes = Peer.connected(bank, WES, half=f"{number:021}")
        allow = [Allowance(OWNER.address, US.address, WES.address)]
        data = {"b": 7.5, "10": 1, "9": 2}
        payload = new_payload("withdraw", data, allow=allow, validity={"time": int(NOW), "stamp": f"{number}"})
        canonical = json_stringify(payload)
        [written] = [each for each in texts if each in canonical]
        auth = {OWNER.address: write_signature(OWNER.sign(canonical.replace(written, text)))}
        message = wes.signed({**wes.request(), "payload": payload, "auth": auth})
        answer = bank.answer(message.replace(written, sent))
        assert (code(answer), answer["payload"]) == ("", {"resources": resources}), text


def test_a_forged_authorization_beside_a_good_one_takes_nothing_from_it(bank: Bank) -> None:
    written, wes = cheque(), Peer.connected(bank, WES)
    written["auth"] = {JACK.address: "forged", **written["auth"]}
    assert wes.send(wes.request(**written))["payload"] == {"resources": [OWNER.address]}


def test_two_spellings_of_one_resource_are_refused(bank: Bank) -> None:
    written, wes = cheque(), Peer.connected(bank, WES)
    written["auth"] |= {f"0x{OWNER.address}": written["auth"][OWNER.address]}
    assert refused(wes.send(wes.request(**written)), DCP_BODY_INVALID)


@pytest.mark.parametrize("first", [OWNER, JACK])
def test_a_payload_that_two_keys_signed_counts_once_whoever_of_them_is_named(bank: Bank, first: EthereumKey) -> None:
    """ "If the receiver has ever seen a request with the same stamp" (DCP: Validity): also with another signature."""
    wes = Peer.connected(bank, WES)
    both = wes.request("withdraw", 7, keys=(OWNER, JACK))
    by_each = [{**both, "id": key.address, "auth": {key.address: both["auth"][key.address]}} for key in (OWNER, JACK)]
    by_each.sort(key=lambda request: request["id"] != first.address)
    answers = [wes.send({**request, "nonce": wes.nonce}) for request in (*by_each, {**both, "id": "both"})]
    assert [code(answer) for answer in answers] == ["", "EDUP", "EDUP"]
    assert bank.done == [("withdraw", 7)]


@pytest.mark.parametrize("operation", ["keepalive", "close"])
def test_what_the_protocol_answers_by_itself_writes_neither_id_nor_stamp(
    bank: Bank, owner: Peer, operation: str
) -> None:
    owner.send(owner.request("add"))
    kept = len(bank.store)  # type: ignore[arg-type]
    requests = [owner.request("keepalive") for _ in range(8)]
    answer = owner.send(owner.batch(*requests, owner.request(operation)))
    assert all(each["success"] for each in answer["payload"])
    assert len(bank.store) == kept  # type: ignore[arg-type]


def test_one_resource_of_two_cannot_be_used_again_without_the_other(bank: Bank) -> None:
    wes = Peer.connected(bank, WES)
    request = wes.request("withdraw", keys=(OWNER, JACK))
    assert wes.send(request)["payload"] == {"resources": sorted([OWNER.address, JACK.address])}
    half = wes.request(payload=request["payload"], auth={JACK.address: request["auth"][JACK.address]})
    assert code(wes.send(half)) == "EDUP"


def test_the_signature_of_one_resource_is_none_of_another_that_is_named_beside_it(bank: Bank) -> None:
    wes = Peer.connected(bank, WES)
    request = wes.request("withdraw", keys=(OWNER, JACK))
    half = wes.request(payload=request["payload"], auth={JACK.address: request["auth"][JACK.address]})
    assert wes.send(half)["payload"] == {"resources": [JACK.address]}


def test_a_request_has_a_limit_of_resources(bank: Bank, owner: Peer) -> None:
    keys = tuple(EthereumKey.from_secret(bytes([number + 1]) * 32) for number in range(17))
    assert refused(owner.send(owner.request(keys=keys)), DCP_BODY_INVALID)
    assert len(owner.send(owner.request(keys=keys[:16]))["payload"]["resources"]) == 16


def test_a_cheque_that_names_an_earlier_identity_counts_on_a_session_of_the_newest(bank: Bank) -> None:
    rotated = bank.restarted(identities=(JACK, US))
    wes = Peer.connected(rotated, WES)
    assert wes.send(wes.request(**cheque()))["payload"] == {"resources": [OWNER.address]}


def test_a_raised_setting_revives_no_cheque(bank: Bank) -> None:
    widest = TtlLimits(15, 86_400)
    low = bank.restarted(limits=replace(LIMITS, ttl=TtlLimits(15, 60), widest_ttl=widest, widest_slop=60))
    high = bank.restarted(limits=replace(LIMITS, ttl=widest, widest_ttl=widest, widest_slop=60))
    wes = Peer.connected(low, WES)
    assert code(wes.send(wes.request(**cheque(ttl=7200)))) == ""
    later = Peer.connected(high, WES, half="y" * 21, now=NOW + 7000)
    assert code(later.send(later.request(**cheque(ttl=7200)))) == "EDUP"


# --- operations that fail --------------------------------------------------------------------------------------------


def test_what_an_operation_refuses_is_an_error_with_the_reason_as_its_code(bank: Bank, owner: Peer) -> None:
    def refuse(_: object) -> None:
        raise TheirError(DCP_SIGNATURE_INVALID, "detail")

    bank.perform_with = refuse
    answer = owner.send(owner.request())
    assert answer["payload"] == {
        "name": "Error", "message": f"{DCP_SIGNATURE_INVALID.sentence} (detail)", "code": "DcpSignatureInvalid",
        "origin": US.address,
    }  # fmt: skip


@pytest.mark.parametrize("without_effect", [True, False])
def test_an_operation_that_failed_without_effect_may_be_requested_again(bank: Bank, without_effect: bool) -> None:
    wes = Peer.connected(bank, WES)
    bank.perform_with = lambda _: FailedOperation(ErrorPayload("Error", "not now"), without_effect)
    assert says(wes.send(wes.request(id="1", **cheque()))) == "not now"
    bank.perform_with = None
    answer = wes.send(wes.request(id="1", **cheque()))
    assert code(answer) == ("" if without_effect else "EINVAL")
