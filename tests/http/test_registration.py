"""Self-registration: whoever a name's profile belongs to opens its mailbox, where the profile names our service."""

from base64 import b64encode
from typing import Any

import jwt
import pytest
from tests.aws import Deployed
from tests.http.counter import BOB, BOB_KEY, HOST, SHOP, SHOP_KEY, Counter, Owner, reason, said, signed

from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.http.rate_limit import BURST_SECONDS
from postroom.http.registration import A_SECOND, OF_A_NAME_A_SECOND
from postroom.http.response import HttpResponse
from postroom.protocols.dm3.extension import ProfileExtension
from postroom.protocols.dm3.keys import PrivateSigningKey
from postroom.storage.directory.domains import Dm3Mailbox, Domain

EVE, EVE_KEY = "eve.eth", PrivateSigningKey.generate()
KEY = b64encode(SHOP_KEY.public.spki()).decode()


@pytest.fixture
def counter(deployed: Deployed) -> Counter:
    """The counter of `ds.eth`, which opens mailboxes; Eve has a profile, and no mailbox."""
    counter = Counter(deployed, service="ds.eth")
    counter.users.keys[EVE] = EVE_KEY
    return counter


def challenge(counter: Counter, name: str = EVE, host: str = HOST, purpose: str = "open") -> str:
    return str(said(counter.ask("GET", f"/auth/{name}", query={"purpose": purpose}, host=host)))


def open_it(
    counter: Counter,
    name: str = EVE,
    key: PrivateSigningKey | PrivateKey = EVE_KEY,
    text: str | None = None,
    host: str = HOST,
) -> HttpResponse:
    body = signed(challenge(counter, name) if text is None else text, key)
    return counter.ask("POST", f"/mailboxes/{name}", body=body, host=host)


def submitted(counter: Counter, name: str = EVE, **members: Any) -> HttpResponse:
    """As a client of dm3's reference submits the profile of Eve."""
    profile = {**counter.users.user(name).as_json(), **members} if name in counter.users.keys else members
    return counter.ask("POST", f"/profile/{name}", body={"profile": profile, "signature": "0x12"})


def rows(counter: Counter) -> list[Any]:
    return counter.deployed.rows("DirectoryTable")


# --- opened -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["secp256k1", "ed25519"])
def test_the_key_of_the_profile_opens_the_mailbox_and_the_token_lets_in(counter: Counter, algorithm: str) -> None:
    key = counter.users.keys[EVE] = PrivateSigningKey.generate(algorithm)
    token = said(open_it(counter, key=key))
    assert said(counter.ask("GET", f"/mailboxes/{EVE}/messages", token=token))["messages"] == []
    counter.clock.now += 30
    assert counter.directory.dm3_mailbox(EVE) == Dm3Mailbox(EVE, ProfileExtension(), by_owner=True)
    assert Owner(counter, EVE, key).page()["messages"] == []


def test_who_tried_to_sign_in_before_is_let_in_at_once(counter: Counter) -> None:
    signing_in = signed(counter.challenge(EVE), EVE_KEY)
    assert reason(counter.ask("POST", f"/auth/{EVE}", body=signing_in)) == "NotTheOwner"
    token = said(open_it(counter))
    assert said(counter.ask("GET", f"/mailboxes/{EVE}/status", token=token))["waiting"] == 0


def test_the_service_may_stand_anywhere_in_the_profile(counter: Counter) -> None:
    counter.users.services = ("other.eth", "ds.eth")
    assert said(open_it(counter))


def test_a_mailbox_that_is_open_stays_as_it_is(counter: Counter) -> None:
    said(open_it(counter))
    counter.operators.put_dm3_mailbox(Dm3Mailbox(EVE, takes_unverified=True))
    before = rows(counter)
    assert said(open_it(counter))
    assert rows(counter) == before


