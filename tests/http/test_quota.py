"""The mailbox API counts the usage of mailboxes that have a quota."""

import pytest
from tests.http.api_stack import BOB, BOB_KEY, SHOP, ApiStack, Owner, said
from tests.http.test_acknowledging import envelope

from postroom.storage.limits.quotas import Usage, Usages
from postroom.storage.mail.ids import row_of


@pytest.fixture
def usages(api: ApiStack) -> Usages:
    """Of a mailbox that may hold ten messages."""
    api.mailboxes.set_quota(SHOP, messages=10)
    api.clock.now += 31
    return api.deployed.storage.usages


def filed(api: ApiStack, usages: Usages, *texts: str) -> list[str]:
    """Messages that are there and counted."""
    ids = api.file(*texts)
    usages.add(SHOP, len(ids), size_of(api, *ids))
    return ids


def size_of(api: ApiStack, *ids: str) -> int:
    keys = [row_of(each, SHOP) for each in ids]
    rows = [api.register.find(key) for key in keys if key]
    return sum(row.place.length for row in rows if row and row.place)


def test_an_acknowledgement_is_subtracted_once(api: ApiStack, usages: Usages, owner: Owner) -> None:
    one, two, three = filed(api, usages, "x", "y" * 100, "z" * 7)
    left = size_of(api, two)
    owner.acknowledge(one, three, "0" * 52)
    owner.acknowledge(one, three)
    assert usages.read(SHOP) == Usage(1, left, changes=2)


def test_an_acknowledgement_by_hash_is_subtracted(api: ApiStack, usages: Usages) -> None:
    api.mailboxes.set_quota(BOB, messages=10)
    bob = Owner(api, BOB, BOB_KEY)
    api.file(envelope(1, messageHash="0xAA"), mailbox=BOB, conversation="alice.eth")
    usages.add(BOB, 1, 10**6)
    path = f"/delivery/messages/{BOB}/syncAcknowledgements"
    body = {"acknowledgements": [{"contactAddress": "alice.eth", "messageHash": "0xAA"}]}
    assert api.ask("POST", path, token=bob.token, body=body).status == 200
    assert usages.read(BOB).messages == 0


def test_a_mailbox_without_a_quota_is_not_counted(api: ApiStack, owner: Owner) -> None:
    owner.acknowledge(*api.file("x"))
    owner.page()
    owner.ask("GET", "/status")
    assert api.deployed.item("LimitsTable", pk=f"usage#{SHOP}") is None


def test_the_status_has_the_quota(api: ApiStack, usages: Usages, owner: Owner) -> None:
    assert said(owner.ask("GET", "/status"))["max_messages"] == 10
    assert "max_bytes" not in said(owner.ask("GET", "/status"))


@pytest.mark.parametrize("wrong", [(7, 700), (-3, -1), (0, 0)])
def test_a_wrong_usage_is_corrected_when_the_status_is_read(
    api: ApiStack, usages: Usages, owner: Owner, wrong: tuple[int, int]
) -> None:
    usages.add(SHOP, *wrong)
    ids = api.file("x", "y")
    owner.ask("GET", "/status")
    usage = usages.read(SHOP)
    assert (usage.messages, usage.bytes) == (2, size_of(api, *ids))


def test_a_wrong_usage_is_corrected_when_the_mailbox_is_empty(api: ApiStack, usages: Usages, owner: Owner) -> None:
    usages.add(SHOP, 10, 1000)
    assert owner.page()["messages"] == []
    assert (usages.read(SHOP).messages, usages.read(SHOP).bytes) == (0, 0)


@pytest.mark.parametrize("query", [{"conversation": "nobody.com"}, {"after": "end"}])
def test_a_filtered_listing_does_not_correct_the_usage(
    api: ApiStack, usages: Usages, owner: Owner, query: dict[str, str]
) -> None:
    filed(api, usages, "x", "y")
    wanted = {"after": owner.page()["cursor"]} if query.get("after") else query
    assert owner.page(**wanted)["messages"] == []
    assert usages.read(SHOP).messages == 2


def test_messages_filed_during_a_listing_stay_counted(api: ApiStack, usages: Usages, owner: Owner) -> None:
    begun = usages.read(SHOP)
    filed(api, usages, "x")
    api.usage_tracker().end(SHOP, begun, 0, 0)
    assert usages.read(SHOP).messages == 1


def test_expired_messages_are_not_counted(api: ApiStack, usages: Usages, owner: Owner) -> None:
    [one] = filed(api, usages, "x")
    key = row_of(one, SHOP)
    assert key is not None
    api.expire(key, api.clock.now - 1)
    owner.page()
    assert usages.read(SHOP).messages == 0
