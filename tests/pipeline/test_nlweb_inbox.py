import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.stub import Stubber
from tests.aws import new_clients
from tests.pipeline.house import ASK, MAX_BYTES, NOTIFY, ORDER, OTHER_KEY, SENDER, SHOP, UNKNOWN, House, said

from postroom.core.canonical import jcs
from postroom.core.errors import NotNowError, TheirError
from postroom.core.reason import Kind, Reason
from postroom.core.reasons import (
    NOT_I_JSON,
    NOT_JSON,
    NOT_QUEUED,
    STORE_UNAVAILABLE,
    TOO_LARGE,
    WRONG_CONTENT_ENCODING,
    WRONG_CONTENT_TYPE,
)
from postroom.http.response import HttpResponse
from postroom.pipeline.claims import unpack
from postroom.pipeline.nlweb_inbox import MAX_FORWARDED_BYTES, Posted
from postroom.protocols.nlweb.reasons import (
    CORRELATION_REUSED,
    HANDLER_FAILED,
    HASH_MISMATCH,
    KEY_LOOKUP_FAILED,
    KEY_NOT_FOUND,
    NOT_OURS,
    SIGNATURE_INVALID,
    STILL_WORKING,
    TIMESTAMP_TOO_NEW,
    TIMESTAMP_TOO_OLD,
    UNSUPPORTED_VERSION,
    WRONG_SHAPE,
)
from postroom.protocols.nlweb.schema import POLLYWEB
from postroom.storage.directory.domains import Domain
from postroom.storage.keys import seen_key_nlweb
from postroom.storage.mail.replies import Replies
from postroom.storage.queues import MAX_BODY_BYTES

Change = Callable[[dict[str, Any]], object]


def changed(house: House, change: Change, *, rehash: bool = True) -> bytes:
    """An envelope with one thing changed, its Hash made to fit again."""
    envelope = json.loads(house.envelope())
    change(envelope)
    if rehash:
        content = {name: envelope[name] for name in ("Body", "Header") if name in envelope}
        envelope["Hash"] = hashlib.sha256(jcs(content)).hexdigest()
    return json.dumps(envelope, ensure_ascii=False).encode()


def header(**members: object) -> Change:
    return lambda envelope: envelope["Header"].update(members)


MAJOR_2 = header(Schema="nlweb.org/MSG:2.0")


def shouting(envelope: dict[str, Any]) -> None:
    envelope["Hash"] = envelope["Hash"].upper()


REFUSED: list[tuple[str, Callable[[House], bytes], Reason]] = [
    ("nothing", lambda house: b"", NOT_JSON),
    ("no JSON", lambda house: b"{", NOT_JSON),
    ("no UTF-8", lambda house: b'{"a":"\xff"}', NOT_JSON),
    ("a BOM", lambda house: b"\xef\xbb\xbf" + house.envelope(), NOT_JSON),
    ("a name twice", lambda house: b'{"a":1,"a":2}', NOT_I_JSON),
    ("half a surrogate", lambda house: b'{"a":"\\ud83e"}', NOT_I_JSON),
    ("no object", lambda house: b"[]", WRONG_SHAPE),
    ("no members", lambda house: b"{}", WRONG_SHAPE),
    ("too large", lambda house: house.envelope(body="x" * MAX_BYTES), TOO_LARGE),
    ("To of somebody else", lambda house: house.envelope(receiver="elsewhere.com"), NOT_OURS),
    ("another major version", lambda house: changed(house, MAJOR_2), UNSUPPORTED_VERSION),
    ("no Correlation", lambda house: changed(house, lambda e: e["Header"].pop("Correlation")), WRONG_SHAPE),
    ("From an address", lambda house: changed(house, header(From="10.0.0.1")), WRONG_SHAPE),
    ("a control in Subject", lambda house: changed(house, header(Subject="a\nb")), WRONG_SHAPE),
    ("a time without zone", lambda house: changed(house, header(Timestamp="2026-11-21T09:30:00")), WRONG_SHAPE),
    ("yesterday", lambda house: changed(house, header(Timestamp="2026-11-20T09:29:59.999Z")), TIMESTAMP_TOO_OLD),
    ("soon", lambda house: changed(house, header(Timestamp="2026-11-21T09:32:00.001Z")), TIMESTAMP_TOO_NEW),
    ("another Body", lambda house: changed(house, lambda e: e.update(Body=1), rehash=False), HASH_MISMATCH),
    ("an upper-case Hash", lambda house: changed(house, shouting, rehash=False), HASH_MISMATCH),
    ("a Feedback about nothing", lambda house: house.envelope("Feedback@Buffer", {}), WRONG_SHAPE),
]  # fmt: skip


