"""The suites whose functions have changed since `make proof` played them, and how much of these fits into a run.

A function is changed if its handler, a module that this can reach, the template or the fault tests differ from the
commit in the record. What a start of it imports is looked up by starting it, because the source of `Deployment` names
the parts of all functions.
"""

from collections.abc import Mapping, Sequence
from functools import cache

from tests.aws import function
from tests.faults.flows import INBOXES, OWNERS
from tests.faults.rotation import TURNS
from tests.faults.suites import SUITES, Suite
from tests.functions.test_imports import modules_of
from tests.proof.inputs import LIBRARY, ROOT, Checkout
from tests.proof.record import Entry
from tests.tiers import Tier

SECONDS = 360.0
"""How long all strikes of a run of `make test-all` may take, by what the record says."""
_DEPLOYMENT = f"{LIBRARY}postroom/runtime/deployment.py"
_QUARTERS = TURNS[Tier.ALL]


def part_of(suite: str) -> str:
    """The name of the part of the proof that plays everything of a suite."""
    return f"faults: {suite}"


def changed_suites(record: Mapping[str, Entry], checkout: Checkout) -> list[str]:
    """The suites that passed at a commit whose history is here, and have changed since."""
    changed = []
    for name, suite in SUITES.items():
        entry = record.get(part_of(name))
        files = checkout.changed_since(entry.commit) if entry and entry.passed else None
        if files and any(_is_of(path, functions_of(suite)) for path in files):
            changed.append(name)
    return changed


def quarters(changed: Sequence[str], seconds: Mapping[str, float], rotation: int) -> dict[str, int]:
    """How many quarters of each suite are played, if some have changed: as many as fit, and first of these.

    Of a suite that has not changed, at most one: `make proof` played everything of it. `seconds`: of everything of each
    suite, in their order.
    """
    first, others = _turned(changed, rotation), _turned([name for name in seconds if name not in changed], rotation)
    played = dict.fromkeys(seconds, 0)
    left = SECONDS
    for name in [*first * _QUARTERS, *others]:
        if seconds[name] / _QUARTERS <= left:
            played[name] += 1
            left -= seconds[name] / _QUARTERS
    return played


def due(changed: Sequence[str], played: Mapping[str, int]) -> str:
    """What of the changed suites did not fit, in words; empty: everything did."""
    left = [f"{name} ({_QUARTERS - played[name]} of {_QUARTERS})" for name in changed if played[name] < _QUARTERS]
    return f"; quarters of what changed that are due in make proof: {', '.join(left)}" if left else ""


def functions_of(suite: Suite) -> set[str]:
    """The functions that a suite strikes, by folder and module: `worker/app`."""
    names = {play.flow.function for play in suite.plays} - {OWNERS}
    if INBOXES in names:
        names = names - {INBOXES} | {"InboxFunction", "Dm3Function"}
    said = map(function, names)
    return {f"{each['CodeUri'].strip('/').partition('/')[2]}/{each['Handler'].partition('.')[0]}" for each in said}


def _turned(names: Sequence[str], rotation: int) -> list[str]:
    turn = rotation % len(names) if names else 0
    return [*names[turn:], *names[:turn]]


def _is_of(path: str, functions: set[str]) -> bool:
    """Whether a changed file is one of what these functions consist of, or of their harness."""
    if path.startswith("tests/faults/"):
        return not path.startswith("tests/faults/test_")
    return path == "template.yaml" or any(path in _files_of(each) for each in functions)


@cache
def _files_of(name: str) -> set[str]:
    """The files of a function: what its start imports, and what that can import later."""
    modules = modules_of(name).items()
    started = {f"{LIBRARY}{each.replace('.', '/')}{'/__init__' if package else ''}.py" for each, package in modules}
    return Checkout(ROOT).reached({f"functions/{name}.py", *started}, through=lambda path: path != _DEPLOYMENT)
