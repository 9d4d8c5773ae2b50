"""Fixtures for the counts of AWS requests: one deployment for each module, and new messages for each test."""

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
        # The requests of a cold start are counted in test_cold_start.py.
        for protocol in ("nlweb", "dm3"):
            _, claims = running.take_in(protocol, [running.message(protocol, 0)])
            running.work(claims)
        yield running


_numbers = count(1)


@pytest.fixture
def numbers() -> Numbers:
    """`count` numbers that no message has had."""
    return lambda wanted: [next(_numbers) for _ in range(wanted)]
