"""The embedded AWS answers only requests that are signed by a key of its stack, and no web page."""

import hashlib
import http.client
from collections.abc import Mapping

import pytest
import urllib3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from tests.roles import session_of

from postroom.local.account import LocalAccount
from postroom.local.clients import REGION, Clients, clean_session
from postroom.local.stack import LocalDeployment, LocalStack

ACCOUNT = "111111111111"
QUERY = f"X-Amz-Credential={ACCOUNT}%2F20260101%2F{REGION}%2Flambda%2Faws4_request"
"""With it alone, MiniStack takes a request for one of the account's root."""
PRESIGNED = f"{QUERY}&X-Amz-Signature=00&X-Amz-SignedHeaders=host&X-Amz-Date=20260101T000000Z"


def sent(
    stack: LocalStack, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """The status and the body of the answer to a request as it is given."""
    answer = urllib3.request(
        method, f"{stack.emulator.endpoint}{path}", body=body, headers=dict(headers or {}), retries=False
    )
    return answer.status, answer.data.decode()


def signed(
    stack: LocalStack, service: str, method: str, path: str, body: bytes = b"", *, secret: str = "", **headers: str
) -> dict[str, str]:
    """The headers of a request that the root of ACCOUNT signs, with the stack's secret or another one."""
    request = AWSRequest(method, f"{stack.emulator.endpoint}{path}", headers, body)
    SigV4Auth(Credentials(ACCOUNT, secret or stack.emulator.secret), service, REGION).add_auth(request)
    return dict(request.headers)


@pytest.mark.parametrize(
    ("method", "path", "body", "headers"),
    [
        ("POST", "/", b"Action=ListQueues&Version=2012-11-05", {"Content-Type": "text/plain"}),
        ("POST", f"/2015-03-31/functions?{QUERY}", b"{}", {"Content-Type": "text/plain"}),
        ("GET", f"/2015-03-31/functions?{QUERY}", b"", {}),
        ("GET", f"/bucket/key?{PRESIGNED}", b"", {}),
        ("GET", "/bucket/key?AWSAccessKeyId=test&Signature=AA&Expires=4000000000", b"", {}),
        ("GET", "/", b"", {"Authorization": f"AWS {ACCOUNT}:AAAA"}),
        ("GET", "/", b"", {"Authorization": "Bearer x"}),
        ("GET", "/", b"", {"Authorization": "AWS4-HMAC-SHA256 nonsense"}),
        ("GET", "/", b"", {"Authorization": "AWS4-ECDSA-P256-SHA256 Credential=a/b/c/d, Signature=0"}),
        ("POST", "/_ministack/reset", b"", {}),
        ("POST", "/_ministack/config", b'{"a": 1}', {}),
        ("GET", "/_ministack/sqs/messages", b"", {}),
        ("POST", "/_ministack/rds/iam-auth", b"", {}),
        ("GET", "/_localstack/health", b"", {}),
        ("GET", "/health", b"", {}),
        ("OPTIONS", "/bucket", b"", {}),
        ("HEAD", "/bucket/key", b"", {}),
    ],
)  # fmt: skip
def test_an_unsigned_request_is_refused(
    stack: LocalStack, method: str, path: str, body: bytes, headers: dict[str, str]
) -> None:
    assert sent(stack, method, path, body, headers)[0] == 403


@pytest.mark.parametrize("path", ["/_ministack/reset", "/_ministack/config", "/_ministack/eks-auth/", "/_aws/x"])
def test_the_paths_of_ministack_are_gone_also_for_the_owner_of_the_secret(stack: LocalStack, path: str) -> None:
    assert sent(stack, "POST", path, b"", signed(stack, "sqs", "POST", path))[0] == 403


def test_a_request_with_an_origin_is_refused_also_if_it_is_signed(stack: LocalStack) -> None:
    headers = signed(stack, "s3", "GET", "/")
    assert sent(stack, "GET", "/", b"", headers)[0] == 200
    for origin in ("https://evil.example", "null", f"http://127.0.0.1:{stack.emulator.port}"):
        assert sent(stack, "GET", "/", b"", headers | {"Origin": origin})[0] == 403


def test_a_preflight_permits_nothing(stack: LocalStack) -> None:
    asked = {
        "Origin": "https://evil.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,x-amz-date",
    }
    answer = urllib3.request("OPTIONS", f"{stack.emulator.endpoint}/", headers=asked, retries=False)
    assert answer.status == 403
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]


@pytest.mark.parametrize("host", ["evil.example", "localhost:{port}", "abc.execute-api.localhost:{port}", "127.0.0.1"])
def test_a_foreign_host_is_refused_also_if_it_is_signed(stack: LocalStack, host: str) -> None:
    named = host.format(port=stack.emulator.port)
    headers = signed(stack, "s3", "GET", "/", Host=named)
    assert sent(stack, "GET", "/", b"", headers | {"Host": named})[0] == 403


def test_a_wrong_secret_is_named_by_the_code_of_aws(stack: LocalStack) -> None:
    others = Clients(LocalAccount(stack.emulator.endpoint, ACCOUNT, "local"))
    for call in (others("sqs").list_queues, others("dynamodb").list_tables, others("s3").list_buckets):
        with pytest.raises(ClientError) as refused:
            call()
        assert refused.value.response["Error"]["Code"] in ("SignatureDoesNotMatch", "InvalidSignatureException")


def test_an_unknown_key_is_refused(stack: LocalStack) -> None:
    for key in ("AKIAIOSFODNN7EXAMPLE", "ASIA0000000000000000", "test", "1234"):
        with pytest.raises(ClientError):
            Clients(LocalAccount(stack.emulator.endpoint, key, "test"))("sqs").list_queues()


