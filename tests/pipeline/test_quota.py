"""A mailbox with a quota: who is let in, what is counted, and by how much it may be passed."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from botocore.exceptions import EndpointConnectionError
from tests.aws import gate_calls, new_clients
from tests.pipeline.delivery_service import BOB, DeliveryService
from tests.pipeline.stack import ASK, NOTIFY, ORDER, OTHER_KEY, SHOP, PipelineStack, calls_of, said

from postroom.pipeline.nlweb_inbox import Posted
from postroom.pipeline.outcomes import ClaimOutcome
from postroom.pipeline.quota import ANEW_SECONDS
from postroom.storage.limits.quotas import Quota, Usage

WRITERS = 50


def posted(stack: PipelineStack, subject: str = NOTIFY, body: str = "hello") -> Posted:
    return Posted(stack.envelope(subject, body), "application/json", "", "192.0.2.1")


def counted(stack: PipelineStack, mailbox: str = SHOP) -> Usage:
    return stack.usages.read(mailbox)


# ---- the inbox ------------------------------------------------------------------------------------------------------


def test_a_full_mailbox_refuses_messages_with_its_own_reason(stack: PipelineStack) -> None:
    stack.mailboxes.set_quota(SHOP, messages=2)
    stack.usages.add(SHOP, 2, 100)
    before = stack.deployed.dump()
    answer = stack.post(stack.envelope())
    assert (answer.status, said(answer)["reason"]) == (507, "MailboxFull")
    assert stack.deployed.dump() == before


def test_a_message_larger_than_the_remaining_bytes_is_refused(stack: PipelineStack) -> None:
    small, large = stack.envelope(body="x"), stack.envelope(body="x" * 1000)
    stack.mailboxes.set_quota(SHOP, size=len(small) + 10)
    assert stack.post(large).status == 507
    assert stack.post(small).status == 200


def test_a_dm3_sender_gets_the_code_of_a_limit(stack: PipelineStack) -> None:
    stack.mailboxes.set_quota(BOB, messages=1)
    stack.usages.add(BOB, 1, 100)
    service = DeliveryService(stack)
    stack.clock.now += 31
    error = service.submit(service.envelope())["error"]
    assert (error["code"], error["data"]["reason"]) == (-32005, "MailboxFull")


@pytest.mark.parametrize("subject", [ASK, ORDER])
def test_what_is_not_filed_needs_no_quota(stack: PipelineStack, subject: str) -> None:
    stack.mailboxes.set_quota(SHOP, messages=1)
    stack.usages.add(SHOP, 1, 100)
    stack.handlers.handlers["ask"] = lambda _request: "yes"
    assert stack.post(stack.envelope(subject)).status == 200


def test_the_deployments_quota_is_that_of_mailboxes_without_their_own(stack: PipelineStack) -> None:
    stack.quota = Quota(messages=1)
    stack.usages.add(SHOP, 1, 1)
    inbox = stack.inbox()
    assert inbox.post(posted(stack)).status == 507
    stack.mailboxes.set_quota(SHOP, messages=0)
    stack.clock.now += 31
    assert inbox.post(posted(stack)).status == 200


def test_a_changed_quota_is_seen_within_a_minute(stack: PipelineStack) -> None:
    inbox = stack.inbox()
    assert inbox.post(posted(stack)).status == 200
    stack.mailboxes.set_quota(SHOP, messages=1)
    stack.usages.add(SHOP, 1, 1)
    stack.clock.now += 60
    assert inbox.post(posted(stack)).status == 507


def test_quota_that_was_freed_is_seen_within_a_minute(stack: PipelineStack) -> None:
    stack.mailboxes.set_quota(SHOP, messages=1)
    stack.usages.add(SHOP, 1, 100)
    inbox = stack.inbox()
    assert inbox.post(posted(stack)).status == 507
    stack.usages.add(SHOP, -1, -100)
    stack.clock.now += 60
    assert inbox.post(posted(stack)).status == 200


def test_the_sender_is_asked_to_retry_while_the_usage_cannot_be_read(stack: PipelineStack) -> None:
    stack.mailboxes.set_quota(SHOP, messages=1)
    stack.directory.mailbox(SHOP)
    stack.directory.domain(SHOP)
    clients = new_clients()

    @contextmanager
    def away(_operation: str) -> Iterator[None]:
        raise EndpointConnectionError(endpoint_url="https://dynamodb.example")
        yield

    gate_calls(clients, away)
    answer = stack.inbox(clients).post(posted(stack))
    assert (answer.status, said(answer)["reason"]) == (503, "StoreUnavailable")
    assert stack.deployed.bodies("ClaimsQueue") == []


# ---- the bound -----------------------------------------------------------------------------------------------------


def test_fifty_writers_exceed_the_quota_by_messages_in_transit_only(stack: PipelineStack) -> None:
    """Ten at a time, by five inboxes; a worker files behind them."""
    quota, inboxes = 20, [stack.inbox() for _ in range(5)]
    stack.mailboxes.set_quota(SHOP, messages=quota)
    messages = [posted(stack) for _ in range(WRITERS)]
    statuses: Counter[int] = Counter()
    on_its_way = 0
    with ThreadPoolExecutor(WRITERS) as pool:
        for begin in range(0, WRITERS, 10):
            told = list(pool.map(lambda it: inboxes[it % 5].post(messages[it]).status, range(begin, begin + 10)))
            statuses.update(told)
            stack.work(*(stack.record(body) for body in stack.deployed.bodies("ClaimsQueue")))
            stack.deployed.empty("ClaimsQueue")
            on_its_way = max(on_its_way, told.count(200))
            stack.clock.now += ANEW_SECONDS
    assert quota <= statuses[200] < quota + on_its_way
    assert counted(stack).messages == len(stack.listed()) == statuses[200]


def test_a_burst_of_fifty_writers_is_filed_and_later_messages_are_refused(stack: PipelineStack) -> None:
    stack.mailboxes.set_quota(SHOP, messages=20)
    inbox, messages = stack.inbox(), [posted(stack) for _ in range(WRITERS)]
    with ThreadPoolExecutor(WRITERS) as pool:
        assert {answer.status for answer in pool.map(inbox.post, messages)} == {200}
    stack.work(*(stack.record(body) for body in stack.deployed.bodies("ClaimsQueue")))
    stack.clock.now += ANEW_SECONDS
    assert inbox.post(posted(stack)).status == 507
    assert counted(stack).messages == len(stack.listed()) == WRITERS


def test_an_inbox_that_takes_little_reads_the_usage_again_when_its_cache_expires(stack: PipelineStack) -> None:
    stack.mailboxes.set_quota(SHOP, messages=1000)
    inbox = stack.inbox()
    assert inbox.post(posted(stack)).status == 200
    stack.usages.add(SHOP, 1000, 1)
    stack.clock.now += 29
    assert inbox.post(posted(stack)).status == 200
    stack.clock.now += 1
    assert inbox.post(posted(stack)).status == 507


def test_forged_messages_do_not_fill_a_mailbox(stack: PipelineStack) -> None:
    stack.mailboxes.set_quota(SHOP, messages=20)
    inbox = stack.inbox()
    forged = [Posted(stack.envelope(key=OTHER_KEY), "application/json", "", "192.0.2.1") for _ in range(25)]
    assert {inbox.post(each).status for each in forged} == {200}
    stack.work(*(stack.record(body) for body in stack.deployed.bodies("ClaimsQueue")))
    for _ in range(3):
        stack.clock.now += ANEW_SECONDS
        assert inbox.post(posted(stack)).status == 200


def test_the_usage_is_read_once_a_second_at_most(stack: PipelineStack) -> None:
    stack.mailboxes.set_quota(SHOP, messages=5)
    clients = new_clients()
    calls = calls_of(clients)
    inbox = stack.inbox(clients)
    for second in range(3):
        for _ in range(4):
            inbox.post(posted(stack))
        assert calls["GetItem"] == second + 1
        stack.clock.now += ANEW_SECONDS


# ---- the worker ----------------------------------------------------------------------------------------------------


def test_a_filed_message_counts_the_bytes_of_its_line(stack: PipelineStack) -> None:
    stack.mailboxes.set_quota(SHOP, messages=10)
    stack.work(*(stack.queued(stack.envelope(body="x" * size)) for size in (10, 1000, 30)))
    rows = [filed.row for filed in stack.listed()]
    assert counted(stack) == Usage(3, sum(row.place.length for row in rows if row.place), changes=1)


def test_a_batch_counts_once_for_each_mailbox_with_a_quota(stack: PipelineStack) -> None:
    stack.settle(stack.queued(stack.envelope()))  # the sender's first message records that its domain is proven
    records = [stack.queued(stack.envelope()) for _ in range(3)]
    clients = new_clients()
    calls = calls_of(clients)
    stack.worker(clients).work(records)
    assert calls["UpdateItem"] == 0
    stack.mailboxes.set_quota(SHOP, messages=10)
    stack.clock.now += 60
    records = [stack.queued(stack.envelope()) for _ in range(3)]
    stack.worker(clients).work(records)
    assert calls["UpdateItem"] == 1
    assert counted(stack).messages == 3


def test_a_message_that_comes_twice_is_counted_once(stack: PipelineStack) -> None:
    stack.mailboxes.set_quota(SHOP, messages=10)
    body = stack.envelope()
    first, second = stack.queued(body), stack.queued(body)
    stack.work(first, second)
    stack.work(second)
    stack.work(first)
    assert counted(stack).messages == len(stack.listed()) == 1


def test_an_accepted_message_is_filed_even_if_the_mailbox_is_full_by_then(stack: PipelineStack) -> None:
    stack.mailboxes.set_quota(SHOP, messages=1)
    record = stack.queued(stack.envelope())
    stack.usages.add(SHOP, 5, 500)
    assert stack.settle(record).fate is ClaimOutcome.ACCEPTED
    assert len(stack.listed()) == 1


def test_a_message_is_filed_even_if_it_cannot_be_counted(
    stack: PipelineStack, caplog: pytest.LogCaptureFixture
) -> None:
    stack.mailboxes.set_quota(SHOP, messages=10)
    record = stack.queued(stack.envelope())
    clients = new_clients()

    @contextmanager
    def no_counting(operation: str) -> Iterator[None]:
        if operation == "UpdateItem":
            raise EndpointConnectionError(endpoint_url="https://dynamodb.example")
        yield

    gate_calls(clients, no_counting)
    report = stack.worker(clients).work([record])
    assert [outcome.fate for outcome in report.outcomes] == [ClaimOutcome.ACCEPTED]
    assert not report.failed
    assert len(stack.listed()) == 1
    assert "1 messages were not added to the usage of shop.com" in caplog.text
