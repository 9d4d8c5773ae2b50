"""The bucket as jobs work on it: hours, shares of them, objects by the thousand."""

from collections import Counter
from io import BytesIO

import pytest
from botocore.response import StreamingBody
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.aws import Clients, Deployed, deployment
from tests.jobs.played import no_sleep
from tests.jobs.wire import Json, Send, between, throttled
from tests.tiers import examples

from postroom.core.errors import NotNowError, OurError
from postroom.jobs.bucket import MOST_DELETED, Bucket, BucketObject, Share
from postroom.jobs.tally import Tally

HOUR = "seg/2026/11/21/09/"


class ListedBucket:
    """`page`: the maximum number of names on a page of a listing."""

    def __init__(self, deployed: Deployed, clients: Clients, page: int = 1000) -> None:
        self.deployed, self.tally = deployed, Tally()
        self.bucket = Bucket(clients.s3, deployed.bucket, self.tally, no_sleep)
        self.s3 = clients.s3
        between(
            clients.s3,
            lambda operation, request, send: send(
                request | {"MaxKeys": page} if operation == "ListObjectsV2" else request
            ),
        )

    def put(self, *names: str) -> None:
        for name in names:
            self.deployed.clients.s3.put_object(Bucket=self.deployed.bucket, Key=name, Body=name.encode())


@pytest.fixture
def listed(deployed: Deployed, victims: list[Clients]) -> ListedBucket:
    return ListedBucket(deployed, victims[0])


def test_hours_with_objects_are_found_oldest_first(listed: ListedBucket) -> None:
    listed.put(
        "seg/2026/11/21/09/b.jsonl", "seg/2026/11/21/09/a.jsonl", "seg/2026/11/21/10/a.jsonl",
        "seg/2026/02/28/23/a.jsonl", "seg/2025/12/31/00/a.jsonl", "chk/2026/11/20/09/a.jsonl", "quarantine/seg/x.json",
    )  # fmt: skip
    assert list(listed.bucket.hours("seg/")) == [
        "seg/2025/12/31/00/", "seg/2026/02/28/23/", "seg/2026/11/21/09/", "seg/2026/11/21/10/",
    ]  # fmt: skip
    assert list(listed.bucket.hours("seg/2026/11/21/")) == ["seg/2026/11/21/09/", "seg/2026/11/21/10/"]
    assert list(listed.bucket.hours("claim/")) == []


NAMES = st.text("0123456789abcdefghXZ-.~é", min_size=1, max_size=3) | st.sampled_from([*"0123456789abcdef"])


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(names=st.sets(NAMES, max_size=30))
def test_the_shares_of_an_hour_hold_each_of_its_objects_once(
    ours: Clients, victims: list[Clients], names: set[str]
) -> None:
    with deployment(ours) as deployed:
        listed = ListedBucket(deployed, victims[0], page=4)
        listed.put(*(HOUR + name for name in names), "seg/2026/11/21/08/f", "seg/2026/11/21/10/0")
        shares = listed.bucket.shares(HOUR)
        assert len(shares) == (16 if len(names) > 4 else 1)
        found = Counter(each for share in shares for each in listed.bucket.objects(share))
        assert found == Counter(BucketObject(HOUR + name, len((HOUR + name).encode())) for name in names)


def test_random_names_are_shared_out_evenly(listed: ListedBucket) -> None:
    names = [f"{HOUR}{number:02x}.jsonl" for number in range(256)]
    listed.put(*names)
    between(listed.s3, lambda _operation, request, send: send(request | {"MaxKeys": 100}))
    assert [len(list(listed.bucket.objects(share))) for share in listed.bucket.shares(HOUR)] == [16] * 16


def test_an_object_is_read_completely_in_pieces(listed: ListedBucket) -> None:
    data = bytes(range(256)) * 10_000
    listed.deployed.clients.s3.put_object(Bucket=listed.deployed.bucket, Key="seg/a", Body=data)
    pieces = list(listed.bucket.read("seg/a"))
    assert len(pieces) > 1
    assert b"".join(pieces) == data
    assert listed.tally.take() == {"s3.get": 1, "bytes.read": len(data)}


def test_an_object_that_is_not_there_is_missing(listed: ListedBucket) -> None:
    with pytest.raises(KeyError, match="seg/gone"):
        list(listed.bucket.read("seg/gone"))


