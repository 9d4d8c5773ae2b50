"""functions/worker: batches in, and what SQS is to hand out again."""

import json

import pytest
from botocore.awsrequest import AWSResponse, HTTPHeaders
from tests.functions.logs import log_lines, metrics
from tests.functions.samples import CORRELATION, MADE_AT, RECEIVER, claim, envelope, events, forged, sqs, text_of
from tests.functions.stack import ACCOUNT, MOTO_REGION, FunctionsStack, Json

from postroom.local.dns import DnsServer
from postroom.pipeline.claims import Pointer, QueuedClaim
from postroom.protocols.nlweb.reasons import SIGNATURE_INVALID
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment


def message(number: int, subject: str = "Hello@Host", *rules: SubjectRule) -> str:
    """The queue message of a good claim."""
    return QueuedClaim(claim(number, MADE_AT, text_of(envelope(number, MADE_AT, {}, subject)), *rules)).body()


def ids(event: Json, *places: int) -> list[Json]:
    return [{"itemIdentifier": event["Records"][place]["messageId"]} for place in places]


@pytest.mark.parametrize("junk", ["", "no JSON", "[]", "7", "{}", '{"claim": 1, "tries": 0}', '{"at": "claim/nowhere"}',
                                  '{"claim": "{}", "tries": 0}', '{"claim": "[]", "tries": 0}'])  # fmt: skip
def test_only_a_message_that_is_no_claim_of_ours_is_redelivered(running: FunctionsStack, junk: str) -> None:
    event = sqs("ClaimsQueue", MADE_AT, message(1), junk, message(2))
    assert running.invoke("WorkerFunction", event) == {"batchItemFailures": ids(event, 1)}
    assert len(running.deployed.rows("PostTable")) == 2


def test_a_claim_too_large_for_the_queue_is_fetched_from_where_the_queue_points(running: FunctionsStack) -> None:
    store, large = running.deployed, claim(1, MADE_AT, text_of(envelope(1, MADE_AT, {})))
    data = json.dumps(large.as_json()).encode()
    store.clients.s3.put_object(Bucket=store.bucket, Key="claim/2026/11/21/09/x", Body=data)
    event = sqs("ClaimsQueue", MADE_AT, QueuedClaim(claim(1, MADE_AT, ""), Pointer("claim/2026/11/21/09/x")).body())
    assert running.invoke("WorkerFunction", event) == {"batchItemFailures": []}
    [row] = store.rows("PostTable")
    assert row["st"]["S"] == "L"
    assert [name for name in store.objects() if name.startswith("claim/")] == []
    # SQS delivers it again: S3 says "access denied" of a missing object, and the row decides.
    assert running.invoke("WorkerFunction", event) == {"batchItemFailures": []}
    assert store.rows("PostTable") == [row]


def test_a_claim_received_three_times_is_set_apart(running: FunctionsStack, capsys: pytest.CaptureFixture[str]) -> None:
    event = sqs("ClaimsQueue", MADE_AT, message(1), received=3)
    assert running.invoke("WorkerFunction", event) == {"batchItemFailures": []}
    assert [json.loads(body) for body in running.deployed.bodies("SuspectsQueue")] == [json.loads(message(1))]
    assert running.deployed.rows("PostTable") == []
    assert metrics(capsys.readouterr().out) == {"Suspected": [1.0]}


def test_a_claim_set_apart_stays_in_the_group_it_came_with(running: FunctionsStack) -> None:
    running.invoke("WorkerFunction", sqs("ClaimsQueue", MADE_AT, message(1), received=3, group="somebody"))
    assert running.deployed.groups("SuspectsQueue") == ["somebody"]


def test_a_suspect_is_not_set_apart_again(running: FunctionsStack) -> None:
    running.invoke("WorkerFunction", sqs("SuspectsQueue", MADE_AT, message(1), received=4))
    assert running.deployed.bodies("SuspectsQueue") == []
    assert len(running.deployed.rows("PostTable")) == 1


