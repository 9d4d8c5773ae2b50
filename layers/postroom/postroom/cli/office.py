"""The deployment that a command works on: one on AWS by its stack's name, or one of a local stack."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from postroom.cli.descriptor import DEFAULT_PATH, read_descriptor
from postroom.cli.exits import NotFoundOut, UsageFault
from postroom.local.account import LocalAccount

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_logs import CloudWatchLogsClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_secretsmanager import SecretsManagerClient
    from mypy_boto3_sqs import SQSClient

    from postroom.http.notifications import TargetDesk
    from postroom.http.usage import Counting
    from postroom.storage.audit.collection import Premises
    from postroom.storage.directory.domains import Directory
    from postroom.storage.directory.mailboxes import Mailboxes
    from postroom.storage.directory.operators import Operators
    from postroom.storage.mail.reader import Reader
    from postroom.storage.mail.register import Register
    from postroom.storage.mail.segments import Objects
    from postroom.storage.secrets.secret import Secret
    from postroom.storage.secrets.signing_keys import SigningKeys
    from postroom.storage.secrets.token_keys import TokenKeys

StackName = Annotated[
    str | None,
    typer.Option(
        "--stack-name",
        envvar="POSTROOM_STACK",
        metavar="NAME",
        help="A deployment on AWS: its CloudFormation stack, with your AWS credentials.",
        show_default=False,
    ),
]
DeploymentName = Annotated[
    str | None,
    typer.Option(
        "--deployment",
        metavar="NAME",
        help="Which deployment of the local stack; the first, unless said.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class Office:
    """A deployment: the outputs of its stack, and clients of the account it lives in. `local`: None on AWS.

    `name`: of its stack. `client`: one of any service, for what only an operator looks at.
    """

    outputs: Mapping[str, str]
    dynamodb: "DynamoDBClient"
    s3: "S3Client"
    secrets: "SecretsManagerClient"
    sqs: "SQSClient"
    logs: "CloudWatchLogsClient"
    name: str
    client: Callable[[str], Any]
    local: "LocalAccount | None" = None

    def operators(self) -> "Operators":
        """What writes the directory."""
        from postroom.storage.directory.operators import Operators

        return Operators(self.dynamodb, self.output("DirectoryTable"))

    def directory(self) -> "Directory":
        """What reads the directory."""
        from postroom.storage.directory.domains import Directory

        return Directory(self.dynamodb, self.output("DirectoryTable"), clock=time.monotonic, cache_seconds=0)

    def mailboxes(self) -> "Mailboxes":
        """What writes who picks mail up."""
        from postroom.storage.directory.mailboxes import Mailboxes

        return Mailboxes(self.dynamodb, self.output("DirectoryTable"))

    def counting(self) -> "Counting":
        """What keeps count of how much mailboxes hold."""
        from postroom.http.usage import Counting
        from postroom.storage.limits.quotas import Quota, Usages

        # Of a deployment of the release before, none is told: it has none.
        quota = Quota(*(int(self.outputs.get(name, "0")) for name in ("MailboxMaxMessages", "MailboxMaxBytes")))
        return Counting(self.directory(), Usages(self.dynamodb, self.output("LimitsTable")), quota)

    def register(self) -> "Register":
        """The rows of mailboxes."""
        from postroom.storage.mail.register import Register

        return Register(self.dynamodb, self.output("PostTable"))

    def reader(self) -> "Reader":
        """What lists and fetches."""
        from postroom.storage.mail.reader import Reader

        return Reader(self.dynamodb, self.output("PostTable"), self.register(), self.objects())

    def objects(self) -> "Objects":
        """The bucket."""
        from postroom.storage.mail.segments import Objects

        return Objects(self.s3, self.output("Bucket"))

    def signing_keys(self) -> "SigningKeys":
        """The private keys of the deployment's domains."""
        from postroom.storage.secrets.signing_keys import SigningKeys

        return SigningKeys(self.secrets, self.output("SigningKeysSecret"), time.monotonic)

    def token_keys(self) -> "TokenKeys":
        """What signs owners' tokens."""
        from postroom.storage.secrets.token_keys import TokenKeys

        return TokenKeys(self.secrets, self.output("TokenKeysSecret"), time.time)

    def targets(self) -> "TargetDesk":
        """Who is told that something waits: what the counter does for owners."""
        from postroom.http.notifications import Offer, TargetDesk
        from postroom.runtime.system import new_id
        from postroom.storage.directory.notification_targets import Targets
        from postroom.storage.limits.codes import CodeLimits
        from postroom.storage.queues import Queue
        from postroom.storage.secrets.webhook_keys import WebhookKeys

        return TargetDesk(
            targets=Targets(self.dynamodb, self.output("DirectoryTable")),
            codes=CodeLimits(self.dynamodb, self.output("LimitsTable")),
            keys=WebhookKeys(self.secrets, self.output("WebhookKeysSecret"), time.time),
            courier=Queue(self.sqs, self.output("CourierQueueUrl")),
            offer=Offer(int(self.output("OutboundPort")), self.output("NotifyTopicArn")),
            clock=time.time,
            new_id=new_id,
        )

    def delivery_service_keys(self) -> "Secret":
        """The private keys of the dm3 delivery service, as they are stored; empty: it has none."""
        from postroom.storage.secrets.dm3_keys import FORM
        from postroom.storage.secrets.secret import Secret

        return Secret(self.secrets, self.output("DeliveryServiceKeysSecret"), time.monotonic, FORM)

    def premises(self) -> "Premises":
        """The store, as an audit looks at it."""
        from postroom.storage.audit.collection import ClaimQueues, Premises

        return Premises(
            self.dynamodb, self.s3, self.sqs,
            self.output("PostTable"), self.output("SeenTable"), self.output("Bucket"),
            ClaimQueues(*(self.output(f"{name}QueueUrl") for name in ("Claims", "Retry", "Suspects", "Letters"))),
            notice_queues=[self.output(f"{name}QueueUrl") for name in ("Courier", "CourierLetters")],
        )  # fmt: skip

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
        return logged_lines(self.logs, group, since_ms=int(since * 1000), until_ms=int(until * 1000))

    def output(self, name: str) -> str:
        """What the stack says of itself under this name. Raises UsageFault where it does not."""
        if name not in self.outputs:
            raise UsageFault(f"the stack has no output {name}: it is not a deployment of postroom, or an older one")
        return self.outputs[name]


