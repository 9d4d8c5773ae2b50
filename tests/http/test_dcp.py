"""/dcp: the mailbox API by DCP. Every operation of an owner, by nobody but an owner; cheques; revocation."""

import gzip
import json
import re
import secrets
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from botocore.exceptions import ClientError
from tests.fakes.executor import SerialExecutor
from tests.fakes.pipeline import FakeProfiles
from tests.http.api_stack import BOB, BOB_KEY, DAY, NOW, SHOP, ApiStack, Owner, RouterOfBoth, reason, said
from tests.http.dcp_peers import (
    BOB_RESOURCE,
    JACK,
    OWNER,
    OWNER_SIGNING_KEY,
    WES,
    DcpApi,
    do,
    ethereum_key,
    give_keys,
)
from tests.outbound.test_session_responses import FakeSockets
from tests.protocols.dcp.guarded import Peer, code, says

from postroom.api.dcp import OWNER_OPERATIONS, PING, PONG
from postroom.core.errors import NotNowError, TheirError
from postroom.core.reasons import OUTBOUND_FAILED, STORE_UNAVAILABLE
from postroom.core.settings import DCP_MAX_TTL_CEILING_SECONDS, DCP_SLOP_CEILING_MILLISECONDS
from postroom.crypto.ethereum import Address
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.http import sign_in
from postroom.http.dcp_service import MAX_BATCH, MAX_MESSAGE_BYTES
from postroom.http.rate_limit import BURST_SECONDS, NEWCOMER_PER_SECOND, NEWCOMERS_AT_ONCE, NEWCOMERS_PER_SECOND
from postroom.http.sign_in import READS_OF_A_LOOK
from postroom.outbound.notification_messages import WatchReplaced
from postroom.outbound.queue_messages import read_queue_message
from postroom.outbound.session_responses import SessionResponses
from postroom.protocols.dcp.connection_events import ConnectionEvent, RequestAnswered, RequestFailed, SessionOpened
from postroom.protocols.dcp.endpoint import Clock
from postroom.protocols.dcp.initiator import ConnectionInitiator
from postroom.protocols.dcp.memory_store import MemoryStore
from postroom.protocols.dcp.messages import Allowance
from postroom.protocols.dcp.payload import NewRequest, new_payload, request_body
from postroom.protocols.dcp.signed_message import read_signed_message, sign_body
from postroom.protocols.dcp.v3 import v3_data
from postroom.protocols.dm3.keys import PrivateSigningKey
from postroom.runtime.system import System
from postroom.storage.aws.queue import Queue
from postroom.storage.directory.notification_targets import MAX_SESSIONS, NotificationTargets
from postroom.storage.directory.watching_sessions import WatchingSession

Json = Any


@pytest.fixture
def signed_in(api: ApiStack, dcp: DcpApi) -> Owner:
    return Owner(api)


def cheque(dcp: DcpApi, to: EthereumKey, operation: str = "sign_out", by: EthereumKey = OWNER, **validity: Any) -> Json:
    """A payload and its authorization, that an owner wrote for somebody."""
    guardian = dcp.api.dcp_identities.newest_first()[0].key.address
    known = {"time": int(dcp.api.clock.now), "stamp": "cheque 7", "ttl": DAY, **validity}
    payload = new_payload(
        operation, {"mailbox": SHOP}, allow=[Allowance(by.address, guardian, to.address)], validity=known
    )
    body = request_body(NewRequest(payload, (by,)), payload, "unused", hex_prefix=False)
    return {"payload": body["payload"], "auth": body["auth"]}


def present(peer: Peer, written: Json) -> Json:
    return peer.send({**peer.request(), **written})


def revoke(peer: Peer, validity: Json, keys: tuple[EthereumKey, ...] = (OWNER,), mailbox: str = SHOP) -> Json:
    return peer.send(peer.request("revoke", {"mailbox": mailbox, "body": validity}, keys=keys))


def sign_outs(api: ApiStack) -> int:
    return api.mailboxes.sign_outs(SHOP)


# --- what it is ------------------------------------------------------------------------------------------------------


def test_a_peer_learns_what_it_must_know_before_it_connects(api: ApiStack, dcp: DcpApi) -> None:
    response = api.ask("GET", "/dcp")
    assert said(response) == {
        "identity": dcp.identities()[0], "versions": ["4.0.0"], "ttl": {"min": 15, "max": 604800, "default": 120},
        "slop": 10.0, "max_messages_per_batch": MAX_BATCH, "max_bytes": MAX_MESSAGE_BYTES,
    }  # fmt: skip
    assert response.headers["Cache-Control"] == "no-store"
    assert api.ask("HEAD", "/dcp").status == 200


def test_a_peer_learns_how_a_websocket_is_kept_open_where_there_are_any(api: ApiStack) -> None:
    made = api.parts().mailbox_api
    made.dcp = replace(made.dcp, socket_url="wss://sockets.example/dcp")
    api.router = RouterOfBoth.of(made)
    described = said(api.ask("GET", "/dcp"))
    assert {name: described[name] for name in ("socket", "ping", "pong", "session_seconds")} == {
        "socket": "wss://sockets.example/dcp", "ping": PING, "pong": PONG, "session_seconds": 3600,
    }  # fmt: skip


@pytest.mark.parametrize("text", [PING, PONG])
def test_neither_a_ping_nor_its_answer_is_a_message_of_dcp(dcp: DcpApi, text: str) -> None:
    assert reason(dcp.post(text.encode())) == "DcpMessageInvalid"
    with pytest.raises(TheirError):
        read_signed_message(text.encode())


def test_only_get_head_and_post_are_allowed(api: ApiStack, dcp: DcpApi) -> None:
    response = api.ask("PUT", "/dcp")
    assert (reason(response), response.headers["Allow"]) == ("MethodNotAllowed", "GET, HEAD, OPTIONS, POST")


def test_what_cannot_be_answered_under_a_signature_is_a_problem_document(
    api: ApiStack, dcp: DcpApi, peer: Peer
) -> None:
    good = json.loads(peer.signed(peer.request("keepalive")))
    forged = {**good, "body": {**good["body"], "id": "other"}}
    refused = {
        "NotJson": b"{", "NotIJson": rb'{"\ud800": 9007199254740993}', "DcpMessageInvalid": b"{}",
        "DcpSignatureInvalid": json.dumps(forged).encode(),
        "DcpIdMissing": peer.signed({**peer.request("keepalive"), "id": ""}),
        "TooLarge": b" " * (MAX_MESSAGE_BYTES + 1),
    }  # fmt: skip
    statuses = {}
    for name, data in refused.items():
        response = dcp.post(data)
        assert reason(response) == name
        assert response.headers["Cache-Control"] == "no-store"
        statuses[name] = response.status
    assert statuses == {
        "NotJson": 400, "NotIJson": 400, "DcpMessageInvalid": 400, "DcpSignatureInvalid": 401, "DcpIdMissing": 422,
        "TooLarge": 413,
    }  # fmt: skip
    for headers in ({"content-type": "text/plain"}, {"content-type": "application/json", "content-encoding": "gzip"}):
        assert api.ask("POST", "/dcp", body=peer.signed(peer.request()), headers=headers).status == 415
    assert code(peer.send(peer.request("keepalive"))) == ""


def test_a_compressed_bomb_is_refused_as_it_came(api: ApiStack, dcp: DcpApi, peer: Peer) -> None:
    bomb = gzip.compress(b"[" * 50_000_000)
    for encoding in ("gzip", "deflate", "br", "gzip, gzip", "GZIP"):
        headers = {"content-type": "application/json", "content-encoding": encoding}
        assert reason(api.ask("POST", "/dcp", body=bomb, headers=headers)) == "WrongContentEncoding"
    assert reason(dcp.post(bomb)) == "NotJson"


