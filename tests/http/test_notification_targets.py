"""…/notifications: whom an owner wants to be told, verified before anything else is said."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.http.api_stack import BOB, BOB_KEY, NOW, SHOP, ApiStack, Owner, reason, said

from postroom.api.schemas import NewTarget
from postroom.api.states import TargetState
from postroom.core.errors import TheirError
from postroom.http.notification_targets import CODES_A_DAY, MAX_TRIES, NO_TOPICS
from postroom.net.https import split_url
from postroom.outbound.notification_messages import Notification
from postroom.outbound.queue_messages import read_queue_message
from postroom.storage.directory.notification_targets import MAX_TARGETS
from postroom.storage.layout import notify_group

URL = "https://hook.example/mail?for=shop"
TOPIC = "arn:aws:sns:eu-west-1:123456789012:mail-shop"
WRONG = "AAAAAAAA"
Json = Any


def add(owner: Owner, to: str = URL, kind: str = "webhook") -> Json:
    return said(owner.ask("POST", "/notifications", body={"kind": kind, "to": to}))


def refused(owner: Owner, to: str = URL, kind: str = "webhook") -> str:
    return reason(owner.ask("POST", "/notifications", body={"kind": kind, "to": to}))


def act(owner: Owner, target: Json, what: str, body: object = None) -> Json:
    return said(owner.ask("POST", f"/notifications/{target['id']}/{what}", body=body))


def listed(owner: Owner) -> list[Json]:
    return list(said(owner.ask("GET", "/notifications"))["targets"])


def sent(api: ApiStack) -> list[Notification]:
    found = [read_queue_message(body) for body in api.deployed.bodies("CourierQueue")]
    assert all(isinstance(each, Notification) for each in found)
    return [each for each in found if isinstance(each, Notification)]


def code(api: ApiStack, target: Json, name: str = SHOP) -> str:
    """What the courier tells the target."""
    found = api.targets.find(name, target["id"])
    assert found is not None
    return api.webhook_keys.code(found)


# --- a target ---------------------------------------------------------------------------------------------------------


def test_a_target_is_active_once_its_code_was_sent_back_and_its_secret_is_shown_once(
    api: ApiStack, owner: Owner
) -> None:
    made = add(owner)
    assert made["secret"].startswith("whsec_")
    shown = {
        "id": made["id"], "kind": "webhook", "to": URL, "state": "unverified", "made_at": "2026-11-21T09:30:00.000Z",
    }  # fmt: skip
    assert made == {**shown, "secret": made["secret"]}
    assert listed(owner) == [shown]
    [challenge] = sent(api)
    assert (challenge.mailbox, challenge.target, challenge.challenge) == (SHOP, made["id"], 1)
    assert api.deployed.groups("CourierQueue") == [notify_group(SHOP)]
    verified = act(owner, made, "verify", {"code": f" {code(api, made).lower()} "})
    assert verified == {**shown, "state": "active"}
    assert listed(owner) == [verified]
    assert act(owner, made, "verify", {"code": WRONG}) == verified, "nothing is left to verify"
    assert len(sent(api)) == 1


def test_the_same_target_is_not_added_twice(owner: Owner) -> None:
    add(owner)
    assert refused(owner) == "TargetExists"
    assert len(listed(owner)) == 1


def test_a_mailbox_has_a_limited_number_of_targets_and_a_removed_one_does_not_count(
    api: ApiStack, owner: Owner
) -> None:
    made = [add(owner, f"{URL}{number}") for number in range(MAX_TARGETS)]
    before = len(sent(api))
    assert refused(owner, f"{URL}more") == "TooManyTargets"
    assert len(sent(api)) == before
    assert said(owner.ask("DELETE", f"/notifications/{made[2]['id']}")) is None
    add(owner, f"{URL}more")
    assert len(listed(owner)) == MAX_TARGETS


# --- where to ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "http://hook.example/", "https://user:secret@hook.example/", "https://user@hook.example/",
        "https://127.0.0.1/", "https://[::1]/", "https://10.0.0.1/", "https://169.254.169.254/latest/meta-data/",
        "https://2130706433/", "https://0x7f.1/", "https://127.0x1/", "https://localhost/", "https://hook.example:8443/",
        "https://hook.example:443x/", "https:///", "https://", "", "hook.example", "//hook.example/", "ftp://hook.example/",
        "file:///etc/passwd", "https://hook.example/ä", "https://hook.example/\r\nX: y", "https://hook .example/",
        "https://hook.example\\@other.example/", "javascript:alert(1)", TOPIC,
    ],
)  # fmt: skip
def test_a_url_without_a_public_host_is_refused_and_changes_nothing(api: ApiStack, owner: Owner, url: str) -> None:
    assert refused(owner, url) == "TargetInvalid"
    assert listed(owner) == []
    assert sent(api) == []


@given(
    st.text(max_size=40)
    | st.text(max_size=20).map(lambda text: f"https://{text}")
    | st.from_regex(r"https://[!-~]{1,30}")
)
@settings(suppress_health_check=list(HealthCheck))
def test_an_accepted_url_is_one_that_the_courier_can_post_to(api: ApiStack, url: str) -> None:
    settings = api.target_settings()
    api.clock.now += 86_400  # so many are sent a code in a day
    try:
        target = settings.add("props.example", NewTarget("webhook", url))
    except TheirError:
        return
    settings.remove("props.example", target.id)
    host, _ = split_url(url, 443)
    assert "." in host


def test_an_allowed_topic_is_accepted_and_has_no_secret(owner: Owner) -> None:
    made = add(owner, TOPIC, "sns")
    assert (made["kind"], made.get("secret")) == ("sns", None)
    assert reason(owner.ask("POST", f"/notifications/{made['id']}/rotate")) == "NotARequest"


@pytest.mark.parametrize(
    "arn", ["arn:aws:sns:eu-west-1:123456789012:other", "arn:aws:sns:eu-west-1:999999999999:mail-shop"]
)
def test_a_topic_that_the_operator_does_not_allow_is_refused(owner: Owner, arn: str) -> None:
    assert refused(owner, arn, "sns") == "NotificationNotOffered"


@pytest.mark.parametrize(
    "arn", [URL, "", "mail-shop", f"{TOPIC}.fifo", f"{TOPIC}\n", "arn:aws:sqs:eu-west-1:123456789012:mail-shop"]
)
def test_a_topic_that_is_not_a_standard_topic_is_refused(owner: Owner, arn: str) -> None:
    assert refused(owner, arn, "sns") == "TargetInvalid"


def test_a_deployment_without_topics_or_e_mail_says_so(api: ApiStack, owner: Owner) -> None:
    reply = owner.ask("POST", "/notifications", body={"kind": "email", "to": "bob@shop.com"})
    assert (reply.status, reason(reply)) == (422, "NotificationNotOffered")
    assert b"sends no e-mail" in reply.body
    for to in (TOPIC, "mail-shop"):
        with pytest.raises(TheirError, match="does not publish to SNS topics"):
            api.target_settings(topics=NO_TOPICS).add(SHOP, NewTarget("sns", to))
    assert listed(owner) == []


@pytest.mark.parametrize(
    "body",
    [
        None, [], {}, {"kind": "webhook"}, {"kind": "pigeon", "to": URL}, {"kind": "webhook", "to": 1},
        {"kind": "webhook", "to": f"https://hook.example/{'x' * 1000}"},
    ],
    ids=lambda body: str(body)[:40],
)  # fmt: skip
def test_an_invalid_target_is_refused(owner: Owner, body: object) -> None:
    assert reason(owner.ask("POST", "/notifications", body=body)) == "NotARequest"


# --- codes ------------------------------------------------------------------------------------------------------------


def test_after_too_many_wrong_codes_a_new_code_must_be_sent(api: ApiStack, owner: Owner) -> None:
    made = add(owner)
    right = code(api, made)
    for wrong in (WRONG, right[:-1], f"{right}A", "\x00", "ſ" * 8):
        assert reason(owner.ask("POST", f"/notifications/{made['id']}/verify", body={"code": wrong})) == "CodeWrong"
    assert MAX_TRIES == 5
    assert reason(owner.ask("POST", f"/notifications/{made['id']}/verify", body={"code": right})) == "CodeWrong"
    act(owner, made, "verify", {})
    assert sent(api)[-1].challenge == 2
    assert reason(owner.ask("POST", f"/notifications/{made['id']}/verify", body={"code": right})) == "CodeWrong"
    assert act(owner, made, "verify", {"code": code(api, made)})["state"] == "active"


def test_the_number_of_codes_sent_for_a_mailbox_a_day_is_limited(api: ApiStack, owner: Owner) -> None:
    made = add(owner)
    for _ in range(CODES_A_DAY - 2):
        act(owner, made, "verify", {})
    said(owner.ask("DELETE", f"/notifications/{made['id']}"))
    made = add(owner)
    assert len(sent(api)) == CODES_A_DAY
    for reply in (
        owner.ask("POST", f"/notifications/{made['id']}/verify", body={}),
        owner.ask("POST", "/notifications", body={"kind": "webhook", "to": f"{URL}other"}),
    ):
        assert (reply.status, reason(reply)) == (429, "TooManyRequests")
    assert len(sent(api)) == CODES_A_DAY
    assert len(listed(owner)) == 1
    api.clock.now += 86_400
    act(Owner(api), made, "verify", {})


def test_the_code_of_one_target_verifies_no_other(api: ApiStack, owner: Owner) -> None:
    one, two = add(owner), add(owner, f"{URL}2")
    body = {"code": code(api, one)}
    assert reason(owner.ask("POST", f"/notifications/{two['id']}/verify", body=body)) == "CodeWrong"
    assert [each["state"] for each in listed(owner)] == ["unverified", "unverified"]


# --- secrets ----------------------------------------------------------------------------------------------------------


def test_a_rotation_shows_the_new_secret_once(owner: Owner) -> None:
    made = add(owner)
    rotated = act(owner, made, "rotate")
    assert rotated["secret"] not in ("", made["secret"])
    assert {**made, "secret": ""} == {**rotated, "secret": ""}
    assert all("secret" not in each for each in listed(owner))
    assert "secret" not in act(owner, made, "verify", {})
    assert "secret" not in act(owner, made, "resume")


# --- what went wrong --------------------------------------------------------------------------------------------------


def test_a_target_that_was_paused_is_shown_with_the_reason_and_resumed(api: ApiStack, owner: Owner) -> None:
    made = add(owner)
    act(owner, made, "verify", {"code": code(api, made)})
    target = api.targets.find(SHOP, made["id"])
    assert target is not None
    api.targets.failed(target, "it answered 500", int(NOW * 1000), None)
    api.targets.pause(target, "it answered 500")
    [paused] = listed(owner)
    assert (paused["state"], paused["detail"]) == ("paused", "it answered 500")
    assert paused["failing_since"] == "2026-11-21T09:30:00.000Z"
    resumed = act(owner, made, "resume")
    assert resumed["state"] == "active"
    assert not {"detail", "failing_since"} & resumed.keys()


def test_resuming_does_not_verify_a_target(api: ApiStack, owner: Owner) -> None:
    made = add(owner)
    assert act(owner, made, "resume")["state"] == "unverified"
    target = api.targets.find(SHOP, made["id"])
    assert target is not None
    assert target.state is TargetState.UNVERIFIED


# --- whose ------------------------------------------------------------------------------------------------------------


def test_a_target_of_another_mailbox_is_not_found(api: ApiStack, owner: Owner) -> None:
    bob = Owner(api, BOB, BOB_KEY)
    theirs = add(bob)
    for method, path, body in (
        ("DELETE", "", None), ("POST", "/verify", {"code": code(api, theirs, BOB)}), ("POST", "/verify", {}),
        ("POST", "/rotate", None), ("POST", "/resume", None),
    ):  # fmt: skip
        reply = owner.ask(method, f"/notifications/{theirs['id']}{path}", body=body)
        assert (reply.status, reason(reply)) == (404, "TargetUnknown"), path
    assert listed(owner) == []
    assert [each["state"] for each in listed(bob)] == ["unverified"]
    token = owner.token
    assert reason(api.ask("GET", f"/mailboxes/{BOB}/notifications", token=token)) == "AnothersMailbox"
    assert reason(api.ask("POST", f"/mailboxes/{BOB}/notifications", token=token, body={})) == "AnothersMailbox"
    assert reason(api.ask("GET", f"/mailboxes/{BOB}/notifications")) == "TokenInvalid"


@pytest.mark.parametrize("other", ["x", "0", "!turn", "%2e%2e", "0" * 33, "🤝"])
def test_an_unknown_target_is_not_found(owner: Owner, other: str) -> None:
    add(owner)
    assert reason(owner.ask("DELETE", f"/notifications/{other}")) == "TargetUnknown"
    assert len(listed(owner)) == 1
