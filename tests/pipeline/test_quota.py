"""A mailbox with a quota: who is let in, what is counted, and by how much it may be passed."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from botocore.exceptions import EndpointConnectionError
from tests.aws import Clients, gate_calls, new_clients
from tests.pipeline.dm3_house import BOB, DeliveryService
from tests.pipeline.house import ASK, NOTIFY, ORDER, OTHER_KEY, SHOP, House, said

from postroom.pipeline.nlweb_inbox import Posted
from postroom.pipeline.outcomes import ClaimOutcome
from postroom.pipeline.quota import ANEW_SECONDS
from postroom.storage.limits.quotas import Quota, Usage

WRITERS = 50


def posted(house: House, subject: str = NOTIFY, body: str = "hello") -> Posted:
    return Posted(house.envelope(subject, body), "application/json", "", "192.0.2.1")


def counted(house: House, mailbox: str = SHOP) -> Usage:
    return house.usages.read(mailbox)


def calls_of(clients: Clients) -> "Counter[str]":
    """The operations that these clients call from now on, as they are counted."""
    seen: Counter[str] = Counter()

    @contextmanager
    def gate(operation: str) -> Iterator[None]:
        seen[operation] += 1
        yield

    gate_calls(clients, gate)
    return seen


# ---- the door ------------------------------------------------------------------------------------------------------


def test_a_full_mailbox_takes_nothing_in_and_says_so(house: House) -> None:
    house.mailboxes.set_quota(SHOP, messages=2)
    house.usages.add(SHOP, 2, 100)
    before = house.deployed.dump()
    answer = house.post(house.envelope())
    assert (answer.status, said(answer)["reason"]) == (507, "MailboxFull")
    assert house.deployed.dump() == before


def test_a_message_for_which_the_bytes_do_not_suffice_is_not_taken_in(house: House) -> None:
    small, large = house.envelope(body="x"), house.envelope(body="x" * 1000)
    house.mailboxes.set_quota(SHOP, size=len(small) + 10)
    assert house.post(large).status == 507
    assert house.post(small).status == 200


def test_dm3s_sender_is_told_the_code_of_a_limit(house: House) -> None:
    house.mailboxes.set_quota(BOB, messages=1)
    house.usages.add(BOB, 1, 100)
    service = DeliveryService(house)
    house.clock.now += 31
    error = service.submit(service.envelope())["error"]
    assert (error["code"], error["data"]["reason"]) == (-32005, "MailboxFull")


@pytest.mark.parametrize("subject", [ASK, ORDER])
def test_what_is_not_filed_needs_no_room(house: House, subject: str) -> None:
    house.mailboxes.set_quota(SHOP, messages=1)
    house.usages.add(SHOP, 1, 100)
    house.handlers.handlers["ask"] = lambda _request: "yes"
    assert house.post(house.envelope(subject)).status == 200


def test_the_deployments_quota_is_that_of_mailboxes_without_their_own(house: House) -> None:
    house.quota = Quota(messages=1)
    house.usages.add(SHOP, 1, 1)
    door = house.door()
    assert door.post(posted(house)).status == 507
    house.mailboxes.set_quota(SHOP, messages=0)
    house.clock.now += 31
    assert door.post(posted(house)).status == 200


def test_a_changed_quota_is_seen_within_a_minute(house: House) -> None:
    door = house.door()
    assert door.post(posted(house)).status == 200
    house.mailboxes.set_quota(SHOP, messages=1)
    house.usages.add(SHOP, 1, 1)
    house.clock.now += 60
    assert door.post(posted(house)).status == 507


def test_room_that_was_made_is_seen_within_a_minute(house: House) -> None:
    house.mailboxes.set_quota(SHOP, messages=1)
    house.usages.add(SHOP, 1, 100)
    door = house.door()
    assert door.post(posted(house)).status == 507
    house.usages.add(SHOP, -1, -100)
    house.clock.now += 60
    assert door.post(posted(house)).status == 200


def test_while_the_usage_cannot_be_read_the_sender_is_asked_to_come_again(house: House) -> None:
    house.mailboxes.set_quota(SHOP, messages=1)
    house.directory.mailbox(SHOP)
    house.directory.domain(SHOP)
    clients = new_clients()

    @contextmanager
    def away(_operation: str) -> Iterator[None]:
        raise EndpointConnectionError(endpoint_url="https://dynamodb.example")
        yield

    gate_calls(clients, away)
    answer = house.door(clients).post(posted(house))
    assert (answer.status, said(answer)["reason"]) == (503, "StoreUnavailable")
    assert house.deployed.bodies("ClaimsQueue") == []


# ---- the bound -----------------------------------------------------------------------------------------------------


def test_fifty_writers_pass_the_quota_by_what_is_on_its_way_and_no_more(house: House) -> None:
    """Ten at a time, by five doors; a worker files behind them."""
    quota, doors = 20, [house.door() for _ in range(5)]
    house.mailboxes.set_quota(SHOP, messages=quota)
    letters = [posted(house) for _ in range(WRITERS)]
    statuses: Counter[int] = Counter()
    on_its_way = 0
    with ThreadPoolExecutor(WRITERS) as pool:
        for begin in range(0, WRITERS, 10):
            told = list(pool.map(lambda it: doors[it % 5].post(letters[it]).status, range(begin, begin + 10)))
            statuses.update(told)
            house.work(*(house.record(body) for body in house.deployed.bodies("ClaimsQueue")))
            house.deployed.empty("ClaimsQueue")
            on_its_way = max(on_its_way, told.count(200))
            house.clock.now += ANEW_SECONDS
    assert quota <= statuses[200] < quota + on_its_way
    assert counted(house).messages == len(house.listed()) == statuses[200]


def test_what_all_of_fifty_writers_bring_at_once_is_filed_and_then_nothing_more_is_let_in(house: House) -> None:
    house.mailboxes.set_quota(SHOP, messages=20)
    door, letters = house.door(), [posted(house) for _ in range(WRITERS)]
    with ThreadPoolExecutor(WRITERS) as pool:
        assert {answer.status for answer in pool.map(door.post, letters)} == {200}
    house.work(*(house.record(body) for body in house.deployed.bodies("ClaimsQueue")))
    house.clock.now += ANEW_SECONDS
    assert door.post(posted(house)).status == 507
    assert counted(house).messages == len(house.listed()) == WRITERS


def test_a_door_that_takes_little_looks_again_with_the_caches_time(house: House) -> None:
    house.mailboxes.set_quota(SHOP, messages=1000)
    door = house.door()
    assert door.post(posted(house)).status == 200
    house.usages.add(SHOP, 1000, 1)
    house.clock.now += 29
    assert door.post(posted(house)).status == 200
    house.clock.now += 1
    assert door.post(posted(house)).status == 507


def test_strangers_without_a_key_do_not_close_a_mailbox(house: House) -> None:
    house.mailboxes.set_quota(SHOP, messages=20)
    door = house.door()
    forged = [Posted(house.envelope(key=OTHER_KEY), "application/json", "", "192.0.2.1") for _ in range(25)]
    assert {door.post(each).status for each in forged} == {200}
    house.work(*(house.record(body) for body in house.deployed.bodies("ClaimsQueue")))
    for _ in range(3):
        house.clock.now += ANEW_SECONDS
        assert door.post(posted(house)).status == 200


def test_however_many_come_the_usage_is_read_once_a_second(house: House) -> None:
    house.mailboxes.set_quota(SHOP, messages=5)
    clients = new_clients()
    calls = calls_of(clients)
    door = house.door(clients)
    for second in range(3):
        for _ in range(4):
            door.post(posted(house))
        assert calls["GetItem"] == second + 1
        house.clock.now += ANEW_SECONDS


# ---- the worker ----------------------------------------------------------------------------------------------------


def test_what_is_filed_is_counted_as_long_as_its_lines(house: House) -> None:
    house.mailboxes.set_quota(SHOP, messages=10)
    house.work(*(house.queued(house.envelope(body="x" * size)) for size in (10, 1000, 30)))
    rows = [filed.row for filed in house.listed()]
    assert counted(house) == Usage(3, sum(row.place.length for row in rows if row.place), changes=1)


def test_a_batch_counts_once_for_each_mailbox_and_not_at_all_where_no_quota_is(house: House) -> None:
    records = [house.queued(house.envelope()) for _ in range(3)]
    clients = new_clients()
    calls = calls_of(clients)
    house.worker(clients).work(records)
    assert calls["UpdateItem"] == 0
    house.mailboxes.set_quota(SHOP, messages=10)
    house.clock.now += 60
    records = [house.queued(house.envelope()) for _ in range(3)]
    house.worker(clients).work(records)
    assert calls["UpdateItem"] == 1
    assert counted(house).messages == 3


def test_a_message_that_comes_twice_is_counted_once(house: House) -> None:
    house.mailboxes.set_quota(SHOP, messages=10)
    body = house.envelope()
    first, second = house.queued(body), house.queued(body)
    house.work(first, second)
    house.work(second)
    house.work(first)
    assert counted(house).messages == len(house.listed()) == 1


def test_what_was_let_in_is_filed_though_the_mailbox_is_full_by_then(house: House) -> None:
    house.mailboxes.set_quota(SHOP, messages=1)
    record = house.queued(house.envelope())
    house.usages.add(SHOP, 5, 500)
    assert house.settle(record).fate is ClaimOutcome.ACCEPTED
    assert len(house.listed()) == 1


def test_what_cannot_be_counted_is_filed(house: House, caplog: pytest.LogCaptureFixture) -> None:
    house.mailboxes.set_quota(SHOP, messages=10)
    record = house.queued(house.envelope())
    clients = new_clients()

    @contextmanager
    def no_counting(operation: str) -> Iterator[None]:
        if operation == "UpdateItem":
            raise EndpointConnectionError(endpoint_url="https://dynamodb.example")
        yield

    gate_calls(clients, no_counting)
    report = house.worker(clients).work([record])
    assert [outcome.fate for outcome in report.outcomes] == [ClaimOutcome.ACCEPTED]
    assert not report.failed
    assert len(house.listed()) == 1
    assert "1 messages were not added to the usage of shop.com" in caplog.text
