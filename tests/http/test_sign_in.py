"""Who is let in, and who is not (decision "Signing in")."""

import json
from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.http.api_stack import BOB, BOB_KEY, DAY, HOST, SHOP, SHOP_KEY, ApiStack, Owner, reason, said, signed

from postroom.crypto.rsa_ed25519 import PrivateKey, PublicKey
from postroom.http import sign_in
from postroom.protocols.dm3.keys import PrivateSigningKey, PublicSigningKey
from postroom.storage.directory.domains import Dm3Mailbox

STATUS = f"/mailboxes/{SHOP}/status"


def refused(api: ApiStack, name: str, challenge: str, key: PrivateKey | PrivateSigningKey) -> str:
    return reason(api.ask("POST", f"/auth/{name}", body=signed(challenge, key)))


def with_token(api: ApiStack, token: str, path: str = STATUS, host: str = HOST) -> str:
    return reason(api.ask("GET", path, token=token, host=host))


def claims(token: str) -> dict[str, object]:
    found: dict[str, object] = jwt.decode(token, options={"verify_signature": False})
    return found


@pytest.mark.parametrize("key", [SHOP_KEY, PrivateKey.generate("rsa")], ids=["Ed25519", "RSA"])
def test_an_owner_signs_in_with_a_key_that_the_operator_set(api: ApiStack, key: PrivateKey) -> None:
    api.mailboxes.set_keys(SHOP, [b64encode(key.public.spki()).decode()])
    assert Owner(api, SHOP, key).page()["messages"] == []


@pytest.mark.parametrize("algorithm", ["secp256k1", "ed25519"])
def test_an_owner_signs_in_with_the_key_of_a_dm3_profile(api: ApiStack, algorithm: str) -> None:
    key = PrivateSigningKey.generate(algorithm)
    api.users.keys[BOB] = key
    assert Owner(api, BOB, key).page()["messages"] == []


def test_a_profile_does_not_sign_in_to_a_mailbox_that_does_not_exist(api: ApiStack) -> None:
    api.users.keys["eve.eth"] = BOB_KEY
    assert refused(api, "eve.eth", api.challenge("eve.eth"), BOB_KEY) == "NotTheOwner"


def test_the_name_may_be_spelled_in_any_case(api: ApiStack) -> None:
    challenge = api.challenge("ShOp.CoM")
    assert said(api.ask("POST", "/auth/shop.com/", body=signed(challenge, SHOP_KEY)))


def test_an_invalid_name_is_refused(api: ApiStack) -> None:
    assert reason(api.ask("GET", "/auth/a..b")) == "NoMailboxName"


# --- the challenge ---------------------------------------------------------------------------------------------------


def test_another_key_does_not_sign_in(api: ApiStack) -> None:
    assert refused(api, SHOP, api.challenge(), PrivateKey.generate("ed25519")) == "NotTheOwner"


def test_a_challenge_does_not_reveal_whether_a_mailbox_exists(api: ApiStack) -> None:
    api.mailboxes.set_keys("closed.com", [b64encode(SHOP_KEY.public.spki()).decode()])
    api.mailboxes.close("closed.com", 1)
    answers = []
    for name in (SHOP, BOB, "closed.com", "nobody.com", "nobody.eth"):
        asked = api.ask("GET", f"/auth/{name}")
        answered = api.ask("POST", f"/auth/{name}", body=signed(said(asked), PrivateKey.generate("ed25519")))
        answers.append((asked.status, asked.headers, answered.status, answered.headers, answered.body))
        assert set(claims(said(asked))) == {"sub", "aud", "iat", "exp", "purpose", "jti"}
    assert all(answer == answers[0] for answer in answers)
    assert api.deployed.rows("LimitsTable") == []


