"""Compact 1: the hours that a run looks at."""

import pytest
from tests.aws import Deployed
from tests.jobs.played import Played

from postroom.jobs.due_hours import due_hours
from postroom.jobs.tally import Tally
from postroom.storage.layout import chunk_name, hour_of, segment_name
from postroom.storage.mail.object_schedule import DAY_MS, HOUR_MS, LastRun, settled_by

NOW = hour_of("seg/2026/11/21/09/")


@pytest.fixture
def stored(deployed: Deployed) -> Deployed:
    ages = (0, HOUR_MS, DAY_MS, DAY_MS + HOUR_MS, 3 * DAY_MS, 400 * DAY_MS)
    for name in [make(NOW - age, "a") for age in ages for make in (segment_name, chunk_name)]:
        deployed.clients.s3.put_object(Bucket=deployed.bucket, Key=name, Body=b"")
    return deployed


def due(deployed: Deployed, lag_ms: int, began: int, its_lag_ms: int = DAY_MS) -> list[str]:
    before = LastRun(began, settled_by(its_lag_ms, began)) if began else LastRun()
    return list(due_hours(Played(deployed, 0).bucket(Tally()), lag_ms=lag_ms, before=before, now=NOW))


def test_segments_come_first_oldest_first_then_the_chunks(stored: Deployed) -> None:
    assert due(stored, DAY_MS, 0) == [
        "seg/2025/10/17/09/", "seg/2026/11/18/09/", "seg/2026/11/20/08/",
        "chk/2025/10/17/09/", "chk/2026/11/18/09/", "chk/2026/11/20/08/",
    ]  # fmt: skip


def test_a_segment_that_a_run_left_is_due_when_its_age_has_doubled(stored: Deployed) -> None:
    assert due(stored, DAY_MS, NOW - HOUR_MS) == ["seg/2026/11/20/08/", "chk/2026/11/20/08/"]
    assert due(stored, DAY_MS, NOW - 2 * DAY_MS) == [
        "seg/2026/11/18/09/", "seg/2026/11/20/08/", "chk/2026/11/18/09/", "chk/2026/11/20/08/",
    ]  # fmt: skip


def test_a_segment_that_an_earlier_run_left_for_its_longer_lag_is_due(stored: Deployed) -> None:
    assert due(stored, DAY_MS, NOW - HOUR_MS, its_lag_ms=7 * DAY_MS) == [
        "seg/2026/11/18/09/", "seg/2026/11/20/08/", "chk/2026/11/20/08/",
    ]  # fmt: skip


def test_a_shorter_lag_leaves_less_for_the_next_run(stored: Deployed) -> None:
    assert due(stored, 0, NOW)[-2:] == ["seg/2026/11/21/08/", "seg/2026/11/21/09/"]
