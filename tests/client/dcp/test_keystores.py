"""Keystores that are unlocked for some time: when they ask for their passphrase, by a clock that is passed in."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.client.dcp.ends import pair, run
from tests.client.dcp.keystores import PASSPHRASE, keystore_of
from tests.protocols.dcp.guarded import OWNER, WES

from postroom.client.dcp import IncomingRequest, Keystore
from postroom.core.errors import OurError


@dataclass
class Desk:
    """Somebody who knows the passphrase, and a clock. `asked`: how often."""

    file: Path
    passphrase: str = PASSPHRASE
    now: float = 1000.0
    asked: int = 0

    def ask(self) -> str:
        self.asked += 1
        self.now += 20.0  # typing takes time
        return self.passphrase

    def keystore(self, seconds: float = 60.0) -> Keystore:
        return Keystore(self.file, self.ask, seconds=seconds, clock=lambda: self.now)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "wes.json").write_text(keystore_of(WES))
    return Desk(tmp_path / "wes.json")


def test_it_asks_for_its_passphrase_when_its_key_is_first_used(desk: Desk) -> None:
    keystore = desk.keystore()
    assert desk.asked == 0
    assert keystore.unlock() == WES
    assert desk.asked == 1


@pytest.mark.parametrize(("seconds", "asked"), [(0.0, 1), (59.9, 1), (60.0, 2), (1e9, 2)])
def test_it_asks_again_when_its_key_was_not_used_for_so_many_seconds(desk: Desk, seconds: float, asked: int) -> None:
    keystore = desk.keystore()
    keystore.unlock()
    desk.now += seconds
    assert keystore.unlock() == WES
    assert desk.asked == asked


def test_each_use_of_the_key_lets_it_stay_unlocked(desk: Desk) -> None:
    keystore = desk.keystore()
    for _ in range(5):
        keystore.unlock()
        desk.now += 59.9
    assert desk.asked == 1


def test_with_no_seconds_it_asks_each_time(desk: Desk) -> None:
    keystore = desk.keystore(0.0)
    keystore.unlock()
    keystore.unlock()
    assert desk.asked == 2


def test_it_can_be_locked_before_its_time(desk: Desk) -> None:
    keystore = desk.keystore()
    keystore.unlock()
    keystore.lock()
    keystore.unlock()
    assert desk.asked == 2


def test_after_a_wrong_passphrase_it_stays_locked(desk: Desk) -> None:
    keystore = desk.keystore()
    desk.passphrase = "wrong"
    with pytest.raises(OurError, match="the passphrase is not that of this keystore"):
        keystore.unlock()
    desk.passphrase = PASSPHRASE
    assert keystore.unlock() == WES
    assert desk.asked == 2


def test_a_file_that_has_another_key_by_now_is_refused(desk: Desk) -> None:
    keystore = desk.keystore()
    keystore.unlock()
    keystore.lock()
    desk.file.write_text(keystore_of(OWNER))
    with pytest.raises(OurError, match=f"the key of another address than {WES.address}"):
        keystore.unlock()


def test_no_repr_shows_the_key(desk: Desk) -> None:
    keystore = desk.keystore()
    keystore.unlock()
    assert repr(keystore) == f"<Keystore of {desk.file}>"


@pytest.mark.parametrize("seconds", [-1.0, float("nan")])
def test_seconds_that_are_none_are_refused(desk: Desk, seconds: float) -> None:
    with pytest.raises(ValueError, match="seconds"):
        desk.keystore(seconds)


def resources(request: IncomingRequest) -> None:
    request.respond(sorted(request.resources))


@pytest.mark.parametrize(
    "sent",
    [lambda request, keystore: request.send(keystore), lambda request, keystore: request.authorize(keystore).send()],
    ids=["send", "authorize"],
)
def test_a_keystore_authorizes_requests_and_is_unlocked_at_once(
    desk: Desk, sent: Callable[[Any, Keystore], Any]
) -> None:
    async def scenario() -> None:
        keystore = desk.keystore()
        async with pair(target={"on_request": resources}) as (connection, _):
            assert await sent(connection.request("pay"), keystore) == [WES.address]
            request = connection.request("pay")
            desk.now += 60.0
            request.authorize(keystore)
            assert desk.asked == 2, "before it is sent"
            desk.now += 60.0
            assert await request.send() == [WES.address]
            assert desk.asked == 2

    run(scenario())


def test_a_keystore_is_the_sender_of_a_message_of_version_3(desk: Desk) -> None:
    async def scenario() -> None:
        async with pair(target={"on_v3": lambda message: message.respond(message.owner)}) as (connection, _):
            assert await connection.send_v3("/", {}, desk.keystore()) == WES.address

    run(scenario())


def test_a_keystore_that_is_not_json_is_refused_with_its_name(desk: Desk) -> None:
    desk.file.write_text(json.dumps({"version": 1}))
    with pytest.raises(OurError, match=r"wes\.json: not a keystore"):
        desk.keystore().unlock()
