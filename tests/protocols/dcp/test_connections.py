"""An initiator and a target: sessions, batches, both directions, and what a network may do to them."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.protocols.dcp.guarded import JACK, NOW, OWNER, US, WES, Bank, at_once, numbered
from tests.protocols.dcp.network import DAY, strangers_message
from tests.protocols.dcp.paired import End, Pair, ask
from tests.tiers import examples

from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import JsonValue
from postroom.core.reason import Reason
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp.authorization import authorize
from postroom.protocols.dcp.connect import MIN_HALF
from postroom.protocols.dcp.connection_events import (
    RequestAnswered,
    RequestFailed,
    RequestReceived,
    RequestUnanswered,
    SessionEnded,
    SessionOpened,
)
from postroom.protocols.dcp.endpoint import Clock, SendOptions, SessionEndedError
from postroom.protocols.dcp.error_payload import ErrorCode, ErrorPayload, error_of
from postroom.protocols.dcp.guardian import AnsweredLater, Guardian, write_late_response
from postroom.protocols.dcp.initiator import ConnectionInitiator
from postroom.protocols.dcp.memory_store import MemoryStore
from postroom.protocols.dcp.messages import Allowance
from postroom.protocols.dcp.payload import MAX_IDS, NewRequest, new_payload
from postroom.protocols.dcp.reasons import (
    DCP_NONCE_INVALID,
    DCP_RESPONSE_INVALID,
    DCP_RESPONSE_UNEXPECTED,
    DCP_SESSION_FOREIGN,
    DCP_SESSION_OVER,
    DCP_STORE_FULL,
    DCP_VERSION_UNSUPPORTED,
)
from postroom.protocols.dcp.receiving import Admitted
from postroom.protocols.dcp.session_store import NonceUse
from postroom.protocols.dcp.signed_message import sign_body
from postroom.protocols.dcp.states import ConnectionState
from postroom.protocols.dcp.target import ConnectionTarget


def bodies(end: End) -> list[dict[str, Any]]:
    return [json.loads(data)["body"] for data in end.sent]


def error_of_end(end: End) -> ErrorPayload | None:
    (ended,) = end.happened(SessionEnded)
    assert isinstance(ended, SessionEnded)
    return ended.error


def initiator(**members: Any) -> ConnectionInitiator:
    return ConnectionInitiator(OWNER, store=MemoryStore(), random=numbered(itertools.count(1)), **members)


# --- sessions --------------------------------------------------------------------------------------------------------


def test_a_session_is_open_at_both_ends_before_the_first_request() -> None:
    pair = Pair()
    ask(pair.initiator, 1)
    pair.opened()
    assert [type(event) for event in pair.target.events] == [SessionOpened, RequestReceived]
    assert [type(event) for event in pair.initiator.events] == [SessionOpened, RequestAnswered]
    dcpsid = pair.initiator.machine.dcpsid
    assert pair.initiator.events[0] == SessionOpened(str(dcpsid), US.address)
    assert pair.target.events[0] == SessionOpened(str(dcpsid), OWNER.address)


def test_requests_go_in_both_directions() -> None:
    pair = Pair().opened()
    names = [ask(end, [number]) for number, end in enumerate(pair.ends)]
    pair.deliver()
    for number, end in enumerate(pair.ends):
        assert RequestAnswered(names[number], [number]) in end.events


def test_one_request_goes_bare_and_more_in_a_batch_that_is_acknowledged_at_once() -> None:
    pair = Pair().opened()
    ask(pair.initiator)
    pair.deliver()
    pair.target.answers_at_once = False
    for number in range(3):
        ask(pair.initiator, number)
    pair.deliver()
    assert [body["type"] for body in bodies(pair.initiator)] == ["request", "request", "request-batch"]
    acknowledgement = bodies(pair.target)[-1]
    assert acknowledgement["id"] == bodies(pair.initiator)[-1]["id"]
    assert acknowledgement["nonce"]
    pair.target.answer_all()
    pair.deliver()
    assert [event.result for event in pair.initiator.happened(RequestAnswered)] == [None, 0, 1, 2]  # type: ignore[attr-defined]
    assert bodies(pair.target)[-1]["nonce"] is None


def test_batches_have_a_limit_and_can_be_turned_off() -> None:
    for most, sizes in ((2, [2, 2, 1]), (1, [1] * 5)):
        pair = Pair(initiator(options=SendOptions(max_messages=most)))
        for number in range(5):
            ask(pair.initiator, number)
        pair.opened()
        sent = [body["payload"] for body in bodies(pair.initiator)[1:]]
        assert [len(each) if isinstance(each, list) else 1 for each in sent] == sizes
        assert len(pair.initiator.happened(RequestAnswered)) == 5


def test_without_a_nonce_nothing_is_sent() -> None:
    pair = Pair().opened()
    pair.target.answers_at_once = False
    ask(pair.initiator, 1)
    pair.deliver()
    ask(pair.initiator, 2)
    pair.deliver()
    assert len(pair.target.happened(RequestReceived)) == 1
    pair.target.answers_at_once = True
    pair.target.answer_all()
    pair.deliver()
    assert len(pair.initiator.happened(RequestAnswered)) == 2


def test_an_end_awaits_an_answer_to_its_connect_and_to_the_requests_that_it_sent_last_and_to_nothing_else() -> None:
    pair = Pair()
    end = pair.initiator.machine
    assert not end.awaits_answer
    pair.start()
    assert end.awaits_answer
    pair.deliver()
    for queue in (lambda: ask(pair.initiator), end.close):
        queue()
        assert not end.awaits_answer
        pair.flush()
        assert end.awaits_answer
        pair.deliver()
        assert not end.awaits_answer
    assert end.state is ConnectionState.CLOSED


def test_an_error_of_the_application_fails_the_request_and_the_session_goes_on() -> None:
    pair = Pair().opened()
    pair.target.answer = lambda _: ErrorPayload("RangeError", "too large", "E7")
    name = ask(pair.initiator)
    pair.deliver()
    assert pair.initiator.events[-1] == RequestFailed(name, ErrorPayload("RangeError", "too large", "E7"))
    assert pair.initiator.machine.state is ConnectionState.OPEN


def test_time_is_the_targets_by_a_clock_that_only_goes_on() -> None:
    pair = Pair().opened()
    pair.after(30)
    pair.clock = type(pair.clock)(pair.clock.wall - 5000, pair.clock.monotonic)
    ask(pair.initiator)
    pair.flush()
    assert bodies(pair.initiator)[-1]["payload"]["validity"]["time"] == int(pair.clock.wall) + 5000


@pytest.mark.parametrize(("behind", "counts"), [(10.5, True), (11, False)], ids=["equal", "more"])
def test_clocks_may_differ_by_ten_seconds_unless_another_limit_is_set(behind: float, counts: bool) -> None:
    """A target dates what it requests by its own clock, in whole seconds: half a second ago."""
    pair = Pair().opened()
    pair.initiator.wall_ahead = -behind
    ask(pair.target)
    pair.deliver()
    failed = [event.error.code for event in pair.target.events if isinstance(event, RequestFailed)]
    assert failed == ([] if counts else [ErrorCode.ETIMETRAVEL])


def test_keys_authorize_what_is_sent() -> None:
    pair = Pair().opened()
    allow = [Allowance(WES.address, US.address, OWNER.address)]
    pair.initiator.machine.send(NewRequest(new_payload("withdraw", allow=allow), (WES,)))
    pair.deliver()
    (received,) = pair.target.happened(RequestReceived)
    assert isinstance(received, RequestReceived)
    assert received.admitted.resources == {WES.address}


def test_what_somebody_else_signed_is_presented_as_it_was_signed() -> None:
    pair = Pair(initiator(options=SendOptions(ttl=60))).opened()
    allow = [Allowance(WES.address, US.address, OWNER.address)]
    payload = new_payload("withdraw", allow=allow, validity={"stamp": "cheque 7", "time": int(pair.clock.wall)})
    pair.initiator.machine.send(NewRequest(payload, auth=authorize(payload, [WES])))
    pair.deliver()
    (received,) = pair.target.happened(RequestReceived)
    assert isinstance(received, RequestReceived)
    assert received.admitted.resources == {WES.address}


# --- closing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", [0, 1], ids=["initiator", "target"])
def test_a_close_follows_what_is_queued_and_ends_both_ends(by: int) -> None:
    pair = Pair().opened()
    end = pair.ends[by]
    name = ask(end, 7)
    end.machine.close()
    with pytest.raises(SessionEndedError):
        ask(end)
    pair.deliver()
    assert [each.machine.state for each in pair.ends] == [ConnectionState.CLOSED] * 2
    assert RequestAnswered(name, 7) in end.events or RequestUnanswered(name, was_sent=True) in end.events
    assert [error_of_end(each) for each in pair.ends] == [None, None]


def test_a_closing_session_takes_no_request() -> None:
    end = Pair().opened().initiator
    end.machine.close()
    with pytest.raises(SessionEndedError):
        ask(end)


def test_two_closes_that_cross_end_both_ends() -> None:
    pair = Pair().opened()
    for end in pair.ends:
        end.machine.close()
    pair.deliver()
    assert [each.machine.state for each in pair.ends] == [ConnectionState.CLOSED] * 2


def test_a_failed_transport_says_which_requests_were_sent() -> None:
    pair = Pair().opened()
    sent = ask(pair.initiator)
    pair.flush()
    waiting = ask(pair.initiator)
    events = pair.initiator.machine.fail()
    assert events == [RequestUnanswered(sent, True), RequestUnanswered(waiting, False), SessionEnded()]
    assert pair.initiator.machine.fail() == []
    assert pair.initiator.machine.messages(pair.clock) == []


def test_a_repeated_message_that_was_received_before_has_an_unknown_outcome() -> None:
    pair = Pair().opened()
    name = ask(pair.initiator)
    pair.flush()
    data = pair.target.arriving[0]
    pair.target.receive(data, pair.clock)
    pair.target.machine.messages(pair.clock)  # and they are lost
    pair.deliver()
    assert unanswered(pair.initiator) == {name: DCP_NONCE_INVALID}
    assert len(pair.target.happened(RequestReceived)) == 1
    assert pair.initiator.machine.state is ConnectionState.CLOSED


def unanswered(end: End) -> dict[str, Reason]:
    """The reasons that the peer refused requests for which may have been performed, by their id."""
    found = {}
    for event in end.events:
        if isinstance(event, RequestUnanswered):
            assert event.was_sent
            assert event.refusal is not None
            reasons = (DCP_NONCE_INVALID, DCP_SESSION_OVER, DCP_STORE_FULL)
            [found[event.id]] = [each for each in reasons if event.refusal.message.startswith(each.sentence)]
    assert not end.happened(RequestFailed)
    return found


def opened_at(bank: Bank) -> End:
    end = End(initiator())
    machine = end.machine
    assert isinstance(machine, ConnectionInitiator)
    end.receive(bank.guardian.answer(machine.connect(CLOCK), NOW, at_once(bank.record)).data, CLOCK)
    return end


@pytest.mark.parametrize("number", [1, 3], ids=["bare", "in a batch"])
@pytest.mark.parametrize("is_closed", [False, True], ids=["nonce used", "session over"])
def test_a_captured_message_that_somebody_presents_again_is_no_proof_that_it_was_not_performed(
    number: int, is_closed: bool
) -> None:
    """ "EINVAL the message is invalid" (DCP: Error Codes): so is each copy of a message that was received."""
    bank = Bank()
    end = opened_at(bank)
    names = [ask(end, data) for data in range(number)]
    [captured] = end.machine.messages(CLOCK)
    bank.guardian.answer(captured, NOW, at_once(bank.record))  # and the answer is withheld
    assert len(bank.done) == number
    if is_closed:
        bank.store.close(str(end.machine.dcpsid))
    end.receive(bank.guardian.answer(captured, NOW, at_once(bank.record)).data, CLOCK)
    assert unanswered(end) == dict.fromkeys(names, DCP_SESSION_OVER if is_closed else DCP_NONCE_INVALID)
    assert end.machine.state is ConnectionState.CLOSED


def test_a_captured_message_with_a_close_that_somebody_presents_again_closes_the_session() -> None:
    bank = Bank()
    end = opened_at(bank)
    name = ask(end)
    end.machine.close()
    [captured] = end.machine.messages(CLOCK)
    bank.guardian.answer(captured, NOW, at_once(bank.record))
    end.receive(bank.guardian.answer(captured, NOW, at_once(bank.record)).data, CLOCK)
    assert unanswered(end) == {name: DCP_SESSION_OVER}
    assert error_of_end(end) is None


@pytest.mark.parametrize("asked", [0, 1], ids=["by the initiator", "by the target"])
def test_an_end_that_gets_a_captured_message_again_proves_nothing_either(asked: int) -> None:
    pair = Pair().opened()
    end, other = pair.ends[asked], pair.ends[1 - asked]
    other.answers_at_once = False
    name = ask(end)
    pair.flush()
    captured = other.arriving[0]
    pair.deliver()
    other.receive(captured, pair.clock)
    pair.deliver()
    assert len(other.happened(RequestReceived)) == 1
    assert unanswered(end) == {name: DCP_NONCE_INVALID}


class Unavailable(MemoryStore):
    """It cannot store a nonce now."""

    def use_nonce(self, use: NonceUse) -> None:
        raise NotNowError(DCP_STORE_FULL)


def test_a_message_whose_nonce_could_not_be_stored_may_have_been_performed_before() -> None:
    pair = Pair(target=ConnectionTarget(US, store=Unavailable(), random=numbered(itertools.count(100)))).opened()
    name = ask(pair.initiator)
    pair.deliver()
    assert unanswered(pair.initiator) == {name: DCP_STORE_FULL}


def test_a_request_that_is_refused_with_a_nonce_was_not_performed() -> None:
    """The nonce proves that this copy of its message was the first one."""
    bank = Bank()
    end = opened_at(bank)
    names = [end.machine.send(NewRequest(new_payload("v3"))) for _ in range(2)]
    [message] = end.machine.messages(CLOCK)
    end.receive(bank.guardian.answer(message, NOW, at_once(bank.record)).data, CLOCK)
    names.append(end.machine.send(NewRequest(new_payload("v3"))))
    [message] = end.machine.messages(CLOCK)
    end.receive(bank.guardian.answer(message, NOW, at_once(bank.record)).data, CLOCK)
    failed = {event.id: event.error.code for event in end.events if isinstance(event, RequestFailed)}
    assert failed == dict.fromkeys(names, ErrorCode.ENOV3)
    assert end.machine.state is ConnectionState.OPEN


# --- whom an initiator accepts ---------------------------------------------------------------------------------------


def test_another_address_than_before_is_refused_before_anything_is_sent() -> None:
    pair = Pair(initiator(expected=JACK.address))
    ask(pair.initiator)
    pair.opened()
    error = error_of_end(pair.initiator)
    assert error is not None
    assert error.code == ErrorCode.EADDRCHANGE
    assert len(pair.initiator.sent) == 1


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"payload": {"version": "5.0.0"}}, ErrorCode.ETARGETVERSION),
        ({"payload": None}, ErrorCode.ETARGETVERSION),
        ({"nonce": None}, ErrorCode.EINVAL),
        ({"id": "other"}, ErrorCode.EINVAL),
        ({"success": False, "payload": {"type": "protocol", "code": "EVERSION", "message": "^5"}}, ErrorCode.EVERSION),
        ({"dcpsid": None}, ErrorCode.EINVAL),
        ({"dcpsid": "x" * 65}, ErrorCode.EINVAL),
    ],
)
def test_a_target_that_does_not_fit_is_refused(change: dict[str, Any], code: ErrorCode) -> None:
    pair = Pair()
    pair.start()
    pair.target.receive(pair.target.arriving.popleft(), pair.clock)
    (data,) = pair.target.machine.messages(pair.clock)
    pair.initiator.receive(sign_body({**json.loads(data)["body"], **change}, US), pair.clock)
    error = error_of_end(pair.initiator)
    assert error is not None
    assert error.code == code


def test_a_target_whose_half_has_the_least_length_is_accepted() -> None:
    pair = Pair()
    pair.start()
    half = bodies(pair.initiator)[0]["payload"]["data"]["sid"]
    pair.target.receive(pair.target.arriving.popleft(), pair.clock)
    (data,) = pair.target.machine.messages(pair.clock)
    dcpsid = half + "y" * MIN_HALF
    pair.initiator.receive(sign_body({**json.loads(data)["body"], "dcpsid": dcpsid}, US), pair.clock)
    assert pair.initiator.events == [SessionOpened(dcpsid, US.address)]


def test_a_second_connect_is_not_answered_and_ends_the_connection() -> None:
    pair = Pair().opened()
    dcpsid = pair.target.machine.dcpsid
    pair.target.receive(pair.initiator.sent[0], pair.clock)
    assert pair.target.machine.dcpsid == dcpsid
    assert len(pair.target.happened(SessionOpened)) == 1
    assert pair.target.machine.state is ConnectionState.CLOSED
    assert pair.target.machine.messages(pair.clock) == []


# --- what ends a connection ------------------------------------------------------------------------------------------


def test_a_message_of_somebody_else_ends_the_connection_that_it_came_by() -> None:
    pair = Pair().opened()
    request = {"type": "request", "id": "1", "payload": {"operation": "close"}, "dcpsid": pair.target.machine.dcpsid}
    pair.target.receive(sign_body(request, JACK), pair.clock)
    assert error_of_end(pair.target) == error_of(TheirError(DCP_SESSION_FOREIGN), US.address)
    assert pair.target.happened(RequestReceived) == []


def messages_without_a_session(name: str) -> dict[str, dict[str, Any]]:
    """What anybody may sign with the id of somebody else's request."""
    connect = {"operation": "connect", "data": {"version": "4.0.0", "sid": "z" * 21}}
    wrong_version = {"operation": "connect", "data": {"version": "5.0.0", "sid": "z" * 21}}
    batch = {"type": "request-batch", "id": name, "payload": []}
    return {
        "a connect": {"type": "request", "id": name, "payload": connect, "nonce": "n"},
        "a connect of another version": {"type": "request", "id": name, "payload": wrong_version, "nonce": "n"},
        "another operation": {"type": "request", "id": name, "payload": {"operation": "pay"}},
        "a request without a payload": {"type": "request", "id": name},
        "a batch with a connect": {**batch, "payload": [{"type": "request", "id": "c", "payload": connect}]},
        "a batch of nothing": batch,
        "a message of no type": {"id": name},
    }


