from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
from tests.fakes.clock import FakeClock
from tests.patience import PATIENCE

from postroom.core.errors import NotNowError, TheirError
from postroom.core.loading_cache import LoadingCache
from postroom.protocols.dm3.reasons import PROFILE_LOOKUP_FAILED, PROFILE_UNKNOWN

UNKNOWN = TheirError(PROFILE_UNKNOWN, "nobody")
DOWN = NotNowError(PROFILE_LOOKUP_FAILED, "down")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def failing(error: Exception) -> Callable[[], int]:
    def load() -> int:
        raise error

    return load


def not_loaded() -> int:
    raise AssertionError("it is kept")


def test_an_expired_value_is_loaded_again(clock: FakeClock) -> None:
    cache: LoadingCache[int] = LoadingCache(clock, 30)
    assert cache.get("a", lambda: 1) == 1
    clock.now += 29.9
    assert cache.get("a", not_loaded) == 1
    clock.now += 0.1
    assert cache.get("a", lambda: 2) == 2


def test_the_lifetime_begins_when_loading_begins(clock: FakeClock) -> None:
    cache: LoadingCache[int] = LoadingCache(clock, 30)

    def slowly() -> int:
        clock.now += 20
        return 1

    cache.get("a", slowly)
    clock.now += 10
    assert cache.get("a", lambda: 2) == 2


def test_the_lifetime_may_depend_on_the_value(clock: FakeClock) -> None:
    cache: LoadingCache[int] = LoadingCache(clock, lambda value: value)
    cache.get("short", lambda: 10)
    cache.get("long", lambda: 20)
    clock.now += 10
    assert cache.get("long", not_loaded) == 20
    assert cache.get("short", lambda: 11) == 11


def test_a_request_for_a_fresher_value_loads_it_again(clock: FakeClock) -> None:
    cache: LoadingCache[int] = LoadingCache(clock, 30)
    cache.get("a", lambda: 1)
    clock.now += 2
    assert cache.get("a", not_loaded, max_age=2.1) == 1
    assert cache.get("a", lambda: 2, max_age=2) == 2
    assert cache.get("a", not_loaded) == 2


def test_none_is_a_value(clock: FakeClock) -> None:
    cache: LoadingCache[int | None] = LoadingCache(clock, 30)
    assert cache.get("a", lambda: None) is None
    assert cache.get("a", not_loaded) is None


def test_a_dropped_value_is_loaded_again(clock: FakeClock) -> None:
    cache: LoadingCache[int] = LoadingCache(clock, 30)
    cache.get("a", lambda: 1)
    cache.drop("a")
    cache.drop("b")
    assert cache.get("a", lambda: 2) == 2


def test_only_the_named_kinds_of_errors_are_cached(clock: FakeClock) -> None:
    cache: LoadingCache[int] = LoadingCache(clock, 300, errors={TheirError: 30})
    for error in (UNKNOWN, DOWN):
        with pytest.raises(type(error)):
            cache.get(error.detail, failing(error))
    clock.now += 29.9
    with pytest.raises(TheirError) as raised:
        cache.get("nobody", not_loaded)
    assert (raised.value.reason, raised.value.detail) == (PROFILE_UNKNOWN, "nobody")
    assert cache.get("down", lambda: 1) == 1
    clock.now += 0.1
    assert cache.get("nobody", lambda: 2) == 2


def test_a_cached_error_is_a_new_exception_each_time(clock: FakeClock) -> None:
    cache: LoadingCache[int] = LoadingCache(clock, 300, errors={TheirError: 30})
    raised = []
    for load in (failing(UNKNOWN), not_loaded, not_loaded):
        with pytest.raises(TheirError) as caught:
            cache.get("a", load)
        raised.append(caught.value)
    assert len({id(each) for each in raised}) == 3


def test_the_number_of_entries_is_limited(clock: FakeClock) -> None:
    cache: LoadingCache[int] = LoadingCache(clock, 30, most=3)
    for number in range(8):
        cache.get(str(number), lambda: 1)
    for number in (5, 6, 7):
        assert cache.get(str(number), not_loaded) == 1
    assert cache.get("4", lambda: 2) == 2


def test_values_are_removed_when_their_total_weight_is_too_large(clock: FakeClock) -> None:
    cache: LoadingCache[int] = LoadingCache(clock, 30, weigh=lambda value: value, most_weight=10)
    cache.get("a", lambda: 6)
    cache.get("b", lambda: 5)
    assert cache.get("b", not_loaded) == 5
    assert cache.get("a", lambda: 1) == 1


def test_errors_do_not_displace_values(clock: FakeClock) -> None:
    cache: LoadingCache[int] = LoadingCache(clock, 30, most=1, errors={TheirError: 30})
    cache.get("a", lambda: 1)
    for name in ("b", "c"):
        with pytest.raises(TheirError):
            cache.get(name, failing(UNKNOWN))
    assert cache.get("a", not_loaded) == 1
    assert cache.get("b", lambda: 2) == 2


@pytest.mark.parametrize("error", [None, UNKNOWN], ids=["a value", "an error that is kept"])
def test_concurrent_requests_load_once_and_share_the_result(clock: FakeClock, error: Exception | None) -> None:
    loads, outcomes = loaded_at_once(LoadingCache(clock, 30, errors={TheirError: 30}), [error or 1])
    assert len(loads) == 1
    assert {type(each) for each in outcomes} == {type(error) if error else int}


@pytest.mark.parametrize("error", [DOWN, ZeroDivisionError()], ids=["one that passes", "a fault of ours"])
def test_an_uncached_error_is_raised_for_one_request_and_the_others_load_again(
    clock: FakeClock, error: Exception
) -> None:
    loads, outcomes = loaded_at_once(LoadingCache(clock, 30, errors={TheirError: 30}), [error, *([1] * 6)])
    assert len(loads) == 7
    assert sorted(outcomes, key=repr) == sorted([1] * 6 + [error], key=repr)


def loaded_at_once(cache: LoadingCache[int], answers: list[int | Exception]) -> tuple[list[str], list[object]]:
    """What became of seven that ask at once: the loads that there were, in turn with these answers; and outcomes."""
    loads: list[str] = []
    began, all_waiting = Event(), Event()

    def slowly() -> int:
        answer = answers[len(loads)]
        loads.append("a")
        began.set()
        assert all_waiting.wait(PATIENCE)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(cache.get, "a", slowly)
        assert began.wait(PATIENCE)
        [loading] = cache._loading.values()
        waiting, let_go = [], loading.result

        def result(*arguments: Any) -> int:
            waiting.append(1)
            if len(waiting) == 6:
                all_waiting.set()
            return let_go(*arguments)

        loading.result = result  # type: ignore[method-assign]
        others = [pool.submit(cache.get, "a", slowly) for _ in range(6)]
        outcomes = [each.exception(PATIENCE) or each.result() for each in (first, *others)]
    assert cache._loading == {}
    return loads, outcomes
