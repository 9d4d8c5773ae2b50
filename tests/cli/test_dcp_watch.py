"""postroom dcp watch: a WebSocket that is lost is replaced by another one; tests/end_to_end has the rest."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from postroom.client.dcp import OutcomeUnknownError, RequestFailedError
from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp.error_payload import ErrorPayload

# In the package, this name is the command's.
watch_module = importlib.import_module("postroom.cli.dcp.watch")
KEY = EthereumKey.generate()
ONE: JsonValue = {"body": {"messages": [{"id": "1"}], "unreadable": []}}
LOST = OutcomeUnknownError("the session ended without an answer")


class FakeSockets:
    """What comes of the wait over each WebSocket, one after the other."""

    def __init__(self, *outcomes: "JsonValue | Exception") -> None:
        self.outcomes = list(outcomes)

    @contextmanager
    def __call__(self) -> Iterator[Any]:
        yield self

    def run(self, _work: object) -> JsonValue:
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_module, "_PAUSE_SECONDS", 0.0)


def waited(sockets: FakeSockets) -> JsonValue:
    return watch_module._wait_for_page(sockets, 540.0, KEY, "shop.com", float("inf"))


def test_the_wait_goes_on_over_another_websocket() -> None:
    assert waited(FakeSockets(LOST, LOST, ONE)) == ONE


def test_it_ends_if_no_websocket_works() -> None:
    sockets = FakeSockets(LOST, LOST, LOST, ONE)
    with pytest.raises(OutcomeUnknownError):
        waited(sockets)
    assert sockets.outcomes == [ONE]


def test_a_refusal_ends_it_at_once() -> None:
    sockets = FakeSockets(RequestFailedError(ErrorPayload("Error", "", "NotTheOwner")), ONE)
    with pytest.raises(RequestFailedError):
        waited(sockets)
    assert sockets.outcomes == [ONE]
