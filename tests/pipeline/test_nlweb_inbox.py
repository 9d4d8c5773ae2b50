import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.stub import Stubber
from tests.aws import new_clients
from tests.pipeline.stack import (
    ASK,
    MAX_AGE,
    MAX_BYTES,
    NOTIFY,
    NOW,
    ORDER,
    OTHER_KEY,
    RETAIN,
    SENDER,
    SHOP,
    UNKNOWN,
    PipelineStack,
    said,
)

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
from postroom.storage.aws.queue import MAX_BODY_BYTES
from postroom.storage.directory.domains import Domain
from postroom.storage.layout import seen_key_nlweb
from postroom.storage.mail.replies import Replies

Change = Callable[[dict[str, Any]], object]


def changed(stack: PipelineStack, change: Change, *, rehash: bool = True) -> bytes:
    """An envelope with one thing changed, its Hash made to fit again."""
    envelope = json.loads(stack.envelope())
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


REFUSED: list[tuple[str, Callable[[PipelineStack], bytes], Reason]] = [
    ("nothing", lambda stack: b"", NOT_JSON),
    ("no JSON", lambda stack: b"{", NOT_JSON),
    ("no UTF-8", lambda stack: b'{"a":"\xff"}', NOT_JSON),
    ("a BOM", lambda stack: b"\xef\xbb\xbf" + stack.envelope(), NOT_JSON),
    ("a name twice", lambda stack: b'{"a":1,"a":2}', NOT_I_JSON),
    ("half a surrogate", lambda stack: b'{"a":"\\ud83e"}', NOT_I_JSON),
    ("no object", lambda stack: b"[]", WRONG_SHAPE),
    ("no members", lambda stack: b"{}", WRONG_SHAPE),
    ("too large", lambda stack: stack.envelope(body="x" * MAX_BYTES), TOO_LARGE),
    ("To of somebody else", lambda stack: stack.envelope(receiver="elsewhere.com"), NOT_OURS),
    ("another major version", lambda stack: changed(stack, MAJOR_2), UNSUPPORTED_VERSION),
    ("no Correlation", lambda stack: changed(stack, lambda e: e["Header"].pop("Correlation")), WRONG_SHAPE),
    ("From an address", lambda stack: changed(stack, header(From="10.0.0.1")), WRONG_SHAPE),
    ("a control in Subject", lambda stack: changed(stack, header(Subject="a\nb")), WRONG_SHAPE),
    ("a time without zone", lambda stack: changed(stack, header(Timestamp="2026-11-21T09:30:00")), WRONG_SHAPE),
    ("yesterday", lambda stack: changed(stack, header(Timestamp="2026-11-20T09:29:59.999Z")), TIMESTAMP_TOO_OLD),
    ("soon", lambda stack: changed(stack, header(Timestamp="2026-11-21T09:32:00.001Z")), TIMESTAMP_TOO_NEW),
    ("another Body", lambda stack: changed(stack, lambda e: e.update(Body=1), rehash=False), HASH_MISMATCH),
    ("an upper-case Hash", lambda stack: changed(stack, shouting, rehash=False), HASH_MISMATCH),
    ("a Feedback about nothing", lambda stack: stack.envelope("Feedback@Buffer", {}), WRONG_SHAPE),
]  # fmt: skip


