"""The tables, bucket, queues and secrets of template.yaml in moto or the embedded AWS, so that tests use the real ones.

A process deploys to moto once. Each test gets a copy of that state, and everything else in moto is removed, so no test
sees what an earlier one left in any service (tests/storage/test_deployed.py).

Unlike DynamoDB, moto is not thread-safe: every call of these clients takes one lock, or passes the gate of a test.
"""

import json
import pickle
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from io import BytesIO
from pathlib import Path
from threading import Condition, RLock
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import boto3
import pytest
import yaml
from botocore import UNSIGNED
from botocore.config import Config
from moto import mock_aws
from moto.backends import get_backend
from moto.core import models
from moto.core.base_backend import BackendDict
from tests.quick_moto import quicken

from postroom.core.settings import read_outputs
from postroom.local import clients as local
from postroom.local.template import inline
from postroom.runtime.aws_clients import AwsClients
from postroom.runtime.deployment import Deployment
from postroom.runtime.storage_parts import StorageParts
from postroom.runtime.system import System
from postroom.storage.audit.collection import AuditedStore
from postroom.storage.mail.segments import Line

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_secretsmanager import SecretsManagerClient
    from mypy_boto3_sqs import SQSClient

TEMPLATE = Path(__file__).parent.parent / "template.yaml"
HOSTS = TEMPLATE.parent / "functions" / "inbox" / "hosts.yaml"
NESTED = (TEMPLATE.parent / "glue_jobs" / "jobs.yaml", TEMPLATE.parent / "functions" / "alarms.yaml", HOSTS)
"""The templates of its nested stacks."""
_REGION = "eu-west-1"
_ACCOUNT = "123456789012"
CLAIM_QUEUES = ("ClaimsQueue", "RetryQueue", "SuspectsQueue", "LookUpsQueue", "WaitingQueue", "DeadLetterQueue")

Json = dict[str, Any]
Gate = Callable[[str], AbstractContextManager[object]]
"""A context manager around each AWS call; it gets the name of the operation, such as `PutItem`."""


class _CloudFormation(yaml.SafeLoader):
    """YAML with CloudFormation's short forms: `!Ref X` is {"Ref": "X"}, `!GetAtt X.Y` is {"Fn::GetAtt": "X.Y"}."""