def test_every_name_takes_the_same_steps_to_refuse_a_signature(api: ApiStack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are read and signatures verified as often for a name without a mailbox: otherwise it could be measured."""
    api.mailboxes.set_keys("closed.com", [b64encode(SHOP_KEY.public.spki()).decode()])
    api.mailboxes.close("closed.com", 1)
    api.users.keys["nobody.eth"] = BOB_KEY
    steps: list[str] = []

    def noted(name: str, call: Callable[..., object]) -> Callable[..., object]:
        return lambda *arguments: steps.append(name) or call(*arguments)

    monkeypatch.setattr(sign_in, "read_owner_key", noted("read", sign_in.read_owner_key))
    for key_class in (PublicKey, PublicSigningKey):
        monkeypatch.setattr(key_class, "verify", noted("verify", key_class.verify))
    taken = {}
    for name in (SHOP, BOB, "closed.com", "nobody.com", "nobody.eth"):
        challenge = api.challenge(name)
        steps.clear()
        assert refused(api, name, challenge, PrivateKey.generate("ed25519")) == "NotTheOwner"
        taken[name] = sorted(steps)
    assert set(map(tuple, taken.values())) == {("read", "verify", "verify")}, taken


def test_a_challenge_is_valid_once(api: ApiStack) -> None:
    challenge = api.challenge()
    assert said(api.ask("POST", f"/auth/{SHOP}", body=signed(challenge, SHOP_KEY)))
    assert refused(api, SHOP, challenge, SHOP_KEY) == "ChallengeInvalid"


def test_a_wrong_signature_does_not_use_up_a_challenge(api: ApiStack) -> None:
    challenge = api.challenge()
    assert refused(api, SHOP, challenge, PrivateKey.generate("ed25519")) == "NotTheOwner"
    assert said(api.ask("POST", f"/auth/{SHOP}", body=signed(challenge, SHOP_KEY)))


def test_a_challenge_is_valid_for_two_minutes(api: ApiStack) -> None:
    challenge = api.challenge()
    api.clock.now += 119
    late = api.challenge()
    assert said(api.ask("POST", f"/auth/{SHOP}", body=signed(challenge, SHOP_KEY)))
    api.clock.now += 120
    assert refused(api, SHOP, late, SHOP_KEY) == "ChallengeInvalid"


def test_a_used_challenge_is_remembered_as_long_as_it_is_valid(api: ApiStack) -> None:
    api.sign_in()
    [row] = api.deployed.rows("LimitsTable")
    assert int(row["ttl"]["N"]) >= api.clock.now + 120


def test_a_challenge_is_bound_to_the_name_and_the_host(api: ApiStack) -> None:
    api.mailboxes.set_keys("other.com", [b64encode(SHOP_KEY.public.spki()).decode()])
    assert refused(api, "other.com", api.challenge(SHOP), SHOP_KEY) == "ChallengeInvalid"
    assert refused(api, SHOP, api.challenge(host="evil.com"), SHOP_KEY) == "ChallengeInvalid"


def test_tokens_and_challenges_are_not_interchangeable(api: ApiStack) -> None:
    assert refused(api, SHOP, api.sign_in(), SHOP_KEY) == "ChallengeInvalid"
    assert with_token(api, api.challenge()) == "TokenInvalid"


@pytest.mark.parametrize("challenge", ["", "x", "a.b.c", "x" * 2048, "🤝.🤝.🤝"])
def test_a_challenge_that_we_did_not_issue_is_invalid(api: ApiStack, challenge: str) -> None:
    assert refused(api, SHOP, challenge, SHOP_KEY) == "ChallengeInvalid"


@pytest.mark.parametrize("signature", ["", "!", "AAAA", "A" * 2048, "🤝"])
def test_an_invalid_signature_does_not_sign_in(api: ApiStack, signature: str) -> None:
    body = {"challenge": api.challenge(), "signature": signature}
    assert reason(api.ask("POST", f"/auth/{SHOP}", body=body)) == "NotTheOwner"


@pytest.mark.parametrize(
    "body",
    [None, [], {}, {"challenge": "x"}, {"challenge": 1, "signature": "x"}, {"challenge": "x" * 2049, "signature": ""}],
)
def test_an_invalid_signed_challenge_is_refused(api: ApiStack, body: object) -> None:
    assert reason(api.ask("POST", f"/auth/{SHOP}", body=body)) == "NotARequest"


# --- the token -------------------------------------------------------------------------------------------------------


def test_a_request_without_a_token_learns_nothing(api: ApiStack) -> None:
    reply = api.ask("GET", STATUS)
    assert reason(reply) == "TokenInvalid"
    assert reply.headers["WWW-Authenticate"].startswith("Bearer")


def test_a_token_opens_its_own_mailbox_only(api: ApiStack) -> None:
    assert with_token(api, api.sign_in(BOB, BOB_KEY)) == "AnothersMailbox"


def test_a_token_is_valid_at_the_host_that_issued_it_only(api: ApiStack) -> None:
    assert with_token(api, api.sign_in(), host="evil.com") == "TokenInvalid"


def test_a_token_is_valid_for_an_hour(api: ApiStack) -> None:
    token = api.sign_in()
    api.clock.now += 3599
    assert said(api.ask("GET", STATUS, token=token))
    api.clock.now += 1
    assert with_token(api, token) == "TokenInvalid"


def test_a_token_from_the_future_is_invalid(api: ApiStack) -> None:
    token = api.sign_in()
    api.clock.now -= 60
    assert said(api.ask("GET", STATUS, token=token)), "clocks differ"
    api.clock.now -= 1
    assert with_token(api, token) == "TokenInvalid"


def forged(token: str, key: Ed25519PrivateKey | str | None, algorithm: str, **header: str) -> str:
    """The same claims, signed by somebody else."""
    given = {**jwt.get_unverified_header(token), **header}
    return jwt.encode(claims(token), key, algorithm, headers={"typ": given["typ"], "kid": given["kid"]})


def test_a_token_signed_by_another_key_is_invalid(api: ApiStack) -> None:
    token = api.sign_in()
    for bad in (
        forged(token, Ed25519PrivateKey.generate(), "EdDSA"),
        forged(token, Ed25519PrivateKey.generate(), "EdDSA", kid="1"),
        forged(token, None, "none"),
        forged(token, "x" * 64, "HS256"),
    ):
        assert with_token(api, bad) == "TokenInvalid"


def test_a_changed_token_is_invalid(api: ApiStack) -> None:
    head, body, signature = api.sign_in().split(".")
    changed = urlsafe_b64encode(
        json.dumps({**json.loads(urlsafe_b64decode(body + "==")), "sub": BOB}).encode()
    ).decode().rstrip("=")  # fmt: skip
    assert with_token(api, f"{head}.{changed}.{signature}") == "TokenInvalid"
    assert with_token(api, f"{head}.{changed}.{signature}", f"/mailboxes/{BOB}/status") == "TokenInvalid"


@pytest.mark.parametrize("token", ["x", "a.b.c", "x" * 5000, "🤝"])
def test_a_malformed_token_is_invalid(api: ApiStack, token: str) -> None:
    assert with_token(api, token) == "TokenInvalid"


def test_signing_out_revokes_all_earlier_tokens_only(api: ApiStack) -> None:
    one, two = Owner(api), Owner(api)
    api.clock.now += 1
    assert said(one.ask("POST", "/sign-out"))["signed_out_at"] == "2026-11-21T09:30:01.000Z"
    api.clock.now += 30
    assert reason(one.ask("GET", "/status")) == reason(two.ask("GET", "/status")) == "TokenInvalid"
    assert Owner(api).page()["messages"] == []


@pytest.mark.parametrize("ahead", [-60, -1, 0, 1, 59])
def test_signing_out_revokes_tokens_of_instances_whose_clocks_differ(api: ApiStack, ahead: float) -> None:
    api.clock.now += ahead
    theirs = Owner(api)
    api.clock.now -= ahead
    assert said(Owner(api).ask("POST", "/sign-out"))
    # Whoever signs in at once, at whatever instance, stays so.
    api.clock.now += ahead
    later = Owner(api)
    api.clock.now -= ahead
    assert said(later.ask("GET", "/status"))
    api.clock.now += 30 + 60
    assert reason(theirs.ask("GET", "/status")) == "TokenInvalid"
    assert said(later.ask("GET", "/status"))


def test_removing_a_key_revokes_its_tokens_within_a_minute(api: ApiStack) -> None:
    one, other = SHOP_KEY, PrivateKey.generate("ed25519")
    for removed, stays in ((one, other), (other, one)):
        api.mailboxes.set_keys(SHOP, [b64encode(key.public.spki()).decode() for key in (one, other)])
        old, new = Owner(api, SHOP, removed), Owner(api, SHOP, stays)
        api.mailboxes.set_keys(SHOP, [b64encode(stays.public.spki()).decode()])
        api.clock.now += 30
        assert reason(old.ask("GET", "/status")) == "TokenInvalid"
        assert said(new.ask("GET", "/status"))


@pytest.mark.parametrize("name", [SHOP, "new.com"])
def test_a_key_is_accepted_as_soon_as_it_is_set_although_it_was_refused_before(api: ApiStack, name: str) -> None:
    key = PrivateKey.generate("ed25519")
    elsewhere = api.parts().mailbox_api.sign_in
    assert refused(api, name, api.challenge(name), key) == "NotTheOwner"
    assert not elsewhere.directory.dm3_mailbox(name)
    assert b64encode(key.public.spki()).decode() not in elsewhere.directory.mailbox(name).keys
    api.mailboxes.set_keys(name, [b64encode(key.public.spki()).decode()])
    token = api.sign_in(name, key)
    assert said(api.ask("GET", f"/mailboxes/{name}/status", token=token))
    # An instance that has cached the mailbox without the key accepts the token of another one.
    assert elsewhere.check(token, name, HOST).name == name


def test_a_dm3_mailbox_is_accessible_as_soon_as_it_is_opened_although_it_was_refused_before(api: ApiStack) -> None:
    api.users.keys["eve.eth"] = BOB_KEY
    assert refused(api, "eve.eth", api.challenge("eve.eth"), BOB_KEY) == "NotTheOwner"
    api.operators.put_dm3_mailbox(Dm3Mailbox("eve.eth"))
    assert Owner(api, "eve.eth", BOB_KEY).page()["messages"] == []


def test_a_closed_mailbox_refuses_all_requests(api: ApiStack) -> None:
    owner = Owner(api)
    api.mailboxes.close(SHOP, 1)
    api.clock.now += 30
    assert reason(owner.ask("GET", "/status")) == "TokenInvalid"
    assert refused(api, SHOP, api.challenge(), SHOP_KEY) == "NotTheOwner"


# --- what signs them -------------------------------------------------------------------------------------------------


def test_a_new_key_signs_from_its_start_and_old_tokens_stay_valid(api: ApiStack) -> None:
    old = Owner(api)
    api.token_keys.add("another random text" * 3, int(api.clock.now) + 120, drop_before=0)
    assert jwt.get_unverified_header(api.challenge())["kid"] == "0"
    api.clock.now += 121
    assert jwt.get_unverified_header(api.challenge())["kid"] == str(int(api.clock.now) - 1)
    assert said(old.ask("GET", "/status"))


def test_an_old_token_key_is_deleted(api: ApiStack) -> None:
    now = int(api.clock.now)
    for begins in (now, now + DAY, now + 2 * DAY):
        api.token_keys.add(f"text of {begins}", begins, drop_before=begins - 3 * 3600)
    [secret] = [json.loads(api.deployed.clients.secrets.get_secret_value(SecretId="TokenKeys")["SecretString"])]
    assert set(secret) == {str(now + DAY), str(now + 2 * DAY)}


def test_an_unavailable_registry_affects_only_names_that_need_a_look_up(api: ApiStack) -> None:
    api.users.away = True
    assert Owner(api).page()["messages"] == []
    assert refused(api, BOB, api.challenge(BOB), BOB_KEY) == "ProfileLookupFailed"
    api.mailboxes.set_keys(BOB, [b64encode(SHOP_KEY.public.spki()).decode()])
    api.clock.now += 30
    assert Owner(api, BOB, SHOP_KEY).page()["messages"] == [], "nor those who need not be looked up"


def test_while_the_registry_is_unavailable_owners_of_dm3_mailboxes_come_again(api: ApiStack) -> None:
    api.mailboxes.set_keys("closed.com", [b64encode(SHOP_KEY.public.spki()).decode()])
    api.mailboxes.close("closed.com", 1)
    api.operators.put_dm3_mailbox(Dm3Mailbox("eve.eth"))
    api.users.away = True
    stranger = PrivateKey.generate("ed25519")
    answers = {
        name: refused(api, name, api.challenge(name), stranger)
        for name in (SHOP, BOB, "eve.eth", "closed.com", "nobody.com", "nobody.eth")
    }
    assert answers == {
        **dict.fromkeys(answers, "NotTheOwner"),
        **dict.fromkeys((BOB, "eve.eth"), "ProfileLookupFailed"),
    }


def test_names_without_a_dm3_mailbox_are_looked_up_in_no_registry(api: ApiStack) -> None:
    for name in (SHOP, "nobody.com", "nobody.eth"):
        refused(api, name, api.challenge(name), BOB_KEY)
    assert api.users.lookups == 0
