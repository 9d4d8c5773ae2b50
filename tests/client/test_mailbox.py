"""The mailbox client, synchronous and asynchronous, with the real mailbox API."""

import json
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.aws import Deployed
from tests.client.conftest import over_http
from tests.client.mailbox_net import URL, Awaited, Host, Open, busy, dm3_message, lost_after, lost_before
from tests.http.api_stack import BOB, BOB_KEY, HOST, SHOP, SHOP_KEY, ApiStack, Owner

from postroom.api.schemas import OperatorsSubject
from postroom.api.states import TargetState
from postroom.client.mailbox import (
    ChangedMeanwhileError,
    ClosedError,
    MessageGoneError,
    NotOpenedError,
    NotTheOwnerError,
    RefusedError,
    Retries,
    UnavailableError,
    UnexpectedAnswerError,
    UntrustedHostError,
)
from postroom.core.errors import NotNowError, OurError, SettingsError, TheirError
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.protocols.dm3.keys import PrivateSigningKey, UserKeys
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment

TEXT = '{"Header":{"From":"b.com"},"🤝":"nlweb.org/MSG:1.0"}'


def ids(messages: Any) -> list[str]:
    return [message.id for message in messages]


# --- the main job ----------------------------------------------------------------------------------------------------


def test_waiting_messages_are_read_and_acknowledged_once(api: ApiStack, mailbox: Any) -> None:
    filed = [api.file(TEXT, at=at)[0] for at in range(3)]
    read = []
    for message in mailbox.unread():
        read.append((message.id, message.envelope))
        message.acknowledge()
    assert read == [(each, TEXT) for each in filed]
    assert ids(mailbox.unread()) == []


def test_unacknowledged_messages_are_shown_again(api: ApiStack, mailbox: Any) -> None:
    filed = [api.file(TEXT, at=at)[0] for at in range(3)]
    assert ids(mailbox.unread()) == ids(mailbox.unread()) == filed


def test_a_message_has_its_metadata(api: ApiStack, mailbox: Any) -> None:
    [one] = api.file(TEXT, at=-3)
    [message] = mailbox.unread()
    assert (message.id, message.partner) == (one, "b.com")
    assert message.received_at == datetime(2026, 11, 21, 9, 29, 57, tzinfo=UTC)
    assert (message.receipt, message.unverified) == ({"protocol": "nlweb"}, None)
    assert message.json == json.loads(TEXT)


def test_the_parts_of_an_nlweb_message_have_names(api: ApiStack, mailbox: Any) -> None:
    correlation = "125A5C75-cb72-43d2-9695-37026dfcaa48"
    header = {"From": "b.com", "To": SHOP, "Subject": "Hello@Host", "Correlation": correlation}
    api.file(json.dumps({"Header": header, "Body": {"Say": "hi"}}))
    [message] = mailbox.unread()
    assert (message.from_domain, message.subject) == ("b.com", "Hello@Host")
    assert (message.correlation, message.body) == (correlation, {"Say": "hi"})


@pytest.mark.parametrize("text", ['{"message":"sealed"}', '{"Header":[]}', "[]", '{"Header":{"Subject":1}}'])
def test_another_message_has_none_of_these_parts(api: ApiStack, mailbox: Any, text: str) -> None:
    api.file(text)
    [message] = mailbox.unread()
    assert (message.from_domain, message.subject, message.correlation, message.body) == ("", "", "", None)


@over_http
def test_pages_are_read_one_after_the_other(host: Host, api: ApiStack, mailbox: Any) -> None:
    filed = [one for at in range(3) for one in sorted(api.file(*[TEXT] * 70, at=at))]
    assert ids(mailbox.unread()) == filed
    assert host.paths().count("GET /messages") == 3


def test_one_conversation_may_be_chosen(api: ApiStack, mailbox: Any) -> None:
    [_], [his] = api.file(TEXT), api.file(TEXT, conversation="c.com")
    assert ids(mailbox.unread(conversation="c.com")) == [his]


