"""Self-registration: whoever a name's profile belongs to opens its mailbox, where the profile names our service."""

from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jwt
import pytest
from tests.aws import Deployed
from tests.http.api_stack import BOB, BOB_KEY, HOST, SHOP, SHOP_KEY, ApiStack, Owner, reason, said, signed

from postroom.core.errors import NotNowError
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.http.rate_limit import BURST_SECONDS
from postroom.http.registration import A_SECOND, OF_A_NAME_A_SECOND
from postroom.http.response import HttpResponse
from postroom.names.registrable_domains import registrable_domain
from postroom.protocols.dm3.extension import ProfileExtension
from postroom.protocols.dm3.keys import PrivateSigningKey
from postroom.storage.directory.domains import Dm3Mailbox, Domain
from postroom.storage.directory.mailboxes import Mailboxes, Opening

EVE, EVE_KEY = "eve.eth", PrivateSigningKey.generate()
KEY = b64encode(SHOP_KEY.public.spki()).decode()


@pytest.fixture
def api(deployed: Deployed) -> ApiStack:
    """The mailbox API of `ds.eth`, which opens mailboxes. Eve has a profile, but no mailbox."""
    api = ApiStack(deployed, service="ds.eth")
    api.users.keys[EVE] = EVE_KEY
    return api


def challenge(api: ApiStack, name: str = EVE, host: str = HOST, purpose: str = "open") -> str:
    return str(said(api.ask("GET", f"/auth/{name}", query={"purpose": purpose}, host=host)))


def open_it(
    api: ApiStack,
    name: str = EVE,
    key: PrivateSigningKey | PrivateKey = EVE_KEY,
    text: str | None = None,
    host: str = HOST,
) -> HttpResponse:
    body = signed(challenge(api, name) if text is None else text, key)
    return api.ask("POST", f"/mailboxes/{name}", body=body, host=host)


def submitted(api: ApiStack, name: str = EVE, **members: Any) -> HttpResponse:
    """As a client of dm3's reference submits the profile of Eve."""
    profile = {**api.users.user(name).as_json(), **members} if name in api.users.keys else members
    return api.ask("POST", f"/profile/{name}", body={"profile": profile, "signature": "0x12"})


def rows(api: ApiStack) -> list[Any]:
    return api.deployed.rows("DirectoryTable")


# --- opened -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["secp256k1", "ed25519"])
def test_the_profiles_key_opens_a_mailbox_and_the_token_is_valid(api: ApiStack, algorithm: str) -> None:
    key = api.users.keys[EVE] = PrivateSigningKey.generate(algorithm)
    token = said(open_it(api, key=key))
    assert said(api.ask("GET", f"/mailboxes/{EVE}/messages", token=token))["messages"] == []
    api.clock.now += 30
    assert api.directory.dm3_mailbox(EVE) == Dm3Mailbox(EVE, ProfileExtension(), by_owner=True)
    assert Owner(api, EVE, key).page()["messages"] == []


def test_an_owner_who_tried_to_sign_in_before_can_sign_in_at_once(api: ApiStack) -> None:
    signing_in = signed(api.challenge(EVE), EVE_KEY)
    assert reason(api.ask("POST", f"/auth/{EVE}", body=signing_in)) == "NotTheOwner"
    token = said(open_it(api))
    assert said(api.ask("GET", f"/mailboxes/{EVE}/status", token=token))["waiting"] == 0


def test_the_service_may_stand_anywhere_in_the_profile(api: ApiStack) -> None:
    api.users.services = ("other.eth", "ds.eth")
    assert said(open_it(api))


def test_opening_an_open_mailbox_changes_nothing(api: ApiStack) -> None:
    said(open_it(api))
    api.operators.put_dm3_mailbox(Dm3Mailbox(EVE, takes_unverified=True))
    before = rows(api)
    assert said(open_it(api))
    assert rows(api) == before