@pytest.mark.parametrize(("make", "reason"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_a_refusal_says_its_reason_and_nothing_is_stored(
    stack: PipelineStack, make: Callable[[PipelineStack], bytes], reason: Reason
) -> None:
    before = stack.deployed.dump()
    answer = stack.post(make(stack))
    assert reason.kind is Kind.REFUSAL
    assert (answer.status, answer.content_type, answer.reason) == (reason.status, "application/problem+json", reason)
    assert (said(answer)["reason"], said(answer)["status"]) == (str(reason), reason.status)
    assert stack.deployed.dump() == before


@pytest.mark.parametrize(
    ("content_type", "encoding", "reason"),
    [
        ("", "", WRONG_CONTENT_TYPE),
        ("text/plain", "", WRONG_CONTENT_TYPE),
        ("application/jsonl", "", WRONG_CONTENT_TYPE),
        ("application/json; charset=latin-1", "", WRONG_CONTENT_TYPE),
        ('application/json; x="; charset=utf-8', "", WRONG_CONTENT_TYPE),
        ("application/json; charset", "", WRONG_CONTENT_TYPE),
        ("application/json, text/plain", "", WRONG_CONTENT_TYPE),
        ("application/json x", "", WRONG_CONTENT_TYPE),
        ("application/json; x=\0", "", WRONG_CONTENT_TYPE),
        ("application/json", "gzip", WRONG_CONTENT_ENCODING),
    ],
)
def test_only_plain_json_is_accepted(stack: PipelineStack, content_type: str, encoding: str, reason: Reason) -> None:
    before = stack.deployed.dump()
    assert stack.post(stack.envelope(), content_type, encoding).reason is reason
    assert stack.deployed.dump() == before


@pytest.mark.parametrize(
    ("content_type", "encoding", "header", "taken"),
    [("text/plain", "", "Accept", "application/json"), ("application/json", "gzip", "Accept-Encoding", "identity")],
)
def test_a_refused_media_type_or_coding_is_answered_with_what_is_taken(
    stack: PipelineStack, content_type: str, encoding: str, header: str, taken: str
) -> None:
    """RFC 9110 §15.5.16."""
    assert stack.post(stack.envelope(), content_type, encoding).headers[header] == taken


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "identity, gzip"])
def test_a_body_may_be_as_it_is_and_in_no_compressed_form(stack: PipelineStack, coding: str) -> None:
    for plain in ("", "identity"):
        assert stack.post(stack.envelope(), encoding=plain).status == 200
    assert refusal(stack.post(stack.envelope(), encoding=coding)) == (415, WRONG_CONTENT_ENCODING)


@pytest.mark.parametrize(
    "content_type",
    [
        "Application/JSON; charset=UTF-8", 'application/json;charset="utf-8"', "application/json;",
        "application/json ;",
        "application/json;\tcharset=utf-8", 'application/json; profile="a;b"; charset=utf-8', "application/json; x=1",
        "application/json; charset*0*=a'b'c; charset*=x'y'z", f"application/json; a*{'1' * 4400}=x",
    ],
)  # fmt: skip
def test_json_may_be_named_in_all_its_forms(stack: PipelineStack, content_type: str) -> None:
    assert stack.post(stack.envelope(), content_type, "identity").status == 200


@pytest.mark.parametrize(
    "correlation", ["125a5c75-cb72-43d2-9695-37026dfcaa48", "125A5C75-CB72-43d2-9695-37026DFCAA48"]
)
def test_once_queued_the_answer_is_200_with_the_correlation_as_it_came(stack: PipelineStack, correlation: str) -> None:
    answer = stack.post(stack.envelope(correlation=correlation))
    assert (answer.status, said(answer)) == (200, {"Correlation": correlation, "Status": "Queued"})


def test_the_inbox_makes_the_claim_and_its_row_key(stack: PipelineStack) -> None:
    stack.mailboxes.raise_shards(SHOP, 8)
    body = stack.envelope()
    claim = stack.claim(stack.queued(body))
    assert claim.received_at_ms == int(stack.clock.now * 1000)
    assert (claim.mailbox, claim.row.mailbox, claim.source, claim.protocol) == (SHOP, SHOP, "192.0.2.1", "nlweb")
    assert (claim.row.claim_id, claim.row.received_at_ms) == (claim.id, claim.received_at_ms)
    assert claim.envelope.encode() == body


def test_the_window_is_compared_with_the_clock_of_the_inbox_ends_included(stack: PipelineStack) -> None:
    for timestamp in ("2026-11-20T09:30:00.000Z", "2026-11-21T09:32:00.000Z"):
        assert stack.post(changed(stack, header(Timestamp=timestamp))).status == 200


def test_the_same_message_twice_is_two_claims_and_both_are_acknowledged(stack: PipelineStack) -> None:
    body = stack.envelope()
    first, second = stack.claim(stack.queued(body)), stack.claim(stack.queued(body))
    assert first.id != second.id
    assert first.row != second.row


