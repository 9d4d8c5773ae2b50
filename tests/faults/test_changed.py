"""Which suites `make test-all` plays first, and how much of them: what changed since the proof, as much as fits."""

from pathlib import Path

import pytest
from tests.faults.changed import SECONDS, changed_suites, due, functions_of, part_of, quarters
from tests.faults.rotation import Share
from tests.faults.suites import SUITES
from tests.proof.inputs import Checkout
from tests.proof.record import Entry
from tests.proof.test_inputs import git, write
from tests.tiers import Tier

LIBRARY = "layers/postroom/postroom"
OF_THE_WORKER = {"one", "ten", "notified", "rest", "silence"}
"""The suites in which the worker is struck."""


def record_of(commit: str, *, passed: bool = True) -> dict[str, Entry]:
    return {part_of(name): Entry(passed, commit, "2026-01-01", "", 100) for name in SUITES}


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    git(tmp_path, "init")
    write(tmp_path, {"README.md": ""})
    return Checkout(tmp_path)


@pytest.mark.parametrize(
    ("path", "changed"),
    [
        (f"{LIBRARY}/pipeline/worker.py", {*OF_THE_WORKER, "inbox"}),
        ("functions/worker/app.py", OF_THE_WORKER),
        (f"{LIBRARY}/http/dcp_service.py", {"dcp", "watch", "outbox"}),
        (f"{LIBRARY}/cli/app.py", set()),
        ("docs/README.md", set()),
        ("tests/faults/test_faults.py", set()),
        ("tests/faults/judge.py", set(SUITES)),
        ("template.yaml", set(SUITES)),
    ],
)
def test_a_suite_has_changed_with_the_functions_that_it_strikes(
    checkout: Checkout, path: str, changed: set[str]
) -> None:
    record = record_of(checkout.commit())
    write(checkout.root, {path: "# changed\n"})
    assert set(changed_suites(record, checkout)) == changed


def test_nothing_counts_as_changed_without_a_record_or_without_history(checkout: Checkout) -> None:
    proven = record_of(checkout.commit())
    failed = record_of(checkout.commit(), passed=False)
    write(checkout.root, {"template.yaml": "# changed\n"})
    assert set(changed_suites(proven, checkout)) == set(SUITES)
    assert changed_suites(failed, checkout) == []
    assert changed_suites({}, checkout) == []
    assert changed_suites(record_of("0" * 40), checkout) == []


def test_the_functions_of_a_suite_are_those_of_the_template() -> None:
    assert functions_of(SUITES["inbox"]) == {"inbox/app", "dm3/app"}
    assert functions_of(SUITES["courier"]) == {"courier/feedback"}
    assert {each for suite in SUITES.values() for each in functions_of(suite)} == {
        "inbox/app", "dm3/app", "worker/app", "waiting/app", "courier/app", "courier/feedback",
        "worker/dead_letters", "mailbox/app", "dcp/app",
    }  # fmt: skip


def test_first_what_changed_is_played_as_far_as_it_fits_and_then_a_quarter_of_the_rest() -> None:
    assert SECONDS == 360
    seconds = {"a": 200.0, "b": 200.0, "c": 200.0, "d": 400.0}
    assert quarters(["b"], seconds, 0) == {"a": 1, "b": 4, "c": 1, "d": 0}
    # What does not fit differs in the next rotation.
    assert quarters(["b"], seconds, 2) == {"a": 1, "b": 4, "c": 0, "d": 1}
    assert quarters(["a", "b"], seconds, 0) == {"a": 4, "b": 3, "c": 0, "d": 0}
    assert quarters(["a", "b"], seconds, 1) == {"a": 3, "b": 4, "c": 0, "d": 0}


def test_if_everything_changed_each_suite_has_a_quarter_before_any_has_two() -> None:
    seconds = dict.fromkeys("abcd", 280.0)
    more = [[name for name, number in quarters("abcd", seconds, turn).items() if number == 2] for turn in range(4)]
    assert more == [["a"], ["b"], ["c"], ["d"]]
    for turn in range(4):
        assert sum(quarters("abcd", seconds, turn).values()) * 70 <= SECONDS


def test_a_suite_of_which_nothing_fits_still_has_a_strike_of_each_flow() -> None:
    assert Share(Tier.ALL, 1, quarters=0).of(["die 1", "die 2"], ["throttled 1"]) == ["die 2", "throttled 1"]


def test_what_does_not_fit_is_named_as_due() -> None:
    assert due([], {"one": 0}) == ""
    assert due(["dcp"], {"dcp": 4, "one": 0}) == ""
    assert due(["dcp", "one", "ten"], {"dcp": 4, "one": 1, "ten": 3}) == (
        "; quarters of what changed that are due in make proof: one (3 of 4), ten (1 of 4)"
    )