def _short_form(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> Json:
    value: object
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        assert isinstance(node, yaml.MappingNode)
        value = loader.construct_mapping(node, deep=True)
    return {suffix if suffix == "Ref" else f"Fn::{suffix}": value}


_CloudFormation.add_multi_constructor("!", _short_form)


@cache
def read(path: Path) -> Json:
    """A template as written, with its intrinsic functions unresolved."""
    document: Json = yaml.load(path.read_text(encoding="utf-8"), _CloudFormation)
    return document


@cache
def template() -> Json:
    """template.yaml with the jobs and the alarms in place of their nested stacks."""
    return inline(read(TEMPLATE), TEMPLATE.parent, read)


def resources(kind: str) -> dict[str, Json]:
    """The properties of the template's resources of one type, by logical name."""
    return {
        name: resource["Properties"] for name, resource in template()["Resources"].items() if resource["Type"] == kind
    }


def function(name: str) -> Json:
    """The properties of a function, including the template's defaults for all functions."""
    return {**template()["Globals"]["Function"], **resources("AWS::Serverless::Function")[name]}


def memory_bytes(name: str) -> int:
    """The memory of a function in MB."""
    return int(function(name)["MemorySize"]) * 1024 * 1024


@dataclass
class Clients:
    """The clients of one actor."""

    dynamodb: "DynamoDBClient"
    s3: "S3Client"
    sqs: "SQSClient"
    secrets: "SecretsManagerClient"

    def __call__(self, service: str, /) -> Any:
        """The client of a service by its name, as `Deployment` expects it."""
        return {"dynamodb": self.dynamodb, "s3": self.s3, "sqs": self.sqs, "secretsmanager": self.secrets}[service]

    def all(self) -> tuple[Any, ...]:
        return (self.dynamodb, self.s3, self.sqs, self.secrets)


# moto looks at no signature, except that it takes an unsigned request of S3 for one of anybody, and finds the region of
# a request of SQS in it.
_SIGNED = Config(user_agent="tests")
_UNSIGNED = Config(user_agent="tests", signature_version=UNSIGNED)


def new_clients() -> Clients:
    """Clients of moto. They neither sign nor describe themselves where nobody looks, because most tests make calls."""
    quicken()
    session = boto3.Session("testing", "testing", region_name=_REGION)
    return Clients(
        session.client("dynamodb", config=_UNSIGNED),
        session.client("s3", config=_SIGNED),
        session.client("sqs", config=_SIGNED),
        session.client("secretsmanager", config=_UNSIGNED),
    )


def deploy_on(clients: local.Clients) -> "Deployed":
    """The template's tables, bucket, queues and secrets in an account of the embedded AWS: real HTTP, real threads."""
    mine = Clients(clients("dynamodb"), clients("s3"), clients("sqs"), clients("secretsmanager"))
    # Bucket names are unique across all accounts.
    return deploy(mine, bucket=f"bucket-{clients.account}")


def gate_calls(clients: Clients, gate: Gate) -> None:
    """Let every call of these clients, including those of paginators, pass `gate` from now on."""
    for client in clients.all():
        original = type(client)._make_api_call

        def call(operation: str, request: Json, client: Any = client, original: Any = original) -> object:
            with gate(operation):
                return original(client, operation, request)

        client._make_api_call = call


@dataclass
class Deployed:
    """The store of a new deployment. `tables`, `queues`: by the logical names of the template."""

    clients: Clients
    bucket: str = "bucket"
    secrets: dict[str, str] = field(default_factory=dict)
    tables: dict[str, str] = field(default_factory=dict)
    queues: dict[str, str] = field(default_factory=dict)

    def parts(self, clients: AwsClients | None = None, system: System | None = None, **settings: Any) -> Deployment:
        """A new `Deployment` for this store, as in a new process. `settings`: that differ from the template's."""
        outputs = {
            "Bucket": self.bucket,
            **self.tables,
            **{f"{name}Url": url for name, url in self.queues.items()},
            **{f"{name}Secret": secret for name, secret in self.secrets.items()},
        }
        return Deployment(replace(read_outputs(outputs), **settings), clients or self.clients, system=system)

    @property
    def storage(self) -> StorageParts:
        """Its tables, bucket and secrets as library objects."""
        return self.parts().storage

    def bodies(self, queue: str) -> list[str]:
        """The messages of a queue, including delayed and invisible ones; nothing is received."""
        return [message.body for message in self._messages(queue)]

    def filed(self, mailbox: str) -> list[Line]:
        """The messages that the owner of a mailbox can read."""
        reader = self.storage.reader
        messages = [reader.fetch(row) for row in reader.list(mailbox, 1, now=int(time.time()))]
        return [message.line for message in messages if message is not None]

    def groups(self, queue: str) -> list[str]:
        """The message group of each message of a queue; empty: none."""
        return [message.group_id or "" for message in self._messages(queue)]

    def delays(self, queue: str) -> list[float]:
        """The delay of each message of a queue in seconds."""
        return [max(0, round((each.delayed_until - each.sent_timestamp) / 1000)) for each in self._messages(queue)]

    def empty(self, queue: str) -> None:
        """Empty a queue, because moto slows down with its length, and allows only one purge a minute."""
        self._messages(queue).clear()

    def _messages(self, queue: str) -> list[Any]:
        messages: list[Any] = get_backend("sqs")[_ACCOUNT][_REGION].queues[queue]._messages
        return messages

    def rows(self, table: str) -> list[Json]:
        """All items of a table, by key."""
        pages = self.clients.dynamodb.get_paginator("scan").paginate(TableName=self.tables[table])
        return sorted((item for page in pages for item in page["Items"]), key=lambda item: json.dumps(item))

    def objects(self) -> dict[str, bytes]:
        """All objects of the bucket."""
        pages = self.clients.s3.get_paginator("list_objects_v2").paginate(Bucket=self.bucket)
        names = [entry["Key"] for page in pages for entry in page.get("Contents", [])]
        return {name: self.clients.s3.get_object(Bucket=self.bucket, Key=name)["Body"].read() for name in names}

    def dump(self) -> Json:
        """Everything that is stored: tables, bucket and queues."""
        return {
            **{name: self.rows(name) for name in self.tables},
            **{name: self.bodies(name) for name in self.queues},
            "objects": self.objects(),
        }

    @property
    def audited_store(self) -> AuditedStore:
        """The store, for an audit."""
        return self.storage.audited_store

    def item(self, table: str, **key: str) -> Json | None:
        """One item, read consistently."""
        found = self.clients.dynamodb.get_item(
            TableName=self.tables[table], Key={name: {"S": value} for name, value in key.items()}, ConsistentRead=True
        )
        return found.get("Item")


@pytest.fixture(scope="session")
def clients() -> Clients:
    """One lock for all threads of a test, because DynamoDB's item operations are atomic, and moto's are not."""
    made, lock = new_clients(), RLock()
    gate_calls(made, lambda _operation: lock)
    return made


@pytest.fixture
def deployed(clients: Clients) -> Iterator[Deployed]:
    with deployment(clients) as made:
        yield made


@contextmanager
def deployment(clients: Clients) -> Iterator[Deployed]:
    """A new deployment in moto; only one at a time."""
    made, state = _deployed_once()
    with holding(state):
        yield Deployed(clients, made.bucket, {**made.secrets}, {**made.tables}, {**made.queues})


@contextmanager
def holding(state: bytes) -> Iterator[None]:
    """moto with a state that `held` returned, and nothing else."""
    assert not models.MockAWS._mocks_active, "a deployment takes the whole of moto"
    with _moto():
        for backends, accounts, attributes in _Unpickler(BytesIO(state)).load():
            backends.update(accounts)
            vars(backends).update(attributes)
            BackendDict._instances.append(backends)
        yield


@contextmanager
def _moto() -> Iterator[None]:
    # botocore calls moto directly; the 1,300 patterns for `requests` are not needed, and take milliseconds to set up.
    with patch.object(models, "RESPONSES_METHODS", []), mock_aws():
        yield


@cache
def _deployed_once() -> tuple[Deployed, bytes]:
    """The deployment, and the state of moto after it."""
    with _moto():
        return deploy(new_clients()), held()


def held() -> bytes:
    """The whole state of moto: all services, accounts and regions."""
    file = BytesIO()
    _Pickler(file).dump([(each, dict(each), vars(each)) for each in BackendDict._instances])
    return file.getvalue()


class _Pickler(pickle.Pickler):
    """Pickles a state. moto compares the backends of services by identity; the locks of its queues are replaced."""

    def persistent_id(self, value: object) -> str | None:
        return value.service_name if isinstance(value, BackendDict) else None

    def reducer_override(self, value: object) -> Any:
        return (Condition, ()) if isinstance(value, Condition) else NotImplemented


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, name: Any) -> object:
        return get_backend(name)


