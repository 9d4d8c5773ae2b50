"""The deployment that a command works on: one on AWS by its stack's name, or one of a local stack."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from postroom.cli.descriptor import DEFAULT_PATH, read_descriptor
from postroom.cli.exits import NotFoundFault, UnavailableFault, UsageFault
from postroom.core.settings import missing_output, read_outputs
from postroom.local.account import LocalAccount

if TYPE_CHECKING:
    from postroom.runtime.deployment import Deployment
    from postroom.runtime.storage_parts import StorageParts


@dataclass(frozen=True)
class OpenDeployment:
    """A deployment: the outputs of its stack, and clients of its account. `local`: None on AWS.

    `name`: of its stack. `clients`: of any service, for resources that only an operator reads.
    """

    outputs: Mapping[str, str]
    name: str
    clients: Callable[[str], Any]
    local: "LocalAccount | None" = None

    @cached_property
    def deployment(self) -> "Deployment":
        """Its parts; nothing is cached between reads.

        A part raises SettingsError if the stack lacks an output that it needs.
        """
        from postroom.runtime.deployment import Deployment

        return Deployment(replace(read_outputs(self.outputs), directory_cache_seconds=0), self.clients)

    @property
    def storage(self) -> "StorageParts":
        """The storage parts, which most commands use."""
        return self.deployment.storage

    def output(self, name: str) -> str:
        """The stack's output of this name. Raises SettingsError if there is none."""
        if name not in self.outputs:
            raise missing_output(name)
        return self.outputs[name]


def open_deployment(stack_name: str | None, local: Path | None, deployment: str | None) -> OpenDeployment:
    """The deployment that the options name; without any, that of the local stack started in this folder.

    Raises UsageFault, NotFoundFault or UnavailableFault.
    """
    if stack_name and local:
        raise UsageFault("--stack-name and --local name two deployments: use one of them (or unset its variable)")
    if stack_name:
        return _on_aws(stack_name)
    if local is None and not DEFAULT_PATH.exists():
        raise UsageFault(
            "no deployment is named: use --stack-name NAME for one on AWS, or --local PATH for a local stack "
            "(`postroom up` starts one)"
        )
    return _in_local_stack(local or DEFAULT_PATH, deployment)


def _on_aws(stack_name: str) -> OpenDeployment:
    import boto3
    from botocore.exceptions import ClientError

    from postroom.net.aws_errors import error_code

    session = boto3.Session()
    try:
        stacks = session.client("cloudformation").describe_stacks(StackName=stack_name)["Stacks"]
    except ClientError as error:
        if error_code(error) == "ValidationError":
            raise NotFoundFault(
                f"there is no stack {stack_name!r} in {session.region_name} (AWS_DEFAULT_REGION) in the AWS account "
                "that `aws sts get-caller-identity` shows"
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
    # boto3 would say so too, but only after its retries, and without a suggestion.
    if not stack.is_running():
        raise UnavailableFault(f"the local stack of {path} is not running", hint="start it with `postroom up`")
    deployment = stack.deployments[chosen]
    account = LocalAccount(stack.endpoint, deployment.account, stack.secret)
    return OpenDeployment(
        deployment.outputs,
        chosen,
        cast("Callable[[str], Any]", Clients(account)),
        account,
    )
