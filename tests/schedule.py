"""The order of tests, and their distribution over processes: groups and files, the longest first."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

DURATIONS = Path(__file__).with_name("durations.json")
"""By test file: the elapsed seconds and the processor time in one run of `make test-all`."""


def file_of(nodeid: str) -> str:
    """The test file of a test's id."""
    return nodeid.partition("::")[0]


def durations() -> dict[str, list[float]]:
    """The content of DURATIONS."""
    known: dict[str, list[float]] = json.loads(DURATIONS.read_text(encoding="utf-8"))
    return known


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
    known = durations()
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
