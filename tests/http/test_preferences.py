"""What the owner of a mailbox sets for it."""

import json

import pytest
from tests.http.api_stack import BOB, BOB_KEY, ApiStack, Owner, reason, said

from postroom.protocols.dm3.extension import FilterRules, ProfileExtension
from postroom.protocols.dm3.sealing import SCHEME
from postroom.storage.directory.domains import Dm3Mailbox
from postroom.storage.secrets.chain_endpoints import ChainEndpointUrls

PATCH = {"content-type": "application/merge-patch+json"}


@pytest.fixture
def bob(api: ApiStack) -> Owner:
    return Owner(api, BOB, BOB_KEY)


def change(owner: Owner, body: object, etag: str = "") -> object:
    given = {**PATCH, "if-match": etag or owner.ask("GET", "/settings").headers["ETag"]}
    return owner.ask("PATCH", "/settings", body=body, headers=given)


def test_senders_get_the_owners_settings_within_a_minute(api: ApiStack, bob: Owner) -> None:
    rules = {"allow": ["alice.eth"], "block": ["eve.eth"]}
    changed = said(change(bob, {"extension": {"supportedMessageTypes": ["EDIT"], "spamFilterRules": rules}}))  # type: ignore[arg-type]
    assert changed["extension"]["supportedMessageTypes"] == ["NEW", "EDIT"], "NEW is always there"
    api.clock.now += 30
    extension = ProfileExtension(
        message_types=("NEW", "EDIT"), rules=FilterRules(allow=("alice.eth",), block=("eve.eth",))
    )
    assert api.directory.dm3_mailbox(BOB) == Dm3Mailbox(BOB, extension, takes_unverified=False)
    assert said(bob.ask("GET", "/settings")) == changed


def test_settings_not_named_stay_and_null_removes(bob: Owner) -> None:
    said(
        change(
            bob, {"extension": {"spamFilterRules": {"allow": ["alice.eth"], "block": ["eve.eth"]}}, "unverified": True}
        )
    )  # type: ignore[arg-type]
    said(change(bob, {"extension": {"spamFilterRules": {"allow": None}}}))  # type: ignore[arg-type]
    settings = said(bob.ask("GET", "/settings"))
    assert settings["extension"]["spamFilterRules"] == {"block": ["eve.eth"]}
    assert settings["unverified"] is True


def test_a_change_with_an_old_etag_is_refused(api: ApiStack, bob: Owner) -> None:
    etag = bob.ask("GET", "/settings").headers["ETag"]
    said(change(bob, {"unverified": True}))  # type: ignore[arg-type]
    assert reason(change(bob, {"unverified": False}, etag)) == "ChangedMeanwhile"  # type: ignore[arg-type]
    stored = api.mailboxes.settings(BOB)
    assert stored is not None
    said(change(bob, {"unverified": False}))  # type: ignore[arg-type]
    assert not api.mailboxes.change_settings(BOB, stored, stored), "not between reading and writing either"


def test_a_change_without_if_match_is_refused(bob: Owner) -> None:
    reply = bob.ask("PATCH", "/settings", body={}, headers=PATCH)
    assert (reply.status, reason(reply)) == (428, "MatchNeeded")


@pytest.mark.parametrize(
    "body",
    [
        None, [], {"unverified": 1}, {"extension": []}, {"extension": {"supportedMessageTypes": [1]}},
        {"extension": {"spamFilterRules": {"minNonce": -1}}}, {"extension": {"spamFilterRules": {"block": ["a..b"]}}},
    ],
    ids=str,
)  # fmt: skip
def test_invalid_settings_are_refused_and_change_nothing(bob: Owner, body: object) -> None:
    before = said(bob.ask("GET", "/settings"))
    assert reason(change(bob, body)) == "NotARequest"  # type: ignore[arg-type]
    assert said(bob.ask("GET", "/settings")) == before


