"""The entry `dcp_guardian` finds what it is to find."""

from typing import Any

import pytest
from tests.fuzz.dcp_guardian import OPERATED, dcp_guardian
from tests.fuzz.samples import compact

from postroom.protocols.dcp.memory_store import MemoryStore
from postroom.protocols.dcp.receiving import Receiver


def test_a_write_before_the_signature_is_verified_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    receive = Receiver.receive

    def write_first(self: Receiver, data: bytes, now: float) -> Any:
        self.store.close("any session")
        return receive(self, data, now)

    dcp_guardian.run(b"{}")
    monkeypatch.setattr(Receiver, "receive", write_first)
    with pytest.raises(AssertionError, match="CounterClosed"):
        dcp_guardian.run(b"{}")


def test_a_stamp_that_counts_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    request = compact(OPERATED[0])
    dcp_guardian.run(request)
    monkeypatch.setattr(MemoryStore, "use_nonce", lambda *_: None)
    monkeypatch.setattr(MemoryStore, "use_request", lambda *_: None)
    with pytest.raises(AssertionError, match="a stamp counted twice"):
        dcp_guardian.run(request)
