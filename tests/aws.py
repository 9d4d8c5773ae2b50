"""What template.yaml says of tables, bucket, queues and secret, made real in moto: tests run what is deployed.

A process deploys once. Each test gets a copy of what moto held then, and moto forgets everything else: nothing that a
test leaves, in any service, is seen by the next (tests/storage/test_deployed.py).

moto is not thread safe and DynamoDB is: every call of these clients passes one lock, or the turnstile of a test.
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
from moto import mock_aws
from moto.backends import get_backend
from moto.core import models
from moto.core.base_backend import BackendDict

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
CLAIM_QUEUES = ("ClaimsQueue", "RetryQueue", "SuspectsQueue", "DeadLetterQueue")

Json = dict[str, Any]
Gate = Callable[[str], AbstractContextManager[object]]
"""What each call of AWS passes through; it is given the operation, as `PutItem`."""


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
    """A template as it stands, its intrinsic functions unresolved."""
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
    """The properties of a function, with those that the template says for all of them."""
    return {**template()["Globals"]["Function"], **resources("AWS::Serverless::Function")[name]}


def memory_bytes(name: str) -> int:
    """How much memory a run of a function has."""
    return int(function(name)["MemorySize"]) * 1024 * 1024


@dataclass
class Clients:
    """The clients of one actor."""

    dynamodb: "DynamoDBClient"
    s3: "S3Client"
    sqs: "SQSClient"
    secrets: "SecretsManagerClient"

    def __call__(self, service: str, /) -> Any:
        """By their services' names, as a deployment asks for them."""
        return {"dynamodb": self.dynamodb, "s3": self.s3, "sqs": self.sqs, "secretsmanager": self.secrets}[service]

    def all(self) -> tuple[Any, ...]:
        return (self.dynamodb, self.s3, self.sqs, self.secrets)


def new_clients() -> Clients:
    session = boto3.Session("testing", "testing", region_name=_REGION)
    return Clients(
        session.client("dynamodb"), session.client("s3"), session.client("sqs"), session.client("secretsmanager")
    )


def deploy_on(clients: local.Clients) -> "Deployed":
    """The template's tables, bucket, queues and secrets in an account of the embedded AWS: real HTTP, real threads."""
    mine = Clients(clients("dynamodb"), clients("s3"), clients("sqs"), clients("secretsmanager"))
    # Bucket names are one namespace for all accounts.
    return deploy(mine, bucket=f"bucket-{clients.account}")


def gate_calls(clients: Clients, gate: Gate) -> None:
    """Let every call of these clients, those of paginators too, pass `gate` from now on."""
    for client in clients.all():
        original = type(client)._make_api_call

        def call(operation: str, request: Json, client: Any = client, original: Any = original) -> object:
            with gate(operation):
                return original(client, operation, request)

        client._make_api_call = call


@dataclass
class Deployed:
    """The store of a fresh deployment. `tables` and `queues` go by the template's logical names."""

    clients: Clients
    bucket: str = "bucket"
    secrets: dict[str, str] = field(default_factory=dict)
    tables: dict[str, str] = field(default_factory=dict)
    queues: dict[str, str] = field(default_factory=dict)

    def parts(self, clients: AwsClients | None = None, system: System | None = None, **settings: Any) -> Deployment:
        """Its objects, as a process of its own would make them. `settings`: those that are not the template's."""
        outputs = {
            "Bucket": self.bucket,
            **self.tables,
            **{f"{name}Url": url for name, url in self.queues.items()},
            **{f"{name}Secret": secret for name, secret in self.secrets.items()},
        }
        return Deployment(replace(read_outputs(outputs), **settings), clients or self.clients, system=system)

    @property
    def storage(self) -> StorageParts:
        """What it stores things in."""
        return self.parts().storage

    def bodies(self, queue: str) -> list[str]:
        """The messages of a queue, delayed and invisible ones too, as they lie there; nothing is received."""
        return [message.body for message in self._messages(queue)]

    def filed(self, mailbox: str) -> list[Line]:
        """What the owner of a mailbox finds, by our reader."""
        reader = self.storage.reader
        messages = [reader.fetch(row) for row in reader.list(mailbox, 1, now=int(time.time()))]
        return [message.line for message in messages if message is not None]

    def groups(self, queue: str) -> list[str]:
        """The message group of each message of a queue; empty: it was sent without."""
        return [message.group_id or "" for message in self._messages(queue)]

    def delays(self, queue: str) -> list[float]:
        """How many seconds each message of a queue was delayed by."""
        return [max(0, round((each.delayed_until - each.sent_timestamp) / 1000)) for each in self._messages(queue)]

    def empty(self, queue: str) -> None:
        """Throw away what lies in a queue: moto slows down with every message, and purges once a minute."""
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
        """Everything that is stored anywhere."""
        return {
            **{name: self.rows(name) for name in self.tables},
            **{name: self.bodies(name) for name in self.queues},
            "objects": self.objects(),
        }

    @property
    def audited_store(self) -> AuditedStore:
        """The store, as an audit looks at it."""
        return self.storage.audited_store

    def item(self, table: str, **key: str) -> Json | None:
        """One item, read consistently."""
        found = self.clients.dynamodb.get_item(
            TableName=self.tables[table], Key={name: {"S": value} for name, value in key.items()}, ConsistentRead=True
        )
        return found.get("Item")


@pytest.fixture(scope="session")
def clients() -> Clients:
    """One lock for all threads of a test: DynamoDB's item operations are atomic, moto's are not."""
    made, lock = new_clients(), RLock()
    gate_calls(made, lambda _operation: lock)
    return made


@pytest.fixture
def deployed(clients: Clients) -> Iterator[Deployed]:
    with deployment(clients) as made:
        yield made


@contextmanager
def deployment(clients: Clients) -> Iterator[Deployed]:
    """A fresh deployment in moto; one at a time."""
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
    # botocore asks moto itself; what answers `requests` is some 1,300 patterns that take milliseconds to set up.
    with patch.object(models, "RESPONSES_METHODS", []), mock_aws():
        yield


@cache
def _deployed_once() -> tuple[Deployed, bytes]:
    """What was made, and all that moto holds then."""
    with _moto():
        return deploy(new_clients()), held()


def held() -> bytes:
    """All that moto holds, of whatever service, account and region."""
    file = BytesIO()
    _Pickler(file).dump([(each, dict(each), vars(each)) for each in BackendDict._instances])
    return file.getvalue()


class _Pickler(pickle.Pickler):
    """moto knows a service's backends by identity, and a queue of it has a lock."""

    def persistent_id(self, value: object) -> str | None:
        return value.service_name if isinstance(value, BackendDict) else None

    def reducer_override(self, value: object) -> Any:
        return (Condition, ()) if isinstance(value, Condition) else NotImplemented


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, name: Any) -> object:
        return get_backend(name)


def _generated(clients: Clients, said: Json) -> str:
    """What CloudFormation makes of GenerateSecretString."""
    options = {name: value for name, value in said.items() if name in ("PasswordLength", "ExcludePunctuation")}
    password = clients.secrets.get_random_password(**options)["RandomPassword"]
    return json.dumps({**json.loads(said["SecretStringTemplate"]), said["GenerateStringKey"]: password})


def _indexes(table: Json) -> Json:
    """But for their ceilings, which are parameters, and not worked out here."""
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
    # Dead-letter queues first: the others name them.
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
