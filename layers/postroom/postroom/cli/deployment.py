"""The options that name a deployment: a stack on AWS, or one of a local stack."""

import shlex
from dataclasses import dataclass
from typing import Annotated

import typer

from postroom.cli.descriptor import DEFAULT_PATH, read_descriptor
from postroom.cli.exits import UsageFault
from postroom.cli.local_stack import LocalOptions
from postroom.cli.open_deployment import OpenDeployment, open_deployment
from postroom.cli.options import OptionGroup

DeploymentName = Annotated[
    str | None,
    typer.Option(
        "--deployment",
        metavar="NAME",
        help="Deployment of the local stack.",
        show_default="the first",
    ),
]


@dataclass(frozen=True, kw_only=True)
class DeploymentOptions(OptionGroup):
    """The deployment that an operator works on."""

    stack_name: Annotated[
        str | None,
        typer.Option(
            "--stack-name",
            envvar="POSTROOM_STACK",
            metavar="NAME",
            help="Deployment on AWS: its CloudFormation stack; uses your AWS credentials.",
            show_default=False,
        ),
    ] = None
    local: LocalOptions
    deployment: DeploymentName = None

    def open(self) -> OpenDeployment:
        """The deployment. An option takes precedence over an environment variable, and that over `.postroom` here.

        Raises UsageFault, UnavailableFault.
        """
        return open_deployment(self._stack_name, None if self._stack_name else self.local.local, self.deployment)

    def open_all(self) -> list[OpenDeployment]:
        """The deployment, or if only a local stack is named, all of its deployments.

        Raises UsageFault, UnavailableFault.
        """
        path = self.local.local or DEFAULT_PATH
        if self._stack_name or self.deployment or not path.exists():
            return [self.open()]
        return [open_deployment(None, path, name) for name in read_descriptor(path).deployments]

    def ca_file(self, opened: OpenDeployment) -> str | None:
        """The certificates that an open deployment trusts instead of the public ones; None: it is on AWS."""
        return read_descriptor(self.local.local or DEFAULT_PATH).ca_file if opened.local else None

    def as_shell(self, name: str) -> str:
        """The options that name the deployment `name` for any command, quoted for a shell."""
        if self._stack_name:
            return f"--stack-name {shlex.quote(self._stack_name)}"
        local = shlex.quote(str(self.local.local or DEFAULT_PATH.parent))
        return f"--local {local} --deployment {shlex.quote(name)}"

    @property
    def _stack_name(self) -> str | None:
        """The stack on AWS, if one is named. Raises UsageFault if two deployments are named with equal precedence."""
        if not self.stack_name or not self.local.local:
            return self.stack_name
        by_option = "stack_name" in self.given
        if by_option != bool(self.local.given):
            return self.stack_name if by_option else None
        raise UsageFault(
            "--stack-name and --local name two deployments: use one of them (or unset POSTROOM_STACK or POSTROOM_LOCAL)"
        )
