"""One deployment for a module of tests: each test sends messages of its own."""

from collections.abc import Callable, Iterator
from itertools import count

import pytest
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.cost.counting import CountedStack, counted_stack

Numbers = Callable[[int], list[int]]


@pytest.fixture(scope="module")
def stack() -> Iterator[CountedStack]:
    with counted_stack() as running:
        # What a cold start reads is counted by a test of its own, in test_cold_start.py.
        for protocol in ("nlweb", "dm3"):
            _, claims = running.take_in(protocol, [running.message(protocol, 0)])
            running.work(claims)
        yield running


_numbers = count(1)


@pytest.fixture
def numbers() -> Numbers:
    """So many numbers that no message had."""
    return lambda wanted: [next(_numbers) for _ in range(wanted)]