@pytest.mark.parametrize(
    ("extension", "member"),
    [
        ({"supportedMessageType": ["EDIT"]}, "extension.supportedMessageType is not known; use "),
        ({"spamFilterRules": {"blocked": ["eve.eth"]}}, "extension.spamFilterRules.blocked is not known; use "),
        ({"spamFilterRules": {"blocked": None}}, "extension.spamFilterRules.blocked is not known"),
        ({"spamFilterRules": {"minNonce": 1}}, "extension.spamFilterRules.minNonce cannot be checked"),
        ({"spamFilterRules": {"minBalance": "1"}}, "extension.spamFilterRules.minBalance cannot be checked"),
        (
            {"spamFilterRules": {"minTokenBalance": {"address": "0x" + "0" * 40, "amount": "1"}}},
            "extension.spamFilterRules.minTokenBalance cannot be checked",
        ),
        (
            {"spamFilterRules": {"minTokenBalance": {"address": "0x" + "0" * 40, "amount": "0", "chain": 1}}},
            "extension.spamFilterRules.minTokenBalance.chain is not known",
        ),
    ],
)
def test_settings_without_an_effect_are_refused_with_their_name(
    bob: Owner, extension: dict[str, object], member: str
) -> None:
    before = said(bob.ask("GET", "/settings"))
    reply = change(bob, {"extension": extension})
    assert reason(reply) == "SettingInvalid"  # type: ignore[arg-type]
    assert member in json.loads(reply.body)["detail"]  # type: ignore[attr-defined]
    assert said(bob.ask("GET", "/settings")) == before


@pytest.mark.parametrize(
    "rule",
    [{"minNonce": 1}, {"minBalance": "1"}, {"minTokenBalance": {"address": "0x" + "0" * 40, "amount": "1"}}],
    ids=str,
)
def test_rules_about_accounts_are_set_where_a_chain_can_be_asked(
    api: ApiStack, bob: Owner, rule: dict[str, object]
) -> None:
    secret = api.deployed.secrets["ChainEndpoints"]
    ChainEndpointUrls(api.deployed.clients.secrets, secret, api.clock).put(["https://eth.first.example/v1"])
    changed = said(change(bob, {"extension": {"spamFilterRules": rule}}))  # type: ignore[arg-type]
    assert changed["extension"]["spamFilterRules"] == rule


def test_rules_about_a_chain_that_were_set_before_are_read_and_stay(api: ApiStack, bob: Owner) -> None:
    rules = FilterRules(min_nonce=3, min_balance=5)
    api.operators.put_dm3_mailbox(Dm3Mailbox(BOB, ProfileExtension(rules=rules)))
    shown = said(bob.ask("GET", "/settings"))["extension"]
    assert said(change(bob, {"extension": shown}))["extension"] == shown  # type: ignore[arg-type]
    less = {"extension": {"spamFilterRules": {"minNonce": None, "minBalance": "0"}}}
    assert said(change(bob, less))["extension"]["spamFilterRules"] == {"minBalance": "0"}  # type: ignore[arg-type]
    raised = {"extension": {"spamFilterRules": {"minBalance": "6"}}}
    assert reason(change(bob, raised)) == "SettingInvalid"  # type: ignore[arg-type]


def test_the_size_of_the_profile_extension_is_limited(bob: Owner) -> None:
    names = [f"n{number:06d}.eth" for number in range(2_400)]
    assert reason(change(bob, {"extension": {"spamFilterRules": {"block": names}}})) == "NotARequest"  # type: ignore[arg-type]
    assert said(change(bob, {"extension": {"spamFilterRules": {"block": names[:2_000]}}}))  # type: ignore[arg-type]


def test_a_change_with_a_star_condition_is_made(bob: Owner) -> None:
    assert said(change(bob, {"unverified": True}, "*"))["unverified"] is True  # type: ignore[arg-type]


def test_settings_of_nlweb_mailboxes_are_not_settings_of_dm3_mailboxes(bob: Owner) -> None:
    for body in ({"blocks": ["spam.com"]}, {"subjects": {"*": BOB}}):
        assert reason(change(bob, body)) == "SettingInvalid"  # type: ignore[arg-type]
    assert set(said(bob.ask("GET", "/settings"))) == {"extension", "unverified"}


def test_an_encryption_scheme_that_the_inbox_refuses_cannot_be_announced(api: ApiStack, bob: Owner) -> None:
    before = api.mailboxes.settings(BOB)
    told = {"extension": {"encryptionScheme": ["rot13", SCHEME]}}
    assert reason(change(bob, told)) == "SettingInvalid"  # type: ignore[arg-type]
    assert api.mailboxes.settings(BOB) == before
    assert said(change(bob, {"extension": {"encryptionScheme": [SCHEME]}}))  # type: ignore[arg-type]
