"""The cost of each test and of each package: measured and printed, and the programs that tests may start."""

import os
import re
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import dropwhile
from pathlib import Path
from typing import Any

import pytest
from tests.schedule import DURATIONS, durations, file_of, write_durations
from tests.tiers import Tier, markers, tier

QUICK_SECONDS = 5.0
"""The processor time without shared fixtures from which on a run of `quick` names an unmarked test, in seconds."""
_SLOWEST = 10
_GROWN = 15
"""The number of packages in the table."""
_COST = "cost"
"""The name of a report's property with (seconds, processor time, processor time without shared fixtures)."""
_OVER = "over"
"""The name of a report's property with the processor time of an unmarked test that took more than QUICK_SECONDS."""
_NEEDS = {
    "stack": re.compile(r"\bministack\b|tests\.faults\b|postroom (demo|up)\b|make (demo|up)\b"),
    "spark": re.compile(r"spark-submit|\bjava\b"),
    "validators": re.compile(r"\b(named|knotd|unbound)\b"),
    "protoc": re.compile(r"grpc_tools|make protos\b"),
}
"""Programs that only tests with these markers may start, by their command lines."""
_TOOLS = r"pip[\d.]*|npm|npx|node|go|cargo|rustc|gcc|g\+\+|cc|c\+\+|clang|sam|cfn-lint|checkov|uvx?|openssl|curl|wget"
"""Programs that only tests with the marker `tools` may start."""
_AS_MODULE = re.compile(r"(^|\s)-m (pip|uv)(\s|$)")
_IN_SCRIPT = re.compile(
    rf"(^|[;&|({{!\n]|\b(exec|command|env|if|then|do|else)\s)\s*(\w+=\S*\s+)*(\S*/)?({_TOOLS})(\s|$)"
)
"""One of them where a shell script has a command."""
_TARGET = re.compile(r"(^|\s)(install|test-all|proof|review|rie|sam-local|lock|fuzz|build-\w+)(\s|$)")
"""A target of make that starts one of them."""
_SHELLS = ("sh", "bash", "dash")
_started: set[str] = set()
"""The markers whose programs this process has started since the setup of the current test began."""


def pytest_addoption(parser: pytest.Parser) -> None:
    where = f"write {DURATIONS.name}, from a run of all tests of a tier"
    parser.getgroup("tiers").addoption("--write-durations", action="store_true", help=where)


def pytest_configure(config: pytest.Config) -> None:
    sys.addaudithook(_watch)
    config.pluginmanager.register(_Costs(config))


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "subprocess.Popen":
        command = arguments[1]
        words = [*map(os.fsdecode, command)] if isinstance(command, list | tuple) else [os.fsdecode(command)]
        line = " ".join(words)
        _started.update(marker for marker, pattern in _NEEDS.items() if pattern.search(line))
        if is_tool(words):
            _started.add("tools")


def is_tool(words: Sequence[str]) -> bool:
    """Whether a command starts a program that requirements.lock does not bring, itself or by a shell or make."""
    program, line = Path(words[0]).name, " ".join(words[1:])
    if program == "env":
        words = [*dropwhile(lambda word: "=" in word, words[1:])]
        return bool(words) and is_tool(words)
    if program in _SHELLS:
        return any(_IN_SCRIPT.search(word) for word in words[1:])
    if program == "make":
        return "-n" not in words and _TARGET.search(line) is not None
    return re.fullmatch(_TOOLS, program) is not None or _AS_MODULE.search(line) is not None


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
        self._over: Counter[str] = Counter()
        # Read now, because a run may write that file before it prints the table.
        self._recorded = {path: took[0] for path, took in durations(tier()).items()}

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
        _started.clear()
        with self._measured(item):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        with self._measured(item):
            answer = yield
        marked = markers(item)
        missing = sorted(_started - marked.keys())
        if missing:
            pytest.fail(
                f"it needs the marker {', '.join(missing)}, because of the programs that it starts", pytrace=False
            )
        # In larger tiers, the same test has more examples.
        if tier() is Tier.QUICK and not marked and self._own > QUICK_SECONDS:
            item.user_properties.append((_OVER, self._own))
        return answer

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, object, object]:
        # The last of several tests also tears down their shared fixtures.
        with self._measured(item, shared=True):
            return (yield)

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
                elif name == _OVER:
                    self._over[report.nodeid] = value  # type: ignore[assignment]

    def pytest_sessionfinish(self) -> None:
        if self._config.option.write_durations and not hasattr(self._config, "workerinput"):
            write_durations(tier(), {path: (took, self._by_file[path]) for path, took in self._seconds.items()})

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        whole, processor = sum(self._seconds.values()), sum(self._by_file.values())
        terminalreporter.section("costs")
        terminalreporter.line(f"{whole:.0f} s of tests, {processor:.0f} s of processor time; the slowest by that:")
        for nodeid, seconds in self._by_test.most_common(_SLOWEST):
            terminalreporter.line(f"{seconds:7.2f} s {nodeid}")
        for nodeid, seconds in self._over.most_common():
            terminalreporter.line(f"over {QUICK_SECONDS:g} s: {seconds:.1f} s {nodeid}")
        terminalreporter.section("packages")
        for line in table_of(self._seconds, self._recorded):
            terminalreporter.line(line)


def table_of(seconds: Mapping[str, float], recorded: Mapping[str, float]) -> Iterator[str]:
    """The seconds of each package of tests, by file, and their change since the recorded run: the worst growth first.

    A package is a folder in tests/, or a file there. Of the recorded run, only the files of this one count.
    """
    now = _by_package(seconds)
    before = _by_package({path: took for path, took in recorded.items() if path in seconds})
    whole = now.total() or 1.0
    change = {package: now[package] - before[package] for package in now}
    yield "seconds  share  change  package"
    for package in sorted(change, key=lambda package: (-change[package], package))[:_GROWN]:
        yield f"{now[package]:7.0f} {now[package] / whole:6.1%} {change[package]:+7.0f}  {package}"
    left = len(now) - _GROWN
    more = f", {left} of which grew less than these" if left > 0 else ""
    yield f"{now.total():7.0f} {1:6.1%} {now.total() - before.total():+7.0f}  {len(now)} packages{more}"


def _by_package(by_file: Mapping[str, float]) -> Counter[str]:
    found: Counter[str] = Counter()
    for path, seconds in by_file.items():
        found["/".join(path.split("/")[:2])] += seconds  # type: ignore[assignment]
    return found