@pytest.mark.parametrize("signer", [JACK, OWNER, US], ids=["a stranger", "the initiator", "the target"])
@pytest.mark.parametrize("asked", [0, 1], ids=["by the initiator", "by the target"])
@pytest.mark.parametrize("which", messages_without_a_session(""))
def test_who_has_not_proven_a_session_gets_no_refusal_of_it(which: str, asked: int, signer: EthereumKey) -> None:
    """It could be injected as the answer to a request that was performed."""
    pair = Pair().opened()
    end, other = pair.ends[asked], pair.ends[1 - asked]
    other.answers_at_once = False
    name = ask(end)
    pair.deliver()
    assert len(other.happened(RequestReceived)) == 1
    other.receive(sign_body(messages_without_a_session(name)[which], signer), pair.clock)
    assert other.machine.state is ConnectionState.CLOSED
    assert other.machine.messages(pair.clock) == []


def test_a_refusal_before_there_is_a_session_never_has_the_dcpsid_of_the_one_that_is_opened_next() -> None:
    pair = Pair()
    openings = {"a connect", "a batch with a connect"}
    strange = [body for name, body in messages_without_a_session("mine").items() if name not in openings]
    for body in strange:
        pair.target.receive(sign_body(body, JACK), pair.clock)
    pair.start()
    pair.target.receive(pair.target.arriving.popleft(), pair.clock)
    refusals, opened = [json.loads(data)["body"] for data in pair.target.machine.messages(pair.clock)]
    assert [each["id"] for each in refusals["payload"]] == ["mine"] * len(strange)
    assert all("dcpsid" not in each for each in (refusals, *refusals["payload"]))
    assert opened["dcpsid"] == pair.target.machine.dcpsid


