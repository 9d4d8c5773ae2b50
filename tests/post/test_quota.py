"""A mailbox with a quota: who is let in, what is counted, and by how much it may be passed."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from botocore.exceptions import EndpointConnectionError
from tests.aws import Clients, gate_calls, new_clients
from tests.post.dm3_house import BOB, DeliveryService
from tests.post.house import ASK, NOTIFY, ORDER, SHOP, House, said

from postroom.post.filing import Fate
from postroom.post.nlweb_door import Posted
from postroom.store.quotas import Quota, Usage

WRITERS = 50


def posted(house: House, subject: str = NOTIFY, body: str = "hello") -> Posted:
    return Posted(house.envelope(subject, body), "application/json", "", "192.0.2.1")


def counted(house: House, mailbox: str = SHOP) -> Usage:
    return house.usages().read(mailbox)


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
    house.usages().add(SHOP, 2, 100)
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
    house.usages().add(BOB, 1, 100)
    service = DeliveryService(house)
    house.clock.now += 31
    error = service.submit(service.envelope())["error"]
    assert (error["code"], error["data"]["reason"]) == (-32005, "MailboxFull")


@pytest.mark.parametrize("subject", [ASK, ORDER])
def test_what_is_not_filed_needs_no_room(house: House, subject: str) -> None:
    house.mailboxes.set_quota(SHOP, messages=1)
    house.usages().add(SHOP, 1, 100)
    house.handlers.handlers["ask"] = lambda _request: "yes"
    assert house.post(house.envelope(subject)).status == 200


def test_the_deployments_quota_is_that_of_mailboxes_without_their_own(house: House) -> None:
    house.quota = Quota(messages=1)
    door = house.door()
    assert [door.post(posted(house)).status for _ in range(2)] == [200, 507]
    house.mailboxes.set_quota(SHOP, messages=0)
    house.clock.now += 31
    assert door.post(posted(house)).status == 200


def test_a_changed_quota_is_seen_within_a_minute(house: House) -> None:
    door = house.door()
    assert door.post(posted(house)).status == 200
    house.mailboxes.set_quota(SHOP, messages=1)
    house.usages().add(SHOP, 1, 1)
    house.clock.now += 60
    assert door.post(posted(house)).status == 507


def test_room_that_was_made_is_seen_within_a_minute(house: House) -> None:
    house.mailboxes.set_quota(SHOP, messages=1)
    house.usages().add(SHOP, 1, 100)
    door = house.door()
    assert door.post(posted(house)).status == 507
    house.usages().add(SHOP, -1, -100)
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


def test_fifty_writers_at_one_door_never_pass_the_quota(house: House) -> None:
    house.mailboxes.set_quota(SHOP, messages=20)
    door, letters = house.door(), [posted(house) for _ in range(WRITERS)]
    with ThreadPoolExecutor(WRITERS) as pool:
        statuses = Counter(answer.status for answer in pool.map(door.post, letters))
    assert statuses == {200: 20, 507: 30}
    assert len(house.deployed.bodies("ClaimsQueue")) == 20


def test_by_other_doors_the_quota_is_passed_until_they_read_the_usage_again(house: House) -> None:
    """Each door lets in no more than the room it read; none lets in anything once what they took was filed and read."""
    doors, room = [house.door() for _ in range(4)], 6
    house.mailboxes.set_quota(SHOP, messages=room)
    letters = [(doors[number % 4], posted(house)) for number in range(WRITERS)]
    with ThreadPoolExecutor(WRITERS) as pool:
        statuses = Counter(answer.status for answer in pool.map(lambda it: it[0].post(it[1]), letters))
    taken = statuses[200]
    assert room <= taken <= room * len(doors)
    records = [house.record(body) for body in house.deployed.bodies("ClaimsQueue")]
    assert {outcome.fate for outcome in house.work(*records).outcomes} == {Fate.ACCEPTED}
    house.clock.now += 31
    assert {door.post(posted(house)).status for door in doors} == {507}
    assert counted(house).messages == len(house.listed()) == taken


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
    house.usages().add(SHOP, 5, 500)
    assert house.settle(record).fate is Fate.ACCEPTED
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
    assert [outcome.fate for outcome in report.outcomes] == [Fate.ACCEPTED]
    assert not report.failed
    assert len(house.listed()) == 1
    assert "1 messages were not added to the usage of shop.com" in caplog.text
