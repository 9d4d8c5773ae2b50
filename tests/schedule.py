"""The order of tests, and their distribution over processes: groups and files, the longest first."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.tiers import Tier, tier

DURATIONS = Path(__file__).with_name("durations.json")
"""By tier (`make test`, `make test-all`) and test file: the elapsed seconds and the processor time in one run."""


def file_of(nodeid: str) -> str:
    """The test file of a test's id."""
    return nodeid.partition("::")[0]


def durations(of: Tier) -> dict[str, list[float]]:
    """What is recorded of a tier; of `proof`, what is recorded of `all`."""
    known: dict[str, dict[str, list[float]]] = json.loads(DURATIONS.read_text(encoding="utf-8"))
    return known[Tier.QUICK if of is Tier.QUICK else Tier.ALL]


def write_durations(of: Tier, taken: Mapping[str, Sequence[float]]) -> None:
    """Record the files of a tier that took a tenth of a second or more."""
    known = {each: durations(each) for each in (Tier.QUICK, Tier.ALL)}
    known[of] = {path: [round(each, 1) for each in taken[path]] for path in sorted(taken) if taken[path][0] >= 0.1}
    tiers = (
        f"{json.dumps(each)}: {{\n"
        + ",\n".join(f"{json.dumps(path)}: {json.dumps(seconds)}" for path, seconds in files.items())
        + "\n}"
        for each, files in known.items()
    )
    DURATIONS.write_text("{\n" + ",\n".join(tiers) + "\n}\n", encoding="utf-8")


def _unit(item: pytest.Item) -> str:
    """The unit of a test, which runs in one process: its group, or its file."""
    marker = item.get_closest_marker("xdist_group")
    return str(marker.args[0]) if marker else file_of(item.nodeid)


def pytest_configure(config: pytest.Config) -> None:
    """Keep our order: xdist would begin with the units that have the most tests.

    A process that crashes ends the run: xdist 3.8 would wait forever for the units that it had completed
    (pytest-xdist issue 1378).
    """
    config.option.loadscopereorder = False
    config.option.maxworkerrestart = "0"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest units first, so that no process still runs one when the others have finished."""
    known = durations(tier())
    seconds: dict[str, float] = defaultdict(float)
    for unit, path in {(_unit(item), file_of(item.nodeid)) for item in items}:
        seconds[unit] += known.get(path, [0.0])[0]
    first = {unit: number for number, unit in reversed(list(enumerate(map(_unit, items))))}
    items.sort(key=lambda item: (-seconds[_unit(item)], first[_unit(item)]))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each file without a group one of its own, so that its shared fixtures are created once."""
    from xdist.scheduler import LoadGroupScheduling

    class Units(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return file_of(super()._split_scope(nodeid))

    return Units(config, log) if config.getvalue("dist") == "loadgroup" else None
