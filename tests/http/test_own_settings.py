"""What the owner of a mailbox of NLWeb messages sets: blocks, and where Subjects go (decision "Subjects")."""

from base64 import b64encode
from typing import Any

import pytest
from tests.http.counter import BOB, SHOP, SHOP_KEY, Counter, Owner, reason, said

from postroom.http.own_settings import MAX_OWN_BYTES
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment, find_rule_of_both
from postroom.storage.directory.domains import Dm3Mailbox, Domain
from postroom.storage.directory.mailboxes import OwnSettings

PATCH = {"content-type": "application/merge-patch+json"}
ORDERS, QUEUE = "orders.shop.com", "arn:aws:sqs:eu-west-1:123456789012:orders"
KEY = b64encode(SHOP_KEY.public.spki()).decode()


@pytest.fixture(autouse=True)
def orders(counter: Counter) -> None:
    """A mailbox below the domain, and what the operator set for its Subjects."""
    counter.mailboxes.set_keys(ORDERS, [KEY])
    for rule in (
        SubjectRule("Hello@Host", Treatment.MAILBOX, SHOP),
        SubjectRule("Price@Shop", Treatment.SYNC, "lambda:price"),
        SubjectRule("Stock@Shop", Treatment.FORWARD, QUEUE),
    ):
        counter.operators.put_subject(SHOP, rule)


def change(owner: Owner, body: object, etag: str = "") -> Any:
    given = {**PATCH, "if-match": etag or owner.ask("GET", "/settings").headers["ETag"]}
    return owner.ask("PATCH", "/settings", body=body, headers=given)


def stored(counter: Counter) -> str:
    return counter.mailboxes.own_settings(SHOP)


# --- blocks -----------------------------------------------------------------------------------------------------------


def test_blocks_are_kept_in_one_spelling_and_seen_within_a_minute(counter: Counter, owner: Owner) -> None:
    written = ["Spam.COM.", "*.Bücher.example", "spam.com", "125A5C75-CB72-43D2-9695-37026DFCAA48"]
    blocks = ["spam.com", "*.xn--bcher-kva.example", "125a5c75-cb72-43d2-9695-37026dfcaa48"]
    assert said(change(owner, {"blocks": written}))["blocks"] == blocks
    assert said(owner.ask("GET", "/settings"))["blocks"] == blocks
    assert counter.directory.mailbox(SHOP).blocks == frozenset(), "the owner signed in a moment ago"
    counter.clock.now += 30
    assert counter.directory.mailbox(SHOP).blocks == frozenset(blocks)


def test_what_is_not_named_stays(owner: Owner) -> None:
    said(change(owner, {"blocks": ["spam.com"]}))
    said(change(owner, {"subjects": {"Order@Shop": ORDERS}}))
    assert said(change(owner, {}))["blocks"] == ["spam.com"]
    assert said(change(owner, {"blocks": []}))["subjects"] == {"Order@Shop": ORDERS}


def test_keys_shards_and_closing_leave_the_owners_settings(counter: Counter, owner: Owner) -> None:
    said(change(owner, {"blocks": ["spam.com"]}))
    counter.mailboxes.set_keys(SHOP, [KEY])
    counter.mailboxes.raise_shards(SHOP, 3)
    counter.mailboxes.close(SHOP, 1)
    counter.clock.now += 30
    mailbox = counter.directory.mailbox(SHOP)
    assert (mailbox.blocks, mailbox.shards, mailbox.closed) == ({"spam.com"}, 3, True)


def test_a_mailbox_that_is_no_domain_has_blocks_and_no_subjects(counter: Counter) -> None:
    orders = Owner(counter, ORDERS)
    assert said(change(orders, {"blocks": ["spam.com"]})) == {"blocks": ["spam.com"]}
    assert reason(change(orders, {"subjects": {"*": ORDERS}})) == "SettingInvalid"
    assert said(orders.ask("GET", "/settings")) == {"blocks": ["spam.com"]}


# --- subjects ---------------------------------------------------------------------------------------------------------