@pytest.mark.parametrize(("make", "reason"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_a_refusal_says_its_reason_and_nothing_is_stored(
    house: House, make: Callable[[House], bytes], reason: Reason
) -> None:
    before = house.deployed.dump()
    answer = house.post(make(house))
    assert reason.kind is Kind.REFUSAL
    assert (answer.status, answer.content_type, answer.reason) == (reason.status, "application/problem+json", reason)
    assert (said(answer)["reason"], said(answer)["status"]) == (str(reason), reason.status)
    assert house.deployed.dump() == before


@pytest.mark.parametrize(
    ("content_type", "encoding", "reason"),
    [
        ("", "", WRONG_CONTENT_TYPE),
        ("text/plain", "", WRONG_CONTENT_TYPE),
        ("application/jsonl", "", WRONG_CONTENT_TYPE),
        ("application/json; charset=latin-1", "", WRONG_CONTENT_TYPE),
        ("application/json", "gzip", WRONG_CONTENT_ENCODING),
    ],
)
def test_only_plain_json_is_taken(house: House, content_type: str, encoding: str, reason: Reason) -> None:
    before = house.deployed.dump()
    assert house.post(house.envelope(), content_type, encoding).reason is reason
    assert house.deployed.dump() == before


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "identity, gzip"])
def test_a_body_may_be_as_it_is_and_in_no_compressed_form(house: House, coding: str) -> None:
    for plain in ("", "identity"):
        assert house.post(house.envelope(), encoding=plain).status == 200
    assert refusal(house.post(house.envelope(), encoding=coding)) == (415, WRONG_CONTENT_ENCODING)


@pytest.mark.parametrize("content_type", ["Application/JSON; charset=UTF-8", 'application/json;charset="utf-8"'])
def test_json_may_be_named_in_all_its_forms(house: House, content_type: str) -> None:
    assert house.post(house.envelope(), content_type, "identity").status == 200


def test_once_queued_the_answer_is_200_with_the_correlation(house: House) -> None:
    correlation = "125a5c75-cb72-43d2-9695-37026dfcaa48"
    answer = house.post(house.envelope(correlation=correlation))
    assert (answer.status, said(answer)) == (200, {"Correlation": correlation, "Status": "Queued"})


def test_the_claim_is_minted_at_the_door_and_carries_its_row_key(house: House) -> None:
    house.mailboxes.raise_shards(SHOP, 8)
    body = house.envelope()
    claim = house.claim(house.queued(body))
    assert claim.received_at_ms == int(house.clock.now * 1000)
    assert (claim.mailbox, claim.row.mailbox, claim.source, claim.protocol) == (SHOP, SHOP, "192.0.2.1", "nlweb")
    assert (claim.row.claim_id, claim.row.received_at_ms) == (claim.id, claim.received_at_ms)
    assert claim.envelope.encode() == body


def test_the_window_is_compared_with_the_clock_at_the_door_ends_included(house: House) -> None:
    for timestamp in ("2026-11-20T09:30:00.000Z", "2026-11-21T09:32:00.000Z"):
        assert house.post(changed(house, header(Timestamp=timestamp))).status == 200


def test_the_same_message_twice_is_two_claims_and_both_are_acknowledged(house: House) -> None:
    body = house.envelope()
    first, second = house.claim(house.queued(body)), house.claim(house.queued(body))
    assert first.id != second.id
    assert first.row != second.row


def test_signatures_and_unknown_subjects_are_the_workers_business(house: House) -> None:
    assert house.post(house.envelope(key=OTHER_KEY)).status == 200
    assert house.post(house.envelope(UNKNOWN)).status == 200
    assert house.keys.asked == []


AWKWARD = '\ufffe\uffff\u2028\u0000\x7f\U0001f91d\U0010ffff\r\n"\\é'


def test_a_queue_message_is_ascii_and_gives_back_the_bytes_received(house: House) -> None:
    body = house.envelope(body=AWKWARD)
    assert "\ufffe".encode() in body
    record = house.queued(body)
    assert record.body.isascii()
    assert record.body.isprintable()
    assert house.claim(record).envelope.encode() == body


def test_a_claim_too_large_for_the_queue_goes_to_s3_first_and_the_queue_points_at_it(house: House) -> None:
    body = house.envelope(body="\ufffe" * 200_000)
    record = house.queued(body)
    assert len(record.body) < 200
    [name] = house.deployed.objects()
    assert name == f"claim/2026/11/21/09/{house.claim(record).id}"
    assert house.claim(record).envelope.encode() == body


@pytest.mark.parametrize("letters", [MAX_BODY_BYTES - 2000, MAX_BODY_BYTES])
def test_no_queue_message_is_larger_than_sqs_takes(house: House, letters: int) -> None:
    record = house.queued(house.envelope(body="x" * letters))
    assert len(unpack(record.body, house.objects).again().body()) < 1_048_576
    assert (house.deployed.objects() == {}) == (letters < MAX_BODY_BYTES)


