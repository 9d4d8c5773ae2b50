"""Which deaths are the same: those between which no state lies, by what was recorded, and no others."""

from tests.faults.deaths import Moment, deaths
from tests.faults.tap import CallRecord, Left


def run(*calls: tuple[str, str, str, str, str]) -> list[CallRecord]:
    """Of each call its operation; what was stored and outside before it; and what was after it."""
    return [CallRecord(f"aws {call}", [], Left(*then[:2]), Left(*then[2:])) for call, *then in calls]


def kept(*calls: tuple[str, str, str, str, str]) -> list[str]:
    found = deaths(run(*calls))
    moments = [moment for death in found for moment in (death.moment, *death.same)]
    assert moments == [Moment(number, after) for number in range(1, len(calls) + 1) for after in (False, True)]
    return [str(death.moment) for death in found]


def test_deaths_after_each_write_and_before_the_first_are_kept() -> None:
    assert kept(("PutItem", "0", "", "1", ""), ("SendMessage", "1", "", "2", "")) == [
        "die before 1", "die after 1", "die after 2",
    ]  # fmt: skip


def test_a_call_that_only_reads_is_no_death_of_its_own() -> None:
    assert kept(
        ("GetItem", "0", "", "0", ""), ("PutItem", "0", "", "1", ""), ("Query", "1", "", "1", ""),
        ("PutItem", "1", "", "2", ""),
    ) == ["die before 1", "die after 2", "die after 4"]  # fmt: skip


def test_a_read_that_is_seen_to_write_is_a_death() -> None:
    assert kept(("GetItem", "0", "", "1", "")) == ["die before 1", "die after 1"]


def test_a_write_whose_effect_is_not_seen_is_a_death() -> None:
    assert kept(("PutEvents", "0", "", "0", "")) == ["die before 1", "die after 1"]


def test_a_request_to_others_between_two_calls_separates_their_deaths() -> None:
    assert kept(("PutItem", "0", "", "1", ""), ("UpdateItem", "1", "a POST", "2", "a POST")) == [
        "die before 1", "die after 1", "die before 2", "die after 2",
    ]  # fmt: skip


def test_a_request_to_others_after_a_read_separates_its_deaths() -> None:
    assert kept(("GetItem", "0", "", "0", ""), ("GetItem", "0", "a POST", "0", "a POST")) == [
        "die before 1", "die before 2",
    ]  # fmt: skip


def test_a_change_in_storage_between_two_calls_separates_their_deaths() -> None:
    assert kept(("PutItem", "0", "", "1", ""), ("PutItem", "2", "", "3", "")) == [
        "die before 1", "die after 1", "die before 2", "die after 2",
    ]  # fmt: skip