def test_whatever_the_operator_set_for_the_mailbox_stays(counter: Counter) -> None:
    counter.mailboxes.raise_shards(EVE, 4)
    counter.mailboxes.revoke_tokens(EVE)
    token = said(open_it(counter))
    counter.clock.now += 30
    mailbox = counter.directory.mailbox(EVE)
    assert (mailbox.shards, mailbox.sign_outs) == (4, 1)
    assert said(counter.ask("GET", f"/mailboxes/{EVE}/status", token=token))


# --- not opened -------------------------------------------------------------------------------------------------------


def test_nothing_is_opened_where_the_operator_did_not_say_so(deployed: Deployed) -> None:
    counter = Counter(deployed)
    counter.users.keys[EVE] = EVE_KEY
    before = rows(counter)
    for name, key in ((EVE, EVE_KEY), (BOB, BOB_KEY), ("nobody.eth", EVE_KEY)):
        for reply in (open_it(counter, name, key), submitted(counter, name)):
            assert (reply.status, reason(reply)) == (403, "OpeningNotOffered")
    assert rows(counter) == before


def test_a_profile_that_names_other_services_opens_nothing(counter: Counter) -> None:
    counter.users.services = ("other.eth", "ds.eth.evil.eth")
    before = rows(counter)
    for reply in (open_it(counter), submitted(counter)):
        assert (reply.status, reason(reply)) == (403, "OpeningRefused")
    assert rows(counter) == before


@pytest.mark.parametrize("closed", ["closed", "removed", "removed and closed"])
def test_what_the_operator_closed_no_owner_opens_again(counter: Counter, closed: str) -> None:
    said(open_it(counter))
    if "removed" in closed:
        assert counter.operators.remove_dm3_mailbox(EVE)
    if "closed" in closed:
        counter.mailboxes.close(EVE, 1)
    counter.clock.now += 30
    before = rows(counter)
    for reply in (open_it(counter), submitted(counter)):
        assert (reply.status, reason(reply)) == (403, "OpeningRefused")
    assert rows(counter) == before
    counter.operators.put_dm3_mailbox(Dm3Mailbox(EVE))
    counter.mailboxes.set_keys(EVE, [])
    assert said(open_it(counter)), "the operator opened it"


def test_a_mailbox_that_the_operator_removes_meanwhile_stays_removed(counter: Counter) -> None:
    said(open_it(counter))
    counter.operators.remove_dm3_mailbox(EVE)
    assert not counter.mailboxes.open_letters(EVE), "whatever was read before"
    assert counter.operators.dm3_mailboxes() == [Dm3Mailbox(BOB)]


def test_mail_of_nlweb_is_no_profiles_of_the_same_name(counter: Counter) -> None:
    """A mailbox that has its owner, a domain, and what is below it: nobody comes to them by a profile."""
    counter.mailboxes.set_keys("orders.org", [KEY])
    counter.operators.put_domain(Domain("xn--bcher-kva.example"))
    before = rows(counter)
    for name in ("orders.org", SHOP, f"deep.below.{SHOP}", "bücher.example", "a.xn--bcher-kva.example"):
        counter.users.keys[name] = EVE_KEY
        counter.clock.now += BURST_SECONDS
        for reply in (open_it(counter, name), submitted(counter, name)):
            assert (reply.status, reason(reply)) == (403, "OpeningRefused"), name
    assert rows(counter) == before


def test_while_the_registry_cannot_be_asked_everybody_is_told_to_come_again_and_nothing_changes(
    counter: Counter,
) -> None:
    text, before = challenge(counter), counter.deployed.dump()
    profile = counter.users.user(EVE).as_json()
    counter.users.away = True
    for name in (EVE, BOB, "nobody.eth", SHOP):
        body = {"profile": profile, "signature": "0x12"}
        for reply in (open_it(counter, name), counter.ask("POST", f"/profile/{name}", body=body)):
            assert (reply.status, reason(reply)) == (503, "ProfileLookupFailed")
    assert counter.deployed.dump() == before
    counter.users.away = False
    assert said(open_it(counter, text=text)), "the challenge was not used up"