def test_a_message_is_found_by_its_id(api: ApiStack, mailbox: Any) -> None:
    [one] = api.file(TEXT)
    assert mailbox.message(one).envelope == TEXT
    mailbox.message(one).acknowledge()
    with pytest.raises(MessageGoneError) as gone:
        mailbox.message(one)
    assert gone.value.reason == "MessageUnknown"


@pytest.mark.parametrize("wrong", ["", "x", "..", "../status", "🤝?#", "a" * 5000])
def test_an_invalid_id_does_not_change_the_path(mailbox: Any, wrong: str) -> None:
    with pytest.raises(MessageGoneError):
        mailbox.message(wrong)


def test_an_envelope_left_out_of_a_page_is_fetched_in_parts_on_access(
    host: Host, api: ApiStack, mailbox: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("message_listing", "mail_handlers"):
        monkeypatch.setattr(f"postroom.http.{module}.MAX_MESSAGE_BYTES", 1001)
    text = json.dumps({"n": ["€🤝"] * 700}, ensure_ascii=False)  # a part ends within a character
    api.file(text)
    [message] = mailbox.unread()
    assert not [path for path in host.paths() if path.endswith("/envelope")]
    assert message.envelope == text
    fetched = len(host.requests)
    assert message.json == json.loads(text)
    assert len(host.requests) == fetched


def test_an_envelope_acknowledged_elsewhere_is_gone(
    api: ApiStack, mailbox: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroom.http.message_listing.MAX_MESSAGE_BYTES", 10)
    [one] = api.file(TEXT)
    [message] = mailbox.unread()
    Owner(api).acknowledge(one)
    with pytest.raises(MessageGoneError):
        _ = message.envelope


# --- signing in ------------------------------------------------------------------------------------------------------


@over_http
def test_a_key_is_an_object_or_a_file(api: ApiStack, opened: Open, tmp_path: Path) -> None:
    bob = UserKeys(BOB_KEY, UserKeys.random().encryption)
    pem, keys = tmp_path / "shop.pem", tmp_path / "bob.json"
    pem.write_bytes(SHOP_KEY.to_pem())
    keys.write_text(json.dumps(bob.as_json(), indent=2))
    for name, key in ((SHOP, pem), (SHOP, str(pem)), (BOB, keys), (BOB, bob), (BOB, BOB_KEY)):
        assert opened(name, key).status().waiting == 0


# --- dm3 messages ----------------------------------------------------------------------------------------------------


@pytest.fixture
def bob() -> UserKeys:
    return UserKeys(BOB_KEY, UserKeys.random().encryption)


def test_a_dm3_message_is_opened_with_the_keys_of_the_mailbox(api: ApiStack, opened: Open, bob: UserKeys) -> None:
    api.file(dm3_message(bob.encryption, "See you at noon"), mailbox=BOB, conversation="alice.eth")
    [message] = opened(BOB, bob).unread()
    content = message.open()
    assert (content.message, content.metadata.type_name, content.attachments) == ("See you at noon", "NEW", None)


def test_a_dm3_message_is_opened_with_a_key_that_does_not_sign_in(
    api: ApiStack, opened: Open, bob: UserKeys, tmp_path: Path
) -> None:
    (tmp_path / "bob.json").write_text(json.dumps(bob.as_json()))
    api.file(dm3_message(bob.encryption, "Hi"), mailbox=BOB)
    [message] = opened(BOB, BOB_KEY).unread()
    with pytest.raises(NotOpenedError, match="This key cannot decrypt: name the file"):
        message.open()
    for key in (bob, tmp_path / "bob.json", str(tmp_path / "bob.json")):
        assert message.open(key).message == "Hi"


def test_a_message_that_is_encrypted_for_somebody_else_is_not_opened(
    api: ApiStack, opened: Open, bob: UserKeys
) -> None:
    api.file(dm3_message(UserKeys.random().encryption, "Hi"), mailbox=BOB)
    [message] = opened(BOB, bob).unread()
    with pytest.raises(NotOpenedError) as error:
        message.open()
    assert error.value.reason == "SealedValueInvalid"


def test_a_message_that_is_not_of_dm3_is_not_opened(api: ApiStack, opened: Open, bob: UserKeys) -> None:
    api.file(TEXT)
    [message] = opened().unread()
    with pytest.raises(NotOpenedError) as error:
        message.open(bob)
    assert error.value.reason == "EnvelopeInvalid"


@over_http
@pytest.mark.parametrize("size", ["rsa", "ed25519"])
def test_every_supported_kind_of_key_signs_in(api: ApiStack, opened: Open, size: Any) -> None:
    key = PrivateKey.generate(size)
    api.mailboxes.set_keys(SHOP, [b64encode(key.public.spki()).decode()])
    assert opened(key=key).status().waiting == 0


@pytest.mark.parametrize(
    "text", ["", "x", "{", "{}", '{"signing":"ed25519:SECRET","encryption":"SECRET"}', "SECRET" * 9999]
)
def test_an_invalid_key_file_is_named_and_not_shown(opened: Open, tmp_path: Path, text: str) -> None:
    path = tmp_path / "key"
    path.write_text(text)
    with pytest.raises(OurError, match=str(path)) as error:
        opened(key=path)
    assert "SECRET" not in str(error.value)


@over_http
def test_a_wrong_key_is_an_error_with_advice_and_is_not_retried(host: Host, opened: Open) -> None:
    mailbox = opened(key=PrivateKey.generate("ed25519"))
    with pytest.raises(NotTheOwnerError, match="a key of the mailbox") as refused:
        mailbox.status()
    assert refused.value.reason == "NotTheOwner"
    assert host.paths() == [f"GET /auth/{SHOP}", f"POST /auth/{SHOP}"]


@over_http
def test_a_challenge_of_another_host_is_not_signed(host: Host, opened: Open) -> None:
    def handed_on(request: httpx.Request, answer: Callable[[httpx.Request], httpx.Response]) -> httpx.Response:
        request.headers["host"] = HOST
        return answer(request)

    host.faults = [handed_on]
    with pytest.raises(
        UntrustedHostError, match=r"evil\.example did not send a valid challenge .* for signing in elsewhere"
    ):
        opened(url="https://evil.example").status()
    assert host.paths() == [f"GET /auth/{SHOP}"]


def test_the_name_and_the_host_may_be_spelled_in_any_case(opened: Open) -> None:
    assert opened("ShOp.CoM", url=f"https://{HOST.upper()}/").status().waiting == 0


def test_an_invalid_name_is_refused_before_any_request(host: Host, opened: Open) -> None:
    with pytest.raises(TheirError):
        opened("a..b")
    assert host.requests == []


@over_http
def test_a_pass_continues_when_the_token_expires(host: Host, api: ApiStack, mailbox: Any) -> None:
    filed = sorted(api.file(*[TEXT] * 150))
    unread = mailbox.unread()
    first = [next(unread).id for _ in range(100)]
    api.clock.now += 3601
    assert first + ids(unread) == filed
    assert host.paths().count(f"POST /auth/{SHOP}") == 2


@over_http
def test_a_client_signed_out_by_another_device_signs_in_again(api: ApiStack, mailbox: Any, opened: Open) -> None:
    assert mailbox.status().waiting == 0
    api.clock.now += 1
    opened().sign_out()
    api.clock.now += 60
    assert mailbox.status().waiting == 0


@over_http
def test_after_signing_out_the_next_request_signs_in_again(host: Host, api: ApiStack, mailbox: Any) -> None:
    mailbox.sign_out()
    api.clock.now += 1
    assert mailbox.status().waiting == 0
    assert host.paths().count(f"POST /auth/{SHOP}") == 2


@over_http
def test_a_signature_whose_response_was_lost_is_not_sent_again(host: Host, mailbox: Any) -> None:
    def answered(request: httpx.Request, answer: Callable[[httpx.Request], httpx.Response]) -> httpx.Response:
        return answer(request)

    host.faults = [answered, lost_after, answered, lost_after]
    assert mailbox.status().waiting == 0
    assert host.paths() == [f"GET /auth/{SHOP}", f"POST /auth/{SHOP}"] * 3 + ["GET /status"]


# --- trying again ----------------------------------------------------------------------------------------------------


@over_http
@pytest.mark.parametrize("fault", [lost_before, lost_after, busy(503), busy(500), busy(429), busy(408)])
def test_temporary_errors_are_retried_with_growing_pauses(host: Host, mailbox: Any, fault: Any) -> None:
    host.faults = [fault] * 5
    assert mailbox.status().waiting == 0
    assert host.slept == [1.0, 2.0, 4.0, 8.0, 16.0]


@over_http
def test_pauses_are_random_and_limited(host: Host, opened: Open) -> None:
    host.faults = [lost_before] * 9
    assert opened(chance=lambda: 0.25, retries=Retries(10)).status().waiting == 0
    assert host.slept == [0.25, 0.5, 1.0, 2.0, 4.0, 7.5, 7.5, 7.5, 7.5]


@over_http
@pytest.mark.parametrize(
    ("said", "pause"),
    [("5", 6.0), ("0", 1.0), ("999999", 61.0), ("Fri, 31 Dec 1999 23:59:59 GMT", 1.0), ("-1", 1.0), ("²", 1.0)],
)
def test_retry_after_is_respected_up_to_a_limit(host: Host, mailbox: Any, said: str, pause: float) -> None:
    host.faults = [lambda *_: httpx.Response(503, headers=[(b"Retry-After", said.encode())])]
    mailbox.status()
    assert host.slept == [pause]


@over_http
def test_after_429_the_request_is_repeated_later(host: Host, api: ApiStack, mailbox: Any) -> None:
    for _ in range(130):
        mailbox.status()
    assert host.slept
    assert set(host.slept) == {6.0}


@over_http
def test_after_the_last_try_the_error_has_the_cause(host: Host, opened: Open) -> None:
    mailbox = opened(retries=Retries(3))
    host.faults = [lost_before] * 3
    with pytest.raises(UnavailableError, match=f"No connection to {HOST}, or it was closed: nobody there"):
        mailbox.status()
    host.faults = [busy(503, retry_after="7")] * 3
    with pytest.raises(UnavailableError) as later:
        mailbox.status()
    assert later.value.retry_after == 7
    assert host.slept == [1.0, 2.0, 8.0, 9.0]


@over_http
def test_an_error_has_the_reason_of_the_mailbox_api(
    api: ApiStack, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise NotNowError(STORE_UNAVAILABLE)

    mailbox = opened(retries=Retries(1))
    api.file(TEXT)
    monkeypatch.setattr(api.objects, "get_range", away)
    with pytest.raises(UnavailableError, match="What is in the mailbox could not be read") as later:
        list(mailbox.unread())
    assert (later.value.reason, later.value.retry_after) == ("ContentUnavailable", 5)


@over_http
def test_an_iterator_continues_after_an_error_and_misses_nothing(host: Host, api: ApiStack, opened: Open) -> None:
    mailbox = opened(retries=Retries(1))
    filed = sorted(api.file(*[TEXT] * 250))
    unread = mailbox.unread()
    shown: list[str] = []
    failed = 0
    while len(shown) < 250:
        if len(shown) % 100 == 0 and len(host.requests) > 2 and failed * 100 < len(shown):
            host.faults = [lost_before]
        try:
            shown.append(next(unread).id)
        except UnavailableError:
            failed += 1
    assert (shown, list(unread), failed) == (filed, [], 2)


@pytest.mark.parametrize("status", [301, 404, 400])
def test_a_host_without_a_mailbox_api_is_not_asked_again(host: Host, mailbox: Any, status: int) -> None:
    host.faults = [lambda *_: httpx.Response(status, json={"message": "Not Found"}, headers={"Location": URL})]
    with pytest.raises(UnexpectedAnswerError, match=f"HTTP {status}"):
        mailbox.status()
    assert len(host.requests) == 1


@over_http
def test_an_endless_response_is_cut_off(host: Host, mailbox: Any) -> None:
    assert mailbox.status().waiting == 0
    endless = httpx.Response(200, content=b"x" * 12_000_001)
    host.faults = [lambda *_: endless] * 6
    with pytest.raises(UnavailableError, match="more than 12,000,000 bytes"):
        mailbox.status()


# --- acknowledging ---------------------------------------------------------------------------------------------------


def test_a_single_id_is_not_taken_for_a_list_of_its_characters(host: Host, api: ApiStack, mailbox: Any) -> None:
    [one] = api.file(TEXT)
    with pytest.raises(TypeError, match="takes a list"):
        mailbox.acknowledge(one)
    assert ids(mailbox.unread()) == [one]


def test_a_closed_client_says_so(api: ApiStack, mailbox: Any) -> None:
    api.file(TEXT)
    [message] = mailbox.unread()
    mailbox.close()
    for use in (message.acknowledge, mailbox.status, lambda: list(mailbox.unread())):
        with pytest.raises(ClosedError, match="is closed"):
            use()


def test_a_client_that_is_closed_before_another_attempt_says_so(host: Host, opened: Open) -> None:
    mailbox = opened(sleep=lambda _: closing())
    closing = mailbox._it.aclose if isinstance(mailbox, Awaited) else mailbox.close
    assert mailbox.status().waiting == 0
    host.faults = [lost_before, lost_before, lost_before]
    with pytest.raises(ClosedError, match="is closed"):
        mailbox.status()


@over_http
def test_many_messages_are_acknowledged_in_several_requests(
    host: Host, api: ApiStack, mailbox: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroom.client.mailbox.core.MAX_ACKNOWLEDGED", 10)
    filed = api.file(*[TEXT] * 25)
    messages = list(mailbox.unread())
    done = mailbox.acknowledge([*messages, messages[0], "x", filed[0]])
    assert (sorted(done.acknowledged), done.unknown, done.again) == (sorted(filed), ["x"], [])
    assert [len(json.loads(it.content)["ids"]) for it in host.requests if it.url.path.endswith("ments")] == [10, 10, 6]
    assert ids(mailbox.unread()) == []


def test_an_acknowledgement_whose_response_was_lost_is_repeated(host: Host, api: ApiStack, mailbox: Any) -> None:
    [one] = api.file(TEXT)
    [message] = mailbox.unread()
    host.faults = [lost_after]
    message.acknowledge()
    message.acknowledge()
    assert mailbox.acknowledge([message]).acknowledged == [one]


@over_http
def test_only_failed_acknowledgements_are_repeated(
    host: Host, api: ApiStack, mailbox: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    filed = sorted(api.file(TEXT, TEXT, TEXT))
    throttle(api, monkeypatch, filed[1], times=2)
    assert sorted(mailbox.acknowledge(filed).acknowledged) == filed
    said = [json.loads(it.content)["ids"] for it in host.requests if it.url.path.endswith("/acknowledgements")]
    assert said == [filed, filed[1:2], filed[1:2]]
    assert host.slept == [1.0, 2.0]


def test_a_message_that_cannot_be_acknowledged_is_an_error_and_stays(
    api: ApiStack, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    mailbox = opened(retries=Retries(2))
    filed = sorted(api.file(TEXT, TEXT))
    throttle(api, monkeypatch, filed[0], times=2)
    with pytest.raises(UnavailableError, match="1 messages could not be acknowledged"):
        mailbox.acknowledge(filed)
    assert ids(mailbox.unread()) == filed[:1]


def throttle(api: ApiStack, monkeypatch: pytest.MonkeyPatch, message_id: str, times: int) -> None:
    acknowledge, left = api.register.acknowledge, [None] * times

    def throttled(key: Any, forget_at: int) -> bool:
        if f"-{key.claim_id}-" in message_id and left:
            left.pop()
            raise NotNowError(STORE_UNAVAILABLE)
        return acknowledge(key, forget_at)

    monkeypatch.setattr(api.register, "acknowledge", throttled)


# --- the rest --------------------------------------------------------------------------------------------------------


def test_status_and_conversations_count_the_waiting_messages(api: ApiStack, mailbox: Any) -> None:
    api.file(TEXT, TEXT)
    api.file(TEXT, conversation="c.com", at=1)
    assert mailbox.status().waiting == 3
    assert [(it.partner, it.waiting) for it in mailbox.conversations().conversations] == [("b.com", 2), ("c.com", 1)]


def test_settings_are_changed_only_if_they_are_unchanged_since_the_read(opened: Open) -> None:
    bob, device = opened(BOB, BOB_KEY), opened(BOB, BOB_KEY)
    read = bob.settings()
    changed = bob.change_settings(read, extension={"spamFilterRules": {"block": ["eve.eth"]}})
    assert (changed.extension["spamFilterRules"], changed.unverified) == ({"block": ["eve.eth"]}, False)
    assert device.settings() == changed
    with pytest.raises(ChangedMeanwhileError):
        device.change_settings(read, unverified=True)
    changed = device.change_settings(changed, extension={"spamFilterRules": {"block": None}}, unverified=True)
    assert (changed.extension.get("spamFilterRules"), changed.unverified) == (None, True)


def test_a_mailbox_of_nlweb_has_other_settings(mailbox: Any) -> None:
    settings = mailbox.settings()
    assert (settings.extension, settings.unverified) == (None, None)
    with pytest.raises(RefusedError, match="settings of dm3 mailboxes"):
        mailbox.change_settings(settings, unverified=True)


@over_http
def test_a_waiting_request_may_take_long(host: Host, api: ApiStack, opened: Open) -> None:
    api.clock.now += 1
    assert ids(opened(timeout=1.5).unread(wait=15)) == []
    read = {it.url.params.get("wait", ""): it.extensions["timeout"]["read"] for it in host.requests}
    assert read == {"": 1.5, "15.0": 16.5}


def test_a_given_address_is_connected_to_and_the_host_name_is_verified(host: Host, opened: Open) -> None:
    assert opened(connect=("127.0.0.1", 8443)).status().waiting == 0
    assert {(it.url.host, it.url.port, it.headers["host"], it.extensions["sni_hostname"]) for it in host.requests} == {
        ("127.0.0.1", 8443, HOST, HOST)
    }


@pytest.mark.parametrize(
    "url",
    [
        "", HOST, f"http://{HOST}", f"https://{HOST}/x", f"https://{HOST}?x", f"https://a:b@{HOST}", "https://", "https://a..b",
        f"https://{HOST}:x", "https://127.0.0.1", f"https://{HOST}#x", "https://[",
    ],
)  # fmt: skip
def test_a_url_that_does_not_name_a_host_is_refused(opened: Open, url: str) -> None:
    with pytest.raises(SettingsError, match="https://nlweb"):
        opened(url=url)


def test_a_file_without_certificates_is_refused(opened: Open, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("x")
    for path in (tmp_path / "ca.pem", tmp_path / "none.pem"):
        with pytest.raises(OurError, match=str(path)):
            opened(ca_file=path)


def test_an_invalid_number_of_seconds_is_refused(mailbox: Any) -> None:
    for wait in (-1, float("nan")):
        with pytest.raises(ValueError, match="wait is"):
            mailbox.unread(wait=wait)


def test_an_owner_of_a_domain_blocks_senders_and_routes_subjects(mailbox: Any) -> None:
    read = mailbox.settings()
    assert (read.extension, read.unverified, read.blocks, read.subjects) == (None, None, [], {})
    changed = mailbox.change_settings(read, blocks=["spam.example"], subjects={"Order@Shop": SHOP})
    assert (changed.blocks, changed.subjects) == (["spam.example"], {"Order@Shop": SHOP})
    changed = mailbox.change_settings(changed, subjects={"Order@Shop": None})
    assert (changed.blocks, changed.subjects) == (["spam.example"], {})
    assert mailbox.settings() == changed


def test_an_owner_of_a_domain_sees_the_operators_settings(api: ApiStack, mailbox: Any) -> None:
    api.operators.put_subject(SHOP, SubjectRule("Order@Shop", Treatment.MAILBOX, SHOP))
    assert mailbox.settings().operators_subjects["Order@Shop"] == OperatorsSubject(Treatment.MAILBOX, SHOP)


def test_a_dm3_name_opens_its_mailbox_if_allowed(deployed: Deployed) -> None:
    api = ApiStack(deployed, service="ds.eth")
    api.users.keys["carol.eth"] = carol = PrivateSigningKey.generate()
    host = Host(api)
    with host.open("carol.eth", carol) as mailbox:
        with pytest.raises(NotTheOwnerError):
            mailbox.status()
        mailbox.open()
        host.requests.clear()
        assert mailbox.status().waiting == 0
        assert len(host.requests) == 1, "the token of who opens it lets in"
    with Host(ApiStack(deployed)).open("dave.eth", carol) as mailbox, pytest.raises(RefusedError) as refused:
        mailbox.open()
    assert refused.value.reason == "OpeningNotOffered"


def test_an_owner_manages_notification_targets(api: ApiStack, mailbox: Any) -> None:
    made = mailbox.add_target("webhook", "https://hooks.example/mail")
    assert (made.kind, made.to, made.state) == ("webhook", "https://hooks.example/mail", TargetState.UNVERIFIED)
    kept = api.targets.find(SHOP, made.id)
    assert kept is not None
    active = mailbox.verify_target(made.id, api.webhook_keys.code(kept))
    assert (active.id, active.state) == (made.id, TargetState.ACTIVE)
    assert mailbox.rotate_target(made.id).secret != made.secret
    assert mailbox.resume_target(made.id).state == TargetState.ACTIVE
    assert [it.id for it in mailbox.targets()] == [made.id]
    mailbox.remove_target(made.id)
    assert mailbox.targets() == []
    for wrong in (made.id, "..", "", "x/y", "🤝?#"):
        with pytest.raises(RefusedError) as refused:
            mailbox.resume_target(wrong)
        assert refused.value.reason == "TargetUnknown"


def test_a_secret_is_rotated_once_if_the_response_is_lost(host: Host, api: ApiStack, mailbox: Any) -> None:
    made = mailbox.add_target("webhook", "https://hooks.example/mail")
    host.faults = [lost_after]
    with pytest.raises(UnavailableError):
        mailbox.rotate_target(made.id)
    [target] = api.targets.of(SHOP)
    assert target.generation == 2, "the secret that the receiver has still signs, beside the new one"


def test_a_target_whose_response_is_lost_exists_and_gets_a_secret(host: Host, mailbox: Any) -> None:
    mailbox.status()
    host.faults = [lost_after]
    with pytest.raises(RefusedError, match="returns another secret") as refused:
        mailbox.add_target("webhook", "https://hooks.example/mail")
    assert refused.value.reason == "TargetExists"
    [there] = mailbox.targets()
    assert mailbox.rotate_target(there.id).secret.startswith("whsec_")


# --- in a notebook ---------------------------------------------------------------------------------------------------


@over_http
def test_representations_show_sender_and_time_and_no_secret(
    host: Host, api: ApiStack, opened: Open, tmp_path: Path
) -> None:
    pem = tmp_path / "shop.pem"
    pem.write_bytes(SHOP_KEY.to_pem())
    mailbox = opened(key=pem)
    [one] = api.file(json.dumps({"text": "x" * 1000}), conversation="<b>&.com", at=-3)
    [message] = mailbox.unread()
    assert repr(message).endswith(f"Message {one} from <b>&.com, 2026-11-21 09:29:57 UTC>")
    told = message._repr_html_()
    assert "&lt;b&gt;&amp;.com" in told
    assert "<b>" not in told
    assert "(1,012 characters)" in told
    assert "x" * 300 not in told
    assert repr(mailbox).endswith(f"Mailbox {SHOP} at {HOST}>")
    token = host.requests[-1].headers["authorization"].removeprefix("Bearer ")
    secrets = [token, *SHOP_KEY.to_pem().decode().splitlines()[1:-1], str(pem)]
    for text in (repr(mailbox), repr(message), told, repr(mailbox.unread())):
        assert not [secret for secret in secrets if secret in text]


def test_an_unverified_sender_is_shown_as_unverified(api: ApiStack, opened: Open) -> None:
    api.file("{}", mailbox=BOB, conversation="alice.eth", receipt={"unverified": "SenderSignatureInvalid"})
    [message] = opened(BOB, BOB_KEY).unread()
    assert message.unverified == "SenderSignatureInvalid"
    assert "from alice.eth, not verified: SenderSignatureInvalid" in repr(message)
    assert "alice.eth (not verified: SenderSignatureInvalid)" in message._repr_html_()
