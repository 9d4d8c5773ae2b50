from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.peers.node import Reference, packages, required

HERE: Final = Path(__file__).parent
PACKAGES: Final = packages("peers-dcp5", HERE, "absent/package.json")


@pytest.fixture(scope="session")
def reference5(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reference]:
    """DCP's reference implementation of now. It writes into the user's folder, and gets one of its own."""
    folder = required(PACKAGES, "DCP's reference implementation of now")
    with Reference(folder, HERE / "peer.js", tmp_path_factory.mktemp("dcp5-home")) as reference:
        yield reference