def test_the_operators_settings_of_a_mailbox_stay(api: ApiStack) -> None:
    api.mailboxes.raise_shards(EVE, 4)
    api.mailboxes.revoke_tokens(EVE, 1)
    token = said(open_it(api))
    api.clock.now += 30
    mailbox = api.directory.mailbox(EVE)
    assert (mailbox.shards, mailbox.sign_outs) == (4, 1)
    assert said(api.ask("GET", f"/mailboxes/{EVE}/status", token=token))


# --- not opened -------------------------------------------------------------------------------------------------------


def test_no_mailbox_is_opened_unless_the_operator_enabled_it(deployed: Deployed) -> None:
    api = ApiStack(deployed)
    api.users.keys[EVE] = EVE_KEY
    before = rows(api)
    for name, key in ((EVE, EVE_KEY), (BOB, BOB_KEY), ("nobody.eth", EVE_KEY)):
        for reply in (open_it(api, name, key), submitted(api, name)):
            assert (reply.status, reason(reply)) == (403, "OpeningNotOffered")
    assert rows(api) == before


def test_a_profile_that_names_other_services_opens_nothing(api: ApiStack) -> None:
    api.users.services = ("other.eth", "ds.eth.evil.eth")
    before = rows(api)
    for reply in (open_it(api), submitted(api)):
        assert (reply.status, reason(reply)) == (403, "OpeningRefused")
    assert rows(api) == before


@pytest.mark.parametrize("closed", ["closed", "removed", "removed and closed"])
def test_an_owner_cannot_reopen_a_mailbox_that_the_operator_closed(api: ApiStack, closed: str) -> None:
    said(open_it(api))
    if "removed" in closed:
        assert api.operators.remove_dm3_mailbox(EVE)
    if "closed" in closed:
        api.mailboxes.close(EVE, 1)
    api.clock.now += 30
    before = rows(api)
    for reply in (open_it(api), submitted(api)):
        assert (reply.status, reason(reply)) == (403, "OpeningRefused")
    assert rows(api) == before
    api.operators.put_dm3_mailbox(Dm3Mailbox(EVE))
    api.mailboxes.set_keys(EVE, [])
    assert said(open_it(api)), "the operator opened it"


def test_a_mailbox_removed_concurrently_stays_removed(api: ApiStack) -> None:
    said(open_it(api))
    api.operators.remove_dm3_mailbox(EVE)
    assert api.mailboxes.open_dm3(EVE, "eve.eth", 0) is Opening.REMOVED, "whatever was read before"
    assert api.operators.dm3_mailboxes() == [Dm3Mailbox(BOB)]


def test_a_profile_does_not_open_an_nlweb_mailbox_of_the_same_name(api: ApiStack) -> None:
    """A mailbox that has its owner, a domain, and what is below it: nobody comes to them by a profile."""
    api.mailboxes.set_keys("orders.org", [KEY])
    api.operators.put_domain(Domain("xn--bcher-kva.example"))
    before = rows(api)
    for name in ("orders.org", SHOP, f"deep.below.{SHOP}", "bücher.example", "a.xn--bcher-kva.example"):
        api.users.keys[name] = EVE_KEY
        api.clock.now += BURST_SECONDS
        for reply in (open_it(api, name), submitted(api, name)):
            assert (reply.status, reason(reply)) == (403, "OpeningRefused"), name
    assert rows(api) == before


def test_while_the_registry_is_unavailable_requests_get_503_and_nothing_changes(
    api: ApiStack,
) -> None:
    text, before = challenge(api), api.deployed.dump()
    profile = api.users.user(EVE).as_json()
    api.users.away = True
    for name in (EVE, BOB, "nobody.eth", SHOP):
        body = {"profile": profile, "signature": "0x12"}
        for reply in (open_it(api, name), api.ask("POST", f"/profile/{name}", body=body)):
            assert (reply.status, reason(reply)) == (503, "ProfileLookupFailed")
    assert api.deployed.dump() == before
    api.users.away = False
    assert said(open_it(api, text=text)), "the challenge was not used up"


