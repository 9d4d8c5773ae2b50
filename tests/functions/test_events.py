"""Every file of events/ through the handler it is for: what is answered, and what is stored."""

import json
import time
from collections.abc import Callable

import pytest
from tests.fakes.post_offices import FakePostOffices
from tests.functions.delivery_service import open_service
from tests.functions.logs import metrics
from tests.functions.samples import (
    ALICE,
    BOB,
    BUFFER,
    CORRELATION,
    EVENTS,
    MADE_AT,
    RECEIVER,
    SENDER,
    claim,
    discarded_row,
    events,
    profile_uri,
    published_key,
    service_keys,
    sqs,
    summed_up_hour,
    user_keys,
    written,
)
from tests.functions.stack import FunctionsStack, Json

from postroom.api.reasons import TOKEN_INVALID
from postroom.core.reasons import NO_SUCH_ROUTE, UNDELIVERABLE
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.names.registry import PROFILE_KEY
from postroom.pipeline.claims import read_claim
from postroom.protocols.dcp.signed_message import read_signed_message
from postroom.protocols.dm3.envelope import open_message
from postroom.protocols.dm3.envelope import read_envelope as read_dm3_envelope
from postroom.protocols.dm3.postmark import check_postmark, read_postmark
from postroom.protocols.dm3.sealing import open_sealed
from postroom.protocols.dm3.verify import check_message
from postroom.protocols.nlweb.envelope import read_envelope
from postroom.protocols.nlweb.reasons import SIGNATURE_INVALID
from postroom.protocols.nlweb.verify import check_signature
from postroom.storage.directory.domains import Dm3Mailbox
from postroom.storage.directory.notification_targets import TargetKind

COVERED: set[str] = set()