def test_nobody_makes_us_write_without_a_good_signature_and_a_session(
    api: ApiStack, dcp: DcpApi, signed_in: Owner
) -> None:
    peers = [dcp.peer(EthereumKey.generate()) for _ in range(3)]
    stranger = dcp.peer(JACK)
    stolen = {**stranger.request("keepalive"), "dcpsid": peers[0].dcpsid, "nonce": peers[0].nonce}
    assert code(stranger.send(stolen)) == "EINVAL"
    dcp.post(stranger.signed(stranger.request()).replace(b'"id":"', b'"id":"other '))
    assert api.deployed.rows("DcpTable") == []
    assert code(peers[0].send(peers[0].request("keepalive"))) == ""
    assert len(api.deployed.rows("DcpTable")) == 1, "its session; a keepalive has no id and no stamp"


# --- the operations of owners ----------------------------------------------------------------------------------------


def test_an_owner_reads_and_acknowledges_as_over_rest(api: ApiStack, peer: Peer, signed_in: Owner) -> None:
    first, second = api.file('{"one":1}', '{"two":[1.5,"ü"]}')
    page = do(peer, "messages")["payload"]["body"]
    assert page == signed_in.page()
    assert [each["id"] for each in page["messages"]] == [first, second]
    assert [each["id"] for each in do(peer, "messages", query={"limit": 1})["payload"]["body"]["messages"]] == [first]
    assert do(peer, "message", id=second)["payload"] == {"body": page["messages"][1], "etag": f'"{second}"'}
    envelope = do(peer, "envelope", id=second)["payload"]["body"]
    assert b64decode(envelope) == '{"two":[1.5,"ü"]}'.encode()
    part = do(peer, "envelope", id=second, range="bytes=1-5")["payload"]
    assert (b64decode(part["body"]), part["content_range"]) == (b'"two"', "bytes 1-5/18")
    gone = do(peer, "acknowledge", body={"ids": [first, second]})["payload"]["body"]
    assert gone == {"acknowledged": [first, second], "unknown": [], "again": []}
    assert do(peer, "status")["payload"]["body"]["waiting"] == 0
    assert signed_in.page()["messages"] == []


def test_a_profiles_key_is_a_resource_too(dcp: DcpApi) -> None:
    bob = dcp.peer(BOB_RESOURCE)
    assert do(bob, "status", mailbox=BOB)["payload"]["body"]["waiting"] == 0
    assert code(do(bob, "status")) == "NotTheOwner"


def test_containers_are_bytes_in_base64_with_etags_and_ranges(peer: Peer) -> None:
    key, data = f"0x{7:064x}", bytes(range(200))
    put = do(peer, "put_container", id=key, body=b64encode(data).decode(), none_match="*")["payload"]
    assert put["etag"]
    assert code(do(peer, "put_container", id=key, body="AAAA", none_match="*")) == "ChangedMeanwhile"
    found = do(peer, "container", id=key)["payload"]
    assert (b64decode(found["body"]), found["etag"]) == (data, put["etag"])
    part = do(peer, "container", id=key, range="bytes=10-19")["payload"]
    assert (b64decode(part["body"]), part["content_range"]) == (data[10:20], "bytes 10-19/200")
    assert do(peer, "container", id=key, none_match=put["etag"])["payload"] == {
        "etag": put["etag"],
        "not_modified": True,
    }
    outside = do(peer, "container", id=key, range="bytes=900-")
    assert (code(outside), "bytes */200" in says(outside)) == ("RangeUnsatisfiable", True)
    assert code(do(peer, "delete_container", id=key)) == "MatchNeeded"
    assert do(peer, "delete_container", id=key, match=put["etag"])["success"]
    assert code(do(peer, "container", id=key)) == "ContainerUnknown"


def test_settings_change_under_their_etag(dcp: DcpApi) -> None:
    bob = dcp.peer(BOB_RESOURCE)
    etag = do(bob, "settings", mailbox=BOB)["payload"]["etag"]
    changed = do(bob, "change_settings", mailbox=BOB, body={"unverified": True}, match=etag)["payload"]
    assert changed["etag"] != etag
    assert code(do(bob, "change_settings", mailbox=BOB, body={}, match=etag)) == "ChangedMeanwhile"


@pytest.mark.parametrize("operation", OWNER_OPERATIONS)
def test_every_operation_of_an_owner_is_an_operation_of_dcp(peer: Peer, operation: str) -> None:
    needs_id = "{id}" in OWNER_OPERATIONS[operation].path or "{key}" in OWNER_OPERATIONS[operation].path
    data = {"id": "7"} if needs_id else {}
    assert code(do(peer, operation, keys=(), **data)) == "NotTheOwner"
    answer = do(peer, operation, **data)
    assert code(answer) not in ("EINVAL", "NotTheOwner", "CounterClosed"), answer


@pytest.mark.parametrize(
    "operation",
    ["challenge", "token", "open", "submit_profile", "openapi", "__init__", "_lead", "_revoke", "", "x" * 100_000],
)
def test_nothing_else_is_an_operation(peer: Peer, operation: str) -> None:
    assert code(do(peer, operation)) == "EINVAL"


def test_messages_of_version_3_of_the_protocol_have_no_routes_here(peer: Peer) -> None:
    assert code(peer.send(peer.request("v3", v3_data("/messages", {})))) == "ENOV3"


@pytest.mark.parametrize(
    "data",
    [
        None, [], {}, {"mailbox": 7}, {"mailbox": SHOP, "more": 1}, {"mailbox": SHOP, "query": {"limit": [1]}},
        {"mailbox": SHOP, "query": {"limit": 0}}, {"mailbox": SHOP, "query": {"after": "\ud800"}},
        {"mailbox": SHOP, "range": None},
    ],
)  # fmt: skip
def test_malformed_data_is_told_by_its_member(peer: Peer, data: Json) -> None:
    answer = peer.send(peer.request("messages", data, keys=(OWNER,)))
    assert code(answer) == "NotARequest"
    assert "data" in says(answer) or "query" in says(answer)


def test_malformed_bytes_and_a_missing_id_are_told(peer: Peer) -> None:
    assert "is not base64" in says(do(peer, "put_container", id=f"0x{1:064x}", body="!", none_match="*"))
    assert "message needs id" in says(do(peer, "message"))
    assert code(do(peer, "status", mailbox="a..b")) == "NoMailboxName"


def test_an_owner_who_waits_gets_the_first_message(api: ApiStack, peer: Peer) -> None:
    api.sleep = lambda seconds: (api._sleep(seconds), None if len(api.slept) != 3 else api.file("{}"))[0]
    page = do(peer, "messages", query={"wait": 20})["payload"]["body"]
    assert (len(page["messages"]), len(api.slept)) == (1, 3)


# --- one message -----------------------------------------------------------------------------------------------------


def batch_of(peer: Peer, *requests: Json) -> list[Json]:
    answer = peer.send(peer.batch(*requests))
    assert answer["payload"][0]["success"]
    results: list[Json] = answer["payload"][1:]
    return results


def owners(peer: Peer, operation: str, **data: Any) -> Json:
    return peer.request(operation, {"mailbox": SHOP, **data}, keys=(OWNER,))


def test_a_batch_is_performed_in_its_order_and_each_request_by_itself(api: ApiStack, peer: Peer) -> None:
    [one] = api.file("{}")
    results = batch_of(
        peer,
        owners(peer, "status"),
        owners(peer, "message", id="none"),
        owners(peer, "acknowledge", body={"ids": [one]}),
        owners(peer, "status"),
    )
    assert [code(each) for each in results] == ["", "MessageUnknown", "", ""]
    assert [results[at]["payload"]["body"]["waiting"] for at in (0, 3)] == [1, 0]


def test_a_forged_request_in_a_batch_has_no_effect_and_the_others_count(api: ApiStack, peer: Peer) -> None:
    [one] = api.file("{}")
    signed_by_another, changed = owners(peer, "sign_out"), owners(peer, "status")
    signed_by_another["auth"] = {OWNER.address: peer.request(keys=(JACK,))["auth"][JACK.address]}
    changed["payload"]["operation"] = "sign_out"
    requests = [owners(peer, "status"), signed_by_another, changed, owners(peer, "acknowledge", body={"ids": [one]})]
    results = batch_of(peer, *requests)
    assert [code(each) for each in results] == ["", "NotTheOwner", "NotTheOwner", ""]
    assert (results[3]["payload"]["body"]["acknowledged"], sign_outs(api)) == ([one], 0)


