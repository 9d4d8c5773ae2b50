"""The order of tests, and which of them run in one process: groups and files, the longest first."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

DURATIONS = Path(__file__).with_name("durations.json")
"""By test file: seconds from begin to end, and of processor time, of one run of `make test-all`."""


def file_of(nodeid: str) -> str:
    """The test file of a test's id."""
    return nodeid.partition("::")[0]


def durations() -> dict[str, list[float]]:
    """What DURATIONS says."""
    known: dict[str, list[float]] = json.loads(DURATIONS.read_text(encoding="utf-8"))
    return known


def _unit(item: pytest.Item) -> str:
    """What runs in one process: a group, or else a file."""
    marker = item.get_closest_marker("xdist_group")
    return str(marker.args[0]) if marker else file_of(item.nodeid)


def pytest_configure(config: pytest.Config) -> None:
    """xdist would begin with the units that have the most tests."""
    config.option.loadscopereorder = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest units first, so that no process is left with one when the others are done."""
    known = durations()
    seconds: dict[str, float] = defaultdict(float)
    for unit, path in {(_unit(item), file_of(item.nodeid)) for item in items}:
        seconds[unit] += known.get(path, [0.0])[0]
    first = {unit: number for number, unit in reversed(list(enumerate(map(_unit, items))))}
    items.sort(key=lambda item: (-seconds[_unit(item)], first[_unit(item)]))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """One process for each file, too: what its tests share is made once."""
    from xdist.scheduler import LoadGroupScheduling

    class Units(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return file_of(super()._split_scope(nodeid))

    return Units(config, log) if config.getvalue("dist") == "loadgroup" else None
