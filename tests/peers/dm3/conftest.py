import os
from collections.abc import Iterator

import pytest
from tests.peers.dm3.reference import Reference, installed
from tests.peers.made import UnavailableError


@pytest.fixture(scope="session")
def reference() -> Iterator[Reference]:
    """dm3's reference libraries. CI must have them; elsewhere their tests are skipped where they cannot be had."""
    try:
        folder = installed()
    except UnavailableError as why:
        if os.environ.get("CI"):
            pytest.fail(f"CI must have dm3's reference libraries: {why}")
        pytest.skip(f"needs dm3's reference libraries: {why}")
    with Reference(folder) as reference:
        yield reference
