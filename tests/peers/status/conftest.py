from collections.abc import Iterator

import pytest
from tests.peers.answering import AnsweringProcess
from tests.peers.node import required
from tests.peers.status.program import PROGRAM, go_process


@pytest.fixture(scope="session")
def go() -> Iterator[AnsweringProcess]:
    """Go's protobuf module and go-ethereum's keys, as Status's node uses them."""
    with go_process(required(PROGRAM, "a Go program with go-ethereum's keys")) as go:
        yield go
