"""The committed results, by mutant and by run, which is `before` or the name of a tier."""

import json
from collections.abc import Mapping
from pathlib import Path
from threading import Lock

from tests.mutants.played import Result
from tests.tiers import Tier

RESULTS = Path(__file__).with_name("results.json")
BEFORE = "before"
"""The run with all tests before there were tiers."""
RUNS = (BEFORE, *Tier)

Results = Mapping[str, Mapping[str, Result]]
_lock = Lock()


def read() -> Results:
    """All results so far."""
    if not RESULTS.exists():
        return {}
    told = json.loads(RESULTS.read_text(encoding="utf-8"))
    return {name: {run: Result(**result) for run, result in its.items()} for name, its in told.items()}


def note(name: str, run: str, result: Result) -> None:
    """Store a result immediately, so that a run that is interrupted loses none."""
    with _lock:
        results = {known: dict(its) for known, its in read().items()}
        results.setdefault(name, {})[run] = result
        told = {
            known: {each: its[each]._asdict() for each in RUNS if each in its} for known, its in sorted(results.items())
        }
        RESULTS.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def found(its: Mapping[str, Result], run: str) -> Result | None:
    """The result of a run, or of a smaller tier that found the mutant, because each tier includes the smaller ones."""
    tiers = list(Tier)
    smaller = tiers[: tiers.index(Tier(run)) + 1] if run != BEFORE else [run]
    return next((its[each] for each in smaller if each in its and its[each].by), its.get(run))