# --- the challenge and the signature ----------------------------------------------------------------------------------


def test_challenges_for_opening_and_signing_in_are_not_interchangeable(api: ApiStack) -> None:
    said(open_it(api))
    for text in (challenge(api), challenge(api, purpose="open")):
        assert reason(api.ask("POST", f"/auth/{EVE}", body=signed(text, EVE_KEY))) == "ChallengeInvalid"
    for text in (api.challenge(EVE), challenge(api, purpose="pick up mail")):
        assert reason(open_it(api, text=text)) == "ChallengeInvalid"
    assert jwt.decode(challenge(api), options={"verify_signature": False})["purpose"] == "open"


def test_a_challenge_has_no_other_purpose(api: ApiStack) -> None:
    assert reason(api.ask("GET", f"/auth/{EVE}", query={"purpose": "send money"})) == "NotARequest"


def test_a_challenge_is_valid_once_for_two_minutes_for_one_name_and_host(api: ApiStack) -> None:
    api.users.keys["eva.eth"] = EVE_KEY
    text, before = challenge(api), rows(api)
    assert reason(open_it(api, "eva.eth", text=text)) == "ChallengeInvalid"
    assert reason(open_it(api, text=text, host="evil.com")) == "ChallengeInvalid"
    assert reason(open_it(api, text=challenge(api, host="evil.com"))) == "ChallengeInvalid"
    assert reason(open_it(api, text=said(open_it(api, BOB, BOB_KEY)))) == "ChallengeInvalid", "a token"
    assert rows(api) == before
    assert said(open_it(api, text=text))
    assert reason(open_it(api, text=text)) == "ChallengeInvalid"
    late = challenge(api)
    api.clock.now += 120
    assert reason(open_it(api, text=late)) == "ChallengeInvalid"


@pytest.mark.parametrize("text", ["", "x", "a.b.c", "x" * 2048, "🤝.🤝.🤝"])
def test_a_challenge_that_we_did_not_issue_is_invalid(api: ApiStack, text: str) -> None:
    assert reason(open_it(api, text=text)) == "ChallengeInvalid"


@pytest.mark.parametrize("signature", ["", "!", "AAAA", "A" * 2048, "🤝"])
def test_an_invalid_signature_opens_nothing(api: ApiStack, signature: str) -> None:
    before = api.deployed.dump()
    body = {"challenge": challenge(api), "signature": signature}
    assert reason(api.ask("POST", f"/mailboxes/{EVE}", body=body)) == "NotTheOwner"
    assert api.deployed.dump() == before


def test_a_request_without_a_valid_signature_learns_and_stores_nothing(api: ApiStack) -> None:
    """Whether a name has a mailbox, had one, has a profile, or names us: all answers are one."""
    api.users.keys |= {"closed.eth": EVE_KEY, "removed.eth": EVE_KEY, SHOP: EVE_KEY}
    for name in ("closed.eth", "removed.eth"):
        api.operators.put_dm3_mailbox(Dm3Mailbox(name))
    api.mailboxes.close("closed.eth", 1)
    api.operators.remove_dm3_mailbox("removed.eth")
    before, answers = api.deployed.dump(), []
    for name in (EVE, BOB, "closed.eth", "removed.eth", SHOP, "nobody.eth", "nobody.com"):
        api.clock.now += 1
        reply = open_it(api, name, PrivateSigningKey.generate())
        answers.append((reply.status, reply.headers, reply.body))
    assert all(answer == answers[0] for answer in answers)
    assert answers[0][0] == 401
    assert api.deployed.dump() == before


def test_a_key_set_by_the_operator_does_not_open_a_mailbox(api: ApiStack) -> None:
    assert reason(open_it(api, SHOP, SHOP_KEY)) == "NotTheOwner"
    api.mailboxes.set_keys(EVE, [KEY])
    assert reason(open_it(api, EVE, SHOP_KEY)) == "NotTheOwner"