# --- the challenge and the signature ----------------------------------------------------------------------------------


def test_a_challenge_for_opening_is_none_for_signing_in_and_the_other_way_round(counter: Counter) -> None:
    said(open_it(counter))
    for text in (challenge(counter), challenge(counter, purpose="open")):
        assert reason(counter.ask("POST", f"/auth/{EVE}", body=signed(text, EVE_KEY))) == "ChallengeInvalid"
    for text in (counter.challenge(EVE), challenge(counter, purpose="pick up mail")):
        assert reason(open_it(counter, text=text)) == "ChallengeInvalid"
    assert jwt.decode(challenge(counter), options={"verify_signature": False})["purpose"] == "open"


def test_a_challenge_has_no_other_purpose(counter: Counter) -> None:
    assert reason(counter.ask("GET", f"/auth/{EVE}", query={"purpose": "send money"})) == "NotARequest"


def test_a_challenge_counts_once_for_two_minutes_for_one_name_and_one_host(counter: Counter) -> None:
    counter.users.keys["eva.eth"] = EVE_KEY
    text, before = challenge(counter), rows(counter)
    assert reason(open_it(counter, "eva.eth", text=text)) == "ChallengeInvalid"
    assert reason(open_it(counter, text=text, host="evil.com")) == "ChallengeInvalid"
    assert reason(open_it(counter, text=challenge(counter, host="evil.com"))) == "ChallengeInvalid"
    assert reason(open_it(counter, text=said(open_it(counter, BOB, BOB_KEY)))) == "ChallengeInvalid", "a token"
    assert rows(counter) == before
    assert said(open_it(counter, text=text))
    assert reason(open_it(counter, text=text)) == "ChallengeInvalid"
    late = challenge(counter)
    counter.clock.now += 120
    assert reason(open_it(counter, text=late)) == "ChallengeInvalid"


@pytest.mark.parametrize("text", ["", "x", "a.b.c", "x" * 2048, "🤝.🤝.🤝"])
def test_what_we_did_not_give_is_no_challenge(counter: Counter, text: str) -> None:
    assert reason(open_it(counter, text=text)) == "ChallengeInvalid"


@pytest.mark.parametrize("signature", ["", "!", "AAAA", "A" * 2048, "🤝"])
def test_what_is_no_signature_opens_nothing(counter: Counter, signature: str) -> None:
    before = counter.deployed.dump()
    body = {"challenge": challenge(counter), "signature": signature}
    assert reason(counter.ask("POST", f"/mailboxes/{EVE}", body=body)) == "NotTheOwner"
    assert counter.deployed.dump() == before


def test_who_cannot_sign_learns_nothing_and_makes_us_write_nothing(counter: Counter) -> None:
    """Whether a name has a mailbox, had one, has a profile, or names us: all answers are one."""
    counter.users.keys |= {"closed.eth": EVE_KEY, "removed.eth": EVE_KEY, SHOP: EVE_KEY}
    for name in ("closed.eth", "removed.eth"):
        counter.operators.put_dm3_mailbox(Dm3Mailbox(name))
    counter.mailboxes.close("closed.eth", 1)
    counter.operators.remove_dm3_mailbox("removed.eth")
    before, answers = counter.deployed.dump(), []
    for name in (EVE, BOB, "closed.eth", "removed.eth", SHOP, "nobody.eth", "nobody.com"):
        counter.clock.now += 1
        reply = open_it(counter, name, PrivateSigningKey.generate())
        answers.append((reply.status, reply.headers, reply.body))
    assert all(answer == answers[0] for answer in answers)
    assert answers[0][0] == 401
    assert counter.deployed.dump() == before


def test_the_operators_key_of_a_mailbox_is_no_key_to_open_one(counter: Counter) -> None:
    assert reason(open_it(counter, SHOP, SHOP_KEY)) == "NotTheOwner"
    counter.mailboxes.set_keys(EVE, [KEY])
    assert reason(open_it(counter, EVE, SHOP_KEY)) == "NotTheOwner"


