"""The processor time of each test: it is measured, printed, and limited for tests without a marker."""

import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.schedule import DURATIONS, file_of
from tests.tiers import Tier, markers, tier

QUICK_SECONDS = 5.0
"""The maximum processor time of an unmarked test in `quick`, in seconds, without shared fixtures."""
_SLOWEST = 10
_COST = "cost"
"""The name of a report's property with (seconds, processor time, processor time without shared fixtures)."""
_NEEDS = {
    "stack": re.compile(r"\bministack\b|tests\.faults\b|postroom (demo|up)\b|make (demo|up)\b"),
    "spark": re.compile(r"spark-submit|\bjava\b"),
    "validators": re.compile(r"\b(named|knotd|unbound)\b"),
    "protoc": re.compile(r"grpc_tools|make protos\b"),
}
"""Programs that only tests with these markers may start, by their command lines."""
_started: set[str] = set()
"""The markers of `_NEEDS` whose programs this process has started since the call of the current test began."""


def pytest_addoption(parser: pytest.Parser) -> None:
    where = f"write {DURATIONS.name}, from a run of all tests"
    parser.getgroup("tiers").addoption("--write-durations", action="store_true", help=where)


def pytest_configure(config: pytest.Config) -> None:
    sys.addaudithook(_watch)
    config.pluginmanager.register(_Costs(config))


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "subprocess.Popen":
        command = arguments[1]
        line = " ".join(map(os.fsdecode, command)) if isinstance(command, list | tuple) else os.fsdecode(command)
        _started.update(marker for marker, pattern in _NEEDS.items() if pattern.search(line))


def _processor_seconds() -> float:
    """The processor time of this process and of its children that have ended."""
    return sum(os.times()[:4])


class _Costs:
    """Measures the tests of this process; with xdist, adds up the reports of the other processes."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._own = 0.0
        """The processor time of the current test, without shared fixtures."""
        self._shared = 0.0
        """The processor time of all shared fixtures so far."""
        self._inside_shared = False
        self._seconds: Counter[str] = Counter()
        self._by_file: Counter[str] = Counter()
        self._by_test: Counter[str] = Counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, object, object]:
        if fixturedef.scope == "function" or self._inside_shared:
            return (yield)
        self._inside_shared = True
        before = _processor_seconds()
        try:
            return (yield)
        finally:
            self._inside_shared = False
            self._shared += _processor_seconds() - before

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        self._own = 0.0
        with self._measured(item):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        _started.clear()
        with self._measured(item):
            answer = yield
        self._bound(item)
        return answer

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, object, object]:
        # The last of several tests also tears down their shared fixtures.
        with self._measured(item, shared=True):
            return (yield)

    def _bound(self, item: pytest.Item) -> None:
        marked = markers(item)
        missing = sorted(_started - marked.keys())
        if missing:
            pytest.fail(
                f"it needs the marker {', '.join(missing)}, because of the programs that it starts", pytrace=False
            )
        # In larger tiers, the same test has more examples.
        if tier() is Tier.QUICK and not marked and self._own > QUICK_SECONDS:
            pytest.fail(
                f"it took {self._own:.1f} s of processor time, and a test without a marker of a tier may take "
                f"{QUICK_SECONDS:.0f} s",
                pytrace=False,
            )

    @contextmanager
    def _measured(self, item: pytest.Item, *, shared: bool = False) -> Iterator[None]:
        begun, before, shared_before = time.monotonic(), _processor_seconds(), self._shared
        try:
            yield
        finally:
            seconds, processor = time.monotonic() - begun, _processor_seconds() - before
            own = 0.0 if shared else processor - (self._shared - shared_before)
            self._own += own
            item.user_properties.append((_COST, (round(seconds, 3), round(processor, 3), round(own, 3))))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # The report of the teardown has the properties of all phases.
        if report.when == "teardown" and not hasattr(self._config, "workerinput"):
            for name, value in report.user_properties:
                if name == _COST:
                    seconds, processor, own = value  # type: ignore[misc]
                    self._seconds[file_of(report.nodeid)] += seconds
                    self._by_file[file_of(report.nodeid)] += processor
                    self._by_test[report.nodeid] += own

    def pytest_sessionfinish(self) -> None:
        if self._config.option.write_durations and not hasattr(self._config, "workerinput"):
            lines = [
                f"{json.dumps(path)}: [{seconds:.1f}, {self._by_file[path]:.1f}]"
                for path, seconds in sorted(self._seconds.items()) if seconds >= 0.1
            ]  # fmt: skip
            DURATIONS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        whole, processor = sum(self._seconds.values()), sum(self._by_file.values())
        terminalreporter.section("costs")
        terminalreporter.line(f"{whole:.0f} s of tests, {processor:.0f} s of processor time; the slowest by that:")
        for nodeid, seconds in self._by_test.most_common(_SLOWEST):
            terminalreporter.line(f"{seconds:7.2f} s {nodeid}")