def test_no_200_before_it_is_queued(house: House) -> None:
    clients = new_clients()
    with Stubber(clients.sqs) as stub:
        stub.add_client_error("send_message", "ServiceUnavailable", http_status_code=503)
        before = house.deployed.dump()
        answer = house.door(clients).post(posted(house.envelope()))
    assert (answer.status, answer.reason, answer.headers["Retry-After"]) == (503, NOT_QUEUED, "5")
    assert house.deployed.dump() == before


def test_no_200_when_a_large_claim_could_not_be_put_away(house: House) -> None:
    clients = new_clients()
    with Stubber(clients.s3) as stub:
        stub.add_client_error("put_object", "SlowDown", http_status_code=503)
        answer = house.door(clients).post(posted(house.envelope(body="x" * MAX_BODY_BYTES)))
    assert (answer.status, answer.reason) == (503, NOT_QUEUED)
    assert house.deployed.bodies("ClaimsQueue") == []


def posted(body: bytes) -> Posted:
    return Posted(body, "application/json", "", "192.0.2.1")


def test_a_domain_that_takes_no_messages_is_not_ours(house: House) -> None:
    house.operators.put_domain(Domain("quiet.com", inbox=False))
    assert house.post(house.envelope(receiver="quiet.com")).reason is NOT_OURS


def test_to_is_compared_without_case_and_trailing_dot(house: House) -> None:
    assert house.post(house.envelope(receiver="SHOP.com.")).status == 200


def test_no_answer_repeats_what_the_sender_wrote(house: House) -> None:
    marked = changed(house, header(Subject="S3NTINEL\n", Extra="S3NTINEL"))
    assert b"S3NTINEL" not in house.post(marked).body
    assert b"S3NTINEL" not in house.post(house.envelope(receiver="s3ntinel.com")).body.upper()


def test_get_inbox_says_what_this_is_in_one_line(house: House) -> None:
    answer = house.door().welcome()
    assert (answer.status, answer.content_type) == (200, "text/plain; charset=utf-8")
    assert answer.body.count(b"\n") == 1


@pytest.mark.parametrize("host", ["nlweb.shop.com", "pw.shop.com", "NLWEB.SHOP.COM:8443", "nlweb.shop.com."])
def test_the_manifest_is_that_of_the_domain_of_the_host(house: House, host: str) -> None:
    answer = house.door().manifest(host)
    assert (answer.status, answer.content_type) == (200, "application/yaml")
    assert b"Name: shop.com" in answer.body
    assert b"Feedback: buffer.shop.com" in answer.body


@pytest.mark.parametrize("host", ["shop.com", "nlweb.elsewhere.com", "127.0.0.1:80", "", "nlweb."])
def test_there_is_no_manifest_of_anybody_else(house: House, host: str) -> None:
    assert house.door().manifest(host).reason is NOT_OURS


# ---- synchronous subjects ------------------------------------------------------------------------------------


def count_calls(house: House) -> None:
    house.handlers.handlers["ask"] = lambda request: {"asked": request, "call": len(house.handlers.calls)}


def refusal(answer: HttpResponse) -> tuple[int, Reason | None]:
    return answer.status, answer.reason


def test_the_bare_json_reply_is_the_body_of_the_200(house: House) -> None:
    count_calls(house)
    answer = house.post(house.envelope(ASK, {"x": 1}))
    assert (answer.status, said(answer)) == (200, {"asked": {"x": 1}, "call": 1})
    assert house.deployed.bodies("ClaimsQueue") == []
    assert house.deployed.rows("PostTable") == []


def test_a_duplicate_gets_the_remembered_reply_and_is_not_executed(house: House) -> None:
    count_calls(house)
    body = house.envelope(ASK)
    answers = [house.post(body) for _ in range(3)]
    assert {answer.body for answer in answers} == {answers[0].body}
    assert len(house.handlers.calls) == 1


def test_a_long_reply_is_remembered_as_well(house: House) -> None:
    house.handlers.handlers["ask"] = lambda _: AWKWARD * 2000
    body = house.envelope(ASK)
    assert said(house.post(body)) == said(house.post(body)) == AWKWARD * 2000
    assert len(house.handlers.calls) == 1


