from concurrent.futures import ThreadPoolExecutor

import pytest

from postroom.jobs.tally import CountersAccumulator, Counts, Tally


def test_several_threads_count_together() -> None:
    tally = Tally()
    with ThreadPoolExecutor(8) as pool:
        for _ in range(500):
            pool.submit(tally.add, "lines.read", 2)
    assert tally.take() == {"lines.read": 1000}


def test_counts_that_were_taken_are_not_counted_again() -> None:
    tally = Tally()
    tally.add("chunks")
    assert tally.take() == {"chunks": 1}
    tally.add("chunks", 2)
    assert tally.take() == {"chunks": 2}
    assert tally.take() == {}


def test_the_time_of_a_step_is_counted_even_if_it_fails() -> None:
    tally = Tally()
    with pytest.raises(ZeroDivisionError), tally.timed("write"):
        _ = 1 / 0
    assert set(tally.take()) == {"us.write"}


def test_counts_of_tasks_add_up_to_those_of_the_run_zeros_too() -> None:
    adding = CountersAccumulator()
    parts = [Counts({"a": 1, "b": 0}), Counts({"a": 2}), Counts({"c": 5})]
    counts = adding.zero(Counts({"a": 9}))
    for part in parts:
        counts = adding.addInPlace(counts, part)
    assert counts == {"a": 3, "b": 0, "c": 5}
    assert parts[0] == {"a": 1, "b": 0}, "what a task counted stays its own"
