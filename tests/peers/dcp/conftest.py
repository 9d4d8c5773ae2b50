from collections.abc import Iterator

import pytest
from tests.peers.dcp.reference import PACKAGES, PROGRAM
from tests.peers.node import Reference, required


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reference]:
    """DCP's reference implementation. It writes into the user's folder, and gets one of its own."""
    folder, home = required(PACKAGES, "DCP's reference implementation"), tmp_path_factory.mktemp("dcp-home")
    with Reference(folder, PROGRAM, home) as reference:
        yield reference
