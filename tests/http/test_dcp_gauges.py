"""/dcp: a cheque for one read is no gauge of the mailbox. What is said of the mailbox counts, also if it is a fault."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError
from tests.http.api_stack import DAY, SHOP, ApiStack, Owner, reason
from tests.http.dcp_peers import OWNER, WES, DcpApi, do
from tests.protocols.dcp.guarded import Peer, code

from postroom.api.reasons import CONTENT_UNAVAILABLE, COUNTER_CLOSED, MESSAGE_UNREADABLE, TOO_MANY_REQUESTS
from postroom.core.errors import NotNowError
from postroom.core.reason import Kind, Reason
from postroom.core.reasons import (
    NOT_QUEUED,
    OUTBOUND_FAILED,
    SIGNING_KEY_UNAVAILABLE,
    STORE_UNAVAILABLE,
    TOO_MANY_LOOK_UPS,
)
from postroom.http.fetching import Fetching
from postroom.protocols.dcp.messages import Allowance
from postroom.protocols.dcp.payload import NewRequest, new_payload, request_body
from postroom.protocols.dcp.reasons import DCP_STORE_FULL, DCP_TARGET_STARTING, WATCH_REPLACED
from postroom.protocols.dm3.reasons import FILTER_RULE_UNCHECKED, PROFILE_LOOKUP_FAILED
from postroom.protocols.nlweb.reasons import (
    DNSSEC_TOO_COSTLY,
    HANDLER_FAILED,
    KEY_LOOKUP_FAILED,
    SENDER_DNS_SILENT,
    STILL_WORKING,
)
from postroom.reasons import REASONS
from postroom.storage.containers.store import Storage
from postroom.storage.directory.notification_targets import NotificationTargets

GIVE_BACK = {STORE_UNAVAILABLE, COUNTER_CLOSED}
"""With these, a read or a watch is refused before anything is known of the mailbox."""
COUNT = {
    CONTENT_UNAVAILABLE: "something is there", MESSAGE_UNREADABLE: "the message is there",
    TOO_MANY_REQUESTS: "the mailbox is used much", WATCH_REPLACED: "others begin to wait",
}  # fmt: skip
"""These say something of the mailbox."""
OF_NO_READ = {
    DCP_STORE_FULL, DCP_TARGET_STARTING, DNSSEC_TOO_COSTLY, FILTER_RULE_UNCHECKED, HANDLER_FAILED, KEY_LOOKUP_FAILED,
    NOT_QUEUED, OUTBOUND_FAILED, PROFILE_LOOKUP_FAILED, SENDER_DNS_SILENT, SIGNING_KEY_UNAVAILABLE, STILL_WORKING,
    TOO_MANY_LOOK_UPS,
}  # fmt: skip
"""With these, none is refused; if one were, it would count."""
PASSING = [each for each in REASONS if each.kind is Kind.RETRY]
KEY = f"0x{7:064x}"


def cheque(dcp: DcpApi, operation: str, **data: Any) -> dict[str, Any]:
    """A payload and its authorization, that the owner wrote for WES."""
    guardian = dcp.api.dcp_identities.newest_first()[0].key.address
    validity = {"time": int(dcp.api.clock.now), "stamp": "cheque 7", "ttl": DAY}
    allow = [Allowance(OWNER.address, guardian, WES.address)]
    payload = new_payload(operation, {"mailbox": SHOP, **data}, allow=allow, validity=validity)
    body = request_body(NewRequest(payload, (OWNER,)), payload, "unused", hex_prefix=False)
    return {"payload": body["payload"], "auth": body["auth"]}


def presented(dcp: DcpApi, written: dict[str, Any], times: int = 2) -> list[str]:
    """The codes that a cheque is answered with, again and again."""
    wes, codes = dcp.peer(WES), []
    for _ in range(times):
        answer = dcp.over_socket(wes.signed(wes.batch({**wes.request(), **written})))
        codes += [code(each) for each in answer["payload"][1:]]
        wes.nonce = answer["nonce"]
    return codes


def raising(error: BaseException) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


# --- by the reason ---------------------------------------------------------------------------------------------------


def test_of_each_reason_to_try_again_it_is_said_whether_a_read_counts() -> None:
    assert sorted([*map(str, GIVE_BACK), *map(str, COUNT), *map(str, OF_NO_READ)]) == sorted(map(str, PASSING))


@pytest.mark.parametrize("refused", PASSING, ids=str)
def test_a_read_leaves_its_stamp_unused_only_if_nothing_was_said_of_the_mailbox(
    api: ApiStack, dcp: DcpApi, monkeypatch: pytest.MonkeyPatch, refused: Reason
) -> None:
    monkeypatch.setattr(type(api.mail.listing), "status", raising(NotNowError(refused)))
    again = str(refused) if refused in GIVE_BACK else "EDUP"
    assert presented(dcp, cheque(dcp, "status")) == [str(refused), again]


@pytest.mark.parametrize("refused", PASSING, ids=str)
def test_a_watch_leaves_its_stamp_unused_only_if_nothing_was_said_of_the_mailbox(
    dcp: DcpApi, monkeypatch: pytest.MonkeyPatch, refused: Reason
) -> None:
    monkeypatch.setattr(NotificationTargets, "watch", raising(NotNowError(refused)))
    again = str(refused) if refused in GIVE_BACK else "EDUP"
    assert presented(dcp, cheque(dcp, "watch")) == [str(refused), again]


# --- by what befalls it ----------------------------------------------------------------------------------------------


def unreadable(api: ApiStack, _: pytest.MonkeyPatch) -> None:
    for name in api.deployed.objects():
        api.objects.delete(name)


def away(api: ApiStack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api.objects, "get_range", raising(NotNowError(STORE_UNAVAILABLE)))


def misconfigured(api: ApiStack, monkeypatch: pytest.MonkeyPatch) -> None:
    error = ClientError({"Error": {"Code": "NoSuchBucket", "Message": ""}}, "GetObject")
    monkeypatch.setattr(api.objects, "get_range", raising(error))


def broken(api: ApiStack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api.objects, "get_range", raising(RecursionError("a bug that one message meets")))


def slow(api: ApiStack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fetching, "_begin", raising(TimeoutError()))


@pytest.mark.parametrize("befalls", [unreadable, away, misconfigured, broken])
@pytest.mark.parametrize("operation", ["message", "envelope"])
def test_a_cheque_for_a_message_is_answered_once_that_it_is_there(
    api: ApiStack,
    dcp: DcpApi,
    peer: Peer,
    monkeypatch: pytest.MonkeyPatch,
    operation: str,
    befalls: Callable[[ApiStack, pytest.MonkeyPatch], None],
) -> None:
    """Otherwise, its holder would learn when the owner acknowledges it."""
    [filed] = api.file("{}")
    written = cheque(dcp, operation, id=filed)
    befalls(api, monkeypatch)
    assert presented(dcp, written)[0] in ("MessageUnreadable", "ContentUnavailable")
    assert do(peer, "acknowledge", body={"ids": [filed]})["success"]
    assert presented(dcp, written) == ["EDUP", "EDUP"]


@pytest.mark.parametrize("befalls", [away, misconfigured, broken, slow])
@pytest.mark.parametrize("operation", ["messages", "incoming"])
def test_a_cheque_for_a_list_is_answered_once_that_there_are_messages(
    api: ApiStack,
    dcp: DcpApi,
    monkeypatch: pytest.MonkeyPatch,
    operation: str,
    befalls: Callable[[ApiStack, pytest.MonkeyPatch], None],
) -> None:
    api.file("{}")
    befalls(api, monkeypatch)
    assert presented(dcp, cheque(dcp, operation)) == ["ContentUnavailable", "EDUP"]


@pytest.mark.parametrize(
    "error", [KeyError("written again"), NotNowError(STORE_UNAVAILABLE), RecursionError()], ids=str
)
def test_a_cheque_for_a_container_is_answered_once_that_it_is_there(
    dcp: DcpApi, peer: Peer, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    assert do(peer, "put_container", id=KEY, body="AAAA", none_match="*")["success"]
    monkeypatch.setattr(Storage, "read", raising(error))
    assert presented(dcp, cheque(dcp, "container", id=KEY)) == ["ContentUnavailable", "EDUP"]


def test_a_cheque_for_a_watch_is_answered_once_that_others_begin_to_wait(
    dcp: DcpApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NotificationTargets, "_put", lambda *_, **__: False)
    assert presented(dcp, cheque(dcp, "watch")) == ["WatchReplaced", "EDUP"]


def test_what_is_wrong_with_one_message_is_logged_unless_it_is_a_fault_of_the_deployment(
    api: ApiStack, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    [filed], owner = api.file("{}"), Owner(api)
    for befalls, is_logged in ((broken, True), (misconfigured, False)):
        caplog.clear()
        with monkeypatch.context() as broken_now:
            befalls(api, broken_now)
            assert reason(owner.ask("GET", f"/messages/{filed}")) == "ContentUnavailable"
        assert ("a handler failed" in caplog.text) == is_logged
