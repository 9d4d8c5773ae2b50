"""boto3 clients that talk to the embedded AWS and to nothing else.

The caller's own AWS settings must not have an effect: a profile, a CA bundle or a proxy in the shell would send local
calls to a real account, or break them.
"""

import os
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, overload

import boto3
import botocore.session
from botocore.config import Config

from postroom.local.account import LocalAccount
from postroom.local.patience import PATIENCE_SECONDS

if TYPE_CHECKING:
    from botocore.client import BaseClient
    from mypy_boto3_apigatewayv2 import ApiGatewayV2Client
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_logs import CloudWatchLogsClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_secretsmanager import SecretsManagerClient
    from mypy_boto3_sns import SNSClient
    from mypy_boto3_sqs import SQSClient

REGION = "us-east-1"

_CONFIG = Config(
    retries={"total_max_attempts": 1},
    s3={"addressing_style": "path"},
    # An empty mapping, not None: None would read the environment.
    proxies={},
    connect_timeout=PATIENCE_SECONDS,
    read_timeout=PATIENCE_SECONDS,
    max_pool_connections=64,
)


@cache
def clean_session() -> boto3.Session:
    """Return the boto3 session that reads no profile, no configuration file and no environment."""
    nothing = {
        "profile": (None, None, None, None),
        "config_file": (None, None, os.devnull, None),
        "credentials_file": (None, None, os.devnull, None),
        "ca_bundle": (None, None, None, None),
    }
    core = botocore.session.Session(session_vars=nothing)
    return boto3.Session(botocore_session=core, region_name=REGION)


class Clients:
    """The clients of one account: `clients("sqs")`; each is created once."""

    def __init__(self, at: LocalAccount) -> None:
        self.at = at
        self.endpoint, self.account = at.endpoint_url, at.digits
        self._made: dict[str, Any] = {}

    @overload
    def __call__(self, service: Literal["apigatewayv2"]) -> "ApiGatewayV2Client": ...
    @overload
    def __call__(self, service: Literal["cloudformation"]) -> "CloudFormationClient": ...
    @overload
    def __call__(self, service: Literal["dynamodb"]) -> "DynamoDBClient": ...
    @overload
    def __call__(self, service: Literal["events"]) -> "EventBridgeClient": ...
    @overload
    def __call__(self, service: Literal["glue"]) -> "GlueClient": ...
    @overload
    def __call__(self, service: Literal["lambda"]) -> "LambdaClient": ...
    @overload
    def __call__(self, service: Literal["logs"]) -> "CloudWatchLogsClient": ...
    @overload
    def __call__(self, service: Literal["s3"]) -> "S3Client": ...
    @overload
    def __call__(self, service: Literal["secretsmanager"]) -> "SecretsManagerClient": ...
    @overload
    def __call__(self, service: Literal["sns"]) -> "SNSClient": ...
    @overload
    def __call__(self, service: Literal["sqs"]) -> "SQSClient": ...
    @overload
    def __call__(self, service: Literal["scheduler", "iam", "cloudwatch"]) -> "BaseClient": ...

    def __call__(self, service: str) -> Any:
        """Return the client of `service`. Its access key id is the account number, which separates the accounts."""
        if service not in self._made:
            make: Any = clean_session().client
            self._made[service] = make(
                service,
                endpoint_url=self.endpoint,
                aws_access_key_id=self.account,
                aws_secret_access_key=self.at.secret,
                config=_CONFIG,
            )
        return self._made[service]
