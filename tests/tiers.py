"""Test tiers: which tests a run includes, and which it leaves to the other tiers.

`make test` runs `quick`, `make test-all` runs `all`, `make proof` runs `proof`; each includes the tiers before it. A
test without one of the markers below is quick. A marked test runs from `all` on (the marker `proof`: from `proof` on),
or from the tier in its marker: `@pytest.mark.stack(tier="quick")`.

The number of examples, rounds or faults of a test also depends on the tier: `examples` and `amount`.
"""

import os
import random
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings

T = TypeVar("T")
MARKERS = {
    "stack": "needs the embedded AWS or the local stack, in a process of its own",
    "spark": "starts a Java for Spark",
    "validators": "needs other people's DNS software",
    "protoc": "needs protoc, in an environment of its own",
    "browser": "needs Chromium",
    "tools": "needs programs or packages that requirements.lock does not have, or a download",
    "proof": "runs before a release only",
}
_EXAMPLES = 100
_DAY_SECONDS = 86_400


class Tier(StrEnum):
    """The tiers, from the smallest to the largest."""

    QUICK = "quick"
    ALL = "all"
    PROOF = "proof"

    @property
    def rank(self) -> int:
        return list(Tier).index(self)

    @property
    def command(self) -> str:
        return {Tier.QUICK: "make test", Tier.ALL: "make test-all", Tier.PROOF: "make proof"}[self]


_chosen = Tier.ALL
_rotation = 0


def tier() -> Tier:
    """The tier of this run."""
    return _chosen


def amount(*, quick: T, all: T, proof: T) -> T:  # noqa: A002 - the tiers' names
    """The value for this tier."""
    return {Tier.QUICK: quick, Tier.ALL: all, Tier.PROOF: proof}[_chosen]


def examples(usual: int) -> int:
    """The number of examples of a property test in this tier: a tenth of `usual`, a third of it, or ten times it."""
    return amount(quick=max(3, usual // 10), all=max(3, usual // 3), proof=usual * 10)


def in_turns(every: Sequence[T], *, quick: int, all: int) -> list[T]:  # noqa: A002 - the tiers' names
    """The items of this rotation: one of so many in this tier, so that so many successive rotations have all of them.

    In `proof`, all of them. At least one, if there are any.
    """
    turns = amount(quick=quick, all=all, proof=1)
    return list(every[_rotation % turns :: turns] or every[:1])


def default_rotation(root: Path = Path(__file__).parent.parent) -> int:
    """In CI a number of the commit, so that a run can be repeated; elsewhere and without git the number of the day."""
    if os.environ.get("CI") == "true":
        with suppress(OSError, subprocess.CalledProcessError):
            head = ["git", "-C", root, "rev-parse", "HEAD"]
            return int(subprocess.run(head, capture_output=True, text=True, check=True).stdout[:8], 16)
    return int(time.time()) // _DAY_SECONDS


def markers(item: pytest.Item) -> dict[str, Tier]:
    """The markers of a test, each with the first tier in which it allows the test."""
    found = {}
    for name in MARKERS:
        if marker := item.get_closest_marker(name):
            found[name] = Tier(marker.kwargs.get("tier", Tier.PROOF if name == "proof" else Tier.ALL))
    return found


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tiers")
    group.addoption("--tier", type=Tier, choices=list(Tier), default=Tier.ALL, help="default: all")
    group.addoption(
        "--rotation",
        type=int,
        help="which share to run of tests that run in turns; default: the day's number, in CI the commit's",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Set the seed before the plugin of Hypothesis reads it."""
    global _chosen, _rotation
    _chosen = config.option.tier
    for name, what in MARKERS.items():
        config.addinivalue_line("markers", f"{name}(tier): {what}")
    if config.option.rotation is None:
        config.option.rotation = default_rotation()
    _rotation = config.option.rotation
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(random.SystemRandom().getrandbits(32))
    settings.register_profile(
        "postroom", max_examples=examples(_EXAMPLES), derandomize=False, deadline=None, print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )  # fmt: skip
    settings.load_profile("postroom")
    config.pluginmanager.register(_Left(config))


def pytest_report_header(config: pytest.Config) -> str:
    return _said(config)


def _said(config: pytest.Config) -> str:
    option = config.option
    return f"tier {option.tier}: --rotation {option.rotation} --hypothesis-seed={option.hypothesis_seed}"


class _Left:
    """Deselects tests of larger tiers, and reports them at the end, with or without xdist.

    It also reports which share a test ran: `record_property("played", …)`.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._left: Counter[str] = Counter()
        self._played: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        played, others = [], []
        for item in items:
            marked = markers(item)
            first = max(marked.values(), key=lambda each: each.rank, default=Tier.QUICK)
            if first.rank <= _chosen.rank:
                played.append(item)
            else:
                others.append(item)
                self._left[f"{first.command} ({', '.join(sorted(marked))})"] += 1
        self._config.hook.pytest_deselected(items=others)
        items[:] = played

    def pytest_sessionfinish(self) -> None:
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput["left"] = dict(self._left)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        # Each worker of xdist collects all tests.
        self._left = Counter(getattr(node, "workeroutput", {}).get("left", self._left))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            self._played += [str(value) for name, value in report.user_properties if name == "played"]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.section("tier")
        for line in self._lines():
            terminalreporter.line(line)

    def _lines(self) -> Iterator[str]:
        yield _said(self._config)
        yield from self._played
        for where, number in sorted(self._left.items()):
            yield f"left to {where}: {number} tests"
