"""Fixtures for the local stack: one stack with two deployments of the test app, for all tests that change nothing."""

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from postroom.local.clients import Clients
from postroom.local.stack import LocalDeployment, LocalStack


def pytest_itemcollected(item: pytest.Item) -> None:
    """Run the tests that share the stack in one process."""
    if "stack" in item.fixturenames:  # type: ignore[attr-defined]
        item.add_marker(pytest.mark.stack)
        item.add_marker(pytest.mark.xdist_group("local"))


@pytest.fixture(scope="session")
def template() -> Path:
    return Path(__file__).parent / "app" / "template.yaml"


@pytest.fixture(scope="session")
def stack(template: Path) -> Iterator[LocalStack]:
    with LocalStack(template) as stack:
        yield stack


@pytest.fixture(scope="session")
def one(stack: LocalStack) -> LocalDeployment:
    return stack.deploy("one", {"Greeting": "good day"})


@pytest.fixture(scope="session")
def two(stack: LocalStack) -> LocalDeployment:
    return stack.deploy("two")


@pytest.fixture(scope="session")
def fresh_account(stack: LocalStack) -> Callable[[], Clients]:
    """An empty account of the running emulator."""
    numbers = itertools.count(900_000_000_001)
    return lambda: stack.emulator.clients(str(next(numbers)))


@pytest.fixture(scope="session")
def ask() -> Callable[[Clients, str, str], object]:
    """Call the test app's inbox function directly; returns its result, or its error."""

    def call(clients: Clients, function: str, what: str) -> object:
        payload = json.dumps({"pathParameters": {"what": what}})
        return json.loads(clients("lambda").invoke(FunctionName=function, Payload=payload)["Payload"].read())

    return call
