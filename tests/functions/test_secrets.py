"""The four secrets, as the functions have them: how often they are read, and what holds while one is rotated."""

import json
import logging
import time
from base64 import b64decode

import pytest
from tests.aws import Deployed
from tests.fakes.clock import FakeClock
from tests.fakes.post_offices import FakePostOffices
from tests.functions.delivery_service import open_service
from tests.functions.samples import ALICE, BOB, MADE_AT, RECEIVER, events, profile_uri, service_keys, user_keys
from tests.functions.stack import FunctionsStack, Json
from tests.functions.test_mailbox import ask, said, sign_in
from tests.functions.test_own_faults import CHALLENGE, DM3, DM3_CLAIM, FEEDBACK, TARGETS, Work

from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.http.tokens import TOKEN_SECONDS
from postroom.storage.directory.domains import Dm3Mailbox
from postroom.storage.secrets.dm3_keys import DeliveryServiceKeys
from postroom.storage.secrets.signing_keys import SigningKeys
from postroom.storage.secrets.token_keys import TokenKeys

SEEN_AFTER = 45
"""Seconds until every instance has read what was changed."""


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    clock = FakeClock(MADE_AT + 5.0)
    monkeypatch.setattr(time, "time", clock)
    return clock


@pytest.fixture
def ready(running: FunctionsStack, clock: FakeClock) -> FunctionsStack:
    open_service(
        running.deployed,
        service_keys(),
        {name: profile_uri(user_keys(name)) for name in (ALICE, BOB)},
        [Dm3Mailbox(BOB)],
    )
    return running


def reads(running: FunctionsStack, work: Work, event: Json) -> list[str]:
    """Which secrets one run reads, by how the template calls them."""
    running.invoke(work.function, event)
    arns = {arn: name for name, arn in running.deployed.secrets.items()}
    return [arns[call.resource] for call in running.calls if call.action == "secretsmanager:GetSecretValue"]


@pytest.mark.parametrize(
    ("work", "needed", "needed_again"),
    [
        (DM3, ["DeliveryServiceKeys"], ["DeliveryServiceKeys"]),
        (DM3_CLAIM, ["DeliveryServiceKeys"], ["DeliveryServiceKeys"]),
        (FEEDBACK, ["SigningKeys"], []),  # there is no Feedback to send then
        (CHALLENGE, ["TokenKeys"], ["TokenKeys"]),
        (TARGETS, ["TokenKeys", "WebhookKeys"], ["TokenKeys"]),  # it is there already
    ],
    ids=lambda it: it.what if isinstance(it, Work) else "",
)
def test_an_instance_reads_a_secret_once_and_sees_a_change_within_a_minute(
    ready: FunctionsStack, clock: FakeClock, work: Work, needed: list[str], needed_again: list[str]
) -> None:
    event = work.ready(ready)
    ready.end()
    assert reads(ready, work, event) == needed
    for _ in range(5):
        assert reads(ready, work, event) == []
    clock.now += SEEN_AFTER
    assert reads(ready, work, event) == needed_again


def test_a_message_sealed_to_the_delivery_services_old_key_is_accepted_and_postmarked(
    ready: FunctionsStack, clock: FakeClock
) -> None:
    store = ready.deployed
    keys = DeliveryServiceKeys(store.clients.secrets, store.secrets["DeliveryServiceKeys"], clock)
    keys.put(service_keys().rotated())
    assert json.loads(ready.invoke("Dm3Function", events()["dm3-submit.json"])["body"])["result"] == "accepted"
    [body] = store.bodies("ClaimsQueue")
    record = {**events()["worker-claims.json"]["Records"][0], "body": body}
    assert ready.invoke("WorkerFunction", {"Records": [record]}) == {"batchItemFailures": []}
    [segment] = [data for name, data in store.objects().items() if name.startswith("seg/")]
    assert json.loads(json.loads(segment)["envelope"])["postmark"]


def test_a_token_of_the_old_key_is_valid_and_new_ones_use_the_new_key(ready: FunctionsStack, clock: FakeClock) -> None:
    TARGETS.ready(ready)
    store, old = ready.deployed, sign_in(ready)
    keys = TokenKeys(store.clients.secrets, store.secrets["TokenKeys"], clock)
    begins_at = int(clock.now) + SEEN_AFTER
    keys.add("another random text, longer than a key is", begins_at, drop_before=begins_at - TOKEN_SECONDS)
    clock.now += SEEN_AFTER
    new = sign_in(ready)
    assert [_kid(token) for token in (old, new)] == ["0", str(begins_at)]
    for token in (old, new):
        assert said(ask(ready, "GET", f"/mailboxes/{RECEIVER}/status", token=token))


def test_feedback_is_signed_with_a_domains_new_key_and_selector(
    ready: FunctionsStack, clock: FakeClock, post_offices: FakePostOffices
) -> None:
    """Who still holds what the old key signed finds that key under the old selector, in the zone."""
    store, new = ready.deployed, PrivateKey.generate("ed25519")
    event = FEEDBACK.ready(ready)
    post_offices.status = 503
    ready.invoke("FeedbackFunction", event)
    SigningKeys(store.clients.secrets, store.secrets["SigningKeys"], clock).put(RECEIVER, "pk2", new)
    clock.now += SEEN_AFTER
    post_offices.status = 200
    ready.invoke("FeedbackFunction", event)
    selectors = [json.loads(body)["Header"]["DKIM"] for body in post_offices.posted]
    assert selectors == ["pk1", "pk2"]


@pytest.mark.parametrize("work", [DM3, FEEDBACK, CHALLENGE, TARGETS], ids=lambda it: it.what)
def test_keys_are_logged_at_no_log_level(ready: FunctionsStack, work: Work, caplog: pytest.LogCaptureFixture) -> None:
    """An operator may set the level of a function's log to DEBUG, of all libraries."""
    event = work.ready(ready)
    ready.end()
    with caplog.at_level(logging.DEBUG):
        assert reads(ready, work, event)
    assert caplog.records
    for text in _texts(ready.deployed):
        assert text not in caplog.text


def _texts(deployed: Deployed) -> list[str]:
    """Long enough to be no words: what the secrets hold, and each line of what stands in them."""
    secrets = deployed.clients.secrets
    held = [secrets.get_secret_value(SecretId=arn)["SecretString"] for arn in deployed.secrets.values()]
    pieces = [piece for text in held for piece in text.replace("\\n", '"').split('"') if len(piece) > 30]
    assert len(pieces) >= len(held)
    return pieces


def _kid(token: str) -> str:
    header = token.partition(".")[0]
    kid: str = json.loads(b64decode(header + "=="))["kid"]
    return kid
