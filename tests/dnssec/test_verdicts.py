"""unbound, delv and we say of every case what the table of cases says, and docs/evidence/dnssec.md repeats it."""

from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path

import pytest
from tests.dnssec.ground import Verdicts
from tests.dnssec.page import PAGE, results, written
from tests.dnssec.programs import PACKAGES
from tests.dnssec.table import CASES, SECTIONS

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.xdist_group("dnssec"), pytest.mark.validators]


@pytest.mark.parametrize("label", CASES)
def test_unbound_delv_and_we_give_the_expected_verdicts(label: str, verdicts: Mapping[str, Future[Verdicts]]) -> None:
    assert verdicts[label].result().unlike(CASES[label]) == []


def test_the_page_has_the_verdicts_of_all_validators(verdicts: Mapping[str, Future[Verdicts]]) -> None:
    said = results(SECTIONS, {label: found.result() for label, found in verdicts.items()})
    assert written(PAGE.read_text(encoding="utf-8")) == written(said)


def test_every_expected_difference_exists_and_has_a_reason() -> None:
    differences = [(case.expected, found) for case in CASES.values() for found in case.differs.values()]
    assert differences
    assert [found for expected, found in differences if found.status is expected or not found.why] == []


def test_no_two_cases_have_one_label() -> None:
    assert len(CASES) == sum(map(len, SECTIONS.values()))


def test_ci_installs_what_is_needed() -> None:
    assert f'packages="{PACKAGES}"' in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