def test_a_claim_that_cannot_be_judged_now_goes_to_the_retry_queue(
    running: FunctionsStack, dns_server: DnsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    dns_server.stop()
    assert running.invoke("WorkerFunction", sqs("RetryQueue", MADE_AT, message(1))) == {"batchItemFailures": []}
    [body] = running.deployed.bodies("RetryQueue")
    assert json.loads(body)["tries"] == 1
    assert running.deployed.delays("RetryQueue") == [5]
    assert running.deployed.rows("PostTable") == running.deployed.rows("SeenTable") == []
    told = metrics(capsys.readouterr().out)
    assert told["Retried"] == told["RetriedKeyLookupFailed"] == [1.0]


def test_a_retry_that_cannot_be_sent_is_redelivered(running: FunctionsStack, dns_server: DnsServer) -> None:
    dns_server.stop()
    # A queue that throttles is a passing fault; a queue that is not there is ours, and fails the whole batch.
    worker = running.start("WorkerFunction").worker
    sent = worker.retry._sqs.meta.events
    event = sqs("ClaimsQueue", MADE_AT, message(1))
    sent.register("before-call.sqs.SendMessage", _throttled)
    try:
        assert running.invoke("WorkerFunction", event) == {"batchItemFailures": ids(event, 0)}
    finally:
        sent.unregister("before-call.sqs.SendMessage", _throttled)


def _throttled(**_: object) -> tuple[object, Json]:
    answer = AWSResponse("https://sqs.example/", 400, HTTPHeaders(), None)
    return answer, {"Error": {"Code": "RequestThrottled", "Message": ""}, "ResponseMetadata": {"HTTPStatusCode": 400}}


def test_a_claim_twice_in_one_batch_is_settled_once(running: FunctionsStack) -> None:
    assert running.invoke("WorkerFunction", sqs("ClaimsQueue", MADE_AT, message(1), message(1)))
    [row] = running.deployed.rows("PostTable")
    [segment] = running.deployed.objects().values()
    assert row["len"]["N"] == str(len(segment) - 1)


def test_a_message_is_forwarded_to_the_operators_queue_by_the_templates_role(
    running: FunctionsStack,
) -> None:
    store = running.deployed
    url = store.clients.sqs.create_queue(QueueName="orders")["QueueUrl"]
    target = f"arn:aws:sqs:{MOTO_REGION}:{ACCOUNT}:orders"
    rule = SubjectRule("Order@Shop", Treatment.FORWARD, target)
    # The template's own ARNs are of the region that the local stack stands in.
    running.parameters["ForwardQueueArns"] = target.replace(MOTO_REGION, "us-east-1")
    running.invoke("WorkerFunction", sqs("ClaimsQueue", MADE_AT, message(1, "Order@Shop", rule)))
    [handed] = store.clients.sqs.receive_message(QueueUrl=url)["Messages"]
    assert json.loads(handed["Body"])["envelope"] == text_of(envelope(1, MADE_AT, {}, "Order@Shop"))
    [row] = store.rows("PostTable")
    assert row["why"]["S"] == "forwarded"


def test_filed_messages_share_a_log_line_others_have_one_each_and_none_has_contents(
    running: FunctionsStack, capsys: pytest.CaptureFixture[str]
) -> None:
    event = events()["worker-claims.json"]
    filed, refused = (json.loads(record["body"])["claim"]["id"] for record in event["Records"])
    running.invoke("WorkerFunction", event)
    output = capsys.readouterr().out
    told = {line["message"]: line for line in log_lines(output)}
    assert set(told) == {"accepted", "discarded"}
    assert told["accepted"]["claims"] == [filed]
    assert told["discarded"]["claim"] == refused
    assert told["discarded"]["correlation"] == CORRELATION.format(3)
    assert told["discarded"]["reason"] == str(SIGNATURE_INVALID)
    assert told["discarded"]["mailbox"] == RECEIVER
    for content in (envelope(1, MADE_AT, {"Text": "Good morning ☀"}), forged(3, MADE_AT)):
        for secret in ("Good morning", "Send money", content["Signature"], content["Hash"], "p="):
            assert str(secret) not in output


def test_the_metrics_are_the_outcomes_the_reasons_and_the_age(
    running: FunctionsStack, capsys: pytest.CaptureFixture[str]
) -> None:
    running.invoke("WorkerFunction", events()["worker-claims.json"])
    told = metrics(capsys.readouterr().out)
    ages = told.pop("AgeMilliseconds")
    assert told == {"Accepted": [1.0], "Discarded": [1.0], "DiscardedSignatureInvalid": [1.0]}
    assert len(ages) == 2
    assert all(5_000 <= age < 600_000 for age in ages)


def test_more_claims_than_one_metrics_document_holds_are_all_counted(
    running: FunctionsStack, capsys: pytest.CaptureFixture[str]
) -> None:
    # The largest batch that the template asks for.
    bodies = [QueuedClaim(claim(n, MADE_AT, text_of(forged(3, MADE_AT)))).body() for n in range(1, 101)]
    running.invoke("WorkerFunction", sqs("ClaimsQueue", MADE_AT, *bodies))
    told = metrics(capsys.readouterr().out)
    assert len(told["AgeMilliseconds"]) == sum(told["Discarded"]) == sum(told["DiscardedSignatureInvalid"]) == 100


def test_a_full_batch_of_different_outcomes_ends_without_a_warning(
    running: FunctionsStack, capsys: pytest.CaptureFixture[str]
) -> None:
    """Powertools writes a metrics document at the hundredth value, and warns of an end with none left."""
    texts = [text_of(forged(3, MADE_AT))] * 50 + [text_of(envelope(4, MADE_AT, {}))] * 50
    bodies = [QueuedClaim(claim(n, MADE_AT, text)).body() for n, text in enumerate(texts, start=1)]
    running.invoke("WorkerFunction", sqs("ClaimsQueue", MADE_AT, *bodies))
    told = metrics(capsys.readouterr().out)
    assert len(told["AgeMilliseconds"]) == 100
    assert {name: sum(told[name]) for name in ("Discarded", "Accepted", "Duplicate")} == {
        "Discarded": 50, "Accepted": 1, "Duplicate": 49,
    }  # fmt: skip
