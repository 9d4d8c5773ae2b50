"""What the owner of a mailbox of NLWeb messages sets: blocks, and where Subjects go (decision "Subjects")."""

from base64 import b64encode
from typing import Any

import pytest
from tests.http.api_stack import BOB, SHOP, SHOP_KEY, ApiStack, Owner, reason, said

from postroom.http import nlweb_settings
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment, find_rule_of_both
from postroom.storage.directory.domains import Dm3Mailbox, Domain
from postroom.storage.directory.mailboxes import OwnSettings

PATCH = {"content-type": "application/merge-patch+json"}
ORDERS, QUEUE = "orders.shop.com", "arn:aws:sqs:eu-west-1:123456789012:orders"
KEY = b64encode(SHOP_KEY.public.spki()).decode()


@pytest.fixture(autouse=True)
def orders(api: ApiStack) -> None:
    """A mailbox below the domain, and what the operator set for its Subjects."""
    api.mailboxes.set_keys(ORDERS, [KEY])
    for rule in (
        SubjectRule("Hello@Host", Treatment.MAILBOX, SHOP),
        SubjectRule("Price@Shop", Treatment.SYNC, "lambda:price"),
        SubjectRule("Stock@Shop", Treatment.FORWARD, QUEUE),
    ):
        api.operators.put_subject(SHOP, rule)


def change(owner: Owner, body: object, etag: str = "") -> Any:
    given = {**PATCH, "if-match": etag or owner.ask("GET", "/settings").headers["ETag"]}
    return owner.ask("PATCH", "/settings", body=body, headers=given)


def stored(api: ApiStack) -> str:
    return api.mailboxes.own_settings(SHOP)


# --- blocks -----------------------------------------------------------------------------------------------------------


def test_blocks_are_normalized_and_take_effect_within_a_minute(api: ApiStack, owner: Owner) -> None:
    written = ["Spam.COM.", "*.Bücher.example", "spam.com", "125A5C75-CB72-43D2-9695-37026DFCAA48"]
    blocks = ["spam.com", "*.xn--bcher-kva.example", "125a5c75-cb72-43d2-9695-37026dfcaa48"]
    assert said(change(owner, {"blocks": written}))["blocks"] == blocks
    assert said(owner.ask("GET", "/settings"))["blocks"] == blocks
    assert api.directory.mailbox(SHOP).blocks == frozenset(), "the owner signed in a moment ago"
    api.clock.now += 30
    assert api.directory.mailbox(SHOP).blocks == frozenset(blocks)


def test_settings_that_are_not_named_stay(owner: Owner) -> None:
    said(change(owner, {"blocks": ["spam.com"]}))
    said(change(owner, {"subjects": {"Order@Shop": ORDERS}}))
    assert said(change(owner, {}))["blocks"] == ["spam.com"]
    assert said(change(owner, {"blocks": []}))["subjects"] == {"Order@Shop": ORDERS}


def test_setting_keys_or_shards_and_closing_keep_the_owners_settings(api: ApiStack, owner: Owner) -> None:
    said(change(owner, {"blocks": ["spam.com"]}))
    api.mailboxes.set_keys(SHOP, [KEY])
    api.mailboxes.raise_shards(SHOP, 3)
    api.mailboxes.close(SHOP, 1)
    api.clock.now += 30
    mailbox = api.directory.mailbox(SHOP)
    assert (mailbox.blocks, mailbox.shards, mailbox.closed) == ({"spam.com"}, 3, True)


def test_a_mailbox_that_is_no_domain_has_blocks_and_no_subjects(api: ApiStack) -> None:
    orders = Owner(api, ORDERS)
    assert said(change(orders, {"blocks": ["spam.com"]})) == {"blocks": ["spam.com"]}
    assert reason(change(orders, {"subjects": {"*": ORDERS}})) == "SettingInvalid"
    assert said(orders.ask("GET", "/settings")) == {"blocks": ["spam.com"]}


# --- subjects ---------------------------------------------------------------------------------------------------------


def test_an_owners_rule_for_a_subject_takes_effect_within_a_minute(api: ApiStack, owner: Owner) -> None:
    changed = said(change(owner, {"subjects": {"Order@*": "Orders.Shop.com", "*": "SHOP.com."}}))
    assert changed["subjects"] == {"Order@*": ORDERS, "*": SHOP}
    api.clock.now += 30
    assert api.directory.mailbox(SHOP).subjects == (
        SubjectRule("Order@*", Treatment.MAILBOX, ORDERS), SubjectRule("*", Treatment.MAILBOX, SHOP),
    )  # fmt: skip