# --- dm3's reference --------------------------------------------------------------------------------------------------


def test_the_reference_client_submits_its_published_profile_and_then_signs_in(api: ApiStack) -> None:
    reply = submitted(api)
    assert (reply.status, reply.body) == (200, b'""'), "no token: a profile is anybody's to read"
    assert reason(api.ask("GET", f"/delivery/messages/incoming/{EVE}", token=said(reply))) == "TokenInvalid"
    token = Owner(api, EVE, EVE_KEY).token
    assert said(api.ask("GET", f"/delivery/messages/incoming/{EVE}", token=token)) == []
    assert said(submitted(api)) == "", "again, as its clients do at each start"


def test_another_profile_than_the_published_one_opens_nothing(api: ApiStack) -> None:
    other = PrivateSigningKey.generate().public.encode()
    wrong: list[dict[str, object]] = [
        {"publicSigningKey": other}, {"publicSigningKey": "x"}, {"deliveryServices": ["ds.eth", "more.eth"]},
        {"deliveryServices": []}, {"deliveryServices": ["ds.eth", 1]},
        {"publicEncryptionKey": b64encode(bytes(range(32))).decode()}, {"publicEncryptionKey": None},
    ]  # fmt: skip
    before, answers = rows(api), []
    for members in wrong:
        api.clock.now += 1
        answers.append(submitted(api, **members))
    answers.append(submitted(api, "nobody.eth"))
    assert {reason(reply) for reply in answers} == {"OpeningRefused"}
    assert len({reply.body for reply in answers}) == 1
    assert rows(api) == before


def test_a_refused_profile_does_not_reveal_why(api: ApiStack) -> None:
    api.users.keys |= {"closed.eth": EVE_KEY, SHOP: EVE_KEY}
    api.operators.put_dm3_mailbox(Dm3Mailbox("closed.eth"))
    api.mailboxes.close("closed.eth", 1)
    answers = [submitted(api, name) for name in ("closed.eth", SHOP, "nobody.eth")]
    assert len({reply.body for reply in answers}) == 1


@pytest.mark.parametrize(
    "body",
    [None, [], {}, {"profile": [], "signature": ""}, {"profile": {}, "signature": None}, {"profile": {}}],
    ids=str,
)
def test_an_invalid_signed_profile_is_refused(api: ApiStack, body: object) -> None:
    assert reason(api.ask("POST", f"/profile/{EVE}", body=body)) == "NotARequest"


# --- how often --------------------------------------------------------------------------------------------------------


def test_look_ups_of_one_name_are_limited(api: ApiStack) -> None:
    tries = OF_A_NAME_A_SECOND * BURST_SECONDS
    for _ in range(tries):
        assert reason(open_it(api, key=PrivateSigningKey.generate())) == "NotTheOwner"
    asked = api.users.lookups
    for reply in (open_it(api), api.ask("POST", f"/profile/{EVE}", body={"profile": {}, "signature": ""})):
        assert (reply.status, reason(reply)) == (429, "TooManyRequests")
    assert api.users.lookups == asked
    assert said(open_it(api, BOB, BOB_KEY)), "another name"
    api.clock.now += 1
    assert said(open_it(api))


def test_look_ups_of_all_names_together_are_limited(api: ApiStack) -> None:
    for number in range(A_SECOND * BURST_SECONDS):
        assert reason(open_it(api, f"n{number}.eth")) == "NotTheOwner"
    asked = api.users.lookups
    assert reason(open_it(api)) == "TooManyRequests"
    assert api.users.lookups == asked
    api.clock.now += 1
    assert said(open_it(api))


def test_an_invalid_challenge_causes_no_look_up(api: ApiStack) -> None:
    asked = api.users.lookups
    for _ in range(100):
        assert reason(open_it(api, text="x")) == "ChallengeInvalid"
    assert api.users.lookups == asked
    assert said(open_it(api))


# --- how many below one domain ----------------------------------------------------------------------------------------