def covers(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Say which file a test is about."""
    COVERED.add(name)
    return lambda test: test


def sample(name: str) -> Json:
    event: Json = json.loads((EVENTS / name).read_text(encoding="utf-8"))
    return event


@pytest.mark.parametrize("name", sorted(events()))
def test_the_file_is_what_samples_py_writes(name: str) -> None:
    assert (EVENTS / name).read_text(encoding="utf-8") == written(events()[name])


def test_every_file_is_made_by_samples_py_and_has_a_test_below() -> None:
    assert {path.name for path in EVENTS.iterdir()} == set(events()) == COVERED


def test_no_private_key_is_beside_the_events() -> None:
    assert not [path for path in EVENTS.iterdir() if "PRIVATE KEY" in path.read_text(encoding="utf-8")]


@covers("inbox-post.json")
@covers("inbox-post-base64.json")
@pytest.mark.parametrize("name", ["inbox-post.json", "inbox-post-base64.json"])
def test_a_message_is_queued_then_answered(running: FunctionsStack, name: str) -> None:
    answer = running.invoke("InboxFunction", sample(name))
    assert answer["statusCode"] == 200
    assert answer["headers"]["Content-Type"] == "application/json"
    assert json.loads(answer["body"]) == {"Correlation": CORRELATION.format(1), "Status": "Queued"}
    [body] = running.deployed.bodies("ClaimsQueue")
    assert body.isascii()
    queued = read_claim(json.loads(body)["claim"])
    assert queued.envelope == sample("inbox-post.json")["body"]  # bit for bit, however it came
    assert (queued.mailbox, queued.source) == (RECEIVER, "203.0.113.7")
    assert running.deployed.objects() == {}


@covers("inbox-get.json")
def test_get_says_what_this_is(running: FunctionsStack) -> None:
    before = running.deployed.dump()
    answer = running.invoke("InboxFunction", sample("inbox-get.json"))
    assert answer["statusCode"] == 200
    assert answer["headers"]["Content-Type"] == "text/plain; charset=utf-8"
    assert "post office" in answer["body"]
    assert running.deployed.dump() == before


@covers("inbox-head.json")
def test_head_is_answered_as_get(running: FunctionsStack) -> None:
    head = running.invoke("InboxFunction", sample("inbox-head.json"))
    get = running.invoke("InboxFunction", sample("inbox-get.json"))
    assert head == get


@covers("inbox-manifest.json")
def test_the_manifest_names_the_buffer(running: FunctionsStack) -> None:
    answer = running.invoke("InboxFunction", sample("inbox-manifest.json"))
    assert answer["statusCode"] == 200
    assert answer["headers"]["Content-Type"] == "application/yaml"
    assert f"Feedback: {BUFFER}" in answer["body"]


@covers("inbox-identity.json")
def test_a_synchronous_request_is_verified_answered_and_remembered(running: FunctionsStack) -> None:
    answer = running.invoke("InboxFunction", sample("inbox-identity.json"))
    assert answer["statusCode"] == 200
    assert json.loads(answer["body"]) == {"Domain": RECEIVER, "Feedback": BUFFER}
    [row] = running.deployed.rows("SeenTable")
    assert json.loads(row["reply"]["S"]) == {"Domain": RECEIVER, "Feedback": BUFFER}
    assert running.deployed.bodies("ClaimsQueue") == []
    before = running.deployed.dump()
    assert running.invoke("InboxFunction", sample("inbox-identity.json")) == answer
    assert running.deployed.dump() == before


@covers("inbox-elsewhere.json")
def test_there_is_nothing_elsewhere(running: FunctionsStack) -> None:
    before = running.deployed.dump()
    answer = running.invoke("InboxFunction", sample("inbox-elsewhere.json"))
    assert answer["statusCode"] == 404
    assert answer["headers"]["Content-Type"] == "application/problem+json"
    assert json.loads(answer["body"])["reason"] == str(NO_SUCH_ROUTE)
    assert running.deployed.dump() == before


@covers("mailbox-challenge.json")
def test_whoever_asks_gets_a_challenge(running: FunctionsStack) -> None:
    before = running.deployed.dump()
    answer = running.invoke("MailboxFunction", sample("mailbox-challenge.json"))
    assert (answer["statusCode"], answer["headers"]["Content-Type"]) == (200, "application/json")
    assert len(json.loads(answer["body"]).split(".")) == 3
    assert running.deployed.dump() == before, "strangers cannot make us write"


@covers("mailbox-messages.json")
def test_a_mailbox_is_shown_to_nobody_without_a_token(running: FunctionsStack) -> None:
    answer = running.invoke("MailboxFunction", sample("mailbox-messages.json"))
    assert answer["statusCode"] == 401
    assert json.loads(answer["body"])["reason"] == str(TOKEN_INVALID)


@covers("mailbox-container.json")
def test_nothing_is_kept_for_anybody_without_a_token(running: FunctionsStack) -> None:
    before = running.deployed.dump()
    answer = running.invoke("MailboxFunction", sample("mailbox-container.json"))
    assert (answer["statusCode"], json.loads(answer["body"])["reason"]) == (401, str(TOKEN_INVALID))
    assert running.deployed.dump() == before


@covers("dcp.json")
def test_whoever_connects_by_dcp_gets_a_session_and_makes_us_write_nothing(running: FunctionsStack) -> None:
    before = running.deployed.dump()
    answer = running.invoke("DcpFunction", sample("dcp.json"))
    assert (answer["statusCode"], answer["headers"]["Content-Type"]) == (200, "application/json")
    message = read_signed_message(answer["body"].encode())
    assert (message.body["success"], message.body["payload"]) == (True, {"version": "4.0.0"})
    assert running.deployed.dump() == before


@covers("dcp-socket.json")
def test_whoever_connects_by_dcp_over_a_websocket_gets_a_session_too(running: FunctionsStack) -> None:
    before = running.deployed.dump()
    answer = running.invoke("DcpFunction", sample("dcp-socket.json"))
    message = read_signed_message(answer["body"].encode())
    assert (message.body["success"], message.body["payload"]) == (True, {"version": "4.0.0"})
    assert running.deployed.dump() == before


@covers("dm3-submit.json")
def test_a_dm3_message_is_accepted_filed_with_a_postmark_and_opened(running: FunctionsStack) -> None:
    alice, bob, service = user_keys(ALICE), user_keys(BOB), service_keys()
    profiles = {name: profile_uri(user_keys(name)) for name in (ALICE, BOB)}
    open_service(running.deployed, service, profiles, [Dm3Mailbox(BOB)])
    answer = running.invoke("Dm3Function", sample("dm3-submit.json"))
    assert answer["statusCode"] == 200
    assert json.loads(answer["body"]) == {"jsonrpc": "2.0", "result": "accepted", "id": 1}
    claims = sqs("ClaimsQueue", MADE_AT, *running.deployed.bodies("ClaimsQueue"))
    assert running.invoke("WorkerFunction", claims) == {"batchItemFailures": []}
    [line] = running.deployed.filed(BOB)
    envelope = read_dm3_envelope(json.loads(line.envelope))
    message = open_message(envelope, [bob.encryption])
    check_message(message, alice.signing.public)
    assert message.message == "Good morning, Bob ☀"
    assert envelope.postmark
    postmark = read_postmark(open_sealed(envelope.postmark, [bob.encryption]))
    check_postmark(postmark, envelope, service.signing.public)
    assert postmark.incoming_timestamp_ms // 1000 == pytest.approx(time.time(), abs=60)


@covers("worker-claims.json")
def test_of_two_claims_the_good_is_filed_and_the_forged_discarded(running: FunctionsStack) -> None:
    assert running.invoke("WorkerFunction", sample("worker-claims.json")) == {"batchItemFailures": []}
    [line] = running.deployed.filed(RECEIVER)
    assert line.envelope == sample("inbox-post.json")["body"]
    assert line.receipt["key_fingerprint"] == published_key().public.fingerprint
    good, forged = claim(1, MADE_AT, "").row, claim(3, MADE_AT, "").row
    register = running.deployed.storage.register
    found = [register.find(row) for row in (good, forged)]
    assert [row and (row.live, row.discarded) for row in found] == [(True, None), (False, SIGNATURE_INVALID)]
    [feedback] = running.deployed.bodies("FeedbackQueue")
    assert (json.loads(feedback)["sk"], json.loads(feedback)["reason"]) == (forged.sk, "SignatureInvalid")
    assert len(running.deployed.rows("SeenTable")) == 1  # a forgery takes nobody's Correlation
    assert running.deployed.bodies("RetryQueue") == []


@covers("worker-retries.json")
def test_a_claim_that_waited_is_filed_like_any_other(running: FunctionsStack) -> None:
    assert running.invoke("WorkerFunction", sample("worker-retries.json")) == {"batchItemFailures": []}
    [line] = running.deployed.filed(RECEIVER)
    assert json.loads(line.envelope)["Body"] == [1, 2]


@covers("worker-suspects.json")
def test_a_suspect_is_worked_on_by_itself(running: FunctionsStack) -> None:
    assert running.invoke("WorkerFunction", sample("worker-suspects.json")) == {"batchItemFailures": []}
    [line] = running.deployed.filed(RECEIVER)
    assert json.loads(line.envelope)["Body"] == "once more"
    assert running.deployed.bodies("SuspectsQueue") == []


@covers("waiting-claims.json")
def test_a_claim_waits_until_its_senders_zone_answers(running: FunctionsStack) -> None:
    assert running.invoke("WaitingFunction", sample("waiting-claims.json")) == {"batchItemFailures": []}
    [waited] = running.deployed.bodies("RetryQueue")
    assert json.loads(waited)["claim"] == json.loads(sample("waiting-claims.json")["Records"][0]["body"])["claim"]


@covers("waiting-names.json")
def test_a_slow_name_is_looked_up_and_kept_for_all_instances(running: FunctionsStack) -> None:
    assert running.invoke("WaitingFunction", sample("waiting-names.json")) == {"batchItemFailures": []}
    kept = running.deployed.storage.name_texts.find("alice.eth", PROFILE_KEY, time.time())
    assert kept is not None


@covers("dead-letters-round.json")
def test_a_round_decides_what_is_near_the_horizon_and_leaves_the_rest(
    running: FunctionsStack, capsys: pytest.CaptureFixture[str]
) -> None:
    store = running.deployed
    days = 86_400
    for number, at in ((6, MADE_AT - 7 * days), (7, MADE_AT - days)):
        old = events(at)["worker-claims.json"]["Records"][0]["body"].replace(f"{1:032x}", f"{number:032x}")
        store.clients.sqs.send_message(QueueUrl=store.queues["DeadLetterQueue"], MessageBody=old)
    answer = running.invoke("DeadLetterFunction", sample("dead-letters-round.json"))
    assert answer == {"seen": 2, "decided": 1, "unreadable": 0, "given_up": 0}
    told = metrics(capsys.readouterr().out)
    [age] = told.pop("AgeMilliseconds")
    assert age >= days * 1000
    assert told == {"DeadLetters": [1.0], "Undeliverable": [1.0]}
    [row] = store.rows("PostTable")
    assert row["why"]["S"] == f"discarded:{UNDELIVERABLE}"
    assert f"{6:032x}" in row["sk"]["S"]
    [envelope] = store.bodies("DeadLetterQueue")
    assert f"{7:032x}" in envelope
    [feedback] = store.bodies("FeedbackQueue")
    assert json.loads(feedback)["reason"] == str(UNDELIVERABLE)


@covers("feedback-discard.json")
def test_the_buffer_is_told_of_a_discard_once(
    running: FunctionsStack, post_offices: FakePostOffices, key: PrivateKey
) -> None:
    store = running.deployed
    register = store.storage.register
    register.discard(discarded_row(MADE_AT), SIGNATURE_INVALID, MADE_AT + 86_400)
    assert running.invoke("FeedbackFunction", sample("feedback-discard.json")) == {"batchItemFailures": []}
    [posted] = post_offices.posted
    envelope = read_envelope(json.loads(posted))
    check_signature(envelope, key.public)
    assert (envelope.sender, envelope.receiver, envelope.subject) == (RECEIVER, BUFFER, "Feedback@Buffer")
    assert envelope.body == {
        "Sender": SENDER,
        "Correlation": CORRELATION.format(9),
        "Status": "Discarded",
        "Reason": SIGNATURE_INVALID.sentence,
        "Code": "SignatureInvalid",
    }
    [row] = store.rows("PostTable")
    assert (row["told"]["M"]["c"]["S"], row["sent"]["S"]) == (envelope.correlation, "delivered")
    running.invoke("FeedbackFunction", sample("feedback-discard.json"))
    assert post_offices.posted == [posted]


@covers("feedback-summary.json")
def test_an_hour_of_withheld_discards_is_summed_up(running: FunctionsStack, post_offices: FakePostOffices) -> None:
    store, hour = running.deployed, summed_up_hour(MADE_AT)
    limits = store.storage.feedback_limits
    for code in ("SignatureInvalid", "SignatureInvalid", "KeyNotFound"):
        limits.withhold(SENDER, hour, code)
    assert running.invoke("FeedbackFunction", sample("feedback-summary.json")) == {"batchItemFailures": []}
    [posted] = post_offices.posted
    body = json.loads(posted)["Body"]
    assert (body["Sender"], body["Count"]) == (SENDER, 3)
    assert body["Codes"] == {"KeyNotFound": 1, "SignatureInvalid": 2}
    rows = {row["pk"]["S"]: row for row in store.rows("LimitsTable")}
    assert rows[f"feedback#{SENDER}#{hour}"]["sent"]["S"] == "delivered"


@covers("courier-waiting.json")
def test_whoever_wants_to_know_has_a_notification_on_its_way(running: FunctionsStack) -> None:
    store = running.deployed
    targets = store.storage.targets
    target = targets.add(
        RECEIVER, TargetKind.WEBHOOK, "https://hook.example/", random_id=f"{1:032x}", now_ms=MADE_AT * 1000
    )
    assert target is not None
    targets.verify(target)
    assert running.invoke("CourierFunction", sample("courier-waiting.json")) == {"batchItemFailures": []}
    [queued] = store.bodies("CourierQueue")
    assert json.loads(queued)["notification"]["target"] == target.id
