from collections.abc import Iterator

import pytest
from tests.peers.dm3.reference import PACKAGES, PROGRAM
from tests.peers.node import Reference, required


@pytest.fixture(scope="session")
def reference() -> Iterator[Reference]:
    """dm3's reference libraries."""
    with Reference(required(PACKAGES, "dm3's reference libraries"), PROGRAM) as reference:
        yield reference
