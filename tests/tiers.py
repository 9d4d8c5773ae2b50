"""Test tiers: how much of the tests a run plays, what it leaves to the others, and what each test costs.

`make test` plays `quick`, `make test-all` plays `all`, `make proof` plays `proof`; each plays what the one before it
plays. A test without one of the markers below is quick. A marked test is played from `all` on (`proof`: from `proof`
on), or from the tier that its marker says: `@pytest.mark.stack(tier="quick")`.

How many examples, rounds or faults a test plays depends on the tier, too: `examples` and `amount`.
"""

import json
import os
import random
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings

T = TypeVar("T")
DURATIONS = Path(__file__).with_name("durations.json")
"""Seconds of processor time by test file, of one run of `make test-all`: it orders the next, longest first."""
QUICK_SECONDS = 5.0
"""How much processor time an unmarked test may take in `quick`, fixtures that it shares with others not counted."""
_SLOWEST = 10
_EXAMPLES = 100
_DAY_SECONDS = 86_400


class Tier(StrEnum):
    """From the smallest to the largest."""

    QUICK = "quick"
    ALL = "all"
    PROOF = "proof"

    @property
    def rank(self) -> int:
        return list(Tier).index(self)

    @property
    def command(self) -> str:
        return {Tier.QUICK: "make test", Tier.ALL: "make test-all", Tier.PROOF: "make proof"}[self]


MARKERS = {
    "stack": "needs the embedded AWS or the local stack, in a process of its own",
    "spark": "starts a Java for Spark",
    "validators": "needs other people's DNS software",
    "proof": "is played before a release only",
}
_NEEDS = {
    "stack": re.compile(r"\bministack\b|tests\.faults\b|postroom (demo|up)\b|make (demo|up)\b"),
    "spark": re.compile(r"spark-submit|\bjava\b"),
    "validators": re.compile(r"\b(named|knotd|unbound)\b"),
}
"""What is started, by its command line, that only a test with this marker may start."""

_chosen = Tier.ALL
_met: set[str] = set()
"""Which of `_NEEDS` this process has started since they were taken last."""


def tier() -> Tier:
    """The tier that is played."""
    return _chosen


def amount(*, quick: T, all: T, proof: T) -> T:  # noqa: A002 - the tiers' names
    """How much of something is played in this tier."""
    return {Tier.QUICK: quick, Tier.ALL: all, Tier.PROOF: proof}[_chosen]


