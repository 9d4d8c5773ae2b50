"""What is known of the last run that came to its end."""

import orjson
import pytest
from tests.aws import Deployed

from postroom.jobs.report_storage import last_run, latest_name
from postroom.storage.aws.object_store import ObjectStore
from postroom.storage.mail.object_schedule import LastRun

NOW = 1_795_000_000_000


@pytest.fixture
def objects(deployed: Deployed) -> ObjectStore:
    return deployed.storage.objects


def put_report(objects: ObjectStore, report: object) -> None:
    objects.replace(latest_name("compact"), orjson.dumps(report), "application/json")


def test_the_last_run_is_known_by_its_start_and_by_the_time_up_to_which_it_read_all_segments(
    objects: ObjectStore,
) -> None:
    put_report(objects, {"began_ms": NOW - 2, "settled_ms": NOW - 5})
    assert last_run("compact", objects, NOW) == LastRun(NOW - 2, NOW - 5)
    assert last_run("expire", objects, NOW) == LastRun()


def test_a_report_without_that_time_counts_no_segment_as_seen(objects: ObjectStore) -> None:
    put_report(objects, {"began_ms": NOW})
    assert last_run("compact", objects, NOW) == LastRun(NOW, 0)


@pytest.mark.parametrize("report", [{"began_ms": NOW + 1, "settled_ms": 1}, {}, {"began_ms": "x"}, [], None, 7])
def test_a_report_from_the_future_or_an_invalid_one_is_ignored(objects: ObjectStore, report: object) -> None:
    put_report(objects, report)
    assert last_run("compact", objects, NOW) == LastRun()