def test_a_subject_goes_where_the_owner_says_within_a_minute(counter: Counter, owner: Owner) -> None:
    changed = said(change(owner, {"subjects": {"Order@*": "Orders.Shop.com", "*": "SHOP.com."}}))
    assert changed["subjects"] == {"Order@*": ORDERS, "*": SHOP}
    counter.clock.now += 30
    assert counter.directory.mailbox(SHOP).subjects == (
        SubjectRule("Order@*", Treatment.MAILBOX, ORDERS), SubjectRule("*", Treatment.MAILBOX, SHOP),
    )  # fmt: skip


def test_a_subject_that_is_null_is_taken_away(owner: Owner) -> None:
    said(change(owner, {"subjects": {"Order@*": ORDERS, "*": SHOP}}))
    assert said(change(owner, {"subjects": {"*": None, "Never@Set": None}}))["subjects"] == {"Order@*": ORDERS}


def test_the_owner_sees_what_the_operator_set_and_not_where_it_goes(owner: Owner) -> None:
    shown = said(owner.ask("GET", "/settings"))
    assert shown["operators_subjects"] == {
        "Feedback@Buffer": {"treatment": "feedback"},
        "Identity@Graph": {"treatment": "sync"}, "Identity@Broker": {"treatment": "sync"},
        "Hello@Host": {"treatment": "mailbox", "mailbox": SHOP},
        "Price@Shop": {"treatment": "sync"}, "Stock@Shop": {"treatment": "forward"},
    }  # fmt: skip
    assert "lambda" not in str(shown)
    assert QUEUE not in str(shown)


def test_no_more_telling_pattern_takes_what_a_wider_one_of_the_operators_hands_on(
    counter: Counter, owner: Owner
) -> None:
    said(change(owner, {"subjects": {"Order@Depot": ORDERS}}))
    wider = SubjectRule("*@Depot", Treatment.FORWARD, QUEUE)
    counter.operators.put_subject(SHOP, wider)
    counter.clock.now += 31
    assert reason(change(owner, {"subjects": {"Other@Depot": ORDERS}})) == "SubjectOfOperator"
    domain = counter.directory.domain(SHOP)
    assert domain is not None
    owners = counter.directory.mailbox(SHOP).subjects
    assert find_rule_of_both("Order@Depot", domain.subjects, owners) == wider
    assert find_rule_of_both("Other@Depot", domain.subjects, owners) == wider


@pytest.mark.parametrize("pattern", ["Price@Shop", "Stock@Shop", "Feedback@Buffer", "Identity@Graph"])
@pytest.mark.parametrize("target", [ORDERS, None])
def test_no_handler_queue_or_buffer_of_the_operators_is_taken_away(
    counter: Counter, owner: Owner, pattern: str, target: str | None
) -> None:
    before = counter.deployed.dump()
    reply = change(owner, {"subjects": {"Order@*": ORDERS, pattern: target}})
    assert (reply.status, reason(reply)) == (403, "SubjectOfOperator")
    assert counter.deployed.dump() == before


def test_a_mailbox_that_the_operator_named_gives_way_to_the_owners_and_comes_back(
    counter: Counter, owner: Owner
) -> None:
    assert reason(change(owner, {"subjects": {"Hello@Host": None}})) == "SubjectOfOperator", "it is the operator's"
    for target, goes_to in ((ORDERS, ORDERS), (None, SHOP)):
        said(change(owner, {"subjects": {"Hello@Host": target}}))
        counter.clock.now += 30
        domain = counter.directory.domain(SHOP)
        assert domain is not None
        rule = find_rule_of_both("Hello@Host", domain.subjects, counter.directory.mailbox(SHOP).subjects)
        assert rule is not None
        assert rule.target == goes_to