def test_signatures_and_subjects_are_left_to_the_worker(stack: PipelineStack) -> None:
    assert stack.post(stack.envelope(key=OTHER_KEY)).status == 200
    assert stack.post(stack.envelope(UNKNOWN)).status == 200
    assert stack.keys.lookups == []


AWKWARD = '\ufffe\uffff\u2028\u0000\x7f\U0001f91d\U0010ffff\r\n"\\é'


def test_a_queue_message_is_ascii_and_gives_back_the_bytes_received(stack: PipelineStack) -> None:
    body = stack.envelope(body=AWKWARD)
    assert "\ufffe".encode() in body
    record = stack.queued(body)
    assert record.body.isascii()
    assert record.body.isprintable()
    assert stack.claim(record).envelope.encode() == body


def test_a_claim_too_large_for_the_queue_goes_to_s3_first_and_the_queue_points_at_it(stack: PipelineStack) -> None:
    body = stack.envelope(body="\ufffe" * 200_000)
    record = stack.queued(body)
    assert len(record.body) < 1000
    [name] = stack.deployed.objects()
    assert name == f"claim/2026/11/21/09/{stack.claim(record).id}"
    assert stack.claim(record).envelope.encode() == body


@pytest.mark.parametrize("size", [MAX_BODY_BYTES - 2000, MAX_BODY_BYTES])
def test_no_queue_message_is_larger_than_sqs_takes(stack: PipelineStack, size: int) -> None:
    record = stack.queued(stack.envelope(body="x" * size))
    assert len(unpack(record.body, stack.objects).again().body()) < 1_048_576
    assert (stack.deployed.objects() == {}) == (size < MAX_BODY_BYTES)


def test_no_message_is_answered_200_before_it_is_queued(stack: PipelineStack) -> None:
    clients = new_clients()
    with Stubber(clients.sqs) as stub:
        stub.add_client_error("get_queue_attributes", "ServiceUnavailable", http_status_code=503)
        stub.add_client_error("send_message", "ServiceUnavailable", http_status_code=503)
        before = stack.deployed.dump()
        answer = stack.inbox(clients).post(posted(stack.envelope()))
    assert (answer.status, answer.reason, answer.headers["Retry-After"]) == (503, NOT_QUEUED, "5")
    assert stack.deployed.dump() == before


def test_no_message_is_answered_200_if_its_large_claim_could_not_be_stored(stack: PipelineStack) -> None:
    clients = new_clients()
    with Stubber(clients.s3) as stub:
        stub.add_client_error("put_object", "SlowDown", http_status_code=503)
        answer = stack.inbox(clients).post(posted(stack.envelope(body="x" * MAX_BODY_BYTES)))
    assert (answer.status, answer.reason) == (503, NOT_QUEUED)
    assert stack.deployed.bodies("ClaimsQueue") == []


def posted(body: bytes) -> Posted:
    return Posted(body, "application/json", "", "192.0.2.1")


def test_a_domain_without_an_inbox_is_not_ours(stack: PipelineStack) -> None:
    stack.operators.put_domain(Domain("quiet.com", inbox=False))
    assert stack.post(stack.envelope(receiver="quiet.com")).reason is NOT_OURS


def test_to_is_compared_without_case_and_trailing_dot(stack: PipelineStack) -> None:
    assert stack.post(stack.envelope(receiver="SHOP.com.")).status == 200


def test_no_answer_repeats_what_the_sender_wrote(stack: PipelineStack) -> None:
    marked = changed(stack, header(Subject="S3NTINEL\n", Extra="S3NTINEL"))
    assert b"S3NTINEL" not in stack.post(marked).body
    assert b"S3NTINEL" not in stack.post(stack.envelope(receiver="s3ntinel.com")).body.upper()


def test_get_inbox_says_what_this_is_in_one_line(stack: PipelineStack) -> None:
    answer = stack.inbox().welcome()
    assert (answer.status, answer.content_type) == (200, "text/plain; charset=utf-8")
    assert answer.body.count(b"\n") == 1


