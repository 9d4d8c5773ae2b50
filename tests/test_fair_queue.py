"""The model of fair queues that `benchmarks/bench_fairness.py` measures by: what the documentation says, it does."""

from benchmarks.fair_queue import NOISY_FROM, FairQueue


def test_messages_without_a_group_are_received_in_order() -> None:
    queue = FairQueue()
    for now in (1.0, 2.0, 3.0):
        queue.send("", now)
    assert [came for _, came in queue.receive(2)] == [1.0, 2.0]
    assert [came for _, came in queue.receive(2)] == [3.0]
    assert not queue


def test_a_noisy_group_waits_behind_quiet_ones() -> None:
    queue = FairQueue()
    for now in range(NOISY_FROM + 2):
        queue.send("loud", float(now))
    held = queue.receive(NOISY_FROM)
    queue.send("quiet", 100.0)
    assert queue.receive(2) == [("quiet", 100.0), ("loud", float(NOISY_FROM))]
    queue.delete(held)
    queue.send("quiet", 101.0)
    assert queue.receive(1) == [("loud", float(NOISY_FROM + 1))]


def test_with_few_messages_in_flight_no_group_is_noisy() -> None:
    queue = FairQueue()
    for now in range(NOISY_FROM):
        queue.send("one", float(now))
    queue.receive(NOISY_FROM - 1)
    queue.send("other", 100.0)
    assert queue.receive(1) == [("one", float(NOISY_FROM - 1))]


def test_a_group_with_a_tenth_of_the_messages_in_flight_is_not_noisy() -> None:
    queue = FairQueue()
    for number in range(20):
        for now in range(NOISY_FROM + 1):
            queue.send(f"group {number}", float(now))
    queue.receive(20 * NOISY_FROM)
    queue.send("another", 100.0)
    assert queue.receive(1)[0][1] == float(NOISY_FROM)
