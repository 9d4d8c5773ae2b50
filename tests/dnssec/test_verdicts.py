"""unbound and delv say of every case what the table of cases says, and docs/dnssec.md repeats it."""

from collections.abc import Mapping
from concurrent.futures import Future

import pytest
from tests.dnssec.case import Peer
from tests.dnssec.ground import Verdicts
from tests.dnssec.page import PAGE, written
from tests.dnssec.table import CASES, SECTIONS

pytestmark = pytest.mark.xdist_group("dnssec")


@pytest.mark.parametrize("label", CASES)
def test_unbound_and_delv_say_what_is_expected(label: str, verdicts: Mapping[str, Future[Verdicts]]) -> None:
    assert verdicts[label].result().unlike(CASES[label]) == []


def test_the_page_says_what_unbound_and_delv_say() -> None:
    expected = {label: {peer: case.expected_of(peer) for peer in Peer} for label, case in CASES.items()}
    assert written(PAGE.read_text(encoding="utf-8")) == expected


def test_every_difference_is_one_and_has_its_reason() -> None:
    differences = [(case.expected, found) for case in CASES.values() for found in case.differs.values()]
    assert differences
    assert [found for expected, found in differences if found.status is expected or not found.why] == []


def test_no_two_cases_have_one_label() -> None:
    assert len(CASES) == sum(map(len, SECTIONS.values()))