@pytest.mark.parametrize("signer", [JACK, US], ids=["a stranger", "the target"])
@pytest.mark.parametrize("which", messages_without_a_session(""))
def test_an_initiator_that_connects_answers_nobody(which: str, signer: EthereumKey) -> None:
    """Anybody who saw its connect knows how the id of the session will begin."""
    for has_half in (False, True):
        pair = Pair()
        pair.start()
        body = messages_without_a_session("1")[which]
        if has_half:
            half = bodies(pair.initiator)[0]["payload"]["data"]["sid"]
            body = {**body, "dcpsid": half + "-" + "y" * MIN_HALF}
        pair.initiator.receive(sign_body(body, signer), pair.clock)
        assert pair.initiator.machine.state is ConnectionState.CLOSED
        assert pair.initiator.machine.messages(pair.clock) == []


@pytest.mark.parametrize("data", [b"", b"{}", b"[" * 5000])
def test_what_is_no_signed_message_ends_the_connection(data: bytes) -> None:
    pair = Pair().opened()
    pair.target.receive(data, pair.clock)
    assert pair.target.machine.state is ConnectionState.CLOSED


def test_a_response_to_nothing_ends_the_connection() -> None:
    pair = Pair().opened()
    pair.initiator.receive(pair.target.sent[0], pair.clock)
    assert error_of_end(pair.initiator) == error_of(TheirError(DCP_RESPONSE_UNEXPECTED), OWNER.address)


