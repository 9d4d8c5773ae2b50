"""The time limit of look-ups in the dm3 inbox (decision "Acceptance")."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, Timer
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.pipeline import delivery_service
from tests.pipeline.delivery_service import ALICE, BOB, DeliveryService
from tests.pipeline.stack import PipelineStack

from postroom.core.errors import NotNowError, TheirError
from postroom.names.profiles import Profiles
from postroom.names.registry import PROFILE_KEY, MemoryRegistry, RegistryText
from postroom.net.timebox import TimeBox
from postroom.protocols.dm3.reasons import PROFILE_LOOKUP_FAILED, PROFILE_UNKNOWN
from postroom.runtime.pipeline_parts import LOOK_UPS

SHORT, LONG = 0.02, PATIENCE


class Slow(MemoryRegistry):
    """A registry that answers once it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = Event()
        self.looked_up: list[str] = []

    def text(self, name: str, key: str, *, fresh: bool = False) -> RegistryText:
        self.looked_up.append(name)
        assert self.let_go.wait(LONG)
        return super().text(name, key)


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as made:
        yield made


@pytest.fixture
def slow() -> Iterator[Slow]:
    registry = Slow()
    yield registry
    registry.let_go.set()


def time_box(pool: ThreadPoolExecutor, seconds: float) -> TimeBox:
    return TimeBox(pool, seconds, time.monotonic)


def test_a_result_in_time_is_returned(pool: ThreadPoolExecutor) -> None:
    assert time_box(pool, LONG).call(lambda: "found") == "found"


def test_an_error_in_time_is_raised(pool: ThreadPoolExecutor) -> None:
    def refuses() -> str:
        raise TheirError(PROFILE_UNKNOWN)

    with pytest.raises(TheirError) as caught:
        time_box(pool, LONG).call(refuses)
    assert caught.value.reason is PROFILE_UNKNOWN


def test_a_look_up_that_takes_too_long_is_a_temporary_error(pool: ThreadPoolExecutor, slow: Slow) -> None:
    with pytest.raises(NotNowError) as caught:
        time_box(pool, SHORT).call(lambda: slow.text(ALICE, PROFILE_KEY))
    assert caught.value.reason is PROFILE_LOOKUP_FAILED
    assert caught.value.detail == "no answer within 0.02 s"
    Timer(10 * SHORT, slow.let_go.set).start()
    assert time_box(pool, LONG).call(lambda: slow.text(ALICE, PROFILE_KEY).value) is None


def test_the_look_ups_of_one_request_share_the_time(pool: ThreadPoolExecutor) -> None:
    now = 0.0

    def takes(seconds: float) -> str:
        nonlocal now
        now += seconds
        return "found"

    box = TimeBox(pool, 4.0, lambda: now)
    assert box.call(lambda: takes(1.5)) == "found"
    takes(100)  # between look-ups the time does not count
    assert box.call(lambda: takes(2.5)) == "found"
    begun: list[int] = []
    with pytest.raises(NotNowError) as caught:
        box.call(lambda: begun.append(1))
    assert (caught.value.reason, begun) == (PROFILE_LOOKUP_FAILED, [])


def test_look_ups_that_run_at_the_same_time_count_once() -> None:
    now, both = 0.0, Barrier(2)

    def takes(seconds: float) -> str:
        nonlocal now
        both.wait(LONG)
        now = max(now, seconds)
        both.wait(LONG)
        return f"found in {seconds:g} s"

    with ThreadPoolExecutor(2) as pool:
        box = TimeBox(pool, 4.0, lambda: now)
        running = [box.begin(lambda seconds=seconds: takes(seconds)) for seconds in (3.0, 2.0)]  # type: ignore[misc]
        assert [box.result(each) for each in running] == ["found in 3 s", "found in 2 s"]
        assert box.call(lambda: "found in the rest") == "found in the rest"


def test_waiting_for_a_thread_counts(pool: ThreadPoolExecutor, slow: Slow) -> None:
    pool.submit(slow.text, ALICE, PROFILE_KEY)
    with pytest.raises(NotNowError) as caught:
        time_box(pool, SHORT).call(lambda: "at once, if there were a thread")
    assert caught.value.reason is PROFILE_LOOKUP_FAILED


@pytest.mark.parametrize("hanging", [LOOK_UPS - 1, LOOK_UPS])
def test_the_number_of_parallel_look_ups_is_limited(slow: Slow, hanging: int) -> None:
    with ThreadPoolExecutor(LOOK_UPS) as pool:
        for _ in range(hanging):
            pool.submit(slow.text, ALICE, PROFILE_KEY)
        if hanging < LOOK_UPS:
            assert time_box(pool, LONG).call(lambda: "found") == "found"
        else:
            with pytest.raises(NotNowError, match="ProfileLookupFailed"):
                time_box(pool, SHORT).call(lambda: "found")
        slow.let_go.set()


def test_an_abandoned_look_up_is_not_started(pool: ThreadPoolExecutor, slow: Slow) -> None:
    hanging = pool.submit(slow.text, ALICE, PROFILE_KEY)
    begun: list[int] = []
    for number in range(3):
        with pytest.raises(NotNowError):
            time_box(pool, SHORT).call(lambda number=number: begun.append(number))  # type: ignore[misc]
    slow.let_go.set()
    hanging.result(LONG)
    assert time_box(pool, LONG).call(lambda: list(begun)) == []


def test_a_late_result_is_available_to_the_next_request(pool: ThreadPoolExecutor, slow: Slow) -> None:
    profiles = Profiles(slow, lambda: 0.0)
    with pytest.raises(NotNowError):
        time_box(pool, SHORT).call(lambda: profiles.user(ALICE))
    slow.let_go.set()
    for _ in range(2):
        with pytest.raises(TheirError, match="ProfileUnknown"):
            time_box(pool, LONG).call(lambda: profiles.user(ALICE))
    assert slow.looked_up == [ALICE]


def test_the_inbox_begins_no_look_up_of_a_sender_after_its_answer(
    stack: PipelineStack, pool: ThreadPoolExecutor, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = DeliveryService(stack, registry=slow, seconds=SHORT)  # type: ignore[arg-type]
    monkeypatch.setattr(delivery_service, "POOL", pool)
    assert service.submit(service.envelope())["error"]["data"]["reason"] == "ProfileLookupFailed"
    slow.let_go.set()
    pool.submit(lambda: None).result(LONG)
    assert slow.looked_up == [BOB]


def test_the_inbox_answers_unavailable_and_accepts_the_envelope_later(
    stack: PipelineStack, pool: ThreadPoolExecutor, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = DeliveryService(stack, registry=slow)  # type: ignore[arg-type]
    known = service.profiles()
    monkeypatch.setattr(service, "profiles", lambda: known)
    envelope = service.envelope()
    before = stack.deployed.dump()

    def submitted(seconds: float) -> Any:
        monkeypatch.setattr(delivery_service, "POOL", pool)
        monkeypatch.setattr(service, "seconds", seconds)
        return service.submit(envelope)

    refused = submitted(SHORT)["error"]
    assert (refused["code"], refused["data"]["reason"]) == (-32002, "ProfileLookupFailed")
    assert [json.loads(body) for body in service.names_queue.bodies] == [{"name": BOB, "key": PROFILE_KEY}]
    assert stack.deployed.dump() | {"LimitsTable": []} == before | {"LimitsTable": []}
    slow.let_go.set()
    assert submitted(LONG)["result"] == "accepted"
    assert sorted(slow.looked_up) == [ALICE, BOB]
    assert ALICE not in json.dumps(refused)
