import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import boto3
import pytest
from botocore.hooks import HierarchicalEmitter

from postroom.core.own_faults import OwnFaults
from postroom.core.side_by_side import THREADS
from postroom.runtime.function_clients import late_client


class Client:
    def __init__(self, service: str) -> None:
        self.service = service
        self.meta = SimpleNamespace(events=HierarchicalEmitter())


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The services of which clients were made; the making of no two at once."""
    services: list[str] = []
    making = threading.Lock()

    def make(service: str, **_: object) -> Client:
        assert making.acquire(blocking=False)
        time.sleep(0.01)  # for others to come
        services.append(service)
        making.release()
        return Client(service)

    monkeypatch.setattr(boto3, "client", make)
    return services


def test_threads_that_need_a_client_at_once_share_one(made: list[str]) -> None:
    events, queues = late_client("events", OwnFaults()), late_client("sqs", OwnFaults())
    assert made == []
    with ThreadPoolExecutor(THREADS) as pool:
        asked = list(pool.map(lambda number: (events, queues)[number % 2].service, range(THREADS)))
    assert asked == ["events", "sqs"] * (THREADS // 2)
    assert sorted(made) == ["events", "sqs"]


def test_a_client_that_could_not_be_made_is_made_by_the_next_call(
    monkeypatch: pytest.MonkeyPatch, made: list[str]
) -> None:
    make, failures = boto3.client, [OSError]

    def fail_once(service: str, **options: object) -> Client:
        if failures:
            raise failures.pop()
        return make(service, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(boto3, "client", fail_once)
    client = late_client("s3", OwnFaults())
    with pytest.raises(OSError):
        client.service  # noqa: B018 - to ask for it is to make it
    assert client.service == "s3"