def set_id(end: End, name: str, data: JsonValue = None) -> None:
    assert end.machine.send(NewRequest(new_payload("pay", data), id=name)) == name


@pytest.mark.parametrize("asked", [0, 1], ids=["by the initiator", "by the target"])
def test_an_id_is_used_once_so_that_an_earlier_response_again_ends_the_connection(asked: int) -> None:
    pair = Pair().opened()
    end, other = pair.ends[asked], pair.ends[1 - asked]
    set_id(end, "mine", 1)
    with pytest.raises(ValueError, match="same id"):
        set_id(end, "mine", 2)
    pair.deliver()
    assert end.events[-1] == RequestAnswered("mine", 1)
    with pytest.raises(ValueError, match="same id"):
        set_id(end, "mine", 2)
    [response] = [data for data in other.sent if json.loads(data)["body"]["id"] == "mine"]
    name = ask(end, 3)
    pair.flush()
    end.receive(response, pair.clock)
    assert end.events[-2] == RequestUnanswered(name, was_sent=True)
    assert end.machine.state is ConnectionState.CLOSED


def test_an_id_that_an_end_made_is_never_that_of_another_request() -> None:
    pair = Pair().opened()
    for _ in range(2):
        ask(pair.initiator)
    pair.deliver()
    made = [body["id"] for body in bodies(pair.initiator)]
    made += [member["id"] for member in bodies(pair.initiator)[-1]["payload"]]
    assert len(set(made)) == 4
    for name in made:
        with pytest.raises(ValueError, match="made by the connection"):
            set_id(pair.initiator, name)


