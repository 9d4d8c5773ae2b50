"""Whatever befalls any call of AWS: nothing is lost, nothing is doubled, and nobody is told twice.

What is played, and what comes of it, is in docs/evidence/faults.md: `python -m tests.faults --write` writes it there,
from a run of everything. A tier plays a share of it (tests/faults/rotation.py), and first what changed
(tests/faults/changed.py).
"""

import re
from collections import Counter
from collections.abc import Callable

import pytest
from tests.faults.__main__ import MARK, PAGE
from tests.faults.conftest import Played
from tests.tiers import Tier, tier

# All of them ask for what is played once.
pytestmark = [pytest.mark.stack(tier="quick"), pytest.mark.xdist_group("faults")]


def test_nothing_is_lost_nothing_is_doubled(played: Played) -> None:
    assert played.code == 0, played


def test_the_page_lists_the_faults_of_each_flow(played: Played) -> None:
    table = PAGE.read_text(encoding="utf-8").partition(MARK)[2].splitlines()[2:]
    rows = [row.rpartition(" | ")[0] + " |" for row in played.rows]
    # `make test` plays some of the flows.
    assert rows == ([row for row in table if row in rows] if tier() is Tier.QUICK else table)
    assert rows


def test_every_flow_meets_faults(played: Played, record_property: Callable[[str, object], None]) -> None:
    number: Counter[str] = Counter()
    for row in played.rows:
        strikes = re.findall(r"(.+?) (\d+)(?:, | \|)", row.rpartition(" | ")[2])
        assert strikes, row
        for what, runs in strikes:
            number[what] += int(runs)
    runs = ", ".join(f"{what} {runs}" for what, runs in number.items())
    record_property("played", f"{len(played.rows)} flows of faults: {runs}{played.due}")