def test_an_object_is_never_overwritten(listed: ListedBucket) -> None:
    assert listed.bucket.put_new("chk/a", b"first", "application/jsonl") is True
    assert listed.bucket.put_new("chk/a", b"second", "application/jsonl") is False
    assert listed.deployed.objects() == {"chk/a": b"first"}


def test_many_objects_are_deleted_by_one_request_whether_they_exist_or_not(listed: ListedBucket) -> None:
    names = [f"seg/{number}" for number in range(10)]
    listed.put(*names, "seg/stays")
    listed.bucket.delete_all([*names, "seg/gone"])
    assert set(listed.deployed.objects()) == {"seg/stays"}
    assert listed.tally.take()["s3.delete"] == 1
    assert MOST_DELETED == 1000


def test_an_object_that_cannot_be_deleted_is_named(listed: ListedBucket) -> None:
    listed.put("seg/a")

    def answer(_operation: str, _request: Json, _send: Send) -> Json:
        return {"Errors": [{"Key": "seg/a", "Code": "AccessDenied", "Message": "Access Denied"}]}

    between(listed.s3, answer)
    with pytest.raises(OurError, match="seg/a: AccessDenied"):
        listed.bucket.delete_all(["seg/a", "seg/b"])


@pytest.mark.parametrize("code", ["InternalError", "ServiceUnavailable", "SlowDown"])
def test_an_object_that_cannot_be_deleted_just_now_is_deleted_by_the_next_try(listed: ListedBucket, code: str) -> None:
    listed.put("seg/a", "seg/b")
    said = [{"Errors": [{"Key": "seg/a", "Code": code, "Message": code}]}]

    def answer(_operation: str, request: Json, send: Send) -> Json:
        return said.pop() if said else send(request)

    between(listed.s3, answer)
    listed.bucket.delete_all(["seg/a", "seg/b"])
    assert not listed.deployed.objects()


def test_a_temporary_fault_of_any_call_is_a_not_now_error(listed: ListedBucket) -> None:
    def answer(operation: str, _request: Json, _send: Send) -> Json:
        raise throttled(operation)

    between(listed.s3, answer)
    bucket = listed.bucket
    for attempt in (
        lambda: list(bucket.hours("seg/")),
        lambda: bucket.shares(HOUR),
        lambda: list(bucket.read("seg/a")),
        lambda: bucket.put_new("seg/a", b"", "application/jsonl"),
        lambda: bucket.delete_all(["seg/a"]),
    ):
        with pytest.raises(NotNowError):
            attempt()


def test_a_passing_fault_of_any_call_passes(listed: ListedBucket) -> None:
    """Every second request is throttled: each is made again, also of a listing that has begun."""
    listed.put("box/a", "box/b", "box/c", f"{HOUR}a", f"{HOUR}b", f"{HOUR}c")
    calls = 0

    def answer(operation: str, request: Json, send: Send) -> Json:
        nonlocal calls
        calls += 1
        if calls % 2:
            raise throttled(operation)
        return send(request | {"MaxKeys": 1} if operation == "ListObjectsV2" else request)

    between(listed.s3, answer)
    bucket = listed.bucket
    assert list(bucket.hours("seg/")) == [HOUR]
    assert sum(len(list(bucket.objects(share))) for share in bucket.shares(HOUR)) == 3
    assert [found.name for found in bucket.older(Share("box/"), 2**62)] == ["box/a", "box/b", "box/c"]
    assert b"".join(bucket.read("box/a")) == b"box/a"
    assert bucket.put_new("box/d", b"", "application/jsonl")
    bucket.delete_all(["box/a", "box/b", "box/c", "box/d"])
    assert list(bucket.older(Share("box/"), 2**62)) == []
    counts = listed.tally.take()
    assert counts["throttled.s3"] * 2 == calls == sum(counts[f"s3.{what}"] for what in ("list", "get", "put", "delete"))


def test_a_truncated_object_is_not_taken_for_complete(listed: ListedBucket) -> None:
    """Lines that were not read would be in nobody's way when it is collected."""

    def answer(_operation: str, request: Json, send: Send) -> Json:
        answered = send(request)
        return answered | {"Body": StreamingBody(BytesIO(b"one line\n"), answered["ContentLength"])}

    listed.deployed.clients.s3.put_object(Bucket=listed.deployed.bucket, Key="seg/a", Body=b"one line\nanother\n")
    between(listed.s3, answer)
    with pytest.raises(NotNowError):
        list(listed.bucket.read("seg/a"))