def test_the_ids_that_are_remembered_are_limited_and_those_that_an_end_makes_are_not() -> None:
    end = Pair().opened().initiator
    for number in range(MAX_IDS):
        set_id(end, f"{number}\ud800")
    with pytest.raises(ValueError, match="10000 requests of this session had ids"):
        set_id(end, "one more")
    assert ask(end)
    set_id(Pair().opened().initiator, "one more")


def responses_of_strangers(dcpsid: str | None, request_id: str) -> list[dict[str, Any]]:
    """What anybody may sign, and what a real guardian signs for a session that it does not know."""
    told = {"type": "response", "id": request_id, "time": int(NOW), "nonce": "stranger's"}
    refusal = error_of(TheirError(DCP_SESSION_FOREIGN), US.address).as_json()
    answers = [{"success": True, "payload": {"forged": "all is paid"}}, {"success": False, "payload": refusal}]
    bare = [{**told, **answer, **with_it} for answer in answers for with_it in ({}, {"dcpsid": dcpsid})]
    batches = [{**each, "type": "response-batch", "id": "batch", "payload": [each]} for each in bare]
    return [*bare, *batches]


@pytest.mark.parametrize("of_session", [False, True], ids=["without dcpsid", "dcpsid null"])
@pytest.mark.parametrize("signer", [US, JACK], ids=["the target", "a stranger"])
@pytest.mark.parametrize("which", range(8))
def test_a_response_without_a_session_is_believed_from_nobody_and_the_outcome_is_unknown(
    which: int, signer: EthereumKey, of_session: bool
) -> None:
    """Also the target signs refusals without a dcpsid, for whoever asks it: they can be injected."""
    pair = Pair().opened()
    pair.target.answers_at_once = False
    name = ask(pair.initiator)
    pair.flush()
    body = responses_of_strangers(None, name)[which]
    if not of_session:
        body.pop("dcpsid", None)
    pair.initiator.receive(sign_body(body, signer), pair.clock)
    assert pair.initiator.events[-2] == RequestUnanswered(name, was_sent=True)
    assert error_of_end(pair.initiator) is not None
    assert not pair.initiator.happened(RequestAnswered)
    assert not pair.initiator.happened(RequestFailed)