def test_a_subject_set_to_null_is_removed(owner: Owner) -> None:
    said(change(owner, {"subjects": {"Order@*": ORDERS, "*": SHOP}}))
    assert said(change(owner, {"subjects": {"*": None, "Never@Set": None}}))["subjects"] == {"Order@*": ORDERS}


def test_the_owner_sees_the_operators_subjects_without_their_targets(owner: Owner) -> None:
    shown = said(owner.ask("GET", "/settings"))
    assert shown["operators_subjects"] == {
        "Feedback@Buffer": {"treatment": "feedback"},
        "Identity@Graph": {"treatment": "sync"}, "Identity@Broker": {"treatment": "sync"},
        "Hello@Host": {"treatment": "mailbox", "mailbox": SHOP},
        "Price@Shop": {"treatment": "sync"}, "Stock@Shop": {"treatment": "forward"},
    }  # fmt: skip
    assert "lambda" not in str(shown)
    assert QUEUE not in str(shown)


def test_a_narrower_pattern_cannot_override_the_operators_handler(api: ApiStack, owner: Owner) -> None:
    said(change(owner, {"subjects": {"Order@Depot": ORDERS}}))
    wider = SubjectRule("*@Depot", Treatment.FORWARD, QUEUE)
    api.operators.put_subject(SHOP, wider)
    api.clock.now += 31
    assert reason(change(owner, {"subjects": {"Other@Depot": ORDERS}})) == "SubjectOfOperator"
    domain = api.directory.domain(SHOP)
    assert domain is not None
    owners = api.directory.mailbox(SHOP).subjects
    assert find_rule_of_both("Order@Depot", domain.subjects, owners) == wider
    assert find_rule_of_both("Other@Depot", domain.subjects, owners) == wider


@pytest.mark.parametrize("pattern", ["Price@Shop", "Stock@Shop", "Feedback@Buffer", "Identity@Graph"])
@pytest.mark.parametrize("target", [ORDERS, None])
def test_the_owner_cannot_remove_the_operators_handlers_queues_and_buffers(
    api: ApiStack, owner: Owner, pattern: str, target: str | None
) -> None:
    before = api.deployed.dump()
    reply = change(owner, {"subjects": {"Order@*": ORDERS, pattern: target}})
    assert (reply.status, reason(reply)) == (403, "SubjectOfOperator")
    assert api.deployed.dump() == before


def test_the_owners_mailbox_overrides_the_operators_until_it_is_removed(api: ApiStack, owner: Owner) -> None:
    assert reason(change(owner, {"subjects": {"Hello@Host": None}})) == "SubjectOfOperator", "it is the operator's"
    for target, goes_to in ((ORDERS, ORDERS), (None, SHOP)):
        said(change(owner, {"subjects": {"Hello@Host": target}}))
        api.clock.now += 30
        domain = api.directory.domain(SHOP)
        assert domain is not None
        rule = find_rule_of_both("Hello@Host", domain.subjects, api.directory.mailbox(SHOP).subjects)
        assert rule is not None
        assert rule.target == goes_to


def test_a_later_rule_of_the_operator_wins_and_the_owner_may_remove_the_old_one(api: ApiStack, owner: Owner) -> None:
    said(change(owner, {"subjects": {"Late@Shop": ORDERS}}))
    rule = SubjectRule("Late@Shop", Treatment.SYNC, "lambda:late")
    api.operators.put_subject(SHOP, rule)
    api.clock.now += 30
    domain = api.directory.domain(SHOP)
    assert domain is not None
    assert find_rule_of_both("Late@Shop", domain.subjects, api.directory.mailbox(SHOP).subjects) == rule
    assert said(change(owner, {"subjects": {"Late@Shop": None}}))["subjects"] == {}


