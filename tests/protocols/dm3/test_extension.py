"""What a delivery service tells of receivers and of itself, and whom a receiver lets in (dm3 §2.3.2, §2.3.3)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.dm3.known import BUILDS

from postroom.core.errors import SettingsError, TheirError
from postroom.core.ijson import parse
from postroom.core.reason import Reason
from postroom.core.reasons import SENDER_NOT_WANTED
from postroom.protocols.dm3.extension import (
    MAX_TEXT_BYTES,
    FilterRules,
    ProfileExtension,
    Properties,
    TokenBalance,
    check_sender,
    read_extension,
    read_size_limit,
)
from postroom.protocols.dm3.reasons import NAME_INVALID, PROFILE_INVALID

SCHEME = "x25519-chacha20-poly1305"
TOKEN = "0x6B175474E89094C44Da98b954EedeAC495271d0F"


# --- the extension -----------------------------------------------------------------------------------------------


def test_the_texts_example_is_read_and_written() -> None:
    example = {
        "encryptionScheme": ["x25519-chacha20-poly1305"],
        "supportedMessageTypes": ["NEW", "EDIT", "READ_RECEIPT", "RESEND_REQUEST"],
    }
    extension = read_extension(example)
    assert extension.message_types == ("NEW", "EDIT", "READ_RECEIPT", "RESEND_REQUEST")
    assert extension.as_json() == example


def test_an_empty_extension_means_type_new_and_the_default_scheme() -> None:
    assert read_extension({}) == ProfileExtension()
    assert ProfileExtension().as_json() == {"encryptionScheme": [SCHEME], "supportedMessageTypes": ["NEW"]}


def test_type_new_and_the_default_scheme_are_always_included() -> None:
    extension = read_extension({"encryptionScheme": ["mls", "pgp"], "supportedMessageTypes": ["EDIT"]})
    assert extension.message_types == ("NEW", "EDIT")
    assert extension.encryption_schemes == ("mls", "pgp", SCHEME)


def test_schemes_stay_in_the_order_of_preference() -> None:
    assert ProfileExtension((SCHEME, "mls", SCHEME)).encryption_schemes == (SCHEME, "mls")


def test_the_references_types_of_receipts_are_read_receipts() -> None:
    extension = read_extension({"supportedMessageTypes": ["NEW", "READ_OPENED", "READ_RECEIVED", "STICKER"]})
    assert extension.message_types == ("NEW", "READ_RECEIPT", "STICKER")


@pytest.mark.parametrize("build", BUILDS)
def test_the_references_default_is_every_type_new_among_them(build: str) -> None:
    # It says that NEW is not supported; decision "Profile extension": NEW always is.
    default = BUILDS[build]["defaultProfileExtension"]
    assert default == {"notSupportedMessageTypes": ["NEW"]}
    assert read_extension(default).message_types == (
        "NEW", "DELETE_REQUEST", "EDIT", "REPLY", "REACTION", "READ_RECEIPT", "RESEND_REQUEST",
    )  # fmt: skip


def test_unsupported_values_of_the_reference_are_left_out() -> None:
    extension = read_extension({"notSupportedMessageTypes": ["EDIT", "READ_OPENED"], "encryptionAlgorithm": ["mls"]})
    assert extension.message_types == ("NEW", "DELETE_REQUEST", "REPLY", "REACTION", "RESEND_REQUEST")
    assert extension.encryption_schemes == ("mls", SCHEME)


def test_the_specifications_list_takes_precedence_over_the_references() -> None:
    both = {"supportedMessageTypes": ["EDIT"], "notSupportedMessageTypes": ["EDIT"]}
    assert read_extension(both).message_types == ("NEW", "EDIT")


def test_json_text_is_read_as_the_reference_sends_it() -> None:
    assert read_extension('{"supportedMessageTypes":["NEW","EDIT"]}').message_types == ("NEW", "EDIT")


RULES = FilterRules(2, 10**18, TokenBalance(TOKEN, 2**255), ("Carol.eth", "dave.eth"), ("Mallory.ETH",))
RULES_AS_JSON = {
    "minNonce": 2,
    "minBalance": "1000000000000000000",
    "minTokenBalance": {
        "address": TOKEN,
        "amount": "57896044618658097711785492504343953926634992332820282019728792003956564819968",
    },
    "allow": ["carol.eth", "dave.eth"],
    "block": ["mallory.eth"],
}


def test_the_length_of_json_text_is_limited() -> None:
    longest = "{}".ljust(MAX_TEXT_BYTES)
    assert read_extension(longest) == ProfileExtension()
    with pytest.raises(TheirError, match=f"ProfileInvalid.*at most {MAX_TEXT_BYTES}"):
        read_extension(longest + " ")


def test_filter_rules_are_published_in_the_decided_members() -> None:
    assert ProfileExtension(rules=RULES).as_json()["spamFilterRules"] == RULES_AS_JSON
    assert read_extension({"spamFilterRules": RULES_AS_JSON}).rules == RULES


def test_unset_rules_are_not_published() -> None:
    assert ProfileExtension(rules=FilterRules(min_nonce=0)).as_json()["spamFilterRules"] == {"minNonce": 0}
    assert "spamFilterRules" not in ProfileExtension(rules=FilterRules()).as_json()


def test_an_amount_beyond_the_exact_integers_is_read_as_json_has_it() -> None:
    text = b'{"spamFilterRules":{"minBalance":1000000000000000000}}'
    assert read_extension(parse(text, max_bytes=100)).rules == FilterRules(min_balance=10**18)


@pytest.mark.parametrize("amount", ["255", "0xff", "0XFF", 255])
def test_an_amount_is_decimal_hex_or_a_number(amount: object) -> None:
    rules = {"minBalance": amount, "minTokenBalance": {"address": TOKEN, "amount": amount}}
    assert read_extension({"spamFilterRules": rules}).rules == FilterRules(
        min_balance=255, min_token_balance=TokenBalance(TOKEN, 255)
    )


NULLS: dict[str, Any] = {
    "encryptionScheme": None,
    "supportedMessageTypes": None,
    "notSupportedMessageTypes": None,
    "spamFilterRules": {"minNonce": None, "minBalance": None, "minTokenBalance": None, "allow": None, "block": None},
}


def test_null_is_the_same_as_absent() -> None:
    assert read_extension(NULLS) == read_extension({**NULLS, "spamFilterRules": None}) == ProfileExtension()


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (None, "not a JSON object"),
        ([], "not a JSON object"),
        (True, "not a JSON object"),
        ("", "no content"),
        ("[]", "not a JSON object"),
        ('{"a":1,"a":1}', "occurs twice"),
        ('{"a":"\ud800"', "not JSON"),
        ({"encryptionScheme": SCHEME}, "encryptionScheme is not an array of strings"),
        ({"encryptionScheme": [1]}, "encryptionScheme is not an array of strings"),
        ({"supportedMessageTypes": {"NEW": True}}, "supportedMessageTypes is not"),
        ({"supportedMessageTypes": [["NEW"]]}, "supportedMessageTypes is not"),
        ({"notSupportedMessageTypes": 0}, "notSupportedMessageTypes is not"),
        ({"spamFilterRules": []}, "spamFilterRules is not"),
        ({"spamFilterRules": "{}"}, "spamFilterRules is not"),
        ({"spamFilterRules": {"minNonce": "2"}}, "minNonce is not"),
        ({"spamFilterRules": {"minNonce": True}}, "minNonce is not"),
        ({"spamFilterRules": {"minNonce": 1.5}}, "minNonce is not"),
        ({"spamFilterRules": {"minNonce": -1}}, "minNonce is not"),
        ({"spamFilterRules": {"minNonce": 2**53}}, "minNonce is not"),
        ({"spamFilterRules": {"minBalance": True}}, "minBalance is neither"),
        ({"spamFilterRules": {"minBalance": 1.5}}, "minBalance is neither"),
        ({"spamFilterRules": {"minBalance": "1e18"}}, "minBalance is neither"),
        ({"spamFilterRules": {"minBalance": "0x"}}, "minBalance is neither"),
        ({"spamFilterRules": {"minBalance": " 1"}}, "minBalance is neither"),
        ({"spamFilterRules": {"minBalance": "\u0661"}}, "minBalance is neither"),
        ({"spamFilterRules": {"minBalance": "9" * 5000}}, "minBalance is neither"),
        ({"spamFilterRules": {"minBalance": -1}}, "minBalance is not from 0"),
        ({"spamFilterRules": {"minBalance": str(2**256)}}, "minBalance is not from 0"),
        ({"spamFilterRules": {"minTokenBalance": "1"}}, "minTokenBalance is not"),
        ({"spamFilterRules": {"minTokenBalance": {"amount": "1"}}}, "minTokenBalance.address is missing"),
        ({"spamFilterRules": {"minTokenBalance": {"address": TOKEN}}}, "minTokenBalance.amount is neither"),
        ({"spamFilterRules": {"minTokenBalance": {"address": TOKEN[:-1], "amount": "1"}}}, "40 hex digits"),
        ({"spamFilterRules": {"minTokenBalance": {"address": TOKEN, "amount": str(2**256)}}}, "not from 0"),
        ({"spamFilterRules": {"allow": "carol.eth"}}, "allow is not"),
        ({"spamFilterRules": {"block": [None]}}, "block is not"),
    ],
)
def test_an_invalid_extension_is_refused_with_its_place(value: Any, why: str) -> None:
    with pytest.raises(TheirError) as caught:
        read_extension(value)
    assert caught.value.reason is PROFILE_INVALID
    assert why in caught.value.detail


@pytest.mark.parametrize("member", ["allow", "block"])
def test_the_lists_hold_names(member: str) -> None:
    with pytest.raises(TheirError) as caught:
        read_extension({"spamFilterRules": {member: ["carol.eth", "not a name"]}})
    assert caught.value.reason is NAME_INVALID


NAMES = st.lists(st.sampled_from(["carol.eth", "Dave.eth", "ünder.eth"]), max_size=3).map(tuple)
AMOUNTS = st.none() | st.integers(0, 2**256 - 1)
ANY_RULES = st.builds(
    FilterRules,
    st.none() | st.integers(0, 2**53 - 1),
    AMOUNTS,
    st.none() | st.builds(TokenBalance, st.just(TOKEN), st.integers(0, 2**256 - 1)),
    NAMES,
    NAMES,
)
ANY_EXTENSION = st.builds(
    ProfileExtension,
    st.lists(st.text(max_size=5), max_size=3).map(tuple),
    st.lists(st.sampled_from(["NEW", "EDIT", "READ_OPENED", "OTHER"]), max_size=4).map(tuple),
    ANY_RULES,
)


@given(ANY_EXTENSION)
def test_a_published_extension_is_read_back_unchanged(extension: ProfileExtension) -> None:
    assert read_extension(json.loads(json.dumps(extension.as_json()))) == extension


# --- filter rules ------------------------------------------------------------------------------------------------


def reason_for(rules: FilterRules, sender: str, *, verified: bool = True) -> Reason | None:
    """Why a sender is kept out; None: the sender comes in."""
    try:
        check_sender(rules, sender, verified=verified)
    except TheirError as error:
        return error.reason
    return None


def test_without_rules_every_sender_is_accepted() -> None:
    assert reason_for(FilterRules(), "alice.eth") is None
    assert reason_for(FilterRules(), "alice.eth", verified=False) is None


def test_only_blocked_senders_are_refused() -> None:
    rules = FilterRules(block=("mallory.eth",))
    assert reason_for(rules, "Mallory.ETH") is SENDER_NOT_WANTED
    assert reason_for(rules, "mallory.eth", verified=False) is SENDER_NOT_WANTED
    assert reason_for(rules, "alice.eth") is None


def test_with_an_allow_list_only_listed_senders_are_accepted() -> None:
    rules = FilterRules(allow=("Alice.eth",))
    assert reason_for(rules, "aLice.eth") is None
    assert reason_for(rules, "sub.alice.eth") is SENDER_NOT_WANTED
    assert reason_for(rules, "bob.eth") is SENDER_NOT_WANTED


def test_an_unproven_name_is_not_on_the_allow_list() -> None:
    assert reason_for(FilterRules(allow=("alice.eth",)), "alice.eth", verified=False) is SENDER_NOT_WANTED


def test_a_block_overrides_an_allowance() -> None:
    assert reason_for(FilterRules(allow=("a.eth",), block=("a.eth",)), "a.eth") is SENDER_NOT_WANTED


@pytest.mark.parametrize(
    "rule", [{"min_nonce": 1}, {"min_balance": 1}, {"min_token_balance": TokenBalance(TOKEN, 1)}], ids=str
)
def test_a_rule_about_the_chain_is_left_to_the_account_of_a_verified_sender(rule: dict[str, Any]) -> None:
    assert FilterRules(**rule).asks_a_chain
    assert reason_for(FilterRules(**rule), "alice.eth") is None
    assert reason_for(FilterRules(**rule), "alice.eth", verified=False) is SENDER_NOT_WANTED
    assert reason_for(FilterRules(**rule, block=("alice.eth",)), "alice.eth") is SENDER_NOT_WANTED


@pytest.mark.parametrize(
    "rule", [{"min_nonce": 1}, {"min_balance": 1}, {"min_token_balance": TokenBalance(TOKEN, 1)}], ids=str
)
def test_a_list_of_allowed_senders_leaves_no_account_to_look_up(rule: dict[str, Any]) -> None:
    friends = FilterRules(**rule, allow=("alice.eth",))
    assert not friends.asks_a_chain
    assert reason_for(friends, "alice.eth") is None
    assert reason_for(friends, "bob.eth") is SENDER_NOT_WANTED


@pytest.mark.parametrize(
    "rule", [{"min_nonce": 0}, {"min_balance": 0}, {"min_token_balance": TokenBalance(TOKEN, 0)}], ids=str
)
def test_a_minimum_balance_of_zero_needs_no_chain(rule: dict[str, Any]) -> None:
    assert not FilterRules(**rule).asks_a_chain
    assert reason_for(FilterRules(**rule), "alice.eth", verified=False) is None


def test_an_invalid_name_matches_no_rule() -> None:
    assert reason_for(FilterRules(), "not a name") is NAME_INVALID


@given(ANY_RULES, st.sampled_from(["carol.eth", "dave.eth", "\u00fcnder.eth", "eve.eth"]), st.booleans())
def test_no_blocked_sender_and_no_unproven_one_passes_a_list(rules: FilterRules, sender: str, verified: bool) -> None:
    let_in = reason_for(rules, sender, verified=verified) is None
    assert not (let_in and sender in rules.block)
    assert not (let_in and rules.allow and not (verified and sender in rules.allow))
    assert not (let_in and rules.asks_a_chain and not verified)


# --- properties --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("days", [0, 30, 365])
def test_only_times_and_amounts_are_published(days: int) -> None:
    assert Properties(days, 4_000_000).as_json() == {"messageTTL": days, "sizeLimit": 4_000_000}


@pytest.mark.parametrize(("days", "size"), [(1, 1), (29, 1), (-1, 1), (30, 0), (0, -1)])
def test_an_invalid_setting_stops_the_start(days: int, size: int) -> None:
    with pytest.raises(SettingsError):
        Properties(days, size)


@pytest.mark.parametrize(
    ("properties", "limit"),
    [
        (Properties(0, 5).as_json(), 5),
        ({"messageTTL": 7}, None),
        ({"sizeLimit": None}, None),
        ('{"messageTTL":0,"sizeLimit":100000000}', 100_000_000),
        ({"sizeLimit": 0}, 0),
    ],
)
def test_a_services_limit_is_read_from_its_answer(properties: Any, limit: int | None) -> None:
    assert read_size_limit(properties) == limit


@pytest.mark.parametrize(
    "properties", [None, [], "{", "null", {"sizeLimit": "5"}, {"sizeLimit": True}, {"sizeLimit": -1}]
)
def test_a_limit_of_another_type_is_ignored(properties: Any) -> None:
    with pytest.raises(TheirError) as caught:
        read_size_limit(properties)
    assert caught.value.reason is PROFILE_INVALID