@pytest.mark.parametrize("host", ["nlweb.shop.com", "pw.shop.com", "NLWEB.SHOP.COM:8443", "nlweb.shop.com."])
def test_the_manifest_is_that_of_the_domain_of_the_host(stack: PipelineStack, host: str) -> None:
    answer = stack.inbox().manifest(host)
    assert (answer.status, answer.content_type) == (200, "application/yaml")
    assert b"Name: shop.com" in answer.body
    assert b"Feedback: buffer.shop.com" in answer.body


@pytest.mark.parametrize("host", ["shop.com", "nlweb.elsewhere.com", "127.0.0.1:80", "", "nlweb."])
def test_there_is_no_manifest_for_other_hosts(stack: PipelineStack, host: str) -> None:
    assert stack.inbox().manifest(host).reason is NOT_OURS


# ---- synchronous subjects ------------------------------------------------------------------------------------


def count_calls(stack: PipelineStack) -> None:
    stack.handlers.handlers["ask"] = lambda request: {"asked": request, "call": len(stack.handlers.calls)}


def refusal(answer: HttpResponse) -> tuple[int, Reason | None]:
    return answer.status, answer.reason


def test_the_bare_json_reply_is_the_body_of_the_200(stack: PipelineStack) -> None:
    count_calls(stack)
    answer = stack.post(stack.envelope(ASK, {"x": 1}))
    assert (answer.status, said(answer)) == (200, {"asked": {"x": 1}, "call": 1})
    assert stack.deployed.bodies("ClaimsQueue") == []
    assert stack.deployed.rows("PostTable") == []


def test_a_duplicate_gets_the_remembered_reply_and_is_not_executed(stack: PipelineStack) -> None:
    count_calls(stack)
    body = stack.envelope(ASK)
    answers = [stack.post(body) for _ in range(3)]
    assert {answer.body for answer in answers} == {answers[0].body}
    assert len(stack.handlers.calls) == 1


def test_a_reply_is_remembered_for_as_long_as_the_identity_of_a_filed_message(stack: PipelineStack) -> None:
    count_calls(stack)
    stack.post(stack.envelope(ASK))
    [seen] = stack.deployed.rows("SeenTable")
    assert int(seen["ttl"]["N"]) == int(NOW) + MAX_AGE + RETAIN


def test_a_long_reply_is_remembered_too(stack: PipelineStack) -> None:
    stack.handlers.handlers["ask"] = lambda _: AWKWARD * 2000
    body = stack.envelope(ASK)
    assert said(stack.post(body)) == said(stack.post(body)) == AWKWARD * 2000
    assert len(stack.handlers.calls) == 1