@pytest.mark.parametrize("which", range(8))
def test_a_response_in_a_session_is_believed_from_its_peer_only(which: int) -> None:
    for asked, signer in ((0, JACK), (1, JACK)):
        pair = Pair().opened()
        end, other = pair.ends[asked], pair.ends[1 - asked]
        other.answers_at_once = False
        name = ask(end)
        pair.flush()
        body = responses_of_strangers(end.machine.dcpsid, name)[which]
        end.receive(sign_body(body, signer), pair.clock)
        assert end.events[-2] == RequestUnanswered(name, was_sent=True)
        assert end.machine.state is ConnectionState.CLOSED


def test_a_refusal_of_the_connect_needs_no_session() -> None:
    pair = Pair()
    pair.start()
    (connect,) = bodies(pair.initiator)
    refusal = error_of(TheirError(DCP_VERSION_UNSUPPORTED, "^5.0.0"), US.address).as_json()
    body = {"type": "response", "id": connect["id"], "time": int(NOW), "success": False, "payload": refusal}
    pair.initiator.receive(sign_body(body, US), pair.clock)
    error = error_of_end(pair.initiator)
    assert error is not None
    assert error.code == ErrorCode.EVERSION


@pytest.mark.parametrize(
    "change", [{"success": "true"}, {"success": 1}, {"success": None}, {"time": None}, {"time": "1"}, {"nonce": 7}]
)
@pytest.mark.parametrize("batched", [False, True])
def test_a_malformed_response_ends_the_session_and_is_not_answered(change: dict[str, Any], batched: bool) -> None:
    """Otherwise its request would wait for ever."""
    pair = Pair().opened()
    pair.target.answers_at_once = False
    name = ask(pair.initiator)
    pair.flush()
    dcpsid = pair.initiator.machine.dcpsid
    body = {"type": "response", "id": name, "time": int(NOW), "success": True, "dcpsid": dcpsid, "nonce": "n", **change}
    if batched:
        body = {"type": "response-batch", "id": "batch", "payload": [body], "dcpsid": dcpsid, "nonce": "n"}
    pair.initiator.receive(sign_body(body, US), pair.clock)
    assert pair.initiator.events[-2] == RequestUnanswered(name, was_sent=True)
    error = error_of_end(pair.initiator)
    assert error is not None
    assert error.message.startswith(DCP_RESPONSE_INVALID.sentence)
    assert pair.initiator.machine.messages(pair.clock) == []


