"""Cheques that the reference writes, presented at our guardian, and ours, presented at its target."""

import json
import secrets
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Postroom
from tests.cli.conftest import postroom as postroom
from tests.client.dcp.keystores import PASSPHRASE, keystore_of
from tests.peers.dcp.exchange import CLOCK, FOR_REFERENCE, Exchange
from tests.peers.dcp.reference import TheirEnd
from tests.peers.node import Reference
from tests.protocols.dcp.guarded import JACK, NOW, OWNER, US, WES, Bank, Json, at_once

from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp.connection_events import ConnectionEvent, RequestAnswered, RequestFailed
from postroom.protocols.dcp.endpoint import SendOptions
from postroom.protocols.dcp.error_payload import ErrorCode
from postroom.protocols.dcp.initiator import ConnectionInitiator
from postroom.protocols.dcp.memory_store import MemoryStore
from postroom.protocols.dcp.payload import NewRequest


@pytest.fixture
def cheque(reference: Reference) -> Json:
    """Of WES's account, for OWNER, written a minute ago."""
    reference.call("clock.set", NOW - 60)
    args = ({"amount": 7.5}, WES.secret.hex(), US.address, OWNER.address)
    cheque: Json = reference.call("cheque", "withdraw", *args)
    return cheque


def presented(bank: Bank, cheque: Json, key: EthereumKey = OWNER) -> ConnectionEvent:
    """What comes of a cheque that our initiator presents in a session of its own."""
    options = SendOptions(ttl=60)
    initiator = ConnectionInitiator(key, store=MemoryStore(), random=secrets.token_bytes, options=options)
    initiator.receive(bank.guardian.answer(initiator.connect(CLOCK), NOW, at_once(bank.record)).data, CLOCK)
    initiator.send(NewRequest(cheque["payload"], auth=cheque["auth"]))
    (data,) = initiator.messages(CLOCK)
    (event,) = initiator.receive(bank.guardian.answer(data, NOW, at_once(bank.record)).data, CLOCK)
    return event


def resources(event: ConnectionEvent) -> list[str]:
    """The resources that the guardian found authorized."""
    assert isinstance(event, RequestAnswered)
    assert isinstance(event.result, dict)
    found = event.result["resources"]
    assert isinstance(found, list)
    return [str(each) for each in found]


def test_a_cheque_counts_once(cheque: Json) -> None:
    bank = Bank()
    assert resources(presented(bank, cheque)) == [WES.address]
    again = presented(bank, cheque)
    assert isinstance(again, RequestFailed)
    assert again.error.code == ErrorCode.EDUP
    assert bank.done == [("withdraw", {"amount": 7.5})]


def test_a_cheque_counts_for_its_holder_only_and_a_stranger_does_not_use_it_up(cheque: Json) -> None:
    bank = Bank()
    assert resources(presented(bank, cheque, JACK)) == []
    assert resources(presented(bank, cheque)) == [WES.address]


@pytest.mark.parametrize(
    "change",
    [
        {"operation": "withdraw_all"},
        {"data": {"amount": 8}},
        {"validity": {"stamp": "another", "ttl": 120, "time": NOW - 60}},
        {"note": ""},
    ],
    ids=str,
)
def test_a_cheque_that_was_changed_authorizes_nothing(cheque: Json, change: dict[str, Any]) -> None:
    assert resources(presented(Bank(), {**cheque, "payload": {**cheque["payload"], **change}})) == []


def test_a_cheque_that_the_reference_presents_has_another_time_and_no_signature(
    reference: Reference, cheque: Json
) -> None:
    bank = Bank()
    theirs = TheirEnd.initiator(reference, OWNER, "https://target.example")
    connecting = theirs.begin("connect")
    theirs.receive(bank.guardian.answer(theirs.sent(), NOW, at_once(bank.record)).data)
    assert theirs.outcome(connecting) == {}
    presenting = theirs.begin("present", cheque)
    data = theirs.sent()
    (request,) = json.loads(data)["body"]["payload"]
    assert request["payload"]["validity"] == {**cheque["payload"]["validity"], "time": int(NOW)}
    assert request["auth"] == {}
    theirs.receive(bank.guardian.answer(data, NOW, at_once(bank.record)).data)
    assert theirs.outcome(presenting) == {"result": {"resources": []}}


@pytest.mark.parametrize(("options", "is_authorized"), [(("--hex-prefix",), True), ((), False)])
def test_a_cheque_of_the_command_line_is_one_for_its_target_if_its_addresses_have_0x(
    reference: Reference,
    postroom: Postroom,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    options: tuple[str, ...],
    is_authorized: bool,
) -> None:
    monkeypatch.setenv("POSTROOM_KEY_PASSPHRASE", PASSPHRASE)
    monkeypatch.setattr(time, "time", lambda: NOW)
    (tmp_path / "wes-key.json").write_text(keystore_of(WES))
    data = json.dumps({"resource": WES.address})
    holder = ("--to", OWNER.address, "--guardian", US.address, "--ttl", "5m", "--key", "wes-key.json")
    written = postroom("dcp", "cheque", "authorizes", data, *holder, *options)
    cheque = json.loads(written.stdout)
    exchange = Exchange(reference, FOR_REFERENCE).connected()
    name = exchange.ours.machine.send(NewRequest(cheque["payload"], auth=cheque["auth"]))
    assert exchange.outcome(name) == RequestAnswered(name, is_authorized)
    again = exchange.outcome(exchange.ours.machine.send(NewRequest(cheque["payload"], auth=cheque["auth"])))
    assert isinstance(again, RequestFailed)
    assert again.error.code == ErrorCode.EDUP
