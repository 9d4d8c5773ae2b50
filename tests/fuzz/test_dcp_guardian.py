"""The entries `dcp_guardian` and `dcp_sockets` reach what they are to reach, and find what they are to find."""

from typing import Any

import pytest
from tests.fuzz.dcp_guardian import FUNCTION, MAILBOX, OPERATED, WAITING, dcp_guardian
from tests.fuzz.dcp_sockets import WATCHED, dcp_sockets
from tests.fuzz.entry import Entry
from tests.fuzz.samples import compact
from tests.protocols.dcp.guarded import OWNER

from postroom.http.sign_in import SignIn
from postroom.protocols.dcp.memory_store import MemoryStore
from postroom.protocols.dcp.receiving import Receiver
from postroom.protocols.dcp.session_store import NonceUse

BOTH = pytest.mark.parametrize("entry", [dcp_guardian, dcp_sockets], ids=lambda entry: entry.name)


@BOTH
def test_requests_come_to_be_performed_with_the_owners_authorization_and_without(
    entry: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    check, asked = SignIn.check_resources, []

    def checked(self: SignIn, mailbox: str, resources: Any, *others: Any, **more: Any) -> None:
        asked.append((mailbox, sorted(resources)))
        check(self, mailbox, resources, *others, **more)

    monkeypatch.setattr(SignIn, "check_resources", checked)
    entry.run(compact(OPERATED[0]))
    assert asked == [(MAILBOX, []), (MAILBOX, [OWNER.address])]


def test_a_watch_comes_to_its_row() -> None:
    dcp_sockets.run(compact(WATCHED[0]))
    assert [each.session.request for each in WAITING] == ["watch"]


@BOTH
def test_a_write_before_the_signature_is_verified_is_found(entry: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    receive = Receiver.receive

    def write_first(self: Receiver, data: bytes, now: float) -> Any:
        self.store.use_nonce(NonceUse(OWNER.address, "any session", "", "next", first=True, now=now, until=now))
        return receive(self, data, now)

    entry.run(b"{}")
    monkeypatch.setattr(Receiver, "receive", write_first)
    with pytest.raises(AssertionError, match="CounterClosed"):
        entry.run(b"{}")


@BOTH
def test_a_stamp_that_counts_twice_is_found(entry: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    request = compact(OPERATED[0])
    entry.run(request)
    monkeypatch.setattr(MemoryStore, "use_nonce", lambda *_: None)
    monkeypatch.setattr(MemoryStore, "use_request", lambda *_: None)
    with pytest.raises(AssertionError, match="a stamp counted twice"):
        entry.run(request)


def test_an_answer_that_does_not_fit_into_a_frame_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    write = FUNCTION.write_socket_answer
    monkeypatch.setattr(FUNCTION, "write_socket_answer", lambda response: {**write(response), "body": " " * 200_000})
    with pytest.raises(AssertionError, match="API Gateway does not send it"):
        dcp_sockets.run(b"{}")


def test_a_watch_of_a_stranger_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SignIn, "check_resources", lambda *_, **__: None)
    with pytest.raises(AssertionError, match="a stranger waits"):
        dcp_sockets.run(compact(WATCHED[0]))