def test_a_signature_covers_method_path_query_headers_and_body(stack: LocalStack) -> None:
    target = {"X-Amz-Target": "AmazonSQS.ListQueues", "Content-Type": "application/x-amz-json-1.0"}
    body = b"{}"
    headers = signed(stack, "sqs", "POST", "/", body, **target)
    assert sent(stack, "POST", "/", body, headers)[0] == 200
    assert sent(stack, "PUT", "/", body, headers)[0] == 403
    assert sent(stack, "POST", "/other", body, headers)[0] == 403
    assert sent(stack, "POST", "/?a=b", body, headers)[0] == 403
    assert sent(stack, "POST", "/", b'{"QueueNamePrefix": "a"}', headers)[0] == 403
    assert sent(stack, "POST", "/", body, headers | {"X-Amz-Target": "AmazonSQS.CreateQueue"})[0] == 403


def test_the_hash_of_a_body_that_is_signed_is_the_hash_of_the_body(stack: LocalStack) -> None:
    stack.emulator.clients(ACCOUNT)("s3").create_bucket(Bucket="bodies")
    digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    headers = signed(stack, "s3", "PUT", "/bodies/key", b"", **{"x-amz-content-sha256": digest})
    assert sent(stack, "PUT", "/bodies/key", b"another", headers)[0] == 403
    assert sent(stack, "PUT", "/bodies/key", b"", headers)[0] == 200


def test_a_signature_of_another_time_does_not_count(stack: LocalStack) -> None:
    request = AWSRequest("GET", f"{stack.emulator.endpoint}/", {"X-Amz-Date": "20260101T000000Z"}, b"")
    auth = SigV4Auth(Credentials(ACCOUNT, stack.emulator.secret), "s3", REGION)
    request.context["timestamp"] = "20260101T000000Z"
    request.headers["Authorization"] = _authorization(auth, request)
    assert sent(stack, "GET", "/", b"", dict(request.headers))[0] == 403


def _authorization(auth: SigV4Auth, request: AWSRequest) -> str:
    """The header for the time that the request has."""
    canonical = auth.canonical_request(request)
    signature = auth.signature(auth.string_to_sign(request, canonical), request)
    headers = auth.signed_headers(auth.headers_to_sign(request))
    return f"AWS4-HMAC-SHA256 Credential={auth.scope(request)}, SignedHeaders={headers}, Signature={signature}"


def test_the_key_that_is_checked_is_the_key_that_acts(stack: LocalStack) -> None:
    """MiniStack takes the first `Credential=` of the header, and its check of signatures the last one."""
    headers = signed(stack, "s3", "GET", "/")
    for before in (
        "X=Credential=222222222222/20260101/us-east-1/s3/aws4_request, ",
        "Credential=222222222222/a/b/c/d, ",
    ):
        forged = headers["Authorization"].replace("AWS4-HMAC-SHA256 ", f"AWS4-HMAC-SHA256 {before}")
        assert sent(stack, "GET", "/", b"", headers | {"Authorization": forged})[0] == 403


@pytest.mark.parametrize("signature", ["é" * 64, "0" * 63, "G" * 64, ""])
def test_a_signature_that_is_none_is_refused(stack: LocalStack, signature: str) -> None:
    headers = signed(stack, "s3", "GET", "/")
    forged = f"{headers['Authorization'].rpartition('=')[0]}={signature}"
    assert sent(stack, "GET", "/", b"", headers | {"Authorization": forged.encode().decode("latin-1")})[0] == 403


def test_only_the_root_of_an_account_looks_into_queues(stack: LocalStack, one: LocalDeployment) -> None:
    path = "/_ministack/sqs/messages"
    assert sent(stack, "GET", path, b"", signed(stack, "sqs", "GET", path))[0] == 200
    role = one.client("lambda").get_function_configuration(FunctionName=one.outputs["Inbox"])["Role"]
    given = session_of(one, role)
    request = AWSRequest("GET", f"{stack.emulator.endpoint}{path}", {}, b"")
    key = Credentials(given["AWS_ACCESS_KEY_ID"], given["AWS_SECRET_ACCESS_KEY"], given["AWS_SESSION_TOKEN"])
    SigV4Auth(key, "sqs", REGION).add_auth(request)
    assert sent(stack, "GET", path, b"", dict(request.headers))[0] == 403


def test_a_large_body_without_a_signature_is_not_read(stack: LocalStack) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", stack.emulator.port)
    connection.putrequest("POST", "/")
    connection.putheader("Content-Length", str(10**12))
    connection.endheaders()
    assert connection.getresponse().status == 403
    connection.close()


def test_the_credentials_of_a_role_cannot_be_computed_from_its_name(stack: LocalStack, one: LocalDeployment) -> None:
    """MiniStack derives them from the ARNs of the function and of its role, which others may know."""
    function = one.client("lambda").get_function_configuration(FunctionName=one.outputs["Inbox"])
    one.client("lambda").invoke(FunctionName=one.outputs["Inbox"], Payload=b'{"pathParameters": {"what": "where"}}')
    digest = hashlib.sha256(f"{function['FunctionArn']}:{function['Role']}".encode()).hexdigest()
    client = clean_session().client(
        "sqs",
        endpoint_url=stack.emulator.endpoint,
        aws_access_key_id=f"ASIA{digest[:16].upper()}",
        aws_secret_access_key=hashlib.sha256(f"secret:{digest}".encode()).hexdigest(),
        aws_session_token=hashlib.sha256(f"token:{digest}".encode()).hexdigest(),
    )
    with pytest.raises(ClientError):
        client.list_queues()
