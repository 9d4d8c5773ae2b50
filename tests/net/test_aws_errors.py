import io

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    IncompleteReadError,
    NoCredentialsError,
    ReadTimeoutError,
    ResponseStreamingError,
)
from botocore.response import StreamingBody
from botocore.stub import Stubber
from tests.aws import Clients

from postroom.core.errors import NotNowError
from postroom.core.reasons import NOT_QUEUED, STORE_UNAVAILABLE
from postroom.net.aws_errors import transient_as_not_now
from postroom.storage.aws.object_store import ObjectStore, Place
from postroom.storage.aws.queue import Queue

PASSING = [
    ("ProvisionedThroughputExceededException", 400),
    ("ThrottlingException", 400),
    ("RequestLimitExceeded", 400),
    ("TransactionInProgressException", 400),
    ("RequestTimeout", 400),
    ("ConditionalRequestConflict", 409),
    ("RequestThrottledException", 429),
    ("InternalServerError", 500),
    ("AnythingAtAll", 502),
    ("SlowDown", 503),
]
OURS = [
    ("AccessDeniedException", 400),
    ("ValidationException", 400),
    ("ResourceNotFoundException", 400),
    ("AccessDenied", 403),
]


@pytest.mark.parametrize(("code", "status"), PASSING)
def test_throttling_and_5xx_of_aws_are_temporary(code: str, status: int, clients: Clients) -> None:
    s3 = clients.s3
    with Stubber(s3) as stub:
        stub.add_client_error("put_object", code, http_status_code=status)
        with pytest.raises(NotNowError) as caught:
            ObjectStore(s3, "bucket").put("name", b"")
    assert caught.value.reason is STORE_UNAVAILABLE


@pytest.mark.parametrize(("code", "status"), OURS)
def test_our_own_mistakes_are_raised_unchanged(code: str, status: int, clients: Clients) -> None:
    s3 = clients.s3
    with Stubber(s3) as stub:
        stub.add_client_error("get_object", code, http_status_code=status)
        with pytest.raises(ClientError) as caught:
            ObjectStore(s3, "bucket").get("name")
    assert caught.value.response["Error"]["Code"] == code


@pytest.mark.parametrize(
    "fault",
    [
        ConnectTimeoutError(endpoint_url="x"),
        EndpointConnectionError(endpoint_url="x"),
        ReadTimeoutError(endpoint_url="x"),
        ResponseStreamingError(error="x"),
        IncompleteReadError(actual_bytes=1, expected_bytes=2),
    ],
)
def test_timeouts_and_broken_connections_are_temporary(fault: Exception) -> None:
    with pytest.raises(NotNowError), transient_as_not_now():
        raise fault


def test_missing_credentials_are_not_temporary() -> None:
    with pytest.raises(NoCredentialsError), transient_as_not_now():
        raise NoCredentialsError


def test_a_truncated_response_is_temporary(clients: Clients) -> None:
    s3 = clients.s3
    with Stubber(s3) as stub:
        stub.add_response("get_object", {"Body": StreamingBody(io.BytesIO(b"12"), 5)})
        with pytest.raises(NotNowError):
            ObjectStore(s3, "bucket").get_range(Place("name", 0, 5))


def test_the_caller_names_the_reason(clients: Clients) -> None:
    sqs = clients.sqs
    with Stubber(sqs) as stub:
        stub.add_client_error("send_message", "RequestThrottled", http_status_code=403)
        with pytest.raises(NotNowError) as caught:
            Queue(sqs, "https://queue").send("{}", reason=NOT_QUEUED)
    assert caught.value.reason is NOT_QUEUED
