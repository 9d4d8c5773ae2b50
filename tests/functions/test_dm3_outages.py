"""Endpoints or a gateway that are dead for an hour, and functions that are killed: whose mail goes on."""

import json
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any, NoReturn

import pytest
from tests.fakes.web import FakeWeb, Page, fake_web
from tests.faults.clock import Clock
from tests.functions.newcomers import CAROL, OPEN, Newcomers
from tests.functions.newcomers import newcomers as newcomers
from tests.functions.samples import ALICE, MADE_AT, profile_uri, sqs, user_keys
from tests.names.ens.nodes import off_chain_answers
from tests.patience import PATIENCE

from postroom.crypto.encodings import read_hex
from postroom.names.ens_registry import DEFAULT_SECONDS, FAILING_SECONDS
from postroom.names.registry import PROFILE_KEY
from postroom.net.endpoint_client import EndpointClient
from postroom.protocols.dm3.reasons import PROFILE_LOOKUP_FAILED
from postroom.storage.limits.name_texts import LOOK_UP_AGAIN_SECONDS

ERIN, FRANK = "erin.eth", "frank.eth"
GATEWAY = "gateway.example"
NOT_NOW = str(PROFILE_LOOKUP_FAILED)
HOUR, STEP = 3600, 600

Outage = Callable[[Newcomers, FakeWeb], None]


