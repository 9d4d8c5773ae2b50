"""A function that starts cold finds its clients as if they had just been made, and none that is another's."""

from collections.abc import Iterator

import boto3
import pytest
from botocore.config import Config
from botocore.retries import quota
from tests.faults.cold import Clients

ONCE = Config(region_name="eu-west-1", retries={"mode": "standard", "total_max_attempts": 2})


@pytest.fixture
def clients(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clients]:
    made = Clients("worker")
    monkeypatch.setattr(boto3, "client", boto3.client)
    monkeypatch.setattr(quota, "RetryQuota", quota.RetryQuota)
    made.install()
    yield made
    made.empty()


def test_a_client_is_made_once_for_each_function(clients: Clients) -> None:
    worker = boto3.client("sqs", config=ONCE)
    assert boto3.client("sqs", config=ONCE) is worker
    assert boto3.client("sqs", config=Config(region_name="eu-west-1")) is not worker
    clients.whose = "courier"
    assert boto3.client("sqs", config=ONCE) is not worker


def test_registered_handlers_are_removed(clients: Clients) -> None:
    heard: list[str] = []
    events = boto3.client("sqs", config=ONCE).meta.events
    events.register("heard", lambda **_: heard.append("heard"))
    events.emit("heard.here")
    clients.empty()
    events.emit("heard.here")
    assert heard == ["heard"]


def test_the_sdk_has_its_full_number_of_attempts_again(clients: Clients) -> None:
    boto3.client("sqs", config=ONCE)
    [granted] = clients._quotas
    whole = granted.available_capacity
    assert granted.acquire(whole)
    assert not granted.acquire(1)
    clients.empty()
    assert granted.available_capacity == whole