def test_a_batch_has_at_most_ten_messages(peer: Peer) -> None:
    answer = peer.send(peer.batch(*(owners(peer, "status") for _ in range(MAX_BATCH + 1))))
    assert (code(answer), "at most 10 messages" in says(answer)) == ("EINVAL", True)


def test_answers_of_a_batch_fit_into_one_message_and_what_does_not_counts_without_telling_its_size(
    api: ApiStack, peer: Peer
) -> None:
    """Given back, a cheque for one read would measure the mailbox for its whole ttl."""
    [large] = api.file(json.dumps("x" * 3_000_000))
    reads = [owners(peer, "messages", query={"bytes": 4_000_000}) for _ in range(2)]
    first, second = batch_of(peer, *reads)
    assert [each["id"] for each in first["payload"]["body"]["messages"]] == [large]
    assert code(second) == "AnswerTooLarge"
    assert not re.search("[0-9]", says(second))
    again = {**reads[1], "id": "again", "nonce": peer.nonce}
    assert code(peer.send(again)) == "EDUP"


def test_what_does_not_fit_into_the_time_of_a_batch_may_be_sent_again(api: ApiStack, peer: Peer) -> None:
    reads = [owners(peer, "messages", query={"wait": wait}) for wait in (12, "12", 12)]
    results = batch_of(peer, *reads)
    assert [code(each) for each in results] == ["", "", "CounterClosed"]
    assert sum(api.slept) == 20
    assert peer.send({**reads[2], "id": "again", "nonce": peer.nonce})["success"]


def test_the_rate_limit_of_a_mailbox_counts_requests_of_dcp_and_one_that_is_refused_may_be_sent_again(
    api: ApiStack, peer: Peer, signed_in: Owner
) -> None:
    for _ in range(20):
        requests = [owners(peer, "status") for _ in range(MAX_BATCH)]
        answers = batch_of(peer, *requests)
        if code(answers[-1]):
            break
    assert code(answers[-1]) == "TooManyRequests"
    assert reason(signed_in.ask("GET", "/status")) == "TooManyRequests"
    api.clock.now += 1
    assert peer.send({**requests[-1], "nonce": peer.nonce})["success"]


