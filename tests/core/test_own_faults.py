"""What AWS refuses, in words: which are our own faults, and what they say they are about."""

import boto3
import pytest
from botocore.exceptions import BotoCoreError, ClientError
from botocore.stub import Stubber
from tests.aws import Deployed, new_clients

from postroom.core.errors import NotNowError
from postroom.core.own_faults import FaultKind, OwnFaults, explain
from postroom.net.aws_errors import CancelledError, our_own_fault, transacting, transient_as_not_now, with_error_context
from postroom.runtime.adapters import AwsForwarding

BUS = "arn:aws:events:eu-west-1:123456789012:event-bus/orders"


@pytest.mark.parametrize(
    "code",
    [
        "BandwidthLimitExceeded", "EC2ThrottledException", "KMS.ThrottlingException", "KMSThrottlingException",
        "KmsThrottled", "LimitExceededException", "OverLimit", "ProvisionedThroughputExceededException",
        "RequestLimitExceeded", "RequestThrottled", "RequestThrottledException", "SlowDown", "ThrottledException",
        "Throttling", "ThrottlingError", "ThrottlingException", "TooManyRequestsException",
    ],
)  # fmt: skip
def test_every_aws_code_for_an_exhausted_quota_is_temporary(code: str) -> None:
    fault = explain(code, "dynamodb:PutItem", "table", "post")
    assert fault
    assert fault.kind is FaultKind.QUOTA
    with pytest.raises(NotNowError), transient_as_not_now():
        raise ClientError({"Error": {"Code": code, "Message": ""}}, "PutItem")


@pytest.mark.parametrize(
    "code", ["AccessDeniedException", "KMS.DisabledException", "KmsInvalidState", "DecryptionFailure", "NoSuchBucket"]
)
def test_a_broken_resource_is_not_a_quota_and_not_temporary(code: str) -> None:
    fault = explain(code, "secretsmanager:GetSecretValue", "secret", "s")
    assert fault
    assert fault.kind is FaultKind.BROKEN
    with pytest.raises(ClientError), transient_as_not_now():
        raise ClientError({"Error": {"Code": code, "Message": ""}}, "GetSecretValue")


@pytest.mark.parametrize(
    "code", ["ConditionalCheckFailedException", "InternalServerError", "NoSuchKey", "ValidationException"]
)
def test_other_errors_and_programming_errors_have_no_sentence(code: str) -> None:
    assert explain(code, "dynamodb:PutItem", "table", "post") is None


def test_a_sentence_names_the_resource_of_the_call_and_never_a_key(deployed: Deployed) -> None:
    made, own_faults = new_clients(), OwnFaults()
    dynamodb, s3, sqs = (with_error_context(each, own_faults) for each in (made.dynamodb, made.s3, made.sqs))
    key = {"pk": {"S": "somebody.example"}}
    with pytest.raises(ClientError), transient_as_not_now():
        dynamodb.get_item(TableName="gone", Key=key)
    with pytest.raises(CancelledError), transacting():
        dynamodb.transact_write_items(TransactItems=[{"Delete": {"TableName": "gone too", "Key": key}}])
    with pytest.raises(ClientError), transient_as_not_now():
        s3.put_object(Bucket="no-bucket", Key="somebody.example", Body=b"")
    with pytest.raises(ClientError), transient_as_not_now():
        sqs.send_message(QueueUrl="https://sqs.eu-west-1.amazonaws.com/123456789012/none", MessageBody="x")
    sentences = [fault.sentence.partition(".")[0] for fault in own_faults.take()]
    assert sentences == [
        "table gone: it does not exist (dynamodb:GetItem)",
        "table gone too: it does not exist (dynamodb:TransactWriteItems)",
        "bucket no-bucket: it does not exist (s3:PutObject)",
        "queue none: it does not exist (sqs:SendMessage)",
    ]


def test_a_fault_behind_another_error_is_reported() -> None:
    own_faults = OwnFaults()
    dynamodb = with_error_context(new_clients().dynamodb, own_faults)
    with Stubber(dynamodb) as stub:
        stub.add_client_error("get_item", "AccessDeniedException")
        with pytest.raises(ClientError) as refused:
            dynamodb.get_item(TableName="post", Key={"pk": {"S": "x"}})
    with pytest.raises(BotoCoreError), transient_as_not_now():
        raise BotoCoreError from refused.value
    [fault] = own_faults.take()
    assert fault.sentence.startswith("table post: the function's role does not allow dynamodb:GetItem")


def test_a_throttled_transaction_is_reported() -> None:
    own_faults = OwnFaults()
    dynamodb = with_error_context(new_clients().dynamodb, own_faults)
    with Stubber(dynamodb) as stub:
        reasons = {"CancellationReasons": [{"Code": "None"}, {"Code": "ThrottlingError"}]}
        stub.add_client_error("transact_write_items", "TransactionCanceledException", modeled_fields=reasons)
        with pytest.raises(CancelledError), transacting():
            dynamodb.transact_write_items(TransactItems=[{"Delete": {"TableName": "post", "Key": {"pk": {"S": "x"}}}}])
    [fault] = own_faults.take()
    assert fault.kind is FaultKind.QUOTA


def test_a_refused_event_is_reported() -> None:
    made, own_faults = boto3.Session("testing", "testing", region_name="eu-west-1").client("events"), OwnFaults()
    with Stubber(made) as stub:
        refused = {"ErrorCode": "ThrottlingException", "ErrorMessage": ""}
        stub.add_response("put_events", {"FailedEntryCount": 1, "Entries": [refused]})
        with pytest.raises(NotNowError):
            AwsForwarding(new_clients().sqs, made, own_faults).forward(BUS, {})
    [fault] = own_faults.take()
    assert fault.sentence.startswith(f"event bus {BUS}: AWS is throttling events:PutEvents")


def test_a_fault_of_ours_is_recognized_behind_other_errors() -> None:
    with pytest.raises(NotNowError) as caught, transient_as_not_now():
        raise ClientError({"Error": {"Code": "SlowDown", "Message": ""}}, "PutObject")
    assert our_own_fault(caught.value)
    assert our_own_fault(ValueError("our code")) is None
