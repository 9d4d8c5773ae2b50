"""The deployment that a command works on: one on AWS by its stack's name, or one of a local stack."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from postroom.cli.descriptor import DEFAULT_PATH, read_descriptor
from postroom.cli.exits import NotFoundFault, UnavailableFault, UsageFault
from postroom.local.account import LocalAccount

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_secretsmanager import SecretsManagerClient
    from mypy_boto3_sqs import SQSClient

    from postroom.http.notifications import NotificationTargetSettings
    from postroom.http.usage import Counting
    from postroom.runtime.deployment import Deployment
    from postroom.runtime.storage_parts import StorageParts
    from postroom.storage.audit.collection import AuditedStore
    from postroom.storage.directory.domains import Directory
    from postroom.storage.directory.mailboxes import Mailboxes
    from postroom.storage.directory.operators import Operators
    from postroom.storage.mail.reader import Reader
    from postroom.storage.mail.register import Register
    from postroom.storage.mail.segments import Objects
    from postroom.storage.secrets.secret import Secret
    from postroom.storage.secrets.signing_keys import SigningKeys
    from postroom.storage.secrets.token_keys import TokenKeys


@dataclass(frozen=True)
class OpenDeployment:
    """A deployment: the outputs of its stack, and clients of the account it lives in. `local`: None on AWS.

    `name`: of its stack. `clients`: of any service, for what only an operator looks at.
    """

    outputs: Mapping[str, str]
    name: str
    clients: Callable[[str], Any]
    local: "LocalAccount | None" = None

    @cached_property
    def deployment(self) -> "Deployment":
        """Its parts; nothing of it is remembered from one look to the next."""
        from postroom.core.settings import read_outputs
        from postroom.runtime.deployment import Deployment

        return Deployment(replace(read_outputs(self.outputs), directory_cache_seconds=0), self.clients)

    def _storage(self, *outputs: str) -> "StorageParts":
        """Where things are stored, if the stack has these outputs."""
        for name in outputs:
            self.output(name)
        return self.deployment.storage

    @property
    def dynamodb(self) -> "DynamoDBClient":
        """The client of its tables."""
        return self.deployment.storage.dynamodb

    @property
    def s3(self) -> "S3Client":
        """The client of its bucket."""
        return self.deployment.storage.s3

    @property
    def secrets(self) -> "SecretsManagerClient":
        """The client of its secrets."""
        return self.deployment.storage.secretsmanager

    @property
    def sqs(self) -> "SQSClient":
        """The client of its queues."""
        return self.deployment.storage.sqs

    def operators(self) -> "Operators":
        """What writes the directory."""
        return self._storage("DirectoryTable").operators

    def directory(self) -> "Directory":
        """What reads the directory."""
        return self._storage("DirectoryTable").directory

    def mailboxes(self) -> "Mailboxes":
        """What writes who picks mail up."""
        return self._storage("DirectoryTable").mailboxes

    def counting(self) -> "Counting":
        """What keeps count of how much mailboxes hold."""
        self._storage("DirectoryTable", "LimitsTable")
        return self.deployment.mailbox_api.counting

    def register(self) -> "Register":
        """The rows of mailboxes."""
        return self._storage("PostTable").register

    def reader(self) -> "Reader":
        """What lists and fetches."""
        return self._storage("PostTable", "Bucket").reader

    def objects(self) -> "Objects":
        """The bucket."""
        return self._storage("Bucket").objects

    def signing_keys(self) -> "SigningKeys":
        """The private keys of the deployment's domains."""
        return self._storage("SigningKeysSecret").signing_keys

    def token_keys(self) -> "TokenKeys":
        """What signs owners' tokens."""
        return self._storage("TokenKeysSecret").token_keys

    def targets(self) -> "NotificationTargetSettings":
        """Who is told that something waits: what the mailbox API does for owners."""
        self._storage(
            "DirectoryTable", "LimitsTable", "WebhookKeysSecret", "CourierQueueUrl", "OutboundPort", "NotifyTopicArn"
        )
        return self.deployment.mailbox_api.targets

    def delivery_service_keys(self) -> "Secret":
        """The private keys of the dm3 delivery service, as they are stored; empty: it has none."""
        return self._storage("DeliveryServiceKeysSecret").delivery_service_secret

    def premises(self) -> "AuditedStore":
        """The store, as an audit looks at it."""
        queues = ("Claims", "Retry", "Suspects", "DeadLetter", "Courier", "CourierDeadLetter")
        return self._storage("PostTable", "SeenTable", "Bucket", *(f"{name}QueueUrl" for name in queues)).premises

    @property
    def retain_seconds(self) -> int:
        """How long the deployment remembers identities and tombstones."""
        return int(self.output("RetainSeconds"))

    @property
    def dm3_message_ttl_days(self) -> int:
        """How long letters are kept, as their senders are told; 0: without end."""
        # Of a deployment of the release before, none is told.
        return int(self.outputs.get("Dm3MessageTtlDays", "0"))

    def door_log(self, *, since: float, until: float) -> Iterator[str]:
        """The door's log lines of the messages that it queued. `since`, `until`: epoch seconds."""
        from postroom.storage.mail.ledger import logged_lines

        group = f"/aws/lambda/{self.output('InboxFunction')}"
        return logged_lines(self.clients("logs"), group, since_ms=int(since * 1000), until_ms=int(until * 1000))

    def output(self, name: str) -> str:
        """What the stack says of itself under this name. Raises UsageFault where it does not."""
        if name not in self.outputs:
            raise UsageFault(f"the stack has no output {name}: it is not a deployment of postroom, or an older one")
        return self.outputs[name]