def test_the_rate_limit_of_a_peer_counts_messages_before_anything_is_written_or_read_for_them(
    api: ApiStack, dcp: DcpApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger, calls = dcp.peer(JACK), []
    for _ in range(200):
        message = stranger.signed(stranger.request("status", {"mailbox": SHOP}))
        calls.clear()
        with monkeypatch.context() as noting:
            note_calls(api, noting, calls)
            response = dcp.post(message)
        if response.status != 200:
            break
        stranger.nonce = json.loads(response.body)["body"]["nonce"]
    assert (reason(response), calls) == ("TooManyRequests", [])
    assert dcp.peer(WES).dcpsid, "another peer is served"
    api.clock.now += 1
    assert code(dcp.answer(message)) == "NotTheOwner", "its nonce was not used"


def strangers_requests(stranger: Peer) -> dict[str, Json]:
    """Requests that nobody may make, each authorized by as many keys as are looked at."""
    keys = tuple(EthereumKey.generate() for _ in range(16))
    shop = {"mailbox": SHOP}
    validity = {"time": int(NOW), "stamp": "s"}
    return {
        "an unknown operation": stranger.request("x", shop, keys=keys),
        "of somebody else's mailbox": stranger.request("status", shop, keys=keys),
        "of nobody's mailbox": stranger.request("status", {"mailbox": "nobody.com"}, keys=keys),
        "of no mailbox": stranger.request("status", {"mailbox": ""}, keys=keys),
        "malformed": stranger.request("status", {"mailbox": 7}, keys=keys),
        "a revocation": stranger.request("revoke", {**shop, "body": validity}, keys=keys),
        "a watch": stranger.request("watch", shop, keys=keys),
        "a keepalive": stranger.request("keepalive", keys=keys),
        "expired": stranger.request("status", shop, keys=keys, validity={"time": 1}),
        "a close": stranger.request("close", keys=keys),
    }


def test_strangers_look_few_mailboxes_up_and_owners_are_served_meanwhile(
    api: ApiStack, dcp: DcpApi, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stranger with a new key for each message, and another name for each request; at each instance."""
    assert do(peer, "status")["success"], "an owner who is known here"
    calls: list[str] = []
    note_calls(api, monkeypatch, calls)
    codes: list[str] = []
    for number in range(40):
        stranger = dcp.peer(EthereumKey.generate())
        names = [f"n{number}-{each}.example" for each in range(MAX_BATCH)]
        requests = [stranger.request("status", {"mailbox": name}, keys=(stranger.key,)) for name in names]
        codes += [code(each) for each in batch_of(stranger, *requests)]
    looked_up = NEWCOMERS_AT_ONCE - 1  # the owner was new, too
    assert (codes.count("NotTheOwner"), codes.count("TooManyRequests")) == (looked_up, 400 - looked_up)
    assert calls.count("Query") <= looked_up * READS_OF_A_LOOK
    api.clock.now += 31  # nothing of the mailbox is in memory any more
    fill_the_newcomers_rate(dcp)
    assert do(peer, "status")["success"]
    assert code(do(dcp.peer(), "status")) == "", "in a new session, too"
    assert code(do(dcp.peer(BOB_RESOURCE), "status", mailbox=BOB)) == "TooManyRequests", "an owner who is new here"


def look_ups(peer: Peer, number: int, **data: Any) -> list[str]:
    """The codes of so many requests, in batches, each of a mailbox of its own if none is named."""
    codes: list[str] = []
    for _ in range(number // MAX_BATCH):
        names = [{"mailbox": f"{secrets.token_hex(8)}.example", **data} for _ in range(MAX_BATCH)]
        codes += [code(each) for each in batch_of(peer, *(peer.request("status", n, keys=(peer.key,)) for n in names))]
    return codes


def fill_the_newcomers_rate(dcp: DcpApi) -> None:
    while "NotTheOwner" in look_ups(dcp.peer(EthereumKey.generate()), MAX_BATCH):
        pass


def test_one_key_takes_a_tenth_of_the_newcomers_rate(api: ApiStack, dcp: DcpApi) -> None:
    codes = look_ups(dcp.peer(JACK), 100)
    assert codes.count("NotTheOwner") == NEWCOMER_PER_SECOND * BURST_SECONDS
    assert 10 * NEWCOMER_PER_SECOND <= NEWCOMERS_PER_SECOND
    assert do(dcp.peer(), "status")["success"], "an owner who is new here"


@pytest.mark.parametrize("mailbox", ["", SHOP], ids=["of many mailboxes", "of the owner"])
def test_who_was_let_do_something_is_known_for_that_only(
    api: ApiStack, dcp: DcpApi, monkeypatch: pytest.MonkeyPatch, mailbox: str
) -> None:
    """The holder of a cheque that was used, and also of one for another mailbox, or for this one."""
    wes = dcp.peer(WES)
    assert present(wes, cheque(dcp, WES, "status"))["success"]
    calls: list[str] = []
    note_calls(api, monkeypatch, calls)
    codes = look_ups(wes, 100, **({"mailbox": mailbox} if mailbox else {}))
    looked_up = codes.count("NotTheOwner")
    assert looked_up <= NEWCOMER_PER_SECOND * BURST_SECONDS
    assert codes.count("TooManyRequests") == 100 - looked_up
    assert calls.count("Query") <= looked_up * READS_OF_A_LOOK


def test_a_request_that_nobody_authorized_looks_nothing_up(
    api: ApiStack, dcp: DcpApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger, calls = dcp.peer(JACK), list[str]()
    note_calls(api, monkeypatch, calls)
    answers = batch_of(stranger, *(stranger.request("status", {"mailbox": name}) for name in (SHOP, "nobody.com")))
    assert ([code(each) for each in answers], calls) == (["NotTheOwner"] * 2, ["UpdateItem"])


def test_an_owner_whose_mailbox_is_in_memory_is_no_newcomer(api: ApiStack, dcp: DcpApi) -> None:
    fill_the_newcomers_rate(dcp)
    assert code(do(dcp.peer(), "status")) == "TooManyRequests"
    api.clock.now += 1
    wes = dcp.peer(WES)
    assert present(wes, cheque(dcp, WES, "status"))["success"]
    fill_the_newcomers_rate(dcp)
    assert do(dcp.peer(), "status")["success"]


def test_a_message_of_a_stranger_costs_one_write(api: ApiStack, dcp: DcpApi, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of its nonce: stamps are taken when operation, mailbox and owner are known."""
    stranger = dcp.peer(JACK)
    requests = strangers_requests(stranger)
    close = requests.pop("a close")
    calls: list[str] = []
    note_calls(api, monkeypatch, calls)
    for sent, allowed in ((requests, 1), (requests, 1), ({**requests, "a close": close}, 2)):
        calls.clear()
        answers = batch_of(stranger, *sent.values())
        assert [code(each) for each in answers].count("") == allowed, "the keepalive, and the close"
        assert [each for each in calls if each.startswith(("Put", "Update", "Delete"))] == ["UpdateItem"]
    assert code(stranger.send(stranger.request("keepalive"))) == "EINVAL", "the session is over"


def test_a_read_that_fails_on_our_side_may_be_sent_again_and_a_write_may_not(
    api: ApiStack, dcp: DcpApi, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise NotNowError(STORE_UNAVAILABLE)

    read, write = owners(peer, "status"), owners(peer, "sign_out")
    with monkeypatch.context() as broken:
        broken.setattr(type(api.mail.listing), "status", fail)
        broken.setattr(type(api.mailboxes), "revoke_tokens", fail)
        assert [code(peer.send({**each, "nonce": peer.nonce})) for each in (read, write)] == ["StoreUnavailable"] * 2
    assert peer.send({**read, "nonce": peer.nonce})["success"]
    assert code(peer.send({**write, "id": "again", "nonce": peer.nonce})) == "EDUP"


def test_an_unexpected_error_before_the_handler_uses_up_nothing(
    api: ApiStack, dcp: DcpApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("a bug")

    written, wes = cheque(dcp, WES), dcp.peer(WES)
    with monkeypatch.context() as broken:
        broken.setattr(type(api.directory), "mailbox", fail)
        assert code(present(wes, written)) == "CounterClosed"
    assert present(wes, written)["success"]


def test_an_unexpected_error_of_a_handler_is_not_now(
    api: ApiStack, peer: Peer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(type(api.mail.listing), "status", fail)
    answer = do(peer, "status")
    assert (code(answer), "bug" in says(answer)) == ("CounterClosed", False)
    assert "a handler failed" in caplog.text


# --- who -------------------------------------------------------------------------------------------------------------


def test_an_owner_authorizes_too(api: ApiStack, dcp: DcpApi, peer: Peer) -> None:
    """Otherwise, a target that an owner talks to could relay the session to us."""
    assert code(do(peer, "status", keys=())) == "NotTheOwner"
    assert do(peer, "status")["success"]


def test_names_that_exist_or_not_are_answered_alike(api: ApiStack, dcp: DcpApi) -> None:
    api.mailboxes.set_keys("closed.com", api.mailboxes.find(SHOP).keys)
    api.mailboxes.close("closed.com", 1)
    stranger = dcp.peer(JACK)
    answers = []
    for name in (SHOP, BOB, "closed.com", "nobody.com", "nobody.eth"):
        answer = do(stranger, "status", mailbox=name)
        answers.append({**answer, "id": "", "nonce": ""})
    assert all(each == answers[0] for each in answers)
    assert code(answers[0]) == "NotTheOwner"


def test_names_that_exist_or_not_are_refused_by_the_same_work(
    api: ApiStack, dcp: DcpApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The calls of AWS and the look-ups of profiles, in their order, and the keys that are read: it could be measured.

    In a process that has read none of the names yet, and again in one that has. Only for a name with a dm3 mailbox,
    which is public, a profile is looked up: strangers choose the names.
    """
    api.mailboxes.set_keys(SHOP, [OWNER_SIGNING_KEY.public.encode()])
    api.mailboxes.set_keys("without-keys.com", [])
    api.mailboxes.set_keys("closed.com", api.mailboxes.find(SHOP).keys)
    api.mailboxes.close("closed.com", 1)
    api.users.keys["nobody.eth"] = BOB_KEY
    work: list[str] = []
    note_calls(api, monkeypatch, work)
    for holder, name in ((sign_in, "read_owner_key"), (FakeProfiles, "user")):
        monkeypatch.setattr(holder, name, noted(work, name, getattr(holder, name)))
    stranger, names = dcp.peer(JACK), (SHOP, BOB, "closed.com", "without-keys.com", "nobody.com", "nobody.eth")
    for _ in range(2):
        api.clock.now += 1  # the stranger may look up two mailboxes more
        taken = {}
        for name in names:
            request = stranger.request("status", {"mailbox": name}, keys=(JACK,))
            work.clear()
            assert code(stranger.send(request)) == "NotTheOwner"
            taken[name] = tuple(work)
        assert {name for name, work_for in taken.items() if "user" in work_for} == {BOB}
        apart = {tuple(each for each in work_for if each != "user") for work_for in taken.values()}
        assert len(apart) == 1, taken
        assert "read_owner_key" in taken[SHOP], taken
        assert [each for each in taken[SHOP] if each.startswith(("Update", "Put"))] == ["UpdateItem"]


def note_calls(api: ApiStack, monkeypatch: pytest.MonkeyPatch, calls: list[str]) -> None:
    """Note the operation of each call of AWS from now on."""
    for client in api.deployed.clients.all():
        call = client._make_api_call
        monkeypatch.setattr(
            client, "_make_api_call", lambda name, asked, call=call: calls.append(name) or call(name, asked)
        )


def noted(work: list[str], name: str, call: Callable[..., object]) -> Callable[..., object]:
    return lambda *arguments, **more: work.append(name) or call(*arguments, **more)


def test_a_session_that_is_relayed_has_no_effect_here(api: ApiStack, dcp: DcpApi) -> None:
    """The owner talks to Jack, who opens the owner's session here with what the owner signs, and is believed at both
    ends: only that the owner's authorization names Jack as the guardian keeps him from using it here."""
    owner = ConnectionInitiator(OWNER, store=MemoryStore(), random=secrets.token_bytes)

    def relay(message: bytes) -> list[ConnectionEvent]:
        answered = dcp.answer(message)
        return owner.receive(sign_body(answered, JACK), Clock(api.clock.now, api.clock.now))

    def ask(guardian: Address) -> list[ConnectionEvent]:
        allow = [Allowance(OWNER.address, guardian, OWNER.address)]
        owner.send(NewRequest(new_payload("sign_out", {"mailbox": SHOP}, allow=allow), (OWNER,)))
        [message] = owner.messages(Clock(api.clock.now, api.clock.now))
        return relay(message)

    [opened] = relay(owner.connect(Clock(api.clock.now, api.clock.now)))
    assert isinstance(opened, SessionOpened)
    assert opened.peer == JACK.address
    [refused] = ask(JACK.address)
    assert isinstance(refused, RequestFailed)
    assert (refused.error.code, sign_outs(api)) == ("NotTheOwner", 0)
    # It is relayed indeed: what names us counts.
    [answered] = ask(api.dcp_identities.newest_first()[0].key.address)
    assert isinstance(answered, RequestAnswered)
    assert sign_outs(api) == 1


def test_no_answer_repeats_what_the_sender_wrote(dcp: DcpApi) -> None:
    stranger = dcp.peer(JACK)
    for operation, data in (("<script>", {}), ("status", {"mailbox": "<script>"}), ("status", {"<script>": 1})):
        assert "script" not in says(stranger.send(stranger.request(operation, data, keys=(JACK,))))


def test_a_key_that_was_just_added_counts_at_once(api: ApiStack, dcp: DcpApi) -> None:
    api.mailboxes.set_keys(SHOP, [])
    api.directory.forget(SHOP)
    peer = dcp.peer()
    assert code(do(peer, "status")) == "NotTheOwner"
    give_keys(api)
    assert do(peer, "status")["success"]


# --- cheques ---------------------------------------------------------------------------------------------------------


def test_a_cheque_counts_once_for_its_holder_whoever_carried_it(api: ApiStack, dcp: DcpApi) -> None:
    written, wes, jack = cheque(dcp, WES, "status"), dcp.peer(WES), dcp.peer(JACK)
    # Its stamp is no secret, and nobody else uses it up.
    assert code(jack.send(jack.request("status", {"mailbox": SHOP}, validity={"stamp": "cheque 7"}))) == "NotTheOwner"
    assert code(present(jack, written)) == "NotTheOwner"
    assert present(wes, written)["success"]
    for again in (wes, dcp.peer(WES)):
        assert code(present(again, written)) == "EDUP"


def test_a_cheque_that_two_keys_of_a_mailbox_signed_counts_once_by_whichever_signature(
    api: ApiStack, dcp: DcpApi
) -> None:
    """ "If the receiver has ever seen a request with the same stamp … an error.code=EDUP response is sent"."""
    other = PrivateSigningKey.generate()
    keys = [b64encode(b64decode(key.public.encode())).decode() for key in (OWNER_SIGNING_KEY, other)]
    api.mailboxes.set_keys(SHOP, keys)
    api.directory.forget(SHOP)
    wes, guardian = dcp.peer(WES), dcp.api.dcp_identities.newest_first()[0].key.address
    signers = (OWNER, ethereum_key(other))
    payload = new_payload(
        "status", {"mailbox": SHOP}, allow=[Allowance(each.address, guardian, WES.address) for each in signers],
        validity={"time": int(NOW), "stamp": "of both", "ttl": DAY},
    )  # fmt: skip
    auth = request_body(NewRequest(payload, signers), payload, "unused", hex_prefix=False)["auth"]
    assert isinstance(auth, dict)
    by_each = [{"payload": payload, "auth": {each.address: auth[each.address]}} for each in signers]
    answers = [present(wes, each) for each in (*by_each, {"payload": payload, "auth": auth})]
    assert [code(each) for each in answers] == ["", "EDUP", "EDUP"]


def test_any_key_of_a_mailbox_revokes_what_another_one_authorized(api: ApiStack, dcp: DcpApi, peer: Peer) -> None:
    other = PrivateSigningKey.generate()
    keys = [b64encode(b64decode(key.public.encode())).decode() for key in (OWNER_SIGNING_KEY, other)]
    api.mailboxes.set_keys(SHOP, keys)
    api.directory.forget(SHOP)
    written = cheque(dcp, WES, by=ethereum_key(other))
    assert revoke(peer, written["payload"]["validity"])["success"]
    assert code(present(dcp.peer(WES), written)) == "EDUP"


@pytest.mark.parametrize("member", ["operation", "data", "allow", "validity"])
def test_a_cheque_that_was_changed_is_nobodys(api: ApiStack, dcp: DcpApi, member: str) -> None:
    written, wes = cheque(dcp, WES), dcp.peer(WES)
    changes = {
        "operation": "status", "data": {"mailbox": BOB}, "validity": {**written["payload"]["validity"], "ttl": 2 * DAY},
        "allow": [*written["payload"]["allow"], *written["payload"]["allow"]],
    }  # fmt: skip
    payload = {**written["payload"], member: changes[member]}
    assert code(present(wes, {**written, "payload": payload})) == "NotTheOwner"
    assert sign_outs(api) == 0
    assert present(wes, written)["success"]


def test_a_cheque_for_another_guardian_or_holder_is_nobodys(api: ApiStack, dcp: DcpApi) -> None:
    written = cheque(dcp, WES)
    payload = new_payload(
        "sign_out", {"mailbox": SHOP}, allow=[Allowance(OWNER.address, JACK.address, WES.address)],
        validity={"time": int(NOW), "stamp": "other", "ttl": 60},
    )  # fmt: skip
    elsewhere = request_body(NewRequest(payload, (OWNER,)), payload, "unused", hex_prefix=False)
    wes = dcp.peer(WES)
    assert code(present(wes, {"payload": elsewhere["payload"], "auth": elsewhere["auth"]})) == "NotTheOwner"
    assert code(present(dcp.peer(OWNER), written)) == "NotTheOwner"


def test_a_cheque_counts_until_its_time_is_over(api: ApiStack, dcp: DcpApi) -> None:
    late, expired = cheque(dcp, WES, stamp="late"), cheque(dcp, WES, stamp="expired", time=int(NOW) - DAY - 20)
    assert code(present(dcp.peer(WES), expired)) == "EEXPIRED"
    api.clock.now += DAY
    assert present(dcp.peer(WES), late)["success"]


@pytest.mark.parametrize("after", [DAY, DAY + 5, DAY + 10])
def test_a_cheque_that_was_used_is_refused_by_its_stamp_until_its_ttl_and_the_slop_are_over(
    api: ApiStack, dcp: DcpApi, after: float
) -> None:
    """On another session, whose nonces and ids are new: only the stamp can refuse it."""
    used, unused = (cheque(dcp, WES, "status", stamp=stamp) for stamp in ("used", "unused"))
    assert present(dcp.peer(WES), used)["success"]
    api.clock.now += after
    assert code(present(dcp.peer(WES), used)) == "EDUP"
    assert present(dcp.peer(WES), unused)["success"]
    api.clock.now += DAY + 10.5 - after
    assert code(present(dcp.peer(WES), used)) == "EEXPIRED"


def test_a_ttl_beyond_the_limit_is_the_limit(api: ApiStack, dcp: DcpApi) -> None:
    used, unused, late = (cheque(dcp, WES, "status", stamp=stamp, ttl=1e308) for stamp in ("used", "unused", "late"))
    assert present(dcp.peer(WES), used)["success"]
    api.clock.now += 7 * DAY + 10
    assert code(present(dcp.peer(WES), used)) == "EDUP"
    assert present(dcp.peer(WES), unused)["success"]
    api.clock.now += 0.5
    assert code(present(dcp.peer(WES), late)) == "EEXPIRED"


@pytest.mark.parametrize(
    ("before", "later", "ttl", "after"),
    [
        ({"dcp_max_ttl_seconds": 60}, {"dcp_max_ttl_seconds": DCP_MAX_TTL_CEILING_SECONDS}, 2 * DAY, 2 * DAY),
        (
            {"dcp_max_ttl_seconds": 60}, {"dcp_max_ttl_seconds": DCP_MAX_TTL_CEILING_SECONDS}, 1e308,
            DCP_MAX_TTL_CEILING_SECONDS,
        ),
        (
            {"dcp_slop_milliseconds": 0}, {"dcp_slop_milliseconds": DCP_SLOP_CEILING_MILLISECONDS}, 60,
            60 + DCP_SLOP_CEILING_MILLISECONDS / 1000,
        ),
    ],
)  # fmt: skip
def test_raised_settings_revive_no_cheque(
    api: ApiStack, dcp: DcpApi, before: dict[str, int], later: dict[str, int], ttl: float, after: float
) -> None:
    """A stamp is remembered for as long as any setting could let its cheque count."""
    used, unused = (cheque(dcp, WES, "status", stamp=stamp, ttl=ttl) for stamp in ("used", "unused"))
    api.router = RouterOfBoth.of(api.parts(**before).mailbox_api)
    assert present(dcp.peer(WES), used)["success"]
    api.clock.now += after
    assert code(present(dcp.peer(WES), unused)) == "EEXPIRED", "the settings do not grant so much yet"
    api.router = RouterOfBoth.of(api.parts(**later).mailbox_api)
    assert code(present(dcp.peer(WES), used)) == "EDUP"
    assert present(dcp.peer(WES), unused)["success"]


def test_a_stamp_of_three_megabytes_counts_once(api: ApiStack, dcp: DcpApi) -> None:
    written = cheque(dcp, WES, "status", stamp="é" * 1_500_000)
    assert [code(present(dcp.peer(WES), written)) for _ in range(2)] == ["", "EDUP"]
    assert max(len(json.dumps(row)) for row in api.deployed.rows("DcpTable")) < 1000


def test_a_cheque_is_revoked_by_its_stamp(api: ApiStack, dcp: DcpApi, peer: Peer) -> None:
    written = cheque(dcp, WES)
    validity = written["payload"]["validity"]
    assert code(revoke(peer, validity, keys=())) == "NotTheOwner"
    assert code(revoke(dcp.peer(JACK), validity, keys=(JACK,))) == "NotTheOwner"
    # The stamp of another mailbox is another stamp.
    assert revoke(dcp.peer(BOB_RESOURCE), validity, keys=(BOB_RESOURCE,), mailbox=BOB)["success"]
    assert revoke(peer, validity)["success"]
    assert code(present(dcp.peer(WES), written)) == "EDUP"
    api.clock.now += DAY
    assert code(present(dcp.peer(WES), written)) == "EDUP"
    assert sign_outs(api) == 0


@pytest.mark.parametrize("told", [{}, {"ttl": 15}, {"ttl": 1e308}, {"time": 0}, {"time": -1e308}], ids=str)
def test_what_was_revoked_counts_never_again_whatever_its_revocation_told(
    api: ApiStack, dcp: DcpApi, peer: Peer, told: Json
) -> None:
    written = cheque(dcp, WES)
    validity = {"time": int(NOW), "stamp": written["payload"]["validity"]["stamp"], **told}
    assert revoke(peer, validity)["success"]
    api.clock.now += DAY - 1
    assert code(present(dcp.peer(WES), written)) == "EDUP"
    assert sign_outs(api) == 0


def test_a_cheque_that_is_dated_later_is_revoked_for_as_long_as_it_would_count(
    api: ApiStack, dcp: DcpApi, peer: Peer
) -> None:
    """Also after the longest time to live from now, 30 days: it begins when the cheque is dated."""
    revoked, valid = (cheque(dcp, WES, "status", time=int(NOW) + 29 * DAY, ttl=2 * DAY, stamp=stamp) for stamp in "rv")
    assert revoke(peer, revoked["payload"]["validity"])["success"]
    for after in (29 * DAY, 31 * DAY):
        api.clock.now = NOW + after
        assert code(present(dcp.peer(WES), revoked)) == "EDUP"
    assert present(dcp.peer(WES), valid)["success"]


@pytest.mark.parametrize("time", [1e308, 1e300, 1e12, 1e40, NOW + 31 * DAY])
def test_a_revocation_that_would_be_remembered_for_ages_is_refused_and_writes_nothing(
    api: ApiStack, peer: Peer, time: float
) -> None:
    assert code(revoke(peer, {"time": time, "stamp": "s"})) == "ETIMETRAVEL"
    assert max(int(row["ttl"]["N"]) for row in api.deployed.rows("DcpTable")) < NOW + 40 * DAY


def test_an_id_that_looks_like_that_of_a_revocation_is_in_nobodys_way(dcp: DcpApi, peer: Peer) -> None:
    written = cheque(dcp, WES)
    revocation = {"mailbox": SHOP, "body": written["payload"]["validity"]}
    requests = (("r revokes", "status", {"mailbox": SHOP}), ("r", "revoke", revocation))
    for name, operation, data in requests:
        request = peer.request(operation, data, keys=(OWNER,))
        assert peer.send({**request, "id": name})["success"]


def test_revoking_what_was_used_already_says_so(dcp: DcpApi, peer: Peer) -> None:
    written = cheque(dcp, WES, "status")
    assert present(dcp.peer(WES), written)["success"]
    answer = revoke(peer, written["payload"]["validity"])
    assert (code(answer), "used or revoked before" in says(answer)) == ("EDUP", True)


@pytest.mark.parametrize("validity", [None, {}, {"time": "now", "stamp": "s"}, {"time": 1}, {"time": 1, "stamp": ""}])
def test_a_revocation_needs_a_validity(peer: Peer, validity: Json) -> None:
    assert code(revoke(peer, validity)) == "EINVAL"
    assert code(peer.send(peer.request("revoke", {"mailbox": SHOP}, keys=(OWNER,)))) == "EINVAL"


def test_signing_out_revokes_what_was_authorized_before_and_in_the_minute_after(
    api: ApiStack, dcp: DcpApi, signed_in: Owner
) -> None:
    before = cheque(dcp, WES, "status", stamp="before")
    signed_in.ask("POST", "/sign-out")
    api.clock.now += 31
    meanwhile = cheque(dcp, WES, "status", stamp="meanwhile")
    wes = dcp.peer(WES)
    assert [code(present(wes, each)) for each in (before, meanwhile)] == ["DcpAuthorizationRevoked"] * 2
    api.clock.now += 30
    assert present(dcp.peer(WES), cheque(dcp, WES, "status", stamp="after"))["success"]


def test_a_cheque_that_is_dated_more_than_a_minute_after_signing_out_is_revoked_by_itself(
    api: ApiStack, dcp: DcpApi, signed_in: Owner
) -> None:
    """Its date does not say that it was written before."""
    dated = {seconds: cheque(dcp, WES, "status", time=int(NOW) + seconds, stamp=f"{seconds}") for seconds in (59, 120)}
    revoked = cheque(dcp, WES, "status", time=int(NOW) + 120, stamp="revoked")
    signed_in.ask("POST", "/sign-out")
    api.clock.now = NOW + 130
    assert revoke(dcp.peer(OWNER), revoked["payload"]["validity"])["success"]
    wes = dcp.peer(WES)
    assert code(present(wes, dated[59])) == "DcpAuthorizationRevoked"
    assert code(present(wes, revoked)) == "EDUP"
    assert present(wes, dated[120])["success"]


def test_a_key_that_is_taken_away_authorizes_nothing(api: ApiStack, dcp: DcpApi) -> None:
    written = cheque(dcp, WES)
    api.mailboxes.set_keys(SHOP, api.mailboxes.find(SHOP).keys[:1])
    api.clock.now += 31
    assert code(present(dcp.peer(WES), written)) == "NotTheOwner"


def test_a_closed_mailbox_has_no_owner(api: ApiStack, dcp: DcpApi) -> None:
    written = cheque(dcp, WES)
    api.mailboxes.close(SHOP, int(NOW))
    api.clock.now += 31
    assert code(present(dcp.peer(WES), written)) == "NotTheOwner"


# --- identities ------------------------------------------------------------------------------------------------------


def test_earlier_identities_stay_guardians(api: ApiStack, dcp: DcpApi, peer: Peer) -> None:
    written, old = cheque(dcp, WES), dcp.identities()[0]
    assert do(peer, "status")["success"]
    api.dcp_identities.add("x" * 64, int(NOW) + 120, drop_before=0)
    assert dcp.described()["identity"] == old
    api.clock.now += 121
    assert dcp.described()["identity"] != old
    assert len(dcp.identities()) == 2
    assert peer.send({**owners(peer, "status"), "nonce": peer.nonce})["success"]
    assert present(dcp.peer(WES), written)["success"]


@pytest.fixture
def instances(api: ApiStack, dcp: DcpApi) -> tuple[RouterOfBoth, RouterOfBoth]:
    """Two instances of the function: each has parts, caches and a clock of its own. They share the store only."""

    def ahead() -> float:
        return api.clock.now + 3

    system = System(clock=ahead, monotonic=ahead, threads=lambda _: SerialExecutor())
    other = api.deployed.parts(system=system, mailbox_api_cors_origins="none")
    other.mailbox_api.dcp_users = FakeProfiles({BOB: BOB_KEY})
    return api.router, RouterOfBoth.of(other.mailbox_api)


def test_two_instances_serve_one_session(
    api: ApiStack, peer: Peer, instances: tuple[RouterOfBoth, RouterOfBoth]
) -> None:
    for api.router in (*instances, *instances):
        assert do(peer, "status")["success"]


def test_what_one_instance_received_counts_at_no_other(
    api: ApiStack, dcp: DcpApi, peer: Peer, instances: tuple[RouterOfBoth, RouterOfBoth]
) -> None:
    message = peer.signed(owners(peer, "acknowledge", body={"ids": api.file("{}")}))
    written = cheque(dcp, WES, "status")
    api.router, other = instances
    assert dcp.answer(message)["success"]
    assert present(dcp.peer(WES), written)["success"]
    api.router = other
    assert code(dcp.answer(message)) == "EINVAL"
    assert code(present(dcp.peer(WES), written)) == "EDUP"


def test_a_session_that_was_closed_at_one_instance_is_closed_at_the_other(
    api: ApiStack, peer: Peer, instances: tuple[RouterOfBoth, RouterOfBoth]
) -> None:
    api.router, other = instances
    first = peer.nonce
    assert peer.send(peer.request("close"))["success"]
    api.router = other
    for nonce in (first, peer.nonce):
        assert code(peer.send({**owners(peer, "status"), "nonce": nonce})) == "EINVAL"


def test_a_revocation_at_one_instance_counts_at_the_other_at_once(
    api: ApiStack, dcp: DcpApi, peer: Peer, instances: tuple[RouterOfBoth, RouterOfBoth]
) -> None:
    revoked, valid = cheque(dcp, WES), cheque(dcp, WES, stamp="cheque 8")
    one, other = instances
    api.router = other
    assert do(peer, "status")["success"], "it has read the mailbox"
    api.router = one
    assert revoke(peer, revoked["payload"]["validity"])["success"]
    api.router = other
    assert code(present(dcp.peer(WES), revoked)) == "EDUP"
    assert present(dcp.peer(WES), valid)["success"]


def test_a_sign_out_at_one_instance_counts_at_the_other_within_30_seconds(
    api: ApiStack, dcp: DcpApi, peer: Peer, instances: tuple[RouterOfBoth, RouterOfBoth]
) -> None:
    written = [cheque(dcp, WES, "status", stamp=stamp) for stamp in ("at one", "at the other")]
    one, other = instances
    api.router = other
    assert do(peer, "status")["success"], "it has read the mailbox"
    api.router = one
    assert do(peer, "sign_out")["success"]
    api.clock.now += 30
    for api.router, each in zip(instances, written, strict=True):
        assert code(present(dcp.peer(WES), each)) == "DcpAuthorizationRevoked"


def test_a_key_that_is_taken_away_authorizes_nothing_at_any_instance_after_30_seconds(
    api: ApiStack, peer: Peer, instances: tuple[RouterOfBoth, RouterOfBoth]
) -> None:
    for api.router in instances:
        assert do(peer, "status")["success"], "it has read the mailbox"
    api.mailboxes.set_keys(SHOP, api.mailboxes.find(SHOP).keys[:1])
    api.clock.now += 30
    for api.router in instances:
        assert code(do(peer, "status")) == "NotTheOwner"


def test_a_denied_call_is_told_and_changes_nothing(
    api: ApiStack, peer: Peer, dcp: DcpApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: object, **__: object) -> None:
        raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": ""}}, "UpdateItem")

    message = peer.signed(peer.request("keepalive"))
    with monkeypatch.context() as broken:
        broken.setattr(api.deployed.clients.dynamodb, "update_item", denied)
        assert dcp.post(message).status == 503
    assert dcp.answer(message)["success"]


def test_what_a_batch_did_is_answered_although_a_later_write_is_denied(
    api: ApiStack, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, puts = api.deployed.clients.dynamodb.put_item, count()

    def denied_after_two(**request: Any) -> Any:
        if next(puts) < 2:
            return put(**request)
        raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": ""}}, "PutItem")

    batch = peer.batch(*(peer.request("sign_out", {"mailbox": SHOP}, keys=(OWNER,)) for _ in range(2)))
    with monkeypatch.context() as broken:
        broken.setattr(api.deployed.clients.dynamodb, "put_item", denied_after_two)
        _, done, failed = peer.send(batch)["payload"]
    assert (done["success"], code(failed), sign_outs(api)) == (True, "StoreUnavailable", 1)


# --- watch -----------------------------------------------------------------------------------------------------------


def watch_batch(peer: Peer, *more: Json, keys: tuple[EthereumKey, ...] = (OWNER,), mailbox: str = SHOP) -> Json:
    return peer.batch(peer.request("watch", {"mailbox": mailbox}, keys=keys), *more)


def watching(api: ApiStack, mailbox: str = SHOP) -> list[WatchingSession]:
    return [WatchingSession.decode(target.to) for target in api.targets.of(mailbox)]


def test_a_watch_is_acknowledged_and_answered_later(api: ApiStack, dcp: DcpApi, peer: Peer) -> None:
    status = peer.request("status", {"mailbox": SHOP}, keys=(OWNER,))
    batch = watch_batch(peer, status)
    answer = dcp.over_socket(peer.signed(batch))
    acknowledged, told = answer["payload"]
    assert (acknowledged["id"], told["id"], told["success"]) == (batch["id"], status["id"], True)
    assert answer["nonce"], "the session goes on"
    [session] = watching(api)
    assert (session.connection, session.dcpsid) == ("L0SM9cOFvHcCIhw=", peer.dcpsid)
    assert (session.request, f"0x{session.identity}") == (batch["payload"][0]["id"], dcp.identities()[0])


def test_a_watch_alone_in_its_batch_is_acknowledged_alone(api: ApiStack, dcp: DcpApi, peer: Peer) -> None:
    batch = watch_batch(peer)
    assert [each["id"] for each in dcp.over_socket(peer.signed(batch))["payload"]] == [batch["id"]]
    assert len(watching(api)) == 1


def test_a_session_is_bound_to_no_websocket_and_a_watch_is_answered_where_it_came(
    api: ApiStack, dcp: DcpApi, peer: Peer
) -> None:
    """By design: who opened the session signs each message, so it may come by the WebSocket of anybody, or HTTPS."""
    for connection in ("first=", "of another="):
        batch = peer.batch(peer.request("keepalive"), peer.request("watch", {"mailbox": SHOP}, keys=(OWNER,)))
        peer.nonce = dcp.over_socket(peer.signed(batch), connection)["nonce"]
        assert code(dcp.over_socket(peer.signed(batch), "third=")) == "EINVAL", "a copy counts on no WebSocket"
    assert do(peer, "status")["success"]
    assert [each.connection for each in watching(api)] == ["of another="], "a session watches where it asked last"
    [message] = map(read_queue_message, api.deployed.bodies("CourierQueue"))
    assert isinstance(message, WatchReplaced)
    assert WatchingSession.decode(message.session).connection == "first=", "its earlier watch is answered, too"


def test_a_stranger_on_the_websocket_of_an_owner_can_do_nothing_with_its_session(
    api: ApiStack, dcp: DcpApi, peer: Peer
) -> None:
    """API Gateway tells the id of the connection that a message came by, and it authorizes nothing."""
    peer.nonce = dcp.over_socket(peer.signed(watch_batch(peer)), "of the owner=")["nonce"]
    jack = dcp.peer(JACK)
    stolen = jack.batch(jack.request("watch", {"mailbox": SHOP}, dcpsid=peer.dcpsid), dcpsid=peer.dcpsid)
    assert code(dcp.over_socket(jack.signed({**stolen, "nonce": peer.nonce}), "of the owner=")) == "EINVAL"
    answer = dcp.over_socket(jack.signed(watch_batch(jack, keys=(JACK,))), "of the owner=")
    assert code(answer["payload"][1]) == "NotTheOwner"
    assert [each.dcpsid for each in watching(api)] == [peer.dcpsid]
    assert do(peer, "status")["success"]


def bad_messages(dcp: DcpApi, peer: Peer) -> dict[str, bytes]:
    """Messages after which the text closes the connection."""
    jack = dcp.peer(JACK)
    forged = json.loads(peer.signed(peer.request("keepalive")))
    response = {"id": "1", "type": "response", "success": True, "time": int(NOW), "dcpsid": peer.dcpsid}
    return {
        "no JSON": b"hello",
        "no message": b'{"hello": 1}',
        "not signed by its owner": json.dumps(forged | {"owner": f"0x{JACK.address}"}).encode(),
        "not of the peer of the session": jack.signed(jack.request("keepalive", dcpsid=peer.dcpsid)),
        "a response to nothing": peer.signed(response),
        "a malformed response": peer.signed({**response, "success": 1}),
        "without an id": peer.signed({**peer.request("keepalive"), "id": ""}),
        "too large": b" " * (MAX_MESSAGE_BYTES + 1),
    }


@pytest.mark.parametrize("which", [*range(8)])
def test_a_bad_message_closes_the_websocket_that_it_came_by_and_ends_no_session(
    api: ApiStack, dcp: DcpApi, peer: Peer, which: int
) -> None:
    data = list(bad_messages(dcp, peer).values())[which]
    before = api.deployed.dump()
    response = dcp.post_over_socket(data, "of the stranger=")
    assert (api.closed_sockets, response.ends_connection) == (["of the stranger="], True)
    assert api.deployed.dump() == before, "nothing is written for it"
    assert do(peer, "status")["success"]


def test_bad_messages_and_responses_among_them_are_not_counted_as_nothing_is_read_written_or_signed_for_them(
    api: ApiStack, dcp: DcpApi, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    bad = bad_messages(dcp, peer)
    del bad["not of the peer of the session"]  # it gets a signed answer
    note_calls(api, monkeypatch, calls)
    for data in bad.values():
        refusals = [reason(dcp.post(data)) for _ in range(150)]
        assert len(set(refusals)) == 1
        assert refusals[0] != "TooManyRequests"
    assert calls == []


def test_a_bad_message_over_https_closes_nothing(api: ApiStack, dcp: DcpApi, peer: Peer) -> None:
    for data in bad_messages(dcp, peer).values():
        assert dcp.post(data).ends_connection, "it is logged as over a WebSocket"
    assert api.closed_sockets == []
    assert do(peer, "status")["success"]


def test_what_a_peer_may_send_closes_no_websocket(api: ApiStack, dcp: DcpApi, peer: Peer) -> None:
    old = peer.signed(peer.request("keepalive"))
    assert dcp.over_socket(old)["success"]
    assert code(dcp.over_socket(old)) == "EINVAL", "the nonce counted"
    last = dcp.post_over_socket(peer.signed(peer.request("status", {"mailbox": SHOP})))
    assert (api.closed_sockets, last.ends_connection) == ([], False)


def test_a_bad_message_is_refused_as_well_if_its_websocket_cannot_be_closed(
    api: ApiStack, dcp: DcpApi, caplog: pytest.LogCaptureFixture
) -> None:
    def close(connection: str) -> None:
        raise NotNowError(OUTBOUND_FAILED, f"{connection} is not reached")

    api.close_socket = close
    assert reason(dcp.post_over_socket(b"hello")) == "NotJson"
    assert "a WebSocket was not closed after a bad message" in caplog.text


def test_the_response_to_a_watch_is_sent_to_its_websocket_only_and_a_closed_one_gets_none(
    api: ApiStack, dcp: DcpApi, peer: Peer
) -> None:
    peer.nonce = dcp.over_socket(peer.signed(watch_batch(peer)), "closed=")["nonce"]
    [target] = api.targets.of(SHOP)
    sockets = FakeSockets(is_open=False)
    carrier = SessionResponses(lambda: api.dcp_identities, lambda: sockets, api.clock)
    assert not carrier.carry(target, "n", ""), "the courier removes the target"
    assert [connection for connection, _ in sockets.sent] == ["closed="]
    assert do(peer, "status")["success"], "the session goes on over another transport"


def test_a_watch_needs_a_websocket_and_a_batch(api: ApiStack, dcp: DcpApi, peer: Peer) -> None:
    over_https = peer.send(watch_batch(peer))
    assert code(over_https["payload"][1]) == "NotARequest"
    bare = dcp.over_socket(peer.signed(peer.request("watch", {"mailbox": SHOP}, keys=(OWNER,))))
    assert code(bare) == "NotARequest"
    assert watching(api) == []


def test_the_id_of_a_watch_has_a_limit(api: ApiStack, dcp: DcpApi, peer: Peer) -> None:
    too_long = {**peer.request("watch", {"mailbox": SHOP}, keys=(OWNER,)), "id": "x" * 257}
    answer = dcp.over_socket(peer.signed(peer.batch(too_long)))
    assert code(answer["payload"][1]) == "NotARequest"
    assert watching(api) == []


@pytest.mark.parametrize(("mailbox", "keys"), [(SHOP, ()), (SHOP, (WES,)), (BOB, (OWNER,)), ("nobody.com", (OWNER,))])
def test_nobody_but_its_owner_watches_a_mailbox(
    api: ApiStack, dcp: DcpApi, mailbox: str, keys: tuple[EthereumKey, ...]
) -> None:
    peer = dcp.peer(keys[0] if keys else OWNER)
    answer = dcp.over_socket(peer.signed(watch_batch(peer, keys=keys, mailbox=mailbox)))
    assert code(answer["payload"][1]) == "NotTheOwner"
    assert watching(api, mailbox) == []


@pytest.mark.parametrize("data", [None, {}, {"mailbox": 7}, {"mailbox": SHOP, "other": 1}, {"mailbox": ""}])
def test_what_is_no_mailbox_cannot_be_watched(api: ApiStack, dcp: DcpApi, peer: Peer, data: Json) -> None:
    answer = dcp.over_socket(peer.signed(peer.batch(peer.request("watch", data, keys=(OWNER,)))))
    assert code(answer["payload"][1]) in ("NotARequest", "NoMailboxName")
    assert watching(api) == []


def test_a_watch_that_could_not_be_stored_may_be_sent_again(
    api: ApiStack, dcp: DcpApi, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = watch_batch(peer)
    with monkeypatch.context() as broken:
        broken.setattr(NotificationTargets, "watch", raise_not_now)
        answer = dcp.over_socket(peer.signed(batch))
        assert code(answer["payload"][1]) == "StoreUnavailable"
    peer.nonce = answer["nonce"]
    again = peer.batch({**batch["payload"][0], "id": "again"})
    assert len(dcp.over_socket(peer.signed(again))["payload"]) == 1
    assert len(watching(api)) == 1


def watch_six_times(dcp: DcpApi) -> list[Peer]:
    """Let five sessions wait, and one more."""
    peers = [dcp.peer(OWNER) for _ in range(MAX_SESSIONS + 1)]
    for number, peer in enumerate(peers):
        dcp.api.clock.now += 1
        answer = dcp.over_socket(peer.signed(watch_batch(peer)), f"{number}=")
        assert len(answer["payload"]) == 1, "it is acknowledged"
    return peers


def test_the_session_whose_place_another_one_takes_is_told_that_its_watch_was_replaced(
    api: ApiStack, dcp: DcpApi
) -> None:
    peers = watch_six_times(dcp)
    [message] = map(read_queue_message, api.deployed.bodies("CourierQueue"))
    assert isinstance(message, WatchReplaced)
    assert (message.mailbox, message.at_ms) == (SHOP, int(api.clock.now * 1000))
    session = WatchingSession.decode(message.session)
    assert (session.connection, session.dcpsid) == ("0=", peers[0].dcpsid)
    assert len(watching(api)) == MAX_SESSIONS


def test_a_watch_counts_although_the_session_that_it_replaced_cannot_be_told(
    api: ApiStack, dcp: DcpApi, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Queue, "send", raise_not_now)
    watch_six_times(dcp)
    assert "0=" not in {each.connection for each in watching(api)}
    [record] = caplog.records
    assert (record.levelname, "is not told" in record.getMessage()) == ("WARNING", True)


def raise_not_now(*_: object, **__: object) -> None:
    raise NotNowError(STORE_UNAVAILABLE)


def test_a_session_that_watches_is_no_target_of_the_owners_list(
    api: ApiStack, dcp: DcpApi, peer: Peer, signed_in: Owner
) -> None:
    dcp.over_socket(peer.signed(watch_batch(peer)))
    assert said(signed_in.ask("GET", "/notifications")) == {"targets": []}
    [target] = api.targets.of(SHOP)
    removed = signed_in.ask("DELETE", f"/notifications/{target.id}")
    assert reason(removed) == "TargetUnknown"
    assert len(watching(api)) == 1
