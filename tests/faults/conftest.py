"""Fixtures for the fault tests: the run of all flows in this tier and rotation, once for all tests."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, replace

import pytest
from tests.faults import changed
from tests.faults.places import Place, read_place
from tests.faults.suites import SUITES
from tests.proof import record
from tests.proof.inputs import ROOT, Checkout
from tests.tiers import Tier, tier


@dataclass(frozen=True)
class Played:
    """The result of `python -m tests.faults`. `rows`: of its table. `due`: what changed, and did not fit."""

    command: str
    code: int
    said: str
    due: str = ""

    @property
    def rows(self) -> list[str]:
        return [line for line in self.said.splitlines() if line.startswith("| ")][1:]

    @property
    def places(self) -> set[Place]:
        """The places in the code of the AWS calls of all flows without faults; each of these calls gets faults."""
        return {read_place(line) for line in self.said.splitlines() if re.match(r"\S+\.py:\d+ ", line)}

    def __str__(self) -> str:
        return f"{self.command}\n{self.said}"


def play(*arguments: str) -> Played:
    """Run `python -m tests.faults` in a process of its own, without threads, because it forks."""
    command = ["-m", "tests.faults", *arguments]
    # On a machine that nobody prepared, Python buffers output.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    run = subprocess.run(
        [sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    )
    return Played(f"python {' '.join(command)}", run.returncode, run.stdout)


@pytest.fixture(scope="session")
def played(request: pytest.FixtureRequest) -> Played:
    """The share of this tier and rotation; `make proof` plays the rest, by suite."""
    rotation = request.config.option.rotation
    arguments = ["--tier", min(tier(), Tier.ALL, key=lambda each: each.rank), "--rotation", str(rotation), "--places"]
    if tier() is not Tier.ALL:
        return play(*arguments)
    known = record.read()
    suites = changed.changed_suites(known, Checkout(ROOT))
    if not suites:
        return play(*arguments)
    seconds = {name: known[part].seconds if (part := changed.part_of(name)) in known else 0 for name in SUITES}
    quarters = changed.quarters(suites, seconds, rotation)
    arguments += ["--quarters", *(f"{name}={number}" for name, number in quarters.items())]
    return replace(play(*arguments), due=changed.due(suites, quarters))