# --- dm3's reference --------------------------------------------------------------------------------------------------


def test_the_reference_submits_the_published_profile_and_signs_in_then(counter: Counter) -> None:
    reply = submitted(counter)
    assert (reply.status, reply.body) == (200, b'""'), "no token: a profile is anybody's to read"
    assert reason(counter.ask("GET", f"/delivery/messages/incoming/{EVE}", token=said(reply))) == "TokenInvalid"
    token = Owner(counter, EVE, EVE_KEY).token
    assert said(counter.ask("GET", f"/delivery/messages/incoming/{EVE}", token=token)) == []
    assert said(submitted(counter)) == "", "again, as its clients do at each start"


def test_another_profile_than_the_published_one_opens_nothing(counter: Counter) -> None:
    other = PrivateSigningKey.generate().public.encode()
    wrong: list[dict[str, object]] = [
        {"publicSigningKey": other}, {"publicSigningKey": "x"}, {"deliveryServices": ["ds.eth", "more.eth"]},
        {"deliveryServices": []}, {"deliveryServices": ["ds.eth", 1]},
        {"publicEncryptionKey": b64encode(bytes(range(32))).decode()}, {"publicEncryptionKey": None},
    ]  # fmt: skip
    before, answers = rows(counter), []
    for members in wrong:
        counter.clock.now += 1
        answers.append(submitted(counter, **members))
    answers.append(submitted(counter, "nobody.eth"))
    assert {reason(reply) for reply in answers} == {"OpeningRefused"}
    assert len({reply.body for reply in answers}) == 1
    assert rows(counter) == before


def test_who_submits_a_profile_is_not_told_why_it_opens_nothing(counter: Counter) -> None:
    counter.users.keys |= {"closed.eth": EVE_KEY, SHOP: EVE_KEY}
    counter.operators.put_dm3_mailbox(Dm3Mailbox("closed.eth"))
    counter.mailboxes.close("closed.eth", 1)
    answers = [submitted(counter, name) for name in ("closed.eth", SHOP, "nobody.eth")]
    assert len({reply.body for reply in answers}) == 1


@pytest.mark.parametrize(
    "body",
    [None, [], {}, {"profile": [], "signature": ""}, {"profile": {}, "signature": None}, {"profile": {}}],
    ids=str,
)
def test_what_is_no_signed_profile_is_refused(counter: Counter, body: object) -> None:
    assert reason(counter.ask("POST", f"/profile/{EVE}", body=body)) == "NotARequest"


# --- how often --------------------------------------------------------------------------------------------------------


def test_a_name_is_looked_up_so_often_and_no_more(counter: Counter) -> None:
    tries = OF_A_NAME_A_SECOND * BURST_SECONDS
    for _ in range(tries):
        assert reason(open_it(counter, key=PrivateSigningKey.generate())) == "NotTheOwner"
    asked = counter.users.asked
    for reply in (open_it(counter), counter.ask("POST", f"/profile/{EVE}", body={"profile": {}, "signature": ""})):
        assert (reply.status, reason(reply)) == (429, "TooManyRequests")
    assert counter.users.asked == asked
    assert said(open_it(counter, BOB, BOB_KEY)), "another name"
    counter.clock.now += 1
    assert said(open_it(counter))


def test_all_names_together_are_looked_up_so_often_and_no_more(counter: Counter) -> None:
    for number in range(A_SECOND * BURST_SECONDS):
        assert reason(open_it(counter, f"n{number}.eth")) == "NotTheOwner"
    asked = counter.users.asked
    assert reason(open_it(counter)) == "TooManyRequests"
    assert counter.users.asked == asked
    counter.clock.now += 1
    assert said(open_it(counter))


def test_what_is_no_challenge_is_looked_up_for_nobody(counter: Counter) -> None:
    asked = counter.users.asked
    for _ in range(100):
        assert reason(open_it(counter, text="x")) == "ChallengeInvalid"
    assert counter.users.asked == asked
    assert said(open_it(counter))
