"""What tests run on: a deployment that a process makes once, and each test gets as it was made."""

import json
from collections.abc import Callable
from typing import Any

import boto3
from moto import mock_aws
from tests.aws import Clients, Deployed, deploy, deployment, held

REGION = "eu-west-1"
_OF_ONE_DEPLOYMENT = {"CreatedTimestamp", "CreationDateTime", "LastModifiedTimestamp", "TableId"}
"""What two deployments differ in, beside generated secrets and the end of a secret's ARN."""


def _put_item(made: Deployed) -> None:
    made.clients.dynamodb.put_item(
        TableName=made.tables["SeenTable"], Item={"pk": {"S": "p"}, "sk": {"S": "s"}, "ttl": {"N": "1"}}
    )


def _send(made: Deployed, **more: Any) -> str:
    url = made.queues["ClaimsQueue"]
    made.clients.sqs.send_message(QueueUrl=url, MessageBody="left", MessageGroupId="group", **more)
    return url


def _in_another_region(made: Deployed) -> None:
    boto3.client("dynamodb", region_name="us-east-1").create_table(
        TableName="PostTable", BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
    )  # fmt: skip


def _secret(made: Deployed) -> dict[str, Any]:
    return {"SecretId": made.secrets["SigningKeys"]}


_LEFT: dict[str, Callable[[Deployed], object]] = {
    "an item": _put_item,
    "TTL switched off": lambda made: made.clients.dynamodb.update_time_to_live(
        TableName=made.tables["SeenTable"], TimeToLiveSpecification={"Enabled": False, "AttributeName": "ttl"}
    ),
    "no table": lambda made: made.clients.dynamodb.delete_table(TableName=made.tables["PostTable"]),
    "a table elsewhere": _in_another_region,
    "an object": lambda made: made.clients.s3.put_object(Bucket=made.bucket, Key="seg/1", Body=b"left"),
    "an upload in parts": lambda made: made.clients.s3.create_multipart_upload(Bucket=made.bucket, Key="seg/1"),
    "a setting of the bucket": lambda made: made.clients.s3.put_bucket_versioning(
        Bucket=made.bucket, VersioningConfiguration={"Status": "Enabled"}
    ),
    "a bucket": lambda made: made.clients.s3.create_bucket(
        Bucket="mine", CreateBucketConfiguration={"LocationConstraint": REGION}
    ),
    "no bucket": lambda made: made.clients.s3.delete_bucket(Bucket=made.bucket),
    "a message": _send,
    "a message in flight": lambda made: made.clients.sqs.receive_message(QueueUrl=_send(made)),
    "a delayed message": lambda made: _send(made, DelaySeconds=900),
    "a setting of a queue": lambda made: made.clients.sqs.set_queue_attributes(
        QueueUrl=made.queues["ClaimsQueue"], Attributes={"VisibilityTimeout": "1"}
    ),
    "a purge": lambda made: made.clients.sqs.purge_queue(QueueUrl=made.queues["ClaimsQueue"]),
    "a queue": lambda made: made.clients.sqs.create_queue(QueueName="mine"),
    "a value of a secret": lambda made: made.clients.secrets.put_secret_value(**_secret(made), SecretString="left"),
    "a secret marked for deletion": lambda made: made.clients.secrets.delete_secret(**_secret(made)),
    "a secret": lambda made: made.clients.secrets.create_secret(Name="mine", SecretString="left"),
    "a topic": lambda made: boto3.client("sns", region_name=REGION).create_topic(Name="mine"),
    "an event bus": lambda made: boto3.client("events", region_name=REGION).create_event_bus(Name="mine"),
}


def test_no_state_of_a_test_is_seen_by_the_next(clients: Clients) -> None:
    with deployment(clients):
        untouched = held()
    for what, leave in _LEFT.items():
        with deployment(clients) as made:
            assert held() == untouched
            leave(made)
            assert held() != untouched, f"{what} would not be noticed"
    with deployment(clients) as made:
        assert held() == untouched
        assert not any(made.dump().values())


def test_changes_of_a_deployments_names_do_not_outlive_it(clients: Clients) -> None:
    with deployment(clients) as made:
        for names in (made.secrets, made.tables, made.queues):
            names.clear()
    with deployment(clients) as made:
        assert all((made.secrets, made.tables, made.queues))


def test_a_copy_of_the_deployment_is_what_deploying_makes(clients: Clients) -> None:
    with mock_aws():
        new = _described(deploy(clients))
    with deployment(clients) as made:
        assert _described(made) == new


def _described(made: Deployed) -> Any:
    """What AWS says of all that is there."""
    at = made.clients
    tables = at.dynamodb.list_tables()["TableNames"]
    queues = at.sqs.list_queues()["QueueUrls"]
    buckets = [bucket["Name"] for bucket in at.s3.list_buckets()["Buckets"]]
    secrets = [secret["Name"] for secret in at.secrets.list_secrets()["SecretList"]]
    said = [
        [at.dynamodb.describe_table(TableName=name)["Table"] for name in tables],
        [at.dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"] for name in tables],
        [at.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"] for url in queues],
        [at.s3.get_bucket_ownership_controls(Bucket=name)["OwnershipControls"] for name in buckets],
        [at.s3.get_bucket_location(Bucket=name)["LocationConstraint"] for name in buckets],
        [sorted(json.loads(at.secrets.get_secret_value(SecretId=name)["SecretString"])) for name in secrets],
        [tables, queues, buckets, secrets, made.bucket, made.tables, made.queues, sorted(made.secrets)],
    ]
    return _without(_OF_ONE_DEPLOYMENT, said)


def _without(names: set[str], said: Any) -> Any:
    if isinstance(said, dict):
        return {name: _without(names, value) for name, value in said.items() if name not in names}
    return [_without(names, each) for each in said] if isinstance(said, list) else said
