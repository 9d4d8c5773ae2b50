import os
from collections.abc import Iterator, Mapping
from concurrent.futures import Future

import pytest
from tests.dnssec.ground import Verdicts, judged
from tests.dnssec.programs import MissingError, require_all
from tests.dnssec.table import CASES, RECIPES


@pytest.fixture(scope="session")
def programs() -> None:
    """CI must have other people's programs; elsewhere these tests are skipped without them."""
    try:
        require_all()
    except MissingError as why:
        if os.environ.get("CI"):
            pytest.fail(f"CI must have other people's validators: {why}")
        pytest.skip(f"needs other people's validators: {why}")


@pytest.fixture(scope="session")
def verdicts(programs: None) -> Iterator[Mapping[str, Future[Verdicts]]]:
    """What everybody says of every case."""
    with judged(RECIPES, CASES) as verdicts:
        yield verdicts
