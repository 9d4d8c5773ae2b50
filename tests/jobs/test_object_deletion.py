"""Compact 5: exactly those objects go all of whose lines are past."""

import pytest
from tests.aws import Clients, Deployed
from tests.jobs.played import Played
from tests.jobs.wire import Json, Send, between

from postroom.core.errors import OurError
from postroom.jobs.object_deletion import ObjectDeleter
from postroom.jobs.past_lines import PastLines, bits
from postroom.jobs.tally import Tally

NEEDED = [
    PastLines("seg/one-waits", 3, bits([0, 2]), 30),
    PastLines("seg/first-waits", 9, bits(range(1, 9)), 30),
    PastLines("seg/last-waits", 9, bits(range(8)), 30),
    PastLines("seg/all-wait", 2, b"", 30),
    PastLines("seg/of-unknown-length", 0, bits(range(3)), 30),
]
PAST = [PastLines("seg/one", 1, bits([0]), 10), PastLines("seg/nine", 9, bits(range(9)), 90)]


@pytest.fixture
def stored(deployed: Deployed) -> Deployed:
    for evidence in NEEDED + PAST:
        deployed.clients.s3.put_object(Bucket=deployed.bucket, Key=evidence.source, Body=b"x")
    return deployed


def deleter(
    deployed: Deployed, tally: Tally, clients: Clients | None = None, *, dry_run: bool = False
) -> ObjectDeleter:
    return ObjectDeleter(Played(deployed, 0).bucket(tally, clients), tally, dry_run=dry_run)


def test_only_objects_that_nobody_needs_are_deleted(stored: Deployed) -> None:
    tally = Tally()
    deleter(stored, tally).delete(NEEDED[:2] + PAST + NEEDED[2:])
    assert set(stored.objects()) == {evidence.source for evidence in NEEDED}
    counts = tally.take()
    assert (counts["objects.collected"], counts["bytes.collected"], counts["objects.left"]) == (2, 100, 5)
    assert counts["s3.delete"] == 1


def test_nothing_is_deleted_if_everything_is_needed(stored: Deployed) -> None:
    tally = Tally()
    deleter(stored, tally).delete(NEEDED)
    assert len(stored.objects()) == 7
    assert tally.take()["s3.delete"] == 0


def test_a_dry_run_deletes_nothing_and_counts_the_same(stored: Deployed) -> None:
    tally = Tally()
    deleter(stored, tally, dry_run=True).delete(NEEDED + PAST)
    assert len(stored.objects()) == 7
    assert tally.take() == {"objects.collected": 2, "bytes.collected": 100, "objects.left": 5}


def test_a_thousand_objects_are_deleted_by_one_request(deployed: Deployed, victims: list[Clients]) -> None:
    asked: list[list[str]] = []

    def answer(operation: str, request: Json, _send: Send) -> Json:
        assert operation == "DeleteObjects"
        asked.append([each["Key"] for each in request["Delete"]["Objects"]])
        return {}

    between(victims[0].s3, answer)
    names = [f"seg/{number}" for number in range(2001)]
    deleter(deployed, Tally(), victims[0]).delete(PastLines(name, 1, bits([0]), 1) for name in names)
    assert [len(each) for each in asked] == [1000, 1000, 1]
    assert [name for each in asked for name in each] == names


def test_an_object_that_cannot_be_deleted_ends_the_run_and_is_named(stored: Deployed, victims: list[Clients]) -> None:
    def answer(_operation: str, request: Json, _send: Send) -> Json:
        return {"Errors": [{"Key": "seg/nine", "Code": "AccessDenied", "Message": "Access Denied"}]}

    between(victims[0].s3, answer)
    with pytest.raises(OurError, match="seg/nine: AccessDenied Access Denied"):
        deleter(stored, Tally(), victims[0]).delete(PAST)