def test_what_the_operator_gives_to_a_handler_later_is_the_operators_and_the_owner_may_tidy_up(
    counter: Counter, owner: Owner
) -> None:
    said(change(owner, {"subjects": {"Late@Shop": ORDERS}}))
    rule = SubjectRule("Late@Shop", Treatment.SYNC, "lambda:late")
    counter.operators.put_subject(SHOP, rule)
    counter.clock.now += 30
    domain = counter.directory.domain(SHOP)
    assert domain is not None
    assert find_rule_of_both("Late@Shop", domain.subjects, counter.directory.mailbox(SHOP).subjects) == rule
    assert said(change(owner, {"subjects": {"Late@Shop": None}}))["subjects"] == {}


@pytest.mark.parametrize(
    "target",
    [
        "elsewhere.com", "other.com", "evilshop.com", "none.shop.com", "closed.shop.com", "letters.shop.com", BOB,
        "", "a..b", "*.shop.com", QUEUE, "lambda:price", "shop.com#1", "orders.shop.com/../x",
    ],
)  # fmt: skip
def test_a_subject_goes_into_no_mailbox_but_the_domains_own_and_those_below_that_there_are(
    counter: Counter, owner: Owner, target: str
) -> None:
    for name in ("other.com", "evilshop.com", "closed.shop.com", "letters.shop.com"):
        counter.mailboxes.set_keys(name, [KEY])
    counter.mailboxes.close("closed.shop.com", 1)
    counter.operators.put_dm3_mailbox(Dm3Mailbox("letters.shop.com"))
    assert reason(change(owner, {"subjects": {"Order@*": target}})) == "SettingInvalid"
    assert stored(counter) == ""


@pytest.mark.parametrize("pattern", ["", "@", "a@", "Or*er@Shop", "**", "a\nb", "x" * 257, "a@b@*"], ids=repr)
def test_what_is_no_pattern_is_refused(counter: Counter, owner: Owner, pattern: str) -> None:
    assert reason(change(owner, {"subjects": {pattern: SHOP}})) == "SettingInvalid"
    assert stored(counter) == ""


def test_a_domain_with_other_letters_is_itself_in_either_spelling(counter: Counter) -> None:
    name = "xn--bcher-kva.example"
    counter.operators.put_domain(Domain(name))
    counter.mailboxes.set_keys(name, [KEY])
    owner = Owner(counter, name)
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
def test_what_is_no_change_of_settings_is_refused(counter: Counter, owner: Owner, body: object) -> None:
    said(change(owner, {"blocks": ["spam.com"]}))
    before = stored(counter)
    assert reason(change(owner, body)) == "NotARequest"
    assert stored(counter) == before


@pytest.mark.parametrize(
    "body", [{"blocks": ["a.com", "com"]}, {"unverified": True, "blocks": []}, {"extension": {}}], ids=str
)
def test_settings_that_are_none_are_refused_and_change_nothing(counter: Counter, owner: Owner, body: object) -> None:
    said(change(owner, {"blocks": ["spam.com"]}))
    before = stored(counter)
    assert reason(change(owner, body)) == "SettingInvalid"
    assert stored(counter) == before


def test_a_change_of_what_was_changed_meanwhile_is_refused(counter: Counter, owner: Owner) -> None:
    etag = owner.ask("GET", "/settings").headers["ETag"]
    said(change(owner, {"blocks": ["spam.com"]}))
    assert reason(change(owner, {"blocks": []}, etag)) == "ChangedMeanwhile"
    old = stored(counter)
    said(change(owner, {"blocks": []}, "*"))
    for before in (old, ""):
        assert not counter.mailboxes.change_own_settings(SHOP, before, OwnSettings(("a.com",))), "nor after it was read"


def test_a_change_without_if_match_is_refused(owner: Owner) -> None:
    reply = owner.ask("PATCH", "/settings", body={"blocks": []}, headers=PATCH)
    assert (reply.status, reason(reply)) == (428, "MatchNeeded")


def test_so_many_settings_are_kept_and_no_more(counter: Counter, owner: Owner) -> None:
    names = [f"n{number:06d}.example" for number in range(3_000)]
    assert reason(change(owner, {"blocks": names})) == "SettingInvalid"
    assert said(change(owner, {"blocks": names[:1_500]}))
    assert len(stored(counter)) <= MAX_OWN_BYTES