@pytest.mark.parametrize("member", [{"allow": None}, {}, None])
def test_each_request_of_a_batch_is_processed_by_itself(member: Any) -> None:
    pair = Pair().opened()
    dcpsid, nonce = pair.initiator.machine.dcpsid, bodies(pair.target)[0]["nonce"]
    validity = {"time": int(NOW), "stamp": "s", "ttl": 60}
    good = {"type": "request", "id": "good", "payload": {"operation": "echo", "data": 7, "validity": validity}}
    bad = {"type": "request", "id": "bad", "payload": member}
    batch = {"type": "request-batch", "id": "b", "payload": [bad, good, None], "dcpsid": dcpsid, "nonce": nonce}
    pair.target.receive(sign_body(batch, OWNER), pair.clock)
    assert [event.admitted.data for event in pair.target.happened(RequestReceived)] == [7]  # type: ignore[attr-defined]
    (data,) = pair.target.machine.messages(pair.clock)
    answered = {each["id"]: each["success"] for each in json.loads(data)["body"]["payload"]}
    assert answered == {"b": True, "bad": False, "good": True}


def test_ones_own_messages_sent_back_end_the_connection() -> None:
    pair = Pair().opened()
    ask(pair.initiator)
    pair.deliver()
    pair.initiator.receive(pair.initiator.sent[-1], pair.clock)
    assert pair.initiator.machine.state is ConnectionState.CLOSED
    assert pair.initiator.happened(RequestReceived) == []


def test_a_session_that_ended_stays_ended() -> None:
    pair = Pair().opened()
    ask(pair.initiator)
    pair.deliver()
    pair.target.receive(b"", pair.clock)
    for data in pair.initiator.sent:
        pair.target.receive(data, pair.clock)
    assert len(pair.target.happened(RequestReceived)) == 1
    assert pair.target.machine.messages(pair.clock) == []


# --- any network -----------------------------------------------------------------------------------------------------

steps = st.lists(
    st.tuples(
        st.sampled_from(
            ["ask"] * 4 + ["deliver"] * 6 + ["answer", "swap", "double", "double", "drop", "drift", "wait", "close"]
        ),
        st.integers(0, 1),
        st.integers(0, 2),
    ),
    min_size=10,
    max_size=40,
)
endings = st.none() | st.tuples(
    st.sampled_from(["change", "fail", "jump", "stranger"]), st.integers(0, 1), st.integers(0, 2)
)


@given(steps=steps, ending=endings, last=steps)
@settings(max_examples=examples(100))
def test_whatever_network_and_clocks_do_nothing_counts_twice_or_of_a_stranger_and_what_is_closed_stays_closed(
    steps: list[tuple[str, int, int]], ending: tuple[str, int, int] | None, last: list[tuple[str, int, int]]
) -> None:
    pair = Pair().opened()
    numbers = itertools.count()
    if ending:
        steps = [*steps, ending, *last]
    for end in pair.ends:
        end.answers_at_once = False
    for step, which, amount in steps:
        end = pair.ends[which]
        was = [each.machine.state for each in pair.ends]
        _take_step(pair, end, step, amount, next(numbers))
        pair.flush()
        for each, before in zip(pair.ends, was, strict=True):
            assert before is not ConnectionState.CLOSED or each.machine.state is ConnectionState.CLOSED
        _check(pair)
    for end in pair.ends:
        end.answers_at_once = True
        end.answer_all()
    pair.deliver()
    _check(pair)
    was_reliable = not {"drop", "change", "wait", "jump", "stranger"} & {step for step, _, _ in steps}
    if was_reliable and all(each.machine.state is ConnectionState.OPEN for each in pair.ends):
        for end in pair.ends:
            name = ask(end, "now")
            pair.deliver()
            assert RequestAnswered(name, "now") in end.events


MOST_AHEAD = 5
"""Seconds that clocks which drift are ahead, or behind: those of both ends differ by no more than the slop."""


