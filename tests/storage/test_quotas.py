"""How much a mailbox may hold, and the count of what it holds."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from botocore.exceptions import EndpointConnectionError
from tests.aws import Deployed, gate_calls, new_clients

from postroom.core.errors import NotNowError
from postroom.storage.directory.domains import Directory
from postroom.storage.directory.mailboxes import MailboxRecord
from postroom.storage.limits.quotas import Quota, Usage, Usages

BOX = "shop.com"


@pytest.fixture
def usages(deployed: Deployed) -> Usages:
    return deployed.storage.usages


@pytest.mark.parametrize(
    ("quota", "held", "more", "fits"),
    [
        (Quota(), (10**9, 10**15), 10**9, True),
        (Quota(messages=3), (2, 10**15), 10**9, True),
        (Quota(messages=3), (3, 0), 1, False),
        (Quota(bytes=100), (10**9, 60), 40, True),
        (Quota(bytes=100), (0, 60), 41, False),
        (Quota(messages=3, bytes=100), (3, 0), 1, False),
        (Quota(messages=3, bytes=100), (0, 100), 1, False),
        (Quota(messages=3, bytes=100), (-2, -5), 105, True),
    ],
)
def test_a_message_fits_if_it_exceeds_neither_limit(quota: Quota, held: tuple[int, int], more: int, fits: bool) -> None:
    assert quota.admits(*held, more) is fits


@pytest.mark.parametrize(
    ("own", "counts"),
    [((None, None), Quota(5, 50)), ((7, None), Quota(7, 50)), ((None, 0), Quota(5, 0)), ((0, 0), Quota(0, 0))],
)
def test_the_quota_of_a_mailbox_overrides_the_deployments(own: tuple[int | None, int | None], counts: Quota) -> None:
    assert Quota(5, 50).of(MailboxRecord(BOX, max_messages=own[0], max_bytes=own[1])) == counts


def test_each_limit_is_set_by_itself(deployed: Deployed) -> None:
    mailboxes = deployed.storage.mailboxes
    directory = Directory(
        deployed.clients.dynamodb, deployed.tables["DirectoryTable"], clock=lambda: 0, cache_seconds=0
    )
    mailboxes.set_keys(BOX, ["key"])
    mailboxes.set_quota(BOX, messages=5)
    assert directory.mailbox(BOX) == MailboxRecord(BOX, ("key",), max_messages=5)
    mailboxes.set_quota(BOX, size=0)
    mailboxes.set_quota(BOX)
    assert directory.mailbox(BOX) == MailboxRecord(BOX, ("key",), max_messages=5, max_bytes=0)


def test_a_mailbox_without_a_count_holds_nothing(usages: Usages) -> None:
    assert usages.read(BOX) == Usage()


def test_usage_is_counted_for_each_mailbox_separately(usages: Usages) -> None:
    usages.add(BOX, 3, 600)
    usages.add(BOX, -1, -200)
    usages.add("other.com", 1, 1)
    assert usages.read(BOX) == Usage(2, 400, changes=2)


def test_removed_messages_are_subtracted_if_the_mailbox_is_counted(usages: Usages) -> None:
    usages.add(BOX, 3, 600)
    usages.take_off(BOX, 2, 450)
    assert usages.read(BOX) == Usage(1, 150, changes=2)
    usages.take_off("without.quota", 2, 450)
    assert usages.read("without.quota") == Usage()


def test_a_usage_is_corrected_after_a_full_count(usages: Usages) -> None:
    assert usages.correct(BOX, usages.read(BOX), 5, 50)
    assert usages.correct(BOX, usages.read(BOX), 4, 40)
    assert usages.read(BOX) == Usage(4, 40, changes=2)


@pytest.mark.parametrize("before", [0, 1])
def test_a_usage_that_changed_since_the_count_began_stays(usages: Usages, before: int) -> None:
    for _ in range(before):
        usages.add(BOX, 1, 10)
    found = usages.read(BOX)
    usages.add(BOX, 2, 20)
    assert not usages.correct(BOX, found, 7, 70)
    assert usages.read(BOX) == Usage(before + 2, before * 10 + 20, changes=before + 1)


def test_a_usage_that_is_right_is_not_written(usages: Usages) -> None:
    usages.add(BOX, 2, 20)
    assert usages.correct(BOX, usages.read(BOX), 2, 20)
    assert usages.read(BOX).changes == 1


@pytest.mark.parametrize("call", [
    lambda it: it.read(BOX), lambda it: it.add(BOX, 1, 1), lambda it: it.correct(BOX, Usage(), 1, 1),
    lambda it: it.take_off(BOX, 1, 1),
])  # fmt: skip
def test_an_unavailable_store_is_a_temporary_fault(deployed: Deployed, call: Callable[[Usages], object]) -> None:
    def away(_operation: str) -> AbstractContextManager[object]:
        raise EndpointConnectionError(endpoint_url="https://dynamodb.example")

    clients = new_clients()
    gate_calls(clients, away)
    with pytest.raises(NotNowError):
        call(deployed.parts(clients).storage.usages)