@pytest.fixture
def two_a_domain(deployed: Deployed) -> ApiStack:
    """The API of an operator who allows two mailboxes for each domain."""
    return ApiStack(deployed, service="ds.eth", dm3_self_registrations_per_domain=2)


def opened(api: ApiStack, *names: str) -> list[int]:
    """The status of each opening, by the keys of these names' profiles."""
    found = []
    for name in names:
        api.users.keys[name] = EVE_KEY
        api.clock.now += BURST_SECONDS
        found.append(open_it(api, name).status)
    return found


def test_a_domain_has_so_many_mailboxes_that_owners_opened_however_deep_its_names(two_a_domain: ApiStack) -> None:
    api = two_a_domain
    assert opened(api, "a.evil.example", "b.c.evil.example", "d.evil.example", "evil.example") == [200, 200, 403, 403]
    refused = open_it(api, "d.evil.example")
    assert (reason(refused), "the operator allows 2 mailboxes below evil.example" in str(refused.body)) == (
        "OpeningRefused", True,
    )  # fmt: skip
    assert submitted(api, "d.evil.example").status == 403
    assert opened(api, "a.uni.eth", "b.uni.eth", "c.uni.eth", "a.other.eth") == [200, 200, 403, 200]


def test_a_mailbox_that_is_open_can_be_opened_again_and_counts_once(two_a_domain: ApiStack) -> None:
    assert opened(two_a_domain, *["a.evil.example"] * 3, "b.evil.example", "a.evil.example") == [200] * 5


def test_a_mailbox_that_the_operator_opened_does_not_count(two_a_domain: ApiStack) -> None:
    two_a_domain.operators.put_dm3_mailbox(Dm3Mailbox("x.evil.example"))
    assert opened(two_a_domain, "x.evil.example", "a.evil.example", "b.evil.example") == [200] * 3


def test_a_mailbox_that_the_operator_removed_counts_on(two_a_domain: ApiStack) -> None:
    assert opened(two_a_domain, "a.evil.example", "b.evil.example") == [200, 200]
    two_a_domain.operators.remove_dm3_mailbox("a.evil.example")
    assert opened(two_a_domain, "c.evil.example") == [403]


def test_zero_allows_any_number(deployed: Deployed) -> None:
    api = ApiStack(deployed, service="ds.eth", dm3_self_registrations_per_domain=0)
    assert set(opened(api, *(f"{number}.evil.example" for number in range(4)))) == {200}


def test_two_owners_at_the_same_time_open_no_more_than_that(two_a_domain: ApiStack) -> None:
    mailboxes = two_a_domain.mailboxes
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda number: _outcome(mailboxes, f"{number}.evil.example"), range(8)))
    assert done.count(Opening.OPEN) <= 2
    assert len([row for row in rows(two_a_domain) if row["pk"]["S"].endswith(".evil.example")]) == done.count(
        Opening.OPEN
    )


def _outcome(mailboxes: Mailboxes, name: str) -> Opening | None:
    try:
        return mailboxes.open_dm3(name, "evil.example", 2)
    except NotNowError:
        return None


@pytest.mark.parametrize(
    ("name", "domain"),
    [
        ("a.b.uni.eth", "uni.eth"),
        ("uni.eth", "uni.eth"),
        ("eth", "eth"),
        ("a.shop.co.uk", "shop.co.uk"),
        ("co.uk", "co.uk"),
        ("a.user.github.io", "github.io"),
        ("a.bücher.example", "xn--bcher-kva.example"),
        ("a.xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("😀.😀.eth", "😀.eth"),
        ("a.公司.cn", "a.xn--55qx5d.cn"),
        ("_a.bücher.eth", "xn--bcher-kva.eth"),
        ("😀.bücher.eth", "xn--bcher-kva.eth"),
    ],
)
def test_the_registrable_domain_is_what_its_owner_pays_for(name: str, domain: str) -> None:
    assert registrable_domain(name) == domain
