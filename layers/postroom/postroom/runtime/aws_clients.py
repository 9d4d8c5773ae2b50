"""The type of a deployment's source of AWS clients; it is not imported at run time."""

from typing import TYPE_CHECKING, Literal, Protocol, overload

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_logs import CloudWatchLogsClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_secretsmanager import SecretsManagerClient
    from mypy_boto3_sns import SNSClient
    from mypy_boto3_sqs import SQSClient


class AwsClients(Protocol):
    """The AWS clients of one account, by service. A local stack and a session of boto3 offer them, too."""

    @overload
    def __call__(self, service: Literal["dynamodb"], /) -> "DynamoDBClient": ...
    @overload
    def __call__(self, service: Literal["events"], /) -> "EventBridgeClient": ...
    @overload
    def __call__(self, service: Literal["lambda"], /) -> "LambdaClient": ...
    @overload
    def __call__(self, service: Literal["logs"], /) -> "CloudWatchLogsClient": ...
    @overload
    def __call__(self, service: Literal["s3"], /) -> "S3Client": ...
    @overload
    def __call__(self, service: Literal["secretsmanager"], /) -> "SecretsManagerClient": ...
    @overload
    def __call__(self, service: Literal["sns"], /) -> "SNSClient": ...
    @overload
    def __call__(self, service: Literal["sqs"], /) -> "SQSClient": ...
