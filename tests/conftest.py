"""Property tests on a busy machine: how long an example takes is no reason to fail. Each test is a run of its own."""

import os

import pytest
from hypothesis import HealthCheck, settings
from tests.sessions import share_descriptions

from postroom.store.own_faults import MET

settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# With CI set, hypothesis loads a profile of its own, which hurries nobody either.
if "CI" not in os.environ:
    settings.load_profile("unhurried")
share_descriptions()


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """A long text names no test: it may be made anew by each process, and they must agree on the names."""
    return argname if isinstance(val, str | bytes) and len(val) > 60 else None


@pytest.fixture(autouse=True)
def nothing_met_before() -> None:
    """What one test met that is wrong with us is not told in another."""
    MET.take()