@pytest.mark.parametrize(
    "target",
    [
        "elsewhere.com", "other.com", "evilshop.com", "none.shop.com", "closed.shop.com", "dm3.shop.com", BOB,
        "", "a..b", "*.shop.com", QUEUE, "lambda:price", "shop.com#1", "orders.shop.com/../x",
    ],
)  # fmt: skip
def test_a_subject_can_go_to_existing_mailboxes_at_or_below_the_domain_only(
    api: ApiStack, owner: Owner, target: str
) -> None:
    for name in ("other.com", "evilshop.com", "closed.shop.com", "dm3.shop.com"):
        api.mailboxes.set_keys(name, [KEY])
    api.mailboxes.close("closed.shop.com", 1)
    api.operators.put_dm3_mailbox(Dm3Mailbox("dm3.shop.com"))
    assert reason(change(owner, {"subjects": {"Order@*": target}})) == "SettingInvalid"
    assert stored(api) == ""


@pytest.mark.parametrize("pattern", ["", "@", "a@", "Or*er@Shop", "**", "a\nb", "x" * 257, "a@b@*"], ids=repr)
def test_an_invalid_pattern_is_refused(api: ApiStack, owner: Owner, pattern: str) -> None:
    assert reason(change(owner, {"subjects": {pattern: SHOP}})) == "SettingInvalid"
    assert stored(api) == ""


def test_a_pattern_may_be_as_long_as_a_subject(owner: Owner) -> None:
    longest = "x" * 256
    assert said(change(owner, {"subjects": {longest: SHOP}}))["subjects"] == {longest: SHOP}


def test_a_domain_is_the_same_in_unicode_and_in_punycode(api: ApiStack) -> None:
    name = "xn--bcher-kva.example"
    api.operators.put_domain(Domain(name))
    api.mailboxes.set_keys(name, [KEY])
    owner = Owner(api, name)
    changed = said(change(owner, {"subjects": {"*": "Bücher.example", "A@B": name.upper()}}))
    assert changed["subjects"] == {"*": name, "A@B": name}


# --- both -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        None, [], {"blocks": "spam.com"}, {"blocks": [1]}, {"blocks": {"0": "spam.com"}}, {"blocks": None},
        {"subjects": []}, {"subjects": {"*": 1}}, {"subjects": None},
    ],
    ids=str,
)  # fmt: skip
def test_an_invalid_change_is_refused(api: ApiStack, owner: Owner, body: object) -> None:
    said(change(owner, {"blocks": ["spam.com"]}))
    before = stored(api)
    assert reason(change(owner, body)) == "NotARequest"
    assert stored(api) == before


@pytest.mark.parametrize(
    "body", [{"blocks": ["a.com", "com"]}, {"unverified": True, "blocks": []}, {"extension": {}}], ids=str
)
def test_invalid_settings_are_refused_and_change_nothing(api: ApiStack, owner: Owner, body: object) -> None:
    said(change(owner, {"blocks": ["spam.com"]}))
    before = stored(api)
    assert reason(change(owner, body)) == "SettingInvalid"
    assert stored(api) == before


def test_settings_of_another_kind_of_mailbox_are_refused_whatever_the_condition(owner: Owner) -> None:
    """RFC 9110 §13.2.1: a condition counts for a request that would succeed without it."""
    assert reason(change(owner, {"extension": {}}, '"old"')) == "SettingInvalid"


def test_a_change_with_an_old_etag_is_refused(api: ApiStack, owner: Owner) -> None:
    etag = owner.ask("GET", "/settings").headers["ETag"]
    said(change(owner, {"blocks": ["spam.com"]}))
    assert reason(change(owner, {"blocks": []}, etag)) == "ChangedMeanwhile"
    old = stored(api)
    said(change(owner, {"blocks": []}, "*"))
    for before in (old, ""):
        assert not api.mailboxes.change_own_settings(SHOP, before, OwnSettings(("a.com",))), "nor after it was read"


def test_a_change_without_if_match_is_refused(owner: Owner) -> None:
    reply = owner.ask("PATCH", "/settings", body={"blocks": []}, headers=PATCH)
    assert (reply.status, reason(reply)) == (428, "MatchNeeded")


def test_the_number_of_settings_is_limited(api: ApiStack, owner: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"n{number:06d}.example" for number in range(3_000)]
    assert reason(change(owner, {"blocks": names})) == "SettingInvalid"
    assert stored(api) == ""
    assert said(change(owner, {"blocks": names[:1_500]}))
    before = stored(api)
    monkeypatch.setattr(nlweb_settings, "MAX_OWN_BYTES", len(before))
    assert reason(change(owner, {"blocks": names[:1_501]})) == "SettingInvalid"
    assert stored(api) == before
    assert said(change(owner, {"blocks": names[1:1_501]}))
