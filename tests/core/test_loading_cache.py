from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event
from typing import Any

import pytest

from postroom.core.errors import NotNowError, TheirError
from postroom.core.loading_cache import LoadingCache
from postroom.protocols.dm3.reasons import PROFILE_LOOKUP_FAILED, PROFILE_UNKNOWN

UNKNOWN = TheirError(PROFILE_UNKNOWN, "nobody")
DOWN = NotNowError(PROFILE_LOOKUP_FAILED, "down")


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def failing(error: Exception) -> Callable[[], int]:
    def load() -> int:
        raise error

    return load


def not_loaded() -> int:
    raise AssertionError("it is kept")


def test_a_value_is_loaded_anew_when_its_time_is_over(clock: Clock) -> None:
    cache: LoadingCache[int] = LoadingCache(clock, 30)
    assert cache.get("a", lambda: 1) == 1
    clock.now += 29.9
    assert cache.get("a", not_loaded) == 1
    clock.now += 0.1
    assert cache.get("a", lambda: 2) == 2


def test_its_time_begins_when_its_loading_does(clock: Clock) -> None:
    cache: LoadingCache[int] = LoadingCache(clock, 30)

    def slowly() -> int:
        clock.now += 20
        return 1

    cache.get("a", slowly)
    clock.now += 10
    assert cache.get("a", lambda: 2) == 2


def test_the_time_may_depend_on_the_value(clock: Clock) -> None:
    cache: LoadingCache[int] = LoadingCache(clock, lambda value: value)
    cache.get("short", lambda: 10)
    cache.get("long", lambda: 20)
    clock.now += 10
    assert cache.get("long", not_loaded) == 20
    assert cache.get("short", lambda: 11) == 11


def test_who_wants_a_younger_one_has_it_loaded(clock: Clock) -> None:
    cache: LoadingCache[int] = LoadingCache(clock, 30)
    cache.get("a", lambda: 1)
    clock.now += 2
    assert cache.get("a", not_loaded, max_age=2.1) == 1
    assert cache.get("a", lambda: 2, max_age=2) == 2
    assert cache.get("a", not_loaded) == 2


def test_a_value_that_is_none_is_a_value(clock: Clock) -> None:
    cache: LoadingCache[int | None] = LoadingCache(clock, 30)
    assert cache.get("a", lambda: None) is None
    assert cache.get("a", not_loaded) is None


def test_what_is_dropped_is_loaded_anew(clock: Clock) -> None:
    cache: LoadingCache[int] = LoadingCache(clock, 30)
    cache.get("a", lambda: 1)
    cache.drop("a")
    cache.drop("b")
    assert cache.get("a", lambda: 2) == 2


def test_errors_of_a_kind_that_is_named_are_kept_for_their_time_and_others_are_not(clock: Clock) -> None:
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


def test_a_kept_error_is_raised_anew_each_time(clock: Clock) -> None:
    cache: LoadingCache[int] = LoadingCache(clock, 300, errors={TheirError: 30})
    raised = []
    for load in (failing(UNKNOWN), not_loaded, not_loaded):
        with pytest.raises(TheirError) as caught:
            cache.get("a", load)
        raised.append(caught.value)
    assert len({id(each) for each in raised}) == 3


def test_strangers_cannot_make_it_grow(clock: Clock) -> None:
    cache: LoadingCache[int] = LoadingCache(clock, 30, most=3)
    for number in range(8):
        cache.get(str(number), lambda: 1)
    for number in (5, 6, 7):
        assert cache.get(str(number), not_loaded) == 1
    assert cache.get("4", lambda: 2) == 2


def test_values_leave_when_they_weigh_too_much_together(clock: Clock) -> None:
    cache: LoadingCache[int] = LoadingCache(clock, 30, weigh=lambda value: value, most_weight=10)
    cache.get("a", lambda: 6)
    cache.get("b", lambda: 5)
    assert cache.get("b", not_loaded) == 5
    assert cache.get("a", lambda: 1) == 1


def test_errors_push_no_values_out(clock: Clock) -> None:
    cache: LoadingCache[int] = LoadingCache(clock, 30, most=1, errors={TheirError: 30})
    cache.get("a", lambda: 1)
    for name in ("b", "c"):
        with pytest.raises(TheirError):
            cache.get(name, failing(UNKNOWN))
    assert cache.get("a", not_loaded) == 1
    assert cache.get("b", lambda: 2) == 2


@pytest.mark.parametrize("error", [None, UNKNOWN], ids=["a value", "an error that is kept"])
def test_of_many_who_ask_at_once_one_loads_and_all_have_what_came_of_it(clock: Clock, error: Exception | None) -> None:
    loads, outcomes = loaded_at_once(LoadingCache(clock, 30, errors={TheirError: 30}), [error or 1])
    assert len(loads) == 1
    assert {type(each) for each in outcomes} == {type(error) if error else int}


@pytest.mark.parametrize("error", [DOWN, ZeroDivisionError()], ids=["one that passes", "a fault of ours"])
def test_an_error_that_is_not_kept_befalls_one_alone_and_the_others_load_for_themselves(
    clock: Clock, error: Exception
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
        assert all_waiting.wait(60)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(cache.get, "a", slowly)
        assert began.wait(60)
        [loading] = cache._loading.values()
        waiting, let_go = [], loading.result

        def result(*arguments: Any) -> int:
            waiting.append(1)
            if len(waiting) == 6:
                all_waiting.set()
            return let_go(*arguments)

        loading.result = result  # type: ignore[method-assign]
        others = [pool.submit(cache.get, "a", slowly) for _ in range(6)]
        outcomes = [each.exception(60) or each.result() for each in (first, *others)]
    assert cache._loading == {}
    return loads, outcomes