def examples(usual: int) -> int:
    """How many examples a property test plays, where `usual` is the number for `all`."""
    return amount(quick=max(3, usual // 4), all=usual, proof=usual * 10)


def todays_rotation() -> int:
    """The number of the day: what is played in turns has another turn tomorrow."""
    return int(time.time()) // _DAY_SECONDS


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tiers")
    group.addoption("--tier", type=Tier, choices=list(Tier), default=Tier.ALL, help="default: all")
    group.addoption("--rotation", type=int, help="which part of what is played in turns; default: today's number")
    group.addoption("--write-durations", action="store_true", help=f"write {DURATIONS.name}, from a run of everything")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Before the plugin of hypothesis reads its seed."""
    global _chosen
    _chosen = config.option.tier
    for name, what in MARKERS.items():
        config.addinivalue_line("markers", f"{name}(tier): {what}")
    if config.option.rotation is None:
        config.option.rotation = todays_rotation()
    if getattr(config.option, "hypothesis_seed", None) is None:
        config.option.hypothesis_seed = str(random.SystemRandom().getrandbits(32))
    config.option.loadscopereorder = False
    for each in Tier:
        number = {Tier.QUICK: _EXAMPLES // 4, Tier.ALL: _EXAMPLES, Tier.PROOF: _EXAMPLES * 10}[each]
        settings.register_profile(
            each, max_examples=number, derandomize=False, deadline=None, print_blob=True,
            suppress_health_check=[HealthCheck.too_slow],
        )  # fmt: skip
    settings.load_profile(_chosen)
    sys.addaudithook(_watch)
    config.pluginmanager.register(_Costs(config), "costs")


def pytest_report_header(config: pytest.Config) -> str:
    return _said(config)


def _said(config: pytest.Config) -> str:
    option = config.option
    return f"tier {option.tier}: --rotation {option.rotation} --hypothesis-seed={option.hypothesis_seed}"


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "subprocess.Popen":
        command = arguments[1]
        line = " ".join(map(os.fsdecode, command)) if isinstance(command, list | tuple) else os.fsdecode(command)
        _met.update(marker for marker, pattern in _NEEDS.items() if pattern.search(line))


def _markers(item: pytest.Item) -> dict[str, Tier]:
    """The markers of a test, with the tier from which each lets it be played."""
    found = {}
    for name in MARKERS:
        if marker := item.get_closest_marker(name):
            found[name] = Tier(marker.kwargs.get("tier", Tier.PROOF if name == "proof" else Tier.ALL))
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is of a larger tier; begin with the files that take longest."""
    left: Counter[str] = Counter()
    played, others = [], []
    for item in items:
        markers = _markers(item)
        first = max(markers.values(), key=lambda each: each.rank, default=Tier.QUICK)
        if first.rank <= _chosen.rank:
            played.append(item)
        else:
            others.append(item)
            left[f"{first.command} ({', '.join(sorted(markers))})"] += 1
    config.stash[_LEFT] = left
    config.hook.pytest_deselected(items=others)
    seconds = _durations()
    units: dict[str, float] = defaultdict(float)
    for path in dict.fromkeys((_unit(item), _file(item)) for item in played):
        units[path[0]] += seconds.get(path[1], 0.0)
    # Stable: what is of one unit stays together, in the order it is written.
    first_of = {unit: number for number, unit in enumerate(dict.fromkeys(map(_unit, played)))}
    items[:] = sorted(played, key=lambda item: (-units[_unit(item)], first_of[_unit(item)]))


_LEFT = pytest.StashKey[Counter[str]]()


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def _unit(item: pytest.Item) -> str:
    """What runs in one process: a group, or else a file."""
    marker = item.get_closest_marker("xdist_group")
    return str(marker.args[0]) if marker else _file(item)


def _durations() -> dict[str, float]:
    return json.loads(DURATIONS.read_text(encoding="utf-8")) if DURATIONS.exists() else {}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A group runs in one process, and a file, too: what its tests share is made once."""
    from xdist.scheduler import LoadGroupScheduling

    class Units(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            scope: str = super()._split_scope(nodeid)
            return scope.partition("::")[0]

    return Units(config, log) if config.getvalue("dist") == "loadgroup" else None


def _processor_seconds() -> float:
    """Of this process, and of those that it started and saw the end of."""
    return sum(os.times()[:4])


class _Costs:
    """What each test takes of processor time, in this process or, of all of them, in that which tells."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._shared = 0.0
        """Of fixtures that the present test shares with others."""
        self._depth = 0
        self._own = 0.0
        self._by_file: Counter[str] = Counter()
        self._by_test: Counter[str] = Counter()
        self._left: Counter[str] = Counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, object, object]:
        if fixturedef.scope == "function" or self._depth:
            return (yield)
        self._depth += 1
        before = _processor_seconds()
        try:
            return (yield)
        finally:
            self._depth -= 1
            self._shared += _processor_seconds() - before

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        self._own = 0.0
        with self._measured(item):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        with self._measured(item):
            answer = yield
        markers = _markers(item)
        missing, _ = sorted(_met - set(markers)), _met.clear()
        if missing:
            pytest.fail(f"it needs the marker {', '.join(missing)}: it starts what only such tests may", pytrace=False)
        # In larger tiers the same test plays more examples.
        if _chosen is Tier.QUICK and not markers and self._own > QUICK_SECONDS:
            pytest.fail(
                f"it took {self._own:.1f} s of processor time, and a test without a marker of a tier may take "
                f"{QUICK_SECONDS:.0f} s",
                pytrace=False,
            )
        return answer

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, object, object]:
        with self._measured(item):
            return (yield)

    def _measured(self, item: pytest.Item) -> "_Measured":
        return _Measured(self, item)

    def add(self, item: pytest.Item, seconds: float, shared: float) -> None:
        """What a part of a test took."""
        self._own += seconds - shared
        item.user_properties.append(("processor", (round(seconds, 3), round(seconds - shared, 3))))

    @property
    def shared(self) -> float:
        return self._shared

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # In the process that tells of all; a report of the last part holds what was noted for all of them.
        if report.when == "teardown" and not hasattr(self._config, "workerinput"):
            for name, value in report.user_properties:
                if name == "processor":
                    whole, own = value
                    self._by_file[report.nodeid.partition("::")[0]] += whole
                    self._by_test[report.nodeid] += own

    def pytest_sessionfinish(self) -> None:
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput["left"] = dict(self._config.stash.get(_LEFT, Counter()))
        elif self._config.option.write_durations:
            table = {path: round(seconds, 1) for path, seconds in sorted(self._by_file.items()) if seconds >= 0.1}
            DURATIONS.write_text(json.dumps(table, indent=0) + "\n", encoding="utf-8")

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._left = Counter(getattr(node, "workeroutput", {}).get("left", self._left))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.section("tier")
        for line in self._summary():
            terminalreporter.line(line)

    def _summary(self) -> Iterator[str]:
        yield _said(self._config)
        left = self._left or self._config.stash.get(_LEFT, Counter())
        for where, number in sorted(left.items()):
            yield f"left to {where}: {number} tests"
        yield f"{sum(self._by_file.values()):.0f} s of processor time; the slowest:"
        for nodeid, seconds in self._by_test.most_common(_SLOWEST):
            yield f"{seconds:7.2f} s {nodeid}"


class _Measured:
    def __init__(self, costs: _Costs, item: pytest.Item) -> None:
        self._costs, self._item = costs, item

    def __enter__(self) -> None:
        self._before, self._shared = _processor_seconds(), self._costs.shared

    def __exit__(self, *_: object) -> None:
        self._costs.add(self._item, _processor_seconds() - self._before, self._costs.shared - self._shared)