def test_a_reply_that_cannot_be_remembered_is_given_and_logged(
    stack: PipelineStack, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away(*_: object, **__: object) -> None:
        raise NotNowError(STORE_UNAVAILABLE)

    count_calls(stack)
    monkeypatch.setattr(Replies, "finish", away)
    correlation = stack.new_uuid()
    assert said(stack.post(stack.envelope(ASK, correlation=correlation)))["call"] == 1
    assert seen_key_nlweb(SHOP, SENDER, correlation) in caplog.text


def test_a_bad_signature_is_401_and_nothing_is_stored(stack: PipelineStack) -> None:
    before = stack.deployed.dump()
    assert refusal(stack.post(stack.envelope(ASK, key=OTHER_KEY))) == (401, SIGNATURE_INVALID)
    unknown = stack.post(stack.envelope(ASK, sender="keyless.com"))
    assert refusal(unknown) == (401, KEY_NOT_FOUND)
    assert unknown.headers["WWW-Authenticate"] == "NLWeb"  # RFC 9110 §15.5.2
    assert stack.deployed.dump() == before
    assert stack.handlers.calls == []


def test_another_message_under_the_same_correlation_is_409(stack: PipelineStack) -> None:
    count_calls(stack)
    correlation = stack.new_uuid()
    stack.post(stack.envelope(ASK, 1, correlation=correlation))
    assert refusal(stack.post(stack.envelope(ASK, 2, correlation=correlation))) == (409, CORRELATION_REUSED)
    assert len(stack.handlers.calls) == 1


def test_a_duplicate_of_a_request_in_progress_is_answered_503_with_retry_after(stack: PipelineStack) -> None:
    body = stack.envelope(ASK)
    twins: list[HttpResponse] = []

    def handler(_: object) -> str:
        twins.append(stack.post(body))
        return "done"

    stack.handlers.handlers["ask"] = handler
    assert said(stack.post(body)) == "done"
    assert refusal(twins[0]) == (503, STILL_WORKING)
    assert twins[0].headers["Retry-After"] == "5"


def test_a_key_that_cannot_be_looked_up_now_is_503_with_retry_after(stack: PipelineStack) -> None:
    stack.keys.published["nlweb._domainkey.sender.com"] = NotNowError(KEY_LOOKUP_FAILED)
    before = stack.deployed.dump()
    answer = stack.post(stack.envelope(ASK))
    assert refusal(answer) == (503, KEY_LOOKUP_FAILED)
    assert "Retry-After" in answer.headers
    assert stack.deployed.dump() == before


def test_a_handler_that_failed_is_called_again_only_after_the_lease(
    stack: PipelineStack,
) -> None:
    def failing(_: object) -> str:
        raise NotNowError(HANDLER_FAILED)

    stack.handlers.handlers["ask"] = failing
    body = stack.envelope(ASK)
    assert refusal(stack.post(body)) == (503, HANDLER_FAILED)
    stack.handlers.handlers["ask"] = lambda _: "mended"
    assert refusal(stack.post(body)) == (503, STILL_WORKING)
    stack.clock.now += 31
    assert said(stack.post(body)) == "mended"


def test_a_request_that_its_handler_refuses_can_be_repeated_at_once(stack: PipelineStack) -> None:
    def refusing(_: object) -> str:
        raise TheirError(WRONG_SHAPE)

    stack.handlers.handlers["ask"] = refusing
    body, before = stack.envelope(ASK), stack.deployed.dump()
    assert refusal(stack.post(body)) == (422, WRONG_SHAPE)
    assert stack.deployed.dump() == before


def test_a_request_whose_function_died_can_be_repeated_after_its_lease(stack: PipelineStack) -> None:
    class Died(BaseException):
        pass

    def dying(_: object) -> str:
        raise Died

    stack.handlers.handlers["ask"] = dying
    body = stack.envelope(ASK)
    with pytest.raises(Died):
        stack.post(body)
    stack.handlers.handlers["ask"] = lambda _: "alive"
    assert refusal(stack.post(body)) == (503, STILL_WORKING)
    stack.clock.now += 31
    assert said(stack.post(body)) == "alive"


@pytest.mark.parametrize("subject", ["Identity@Graph", "Identity@Broker"])
def test_identity_of_our_own_domains_is_answered(stack: PipelineStack, subject: str) -> None:
    reply = said(stack.post(stack.envelope(subject, {"Domain": SHOP})))
    assert reply == {"Domain": SHOP, "Feedback": "buffer.shop.com"}


def test_identity_of_other_domains_and_of_no_domain_is_refused(stack: PipelineStack) -> None:
    assert stack.post(stack.envelope("Identity@Graph", {"Domain": "b.com"})).reason is NOT_OURS
    assert stack.post(stack.envelope("Identity@Graph", "b.com")).reason is WRONG_SHAPE


def test_the_inbox_accepts_the_pollyweb_dialect_too(stack: PipelineStack) -> None:
    body = stack.envelope(NOTIFY, dialect=POLLYWEB, selector="pw1")
    assert stack.post(body).status == 200


def test_what_could_never_be_forwarded_is_refused_by_the_inbox(stack: PipelineStack) -> None:
    # Counted as it will be handed on: as a string of ASCII JSON, in which this character takes six characters.
    beside = len(json.dumps(stack.envelope(ORDER, body="").decode()))
    characters, rest = divmod(MAX_FORWARDED_BYTES - beside, 6)
    longest = "\u20ac" * characters + "x" * rest
    before = stack.deployed.dump()
    assert refusal(stack.post(stack.envelope(ORDER, body=longest + "x"))) == (413, TOO_LARGE)
    assert stack.deployed.dump() == before
    assert stack.post(stack.envelope(ORDER, body=longest)).status == 200
