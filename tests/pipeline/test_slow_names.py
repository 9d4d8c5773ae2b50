"""Names that take more time than a request has: looked up once more, for all instances."""

import json

import pytest
from botocore.stub import Stubber
from tests.aws import Deployed, new_clients
from tests.fakes.clock import FakeClock
from tests.fakes.names import FakeRegistry
from tests.fakes.outbound import FakeQueue

from postroom.core.errors import NotNowError
from postroom.core.leaky_bucket import LeakyBucket
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.names.registry import ADDRESS_KEY, PROFILE_KEY, RegistryText
from postroom.pipeline.slow_names import REQUESTS_AT_ONCE, REQUESTS_PER_SECOND, NameLookUps, SlowNames
from postroom.storage.limits.name_texts import LOOK_UP_AGAIN_SECONDS, NameTexts

NAME = "carol.team.eth"


class Instances:
    """Instances of the dm3 inbox, and one that looks names up."""

    def __init__(self, deployed: Deployed) -> None:
        self.clock = FakeClock(1_800_000_000)
        self.queue = FakeQueue()
        self.registry, self.addresses = FakeRegistry(), FakeRegistry()
        self.table = deployed.tables["LimitsTable"]
        self.texts = NameTexts(new_clients().dynamodb, self.table)

    def new(self) -> SlowNames:
        rate = LeakyBucket(REQUESTS_PER_SECOND, REQUESTS_AT_ONCE, self.clock)
        return SlowNames(texts=self.texts, queue=self.queue, rate=rate, clock=self.clock)

    def look_up(self, *more: str) -> None:
        look_ups = NameLookUps(registry=self.registry, addresses=self.addresses, texts=self.texts, clock=self.clock)
        look_ups.look_up([*more, *self.queue.bodies])


@pytest.fixture
def instances(deployed: Deployed) -> Instances:
    return Instances(deployed)


def test_a_name_is_in_the_queue_once_however_many_instances_want_it(instances: Instances) -> None:
    for _ in range(3):
        instances.new().request(NAME, PROFILE_KEY)
    assert [json.loads(body) for body in instances.queue.bodies] == [{"name": NAME, "key": PROFILE_KEY}]
    instances.clock.now += LOOK_UP_AGAIN_SECONDS
    instances.new().request(NAME, PROFILE_KEY)
    assert len(instances.queue.bodies) == 2


def test_an_instance_requests_few_names_however_many_strangers_make_up(instances: Instances) -> None:
    one = instances.new()
    for number in range(100):
        one.request(f"name{number}.eth", PROFILE_KEY)
    assert len(instances.queue.bodies) == REQUESTS_AT_ONCE
    instances.clock.now += 1 / REQUESTS_PER_SECOND
    one.request(NAME, PROFILE_KEY)
    assert len(instances.queue.bodies) == REQUESTS_AT_ONCE + 1


def test_what_was_found_is_kept_for_its_time(instances: Instances) -> None:
    instances.registry.put(NAME, PROFILE_KEY, "data:,hello")
    instances.new().request(NAME, PROFILE_KEY)
    instances.look_up()
    found = instances.registry.text(NAME, PROFILE_KEY)
    kept = instances.texts.find(NAME, PROFILE_KEY, instances.clock.now)
    assert kept is not None
    assert (kept.value, kept.until, json.loads(kept.evidence)) == (
        "data:,hello", instances.clock.now + found.seconds, dict(found.evidence),
    )  # fmt: skip


def test_an_address_is_looked_up_in_ens_alone_and_kept_beside_the_profile(instances: Instances) -> None:
    instances.registry.put(NAME, PROFILE_KEY, "data:,hello")
    instances.addresses.put(NAME, ADDRESS_KEY, "0x01")
    for key in (PROFILE_KEY, ADDRESS_KEY):
        instances.new().request(NAME, key)
    instances.look_up()
    kept = [instances.texts.find(NAME, key, instances.clock.now) for key in (PROFILE_KEY, ADDRESS_KEY)]
    assert [each and each.value for each in kept] == ["data:,hello", "0x01"]


def test_an_absence_is_kept(instances: Instances) -> None:
    instances.new().request(NAME, PROFILE_KEY)
    instances.look_up()
    kept = instances.texts.find(NAME, PROFILE_KEY, instances.clock.now)
    assert kept is not None
    assert kept.value is None


def test_what_could_not_be_found_out_is_not_kept_and_harms_no_other_name(instances: Instances) -> None:
    class HalfDown(FakeRegistry):
        def text(self, name: str, key: str, *, fresh: bool = False) -> RegistryText:
            if name == "away.eth":
                raise NotNowError(STORE_UNAVAILABLE)
            if name == "broken.eth":
                raise RuntimeError
            return super().text(name, key, fresh=fresh)

    instances.registry = HalfDown()
    instances.registry.put(NAME, PROFILE_KEY, "data:,hello")
    slow = instances.new()
    for name in ("away.eth", "broken.eth", NAME):
        slow.request(name, PROFILE_KEY)
    instances.look_up("rubbish", "{}")
    now = instances.clock.now
    kept = [instances.texts.find(name, PROFILE_KEY, now) for name in ("away.eth", "broken.eth", NAME)]
    assert [each is not None for each in kept] == [False, False, True]


def test_if_the_table_is_unavailable_nothing_is_requested_and_nothing_fails(instances: Instances) -> None:
    clients = new_clients()
    with Stubber(clients.dynamodb) as stub:
        stub.add_client_error("put_item", "ThrottlingException", http_status_code=400)
        instances.texts = NameTexts(clients.dynamodb, instances.table)
        instances.new().request(NAME, PROFILE_KEY)
    assert instances.queue.bodies == []
