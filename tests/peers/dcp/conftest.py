from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.peers.dcp.reference import PACKAGES, PROGRAM
from tests.peers.node import Reference, required


def process(home: Path, *options: str) -> Reference:
    return Reference(required(PACKAGES, "DCP's reference implementation"), PROGRAM, home, *options)


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reference]:
    """DCP's reference implementation. It writes into the user's folder, and gets one of its own."""
    with process(tmp_path_factory.mktemp("dcp-home")) as reference:
        yield reference


@pytest.fixture
def own_reference(tmp_path: Path) -> Iterator[Reference]:
    """The same in a process that a test may end."""
    with process(tmp_path) as reference:
        yield reference


@pytest.fixture
def plain_reference(tmp_path: Path) -> Iterator[Reference]:
    """The same as it is shipped, in JavaScript alone."""
    with process(tmp_path, "plain") as reference:
        yield reference