def open_office(stack_name: str | None, local: Path | None, deployment: str | None) -> OpenDeployment:
    """The deployment that the options name; without any, that of the local stack started in this folder.

    Raises UsageFault, NotFoundFault or UnavailableFault.
    """
    if stack_name and local:
        raise UsageFault("--stack-name and --local name two deployments; say one of them (or unset its variable)")
    if stack_name:
        return _on_aws(stack_name)
    if local is None and not DEFAULT_PATH.exists():
        raise UsageFault(
            "no deployment is named: say --stack-name NAME for one on AWS, or --local PATH for a local stack "
            "(`postroom up` starts one)"
        )
    return _in_local_stack(local or DEFAULT_PATH, deployment)


def _on_aws(stack_name: str) -> OpenDeployment:
    import boto3
    from botocore.exceptions import ClientError

    from postroom.net.aws import error_code

    session = boto3.Session()
    try:
        stacks = session.client("cloudformation").describe_stacks(StackName=stack_name)["Stacks"]
    except ClientError as error:
        if error_code(error) == "ValidationError":
            raise NotFoundFault(
                f"there is no stack {stack_name!r} in {session.region_name} (AWS_DEFAULT_REGION), in the AWS account "
                "that `aws sts get-caller-identity` says"
            ) from None
        raise
    outputs = {output["OutputKey"]: output["OutputValue"] for output in stacks[0].get("Outputs", [])}
    return OpenDeployment(outputs, stacks[0]["StackName"], cast("Callable[[str], Any]", session.client))


def _in_local_stack(path: Path, name: str | None) -> OpenDeployment:
    from postroom.local.clients import Clients

    stack = read_descriptor(path)
    chosen = name or next(iter(stack.deployments), "")
    if chosen not in stack.deployments:
        known = ", ".join(stack.deployments) or "none"
        raise NotFoundFault(f"the local stack has no deployment {chosen!r}", hint=f"it has: {known}")
    # boto3 would say so too, but only after its retries, and without saying what to do.
    if not stack.is_running():
        raise UnavailableFault(f"the local stack of {path} does not run", hint="`postroom up` starts it")
    deployment = stack.deployments[chosen]
    clients = Clients(stack.endpoint, deployment.account)
    return OpenDeployment(
        deployment.outputs,
        chosen,
        cast("Callable[[str], Any]", clients),
        LocalAccount(stack.endpoint, deployment.account),
    )