@pytest.fixture
def clock(sample_time: None, monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    # Not `installed`: threads that other tests left in this process would move it whenever they sleep.
    monkeypatch.setattr(time, "time", clock)
    return clock


@pytest.fixture
def web(tmp_path: Path) -> Iterator[FakeWeb]:
    with fake_web(tmp_path, {GATEWAY: _answer}) as web:
        yield web


@pytest.fixture
def off_chain(clock: Clock, newcomers: Newcomers, web: FakeWeb) -> Newcomers:
    """Newcomers whose texts a contract has a gateway find."""
    newcomers.zones.put(GATEWAY, "@ IN A 127.0.0.1\n")
    newcomers.running.settings |= web.settings
    for node in newcomers.nodes:
        for name in (CAROL, ERIN, FRANK):
            node.outcomes |= off_chain_answers(
                name, PROFILE_KEY, profile_uri(user_keys(name)), f"https://{GATEWAY}/{{data}}"
            )
    return newcomers


def _answer(path: str) -> Page:
    assert read_hex(path[1:])
    return Page(json.dumps({"data": path[1:]}).encode())


def endpoints_die(newcomers: Newcomers, _web: FakeWeb) -> None:
    def hang_up(_: bytes) -> NoReturn:
        raise ConnectionResetError

    for server in newcomers.servers:
        server.answer = hang_up


def endpoints_are_back(newcomers: Newcomers, _web: FakeWeb) -> None:
    for server, node in zip(newcomers.servers, newcomers.nodes, strict=True):
        server.answer = node


def gateway_dies(_newcomers: Newcomers, web: FakeWeb) -> None:
    web.pages[GATEWAY] = Page(b"", 503)


def gateway_is_back(_newcomers: Newcomers, web: FakeWeb) -> None:
    web.pages[GATEWAY] = _answer


@pytest.mark.parametrize(
    ("begin", "end"),
    [(endpoints_die, endpoints_are_back), (gateway_dies, gateway_is_back)],
    ids=["endpoints", "gateway"],
)
def test_an_hour_without_what_finds_names(
    off_chain: Newcomers, web: FakeWeb, clock: Clock, begin: Outage, end: Outage
) -> None:
    assert PROFILE_LOOKUP_FAILED.json_rpc == -32002
    assert off_chain.submit(CAROL) == "accepted"
    begin(off_chain, web)
    clock.sleep(DEFAULT_SECONDS - 60)
    # Her text may still be kept.
    assert [off_chain.submit(name) for name in (ALICE, CAROL, ERIN)] == ["accepted", "accepted", NOT_NOW]
    clock.sleep(120)
    for _ in range(HOUR // STEP):
        assert [off_chain.submit(name) for name in (ALICE, CAROL, ERIN)] == ["accepted", NOT_NOW, NOT_NOW]
        clock.sleep(STEP)
    end(off_chain, web)
    clock.sleep(FAILING_SECONDS + 1)
    assert [off_chain.submit(name) for name in (ALICE, CAROL, ERIN)] == ["accepted"] * 3


@pytest.mark.parametrize("begin", [endpoints_die, gateway_dies], ids=["endpoints", "gateway"])
def test_a_mailbox_that_takes_unverified_senders_waits_an_hour_and_marks_them(
    off_chain: Newcomers, web: FakeWeb, clock: Clock, begin: Outage
) -> None:
    begin(off_chain, web)
    assert off_chain.submit(FRANK, to=OPEN) == "accepted"
    assert _worked(off_chain, "ClaimsQueue") == []
    clock.sleep(HOUR + 1)
    [receipt] = _worked(off_chain, "RetryQueue")
    assert (receipt["key_fingerprint"], receipt["evidence"], receipt["unverified"]) == (None, None, NOT_NOW)


def test_if_the_outage_is_over_before_they_are_verified(off_chain: Newcomers, web: FakeWeb, clock: Clock) -> None:
    endpoints_die(off_chain, web)
    assert off_chain.submit(FRANK, to=OPEN) == "accepted"
    assert _worked(off_chain, "ClaimsQueue") == []
    endpoints_are_back(off_chain, web)
    clock.sleep(FAILING_SECONDS + 1)
    [receipt] = _worked(off_chain, "RetryQueue")
    assert (receipt["key_fingerprint"], receipt["unverified"]) == (user_keys(FRANK).signing.public.fingerprint, None)
    assert receipt["evidence"] == {"registry": "ens", "block": 16, "agreed": 2, "uri": "data"}


def _worked(newcomers: Newcomers, queue: str) -> list[Any]:
    """The receipts of OPEN's messages after the worker was given all of a queue, and of that of look-ups."""
    deployed = newcomers.running.deployed
    for each in (queue, "LookUpsQueue"):
        bodies = deployed.bodies(each)
        deployed.empty(each)
        assert newcomers.running.invoke("WorkerFunction", sqs(each, MADE_AT, *bodies)) == {"batchItemFailures": []}
    return [line.receipt for line in deployed.filed(OPEN)]


# --- killed within a look-up ------------------------------------------------------------------------------------------


class InstanceKilled(BaseException):
    """The process of a function ends: nothing catches this."""


def killed(newcomers: Newcomers, function: str, event: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Invoke a function, whose process is killed when it posts to an endpoint; the next one works."""

    def die(*_: object) -> NoReturn:
        raise InstanceKilled

    with monkeypatch.context() as during, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "No application metrics")  # a killed process writes none
        during.setattr(EndpointClient, "post", die)
        with pytest.raises(InstanceKilled):
            newcomers.running.invoke(function, event)
    newcomers.running.end()


def test_a_worker_that_is_killed_within_a_look_up_loses_no_message(
    off_chain: Newcomers, web: FakeWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway_dies(off_chain, web)
    assert off_chain.submit(FRANK, to=OPEN) == "accepted"
    gateway_is_back(off_chain, web)
    deployed = off_chain.running.deployed
    event = sqs("LookUpsQueue", MADE_AT, *deployed.bodies("ClaimsQueue"))
    killed(off_chain, "WorkerFunction", event, monkeypatch)
    assert (deployed.filed(OPEN), deployed.bodies("RetryQueue")) == ([], [])
    # SQS delivers what no run has reported as done again.
    [receipt] = _worked(off_chain, "ClaimsQueue")
    assert receipt["key_fingerprint"] == user_keys(FRANK).signing.public.fingerprint


def test_a_look_up_for_all_instances_that_is_killed_is_requested_by_the_next_try(
    off_chain: Newcomers, web: FakeWeb, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQS forgets the request before it would deliver it again; nobody was told that a message was accepted."""
    running, deployed, over = off_chain.running, off_chain.running.deployed, Event()
    web.pages[GATEWAY] = lambda path: _answer(path) if over.wait(PATIENCE) else Page(b"", 503)
    with off_chain.in_haste():
        assert off_chain.submit_until_requested(CAROL, CAROL) == NOT_NOW
    killed(off_chain, "WaitingFunction", _look_up(off_chain, CAROL), monkeypatch)
    with off_chain.in_haste():
        assert (deployed.bodies("ClaimsQueue"), off_chain.submit(CAROL), off_chain.requested(CAROL)) == (
            [],
            NOT_NOW,
            [],
        )
        clock.sleep(LOOK_UP_AGAIN_SECONDS)
        assert off_chain.submit_until_requested(CAROL, CAROL) == NOT_NOW
    over.set()
    off_chain.running.wait_for_look_ups()
    assert running.invoke("WaitingFunction", _look_up(off_chain, CAROL)) == {"batchItemFailures": []}
    endpoints_die(off_chain, web)
    running.end()
    assert off_chain.submit(CAROL) == "accepted"


def _look_up(newcomers: Newcomers, name: str) -> object:
    """The event for a name in the queue of names, which is then empty."""
    [body] = newcomers.requested(name)
    newcomers.running.deployed.empty("NamesQueue")
    return sqs("NamesQueue", MADE_AT, body)