def open_office(stack_name: str | None, local: Path | None, deployment: str | None) -> Office:
    """The deployment that the options name; without any, that of the local stack started in this folder.

    Raises UsageFault or NotFoundOut.
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


def _on_aws(stack_name: str) -> Office:
    import boto3
    from botocore.exceptions import ClientError

    from postroom.net.aws import error_code

    session = boto3.Session()
    try:
        stacks = session.client("cloudformation").describe_stacks(StackName=stack_name)["Stacks"]
    except ClientError as error:
        if error_code(error) == "ValidationError":
            raise UsageFault(
                f"there is no stack {stack_name!r} in {session.region_name} (AWS_DEFAULT_REGION), in the AWS account "
                "that `aws sts get-caller-identity` says"
            ) from None
        raise
    outputs = {output["OutputKey"]: output["OutputValue"] for output in stacks[0].get("Outputs", [])}
    return Office(
        outputs, session.client("dynamodb"), session.client("s3"), session.client("secretsmanager"),
        session.client("sqs"), session.client("logs"), stacks[0]["StackName"],
        cast("Callable[[str], Any]", session.client),
    )  # fmt: skip


def _in_local_stack(path: Path, name: str | None) -> Office:
    from postroom.local.clients import Clients

    stack = read_descriptor(path)
    chosen = name or next(iter(stack.deployments), "")
    if chosen not in stack.deployments:
        known = ", ".join(stack.deployments) or "none"
        raise UsageFault(f"the local stack has no deployment {chosen!r}; it has: {known}")
    # boto3 would say so too, but only after its retries, and without saying what to do.
    if not stack.is_running():
        raise NotFoundOut(f"the local stack of {path} does not run; `postroom up` starts it")
    deployment = stack.deployments[chosen]
    clients = Clients(stack.endpoint, deployment.account)
    return Office(
        deployment.outputs, clients("dynamodb"), clients("s3"), clients("secretsmanager"),
        clients("sqs"), clients("logs"), chosen, cast("Callable[[str], Any]", clients),
        LocalAccount(stack.endpoint, deployment.account),
    )  # fmt: skip
