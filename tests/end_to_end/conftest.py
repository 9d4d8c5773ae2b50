"""Fixtures for end-to-end tests: the stack of the demo, started once, with the real template, HTTPS, queues and DNS."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.names.patience import unhurried
from tests.patience import PATIENCE

from postroom.client import AsyncMailbox, Mailbox
from postroom.client.dcp import AsyncConnection, Connection
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.demo.scenes import Story
from postroom.demo.stack import DemoStack
from postroom.local.checkout import template_path
from postroom.local.stack import LocalStack


def pytest_itemcollected(item: pytest.Item) -> None:
    if "stack" in item.fixturenames:  # type: ignore[attr-defined]
        item.add_marker(pytest.mark.stack)
    if {"reference", "tools"} & set(item.fixturenames):  # type: ignore[attr-defined]
        item.add_marker(pytest.mark.tools)


@pytest.fixture(scope="package")
def stack() -> Iterator[LocalStack]:
    with LocalStack(template_path()) as running:
        yield running


@pytest.fixture(scope="package")
def demo_stack(stack: LocalStack, tmp_path_factory: pytest.TempPathFactory) -> DemoStack:
    return DemoStack(stack, tmp_path_factory.mktemp("keys"))


@pytest.fixture(scope="package")
def story(demo_stack: DemoStack) -> Story:
    return Story(demo_stack, print)


@pytest.fixture(scope="package")
def own_pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The private key of receiver.example's owner on the pages, which replaces the one that the demo has set."""
    path = tmp_path_factory.mktemp("owner") / "own.pem"
    path.write_bytes(PrivateKey.generate("ed25519").to_pem())
    return path


@pytest.fixture(autouse=True)
def no_hurry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let clients have all the time: this machine may be busy."""
    for client in (AsyncConnection, AsyncMailbox, Connection, Mailbox):
        monkeypatch.setitem(client.__init__.__kwdefaults__, "timeout", PATIENCE)
    with unhurried():
        yield


@pytest.fixture(autouse=True)
def function_logs(request: pytest.FixtureRequest) -> Iterator[None]:
    """Show the logs of the functions with a failed test."""
    failed = request.session.testsfailed
    demo_stack = request.getfixturevalue("demo_stack") if "demo_stack" in request.fixturenames else None
    yield
    if demo_stack and request.session.testsfailed > failed:
        for demo_deployment in (demo_stack.receiver, demo_stack.buffer):
            for line in demo_deployment.deployment.logs()[-60:]:
                print(line.function, line.text)