def _take_step(pair: Pair, end: End, step: str, amount: int, number: int) -> None:
    match step:
        case "ask" if end.machine.state is ConnectionState.OPEN:
            for _ in range(amount + 1):
                ask(end, number)
        case "answer":
            end.answer_all()
        case "close" if end.machine.state is ConnectionState.OPEN:
            end.machine.close()
        case "fail":
            end.events += end.machine.fail()
        case "deliver" if end.arriving:
            end.receive(end.arriving.popleft(), end.at(pair.clock))
        case "stranger" if end.machine.dcpsid:
            end.receive(strangers_message(end.machine.dcpsid, end.sent), end.at(pair.clock))
        case "swap" | "double" | "drop" | "change" if end.arriving:
            _disturb(end, step, amount)
        case "wait" | "drift" | "jump":
            _move_clocks(pair, end, step, amount)


def _disturb(end: End, step: str, amount: int) -> None:
    """What a network does with the messages under way to an end."""
    match step:
        case "swap":
            end.arriving.rotate(amount)
        case "double":
            end.arriving.append(end.arriving[0])
        case "drop":
            end.arriving.pop()
        case "change":
            data = end.arriving.popleft()
            at = len(data) * (amount + 1) // 5
            end.arriving.append(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


def _move_clocks(pair: Pair, end: End, step: str, amount: int) -> None:
    match step:
        case "wait":
            pair.after(10**amount)
        case "drift":
            pair.after(30)
            ahead = max(-MOST_AHEAD, min(end.monotonic_ahead + 3 * (amount - 1), MOST_AHEAD))
            end.wall_ahead += ahead - end.monotonic_ahead
            end.monotonic_ahead = ahead
        case "jump":
            end.wall_ahead += DAY * (-1, 1, 2)[amount]


def _check(pair: Pair) -> None:
    """What always holds, at both ends."""
    for end, other in (pair.ends, pair.ends[::-1]):
        admitted = [event.admitted for event in end.events if isinstance(event, RequestReceived)]
        received = {each.request.id: each.data for each in admitted}
        assert len(received) == len(admitted), "a request counted twice"
        assert received.items() <= other.asked.items(), "an application received what nobody asked"
        sent = [body for body in bodies(other) if body["type"] in ("request", "request-batch")]
        nonces = [body["nonce"] for body in sent if body.get("dcpsid")]
        assert len(nonces) == len(set(nonces)), "a nonce was used twice"
        finished = [
            event.id for event in end.events if isinstance(event, RequestAnswered | RequestFailed | RequestUnanswered)
        ]
        assert len(finished) == len(set(finished)), "a request ended twice"
        assert len(end.happened(SessionEnded)) == (end.machine.state is ConnectionState.CLOSED)


# --- requests that are answered late ----------------------------------------------------------------------------------


def test_a_session_without_a_next_nonce_ends_although_an_earlier_request_is_still_open() -> None:
    """The answer to the second message is lost, and the copy of that message is refused without a nonce."""
    guardian, end = late_guardian(), initiator()
    answer = guardian.answer(end.connect(CLOCK), NOW, at_once(answer_later)).data
    end.receive(answer, CLOCK)
    late, other = (end.send(NewRequest(new_payload(name))) for name in ("late", "echo"))
    [first] = end.messages(CLOCK)
    end.receive(guardian.answer(first, NOW, at_once(answer_later)).data, CLOCK)
    last = end.send(NewRequest(new_payload("echo")))
    [second] = end.messages(CLOCK)
    guardian.answer(second, NOW, at_once(answer_later))
    events = end.receive(guardian.answer(second, NOW, at_once(answer_later)).data, CLOCK)
    assert [event.id for event in events if isinstance(event, RequestUnanswered) and event.was_sent] == [last, late]
    assert any(isinstance(event, SessionEnded) for event in events)
    assert other != last


def test_while_an_earlier_request_is_open_a_session_goes_on_with_the_nonces_of_the_others() -> None:
    guardian, end = late_guardian(), initiator()
    end.receive(guardian.answer(end.connect(CLOCK), NOW, at_once(answer_later)).data, CLOCK)
    late, _ = (end.send(NewRequest(new_payload(name))) for name in ("late", "echo"))
    for _ in range(3):
        [message] = end.messages(CLOCK)
        end.receive(guardian.answer(message, NOW, at_once(answer_later)).data, CLOCK)
        end.send(NewRequest(new_payload("echo")))
    assert end.state is ConnectionState.OPEN
    response = write_late_response(late, str(end.dcpsid), US, NOW)
    assert end.receive(response, CLOCK) == [RequestAnswered(late, None)]
    assert end.messages(CLOCK)


CLOCK = Clock(NOW, NOW)


def late_guardian() -> Guardian:
    return Bank().guardian


def answer_later(admitted: Admitted) -> "JsonValue | AnsweredLater":
    return AnsweredLater() if admitted.operation == "late" else None