def test_a_reply_that_cannot_be_remembered_is_given_and_told_to_the_operator(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away(*_: object, **__: object) -> None:
        raise NotNowError(STORE_UNAVAILABLE)

    count_calls(house)
    monkeypatch.setattr(Replies, "finish", away)
    correlation = house.new_uuid()
    assert said(house.post(house.envelope(ASK, correlation=correlation)))["call"] == 1
    assert seen_key_nlweb(SHOP, SENDER, correlation) in caplog.text


def test_a_bad_signature_is_401_and_nothing_is_stored(house: House) -> None:
    before = house.deployed.dump()
    assert refusal(house.post(house.envelope(ASK, key=OTHER_KEY))) == (401, SIGNATURE_INVALID)
    assert refusal(house.post(house.envelope(ASK, sender="keyless.com"))) == (401, KEY_NOT_FOUND)
    assert house.deployed.dump() == before
    assert house.handlers.calls == []


def test_another_message_under_the_same_correlation_is_409(house: House) -> None:
    count_calls(house)
    correlation = house.new_uuid()
    house.post(house.envelope(ASK, 1, correlation=correlation))
    assert refusal(house.post(house.envelope(ASK, 2, correlation=correlation))) == (409, CORRELATION_REUSED)
    assert len(house.handlers.calls) == 1


def test_while_the_twin_is_at_work_the_answer_is_503_with_retry_after(house: House) -> None:
    body = house.envelope(ASK)
    twins: list[HttpResponse] = []

    def handler(_: object) -> str:
        twins.append(house.post(body))
        return "done"

    house.handlers.handlers["ask"] = handler
    assert said(house.post(body)) == "done"
    assert refusal(twins[0]) == (503, STILL_WORKING)
    assert twins[0].headers["Retry-After"] == "5"


def test_a_key_that_cannot_be_looked_up_now_is_503_with_retry_after(house: House) -> None:
    house.keys.published["nlweb._domainkey.sender.com"] = NotNowError(KEY_LOOKUP_FAILED)
    before = house.deployed.dump()
    answer = house.post(house.envelope(ASK))
    assert refusal(answer) == (503, KEY_LOOKUP_FAILED)
    assert "Retry-After" in answer.headers
    assert house.deployed.dump() == before


def test_a_handler_that_failed_may_have_done_its_work_and_is_asked_again_only_after_the_lease(house: House) -> None:
    def failing(_: object) -> str:
        raise NotNowError(HANDLER_FAILED)

    house.handlers.handlers["ask"] = failing
    body = house.envelope(ASK)
    assert refusal(house.post(body)) == (503, HANDLER_FAILED)
    house.handlers.handlers["ask"] = lambda _: "mended"
    assert refusal(house.post(body)) == (503, STILL_WORKING)
    house.clock.now += 31
    assert said(house.post(body)) == "mended"


def test_a_request_that_its_handler_refuses_may_be_asked_again_at_once(house: House) -> None:
    def refusing(_: object) -> str:
        raise TheirError(WRONG_SHAPE)

    house.handlers.handlers["ask"] = refusing
    body, before = house.envelope(ASK), house.deployed.dump()
    assert refusal(house.post(body)) == (422, WRONG_SHAPE)
    assert house.deployed.dump() == before


def test_a_request_whose_function_died_can_be_asked_again_after_its_lease(house: House) -> None:
    class Died(BaseException):
        pass

    def dying(_: object) -> str:
        raise Died

    house.handlers.handlers["ask"] = dying
    body = house.envelope(ASK)
    with pytest.raises(Died):
        house.post(body)
    house.handlers.handlers["ask"] = lambda _: "alive"
    assert refusal(house.post(body)) == (503, STILL_WORKING)
    house.clock.now += 31
    assert said(house.post(body)) == "alive"


@pytest.mark.parametrize("subject", ["Identity@Graph", "Identity@Broker"])
def test_identity_of_our_own_domains_is_answered(house: House, subject: str) -> None:
    reply = said(house.post(house.envelope(subject, {"Domain": SHOP})))
    assert reply == {"Domain": SHOP, "Feedback": "buffer.shop.com"}


def test_identity_of_others_and_of_nobody_is_refused(house: House) -> None:
    assert house.post(house.envelope("Identity@Graph", {"Domain": "b.com"})).reason is NOT_OURS
    assert house.post(house.envelope("Identity@Graph", "b.com")).reason is WRONG_SHAPE


def test_the_pollyweb_dialect_comes_in_by_the_same_door(house: House) -> None:
    body = house.envelope(NOTIFY, dialect=POLLYWEB, selector="pw1")
    assert house.post(body).status == 200


def test_what_could_never_be_handed_on_is_refused_at_the_door(house: House) -> None:
    # Counted as it will be handed on: as a string of ASCII JSON, in which this letter takes six characters.
    beside = len(json.dumps(house.envelope(ORDER, body="").decode()))
    letters, rest = divmod(MAX_FORWARDED_BYTES - beside, 6)
    longest = "\u20ac" * letters + "x" * rest
    before = house.deployed.dump()
    assert refusal(house.post(house.envelope(ORDER, body=longest + "x"))) == (413, TOO_LARGE)
    assert house.deployed.dump() == before
    assert house.post(house.envelope(ORDER, body=longest)).status == 200
