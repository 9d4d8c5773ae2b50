"""What holds for all tests: tiers, order, costs, and descriptions of services that are read once."""

from tests.sessions import share_descriptions

pytest_plugins = ["tests.tiers", "tests.schedule", "tests.costs"]
share_descriptions()


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """A long text names no test: it may be made anew by each process, and they must agree on the names."""
    return argname if isinstance(val, str | bytes) and len(val) > 60 else None