def _generated(clients: Clients, said: Json) -> str:
    """The value that CloudFormation generates for GenerateSecretString."""
    options = {name: value for name, value in said.items() if name in ("PasswordLength", "ExcludePunctuation")}
    password = clients.secrets.get_random_password(**options)["RandomPassword"]
    return json.dumps({**json.loads(said["SecretStringTemplate"]), said["GenerateStringKey"]: password})


def _indexes(table: Json) -> Json:
    """The indexes of a table, without their throughput limits, which are unresolved parameters."""
    said = [
        {k: v for k, v in one.items() if k != "OnDemandThroughput"} for one in table.get("GlobalSecondaryIndexes", [])
    ]
    return {"GlobalSecondaryIndexes": said} if said else {}


def deploy(clients: Clients, bucket: str = "bucket") -> Deployed:
    """The template's tables, bucket, queues and secrets."""
    made = Deployed(clients, bucket)
    for name, table in resources("AWS::DynamoDB::Table").items():
        clients.dynamodb.create_table(
            TableName=name,
            BillingMode=table["BillingMode"],
            AttributeDefinitions=table["AttributeDefinitions"],
            KeySchema=table["KeySchema"],
            **_indexes(table),
        )
        if "TimeToLiveSpecification" in table:
            clients.dynamodb.update_time_to_live(
                TableName=name, TimeToLiveSpecification=table["TimeToLiveSpecification"]
            )
        made.tables[name] = name
    [said] = resources("AWS::S3::Bucket").values()
    clients.s3.create_bucket(
        Bucket=made.bucket,
        ObjectOwnership=said["OwnershipControls"]["Rules"][0]["ObjectOwnership"],
        CreateBucketConfiguration={"LocationConstraint": _REGION},  # type: ignore[typeddict-item]
    )
    queues = resources("AWS::SQS::Queue")
    # Dead-letter queues first, because the others refer to them.
    for name, queue in sorted(queues.items(), key=lambda entry: "RedrivePolicy" in entry[1]):
        attributes = {key: str(value) for key, value in queue.items() if key != "RedrivePolicy"}
        if "RedrivePolicy" in queue:
            target = queue["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"].removesuffix(".Arn")
            asked = clients.sqs.get_queue_attributes(QueueUrl=made.queues[target], AttributeNames=["QueueArn"])
            policy = {**queue["RedrivePolicy"], "deadLetterTargetArn": asked["Attributes"]["QueueArn"]}
            attributes["RedrivePolicy"] = json.dumps(policy)
        made.queues[name] = clients.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]  # type: ignore[arg-type]
    for name, secret in resources("AWS::SecretsManager::Secret").items():
        text = (
            secret["SecretString"] if "SecretString" in secret else _generated(clients, secret["GenerateSecretString"])
        )
        made.secrets[name] = clients.secrets.create_secret(Name=name, SecretString=text)["ARN"]
    return made
